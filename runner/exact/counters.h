/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 64-bit counters whose addresses never change, so that generated code can
 * add to them, and a copy of all of them as they stood at a moment.
 * One vCPU runs at a time (thread=single): plain adds lose nothing.
 */
#ifndef SHOOTDOWN_EXACT_COUNTERS_H
#define SHOOTDOWN_EXACT_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Index of a new counter that stands at 0. Ends the process when memory is out: a lost counter is a wrong count. */
uint32_t counter_new(void);
uint64_t *counter_address(uint32_t index);
/* Remembers every counter. A counter made later stood at 0 then. */
void counters_remember(void);
/* What was added since. */
uint64_t counter_since(uint32_t index);

/* realloc and calloc that say so and end QEMU when there is no memory. */
void *grow(void *array, size_t elements, size_t element_size);
void *zeroed(size_t elements, size_t element_size);
void give_up(const char *reason) __attribute__((noreturn));

#pragma GCC visibility pop

#endif
