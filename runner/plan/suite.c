// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/files.h"
#include "../common/nearest.h"
#include "../common/paths.h"
#include "../common/yaml.h"
#include "suite.h"
#include "workload-program.h"

static const struct shape protocol_rows[] = {
	{ .name = "blocks", .type = SHAPE_INTEGER, .minimum = 1, .maximum = 1000 },
	{ .name = "iterations", .type = SHAPE_INTEGER, .minimum = 1, .maximum = 10000 },
	{ .name = "warmup", .type = SHAPE_INTEGER, .maximum = 1000 },
	{ .name = "phases", .type = SHAPE_INTEGER, .minimum = 1, .maximum = 64 },
	{ .name = NULL },
};

static const struct shape lane_rows[] = {
	{ .name = "cpus", .type = SHAPE_ANY },
	{ .name = "nodes", .type = SHAPE_INTEGER, .minimum = 1, .maximum = 64 },
	{ .name = "memory", .type = SHAPE_SCALAR },
	{ .name = "kconfig", .type = SHAPE_LIST, .item = SHAPE_TEXT },
	{ .name = "boot-parameters", .type = SHAPE_TEXT },
	{ .name = "slice-microseconds", .type = SHAPE_INTEGER, .maximum = 1000000 },
	{ .name = "phases", .type = SHAPE_INTEGER, .minimum = 1, .maximum = 64 },
	{ .name = "phases-above", .type = SHAPE_MAP, .item = SHAPE_INTEGER },
	{ .name = "blocks", .type = SHAPE_INTEGER, .minimum = 1, .maximum = 1000 },
	{ .name = "iterations", .type = SHAPE_INTEGER, .minimum = 1, .maximum = 10000 },
	{ .name = "warmup", .type = SHAPE_INTEGER, .maximum = 1000 },
	{ .name = "timeout", .type = SHAPE_SCALAR },
	{ .name = NULL },
};

static const struct shape lanes_rows[] = {
	{ .name = "host", .type = SHAPE_MAP, .keys = lane_rows },
	{ .name = "vm", .type = SHAPE_MAP, .keys = lane_rows },
	{ .name = "exact", .type = SHAPE_MAP, .keys = lane_rows },
	{ .name = NULL },
};

static const struct shape case_rows[] = {
	{ .name = "name", .type = SHAPE_TEXT, .required = true },
	{ .name = "summary", .type = SHAPE_TEXT },
	{ .name = "workload", .type = SHAPE_TEXT, .required = true },
	{ .name = "lanes", .type = SHAPE_LIST, .item = SHAPE_TEXT },
	{ .name = "options", .type = SHAPE_MAP, .item = SHAPE_SCALAR },
	{ .name = "probes", .type = SHAPE_LIST, .item = SHAPE_TEXT },
	{ .name = "settings", .type = SHAPE_MAP, .item = SHAPE_SCALAR },
	{ .name = NULL },
};

static const struct shape derived_rows[] = {
	{ .name = "name", .type = SHAPE_TEXT, .required = true },
	{ .name = "summary", .type = SHAPE_TEXT },
	{ .name = "case", .type = SHAPE_TEXT, .required = true },
	{ .name = "unit", .type = SHAPE_TEXT, .required = true },
	{ .name = "class", .type = SHAPE_TEXT, .required = true },
	{ .name = "better", .type = SHAPE_TEXT, .required = true },
	{ .name = "iterations", .type = SHAPE_TEXT },
	{ .name = "formula", .type = SHAPE_TEXT, .required = true },
	{ .name = "terms", .type = SHAPE_MAP, .item = SHAPE_ANY, .required = true },
	{ .name = NULL },
};

static const struct shape primary_item_rows[] = {
	{ .name = "case", .type = SHAPE_TEXT, .required = true },
	{ .name = "metric", .type = SHAPE_TEXT, .required = true },
	{ .name = "cpus", .type = SHAPE_INTEGER, .minimum = 1, .maximum = 4096 },
	{ .name = NULL },
};

