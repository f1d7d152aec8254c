// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The plugin's core behind a front that executes by hand: blocks are
 * "translated", and running an instruction does what the core asked for. The
 * counts file that comes out is read by the lane's own check and by eye.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/common/files.h"
#include "runner/exact/format.h"
#include "runner/exact/front.h"
#include "runner/harness/roi.h"
#include "runner/lane/exact-counts.h"

#define TEXT 0xffffffff81000000
#define USER 0x401000

/* What the core asked for on one instruction. */
struct instruction {
	uint64_t *counters[4], amounts[4];
	size_t counts;
	uint64_t *accesses[4];
	enum front_accesses which[4];
	size_t access_counts;
	void (*call)(unsigned int, void *);
	void *call_context;
};

static char path[] = "/tmp/test-exact-XXXXXX";
static struct instruction begin, end, work[8];

void front_count(void *handle, uint64_t *counter, uint64_t amount)
{
	struct instruction *instruction = handle;

	instruction->counters[instruction->counts] = counter;
	instruction->amounts[instruction->counts++] = amount;
}

void front_count_accesses(void *handle, enum front_accesses which, uint64_t *counter)
{
	struct instruction *instruction = handle;

	instruction->accesses[instruction->access_counts] = counter;
	instruction->which[instruction->access_counts++] = which;
}

void front_call(void *handle, void (*function)(unsigned int, void *), void *context)
{
	struct instruction *instruction = handle;

	instruction->call = function;
	instruction->call_context = context;
}

void front_call_on_store(void *handle, void (*function)(uint64_t, void *), void *context)
{
	(void)handle;
	(void)function;
	(void)context;
}

static void execute(const struct instruction *instruction, unsigned int cpu)
{
	for (size_t i = 0; i < instruction->counts; i++)
		*instruction->counters[i] += instruction->amounts[i];
	if (instruction->call)
		instruction->call(cpu, instruction->call_context);
}

/* One completed access, as a QEMU that keeps loads and stores apart counts it. */
static void access_memory(const struct instruction *instruction, enum front_accesses kind)
{
	for (size_t i = 0; i < instruction->access_counts; i++)
		*instruction->accesses[i] += (instruction->which[i] & kind) != 0;
}

struct code {
	uint8_t bytes[15];
	size_t size;
};

static void translate(uint64_t address, const struct code *code, struct instruction *instructions, size_t count)
{
	struct block_instruction block[8];

	memset(instructions, 0, count * sizeof(*instructions));
	for (size_t i = 0; i < count; i++) {
		block[i] = (struct block_instruction){ .address = address, .bytes = code[i].bytes, .size = code[i].size, .handle = &instructions[i] };
		address += code[i].size;
	}
	core_translate(block, count);
}

static const struct code register_move = { { 0x48, 0x89, 0xe5 }, 3 }, load = { { 0x48, 0x8b, 0x07 }, 3 }, write_cr3 = { { 0x0f, 0x22, 0xdf }, 3 },
	copy = { { 0xf3, 0x48, 0xa5 }, 3 };

static void translate_marks(void)
{
	const struct code first = { { 0x0f, 0x1f, 0x80, ROI_MARK_BEGIN & 0xff, ROI_MARK_BEGIN >> 8, 0x44, 0x53 }, 7 },
		second = { { 0x0f, 0x1f, 0x80, ROI_MARK_END & 0xff, ROI_MARK_END >> 8, 0x44, 0x53 }, 7 };

	translate(USER, &first, &begin, 1);
	translate(USER + 16, &second, &end, 1);
}

static int start(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0)
		return -1;
	close(fd);
	if (core_start("x86_64", 2, path, NULL))
		return -1;
	translate_marks();
	return 0;
}

static int finish(void **state)
{
	(void)state;
	return unlink(path);
}

/* The payload of region `wanted`. */
static struct exact_region read_region(unsigned int wanted, const uint64_t **arrays, char **data)
{
	struct exact_region region = { 0 };
	struct exact_block block;
	size_t size, at = strlen(EXACT_MAGIC);

	assert_int_equal(read_file(path, 1 << 20, data, &size), 0);
	while (at + sizeof(block) <= size) {
		memcpy(&block, *data + at, sizeof(block));
		at += sizeof(block);
		memcpy(&region, *data + at, sizeof(region));
		if (block.type == EXACT_REGION && region.index == wanted) {
			*arrays = (const uint64_t *)(const void *)(*data + at + sizeof(region));
			return region;
		}
		at += (block.size + 7) / 8 * 8;
	}
	fail_msg("no region %u", wanted);
	return region;
}

