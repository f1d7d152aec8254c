// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "runner/common/units.h"

static void sizes(void **state)
{
	static const struct { const char *text; uint64_t bytes; } good[] = {
		{ "0", 0 }, { "4096", 4096 }, { "0x433333000", 0x433333000 }, { "64KiB", 65536 }, { "1 GiB", 1ULL << 30 },
		{ "2M", 2 << 20 }, { " 8 B", 8 },
	};
	static const char *const bad[] = { "", "x", "-1", "+1", "1.5 GiB", "1 GB", "1GiBs", "0x", "1 1" };
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(parse_size(good[i].text, &bytes), 0);
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse_size(bad[i], &bytes), -EINVAL);
	assert_int_equal(parse_size("99999999999999999999", &bytes), -ERANGE);
	assert_int_equal(parse_size("20000000000 GiB", &bytes), -ERANGE);
}

static void durations(void **state)
{
	uint64_t nanoseconds;

	(void)state;
	assert_int_equal(parse_duration("10ms", &nanoseconds), 0);
	assert_int_equal(nanoseconds, 10000000);
	assert_int_equal(parse_duration("2 d", &nanoseconds), 0);
	assert_int_equal(nanoseconds, 172800ULL * 1000000000ULL);
	assert_int_equal(parse_duration("0", &nanoseconds), 0);
	assert_int_equal(nanoseconds, 0);
	/* A number without its unit is an error, not nanoseconds. */
	assert_int_equal(parse_duration("10", &nanoseconds), -EINVAL);
	assert_int_equal(parse_duration("10 fortnights", &nanoseconds), -EINVAL);
}

static void counts(void **state)
{
	uint64_t count;

	(void)state;
	assert_int_equal(parse_count("12", &count), 0);
	assert_int_equal(count, 12);
	assert_int_equal(parse_count("12k", &count), -EINVAL);
	assert_int_equal(parse_count("-3", &count), -EINVAL);
}

static void formats(void **state)
{
	char text[32];

	(void)state;
	assert_string_equal(format_size(1536, text, sizeof(text)), "1.5 KiB");
	assert_string_equal(format_size(1ULL << 30, text, sizeof(text)), "1 GiB");
	assert_string_equal(format_duration(90ULL * 1000000000, text, sizeof(text)), "1 min 30 s");
	assert_string_equal(format_duration(12300000, text, sizeof(text)), "12.3 ms");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes), cmocka_unit_test(durations), cmocka_unit_test(counts), cmocka_unit_test(formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
