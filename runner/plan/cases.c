// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/files.h"
#include "../common/memory.h"
#include "../common/message.h"
#include "../common/nearest.h"
#include "../common/paths.h"
#include "../common/units.h"
#include "../lane/toolchain.h"
#include "../store/campaign.h"
#include "cases.h"
#include "tree-hash.h"
#include "workload-program.h"

static bool runs_in_lane(const json_t *entry, const char *lane)
{
	const json_t *lanes = json_object_get(entry, "lanes"), *name;
	size_t index;

	if (!lanes)
		return true;
	json_array_foreach(lanes, index, name)
		if (!strcmp(json_string_value(name), lane))
			return true;
	return false;
}

static json_t *words_as_json(const char *const *words)
{
	json_t *list = json_array();

	for (; words && *words; words++)
		json_array_append_new(list, json_string(*words));
	return list;
}

static void append_settings(json_t *list, const json_t *map)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)map, key, value) {
		char *text;

		if (json_is_string(value))
			text = text_format("%s=%s", key, json_string_value(value));
		else if (json_is_boolean(value))
			text = text_format("%s=%d", key, json_is_true(value));
		else
			text = text_format("%s=%" JSON_INTEGER_FORMAT, key, json_integer_value(value));
		json_array_append_new(list, json_string(text));
		free(text);
	}
}

static int append_probes(json_t *list, const json_t *names, const char *workload, struct plan_error *error)
{
	const json_t *name;
	char reason[512];
	size_t index;

	json_array_foreach(names, index, name) {
		if (workload_check_probe(workload, json_string_value(name), reason, sizeof(reason))) {
			snprintf(error->text, sizeof(error->text), "probe '%s': %s", json_string_value(name), reason);
			error->exit_status = EXIT_USAGE;
			return -EINVAL;
		}
		json_array_append(list, (json_t *)name);
	}
	return 0;
}

/* A costly probe adds instructions to what the exact lane counts: it is for the other lanes of the suite. */
static json_t *without_costly(const json_t *names, const char *workload)
{
	json_t *kept = json_array(), *name;
	size_t index;

	json_array_foreach(names, index, name)
		if (!workload_probe_is_costly(workload, json_string_value(name)))
			json_array_append(kept, name);
	return kept;
}

static int refuse_costly(const char *const *names, const char *workload, struct plan_error *error)
{
	for (; names && *names; names++) {
		if (!workload_probe_is_costly(workload, *names))
			continue;
		snprintf(error->text, sizeof(error->text), "probe '%s' adds instructions to those that the exact lane counts; "
			 "run it in the lane vm or host", *names);
		error->exit_status = EXIT_USAGE;
		return -EINVAL;
	}
	return 0;
}

/* Those of the suite and of the case, then those that a person asks for. */
static int collect_probes(const struct plan_request *request, const json_t *entry, const char *workload, json_t *list,
			  struct plan_error *error)
{
	bool exact = !strcmp(request->lane->name, "exact");
	json_t *of_suite = json_array(), *further = words_as_json(request->probes), *chosen;
	int failed = exact ? refuse_costly(request->probes, workload, error) : 0;

	json_array_extend(of_suite, json_object_get(request->suite->json, "probes"));
	json_array_extend(of_suite, json_object_get(entry, "probes"));
	chosen = exact ? without_costly(of_suite, workload) : json_incref(of_suite);
	json_array_extend(chosen, further);
	if (!failed)
		failed = append_probes(list, chosen, workload, error);
	json_decref(chosen);
	json_decref(further);
	json_decref(of_suite);
	return failed;
}

/* What is left for a workload in a guest: the kernel, the initramfs and page tables come first. */
static uint64_t usable_memory(const json_t *plan, unsigned int cpus)
{
	uint64_t memory = (uint64_t)json_integer_value(json_object_get(json_object_get(plan, "guest"), "memory_bytes"));
	uint64_t reserved = (160ULL << 20) + cpus * (4ULL << 20) + memory / 16;

	return memory > reserved ? memory - reserved : 0;
}

