/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * git as the builder uses it: without anybody's configuration, hooks, file
 * system monitor, attributes or clean-up in the background.
 */
#ifndef SHOOTDOWN_KERNEL_GIT_H
#define SHOOTDOWN_KERNEL_GIT_H

#include <stddef.h>

#include "../runner/common/spawn.h"

struct git {
	const char *directory;	/* GIT_DIR; NULL: found from `from` */
	const char *from;	/* -C; NULL: the current directory */
	const char *index;	/* GIT_INDEX_FILE, or NULL */
	const char *work_tree;	/* GIT_WORK_TREE, or NULL */
	int input;		/* standard input; 0: /dev/null */
};

/*
 * Runs git with the words up to NULL. Exit status (>= 0), or -errno when it
 * could not run. *output (standard output) and *errors (standard error) are
 * the caller's where asked for, without the newline at the end.
 */
int git_run(const struct git *git, char **output, char **errors, ...) __attribute__((sentinel));
/* The same started with input and output (-1: none) connected; the caller waits. */
int git_start(const struct git *git, int output, struct child *child, ...) __attribute__((sentinel));
/* The line of git's complaint that says why; "no reason given" when there is none. */
const char *git_reason(char *errors);

#endif
