/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "counters.h"

struct range {
	uint64_t from, to;
	uint32_t offset;
};

static struct place *places;
static size_t place_used;
static struct range *ranges;
static size_t range_used;
/* Pointers: generated code holds the address of a command. */
static struct command **commands;
static size_t command_used;
static unsigned int cpu_count;

static int by_address(const void *a, const void *b)
{
	uint64_t left = ((const struct place *)a)->address, right = ((const struct place *)b)->address;

	return (left > right) - (left < right);
}

static void place_add(uint64_t address)
{
	struct place place = { .address = address, .first_counter = counter_new() };

	for (unsigned int cpu = 1; cpu < cpu_count; cpu++)
		counter_new();
	places = grow(places, place_used + 1, sizeof(*places));
	places[place_used++] = place;
}

static int read_line(const char *line)
{
	struct range range;
	uint64_t address;

	if (sscanf(line, "watch %" SCNx64, &address) == 1) {
		place_add(address);
		return 0;
	}
	if (sscanf(line, "command %" SCNx64 " %" SCNx64 " %" SCNx32, &range.from, &range.to, &range.offset) != 3)
		return -1;
	ranges = grow(ranges, range_used + 1, sizeof(*ranges));
	ranges[range_used++] = range;
	return 0;
}

int places_read(const char *path, unsigned int cpus)
{
	FILE *file = fopen(path, "re");
	char line[256];
	int failed = 0;

	if (!file) {
		fprintf(stderr, "shootdown-exact: cannot read %s\n", path);
		return -1;
	}
	cpu_count = cpus;
	while (!failed && fgets(line, sizeof(line), file))
		failed = read_line(line);
	fclose(file);
	if (failed)
		fprintf(stderr, "shootdown-exact: not understood in %s: %s", path, line);
	qsort(places, place_used, sizeof(*places), by_address);
	return failed;
}

struct place *place_at(uint64_t address)
{
	struct place key = { .address = address };

	return place_used ? bsearch(&key, places, place_used, sizeof(*places), by_address) : NULL;
}

void place_called(struct place *place, unsigned int cpu)
{
	if (cpu < cpu_count)
		++*counter_address(place->first_counter + cpu);
}

static struct command *command_known(uint64_t address)
{
	for (size_t i = 0; i < command_used; i++)
		if (commands[i]->address == address)
			return commands[i];
	return NULL;
}

static struct command *command_add(uint64_t address, uint32_t offset)
{
	struct command *command = zeroed(1, sizeof(*command));

	*command = (struct command){ .address = address, .offset = offset, .counter = counter_new() };
	commands = grow(commands, command_used + 1, sizeof(struct command *));
	commands[command_used++] = command;
	return command;
}

struct command *command_at(uint64_t address)
{
	for (size_t i = 0; i < range_used; i++)
		if (address >= ranges[i].from && address < ranges[i].to) {
			struct command *known = command_known(address);

			return known ? known : command_add(address, ranges[i].offset);
		}
	return NULL;
}

void command_stored(struct command *command, uint64_t stored_to)
{
	if (stored_to % 4096 == command->offset)
		++*counter_address(command->counter);
}

size_t place_count(void)
{
	return place_used;
}

const struct place *place_number(size_t index)
{
	return &places[index];
}

unsigned int place_cpus(void)
{
	return cpu_count;
}

size_t command_count(void)
{
	return command_used;
}

const struct command *command_number(size_t index)
{
	return commands[index];
}

size_t command_range_count(void)
{
	return range_used;
}
