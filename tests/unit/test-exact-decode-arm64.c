// SPDX-License-Identifier: GPL-2.0-or-later
/* The AArch64 decoder of the exact lane. The encodings are an assembler's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/exact/decode-arm64.c"

#define ADDRESS 0xffff800080000000

static const struct {
	const char *what, *kind;
	bool ends_run;
	uint32_t word;
} cases[] = {
	{ "tlbi vmalle1is", "tlbi-vmalle1is", true, 0xd508831f },
	{ "tlbi vae1is, x0", "tlbi-vae1is", true, 0xd5088320 },
	{ "tlbi vale1is, x5", "tlbi-vale1is", true, 0xd50883a5 },
	{ "tlbi aside1is, x1", "tlbi-aside1is", true, 0xd5088341 },
	{ "tlbi vaae1is, x1", "tlbi-vaae1is", true, 0xd5088361 },
	{ "tlbi vaale1is, x1", "tlbi-vaale1is", true, 0xd50883e1 },
	{ "tlbi vale1, x3", "tlbi-vale1", true, 0xd50887a3 },
	{ "tlbi vmalle1", "tlbi-vmalle1", true, 0xd508871f },
	{ "tlbi vae1, x2", "tlbi-vae1", true, 0xd5088722 },
	{ "tlbi alle1", "tlbi-other", true, 0xd50c879f },
	{ "dsb sy", "dsb-sy", false, 0xd5033f9f },
	{ "dsb ishst", "dsb-ishst", false, 0xd5033a9f },
	{ "dsb ish", "dsb-ish", false, 0xd5033b9f },
	{ "dsb nsh", "dsb-nsh", false, 0xd503379f },
	{ "dsb nshst", "dsb-nshst", false, 0xd503369f },
	{ "dsb osh", "dsb-other", false, 0xd503339f },
	{ "dmb ish", "dmb-ish", false, 0xd5033bbf },
	{ "dmb ishst", "dmb-ishst", false, 0xd5033abf },
	{ "dmb sy", "dmb-sy", false, 0xd5033fbf },
	{ "dmb oshld", "dmb-oshld", false, 0xd50331bf },
	{ "isb", "isb", true, 0xd5033fdf },
	{ "eret", "eret", true, 0xd69f03e0 },
	{ "bl .+8", "call", false, 0x94000002 },
	{ "b .-4", "jump", false, 0x17ffffff },
	{ "blr x3", "call-indirect", true, 0xd63f0060 },
	{ "br x3", "jump-indirect", true, 0xd61f0060 },
	{ "ret", "return", true, 0xd65f03c0 },
	{ "stxr w1, x2, [x3]", "exclusive", true, 0xc8017c62 },
	{ "stlxr w1, w2, [x3]", "exclusive", true, 0x8801fc62 },
	{ "ldxr x2, [x3]", "plain", true, 0xc85f7c62 },
	{ "stxp w1, x2, x4, [x3]", "exclusive", true, 0xc8211062 },
	{ "ldar x1, [x2]", "plain", true, 0xc8dffc41 },
	{ "stlr x1, [x2]", "plain", true, 0xc89ffc41 },
	{ "cas x1, x2, [x3]", "lse", true, 0xc8a17c62 },
	{ "casp x0, x1, x2, x3, [x4]", "lse", true, 0x48207c82 },
	{ "ldadd x1, x2, [x3]", "lse", true, 0xf8210062 },
	{ "swpal w1, w2, [x3]", "lse", true, 0xb8e18062 },
	{ "stset x1, [x2]", "lse", true, 0xf821305f },
	{ "ldapr x1, [x2]", "plain", true, 0xf8bfc041 },
	{ "ldr x1, [x2]", "plain", true, 0xf9400041 },
	{ "str x1, [x2, #8]", "plain", true, 0xf9000441 },
	{ "ldp x29, x30, [sp], #16", "plain", true, 0xa8c17bfd },
	{ "msr ttbr0_el1, x1", "ttbr0-write", true, 0xd5182001 },
	{ "msr ttbr1_el1, x1", "ttbr1-write", true, 0xd5182021 },
	{ "msr S3_0_C12_C11_5, x1", "sgi-write", true, 0xd518cba1 },
	{ "dc zva, x1", "dc-zva", true, 0xd50b7421 },
	{ "wfi", "wfi", true, 0xd503207f },
	{ "yield", "yield", true, 0xd503203f },
	{ "nop", "plain", false, 0xd503201f },
	{ "hint #36", "plain", false, 0xd503249f },
	{ "mov x0, x1", "plain", false, 0xaa0103e0 },
	{ "add x0, x1, #4", "plain", false, 0x91001020 },
	{ "adrp x0, .", "plain", false, 0x90000000 },
	{ "movk x0, #1, lsl #16", "plain", false, 0xf2a00020 },
	{ "udiv x0, x1, x2", "plain", false, 0x9ac20820 },
	{ "csel x0, x1, x2, eq", "plain", false, 0x9a820020 },
	{ "cbz x0, .+8", "plain", false, 0xb4000040 },
	{ "tbnz x0, #3, .+8", "plain", false, 0x37180040 },
	{ "b.eq .+8", "plain", false, 0x54000040 },
	{ "svc #0", "plain", true, 0xd4000001 },
	{ "brk #1", "plain", true, 0xd4200020 },
	{ "fadd d0, d0, d1", "plain", true, 0x1e612800 },
	{ "mrs x0, tpidr_el1", "plain", true, 0xd538d080 },
	{ "movz xzr, #0x5d01", "plain", true, 0xd28ba03f },
	{ "movz xzr, #0x5d02", "plain", true, 0xd28ba05f },
	{ "movz x0, #0x5d02", "plain", false, 0xd28ba040 },
	{ "tlbi rvae1is, x0", "tlbi-rvae1is", true, 0xd5088220 },
	{ "tlbi vae1os, x0", "tlbi-os", true, 0xd5088120 },
};

static struct decoded decode_word(uint32_t word)
{
	uint8_t bytes[4] = { (uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24) };
	struct decoded decoded;

	decoder_arm64.decode(bytes, sizeof(bytes), ADDRESS, &decoded);
	return decoded;
}

static void each_kind(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct decoded decoded = decode_word(cases[i].word);

		if (strcmp(kinds[decoded.kind], cases[i].kind) || decoded.ends_run != cases[i].ends_run)
			fail_msg("%s: decoded as %s, %s a run", cases[i].what, kinds[decoded.kind], decoded.ends_run ? "ends" : "stays in");
	}
}

static void targets_and_marks(void **state)
{
	(void)state;
	assert_true(decode_word(0x94000002).target == ADDRESS + 8);
	assert_true(decode_word(0x17ffffff).target == ADDRESS - 4);
	assert_true(decode_word(0xb4000040).target == 0);	/* conditional */
	assert_int_equal(decode_word(0xd280001f | ROI_MARK_BEGIN << 5).mark, ROI_MARK_BEGIN);
	assert_int_equal(decode_word(0xd280001f | ROI_MARK_END << 5).mark, ROI_MARK_END);
	assert_int_equal(decode_word(0xd2800000 | ROI_MARK_END << 5).mark, 0);	/* into x0 */
	assert_true(decoder_arm64.kernel(ADDRESS) && !decoder_arm64.kernel(0xaaaaaaaaaaaa));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_kind), cmocka_unit_test(targets_and_marks) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
