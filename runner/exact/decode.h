/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugin must know of an instruction. One file an architecture
 * defines one struct decoder; nothing else in runner/exact knows opcodes.
 */
#ifndef SHOOTDOWN_EXACT_DECODE_H
#define SHOOTDOWN_EXACT_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Kind 0 of every decoder. */
#define KIND_PLAIN 0

enum repeat {
	REPEAT_NONE,
	REPEAT_ONE_ACCESS,	/* each iteration loads or stores once */
	REPEAT_COPY,		/* each iteration loads once, then stores once */
};

struct decoded {
	uint8_t kind;
	bool ends_run;		/* may fault, leave the block, or is not known well enough to say that it does not */
	enum repeat repeat;	/* the emulator runs the instruction again for each iteration, and once to end it */
	uint32_t mark;		/* number of a region marker, or 0 */
	uint64_t target;	/* direct call or unconditional jump, or 0 */
};

struct decoder {
	const char *target;		/* QEMU's name of the architecture */
	const char *architecture;	/* ours */
	const char *const *kinds;	/* names of the kinds, NULL-terminated */
	unsigned int longest;		/* instruction, in bytes */
	bool (*kernel)(uint64_t address);
	void (*decode)(const uint8_t *bytes, size_t size, uint64_t address, struct decoded *out);
};

extern const struct decoder decoder_x86, decoder_arm64;

/* NULL when there is none for QEMU's architecture. */
const struct decoder *decoder_find(const char *target);

#pragma GCC visibility pop

#endif
