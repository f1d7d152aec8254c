// SPDX-License-Identifier: GPL-2.0-or-later
#include "run-overview.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json-text.h"
#include "common/message.h"
#include "common/paths.h"
#include "plan/plan.h"
#include "plan/workload-program.h"

#define LANES_MAXIMUM 8
#define KERNELS_MAXIMUM 64
#define CELL 10
#define NAME_WIDTH 26

/*
 * What a boot and an iteration took on the machine on which the suites were
 * made (2 cores, TCG), in seconds: medians over their campaigns. An estimate
 * wants no better; a campaign under way says what is left by its own boots.
 */
struct pace {
	const char *lane;
	double boot, boot_per_cpu, iteration;
};

static const struct pace paces[] = {
	{ "host", 0.2, 0, 0.7 }, { "vm", 2.5, 0.3, 0.6 }, { "exact", 4, 1, 2 },
};

/* A lane and an architecture, probed once. */
struct place {
	const struct lane *lane;
	const char *architecture;
	struct lane_facts facts;
	bool can, probed;
};

static const char *const architectures[] = { "x86-64", "arm64" };
#define ARCHITECTURES (sizeof(architectures) / sizeof(architectures[0]))

#define REASONS_MAXIMUM 9

/* Why something cannot run: told once, below the table. */
static char *reasons[REASONS_MAXIMUM];
static size_t reason_count;

static struct place places[LANES_MAXIMUM][ARCHITECTURES];
static size_t lane_count;

static void find_lanes(void)
{
	static const char *const order[] = { "host", "vm", "exact" };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const struct lane *lane = lane_find(order[i]);

		for (size_t a = 0; lane && a < ARCHITECTURES; a++)
			places[lane_count][a] = (struct place){ .lane = lane, .architecture = architectures[a] };
		lane_count += lane != NULL;
	}
}

static struct place *place_of(size_t lane, const char *architecture)
{
	for (size_t a = 0; a < ARCHITECTURES; a++) {
		struct place *place = &places[lane][a];

		if (strcmp(place->architecture, architecture))
			continue;
		if (!place->probed)
			place->can = !place->lane->probe(architecture, &place->facts);
		place->probed = true;
		return place;
	}
	return NULL;
}

/* The kernels of a suite as far as a plan of its boots needs them. */
static size_t name_kernels(const struct suite *suite, const struct lane *lane, struct kernel *kernels, char ids[][16])
{
	size_t count = json_array_size(json_object_get(suite->json, "kernels"));

	if (!count || !strcmp(lane->name, "host"))
		count = 1;
	if (count > KERNELS_MAXIMUM)
		count = KERNELS_MAXIMUM;
	for (size_t i = 0; i < count; i++) {
		snprintf(ids[i], sizeof(ids[i]), "%zu", i);
		kernels[i] = (struct kernel){ .id = ids[i], .label = ids[i] };
	}
	return count;
}

static double estimate(const json_t *plan, const char *lane)
{
	const json_t *protocol = json_object_get(plan, "protocol"), *boot;
	double iterations = (double)json_integer_value(json_object_get(protocol, "iterations")) +
			    (double)json_integer_value(json_object_get(protocol, "warmup"));
	const struct pace *pace = paces;
	double seconds = 0;
	size_t index;

	while (strcmp(pace->lane, lane))
		pace++;
	json_array_foreach(json_object_get(plan, "boots"), index, boot)
		seconds += pace->boot + pace->boot_per_cpu * (double)json_integer_value(json_object_get(boot, "cpus")) +
			   pace->iteration * iterations * (double)json_array_size(json_object_get(boot, "cases"));
	return seconds;
}

static void format_estimate(double seconds, char *text, size_t text_size)
{
	if (seconds < 90)
		snprintf(text, text_size, "%.0f s", seconds < 10 ? seconds < 1 ? 1 : seconds : (double)(((int)seconds + 2) / 5 * 5));
	else if (seconds < 5400)
		snprintf(text, text_size, "%.0f min", seconds / 60);
	else
		snprintf(text, text_size, "%.1f h", seconds / 3600);
}

/* A suite runs where it has something to say: in the lanes that it names. */
static bool meant_for(const struct suite *suite, const char *lane)
{
	const json_t *lanes = json_object_get(suite->json, "lanes");

	return json_object_get(lanes, lane) || !json_object_size(lanes) ||
	       !strcmp(text_of(suite->json, "default-lane"), lane);
}

