/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places in the kernel's text that are watched closer than by a counter,
 * named to the plugin in its options file, a line each, addresses in hex:
 *
 *     watch ADDRESS             count entries of this function for each CPU
 *     command FROM TO OFFSET    in [FROM, TO), stores to this offset in a page send an interrupt command
 */
#ifndef SHOOTDOWN_EXACT_PLACES_H
#define SHOOTDOWN_EXACT_PLACES_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct place {
	uint64_t address;
	uint32_t first_counter;		/* one a CPU */
};

struct command {
	uint64_t address;	/* of the storing instruction */
	uint32_t offset;	/* in the page */
	uint32_t counter;
};

/* 0, or -1 with a line on standard error. */
int places_read(const char *path, unsigned int cpus);
struct place *place_at(uint64_t address);	/* NULL: not watched */
void place_called(struct place *place, unsigned int cpu);
struct command *command_at(uint64_t address);	/* NULL: not in a range; made when first seen */
void command_stored(struct command *command, uint64_t stored_to);

size_t place_count(void);
const struct place *place_number(size_t index);	/* ascending addresses */
unsigned int place_cpus(void);
size_t command_range_count(void);
size_t command_count(void);
const struct command *command_number(size_t index);	/* in no order */

#pragma GCC visibility pop

#endif
