/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is counted: every kernel instruction by its address, user
 * instructions in total, watched entries by CPU, interrupt commands.
 */
#include <stdio.h>
#include <string.h>

#include "counters.h"
#include "decode.h"
#include "front.h"
#include "places.h"
#include "region.h"
#include "runs.h"

#define PAGE 4096

static const struct decoder *decoder;
static uint32_t user_counter, user_repeat_counter, loads_of_stores;

int core_start(const char *target, unsigned int cpus, const char *path, const char *options)
{
	decoder = decoder_find(target);
	if (!decoder) {
		fprintf(stderr, "shootdown-exact: no decoder for %s\n", target);
		return -1;
	}
	if (options && places_read(options, cpus) != 0)
		return -1;
	user_counter = counter_new();
	user_repeat_counter = counter_new();
	loads_of_stores = counter_new();
	return region_start(path, decoder, cpus, user_counter, user_repeat_counter);
}

void core_end(void)
{
	region_end();
}

static void on_mark(unsigned int cpu, void *context)
{
	(void)cpu;
	region_mark((uintptr_t)context);
}

static void on_watched(unsigned int cpu, void *context)
{
	place_called(context, cpu);
}

static void on_command_store(uint64_t address, void *context)
{
	command_stored(context, address);
}

/* FNV-1a over the bytes of a run. */
static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

/*
 * QEMU 7.2 shows as a block's last instruction one that would cross into the
 * next page: cut off, and not part of the block's code. It must not be counted
 * with the instructions before it; alone, its counter never moves.
 */
static bool may_be_ghost(const struct block_instruction *instruction, bool last)
{
	return last && PAGE - instruction->address % PAGE <= decoder->longest;
}

/* A run being gathered, and the instruction that will carry its counter. */
struct gathering {
	const struct block_instruction *first;
	struct run_instruction instructions[RUN_LONGEST];
	size_t length;
	uint64_t hash;
};

/*
 * What to ask for to count stores only. QEMU 7.2 takes loads for stores and stores for both; later ones do not. The first
 * repeated stores, long before a kernel runs, tell: counted as loads they leave a trace in the former only.
 */
static enum front_accesses stores_filter(void)
{
	return *counter_address(loads_of_stores) ? FRONT_LOADS : FRONT_STORES;
}

static void count_repeats(const struct block_instruction *last, enum repeat repeat, uint32_t counter)
{
	if (repeat == REPEAT_ONE_ACCESS) {
		front_count_accesses(last->handle, FRONT_ACCESSES, counter_address(counter));
		if (*counter_address(loads_of_stores) == 0)
			front_count_accesses(last->handle, FRONT_LOADS, counter_address(loads_of_stores));
	} else if (repeat == REPEAT_COPY) {
		front_count_accesses(last->handle, stores_filter(), counter_address(counter));
	}
}

/* Ends the run that is being gathered; `last` is its last instruction, decoded as `decoded`. */
static void finish_run(struct gathering *gathering, const struct block_instruction *last, const struct decoded *decoded)
{
	if (gathering->length == 0)
		return;
	if (decoder->kernel(gathering->first->address)) {
		const struct run *run = run_of(gathering->first->address, gathering->hash, gathering->instructions,
					       gathering->length, decoded->target, decoded->repeat != REPEAT_NONE);

		front_count(gathering->first->handle, counter_address(run->counter), 1);
		count_repeats(last, decoded->repeat, run->repeat_counter);
	} else {
		front_count(gathering->first->handle, counter_address(user_counter), gathering->length);
		count_repeats(last, decoded->repeat, user_repeat_counter);
	}
	gathering->length = 0;
}

static void gather(struct gathering *gathering, const struct block_instruction *instruction, uint8_t kind)
{
	if (gathering->length == 0) {
		gathering->first = instruction;
		gathering->hash = 0xcbf29ce484222325ull;
	}
	gathering->instructions[gathering->length++] = (struct run_instruction){ .size = instruction->size, .kind = kind };
	gathering->hash = hash_bytes(gathering->hash, instruction->bytes, instruction->size);
}

static void watch_instruction(const struct block_instruction *instruction)
{
	struct place *place = place_at(instruction->address);
	struct command *command = command_at(instruction->address);

	if (place)
		front_call(instruction->handle, on_watched, place);
	if (command)
		front_call_on_store(instruction->handle, on_command_store, command);
}

void core_translate(const struct block_instruction *instructions, size_t count)
{
	struct gathering gathering = { 0 };
	struct decoded decoded = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct block_instruction *instruction = &instructions[i];

		if (may_be_ghost(instruction, i + 1 == count) && i > 0)
			finish_run(&gathering, instruction - 1, &decoded);
		decoder->decode(instruction->bytes, instruction->size, instruction->address, &decoded);
		if (decoded.mark) {
			/* Outside what is counted: an empty region reads nothing. */
			finish_run(&gathering, instruction - 1, &(struct decoded){ 0 });
			front_call(instruction->handle, on_mark, (void *)(uintptr_t)decoded.mark);
			continue;
		}
		gather(&gathering, instruction, decoded.kind);
		watch_instruction(instruction);
		if (decoded.ends_run || gathering.length == RUN_LONGEST || i + 1 == count)
			finish_run(&gathering, instruction, &decoded);
	}
}
