/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files a program needs to run somewhere else: its interpreter and its shared libraries, all the way down. */
#ifndef SHOOTDOWN_ELF_CLOSURE_H
#define SHOOTDOWN_ELF_CLOSURE_H

#include <stddef.h>

struct elf_file {
	char *name;	/* DT_NEEDED name; for the interpreter the path that PT_INTERP gives */
	char *path;	/* where it stands on this machine */
};

struct elf_closure {
	char *interpreter;		/* PT_INTERP of the program; NULL: static */
	char *interpreter_path;		/* where it stands here (a cross interpreter lives elsewhere) */
	struct elf_file *libraries;	/* sorted by name, each once */
	size_t count;
};

/*
 * 0; -ENOEXEC: not an ELF program; -ENOENT: a library is missing, `reason`
 * names it and who needs it; other -errno. *closure is set on success only.
 */
int elf_closure(const char *program, struct elf_closure *closure, char *reason, size_t reason_size);
void elf_closure_free(struct elf_closure *closure);

/* "x86-64", "arm64", "other", or NULL: no ELF file (a script) or not readable. */
const char *elf_architecture(const char *path);

#endif
