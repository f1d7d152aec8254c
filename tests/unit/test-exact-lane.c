// SPDX-License-Identifier: GPL-2.0-or-later
/* The exact lane's own parts: symbols, watched places, QEMU's options, counts that do not belong to the symbols. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "runner/common/files.h"
#include "runner/exact/format.h"
#include "runner/lane/exact-counts.h"
#include "runner/lane/exact-machine.h"

static char directory[] = "/tmp/test-exact-lane-XXXXXX";

static const char map[] =
	"0000000000000000 D fixed_percpu_data\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81000100 T flush_tlb_mm_range\n"
	"ffffffff810000f0 t __pfx_flush_tlb_mm_range\n"
	"ffffffff81000200 t native_apic_mem_write\n"
	"ffffffff81000240 t default_send_IPI_all\n"
	"ffffffff81000280 T last\n"
	"ffffffff82000000 d flush_tlb_all\n";

static char *file(const char *name)
{
	return text_format("%s/%s", directory, name);
}

static void write_text(const char *path, const char *text)
{
	assert_int_equal(write_file(path, text, strlen(text)), 0);
}

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	return remove_tree(directory);
}

static void symbols_and_places(void **state)
{
	char *path = file("map"), *places = file("places"), *text;
	struct exact_symbols symbols;
	size_t size;

	(void)state;
	write_text(path, map);
	assert_int_equal(exact_symbols_read(path, &symbols), 0);
	assert_int_equal(symbols.count, 5);	/* no data, no padding, nothing of the lower half */
	assert_true(exact_symbols_has(&symbols, 0xffffffff81000100));
	assert_false(exact_symbols_has(&symbols, 0xffffffff81000101));
	assert_int_equal(exact_places_write(&symbols, "x86-64", places), 0);
	assert_int_equal(read_file(places, 4096, &text, &size), 0);
	assert_string_equal(text, "watch ffffffff81000100\n"
				  "command ffffffff81000200 ffffffff81000240 300\n"
				  "command ffffffff81000240 ffffffff81000280 300\n");
	free(text);
	assert_int_equal(exact_places_write(&symbols, "arm64", places), 0);
	assert_int_equal(read_file(places, 4096, &text, &size), 0);
	assert_string_equal(text, "watch ffffffff81000100\n");
	free(text);
	exact_symbols_free(&symbols);
	write_text(path, "0000000000000000 T _text\n0000000000000000 T last\n");
	assert_int_equal(exact_symbols_read(path, &symbols), -EINVAL);
	assert_int_equal(exact_symbols_read("/nonexistent", &symbols), -ENOENT);
	free(path);
	free(places);
}

/* One region whose `count` call instructions go to `target` and the addresses behind it, 16 apart. */
static void write_counts(const char *path, uint64_t target, uint32_t count)
{
	static const char header[] = "{\"format\": 1, \"architecture\": \"x86-64\", \"cpus\": 1, \"kinds\": [\"plain\", \"call\"]}    ";
	struct exact_block block = { .type = EXACT_HEADER, .size = sizeof(header) - 1 };
	struct exact_region region = { .instructions = count, .branches = count };
	size_t size = sizeof(region) + 32ul * count + (count + 7) / 8 * 8;
	char *payload = calloc(1, size);
	uint64_t *words = (uint64_t *)(void *)(payload + sizeof(region));
	FILE *stream = fopen(path, "w");

	memcpy(payload, &region, sizeof(region));
	for (uint32_t i = 0; i < count; i++) {
		words[i] = 0xffffffff81000000 + i;
		words[count + i] = 1;
		((char *)(words + 2 * count))[i] = 1;
		words[2 * count + (count + 7) / 8 + i] = 0xffffffff81000000 + i;
		words[3 * count + (count + 7) / 8 + i] = target + 16ul * i;
	}
	block.checksum = (uint32_t)crc32(0, (const Bytef *)header, sizeof(header) - 1);
	fwrite(EXACT_MAGIC, 8, 1, stream);
	fwrite(&block, sizeof(block), 1, stream);
	fwrite(header, sizeof(header) - 1, 1, stream);
	fwrite("\0\0\0\0\0\0\0", -(sizeof(header) - 1) % 8, 1, stream);
	block = (struct exact_block){ .type = EXACT_REGION, .size = size, .checksum = (uint32_t)crc32(0, (const Bytef *)payload, (uInt)size) };
	fwrite(&block, sizeof(block), 1, stream);
	fwrite(payload, size, 1, stream);
	fclose(stream);
	free(payload);
}

static void foreign_symbols(void **state)
{
	char *path = file("map"), *counts = file("counts");
	struct exact_summary summary;
	struct exact_symbols symbols;

	(void)state;
	write_text(path, map);
	assert_int_equal(exact_symbols_read(path, &symbols), 0);
	write_counts(counts, 0xffffffff81000100, 1);
	assert_int_equal(exact_counts_check(counts, &symbols, &summary), 0);
	assert_int_equal(summary.regions, 1);
	assert_int_equal(summary.targets, 1);
	assert_false(exact_symbols_are_foreign(&summary));
	write_counts(counts, 0xffffffff81001008, 20);
	assert_int_equal(exact_counts_check(counts, &symbols, &summary), 0);
	assert_int_equal(summary.strange_targets, 20);
	assert_true(exact_symbols_are_foreign(&summary));
	exact_symbols_free(&symbols);
	free(path);
	free(counts);
}

static void equal_counts_are_equal_files(void **state)
{
	char *counts = file("counts"), *first = file("first.gz"), *second = file("second.gz"), *a, *b;
	size_t size_a, size_b;

	(void)state;
	write_counts(counts, 0xffffffff81000100, 5);
	assert_int_equal(exact_counts_compress(counts, first), 0);
	write_counts(counts, 0xffffffff81000100, 5);
	assert_int_equal(exact_counts_compress(counts, second), 0);
	assert_int_equal(read_file(first, 65536, &a, &size_a), 0);
	assert_int_equal(read_file(second, 65536, &b, &size_b), 0);
	assert_int_equal(size_a, size_b);
	assert_memory_equal(a, b, size_a);
	free(a);
	free(b);
	free(counts);
	free(first);
	free(second);
}

static void machine(void **state)
{
	struct boot_request request = { .architecture = "x86-64", .phase = 3, .phases = 8, .cpus = 4, .nodes = 1, .slice_microseconds = 20 };
	struct exact_machine made;
	bool sliced = false, escaped = false;

	(void)state;
	assert_int_equal(exact_machine_make(&request, "/a,b/plugin.so", "/c", NULL, &made), 0);
	assert_string_equal(made.rtc, "clock=vm,base=2020-01-04T00:00:00");
	for (size_t i = 0; made.extra[i]; i++) {
		sliced |= strstr(made.extra[i], "interval=20") != NULL;
		escaped |= !strcmp(made.extra[i], "/a,,b/plugin.so,counts=/c");
	}
	assert_true(sliced && escaped);
	exact_machine_free(&made);
	request.cpus = EXACT_CPUS_MAXIMUM + 1;
	assert_int_equal(exact_machine_make(&request, "/p", "/c", NULL, &made), -EINVAL);
	exact_machine_free(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_and_places), cmocka_unit_test(foreign_symbols), cmocka_unit_test(equal_counts_are_equal_files),
		cmocka_unit_test(machine),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
