/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runner's look into a counts file (runner/exact/format.h): is it whole, and do the symbols belong to it? analysis/exact.py reads the rest. */
#ifndef SHOOTDOWN_EXACT_COUNTS_H
#define SHOOTDOWN_EXACT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "exact-symbols.h"

struct exact_summary {
	unsigned int regions;
	char fault[160];		/* why counting ended early; "" when it did not */
	size_t targets, strange_targets;	/* addresses called directly; those of them where no symbol stands */
};

/* `symbols` may be NULL. 0 with *summary; -errno of reading; -EBADMSG: damaged. A last block that is cut off is left out. */
int exact_counts_check(const char *path, const struct exact_symbols *symbols, struct exact_summary *summary);
/* Too many strange targets for the symbols to be this kernel's. */
bool exact_symbols_are_foreign(const struct exact_summary *summary);
/* gzip without name and time: equal counts are equal files. Whole or not at all. */
int exact_counts_compress(const char *from, const char *to);

#endif
