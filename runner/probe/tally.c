// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tally.h"

static size_t place_of(const struct tally *tally, uint64_t first, uint64_t second)
{
	uint64_t hash = (first * 0x9e3779b97f4a7c15ULL) ^ (second * 0xc2b2ae3d27d4eb4fULL);
	size_t at = (hash ^ (hash >> 29)) & (tally->capacity - 1);

	while (tally->entries[at].count && (tally->entries[at].first != first || tally->entries[at].second != second))
		at = (at + 1) & (tally->capacity - 1);
	return at;
}

static int grow(struct tally *tally)
{
	struct tally larger = { .capacity = tally->capacity ? 2 * tally->capacity : 256 };

	larger.entries = calloc(larger.capacity, sizeof(*larger.entries));
	if (!larger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < tally->capacity; i++)
		if (tally->entries[i].count)
			larger.entries[place_of(&larger, tally->entries[i].first, tally->entries[i].second)] = tally->entries[i];
	larger.used = tally->used;
	free(tally->entries);
	*tally = larger;
	return 0;
}

int tally_add(struct tally *tally, uint64_t first, uint64_t second, uint64_t count)
{
	size_t at;

	if (!count)
		return 0;
	if (2 * (tally->used + 1) > tally->capacity && grow(tally))
		return -ENOMEM;
	at = place_of(tally, first, second);
	if (count > UINT64_MAX - tally->entries[at].count)
		return -EOVERFLOW;
	tally->used += !tally->entries[at].count;
	tally->entries[at].first = first;
	tally->entries[at].second = second;
	tally->entries[at].count += count;
	return 0;
}

uint64_t tally_count(const struct tally *tally, uint64_t first, uint64_t second)
{
	return tally->capacity ? tally->entries[place_of(tally, first, second)].count : 0;
}

void tally_clear(struct tally *tally)
{
	if (tally->entries)
		memset(tally->entries, 0, tally->capacity * sizeof(*tally->entries));
	tally->used = 0;
}

void tally_free(struct tally *tally)
{
	free(tally->entries);
	memset(tally, 0, sizeof(*tally));
}

static int by_pair(const void *a, const void *b)
{
	const struct tally_entry *x = a, *y = b;

	if (!x->count != !y->count)
		return !x->count - !y->count;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->second > y->second) - (x->second < y->second);
}

void tally_sort(struct tally *tally)
{
	if (tally->entries)
		qsort(tally->entries, tally->capacity, sizeof(*tally->entries), by_pair);
}