static const struct shape primary_rows[] = {
	{ .name = "host", .type = SHAPE_LIST, .keys = primary_item_rows },
	{ .name = "vm", .type = SHAPE_LIST, .keys = primary_item_rows },
	{ .name = "exact", .type = SHAPE_LIST, .keys = primary_item_rows },
	{ .name = NULL },
};

static const struct shape suite_rows[] = {
	{ .name = "suite", .type = SHAPE_TEXT, .required = true },
	{ .name = "summary", .type = SHAPE_TEXT },
	{ .name = "margin-percent", .type = SHAPE_NUMBER, .maximum = 100 },
	{ .name = "protocol", .type = SHAPE_MAP, .keys = protocol_rows },
	{ .name = "kernels", .type = SHAPE_LIST, .item = SHAPE_TEXT },
	{ .name = "architecture", .type = SHAPE_TEXT },
	{ .name = "default-lane", .type = SHAPE_TEXT },
	{ .name = "lanes", .type = SHAPE_MAP, .keys = lanes_rows },
	{ .name = "probes", .type = SHAPE_LIST, .item = SHAPE_TEXT },
	{ .name = "settings", .type = SHAPE_MAP, .item = SHAPE_SCALAR },
	{ .name = "cases", .type = SHAPE_LIST, .keys = case_rows, .required = true },
	{ .name = "derived", .type = SHAPE_LIST, .keys = derived_rows },
	{ .name = "primary", .type = SHAPE_MAP, .keys = primary_rows },
	{ .name = NULL },
};

static bool has_case(const json_t *suite, const char *name)
{
	size_t index;
	json_t *entry;

	json_array_foreach(json_object_get(suite, "cases"), index, entry)
		if (!strcmp(json_string_value(json_object_get(entry, "name")), name))
			return true;
	return false;
}

/* Names become parts of file names and keys: letters, digits, dots and dashes only. */
static bool is_plain_name(const char *name)
{
	return *name && *name != '.' && strlen(name) <= 80 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == strlen(name);
}

static int check_cases(const json_t *suite, char *reason, size_t reason_size)
{
	const json_t *cases = json_object_get(suite, "cases");
	size_t index, other;
	json_t *entry;

	if (!json_array_size(cases)) {
		snprintf(reason, reason_size, "cases: the suite has none");
		return -EINVAL;
	}
	json_array_foreach(cases, index, entry) {
		const char *name = json_string_value(json_object_get(entry, "name"));

		if (!is_plain_name(name)) {
			snprintf(reason, reason_size, "cases[%zu]: the name may have letters, digits, '-', '_' and '.' only", index);
			return -EINVAL;
		}
		for (other = 0; other < index; other++) {
			const json_t *before = json_object_get(json_array_get(cases, other), "name");

			if (!strcmp(json_string_value(before), name)) {
				snprintf(reason, reason_size, "cases[%zu]: the name '%s' stands twice", index, name);
				return -EINVAL;
			}
		}
	}
	return 0;
}

/* Metrics that name a case must name one of this suite. */
static int check_case_names(const json_t *suite, const json_t *list, const char *where, char *reason, size_t reason_size)
{
	size_t index;
	json_t *entry;

	json_array_foreach(list, index, entry) {
		const char *name = json_string_value(json_object_get(entry, "case"));

		if (name && !has_case(suite, name)) {
			snprintf(reason, reason_size, "%s[%zu]: there is no case '%s'", where, index, name);
			return -EINVAL;
		}
	}
	return 0;
}

static int check_suite(const json_t *suite, char *reason, size_t reason_size)
{
	const char *lane;
	json_t *list;
	int error = shape_check(suite, suite_rows, "", reason, reason_size);

	if (!error)
		error = check_cases(suite, reason, reason_size);
	if (!error)
		error = check_case_names(suite, json_object_get(suite, "derived"), "derived", reason, reason_size);
	json_object_foreach(json_object_get(suite, "primary"), lane, list) {
		char where[48];

		snprintf(where, sizeof(where), "primary.%s", lane);
		if (!error)
			error = check_case_names(suite, list, where, reason, reason_size);
	}
	return error;
}