/* -EDOM: what it needs, only another machine has. */
static int check_needs(const json_t *resolved, const char *name, const struct guest_limits *limits, bool host, struct plan_error *error)
{
	const uint64_t memory = limits->memory_bytes;
	const json_t *needs = json_object_get(resolved, "needs");
	uint64_t wanted = (uint64_t)json_integer_value(json_object_get(needs, "memory_bytes"));
	long long wanted_cpus = json_integer_value(json_object_get(needs, "cpus"));
	long long wanted_nodes = json_integer_value(json_object_get(needs, "nodes"));
	char wanted_text[32], have_text[32];

	error->exit_status = EXIT_ENVIRONMENT;
	if (wanted_cpus > (long long)limits->cpus) {
		snprintf(error->text, sizeof(error->text), "case '%s' needs %lld CPUs and has %u; use %s%lld", name, wanted_cpus,
			 limits->cpus, host ? "lane vm with --cpus " : "--cpus ", wanted_cpus);
		return -EDOM;
	}
	if (wanted_nodes > (long long)limits->nodes) {
		snprintf(error->text, sizeof(error->text), "case '%s' needs %lld NUMA nodes and has %u; use %s%lld", name, wanted_nodes,
			 limits->nodes, host ? "lane vm with --nodes " : "--nodes ", wanted_nodes);
		return -EDOM;
	}
	if (wanted > memory) {
		snprintf(error->text, sizeof(error->text), "case '%s' needs %s of memory and has %s; use a smaller size, or --memory",
			 name, format_size(wanted, wanted_text, sizeof(wanted_text)), format_size(memory, have_text, sizeof(have_text)));
		return -EDOM;
	}
	return 0;
}

static void identify_case(json_t *entry)
{
	static const char *const parts[] = { "workload", "arguments", "settings", "probes", "cpus", "exec" };
	json_t *identity = json_object();
	char hash[HASH_TEXT];

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (json_object_get(entry, parts[i]))
			json_object_set(identity, parts[i], json_object_get(entry, parts[i]));
	hash_json(identity, hash);
	hash[16] = '\0';
	json_decref(identity);
	json_object_set_new(entry, "id", json_string(hash));
}

static int resolve_options(const json_t *entry, const json_t *plan, const char *name, const char *workload, unsigned int cpus,
			   bool host, json_t **resolved, struct plan_error *error)
{
	const struct guest_limits limits = {
		.cpus = cpus,
		.nodes = (unsigned int)json_integer_value(json_object_get(json_object_get(plan, "guest"), "nodes")),
		.memory_bytes = host ? available_memory() : usable_memory(plan, cpus),
	};
	char reason[512];
	int failed = workload_resolve(workload, json_object_get(entry, "options"), &limits, resolved, reason, sizeof(reason));

	if (failed) {
		snprintf(error->text, sizeof(error->text), "case '%s': %s", name, reason);
		error->exit_status = failed == -EINVAL ? EXIT_USAGE : EXIT_ENVIRONMENT;
		return failed == -ENOSPC ? -EDOM : failed;
	}
	failed = check_needs(*resolved, name, &limits, host, error);
	if (failed)
		json_decref(*resolved);
	return failed;
}

static int add_case(const struct plan_request *request, json_t *plan, const json_t *entry, unsigned int cpus,
		    struct plan_error *error)
{
	const char *name = json_string_value(json_object_get(entry, "name"));
	const char *workload = json_string_value(json_object_get(entry, "workload"));
	bool host = !strcmp(request->lane->name, "host");
	json_t *resolved, *describe = NULL, *result, *settings = json_array(), *probes = json_array();
	char reason[512];
	int failed = resolve_options(entry, plan, name, workload, cpus, host, &resolved, error);

