// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "runner/common/arguments.h"

static const struct command_option options[] = {
	{ "kernel", 'k', "SPEC", true, "" }, { "lane", 0, "LANE", false, "" }, { "json", 0, NULL, false, "" }, { NULL, 0, NULL, false, NULL },
};
static const struct command command = { .name = "run", .usage = "SUITE", .options = options, .minimum = 1, .maximum = 1 };

static void accepts(void **state)
{
	const char *const argv[] = { "-k", "a", "suite", "--kernel=b", "-kc", "--json", "--", "cmd", "--json" };
	struct command_arguments arguments;
	char reason[128];
	const char *const *kernels;

	(void)state;
	assert_int_equal(arguments_parse(&command, 9, argv, &arguments, reason, sizeof(reason)), 0);
	kernels = argument_options(&arguments, "kernel");
	assert_string_equal(kernels[0], "a");
	assert_string_equal(kernels[1], "b");
	assert_string_equal(kernels[2], "c");
	assert_null(kernels[3]);
	assert_string_equal(arguments.values[0], "suite");
	assert_int_equal(arguments.rest_count, 2);
	assert_string_equal(arguments.rest[1], "--json");
	assert_non_null(argument_option(&arguments, "json"));
	assert_null(argument_option(&arguments, "lane"));
	arguments_free(&arguments);
}

static void refuses(int argc, const char *const *argv, const char *expected)
{
	struct command_arguments arguments;
	char reason[160] = "";

	assert_int_equal(arguments_parse(&command, argc, argv, &arguments, reason, sizeof(reason)), -EINVAL);
	assert_string_equal(reason, expected);
	arguments_free(&arguments);
}

static void refuses_what_is_wrong(void **state)
{
	(void)state;
	refuses(2, (const char *const[]){ "s", "--lnae=vm" }, "unknown option '--lnae'; did you mean 'lane'?");
	refuses(2, (const char *const[]){ "s", "--lane" }, "option --lane needs a value: LANE");
	refuses(3, (const char *const[]){ "s", "--lane=a", "--lane=b" }, "option --lane is given twice");
	refuses(2, (const char *const[]){ "s", "--json=1" }, "option --json takes no value");
	refuses(0, (const char *const[]){ NULL }, "too few arguments; usage: shootdown run SUITE");
	refuses(2, (const char *const[]){ "s", "t" }, "too many arguments; usage: shootdown run SUITE");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(accepts), cmocka_unit_test(refuses_what_is_wrong) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
