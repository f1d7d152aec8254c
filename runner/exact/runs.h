/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run is a stretch of kernel instructions inside one translated block of
 * which only the last can fault or leave the block. All of a run is executed
 * as often as its first instruction, so one counter serves it. Translating
 * the same bytes at the same place again finds the same run.
 */
#ifndef SHOOTDOWN_EXACT_RUNS_H
#define SHOOTDOWN_EXACT_RUNS_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define RUN_LONGEST 64		/* instructions; a longer stretch is cut */
#define NO_COUNTER UINT32_MAX

struct run_instruction {
	uint8_t size, kind;
};

struct run {
	uint64_t start, hash;
	uint64_t target;	/* direct branch of the last instruction, or 0 */
	uint32_t counter;
	uint32_t repeat_counter;	/* iterations of the rep instruction at the end, or NO_COUNTER */
	uint32_t first;		/* index into the instructions of all runs */
	uint16_t length;	/* instructions */
};

/* `hash` is of the bytes. The run is found or made; a made one has its counters. */
const struct run *run_of(uint64_t start, uint64_t hash, const struct run_instruction *instructions, size_t length,
			 uint64_t target, int repeats);
size_t run_count(void);
const struct run *run_at(size_t index);
const struct run_instruction *run_instructions(const struct run *run);

#pragma GCC visibility pop

#endif