static void counts_a_run_once(void **state)
{
	const struct code code[] = { register_move, register_move, load, register_move, write_cr3 };
	struct exact_region region;
	const uint64_t *arrays;
	char *data;

	(void)state;
	translate(TEXT, code, work, 5);
	assert_int_equal(work[0].counts, 1);
	assert_int_equal(work[1].counts + work[2].counts, 0);	/* counted with the first */
	assert_int_equal(work[3].counts, 1);
	execute(&work[0], 0);		/* before the region: not in it */
	execute(&begin, 0);
	for (int i = 0; i < 3; i++)
		execute(&work[0], 0);
	execute(&work[3], 0);		/* the third load faulted twice: the rest ran once */
	execute(&end, 0);
	region = read_region(0, &arrays, &data);
	assert_int_equal(region.instructions, 5);
	assert_int_equal(region.user_instructions, 0);
	for (int i = 0; i < 5; i++) {
		assert_true(arrays[i] == TEXT + 3u * i);
		assert_int_equal(arrays[5 + i], i < 3 ? 3 : 1);
	}
	free(data);
}

static void translating_again_finds_the_counter(void **state)
{
	const struct code code[] = { register_move, register_move, load };
	struct instruction again[8];
	struct exact_region region;
	const uint64_t *arrays;
	char *data;

	(void)state;
	translate(TEXT + 0x100, code, work, 3);
	execute(&begin, 0);
	execute(&work[0], 0);
	translate(TEXT + 0x100, code, again, 3);
	execute(&again[0], 1);
	translate(TEXT + 0x103, code + 1, again, 2);	/* entered at its second instruction */
	execute(&again[0], 1);
	execute(&end, 0);
	region = read_region(1, &arrays, &data);
	assert_int_equal(region.instructions, 3);
	assert_int_equal(arrays[3], 2);
	assert_int_equal(arrays[4], 3);
	assert_int_equal(arrays[5], 3);
	free(data);
}

static void a_ghost_is_not_counted(void **state)
{
	/* The last one would cross into the next page: QEMU shows it, cut off, and does not execute it. */
	const struct code code[] = { register_move, { { 0x48, 0x89 }, 2 } };
	struct exact_region region;
	const uint64_t *arrays;
	char *data;

	(void)state;
	translate(TEXT + 4096 - 5, code, work, 2);
	execute(&begin, 0);
	execute(&work[0], 0);
	execute(&end, 0);
	region = read_region(2, &arrays, &data);
	assert_int_equal(region.instructions, 1);
	free(data);
}

static void iterations_are_apart(void **state)
{
	struct exact_region region;
	const uint64_t *arrays;
	char *data;

	(void)state;
	translate(TEXT + 0x200, &copy, work, 1);
	execute(&begin, 0);
	for (int i = 0; i < 21; i++) {
		execute(&work[0], 0);
		access_memory(&work[0], FRONT_LOADS);
		access_memory(&work[0], FRONT_STORES);
	}
	execute(&work[0], 0);		/* the one that finds the count at zero */
	execute(&end, 0);
	region = read_region(3, &arrays, &data);
	assert_int_equal(region.repeats, 1);
	assert_int_equal(arrays[1], 22);
	assert_int_equal(arrays[4], 21);
	free(data);
}

static void an_empty_region_reads_nothing(void **state)
{
	struct exact_region region;
	const uint64_t *arrays;
	char *data;

	(void)state;
	execute(&begin, 0);
	execute(&end, 0);
	region = read_region(4, &arrays, &data);
	assert_int_equal(region.instructions, 0);
	assert_int_equal(region.user_instructions, 0);
	free(data);
}

static void a_nested_begin_ends_counting(void **state)
{
	struct exact_summary summary;

	(void)state;
	execute(&begin, 0);
	execute(&begin, 0);
	execute(&end, 0);
	execute(&begin, 0);
	execute(&end, 0);
	core_end();
	assert_int_equal(exact_counts_check(path, NULL, &summary), 0);
	assert_int_equal(summary.regions, 5);
	assert_non_null(strstr(summary.fault, "began again"));
}

static void damage_is_noticed(void **state)
{
	struct exact_summary summary;
	size_t size;
	char *data;

	(void)state;
	assert_int_equal(read_file(path, 1 << 20, &data, &size), 0);
	data[size / 2] ^= 1;
	assert_int_equal(write_file(path, data, size), 0);
	assert_int_not_equal(exact_counts_check(path, NULL, &summary), 0);
	data[size / 2] ^= 1;
	assert_int_equal(write_file(path, data, size - 30), 0);	/* QEMU was killed: what is whole stays */
	assert_int_equal(exact_counts_check(path, NULL, &summary), 0);
	assert_int_equal(summary.regions, 5);
	free(data);
}

int main(void)
{
	/* In order: the core is one process's, and each test makes the next region. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_a_run_once), cmocka_unit_test(translating_again_finds_the_counter),
		cmocka_unit_test(a_ghost_is_not_counted), cmocka_unit_test(iterations_are_apart),
		cmocka_unit_test(an_empty_region_reads_nothing), cmocka_unit_test(a_nested_begin_ends_counting),
		cmocka_unit_test(damage_is_noticed),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
