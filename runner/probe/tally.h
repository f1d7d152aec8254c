/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts by a pair of numbers: what samples are added up in. */
#ifndef SHOOTDOWN_PROBE_TALLY_H
#define SHOOTDOWN_PROBE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally_entry {
	uint64_t first, second, count;	/* count 0: a free place */
};

struct tally {
	struct tally_entry *entries;
	size_t used, capacity;		/* capacity: a power of two, or 0 */
};

/* -ENOMEM; -EOVERFLOW, the sum would be beyond 64 bits: not counted. */
int tally_add(struct tally *tally, uint64_t first, uint64_t second, uint64_t count);
uint64_t tally_count(const struct tally *tally, uint64_t first, uint64_t second);
void tally_clear(struct tally *tally);		/* keeps the memory */
void tally_free(struct tally *tally);
/* Entries by first, then second, used of them at the front. The tally can only be cleared or freed afterwards. */
void tally_sort(struct tally *tally);

#endif
