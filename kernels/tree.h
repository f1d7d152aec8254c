/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Build trees: a working tree with the objects of its last build. Switching
 * rewrites only the files that differ, so that make rebuilds only what they
 * mean.
 */
#ifndef SHOOTDOWN_KERNEL_TREE_H
#define SHOOTDOWN_KERNEL_TREE_H

#include "base.h"
#include "toolchain.h"

struct build_tree {
	char *directory;	/* trees/SLOT */
	char *source;		/* trees/SLOT/source */
	char *index;
	char *log;		/* what make says goes there */
	const char *repository;
	const struct toolchain *toolchain;
	const struct watcher *watcher;
	int lock;
};

/* Waits for the lock of the slot. log: path of the build log, appended to. */
int tree_open(const char *slot, const char *repository, const char *log, const struct toolchain *toolchain,
	      const struct watcher *watcher, struct build_tree *tree, struct kernel_error *error);
void tree_close(struct build_tree *tree);
/* Makes the files those of a git tree; what a build made stays. */
int tree_checkout(struct build_tree *tree, const char *object, struct kernel_error *error);
/* make with targets (NULL-terminated). counted: the progress is that of a whole build. */
int tree_make(struct build_tree *tree, const char *phase, const char *const *targets, bool counted,
	      struct kernel_error *error);
/* Path of a file in the source. Caller frees. */
char *tree_path(const struct build_tree *tree, const char *below);

/* The line of a build log that says what went wrong; count is the number of such lines. Caller frees; NULL when there is none. */
char *log_summary(const char *log_text, unsigned int *count);

#endif