	if (!failed && workload_describe(workload, &describe, reason, sizeof(reason))) {
		snprintf(error->text, sizeof(error->text), "%s", reason);
		error->exit_status = EXIT_ENVIRONMENT;
		json_decref(resolved);
		failed = -ENOSPC;
	}
	if (!failed)
		failed = collect_probes(request, entry, workload, probes, error);
	if (failed) {
		json_decref(settings);
		json_decref(probes);
		return failed;
	}
	append_settings(settings, json_object_get(request->suite->json, "settings"));
	append_settings(settings, json_object_get(entry, "settings"));
	result = json_pack("{s:s, s:i, s:s, s:O, s:O, s:O, s:o, s:o, s:o}", "name", name, "cpus", (int)cpus, "workload", workload,
			   "options", json_object_get(resolved, "options"), "arguments", json_object_get(resolved, "arguments"),
			   "needs", json_object_get(resolved, "needs"), "settings", settings, "probes", probes, "describe", describe);
	json_decref(resolved);
	if (!result) {
		snprintf(error->text, sizeof(error->text), "workload '%s' does not answer --resolve as CONTRIBUTING.md says", workload);
		error->exit_status = EXIT_ENVIRONMENT;
		return -EPROTO;
	}
	if (request->exec)
		json_object_set_new(result, "exec", json_pack("{s:o, s:o}", "command", words_as_json(request->exec), "files",
							      words_as_json(request->exec_files)));
	identify_case(result);
	json_array_append_new(json_object_get(plan, "cases"), result);
	return 0;
}

static int check_workload(const char *workload, const char *name, struct plan_error *error)
{
	char **names;
	char hint[96];

	if (workload_exists(workload))
		return 0;
	names = workload_names();
	snprintf(error->text, sizeof(error->text), "case '%s': there is no workload '%s'%s; 'shootdown list workloads' names them", name,
		 workload, nearest_hint(workload, (const char *const *)names, hint, sizeof(hint)));
	names_free(names);
	error->exit_status = EXIT_USAGE;
	return -EINVAL;
}

/* A guest can be given more; of this machine's cases, those that do not fit are left out, and the others run. */
static int leave_out(json_t *plan, const char *name, const char *reason)
{
	json_t *list = json_object_get(plan, "left_out");

	if (!list && json_object_set_new(plan, "left_out", list = json_array()))
		return -ENOMEM;
	return json_array_append_new(list, json_pack("{s:s, s:s}", "case", name, "reason", reason)) ? -ENOMEM : 0;
}

int plan_add_cases(const struct plan_request *request, json_t *plan, const unsigned int *cpus, size_t cpus_count,
		   struct plan_error *error)
{
	const json_t *cases = json_object_get(request->suite->json, "cases"), *entry;
	bool host = !strcmp(request->lane->name, "host");
	size_t index;

	json_object_set_new(plan, "cases", json_array());
	json_array_foreach(cases, index, entry) {
		const char *name = json_string_value(json_object_get(entry, "name"));
		int failed = check_workload(json_string_value(json_object_get(entry, "workload")), name, error);

		for (size_t i = 0; !failed && i < cpus_count && runs_in_lane(entry, request->lane->name); i++) {
			failed = add_case(request, plan, entry, cpus[i], error);
			if (failed == -EDOM && host)
				failed = leave_out(plan, name, error->text);
		}
		if (failed)
			return failed;
	}
	if (json_array_size(json_object_get(plan, "cases")))
		return 0;
	if (json_object_get(plan, "left_out"))	/* with the reason of the last */
		return -ENOSPC;
	snprintf(error->text, sizeof(error->text), "the suite has no case for the lane '%s'; choose another --lane", request->lane->name);
	error->exit_status = EXIT_USAGE;
	return -EINVAL;
}

