// SPDX-License-Identifier: GPL-2.0-or-later
/* doctor: what this machine can measure; each problem with the command that mends it. Changes nothing. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/command.h"
#include "common/message.h"
#include "common/paths.h"
#include "lane/lane.h"
#include "machine/checks.h"

static const struct command_option options[] = {
	{ "lane", 0, "LANE", false, "only what matters to host, vm or exact; exit status 0 when it can run" },
	{ "arch", 0, "ARCH", false, "x86-64 or arm64: the architecture of the guests" },
	{ "json", 0, NULL, false, "as JSON" },
	{ NULL, 0, NULL, false, NULL },
};

/* Every lane is asked itself whether it can run: KVM by a boot, QEMU by its version and plugin API. */
static json_t *probe_lanes(const char *only, const char *architecture, bool *wanted_runs)
{
	json_t *list = json_array();

	for (const struct lane *const *lane = lane_next(NULL); lane; lane = lane_next(lane)) {
		struct lane_facts facts = { .facts = NULL };
		int error;

		if (only && strcmp(only, (*lane)->name))
			continue;
		error = (*lane)->probe(architecture, &facts);
		if (error)
			*wanted_runs = false;
		json_array_append_new(list, json_pack("{s:s, s:b, s:s*, s:o*}", "lane", (*lane)->name, "runs", !error, "reason",
						      error ? facts.reason : NULL, "facts", facts.facts));
	}
	return list;
}

static json_t *checks_as_json(const struct check_result *results, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *entry = json_pack("{s:s, s:s, s:s}", "check", results[i].name, "status", check_status_name(results[i].status),
					  "fact", results[i].fact);

		if (*results[i].harm)
			json_object_set_new(entry, "harm", json_string(results[i].harm));
		if (*results[i].mend)
			json_object_set_new(entry, "mend", json_string(results[i].mend));
		json_array_append_new(list, entry);
	}
	return list;
}

static void print_lanes(const json_t *lanes)
{
	static const char *const shown[] = { "accelerator", "qemu_version", "cpu_model", "kvm", "kvm_reason", "plugin_api" };
	json_t *lane, *fact;
	size_t index;

	json_array_foreach(lanes, index, lane) {
		const json_t *facts = json_object_get(lane, "facts");

		printf("lane %-6s %s", json_string_value(json_object_get(lane, "lane")),
		       json_is_true(json_object_get(lane, "runs")) ? "can run" : "cannot run: ");
		if (!json_is_true(json_object_get(lane, "runs")))
			printf("%s", json_string_value(json_object_get(lane, "reason")));
		for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
			fact = json_object_get(facts, shown[i]);
			if (json_is_string(fact))
				printf("; %s: %s", shown[i], json_string_value(fact));
			else if (json_is_integer(fact))
				printf("; %s: %" JSON_INTEGER_FORMAT, shown[i], json_integer_value(fact));
		}
		putchar('\n');
	}
}

static void print_checks(const struct check_result *results, size_t count)
{
	static const char *const colours[] = {
		[CHECK_GOOD] = "32", [CHECK_WARNING] = "33", [CHECK_MISSING] = "33", [CHECK_BLOCKS] = "31", [CHECK_UNKNOWN] = "36",
	};
	bool colour = colour_wanted(1);

	for (size_t i = 0; i < count; i++) {
		const struct check_result *result = &results[i];

		printf("%s%s%s%-8s %-22s %s\n", colour ? "\033[" : "", colour ? colours[result->status] : "", colour ? "m" : "",
		       check_status_name(result->status), result->name, result->fact);
		if (colour)
			printf("\033[0m");
		if (*result->harm)
			printf("         harm: %s\n         mend: %s\n", result->harm, result->mend);
	}
}

static int run(const struct command_arguments *arguments)
{
	const char *lane = argument_option(arguments, "lane"), *architecture = argument_option(arguments, "arch");
	struct check_result results[CHECKS_MAXIMUM];
	bool runs = true;
	size_t count;
	char hint[96];
	json_t *lanes;

	if (lane && !lane_find(lane))
		return report(EXIT_USAGE, "there is no lane '%s'%s", lane, lane_hint(lane, hint, sizeof(hint)));
	lanes = probe_lanes(lane, architecture ? architecture : host_architecture(), &runs);
	count = checks_run(lane, results, CHECKS_MAXIMUM);
	if (argument_option(arguments, "json")) {
		json_t *all = json_pack("{s:O, s:o}", "lanes", lanes, "checks", checks_as_json(results, count));

		json_dumpf(all, stdout, JSON_INDENT(1) | JSON_SORT_KEYS);
		putchar('\n');
		json_decref(all);
	} else {
		print_lanes(lanes);
		print_checks(results, count);
	}
	json_decref(lanes);
	/* Without --lane nothing particular was asked for: a lane that cannot run here is a fact, not a failure. */
	return lane && !runs ? EXIT_ENVIRONMENT : EXIT_DONE;
}

static const struct command command = {
	.name = "doctor",
	.usage = "[OPTION]...",
	.summary = "Says what this machine can measure, and for each problem the command that mends it",
	.options = options,
	.minimum = 0,
	.maximum = 0,
	.run = run,
};
COMMAND_REGISTER(command);
