/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The effective configuration: the tree's tinyconfig, the fragments over it,
 * and what Kconfig makes of them. Checked against what was asked for.
 */
#ifndef SHOOTDOWN_KERNEL_CONFIGURE_H
#define SHOOTDOWN_KERNEL_CONFIGURE_H

#include "fragments.h"
#include "patches.h"
#include "tree.h"

struct configuration {
	const struct base *base;
	const struct fragments *fragments;
	const struct layer *layers;
	size_t layer_count;
	const struct patched *patched;
};

/*
 * Leaves the tree with the files of the patched kernel and its .config. A
 * symbol that a fragment or a variant asks for and does not get is an error; so
 * is one that differs from the base's without being named by a series.
 */
int tree_configure(struct build_tree *tree, const struct configuration *configuration, struct kernel_error *error);

#endif
