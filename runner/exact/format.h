/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layout of a counts file, written by the plugin, read by the lane (is it
 * whole?) and by analysis/exact.py (which function is it?).
 *
 *     magic, then blocks: struct exact_block, payload, padding to 8 bytes
 *
 * All numbers are little-endian. Blocks are written whole, one at a time, so
 * that a guest that goes away loses the open region only. Equal runs give
 * equal bytes: nothing here depends on translation order, host or time.
 *
 * HEADER   JSON: {"format": 1, "architecture": "x86-64", "cpus": 4, "watched": 9, "command_ranges": 6, "kinds": ["plain", ...]}
 * REGION   struct exact_region and its arrays: one iteration
 * FAULT    UTF-8 text: why no further region can be trusted
 * END      empty: QEMU ended in order
 */
#ifndef SHOOTDOWN_EXACT_FORMAT_H
#define SHOOTDOWN_EXACT_FORMAT_H

#include <stdint.h>

#define EXACT_MAGIC "SDEXACT1"
#define EXACT_FORMAT 1

enum exact_block_type {
	EXACT_HEADER = 1,
	EXACT_REGION = 2,
	EXACT_FAULT = 3,
	EXACT_END = 4,
};

struct exact_block {
	uint32_t type;
	uint32_t checksum;	/* CRC-32 of the payload, as zlib's */
	uint64_t size;		/* of the payload, without padding */
};

/*
 * What was executed between two marks. After it stand, each padded to 8 bytes:
 *
 *     uint64_t address[instructions]     ascending; kernel instructions executed at least once
 *     uint64_t executed[instructions]    times; a rep instruction once for each iteration and once for its end
 *     uint8_t  kind[instructions]        index into the header's kinds
 *     uint64_t source[branches], target[branches]           executed direct calls and unconditional jumps
 *     uint64_t address[repeats], iterations[repeats]        rep instructions: elements moved
 *     uint64_t address[commands], writes[commands]          stores that sent an interrupt command (x86: ICR)
 *     uint64_t address[watched], cpu[watched], calls[watched]   entries of watched functions, by CPU
 *
 * The same address stands twice in a row only when its bytes changed.
 */
struct exact_region {
	uint32_t index;			/* regions are numbered from 0 */
	uint32_t instructions;
	uint32_t branches;
	uint32_t repeats;
	uint32_t commands;
	uint32_t watched;
	uint64_t user_instructions;	/* as executed: with each iteration of a rep instruction */
	uint64_t user_rep_iterations;
};

#endif
