// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "runner/harness/options.h"

struct values {
	uint64_t size, count, wait;
	int transport;
	bool quick;
	const char *text;
	unsigned int given;
};

static const char *const transports[] = { "tcp", "udp", "unix", NULL };

static const struct workload_option rows[] = {
	{ "size", OPTION_SIZE, offsetof(struct values, size), "64KiB", 4096, 1 << 30, .accepts_fit = true },
	{ "count", OPTION_COUNT, offsetof(struct values, count), "3", 1, 10, .accepts_all = true },
	{ "wait", OPTION_DURATION, offsetof(struct values, wait), "10ms", .choices = NULL },
	{ "transport", OPTION_CHOICE, offsetof(struct values, transport), "udp", .choices = transports },
	{ "quick", OPTION_FLAG, offsetof(struct values, quick), "no", .choices = NULL },
	{ "text", OPTION_TEXT, offsetof(struct values, text), NULL, .choices = NULL },
	{ .name = NULL },
};

static void given(void *values, const struct workload_option *row)
{
	((struct values *)values)->given += !strcmp(row->name, "text");
}

static char reason[256];

static int parse(struct values *values, char *const *argv)
{
	const struct option_table table = { rows, values, given };

	memset(values, 0, sizeof(*values));
	assert_int_equal(options_default(&table, reason, sizeof(reason)), 0);
	reason[0] = '\0';
	return options_parse(&table, 1, argv, reason, sizeof(reason));
}

#define PARSE(values, ...) parse(values, (char *[]){ "program", ##__VA_ARGS__, NULL })

static void defaults_are_parsed_like_what_is_given(void **state)
{
	struct values values;

	(void)state;
	assert_int_equal(PARSE(&values), 0);
	assert_int_equal(values.size, 65536);
	assert_int_equal(values.count, 3);
	assert_int_equal(values.wait, 10000000);
	assert_int_equal(values.transport, 1);
	assert_false(values.quick);
	assert_null(values.text);
}

static void both_spellings_of_a_value(void **state)
{
	struct values values;

	(void)state;
	assert_int_equal(PARSE(&values, "--size", "1MiB", "--count=7", "--quick", "--text=a=b", "--text", "c"), 0);
	assert_int_equal(values.size, 1 << 20);
	assert_int_equal(values.count, 7);
	assert_true(values.quick);
	assert_string_equal(values.text, "c");
	assert_int_equal(values.given, 2);
	assert_int_equal(PARSE(&values, "--quick=no"), 0);
	assert_false(values.quick);
}

static void words_for_what_the_machine_has(void **state)
{
	struct values values;
	const struct option_table table = { rows, &values, NULL };

	(void)state;
	assert_int_equal(PARSE(&values, "--size=fit", "--count=all"), 0);
	assert_true(values.size == OPTION_VALUE_FIT);
	assert_string_equal(options_unresolved(&table)->name, "size");
	values.size = values.count = 4096;
	assert_null(options_unresolved(&table));
	/* Only where the row says so. */
	assert_int_equal(PARSE(&values, "--size=all"), -EINVAL);
}

static void mistakes_are_one_line_each(void **state)
{
	static const struct {
		char *argument, *says;
	} mistakes[] = {
		{ "--cuont=3", "unknown option '--cuont'; did you mean '--count'?" },
		{ "--zzz", "unknown option '--zzz'; see --help" },
		{ "--count=11", "--count: 11 is out of range; it must be from 1 to 10" },
		{ "--count=0", "--count: 0 is out of range; it must be from 1 to 10" },
		{ "--count=-1", "--count: '-1' is not a whole number, or the word all" },
		{ "--count=3KiB", "--count: '3KiB' is not a whole number, or the word all" },
		{ "--wait=10", "--wait: '10' is not a duration with a unit; write it like 250us, 10ms or 3s" },
		{ "--transport=tpc", "--transport: 'tpc' is none of tcp, udp, unix; did you mean 'tcp'?" },
		{ "--quick=maybe", "--quick: 'maybe' is neither yes nor no" },
		{ "--size=99999999999999999999", "--size: 99999999999999999999 is too large" },
		{ "--text", "--text needs a value" },
		{ "stray", "unexpected argument 'stray'; options start with --" },
		{ "--", "unexpected argument '--'; options start with --" },
	};
	struct values values;

	(void)state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		assert_int_equal(PARSE(&values, mistakes[i].argument), -EINVAL);
		assert_string_equal(reason, mistakes[i].says);
	}
}

/* The canonical vector, parsed again, gives the same values: the plan relies on it. */
static void arguments_come_back(void **state)
{
	struct values values, again;
	const struct option_table table = { rows, &values, NULL };
	json_t *arguments, *plain;
	char *argv[16] = { "program" };

	(void)state;
	assert_int_equal(PARSE(&values, "--size=1GiB", "--wait=3s", "--transport=unix", "--quick", "--text=x y"), 0);
	arguments = options_arguments_json(&table);
	assert_int_equal(json_array_size(arguments), 6);
	for (size_t i = 0; i < 6; i++)
		argv[i + 1] = (char *)json_string_value(json_array_get(arguments, i));
	assert_string_equal(argv[1], "--size=1073741824");
	assert_string_equal(argv[3], "--wait=3000000000ns");
	assert_int_equal(parse(&again, argv), 0);
	assert_string_equal(again.text, values.text);
	again.text = values.text;
	again.given = values.given;
	assert_memory_equal(&again, &values, sizeof(values));
	plain = options_values_json(&table);
	assert_int_equal(json_integer_value(json_object_get(plain, "size")), 1 << 30);
	assert_string_equal(json_string_value(json_object_get(plain, "transport")), "unix");
	assert_true(json_is_true(json_object_get(plain, "quick")));
	json_decref(plain);
	json_decref(arguments);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_parsed_like_what_is_given),
		cmocka_unit_test(both_spellings_of_a_value),
		cmocka_unit_test(words_for_what_the_machine_has),
		cmocka_unit_test(mistakes_are_one_line_each),
		cmocka_unit_test(arguments_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
