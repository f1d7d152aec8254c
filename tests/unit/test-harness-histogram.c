// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "runner/harness/histogram.h"
#include "workloads/workload.h"

static void buckets_join_without_gap(void **state)
{
	uint64_t low, high, before = 0;

	(void)state;
	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
		latency_bounds(i, &low, &high);
		assert_true(low == before);
		assert_true(high > low);
		assert_int_equal(latency_bucket(low), i);
		if (i < LATENCY_BUCKETS - 1) {
			assert_int_equal(latency_bucket(high - 1), i);
			assert_true((high - low) * 64 <= low || high - low == 1);
		}
		before = high;
	}
	assert_int_equal(latency_bucket(UINT64_MAX), LATENCY_BUCKETS - 1);
	assert_int_equal(latency_bucket(0), 0);
}

static void quantiles_are_within_their_bound(void **state)
{
	struct latency_histogram *histogram = calloc(1, sizeof(*histogram));

	(void)state;
	assert_true(isnan(latency_quantile(histogram, 0.5)));
	assert_true(isnan(latency_quantile(NULL, 0.5)));
	for (uint64_t i = 1; i <= 100000; i++)
		latency_record(histogram, i * 10);
	for (double fraction = 0.01; fraction <= 1; fraction += 0.01) {
		double truth = fraction * 1000000, found = latency_quantile(histogram, fraction);

		assert_true(fabs(found - truth) <= truth / 64 + 10);
	}
	free(histogram);
}

static void merging_adds(void **state)
{
	struct latency_histogram *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	json_t *json, *first;

	(void)state;
	latency_record(a, 5);
	latency_record(b, 5);
	latency_record(b, 1000);
	latency_merge(a, b);
	assert_int_equal(a->count, 3);
	json = latency_json(a);
	assert_int_equal(json_array_size(json_object_get(json, "buckets")), 2);
	first = json_array_get(json_object_get(json, "buckets"), 0);
	assert_int_equal(json_integer_value(json_array_get(first, 0)), 5);
	assert_int_equal(json_integer_value(json_array_get(first, 1)), 6);
	assert_int_equal(json_integer_value(json_array_get(first, 2)), 2);
	json_decref(json);
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_join_without_gap),
		cmocka_unit_test(quantiles_are_within_their_bound),
		cmocka_unit_test(merging_adds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
