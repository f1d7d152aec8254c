// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does nothing: what its records count is the floor of every other one. It
 * has neither work nor teams, so no instruction stands between the marks.
 */
#include "workload.h"

static int end(struct run *run, struct iteration *iteration)
{
	(void)run;
	iteration_metric(iteration, "elapsed", iteration_seconds(iteration) * 1e9);
	return 0;
}

static const struct workload_metric metrics[] = {
	{ "elapsed", "ns", METRIC_TIME, LOWER_IS_BETTER, "What the clock shows round an empty region." },
	{ .name = NULL },
};

const struct workload workload = {
	.contract = WORKLOAD_CONTRACT,
	.name = "null",
	.summary = "Does nothing; its counts are the floor of every other workload",
	.operation = "nothing",
	.metrics = metrics,
	.end = end,
};
