// SPDX-License-Identifier: GPL-2.0-or-later
/* What a person reads who runs a workload by hand. Statistics that decide anything are made elsewhere. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/units.h"
#include "run.h"

#define SHOWN 128	/* iterations looked at */

struct spread {
	double middle, low, high;
	unsigned int count;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the measured iterations' values at object/key; object NULL: key stands at the top. */
static struct spread spread_of(const json_t *iterations, const char *object, const char *key)
{
	struct spread spread = { 0 };
	double values[SHOWN];
	json_t *iteration;
	size_t index;

	json_array_foreach(iterations, index, iteration) {
		json_t *holder = object ? json_object_get(iteration, object) : iteration;
		json_t *value = json_object_get(holder, key);

		if (json_is_number(value) && !json_is_true(json_object_get(iteration, "warmup")) && spread.count < SHOWN)
			values[spread.count++] = json_number_value(value);
	}
	if (!spread.count)
		return spread;
	qsort(values, spread.count, sizeof(values[0]), by_value);
	spread.low = values[0];
	spread.high = values[spread.count - 1];
	spread.middle = (values[(spread.count - 1) / 2] + values[spread.count / 2]) / 2;
	return spread;
}

static void print_spread(const char *name, const struct spread *spread, const char *unit)
{
	if (!spread->count)
		return;
	printf("  %-46s %14.6g", name, spread->middle);
	if (spread->count > 1)
		printf("  [%.6g .. %.6g]", spread->low, spread->high);
	printf("  %s\n", unit);
}

static void print_options(const json_t *options)
{
	const char *name;
	json_t *value;

	printf("options:");
	json_object_foreach((json_t *)options, name, value) {
		if (json_is_string(value))
			printf(" %s=%s", name, json_string_value(value));
		else if (json_is_boolean(value))
			printf(" %s=%s", name, json_is_true(value) ? "yes" : "no");
		else if (json_is_integer(value))
			printf(" %s=%lld", name, (long long)json_integer_value(value));
	}
	printf("\n");
}

static void print_metrics(const struct workload *described, const json_t *iterations)
{
	for (const struct workload_metric *metric = described->metrics; metric && metric->name; metric++) {
		struct spread spread = spread_of(iterations, "metrics", metric->name);

		print_spread(metric->name, &spread, metric->unit ? metric->unit : "");
	}
}

/* The many counters of /proc/vmstat are for --json; what this suite is about is shown. */
static bool worth_showing(const char *key)
{
	return strncmp(key, "proc-vmstat.", 12) || !strncmp(key + 12, "nr_tlb_", 7);
}

static const json_t *last_iteration(const json_t *iterations)
{
	return json_array_get(iterations, json_array_size(iterations) - 1);
}

static void print_counts(const json_t *iterations)
{
	const json_t *counts = json_object_get(last_iteration(iterations), "counts");
	unsigned int hidden = 0;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)counts, key, value) {
		struct spread spread = spread_of(iterations, "counts", key);

		if (worth_showing(key))
			print_spread(key, &spread, strncmp(key, "time.", 5) || !strstr(key, "_time") ? "" : "s");
		else
			hidden++;
	}
	if (hidden)
		printf("  (%u further counters with --json)\n", hidden);
}

static void print_missing(const json_t *missing)
{
	const char *key;
	json_t *reason;

	json_object_foreach((json_t *)missing, key, reason)
		printf("  %-46s %14s  (%s)\n", key, "missing", json_string_value(reason));
}

void summary_print(const struct workload *described, const json_t *start, const json_t *iterations)
{
	const json_t *facts = json_object_get(start, "facts");
	struct spread elapsed = spread_of(iterations, NULL, "elapsed_ns");
	struct spread operations = spread_of(iterations, NULL, "operations");
	char unit[96], text[32];

	printf("%s: %s\n", described->name, described->summary);
	print_options(json_object_get(start, "options"));
	printf("kernel %s, CPUs %s, %u measured iteration%s of %s (median [lowest .. highest])\n\n",
	       json_string_value(json_object_get(facts, "kernel_release")),
	       json_string_value(json_object_get(facts, "cpus_allowed")), elapsed.count, elapsed.count == 1 ? "" : "s",
	       format_duration((uint64_t)elapsed.middle, text, sizeof(text)));
	print_metrics(described, iterations);
	snprintf(unit, sizeof(unit), "%s", described->operation ? described->operation : "");
	print_spread("operations", &operations, unit);
	printf("\n");
	print_counts(iterations);
	print_missing(json_object_get(last_iteration(iterations), "missing"));
}
