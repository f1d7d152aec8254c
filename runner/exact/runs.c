/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runs.h"

#include <stdbool.h>
#include <string.h>

#include "counters.h"

static struct run *runs;
static size_t used, room;
static struct run_instruction *pool;
static size_t pool_used, pool_room;
static uint32_t *table;		/* index of a run plus 1; 0: free */
static size_t slots;

static size_t slot_of(uint64_t start, uint64_t hash)
{
	uint64_t mixed = (start ^ hash) * 0x9e3779b97f4a7c15ull;

	return (mixed >> 20) & (slots - 1);
}

static void table_insert(uint32_t index)
{
	size_t slot = slot_of(runs[index].start, runs[index].hash);

	while (table[slot])
		slot = (slot + 1) & (slots - 1);
	table[slot] = index + 1;
}

static void table_grow(void)
{
	size_t wanted = slots ? slots * 2 : 1 << 16;

	table = grow(table, wanted, sizeof(*table));
	memset(table, 0, wanted * sizeof(*table));
	slots = wanted;
	for (size_t i = 0; i < used; i++)
		table_insert(i);
}

static const struct run *find(uint64_t start, uint64_t hash, size_t length)
{
	if (slots == 0)
		return NULL;
	for (size_t slot = slot_of(start, hash); table[slot]; slot = (slot + 1) & (slots - 1)) {
		const struct run *run = &runs[table[slot] - 1];

		if (run->start == start && run->hash == hash && run->length == length)
			return run;
	}
	return NULL;
}

static uint32_t pool_add(const struct run_instruction *instructions, size_t length)
{
	uint32_t first = pool_used;

	if (pool_used + length > pool_room) {
		pool_room = pool_room ? pool_room * 2 : 1 << 16;
		pool = grow(pool, pool_room, sizeof(*pool));
	}
	memcpy(pool + pool_used, instructions, length * sizeof(*pool));
	pool_used += length;
	return first;
}

const struct run *run_of(uint64_t start, uint64_t hash, const struct run_instruction *instructions, size_t length,
			 uint64_t target, int repeats)
{
	const struct run *known = find(start, hash, length);

	if (known)
		return known;
	if (used == room) {
		room = room ? room * 2 : 1 << 15;
		runs = grow(runs, room, sizeof(*runs));
	}
	if ((used + 1) * 2 > slots)
		table_grow();
	runs[used] = (struct run){
		.start = start, .hash = hash, .target = target, .length = length,
		.counter = counter_new(),
		.repeat_counter = repeats ? counter_new() : NO_COUNTER,
		.first = pool_add(instructions, length),
	};
	table_insert(used);
	return &runs[used++];
}

size_t run_count(void)
{
	return used;
}

const struct run *run_at(size_t index)
{
	return &runs[index];
}

const struct run_instruction *run_instructions(const struct run *run)
{
	return pool + run->first;
}
