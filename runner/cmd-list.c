// SPDX-License-Identifier: GPL-2.0-or-later
/* list: what there is, by glob and by asking; --json for scripts. */
#include <errno.h>
#include <jansson.h>
#include <perfmon/pfmlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kernels/kernel.h"
#include "common/command.h"
#include "common/json-text.h"
#include "common/message.h"
#include "common/nearest.h"
#include "common/paths.h"
#include "plan/suite.h"
#include "plan/workload-program.h"

static const struct command_option options[] = {
	{ "json", 0, NULL, false, "as JSON" },
	{ NULL, 0, NULL, false, NULL },
};

static int collect_workloads(json_t *list, char *reason, size_t reason_size)
{
	char **names = workload_names();
	int error = 0;

	for (char **name = names; *name && !error; name++) {
		json_t *description = NULL;

		error = workload_describe(*name, &description, reason, reason_size);
		if (!error)
			json_array_append_new(list, description);
	}
	names_free(names);
	return error;
}

static int collect_suites(json_t *list, char *reason, size_t reason_size)
{
	char **names = suite_names();
	int error = 0;

	for (char **name = names; *name && !error; name++) {
		struct suite suite;

		error = suite_load(*name, &suite, reason, reason_size);
		if (error)
			break;
		json_array_append_new(list, json_pack("{s:s, s:O*, s:i, s:s}", "name", *name, "summary",
						      json_object_get(suite.json, "summary"), "cases",
						      (int)json_array_size(json_object_get(suite.json, "cases")), "path", suite.path));
		suite_free(&suite);
	}
	names_free(names);
	return error;
}

static int collect_series(json_t *list, char *reason, size_t reason_size)
{
	struct kernel_error kernel_error;
	json_t *all = NULL, *value;
	const char *name;
	int error = kernel_series_load(&all, &kernel_error);

	if (error) {
		snprintf(reason, reason_size, "%s", kernel_error.text);
		return error;
	}
	json_object_foreach(all, name, value) {
		json_object_set_new(value, "name", json_string(name));
		json_array_append(list, value);
	}
	json_decref(all);
	return 0;
}

/* What a kernel in the cache was made of, as a spec: it was perhaps asked for in other words. */
static void add_spec(json_t *kernel)
{
	const char *key = json_string_value(json_object_get(kernel, "key"));
	const char *source = json_string_value(json_object_get(json_object_get(kernel, "base"), "source"));
	char spec[512], fragments[128] = "";
	json_t *entry;
	size_t index;

	snprintf(spec, sizeof(spec), "%s", source ? source : "?");
	json_array_foreach(json_object_get(kernel, "layers"), index, entry) {
		const char *layer = json_string_value(json_object_get(entry, "layer"));

		snprintf(spec + strlen(spec), sizeof(spec) - strlen(spec), "+%s", layer ? layer : "?");
	}
	json_array_foreach(json_object_get(kernel, "kconfig"), index, entry) {
		const char *name = json_string_value(json_object_get(entry, "name"));

		if (name && !strchr(name, '.'))
			snprintf(fragments + strlen(fragments), sizeof(fragments) - strlen(fragments), " %s", name);
	}
	if (*fragments)
		snprintf(spec + strlen(spec), sizeof(spec) - strlen(spec), "  (%s,%s)",
			 json_string_value(json_object_get(kernel, "architecture")), fragments);
	json_object_set_new(kernel, "id", json_stringn(key ? key : "?", key ? 16 : 1));
	json_object_set_new(kernel, "spec", json_string(spec));
}

static int collect_kernels(json_t *list, char *reason, size_t reason_size)
{
	struct kernel_error kernel_error;
	json_t *all = NULL, *kernel;
	size_t index;
	int error = kernel_list(&all, &kernel_error);

	if (error) {
		snprintf(reason, reason_size, "%s", kernel_error.text);
		return error;
	}
	json_array_foreach(all, index, kernel)
		add_spec(kernel);
	json_array_extend(list, all);
	json_decref(all);
	return 0;
}

