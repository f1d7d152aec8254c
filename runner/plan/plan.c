// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <numa.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/memory.h"
#include "../common/message.h"
#include "../common/nearest.h"
#include "../common/units.h"
#include "../common/version.h"
#include "cases.h"
#include "order.h"
#include "plan.h"

static int fail(struct plan_error *error, int exit_status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	error->exit_status = exit_status;
	return exit_status == EXIT_USAGE ? -EINVAL : -ENOSPC;
}

static long long lane_number(const struct plan_request *request, const char *key, long long otherwise)
{
	const json_t *value = json_object_get(suite_lane(request->suite, request->lane->name), key);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* The lane's own value, else the protocol's, else the default. */
static long long protocol_number(const struct plan_request *request, const char *key, long long otherwise)
{
	const json_t *value = json_object_get(json_object_get(request->suite->json, "protocol"), key);

	return lane_number(request, key, json_is_integer(value) ? json_integer_value(value) : otherwise);
}

unsigned int plan_default_cpus(const char *lane)
{
	cpu_set_t allowed;
	int count = sched_getaffinity(0, sizeof(allowed), &allowed) ? 1 : CPU_COUNT(&allowed);

	/* The exact lane runs one CPU at a time, so its number is free; 4 shows every relation of issue and answer. */
	return !strcmp(lane, "exact") ? 4 : (unsigned int)count;
}

int plan_parse_cpus(const char *text, unsigned int *counts, size_t *count, char *reason, size_t reason_size)
{
	char *copy = strdup(text), *rest = copy, *word;
	int error = 0;

	*count = 0;
	while (!error && (word = strsep(&rest, ","))) {
		uint64_t number;

		if (parse_count(word, &number) || number < 1 || number > 4096 || *count >= CPU_COUNTS_MAXIMUM) {
			snprintf(reason, reason_size, "'%s' is not a number of CPUs (or a list like 2,4,8)", text);
			error = -EINVAL;
		} else {
			counts[(*count)++] = (unsigned int)number;
		}
	}
	free(copy);
	return error;
}

static int check_cpus(const struct plan_request *request, const unsigned int *counts, size_t count, struct plan_error *error)
{
	unsigned int most = request->lane->cpus_maximum;

	for (size_t i = 0; i < count; i++) {
		if (counts[i] < 1 || counts[i] > 4096)
			return fail(error, EXIT_USAGE, "suite: lanes.%s.cpus: %u is not a number of CPUs", request->lane->name, counts[i]);
		if (most && counts[i] > most)
			return fail(error, EXIT_USAGE, "%u CPUs: a guest of lane %s has %u at most, for want of an x2APIC; give fewer", counts[i], request->lane->name, most);
	}
	return 0;
}

/* --cpus, else the suite's (a number or a list), else the lane's default. */
static int choose_cpus(const struct plan_request *request, unsigned int *counts, size_t *count, struct plan_error *error)
{
	const json_t *value = json_object_get(suite_lane(request->suite, request->lane->name), "cpus");
	const json_t *item;
	size_t index;

	*count = 1;
	counts[0] = plan_default_cpus(request->lane->name);
	if (request->cpus_count) {
		memcpy(counts, request->cpus, sizeof(request->cpus));
		*count = request->cpus_count;
	} else if (json_is_integer(value)) {
		counts[0] = (unsigned int)json_integer_value(value);
	} else if (json_is_array(value) && json_array_size(value) && json_array_size(value) <= CPU_COUNTS_MAXIMUM) {
		*count = json_array_size(value);
		json_array_foreach(value, index, item)
			counts[index] = (unsigned int)json_integer_value(item);
	} else if (value) {
		return fail(error, EXIT_USAGE, "suite: lanes.%s.cpus must be a number or a list of numbers", request->lane->name);
	}
	return check_cpus(request, counts, *count, error);
}

/* --memory, else the suite's, else 0. A number without a unit is bytes, and so below what a guest needs. */
static int asked_memory(const struct plan_request *request, uint64_t *bytes, struct plan_error *error)
{
	const json_t *value = json_object_get(suite_lane(request->suite, request->lane->name), "memory");

	*bytes = request->memory_bytes;
	if (*bytes || !value)
		return 0;
	if (!json_is_string(value) || parse_size(json_string_value(value), bytes) || *bytes < GUEST_MEMORY_MINIMUM)
		return fail(error, EXIT_USAGE, "suite: lanes.%s.memory is no memory of a guest; give 64 MiB or more, with the unit",
			    request->lane->name);
	return 0;
}

static int choose_memory(const struct plan_request *request, unsigned int cpus, uint64_t *bytes, struct plan_error *error)
{
	uint64_t least = (512ULL << 20) + cpus * (8ULL << 20);
	char wanted[32], have[32];
	int failed;

	if (!strcmp(request->lane->name, "host")) {
		*bytes = available_memory();
		return 0;
	}
	failed = asked_memory(request, bytes, error);
	if (failed)
		return failed;
	if (!*bytes)
		*bytes = least > 1ULL << 30 || strcmp(request->lane->name, "vm") ? least : 1ULL << 30;
	if (*bytes + (300ULL << 20) > available_memory())
		return fail(error, EXIT_ENVIRONMENT, "a guest of %s does not fit: %s is free; use --memory, or free some",
			    format_size(*bytes, wanted, sizeof(wanted)), format_size(available_memory(), have, sizeof(have)));
	return 0;
}

/* Fewer phases on large guests: phases-above: {16: 4, 64: 2} */
static unsigned int phases_at(const struct plan_request *request, unsigned int cpus)
{
	const json_t *map = json_object_get(suite_lane(request->suite, request->lane->name), "phases-above");
	unsigned int phases = request->phases ? request->phases : (unsigned int)protocol_number(request, "phases", 8);
	unsigned int best = 0;
	const char *key;
	json_t *value;

	if (request->phases)
		return phases;
	json_object_foreach((json_t *)map, key, value) {
		uint64_t threshold;

		if (parse_count(key, &threshold) || cpus <= threshold || threshold < best)
			continue;
		best = (unsigned int)threshold;
		phases = (unsigned int)json_integer_value(value);
	}
	return phases ? phases : 1;
}

static json_t *boot_entry(size_t index, unsigned int block, size_t order, const char *kernel, int phase, unsigned int phases,
			  unsigned int cpus, json_t *cases)
{
	json_t *boot = json_pack("{s:i, s:i, s:i, s:s, s:i, s:o}", "index", (int)index, "block", (int)block, "order", (int)order,
				 "kernel", kernel, "cpus", (int)cpus, "cases", cases);

	json_object_set_new(boot, "phase", phase < 0 ? json_null() : json_integer(phase));
	if (phase >= 0)
		json_object_set_new(boot, "phases", json_integer(phases));
	return boot;
}

static json_t *case_ids(const json_t *cases, unsigned int cpus)
{
	json_t *ids = json_array(), *entry;
	size_t index;

	json_array_foreach(cases, index, entry)
		if (json_integer_value(json_object_get(entry, "cpus")) == cpus)
			json_array_append(ids, json_object_get(entry, "id"));
	return ids;
}

/* Appends the boots of one block at one number of CPUs; in the exact lane each case is a boot of its own. */
static void add_block(const struct plan_request *request, json_t *plan, unsigned int block, unsigned int cpus, bool exact,
		      unsigned int phases)
{
	json_t *boots = json_object_get(plan, "boots"), *kernels = json_object_get(plan, "kernels");
	json_t *ids = case_ids(json_object_get(plan, "cases"), cpus), *id;
	size_t *order = calloc(request->kernel_count, sizeof(*order)), index;

	if (!order)
		abort();
	block_order(request->seed, block, request->kernel_count, order);
	for (size_t i = 0; i < request->kernel_count && json_array_size(ids); i++) {
		const char *kernel = json_string_value(json_object_get(json_array_get(kernels, order[i]), "id"));

		if (!exact)
			json_array_append_new(boots, boot_entry(json_array_size(boots), block, i, kernel, -1, 0, cpus,
								json_copy(ids)));
		else
			json_array_foreach(ids, index, id)
				json_array_append_new(boots, boot_entry(json_array_size(boots), block, i, kernel, (int)block,
									phases, cpus, json_pack("[O]", id)));
	}
	json_decref(ids);
	free(order);
}

static void add_boots(const struct plan_request *request, json_t *plan, const unsigned int *cpus, size_t cpus_count)
{
	bool exact = !strcmp(request->lane->name, "exact");
	unsigned int blocks = (unsigned int)json_integer_value(
		json_object_get(json_object_get(plan, "protocol"), exact ? "phases" : "blocks"));

	for (unsigned int block = 0; block < blocks; block++)
		for (size_t i = 0; i < cpus_count; i++) {
			unsigned int phases = exact ? phases_at(request, cpus[i]) : 0;

			if (!exact || block < phases)
				add_block(request, plan, block, cpus[i], exact, phases);
		}
}

/* The same kernel given twice (an A/A campaign) is two kernels of the plan: the second gets a suffix. */
static json_t *kernel_entries(const struct plan_request *request)
{
	json_t *list = json_array();

	for (size_t i = 0; i < request->kernel_count; i++) {
		const struct kernel *kernel = &request->kernels[i];
		unsigned int twin = 1;
		char id[64], label[512];
		json_t *entry;

		for (size_t j = 0; j < i; j++)
			twin += !strcmp(request->kernels[j].id, kernel->id);
		snprintf(id, sizeof(id), twin > 1 ? "%s-%u" : "%s", kernel->id, twin);
		snprintf(label, sizeof(label), twin > 1 ? "%s (again)" : "%s", kernel->label);
		entry = json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s?, s:s?}", "id", id, "identity", kernel->id, "label", label,
				  "spec", kernel->spec ? kernel->spec : kernel->label, "series", kernel->series, "variant",
				  kernel->variant, "release", kernel->release);
		json_array_append_new(list, entry);
	}
	return list;
}

