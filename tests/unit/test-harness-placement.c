// SPDX-License-Identifier: GPL-2.0-or-later
/* CPUs and their relations on machines that are made up, and with less than the whole machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "runner/harness/placement.h"

static void load(struct placement *placement, const char *synthetic, const char *allowed_list)
{
	hwloc_bitmap_t allowed = NULL;
	hwloc_topology_t topology;

	assert_int_equal(hwloc_topology_init(&topology), 0);
	assert_int_equal(hwloc_topology_set_synthetic(topology, synthetic), 0);
	assert_int_equal(hwloc_topology_load(topology), 0);
	if (allowed_list) {
		allowed = hwloc_bitmap_alloc();
		assert_int_equal(hwloc_bitmap_list_sscanf(allowed, allowed_list), 0);
	}
	assert_int_equal(placement_from_topology(placement, topology, allowed), 0);
	hwloc_bitmap_free(allowed);
	hwloc_topology_destroy(topology);
}

/* 2 packages, a node and an L3 each, 2 cores, 2 threads: CPUs 0,1 are siblings, 0-3 package 0, 4-7 package 1. */
#define BIG "package:2 numa:1 l3:1 core:2 pu:2"

static void cores_come_before_siblings(void **state)
{
	const int wanted[] = { 0, 2, 4, 6, 1, 3, 5, 7 };
	struct placement placement;
	int cpus[8];

	(void)state;
	load(&placement, BIG, NULL);
	assert_int_equal(placement.count, 8);
	assert_int_equal(placement.node_count, 2);
	assert_int_equal(placement_cpus(&placement, 8, cpus), 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(cpus[i], wanted[i]);
	assert_int_equal(placement_cpus(&placement, 9, cpus), -ENXIO);
	placement_free(&placement);
}

static void expect_pair(const struct placement *placement, enum cpu_relation relation, unsigned int pair, int a, int b)
{
	int cpus[2];

	assert_int_equal(placement_pair(placement, relation, pair, cpus), 0);
	assert_int_equal(cpus[0], a);
	assert_int_equal(cpus[1], b);
}

static void every_relation(void **state)
{
	struct placement placement;
	int cpus[2];

	(void)state;
	load(&placement, BIG, NULL);
	expect_pair(&placement, RELATION_SAME_CPU, 1, 2, 2);
	expect_pair(&placement, RELATION_SMT_SIBLING, 0, 0, 1);
	expect_pair(&placement, RELATION_SMT_SIBLING, 3, 6, 7);
	expect_pair(&placement, RELATION_SAME_CACHE, 0, 0, 2);
	expect_pair(&placement, RELATION_SAME_CACHE, 1, 4, 6);
	expect_pair(&placement, RELATION_SAME_CACHE, 2, 1, 3);
	expect_pair(&placement, RELATION_OTHER_NODE, 0, 0, 4);
	expect_pair(&placement, RELATION_ANY, 0, 0, 2);
	assert_int_equal(placement_pair(&placement, RELATION_SMT_SIBLING, 4, cpus), -ENXIO);
	assert_int_equal(placement_pair(&placement, RELATION_SAME_CPU, 8, cpus), -ENXIO);
	placement_free(&placement);
}

/* Two L3s in one package: the same package prefers a partner behind the other one. */
static void package_looks_beyond_the_cache(void **state)
{
	struct placement placement;

	(void)state;
	load(&placement, "package:1 l3:2 core:2 pu:1", NULL);
	expect_pair(&placement, RELATION_SAME_CACHE, 0, 0, 1);
	expect_pair(&placement, RELATION_SAME_PACKAGE, 0, 0, 2);
	placement_free(&placement);
}

static void only_what_is_allowed(void **state)
{
	struct placement placement;
	int cpus[2];
	char *list;

	(void)state;
	load(&placement, BIG, "1,3-4");
	assert_int_equal(placement.count, 3);
	list = placement_cpu_list(&placement);
	assert_string_equal(list, "1,3-4");
	free(list);
	/* The sibling of 1 is not ours, so 1 is the first of its core. */
	assert_int_equal(placement_of_cpu(&placement, 1)->rank, 0);
	assert_null(placement_of_cpu(&placement, 0));
	assert_int_equal(placement_of_cpu(&placement, 4)->node, 1);
	assert_int_equal(placement_pair(&placement, RELATION_SMT_SIBLING, 0, cpus), -ENXIO);
	expect_pair(&placement, RELATION_SAME_CACHE, 0, 1, 3);
	expect_pair(&placement, RELATION_OTHER_NODE, 0, 1, 4);
	placement_free(&placement);
}

static void one_cpu(void **state)
{
	struct placement placement;
	int cpus[2];

	(void)state;
	load(&placement, "core:1 pu:1", NULL);
	assert_int_equal(placement.node_count, 1);
	for (enum cpu_relation relation = RELATION_SMT_SIBLING; relation <= RELATION_ANY; relation++)
		assert_int_equal(placement_pair(&placement, relation, 0, cpus), -ENXIO);
	expect_pair(&placement, RELATION_SAME_CPU, 0, 0, 0);
	placement_free(&placement);
}

static void lists_of_cpus(void **state)
{
	static const char *const bad[] = { "", "x", "0-", "100000", "0,,1x", "-1" };
	struct placement placement;
	char reason[256], here[16];

	(void)state;
	snprintf(here, sizeof(here), "%d", sched_getcpu());
	assert_int_equal(placement_load(&placement, here, reason, sizeof(reason)), 0);
	assert_int_equal(placement.count, 1);
	placement_free(&placement);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(placement_load(&placement, bad[i], reason, sizeof(reason)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cores_come_before_siblings),
		cmocka_unit_test(every_relation),
		cmocka_unit_test(package_looks_beyond_the_cache),
		cmocka_unit_test(only_what_is_allowed),
		cmocka_unit_test(one_cpu),
		cmocka_unit_test(lists_of_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