static void add_pmu_events(json_t *list, pfm_pmu_t pmu)
{
	pfm_pmu_info_t pmu_info = { .size = sizeof(pmu_info) };

	if (pfm_get_pmu_info(pmu, &pmu_info) != PFM_SUCCESS || !pmu_info.is_present)
		return;
	for (int event = pmu_info.first_event; event != -1; event = pfm_get_event_next(event)) {
		pfm_event_info_t info = { .size = sizeof(info) };

		if (pfm_get_event_info(event, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS)
			break;
		json_array_append_new(list, json_pack("{s:o, s:s}", "name", json_sprintf("%s::%s", pmu_info.name, info.name),
						      "summary", info.desc ? info.desc : ""));
	}
}

static int collect_events(json_t *list, char *reason, size_t reason_size)
{
	int error = pfm_initialize();

	if (error != PFM_SUCCESS) {
		snprintf(reason, reason_size, "libpfm4 cannot start: %s", pfm_strerror(error));
		return -ENOTSUP;
	}
	for (int pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; pmu++)
		add_pmu_events(list, (pfm_pmu_t)pmu);
	pfm_terminate();
	return 0;
}

struct listing {
	const char *name;
	int (*collect)(json_t *list, char *reason, size_t reason_size);
};

static const struct listing listings[] = {
	{ "workloads", collect_workloads }, { "series", collect_series }, { "suites", collect_suites },
	{ "kernels", collect_kernels }, { "events", collect_events },
};

/* One line an entry: what it is called, and what it is. */
static void print_entry(const json_t *entry)
{
	const char *summary = text_of(entry, "summary");
	const json_t *variants = json_object_get(entry, "variants");
	json_t *variant;
	size_t index;

	if (!*summary)
		summary = text_of(entry, "title");
	if (json_object_get(entry, "id"))
		printf("%-18s %s\n", text_of(entry, "id"), text_of(entry, "spec"));
	else
		printf("%-22s %s\n", text_of(entry, "name"), summary);
	json_array_foreach(variants, index, variant)
		printf("  %-20s %s\n", text_of(variant, "name"), text_of(variant, "summary"));
}

static int print_list(const json_t *list, bool as_json)
{
	json_t *entry;
	size_t index;

	if (as_json) {
		json_dumpf(list, stdout, JSON_INDENT(1) | JSON_SORT_KEYS);
		putchar('\n');
		return EXIT_DONE;
	}
	json_array_foreach(list, index, entry)
		print_entry(entry);
	return EXIT_DONE;
}

static int run(const struct command_arguments *arguments)
{
	const char *names[sizeof(listings) / sizeof(listings[0]) + 1] = { NULL };
	char reason[768], hint[96];

	for (size_t i = 0; i < sizeof(listings) / sizeof(listings[0]); i++) {
		json_t *list;
		int error;

		names[i] = listings[i].name;
		if (strcmp(arguments->values[0], listings[i].name))
			continue;
		list = json_array();
		error = listings[i].collect(list, reason, sizeof(reason));
		error = error ? report(EXIT_ENVIRONMENT, "list %s: %s", listings[i].name, reason)
			      : print_list(list, argument_option(arguments, "json"));
		json_decref(list);
		return error;
	}
	return report(EXIT_USAGE, "list: there is no list of '%s'%s; name workloads, series, suites, kernels or events",
		      arguments->values[0], nearest_hint(arguments->values[0], names, hint, sizeof(hint)));
}

static const struct command command = {
	.name = "list",
	.usage = "workloads|series|suites|kernels|events",
	.summary = "Lists workloads, series with their variants, suites, built kernels, or hardware events",
	.options = options,
	.minimum = 1,
	.maximum = 1,
	.run = run,
};
COMMAND_REGISTER(command);
