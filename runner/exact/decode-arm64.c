/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AArch64. Four bytes each, so the kinds are rows of mask and value. What
 * cannot fault is whole classes of encodings: data processing on immediates
 * and general registers, and direct branches.
 */
#include "decode.h"

#include <string.h>

#include "../harness/roi.h"

#define MARK_MASK 0xffe0001f
#define MARK_VALUE 0xd280001f	/* movz xzr, #imm16 */

/*
 * TLBI: operation by operation and reach. `is` is the inner shareable domain,
 * `os` the outer, neither the CPU alone; `r` is a range, `l` the last level.
 * `exclusive` is a store exclusive, an attempt at an atomic operation.
 */
#define KINDS(kind) \
	kind(PLAIN, "plain", 0, 0) \
	kind(CALL, "call", 0xfc000000, 0x94000000) \
	kind(JUMP, "jump", 0xfc000000, 0x14000000) \
	kind(CALL_INDIRECT, "call-indirect", 0xfefff000, 0xd63f0000) \
	kind(JUMP_INDIRECT, "jump-indirect", 0xfefff000, 0xd61f0000) \
	kind(RETURN, "return", 0xfffff000, 0xd65f0000) \
	kind(ERET, "eret", 0xfffff000, 0xd69f0000) \
	kind(TLBI_VMALLE1IS, "tlbi-vmalle1is", 0xffffffe0, 0xd5088300) \
	kind(TLBI_VAE1IS, "tlbi-vae1is", 0xffffffe0, 0xd5088320) \
	kind(TLBI_ASIDE1IS, "tlbi-aside1is", 0xffffffe0, 0xd5088340) \
	kind(TLBI_VAAE1IS, "tlbi-vaae1is", 0xffffffe0, 0xd5088360) \
	kind(TLBI_VALE1IS, "tlbi-vale1is", 0xffffffe0, 0xd50883a0) \
	kind(TLBI_VAALE1IS, "tlbi-vaale1is", 0xffffffe0, 0xd50883e0) \
	kind(TLBI_VMALLE1, "tlbi-vmalle1", 0xffffffe0, 0xd5088700) \
	kind(TLBI_VAE1, "tlbi-vae1", 0xffffffe0, 0xd5088720) \
	kind(TLBI_ASIDE1, "tlbi-aside1", 0xffffffe0, 0xd5088740) \
	kind(TLBI_VAAE1, "tlbi-vaae1", 0xffffffe0, 0xd5088760) \
	kind(TLBI_VALE1, "tlbi-vale1", 0xffffffe0, 0xd50887a0) \
	kind(TLBI_VAALE1, "tlbi-vaale1", 0xffffffe0, 0xd50887e0) \
	kind(TLBI_RVAE1IS, "tlbi-rvae1is", 0xffffffe0, 0xd5088220) \
	kind(TLBI_RVAAE1IS, "tlbi-rvaae1is", 0xffffffe0, 0xd5088260) \
	kind(TLBI_RVALE1IS, "tlbi-rvale1is", 0xffffffe0, 0xd50882a0) \
	kind(TLBI_RVAALE1IS, "tlbi-rvaale1is", 0xffffffe0, 0xd50882e0) \
	kind(TLBI_OS, "tlbi-os", 0xffffff00, 0xd5088100) \
	kind(TLBI_RANGE_OS, "tlbi-range-os", 0xffffff00, 0xd5088500) \
	kind(TLBI_RANGE, "tlbi-range", 0xffffff00, 0xd5088600) \
	kind(TLBI_OTHER, "tlbi-other", 0xfff8e000, 0xd5088000) \
	kind(DSB_SY, "dsb-sy", 0xffffffff, 0xd5033f9f) \
	kind(DSB_ST, "dsb-st", 0xffffffff, 0xd5033e9f) \
	kind(DSB_LD, "dsb-ld", 0xffffffff, 0xd5033d9f) \
	kind(DSB_ISH, "dsb-ish", 0xffffffff, 0xd5033b9f) \
	kind(DSB_ISHST, "dsb-ishst", 0xffffffff, 0xd5033a9f) \
	kind(DSB_ISHLD, "dsb-ishld", 0xffffffff, 0xd503399f) \
	kind(DSB_NSH, "dsb-nsh", 0xffffffff, 0xd503379f) \
	kind(DSB_NSHST, "dsb-nshst", 0xffffffff, 0xd503369f) \
	kind(DSB_OTHER, "dsb-other", 0xfffff0ff, 0xd503309f) \
	kind(DMB_SY, "dmb-sy", 0xffffffff, 0xd5033fbf) \
	kind(DMB_ST, "dmb-st", 0xffffffff, 0xd5033ebf) \
	kind(DMB_LD, "dmb-ld", 0xffffffff, 0xd5033dbf) \
	kind(DMB_ISH, "dmb-ish", 0xffffffff, 0xd5033bbf) \
	kind(DMB_ISHST, "dmb-ishst", 0xffffffff, 0xd5033abf) \
	kind(DMB_ISHLD, "dmb-ishld", 0xffffffff, 0xd50339bf) \
	kind(DMB_OSHST, "dmb-oshst", 0xffffffff, 0xd50332bf) \
	kind(DMB_OSHLD, "dmb-oshld", 0xffffffff, 0xd50331bf) \
	kind(DMB_OTHER, "dmb-other", 0xfffff0ff, 0xd50330bf) \
	kind(ISB, "isb", 0xfffff0ff, 0xd50330df) \
	kind(YIELD, "yield", 0xffffffff, 0xd503203f) \
	kind(WFE, "wfe", 0xffffffff, 0xd503205f) \
	kind(WFI, "wfi", 0xffffffff, 0xd503207f) \
	kind(TTBR0_WRITE, "ttbr0-write", 0xffffffe0, 0xd5182000) \
	kind(TTBR1_WRITE, "ttbr1-write", 0xffffffe0, 0xd5182020) \
	kind(SGI_WRITE, "sgi-write", 0xffffffe0, 0xd518cba0) \
	kind(DC_ZVA, "dc-zva", 0xffffffe0, 0xd50b7420) \
	kind(EXCLUSIVE, "exclusive", 0x3fe00000, 0x08000000) \
	kind(EXCLUSIVE_PAIR, "exclusive", 0xbfe00000, 0x88200000) \
	kind(LOAD_ACQUIRE, "plain", 0x3ffffc00, 0x38bfc000) \
	kind(LSE_CAS, "lse", 0x3fa00000, 0x08a00000) \
	kind(LSE_CASP, "lse", 0xbfa00000, 0x08200000) \
	kind(LSE, "lse", 0x3f200c00, 0x38200000)

