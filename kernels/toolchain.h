/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiler, linker and what else a kernel build needs, for one architecture. */
#ifndef SHOOTDOWN_KERNEL_TOOLCHAIN_H
#define SHOOTDOWN_KERNEL_TOOLCHAIN_H

#include <stdbool.h>

#include "kernel.h"

struct toolchain {
	const char *architecture;	/* "x86-64" */
	const char *kernel_architecture;/* ARCH= of the kernel's makefiles: "x86" */
	const char *prefix;		/* CROSS_COMPILE=; "" for native */
	const char *image_target;	/* "bzImage" */
	const char *image_path;		/* in the tree */
	char *compiler, *linker;	/* first line of --version */
	bool ccache;
};

/* 129 for an unknown architecture; 130 with the packages to install when compiler or linker are missing. */
int toolchain_find(const char *architecture, struct toolchain *toolchain, struct kernel_error *error);
/* Everything a build needs beside them. */
int toolchain_check(const struct toolchain *toolchain, struct kernel_error *error);
void toolchain_free(struct toolchain *toolchain);
/* True when a program of that name is on PATH. */
bool program_exists(const char *name);

#endif
