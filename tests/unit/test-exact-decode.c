// SPDX-License-Identifier: GPL-2.0-or-later
/* The x86-64 decoder of the exact lane: what each encoding is, and whether it may end a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/exact/decode-x86.c"

#define ADDRESS 0xffffffff81000000

struct row {
	const char *what;
	const char *kind;
	bool ends_run;
	size_t size;
	uint8_t bytes[15];
};

static const struct row rows[] = {
	{ "mov %rdi,%cr3", "cr3-write", true, 3, { 0x0f, 0x22, 0xdf } },
	{ "mov %rax,%cr4", "cr4-write", true, 3, { 0x0f, 0x22, 0xe0 } },
	{ "mov %rax,%cr0", "cr0-write", true, 3, { 0x0f, 0x22, 0xc0 } },
	{ "mov %rax,%cr8", "plain", true, 4, { 0x44, 0x0f, 0x22, 0xc0 } },
	{ "mov %cr3,%rax", "plain", true, 3, { 0x0f, 0x20, 0xd8 } },
	{ "mov %r9,%cr3", "cr3-write", true, 4, { 0x41, 0x0f, 0x22, 0xd9 } },
	{ "invlpg (%rdi)", "invlpg", true, 3, { 0x0f, 0x01, 0x3f } },
	{ "swapgs", "plain", true, 3, { 0x0f, 0x01, 0xf8 } },
	{ "invpcid (%rsp),%rax", "invpcid", true, 6, { 0x66, 0x0f, 0x38, 0x82, 0x04, 0x24 } },
	{ "hlt", "hlt", true, 1, { 0xf4 } },
	{ "pause", "pause", true, 2, { 0xf3, 0x90 } },
	{ "nop", "plain", false, 1, { 0x90 } },
	{ "endbr64", "plain", false, 4, { 0xf3, 0x0f, 0x1e, 0xfa } },
	{ "nopw 0(%rax,%rax,1)", "plain", false, 9, { 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 } },
	{ "lock addl $0,-4(%rsp)", "locked-stack-barrier", true, 6, { 0xf0, 0x83, 0x44, 0x24, 0xfc, 0x00 } },
	{ "lock addl $1,-4(%rsp)", "locked-other", true, 6, { 0xf0, 0x83, 0x44, 0x24, 0xfc, 0x01 } },
	{ "lock addl $0,(%rdi)", "locked-other", true, 4, { 0xf0, 0x83, 0x07, 0x00 } },
	{ "lock bts %rax,(%rdi)", "locked-bit", true, 5, { 0xf0, 0x48, 0x0f, 0xab, 0x07 } },
	{ "lock btr %rax,(%rdi)", "locked-bit", true, 5, { 0xf0, 0x48, 0x0f, 0xb3, 0x07 } },
	{ "lock btsq $1,(%rdi)", "locked-bit", true, 6, { 0xf0, 0x48, 0x0f, 0xba, 0x2f, 0x01 } },
	{ "lock orb $2,(%rdi)", "locked-bit", true, 4, { 0xf0, 0x80, 0x0f, 0x02 } },
	{ "lock andb $-2,(%rdi)", "locked-bit", true, 4, { 0xf0, 0x80, 0x27, 0xfe } },
	{ "lock cmpxchg %edx,(%rdi)", "locked-other", true, 4, { 0xf0, 0x0f, 0xb1, 0x17 } },
	{ "lock xadd %eax,(%rdi)", "locked-other", true, 4, { 0xf0, 0x0f, 0xc1, 0x07 } },
	{ "lock incl %gs:8", "locked-other", true, 8, { 0x65, 0xf0, 0xff, 0x04, 0x25, 8, 0, 0 } },
	{ "xchg %eax,(%rdi)", "xchg", true, 2, { 0x87, 0x07 } },
	{ "xchg %eax,%edi", "plain", false, 2, { 0x87, 0xc7 } },
	{ "rep stosq", "rep", true, 3, { 0xf3, 0x48, 0xab } },
	{ "rep movsb", "rep", true, 2, { 0xf3, 0xa4 } },
	{ "movsb", "plain", true, 1, { 0xa4 } },
	{ "repz cmpsb", "rep-compare", true, 2, { 0xf3, 0xa6 } },
	{ "ret", "return", true, 1, { 0xc3 } },
	{ "iretq", "interrupt-return", true, 2, { 0x48, 0xcf } },
	{ "sysretq", "interrupt-return", true, 3, { 0x48, 0x0f, 0x07 } },
	{ "call *%rax", "call-indirect", true, 2, { 0xff, 0xd0 } },
	{ "jmp *8(%rax)", "jump-indirect", true, 3, { 0xff, 0x60, 0x08 } },
	{ "wrmsr", "msr-write", true, 2, { 0x0f, 0x30 } },
	{ "mov %rsp,%rbp", "plain", false, 3, { 0x48, 0x89, 0xe5 } },
	{ "mov (%rdi),%rax", "plain", true, 3, { 0x48, 0x8b, 0x07 } },
	{ "lea 8(%rdi),%rax", "plain", false, 4, { 0x48, 0x8d, 0x47, 0x08 } },
	{ "push %rbp", "plain", true, 1, { 0x55 } },
	{ "test %rax,%rax", "plain", false, 3, { 0x48, 0x85, 0xc0 } },
	{ "cmp $1,(%rdi)", "plain", true, 3, { 0x83, 0x3f, 0x01 } },
	{ "add $8,%eax", "plain", false, 3, { 0x83, 0xc0, 0x08 } },
	{ "and $1,%al", "plain", false, 2, { 0x24, 0x01 } },
	{ "div %rcx", "plain", true, 3, { 0x48, 0xf7, 0xf1 } },
	{ "neg %rcx", "plain", false, 3, { 0x48, 0xf7, 0xd9 } },
	{ "setne %al", "plain", false, 3, { 0x0f, 0x95, 0xc0 } },
	{ "setne (%rax)", "plain", true, 3, { 0x0f, 0x95, 0x00 } },
	{ "bswap %eax", "plain", false, 2, { 0x0f, 0xc8 } },
	{ "je +2", "plain", false, 2, { 0x74, 0x02 } },
	{ "ud2", "plain", true, 2, { 0x0f, 0x0b } },
	{ "vpxor", "plain", true, 4, { 0xc5, 0xf9, 0xef, 0xc0 } },
	{ "sti", "plain", true, 1, { 0xfb } },
};

static void each_kind(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct decoded decoded;

		decoder_x86.decode(rows[i].bytes, rows[i].size, ADDRESS, &decoded);
		if (strcmp(decoder_x86.kinds[decoded.kind], rows[i].kind) || decoded.ends_run != rows[i].ends_run)
			fail_msg("%s: decoded as %s, %s a run", rows[i].what, decoder_x86.kinds[decoded.kind],
				 decoded.ends_run ? "ends" : "stays in");
	}
}

static void targets(void **state)
{
	static const uint8_t call[] = { 0xe8, 0xfb, 0xff, 0xff, 0xff }, jump[] = { 0xeb, 0x10 }, prefixed[] = { 0x2e, 0xe8, 0, 1, 0, 0 };
	struct decoded decoded;

	(void)state;
	decoder_x86.decode(call, sizeof(call), ADDRESS, &decoded);
	assert_true(decoded.target == ADDRESS);
	decoder_x86.decode(jump, sizeof(jump), ADDRESS, &decoded);
	assert_true(decoded.target == ADDRESS + 0x12);
	decoder_x86.decode(prefixed, sizeof(prefixed), ADDRESS, &decoded);
	assert_true(decoded.target == ADDRESS + 0x106);
}

static void marks(void **state)
{
	uint8_t mark[] = { 0x0f, 0x1f, 0x80, ROI_MARK_BEGIN & 0xff, ROI_MARK_BEGIN >> 8, ROI_MARK_PREFIX & 0xff, ROI_MARK_PREFIX >> 8 };
	struct decoded decoded;

	(void)state;
	decoder_x86.decode(mark, sizeof(mark), 0x401000, &decoded);
	assert_int_equal(decoded.mark, ROI_MARK_BEGIN);
	mark[6]++;
	decoder_x86.decode(mark, sizeof(mark), 0x401000, &decoded);
	assert_int_equal(decoded.mark, 0);
}

static void repeats(void **state)
{
	static const uint8_t copy[] = { 0xf3, 0x48, 0xa5 }, fill[] = { 0xf3, 0xaa }, load[] = { 0xf3, 0xac }, compare[] = { 0xf2, 0xae };
	struct decoded decoded;

	(void)state;
	decoder_x86.decode(copy, sizeof(copy), ADDRESS, &decoded);
	assert_int_equal(decoded.repeat, REPEAT_COPY);
	decoder_x86.decode(fill, sizeof(fill), ADDRESS, &decoded);
	assert_int_equal(decoded.repeat, REPEAT_ONE_ACCESS);
	decoder_x86.decode(load, sizeof(load), ADDRESS, &decoded);
	assert_int_equal(decoded.repeat, REPEAT_ONE_ACCESS);
	decoder_x86.decode(compare, sizeof(compare), ADDRESS, &decoded);
	assert_int_equal(decoded.repeat, REPEAT_NONE);
}

/* What is cut off at a page's end is never taken for harmless where a byte that decides is missing. */
static void truncated(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t size = 0; size < rows[i].size; size++) {
			struct decoded decoded;
			uint8_t exact[15];

			memcpy(exact, rows[i].bytes, size);
			decoder_x86.decode(exact, size, ADDRESS, &decoded);
			assert_true(decoded.kind < sizeof(kinds) / sizeof(kinds[0]) - 1);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind), cmocka_unit_test(targets), cmocka_unit_test(marks), cmocka_unit_test(repeats),
		cmocka_unit_test(truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