static int hash_program(json_t *map, const char *key, const char *path, const char *remedy, struct plan_error *error)
{
	char hash[HASH_TEXT];
	int failed = hash_file(path, hash);

	if (failed) {
		snprintf(error->text, sizeof(error->text), "%s cannot be read: %s; %s", path, strerror(-failed), remedy);
		error->exit_status = EXIT_ENVIRONMENT;
	} else {
		json_object_set_new(map, key, json_string(hash));
	}
	return failed;
}

static int hash_one(json_t *map, const char *key, const char *architecture, const char *below, struct plan_error *error)
{
	char *path = path_program(architecture, below);
	bool native = !strcmp(architecture, host_architecture());
	int failed = hash_program(map, key, path, native ? "build it with 'make'" : "build it with 'make ARCH=arm64'", error);

	free(path);
	return failed;
}

/* A helper that is not ours (memcached) is an installed program of this machine. */
static int hash_helper(json_t *map, const char *name, const char *architecture, struct plan_error *error)
{
	char *below = text_format("workloads/helpers/%s", name), *path = path_program(architecture, below);
	char *installed = file_exists(path) ? NULL : path_find_program(name);
	int failed = hash_program(map, name, installed ? installed : path,
				  "build it with 'make', or install the package that has it", error);

	free(below);
	free(path);
	free(installed);
	return failed;
}

/* The tree, and in a guest what it is built with. */
static int hash_tree_of_case(json_t *hashes, const json_t *plan_case, const char *architecture, bool guest, struct plan_error *error)
{
	const char *tree = plan_case_tree(plan_case);
	char hash[HASH_TEXT], reason[400] = "";
	int failed = tree ? tree_hash(architecture, tree, hash) : 0;

	if (!tree)
		return 0;
	error->exit_status = EXIT_ENVIRONMENT;
	if (failed) {
		snprintf(error->text, sizeof(error->text), "directory '%s' of case '%s' cannot be read: %s", tree,
			 json_string_value(json_object_get(plan_case, "name")), strerror(-failed));
		return failed;
	}
	if (!json_object_get(hashes, "trees"))
		json_object_set_new(hashes, "trees", json_object());
	json_object_set_new(json_object_get(hashes, "trees"), tree, json_string(hash));
	if (!guest || json_object_get(hashes, "toolchain"))
		return 0;
	failed = toolchain_identity(architecture, hash, reason, sizeof(reason));
	if (failed)
		snprintf(error->text, sizeof(error->text), "case '%s': %s", json_string_value(json_object_get(plan_case, "name")), reason);
	else
		json_object_set_new(hashes, "toolchain", json_string(hash));
	return failed;
}

int plan_hash_programs(json_t *plan, struct plan_error *error)
{
	const char *architecture = json_string_value(json_object_get(plan, "architecture"));
	const char *lane = json_string_value(json_object_get(plan, "lane"));
	json_t *hashes = json_pack("{s:{}, s:{}}", "workloads", "helpers"), *entry, *helper;
	size_t index, inner;
	int failed = 0;

	json_object_set_new(plan, "hashes", hashes);
	json_array_foreach(json_object_get(plan, "cases"), index, entry) {
		const char *name = json_string_value(json_object_get(entry, "workload"));
		char *below = text_format("workloads/%s", name);

		if (!failed)
			failed = hash_one(json_object_get(hashes, "workloads"), name, architecture, below, error);
		free(below);
		if (!failed)
			failed = hash_tree_of_case(hashes, entry, architecture, strcmp(lane, "host") != 0, error);
		json_array_foreach(json_object_get(json_object_get(entry, "describe"), "helpers"), inner, helper) {
			if (!failed)
				failed = hash_helper(json_object_get(hashes, "helpers"), json_string_value(helper), architecture, error);
		}
	}
	if (!failed && strcmp(lane, "host"))
		failed = hash_one(hashes, "init", architecture, "guest/init", error);
	if (!failed && !strcmp(lane, "exact"))
		failed = hash_one(hashes, "plugin", host_architecture(), "exact/plugin.so", error);
	return failed;
}
