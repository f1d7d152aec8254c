/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layers applied to a base, inside the repository: no working tree is touched, whether it works or not. */
#ifndef SHOOTDOWN_KERNEL_PATCHES_H
#define SHOOTDOWN_KERNEL_PATCHES_H

#include "base.h"
#include "series.h"

struct patched {
	char *tree;		/* with all layers */
	bool common_headers;	/* differs from the base in a header that everybody includes */
	bool kconfig;		/* differs in a Kconfig file */
};

/* One at a time: the caller holds the lock "patches" of the cache. */
int layers_apply(const char *repository, const struct base *base, const struct layer *layers, size_t count,
		 struct patched *patched, struct kernel_error *error);
/*
 * The place of the first failure in what git said: "mm/rmap.c, hunk 2 (line
 * 640)". Hunks are counted in the text of the patch.
 */
void patch_failure(const char *errors, const char *patch_text, char *place, size_t place_size);

#endif
