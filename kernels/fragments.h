/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Config fragments: what --kconfig names. NAME is NAME.config in
 * configs/kconfig; with it comes NAME.ARCHITECTURE.config where there is one.
 * A comment line "# needs: NAME..." before the first option puts other
 * fragments before this one.
 */
#ifndef SHOOTDOWN_KERNEL_FRAGMENTS_H
#define SHOOTDOWN_KERNEL_FRAGMENTS_H

#include "../runner/common/hash.h"
#include "kernel.h"

#define FRAGMENTS_MAXIMUM 32

struct fragment {
	char *name;		/* as given, or the file name of a companion */
	char *path;
	char hash[HASH_TEXT];
};

struct fragments {
	struct fragment items[FRAGMENTS_MAXIMUM];
	size_t count;
	json_t *symbols;	/* what all of them ask for, later ones win: {"CONFIG_X": "y" | "n" | "\"text\"" | "12"} */
	json_t *strict;		/* the symbols that files of the user ask for: must be known to the source */
	char hash[HASH_TEXT];	/* of the contents */
	unsigned int depth;	/* of "needs" while loading */
};

/* names NULL or empty: "fast". */
int fragments_load(const char *const *names, const char *architecture, struct fragments *fragments,
		   struct kernel_error *error);
void fragments_free(struct fragments *fragments);

#endif
