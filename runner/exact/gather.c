/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gather.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "places.h"
#include "runs.h"

/* One counted thing: sorted by key and second, equal ones added up. */
struct item {
	uint64_t key, second, count;
};

struct items {
	struct item *list;
	size_t used, room;
};

static void add(struct items *items, uint64_t key, uint64_t second, uint64_t count)
{
	if (items->used == items->room) {
		items->room = items->room ? items->room * 2 : 1 << 14;
		items->list = grow(items->list, items->room, sizeof(*items->list));
	}
	items->list[items->used++] = (struct item){ key, second, count };
}

static int compare(const void *a, const void *b)
{
	const struct item *left = a, *right = b;

	if (left->key != right->key)
		return left->key > right->key ? 1 : -1;
	return (left->second > right->second) - (left->second < right->second);
}

static void merge(struct items *items)
{
	size_t kept = 0;

	if (items->used == 0)
		return;
	qsort(items->list, items->used, sizeof(*items->list), compare);
	for (size_t i = 1; i < items->used; i++) {
		if (compare(&items->list[kept], &items->list[i]) == 0)
			items->list[kept].count += items->list[i].count;
		else
			items->list[++kept] = items->list[i];
	}
	items->used = kept + 1;
}

struct gathered {
	struct items instructions;	/* address, kind, executions */
	struct items branches;		/* source, target */
	struct items repeats;		/* address, 0, iterations */
	struct items commands;		/* address, 0, writes */
	struct items watched;		/* address, cpu, calls */
};

static void add_run(struct gathered *gathered, const struct run *run)
{
	const struct run_instruction *instructions = run_instructions(run);
	uint64_t executed = counter_since(run->counter), address = run->start, last = run->start;

	if (executed == 0)
		return;
	for (size_t i = 0; i < run->length; i++) {
		add(&gathered->instructions, address, instructions[i].kind, executed);
		last = address;
		address += instructions[i].size;
	}
	if (run->target)
		add(&gathered->branches, last, run->target, 0);
	if (run->repeat_counter != NO_COUNTER)
		add(&gathered->repeats, last, 0, counter_since(run->repeat_counter));
}

static void add_places(struct gathered *gathered)
{
	for (size_t i = 0; i < command_count(); i++) {
		const struct command *command = command_number(i);
		uint64_t writes = counter_since(command->counter);

		if (writes)
			add(&gathered->commands, command->address, 0, writes);
	}
	for (size_t i = 0; i < place_count(); i++)
		for (unsigned int cpu = 0; cpu < place_cpus(); cpu++) {
			const struct place *place = place_number(i);
			uint64_t calls = counter_since(place->first_counter + cpu);

			if (calls)
				add(&gathered->watched, place->address, cpu, calls);
		}
}

enum column { KEY, SECOND, COUNT };

static uint8_t *put(uint8_t *at, const struct items *items, enum column column)
{
	for (size_t i = 0; i < items->used; i++, at += sizeof(uint64_t)) {
		const struct item *item = &items->list[i];
		uint64_t value = column == KEY ? item->key : column == SECOND ? item->second : item->count;

		memcpy(at, &value, sizeof(value));
	}
	return at;
}

static uint8_t *put_kinds(uint8_t *at, const struct items *items)
{
	for (size_t i = 0; i < items->used; i++)
		at[i] = items->list[i].second;
	return at + (items->used + 7) / 8 * 8;
}

static size_t payload_size(const struct exact_region *region)
{
	size_t words = 2ul * region->instructions + 2ul * region->branches + 2ul * region->repeats +
		       2ul * region->commands + 3ul * region->watched;

	return sizeof(*region) + words * sizeof(uint64_t) + (region->instructions + 7ul) / 8 * 8;
}

static void put_all(uint8_t *at, const struct exact_region *region, const struct gathered *gathered)
{
	memcpy(at, region, sizeof(*region));
	at = put(at + sizeof(*region), &gathered->instructions, KEY);
	at = put(at, &gathered->instructions, COUNT);
	at = put_kinds(at, &gathered->instructions);
	at = put(at, &gathered->branches, KEY);
	at = put(at, &gathered->branches, SECOND);
	at = put(at, &gathered->repeats, KEY);
	at = put(at, &gathered->repeats, COUNT);
	at = put(at, &gathered->commands, KEY);
	at = put(at, &gathered->commands, COUNT);
	at = put(at, &gathered->watched, KEY);
	at = put(at, &gathered->watched, SECOND);
	put(at, &gathered->watched, COUNT);
}

size_t gather_region(struct exact_region *region, void **payload)
{
	struct gathered gathered = { 0 };
	struct items *all[] = { &gathered.instructions, &gathered.branches, &gathered.repeats, &gathered.commands, &gathered.watched };
	size_t size;

	for (size_t i = 0; i < run_count(); i++)
		add_run(&gathered, run_at(i));
	add_places(&gathered);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		merge(all[i]);
	region->instructions = gathered.instructions.used;
	region->branches = gathered.branches.used;
	region->repeats = gathered.repeats.used;
	region->commands = gathered.commands.used;
	region->watched = gathered.watched.used;
	size = payload_size(region);
	*payload = zeroed(size, 1);
	put_all(*payload, region, &gathered);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]->list);
	return size;
}