static int choose_baseline(const struct plan_request *request, const json_t *series, size_t *index, struct plan_error *error)
{
	const char *variant = json_string_value(json_object_get(series, "baseline"));
	const char *labels[request->kernel_count + 1];
	char hint[96];

	*index = 0;
	for (size_t i = 0; i < request->kernel_count; i++) {
		const struct kernel *kernel = &request->kernels[i];

		labels[i] = kernel->label;
		if (request->baseline && (!strcmp(request->baseline, kernel->label) || !strcmp(request->baseline, kernel->id))) {
			*index = i;
			return 0;
		}
		if (!request->baseline && variant && kernel->variant && !strcmp(kernel->variant, variant)) {
			*index = i;
			return 0;
		}
	}
	labels[request->kernel_count] = NULL;
	if (!request->baseline)
		return 0;
	return fail(error, EXIT_USAGE, "the baseline '%s' is none of the kernels of this run%s", request->baseline,
		    nearest_hint(request->baseline, labels, hint, sizeof(hint)));
}

/* The series that the kernels belong to: its claims and its baseline go with the plan. */
static json_t *find_series(const struct plan_request *request)
{
	struct kernel_error ignored;
	json_t *all = NULL, *found = NULL;

	for (size_t i = 0; i < request->kernel_count && !found; i++) {
		if (!request->kernels[i].series)
			continue;
		if (!all && kernel_series_load(&all, &ignored))
			break;
		found = json_incref(json_object_get(all, request->kernels[i].series));
	}
	json_decref(all);
	return found;
}