#define AS_NUMBER(number, name, mask, value) number,
#define AS_NAME(number, name, mask, value) name,
#define AS_ROW(number, name, mask, value) { mask, value },

enum kind { KINDS(AS_NUMBER) KIND_COUNT };

/* Names may stand twice: readers add them up by name. */
static const char *const kinds[] = { KINDS(AS_NAME) NULL };

static const struct {
	uint32_t mask, value;
} rows[] = { KINDS(AS_ROW) };

/* The first row that fits: the particular ones stand before the rest of their family. */
static enum kind find_kind(uint32_t word)
{
	for (unsigned int kind = PLAIN + 1; kind < KIND_COUNT; kind++)
		if ((word & rows[kind].mask) == rows[kind].value)
			return kind;
	return PLAIN;
}

static bool is_quiet(uint32_t word)
{
	return (word & 0x1c000000) == 0x10000000 ||	/* data processing, immediate */
	       (word & 0x0e000000) == 0x0a000000 ||	/* data processing, registers */
	       (word & 0x7c000000) == 0x14000000 ||	/* b, bl */
	       (word & 0x7c000000) == 0x34000000 ||	/* cbz, cbnz, tbz, tbnz */
	       (word & 0xff000010) == 0x54000000 ||	/* b.cond */
	       word == 0xd503201f ||			/* nop */
	       (word & 0xffffff3f) == 0xd503241f ||	/* bti */
	       (word & 0xfffff0df) == 0xd503309f;	/* dsb, dmb */
}

static uint64_t branch_target(uint32_t word, uint64_t address)
{
	int32_t offset = (int32_t)(word << 6) >> 4;

	return address + (int64_t)offset;
}

static void decode(const uint8_t *bytes, size_t size, uint64_t address, struct decoded *out)
{
	uint32_t word;

	*out = (struct decoded){ .kind = PLAIN, .ends_run = true };
	if (size != sizeof(word))
		return;
	word = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
	out->kind = find_kind(word);
	if (out->kind == CALL || out->kind == JUMP)
		out->target = branch_target(word, address);
	if ((word & MARK_MASK) == MARK_VALUE) {
		uint32_t number = word >> 5 & 0xffff;

		if (number == ROI_MARK_BEGIN || number == ROI_MARK_END)
			out->mark = number;
	}
	out->ends_run = out->mark || !is_quiet(word);
}

static bool kernel(uint64_t address)
{
	return address >> 63;
}

const struct decoder decoder_arm64 = {
	.target = "aarch64",
	.architecture = "arm64",
	.kinds = kinds,
	.longest = 4,
	.kernel = kernel,
	.decode = decode,
};
