// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runner/plan/order.h"

static void every_kernel_once(void **state)
{
	(void)state;
	for (size_t count = 1; count <= 7; count++) {
		for (unsigned int block = 0; block < 20; block++) {
			size_t order[7], seen = 0;

			block_order(3, block, count, order);
			for (size_t i = 0; i < count; i++)
				seen |= (size_t)1 << order[i];
			assert_int_equal(seen, ((size_t)1 << count) - 1);
		}
	}
}

static void pairs_are_balanced(void **state)
{
	(void)state;
	for (unsigned int pair = 0; pair < 10; pair++) {
		size_t first[5], second[5];

		block_order(1, 2 * pair, 5, first);
		block_order(1, 2 * pair + 1, 5, second);
		for (size_t i = 0; i < 5; i++)
			assert_int_equal(first[i], second[4 - i]);
	}
}

static void seeds_differ(void **state)
{
	unsigned int different = 0;

	(void)state;
	for (unsigned int block = 0; block < 40; block += 2) {
		size_t one[4], two[4];

		block_order(1, block, 4, one);
		block_order(2, block, 4, two);
		for (size_t i = 0; i < 4; i++)
			different += one[i] != two[i];
	}
	assert_true(different > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kernel_once), cmocka_unit_test(pairs_are_balanced), cmocka_unit_test(seeds_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