static void add_protocol(const struct plan_request *request, json_t *plan, const unsigned int *cpus, size_t cpus_count)
{
	bool exact = !strcmp(request->lane->name, "exact");
	const json_t *margin = json_object_get(request->suite->json, "margin-percent");
	unsigned int phases = 1;

	for (size_t i = 0; i < cpus_count; i++)
		phases = phases_at(request, cpus[i]) > phases ? phases_at(request, cpus[i]) : phases;
	json_object_set_new(plan, "protocol", json_pack("{s:I, s:I, s:I, s:i, s:f}",
		"blocks", (json_int_t)(request->blocks ? request->blocks : protocol_number(request, "blocks", 10)),
		"iterations", (json_int_t)(request->iterations ? request->iterations
				: exact ? lane_number(request, "iterations", 1) : protocol_number(request, "iterations", 5)),
		"warmup", (json_int_t)(request->warmup >= 0 ? request->warmup
				: exact ? lane_number(request, "warmup", 0) : protocol_number(request, "warmup", 1)),
		"phases", (int)phases, "margin_percent", margin ? json_number_value(margin) : 2.0));
}

static void add_provenance(const struct plan_request *request, json_t *plan)
{
	static const char *const copied[] = { "accelerator", "qemu_version", "cpu_model" };
	struct timespec now;
	struct tm utc;
	char created[32];

	clock_gettime(CLOCK_REALTIME, &now);
	strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now.tv_sec, &utc));
	json_object_set_new(plan, "schema", json_string("shootdown-plan-1"));
	json_object_set_new(plan, "created", json_string(created));
	json_object_set(plan, "command", (json_t *)request->command);
	json_object_set_new(plan, "version", json_string(shootdown_version));
	json_object_set(plan, "suite", request->suite->json);
	json_object_set_new(plan, "suite_hash", json_string(request->suite->hash));
	json_object_set_new(plan, "lane", json_string(request->lane->name));
	json_object_set_new(plan, "architecture", json_string(request->architecture));
	json_object_set_new(plan, "seed", json_integer((json_int_t)request->seed));
	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++) {
		json_t *fact = json_object_get(request->lane_facts, copied[i]);

		json_object_set(plan, copied[i], fact ? fact : json_null());
	}
}

