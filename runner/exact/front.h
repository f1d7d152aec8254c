/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the core, which knows what to count, and a front, which knows one
 * version of QEMU's plugin interface. The front turns a translated block into
 * an array of instructions and hands it to core_translate(); the core answers
 * with the calls below.
 */
#ifndef SHOOTDOWN_EXACT_FRONT_H
#define SHOOTDOWN_EXACT_FRONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct block_instruction {
	uint64_t address;
	const uint8_t *bytes;
	size_t size;
	void *handle;		/* the front's own */
};

/* `path` is the counts file, `options` the file of watched places or NULL. 0, or -1 with a line on standard error. */
int core_start(const char *target, unsigned int cpus, const char *path, const char *options);
void core_translate(const struct block_instruction *instructions, size_t count);
void core_end(void);

/* Generated code adds `amount` each time the instruction is about to be executed. */
void front_count(void *handle, uint64_t *counter, uint64_t amount);
/*
 * Generated code adds 1 for each access that the instruction completes: all, or what the interface calls loads or stores.
 * QEMU 7.2 mixes the latter two up: the core finds out (see stores_filter).
 */
enum front_accesses { FRONT_LOADS = 1, FRONT_STORES = 2, FRONT_ACCESSES = 3 };
void front_count_accesses(void *handle, enum front_accesses which, uint64_t *counter);
/* Calls back before the instruction, after counts asked for earlier on it. */
void front_call(void *handle, void (*function)(unsigned int cpu, void *context), void *context);
/* Calls back for each store with its virtual address. */
void front_call_on_store(void *handle, void (*function)(uint64_t address, void *context), void *context);

#pragma GCC visibility pop

#endif
