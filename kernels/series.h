/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series: folders with a series.yaml and patches. kernel_series_load() of kernel.h stands here too. */
#ifndef SHOOTDOWN_KERNEL_SERIES_H
#define SHOOTDOWN_KERNEL_SERIES_H

#include "../runner/common/hash.h"
#include "spec.h"

struct patch {
	char *name;		/* file name, for people */
	char *path;
	char hash[HASH_TEXT];
};

/* One layer of a spec with all that it stands for. */
struct layer {
	const struct spec_layer *spec;	/* borrowed */
	char *name;			/* "lazy-tlb/without" or "mbox:FILE" */
	json_t *series;			/* the whole series.yaml; NULL for an mbox */
	json_t *variant;		/* borrowed from series */
	struct patch *patches;		/* in order; an mbox is one patch of many mails */
	size_t patch_count;
};

/* Checks series and variant of one layer (exist, architecture). Does not read the patches. */
int layer_find(const struct spec_layer *spec, const char *architecture, struct layer *layer, struct kernel_error *error);
/* The patches for a base of that release ("6.12.117"): the folder of its version, else the series' own base. */
int layer_read_patches(struct layer *layer, const char *release, struct kernel_error *error);
void layer_free(struct layer *layer);

const char *layer_boot_parameters(const struct layer *layer);
/* {"CONFIG_X": "y"} of the variant, borrowed; NULL without. */
const json_t *layer_config(const struct layer *layer);
/* ["CONFIG_X"] that the series may change, borrowed; NULL without. */
const json_t *layer_options(const struct layer *layer);

#endif
