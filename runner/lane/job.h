/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What travels into a guest: init and its libraries, the cases with all that they execute, the modules, /job.json. */
#ifndef SHOOTDOWN_JOB_H
#define SHOOTDOWN_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "initramfs.h"
#include "lane.h"

struct guest_job {
	const char *architecture;
	const struct kernel *kernel;
	const struct boot_case *cases;
	size_t case_count;
	unsigned int timeout_factor;		/* guest's limit = case's limit times this; 0: 1 */
	const char *const *extra_arguments;	/* for every workload, after its own: "--roi-marks"; NULL: none */
	const char *const *send;		/* files of /proc to send: "kallsyms"; NULL: none */
	bool forward_output;			/* what the command prints goes to the host as it is */
	bool interactive;			/* the command has the console */
	bool plain_commands;			/* run `command` itself, without the harness: no frames */
	const char *const *environment;		/* "NAME=value", NULL: none */
};

/*
 * What every boot of an architecture shares: /init, its libraries, /dev/console.
 * -errno with the reason, which says what to do. Freed by initramfs_free().
 */
int guest_base_make(const char *architecture, struct initramfs **base, char *reason, size_t reason_size);

/* Adds the job to `initramfs` (made on top of the base). -errno with the reason. */
int guest_job_add(struct initramfs *initramfs, const struct guest_job *job, char *reason, size_t reason_size);

/*
 * Adds modules by name with all they depend on, decompressed, and appends their
 * paths in the guest to `order`, in the order in which they must be loaded. What
 * is not there is taken to be built in.
 */
int guest_modules_add(struct initramfs *initramfs, const char *directory, const char *const *names,
		      json_t *order, char *reason, size_t reason_size);

#endif