static unsigned int host_nodes(void)
{
	int nodes = numa_available() < 0 ? 1 : numa_num_configured_nodes();

	return nodes > 0 ? (unsigned int)nodes : 1;
}

static int add_guest(const struct plan_request *request, json_t *plan, uint64_t memory)
{
	const json_t *lane = suite_lane(request->suite, request->lane->name);
	const char *parameters = json_string_value(json_object_get(lane, "boot-parameters"));
	uint64_t timeout = 0;
	bool host = !strcmp(request->lane->name, "host");
	unsigned int nodes = host ? host_nodes() : request->nodes ? request->nodes : (unsigned int)lane_number(request, "nodes", 1);
	const json_t *given = json_object_get(lane, "timeout");

	if (given && (!json_is_string(given) || parse_duration(json_string_value(given), &timeout)))
		return -EINVAL;
	if (request->timeout_nanoseconds)
		timeout = request->timeout_nanoseconds;
	json_object_set_new(plan, "guest", json_pack("{s:i, s:I, s:s, s:I, s:I}", "nodes", (int)nodes,
		"memory_bytes", (json_int_t)memory, "boot_parameters", parameters ? parameters : "",
		"slice_microseconds", (json_int_t)(request->slice_microseconds >= 0 ? request->slice_microseconds
						   : lane_number(request, "slice-microseconds", 0)),
		"timeout_seconds", (json_int_t)(timeout / 1000000000ULL)));
	return 0;
}

int plan_make(const struct plan_request *request, json_t **result, struct plan_error *error)
{
	unsigned int cpus[CPU_COUNTS_MAXIMUM], largest = 1;
	size_t cpus_count, baseline;
	uint64_t memory;
	json_t *plan, *series;
	int failed = choose_cpus(request, cpus, &cpus_count, error);

	for (size_t i = 0; !failed && i < cpus_count; i++)
		largest = cpus[i] > largest ? cpus[i] : largest;
	if (!failed)
		failed = choose_memory(request, largest, &memory, error);
	if (failed)
		return failed;
	plan = json_object();
	series = find_series(request);
	add_provenance(request, plan);
	add_protocol(request, plan, cpus, cpus_count);
	if (add_guest(request, plan, memory))
		failed = fail(error, EXIT_USAGE, "suite: lanes.%s.timeout must be a duration like 10min", request->lane->name);
	json_object_set_new(plan, "series", series ? series : json_null());
	json_object_set_new(plan, "kernels", kernel_entries(request));
	json_object_set_new(plan, "boots", json_array());
	if (!failed)
		failed = choose_baseline(request, series, &baseline, error);
	if (!failed) {
		json_t *entry = json_array_get(json_object_get(plan, "kernels"), baseline);

		json_object_set(plan, "baseline", json_object_get(entry, "id"));
		failed = plan_add_cases(request, plan, cpus, cpus_count, error);
	}
	if (failed) {
		json_decref(plan);
		return failed;
	}
	add_boots(request, plan, cpus, cpus_count);
	*result = plan;
	return 0;
}

void plan_identify(json_t *plan)
{
	/* When and by which words a plan was made is provenance, not identity. */
	static const char *const left_out[] = { "id", "created", "command", "version" };
	json_t *copy = json_copy(plan);
	char hash[HASH_TEXT];

	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
		json_object_del(copy, left_out[i]);
	hash_json(copy, hash);
	json_decref(copy);
	json_object_set_new(plan, "id", json_string(hash));
}