/* Its number from 1; 0 when there is no room for another. */
static size_t reason_number(const char *reason)
{
	for (size_t i = 0; i < reason_count; i++)
		if (!strcmp(reasons[i], reason))
			return i + 1;
	if (reason_count == REASONS_MAXIMUM)
		return 0;
	reasons[reason_count] = strdup(reason);
	return reasons[reason_count] ? ++reason_count : 0;
}

static void refuse(char *text, size_t text_size, const char *reason)
{
	size_t number = reason_number(reason);

	if (number)	/* one digit: REASONS_MAXIMUM */
		snprintf(text, text_size, "no [%c]", (char)('0' + number));
	else
		snprintf(text, text_size, "no");
}

static int make_plan(const struct suite *suite, const struct place *place, json_t **plan, struct plan_error *error)
{
	struct kernel kernels[KERNELS_MAXIMUM];
	char ids[KERNELS_MAXIMUM][16];
	const struct plan_request request = {
		.suite = suite, .lane = place->lane, .architecture = place->architecture, .lane_facts = place->facts.facts,
		.kernels = kernels, .kernel_count = name_kernels(suite, place->lane, kernels, ids), .warmup = -1,
		.slice_microseconds = -1, .seed = 1,
	};
	int failed = plan_make(&request, plan, error);

	return failed ? failed : plan_hash_programs(*plan, error);
}

/* What stands in the cell. */
static void fill_cell(const struct suite *suite, size_t lane, char *text, size_t text_size)
{
	const char *architecture = json_string_value(json_object_get(suite->json, "architecture"));
	const struct place *place = place_of(lane, architecture ? architecture : host_architecture());
	struct plan_error error;
	json_t *plan = NULL;

	if (!place || !meant_for(suite, place->lane->name)) {
		snprintf(text, text_size, "-");
	} else if (!place->can) {
		refuse(text, text_size, place->facts.reason);
	} else if (make_plan(suite, place, &plan, &error)) {
		refuse(text, text_size, error.text);
	} else {
		format_estimate(estimate(plan, place->lane->name), text, text_size);
		if (!strcmp(text_of(suite->json, "default-lane"), place->lane->name))
			strncat(text, "*", text_size - strlen(text) - 1);
	}
	json_decref(plan);
}

static void print_row(const char *name, const struct suite *suite)
{
	printf("  %-*s", NAME_WIDTH, name);
	for (size_t lane = 0; lane < lane_count; lane++) {
		char text[CELL + 6];

		fill_cell(suite, lane, text, sizeof(text));
		/* The mark stands beside the column. */
		printf("%*s%s", CELL + (strchr(text, '*') ? 1 : 0), text, strchr(text, '*') ? "" : " ");
	}
	putchar('\n');
}

static int print_suites(void)
{
	char **names = suite_names(), reason[512];
	int status = EXIT_DONE;

	for (char **name = names; *name && !interrupted; name++) {
		struct suite suite;

		if (suite_load(*name, &suite, reason, sizeof(reason))) {
			status = report(EXIT_USAGE, "%s", reason);
			continue;
		}
		print_row(*name, &suite);
		suite_free(&suite);
	}
	names_free(names);
	return status;
}

/* Each workload is a suite of one case, and takes what the others take. */
static void print_workloads(void)
{
	char **names = workload_names();
	struct suite suite;
	bool first = true;

	if (!suite_from_workload("null", &suite)) {
		print_row("a workload by itself", &suite);
		suite_free(&suite);
	}
	printf("\nworkloads: ");
	for (char **name = names; *name; name++) {
		if (!strcmp(*name, "exec"))
			continue;
		printf("%s%s", first ? "" : ", ", *name);
		first = false;
	}
	printf("\na command of your own: shootdown run --exec -- COMMAND\n");
	names_free(names);
}

static void print_reasons(void)
{
	for (size_t i = 0; i < reason_count; i++) {
		printf("[%zu] %s\n", i + 1, reasons[i]);
		free(reasons[i]);
	}
	reason_count = 0;
}

int run_overview(void)
{
	int status;

	find_lanes();
	printf("What could run here, and about how long: estimates, without building kernels.\n\n  %-*s", NAME_WIDTH, "SUITE");
	for (size_t lane = 0; lane < lane_count; lane++)
		printf("%*s ", CELL, places[lane][0].lane->name);
	putchar('\n');
	status = print_suites();
	print_workloads();
	print_reasons();
	printf("shootdown run NAME [--lane LANE] runs one (* is the lane where none is named)\n");
	for (size_t lane = 0; lane < lane_count; lane++)
		for (size_t a = 0; a < ARCHITECTURES; a++)
			json_decref(places[lane][a].facts.facts);
	return interrupted ? report(EXIT_ENVIRONMENT, "interrupted") : status;
}
