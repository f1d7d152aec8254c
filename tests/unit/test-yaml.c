// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/common/yaml.h"

static json_t *parse(const char *text)
{
	json_t *value = NULL;
	char reason[256] = "";

	if (parse_yaml(text, strlen(text), &value, reason, sizeof(reason)))
		fail_msg("%s", reason);
	return value;
}

static void refused(const char *text, const char *part)
{
	json_t *value = NULL;
	char reason[256] = "";

	assert_int_equal(parse_yaml(text, strlen(text), &value, reason, sizeof(reason)), -EBADMSG);
	if (!strstr(reason, part))
		fail_msg("'%s' does not say '%s'", reason, part);
}

static void typed_values(void **state)
{
	json_t *value = parse("a: 1\nb: 2.5\nc: true\nd: yes\ne: \"7\"\nf: [1 GiB, null]\ng: 0x10\n");
	json_t *expected = json_pack("{s:i, s:f, s:b, s:s, s:s, s:[s, n], s:s}", "a", 1, "b", 2.5, "c", 1, "d", "yes", "e", "7", "f",
				     "1 GiB", "g", "0x10");

	(void)state;
	assert_true(json_equal(value, expected));
	json_decref(value);
	json_decref(expected);
}

static void hostile_documents(void **state)
{
	char *deep = malloc(4001);

	(void)state;
	refused("a: 1\na: 2\n", "line 2");
	refused("a: &x 1\nb: *x\n", "anchors");
	refused("a: !!binary aGk=\n", "tags");
	refused("--- 1\n--- 2\n", "more than one document");
	refused("", "empty");
	refused("a: [1, 2\n", "line");
	refused("? [a]\n: 1\n", "key");
	memset(deep, '[', 4000);
	deep[4000] = '\0';
	refused(deep, "deep");
	free(deep);
}

static const struct shape inner_rows[] = {
	{ .name = "workload", .type = SHAPE_TEXT, .required = true },
	{ .name = "count", .type = SHAPE_INTEGER, .minimum = 1, .maximum = 9 },
	{ .name = NULL },
};

static const struct shape rows[] = {
	{ .name = "cases", .type = SHAPE_LIST, .keys = inner_rows, .required = true },
	{ .name = "words", .type = SHAPE_LIST, .item = SHAPE_TEXT },
	{ .name = NULL },
};

static void shape_refused(const char *text, const char *expected)
{
	json_t *value = parse(text);
	char reason[256] = "";

	assert_int_equal(shape_check(value, rows, "", reason, sizeof(reason)), -EINVAL);
	assert_string_equal(reason, expected);
	json_decref(value);
}

static void shapes(void **state)
{
	json_t *value = parse("cases: [{workload: a, count: 3}]\nwords: [x]\n");
	char reason[256];

	(void)state;
	assert_int_equal(shape_check(value, rows, "", reason, sizeof(reason)), 0);
	json_decref(value);
	shape_refused("cases: [{wokload: a}]\n", "cases[0]: unknown key 'wokload'; did you mean 'workload'?");
	shape_refused("cases: [{count: 2}]\n", "cases[0]: key 'workload' is missing");
	shape_refused("cases: [{workload: a, count: 10}]\n", "cases[0].count: 10 is more than 9");
	shape_refused("cases: {}\n", "cases: must be a list");
	shape_refused("words: [x]\n", "key 'cases' is missing");
	shape_refused("cases: []\nwords: [[]]\n", "words[0]: must be text");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(typed_values), cmocka_unit_test(hostile_documents), cmocka_unit_test(shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