/* NAME or SERIES/NAME: what may become part of a path. */
static bool is_suite_word(const char *word)
{
	const char *slash = strchr(word, '/');
	char folder[81];

	if (!slash)
		return is_plain_name(word);
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - word), word);
	return is_plain_name(folder) && is_plain_name(slash + 1);
}

/* The file a word may mean, in the order: path, configs/suites, series; NULL when none exists. */
static char *find_file(const char *word)
{
	static const char *const patterns[] = {
		"configs/suites/%s.yaml", "kernels/series/%s.yaml", "kernels/series/%s/suite.yaml",
	};

	if (strchr(word, '/') || strstr(word, ".yaml"))
		if (file_exists(word))
			return strdup(word);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]) && is_suite_word(word); i++) {
		char *below, *path;

		if (asprintf(&below, patterns[i], word) < 0)
			abort();
		path = path_data(below);
		free(below);
		if (file_exists(path))
			return path;
		free(path);
	}
	return NULL;
}

static int load_file(char *path, struct suite *suite, char *reason, size_t reason_size)
{
	char inner[512], *copy;
	int error = read_yaml(path, &suite->json, inner, sizeof(inner));

	if (!error)
		error = check_suite(suite->json, inner, sizeof(inner));
	if (error) {
		snprintf(reason, reason_size, "suite %s: %s", path, inner);
		json_decref(suite->json);
		free(path);
		memset(suite, 0, sizeof(*suite));
		return error;
	}
	copy = strdup(path);
	suite->path = path;
	suite->directory = strdup(dirname(copy));
	free(copy);
	hash_json(suite->json, suite->hash);
	return 0;
}

char **suite_names(void)
{
	char *suites = path_data("configs/suites"), *series = path_data("kernels/series");
	char **names = path_names(suites, ".yaml"), **folders = path_names(series, "");
	size_t count = 0;

	while (names[count])
		count++;
	for (char **folder = folders; *folder; folder++) {
		char *directory = text_format("%s/%s", series, *folder);
		char **files = path_names(directory, ".yaml");

		for (char **file = files; *file; file++) {
			char **larger;

			if (strncmp(*file, "suite", 5))
				continue;
			larger = realloc(names, (count + 2) * sizeof(*names));
			if (!larger)
				abort();
			names = larger;
			names[count++] = strcmp(*file, "suite") ? text_format("%s/%s", *folder, *file) : strdup(*folder);
			names[count] = NULL;
		}
		names_free(files);
		free(directory);
	}
	names_free(folders);
	free(suites);
	free(series);
	return names;
}

int suite_from_workload(const char *workload, struct suite *suite)
{
	memset(suite, 0, sizeof(*suite));
	suite->json = json_pack("{s:s, s:s, s:[{s:s, s:s}], s:{s:[{s:s, s:s}], s:[{s:s, s:s}], s:[{s:s, s:s}]}}",
				"suite", workload, "summary", "one workload with its defaults",
				"cases", "name", workload, "workload", workload, "primary",
				"vm", "case", workload, "metric", "score",
				"host", "case", workload, "metric", "score",
				"exact", "case", workload, "metric", "total:work-instructions/op");
	if (!suite->json)
		return -ENOMEM;
	hash_json(suite->json, suite->hash);
	return 0;
}

static void unknown_suite(const char *word, char *reason, size_t reason_size)
{
	char **suites = suite_names(), **workloads = workload_names(), **all;
	size_t count = 0, limit = 0;
	char hint[96];

	for (char **name = suites; *name; name++)
		limit++;
	for (char **name = workloads; *name; name++)
		limit++;
	all = calloc(limit + 1, sizeof(*all));
	if (!all)
		abort();
	for (char **name = suites; *name; name++)
		all[count++] = *name;
	for (char **name = workloads; *name; name++)
		all[count++] = *name;
	nearest_hint(word, (const char *const *)all, hint, sizeof(hint));
	snprintf(reason, reason_size, "there is no suite or workload '%s'%s; 'shootdown list suites' and 'shootdown list workloads' name them",
		 word, hint);
	free(all);
	names_free(suites);
	names_free(workloads);
}

