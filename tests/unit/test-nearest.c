// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runner/common/nearest.h"

static const char *const names[] = { "anon-cow-rand-mt", "ping-pong", "munmap-huge", "null", "known-flush", NULL };

static void near_words(void **state)
{
	char hint[64];

	(void)state;
	assert_string_equal(nearest_name("ping-pnog", names), "ping-pong");
	assert_string_equal(nearest_name("nul", names), "null");
	assert_string_equal(nearest_name("anon-cow", names), "anon-cow-rand-mt");
	assert_string_equal(nearest_hint("unmap-huge", names, hint, sizeof(hint)), "; did you mean 'munmap-huge'?");
}

static void far_words(void **state)
{
	char hint[64];

	(void)state;
	assert_null(nearest_name("memcached", names));
	assert_null(nearest_name("", names));
	assert_string_equal(nearest_hint("zzz", names, hint, sizeof(hint)), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(near_words), cmocka_unit_test(far_words) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
