// SPDX-License-Identifier: GPL-2.0-or-later
/* Tallies, formats of tracepoints, histogram triggers, scaled counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runner/probe/hist-trigger.h"
#include "runner/probe/perf-counter.h"
#include "runner/probe/symbols.h"
#include "runner/probe/tally.h"
#include "runner/probe/trace-format.h"

#define MACHINE "tests/fixtures/machines/x86-guest-4cpu-one-offline"

static char *fixture(const char *path)
{
	char *text;

	probe_root = MACHINE;
	assert_int_equal(probe_read_file(path, &text), 0);
	probe_root = "";
	return text;
}

static void tally_counts_pairs(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	assert_int_equal(tally_count(&tally, 1, 2), 0);
	for (uint64_t i = 0; i < 3000; i++)
		assert_int_equal(tally_add(&tally, i % 1000, UINT64_MAX - i % 3, i), 0);
	/* A count of nothing takes no place. */
	assert_int_equal(tally_count(&tally, 0, UINT64_MAX), 0);
	assert_int_equal(tally_count(&tally, 7, UINT64_MAX - 1), 7);
	tally_sort(&tally);
	for (size_t i = 1; i < tally.used; i++)
		assert_true(tally.entries[i - 1].first < tally.entries[i].first ||
			    (tally.entries[i - 1].first == tally.entries[i].first &&
			     tally.entries[i - 1].second < tally.entries[i].second));
	tally_clear(&tally);
	assert_int_equal(tally.used, 0);
	assert_int_equal(tally_add(&tally, 5, 5, 1), 0);
	assert_int_equal(tally_count(&tally, 5, 5), 1);
	tally_free(&tally);
}

static void fields_of_a_format(void **state)
{
	char *format = fixture("/format"), record[24] = { 0 };
	struct trace_field field;
	uint64_t value = 33, got;

	(void)state;
	assert_int_equal(trace_field_find(format, "pages", &field), 0);
	assert_int_equal(field.offset, 16);
	assert_int_equal(field.size, 8);
	memcpy(record + 16, &value, sizeof(value));
	assert_int_equal(trace_field_read(&field, record, sizeof(record), &got), 0);
	assert_int_equal(got, 33);
	assert_int_equal(trace_field_read(&field, record, 23, &got), -ERANGE);
	assert_int_equal(trace_field_read(&field, record, 0, &got), -ERANGE);
	assert_int_equal(trace_field_find(format, "common_preempt_count", &field), 0);
	assert_int_equal(field.size, 1);
	assert_int_equal(trace_field_find(format, "age", &field), -ENOENT);
	assert_int_equal(trace_field_find("", "pages", &field), -ENOENT);
	assert_int_equal(trace_field_find("field:char name[16];\toffset:8;\tsize:16;\tsigned:0;", "name[16]", &field), -ENOENT);
	free(format);
}

static void names_of_numbers(void **state)
{
	char *format = fixture("/format"), name[64];

	(void)state;
	trace_symbol(format, "reason", 1, name, sizeof(name));
	assert_string_equal(name, "remote shootdown");
	trace_symbol(format, "reason", 4, name, sizeof(name));
	assert_string_equal(name, "remote ipi send");
	trace_symbol(format, "reason", 9, name, sizeof(name));
	assert_string_equal(name, "reason 9");
	trace_symbol("__print_symbolic(REC->reason, { 0, \"cut", "reason", 1, name, sizeof(name));
	assert_string_equal(name, "reason 1");
	free(format);
}

static void a_histogram_of_the_kernel(void **state)
{
	char *text = fixture("/hist");
	struct tally tally = { 0 };

	(void)state;
	assert_int_equal(hist_parse(text, &tally), 0);
	assert_int_equal(tally.used, 9);
	assert_int_equal(tally_count(&tally, 1, 1), 200);
	assert_int_equal(tally_count(&tally, 0, UINT64_MAX), 50);
	free(text);
	tally_clear(&tally);
	/* Cut short, or with events dropped, it is not whole. */
	assert_int_equal(hist_parse("{ reason: 1, pages: 1 } hitcount: 5\n", &tally), -EINVAL);
	assert_int_equal(hist_parse("{ reason: 1, pages: 1 hitcount: 5\n", &tally), -EINVAL);
	assert_int_equal(hist_parse("Totals:\n    Hits: 3\n    Dropped: 1\n", &tally), -EOVERFLOW);
	tally_clear(&tally);
	assert_int_equal(hist_parse("{ reason: 4, pages: -1 } hitcount: 5\nTotals:\n", &tally), 0);
	assert_int_equal(tally_count(&tally, 4, UINT64_MAX), 5);
	tally_free(&tally);
}

static void a_share_of_the_time(void **state)
{
	double share;

	(void)state;
	assert_true(perf_scale(100, 50, 50, &share) == 100);
	assert_true(share == 1);
	assert_true(perf_scale(100, 50, 25, &share) == 200);
	assert_true(share == 0.5);
	assert_true(isnan(perf_scale(0, 50, 0, &share)));
	assert_true(perf_scale(0, 0, 0, &share) == 0);
}

static void symbols_by_address(void **state)
{
	static const char text[] = "0000000000000010 A fixed_percpu_data\n"
		"ffffffff81000100 t __local_name\n"
		"ffffffff81000100 T the_name\n"
		"ffffffff81000100 T __the_name\n"
		"ffffffff81000000 T first\n"
		"ffffffff81000200 t last\t[module]\n"
		"ffffffff81000180 d data_is_no_function\n"
		"broken line\n"
		"ffffffff81000300 t";
	struct symbols *symbols;

	(void)state;
	assert_int_equal(symbols_parse(strdup(text), &symbols), 0);
	assert_null(symbols_find(symbols, 0xffffffff80ffffffULL));
	assert_string_equal(symbols_find(symbols, 0xffffffff81000000ULL), "first");
	assert_string_equal(symbols_find(symbols, 0xffffffff810000ffULL), "first");
	assert_string_equal(symbols_find(symbols, 0xffffffff81000100ULL), "the_name");
	assert_string_equal(symbols_find(symbols, 0xffffffff81000190ULL), "the_name");
	assert_string_equal(symbols_find(symbols, UINT64_MAX), "last");
	symbols_free(symbols);
	assert_int_equal(symbols_parse(strdup("0000000000000000 T hidden\n0000000000000000 t too\n"), &symbols), -EACCES);
	assert_int_equal(symbols_parse(strdup(""), &symbols), -EINVAL);
	assert_int_equal(symbols_parse(strdup("ffffffff81000180 d data\n"), &symbols), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tally_counts_pairs),
		cmocka_unit_test(fields_of_a_format),
		cmocka_unit_test(names_of_numbers),
		cmocka_unit_test(a_histogram_of_the_kernel),
		cmocka_unit_test(a_share_of_the_time),
		cmocka_unit_test(symbols_by_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