int suite_load(const char *word, struct suite *suite, char *reason, size_t reason_size)
{
	char *path = find_file(word);

	memset(suite, 0, sizeof(*suite));
	if (path)
		return load_file(path, suite, reason, reason_size);
	if (workload_exists(word))
		return suite_from_workload(word, suite);
	unknown_suite(word, reason, reason_size);
	return -ENOENT;
}

/* True when a derived metric of `name` has a term of `other`. */
static bool draws_on(const json_t *suite, const char *name, const char *other)
{
	json_t *derived, *term;
	const char *key;
	size_t index;

	json_array_foreach(json_object_get(suite, "derived"), index, derived) {
		if (strcmp(json_string_value(json_object_get(derived, "case")), name))
			continue;
		json_object_foreach(json_object_get(derived, "terms"), key, term) {
			const char *term_case = json_string_value(json_object_get(term, "case"));

			if (term_case && !strcmp(term_case, other))
				return true;
		}
	}
	return false;
}

/* Drops the entries of a list whose `key` names another case. */
static void keep_entries(json_t *list, const char *key, const json_t *suite, const char *name, bool with_terms)
{
	for (size_t i = json_array_size(list); i-- > 0;) {
		const char *other = json_string_value(json_object_get(json_array_get(list, i), key));

		if (strcmp(other, name) && !(with_terms && draws_on(suite, name, other)))
			json_array_remove(list, i);
	}
}

int suite_keep_case(struct suite *suite, const char *name, char *reason, size_t reason_size)
{
	const char *names[128] = { NULL }, *lane;
	json_t *entry, *list;
	size_t index;
	char hint[96];

	json_array_foreach(json_object_get(suite->json, "cases"), index, entry)
		if (index < 127)
			names[index] = json_string_value(json_object_get(entry, "name"));
	if (!has_case(suite->json, name)) {
		snprintf(reason, reason_size, "the suite has no case '%s'%s", name, nearest_hint(name, names, hint, sizeof(hint)));
		return -ENOENT;
	}
	keep_entries(json_object_get(suite->json, "cases"), "name", suite->json, name, true);
	keep_entries(json_object_get(suite->json, "derived"), "case", suite->json, name, false);
	json_object_foreach(json_object_get(suite->json, "primary"), lane, list)
		keep_entries(list, "case", suite->json, name, false);
	hash_json(suite->json, suite->hash);
	return 0;
}

int suite_set_option(struct suite *suite, const char *text, char *reason, size_t reason_size)
{
	const char *equals = strchr(text, '=');
	char *name = strndup(text, equals ? (size_t)(equals - text) : 0);
	json_t *entry;
	size_t index;

	if (!equals || equals == text) {
		snprintf(reason, reason_size, "--option '%s' is not NAME=VALUE", text);
		free(name);
		return -EINVAL;
	}
	json_array_foreach(json_object_get(suite->json, "cases"), index, entry) {
		if (!json_object_get(entry, "options"))
			json_object_set_new(entry, "options", json_object());
		json_object_set_new(json_object_get(entry, "options"), name, json_string(equals + 1));
	}
	free(name);
	hash_json(suite->json, suite->hash);
	return 0;
}

void suite_free(struct suite *suite)
{
	json_decref(suite->json);
	free(suite->path);
	free(suite->directory);
	memset(suite, 0, sizeof(*suite));
}

json_t *suite_lane(const struct suite *suite, const char *lane)
{
	json_t *section = json_object_get(json_object_get(suite->json, "lanes"), lane);
	static json_t *empty;

	if (section)
		return section;
	if (!empty)
		empty = json_object();
	return empty;
}
