/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 16384		/* counters */
#define CHUNKS 4096

static uint64_t *now[CHUNKS], *then[CHUNKS];
static uint32_t used, remembered;

void give_up(const char *reason)
{
	fprintf(stderr, "shootdown-exact: %s\n", reason);
	exit(1);
}

void *grow(void *array, size_t elements, size_t element_size)
{
	void *larger = reallocarray(array, elements, element_size);

	if (!larger)
		give_up("out of memory");
	return larger;
}

void *zeroed(size_t elements, size_t element_size)
{
	void *array = calloc(elements, element_size);

	if (!array)
		give_up("out of memory");
	return array;
}

uint32_t counter_new(void)
{
	if (used / CHUNK == CHUNKS)
		give_up("more distinct instructions than counters");
	if (used % CHUNK == 0)
		now[used / CHUNK] = zeroed(CHUNK, sizeof(uint64_t));
	return used++;
}

uint64_t *counter_address(uint32_t index)
{
	return &now[index / CHUNK][index % CHUNK];
}

void counters_remember(void)
{
	for (uint32_t chunk = 0; chunk * CHUNK < used; chunk++) {
		if (!then[chunk])
			then[chunk] = zeroed(CHUNK, sizeof(uint64_t));
		memcpy(then[chunk], now[chunk], CHUNK * sizeof(uint64_t));
	}
	remembered = used;
}

uint64_t counter_since(uint32_t index)
{
	uint64_t value = *counter_address(index);

	return index < remembered ? value - then[index / CHUNK][index % CHUNK] : value;
}
