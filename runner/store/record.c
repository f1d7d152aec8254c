// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../common/files.h"
#include "../common/json-text.h"
#include "record.h"

static json_t *program_hashes(const json_t *plan, const json_t *plan_case)
{
	const json_t *all = json_object_get(plan, "hashes");
	json_t *hashes = json_object(), *helper;
	json_t *workload = json_object_get(json_object_get(all, "workloads"), text_of(plan_case, "workload"));
	size_t index;

	if (workload)
		json_object_set(hashes, "workload", workload);
	json_object_set_new(hashes, "helpers", json_object());
	json_array_foreach(json_object_get(json_object_get(plan_case, "describe"), "helpers"), index, helper)
		json_object_set(json_object_get(hashes, "helpers"), json_string_value(helper),
				json_object_get(json_object_get(all, "helpers"), json_string_value(helper)));
	if (json_object_get(all, "init"))
		json_object_set(hashes, "init", json_object_get(all, "init"));
	if (json_object_get(all, "plugin"))
		json_object_set(hashes, "plugin", json_object_get(all, "plugin"));
	if (plan_case_tree(plan_case)) {
		json_object_set(hashes, "tree", json_object_get(json_object_get(all, "trees"), plan_case_tree(plan_case)));
		if (json_object_get(all, "toolchain"))
			json_object_set(hashes, "toolchain", json_object_get(all, "toolchain"));
	}
	return hashes;
}

static json_t *new_record(const struct campaign *campaign, const json_t *boot, const json_t *plan_case)
{
	static const char *const from_plan[] = { "lane", "accelerator", "qemu_version", "cpu_model" };
	static const char *const from_boot[] = { "block", "order", "phase", "cpus", "kernel" };
	const json_t *kernel = plan_kernel_by_id(campaign->plan, text_of(boot, "kernel"));
	json_t *record = json_pack("{s:s, s:b, s:s, s:O, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:[], s:{}}",
		"schema", "shootdown-record-1", "complete", 0, "plan", text_of(campaign->plan, "id"),
		"boot", json_object_get(boot, "index"), "label", text_of(kernel, "label"), "case", text_of(plan_case, "id"),
		"case_name", text_of(plan_case, "name"), "workload", text_of(plan_case, "workload"), "outcome", "lost",
		"detail", "the case has not ended", "hashes", program_hashes(campaign->plan, plan_case), "iterations", "missing");
	time_t now = time(NULL);
	struct tm utc;
	char started[32];

	strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	json_object_set_new(record, "started", json_string(started));
	for (size_t i = 0; i < sizeof(from_plan) / sizeof(from_plan[0]); i++)
		json_object_set(record, from_plan[i], json_object_get(campaign->plan, from_plan[i]));
	for (size_t i = 0; i < sizeof(from_boot) / sizeof(from_boot[0]); i++)
		json_object_set(record, from_boot[i], json_object_get(boot, from_boot[i]));
	json_object_set(record, "machine", json_object_get(campaign->plan, "machine"));
	return record;
}

void record_writer_start(struct record_writer *writer, struct campaign *campaign, const json_t *boot)
{
	const json_t *ids = json_object_get(boot, "cases"), *id;
	size_t index;

	memset(writer, 0, sizeof(*writer));
	writer->campaign = campaign;
	writer->boot = boot;
	writer->count = json_array_size(ids);
	writer->records = calloc(writer->count + 1, sizeof(*writer->records));
	if (!writer->records)
		abort();
	json_array_foreach(ids, index, id)
		writer->records[index] = new_record(campaign, boot, plan_case_by_id(campaign->plan, json_string_value(id)));
}

static int write_record(struct record_writer *writer, size_t index)
{
	const json_t *plan_case = plan_case_by_id(writer->campaign->plan, text_of(writer->records[index], "case"));
	char *path = campaign_record_path(writer->campaign, writer->boot, plan_case);
	int error;

	if (writer->facts)
		json_object_set(writer->records[index], "facts", writer->facts);
	error = write_json(path, writer->records[index]);
	free(path);
	if (error && !writer->error)
		writer->error = error;
	return error;
}

static int on_facts(void *context, const json_t *facts)
{
	struct record_writer *writer = context;

	/* The lane may tell more than once (host side first, then the guest): later ones add. */
	if (!writer->facts)
		writer->facts = json_object();
	return json_object_update(writer->facts, (json_t *)facts) ? -ENOMEM : 0;
}

static int on_case_start(void *context, size_t index)
{
	struct record_writer *writer = context;

	return index < writer->count ? write_record(writer, index) : -ERANGE;
}

static void take_iteration(json_t *record, const json_t *frame)
{
	json_t *iteration = json_copy((json_t *)frame);

	json_object_del(iteration, "frame");
	json_array_append_new(json_object_get(record, "iterations"), iteration);
}

static int on_frame(void *context, size_t index, const json_t *frame)
{
	struct record_writer *writer = context;
	const char *kind = text_of(frame, "frame");
	json_t *record;

	if (index >= writer->count)
		return -ERANGE;
	record = writer->records[index];
	if (!strcmp(kind, "iteration")) {
		take_iteration(record, frame);
	} else if (!strcmp(kind, "exact")) {
		json_t *exact = json_copy((json_t *)frame);

		json_object_del(exact, "frame");
		json_object_set_new(record, "exact", exact);
	} else if (!strcmp(kind, "start") || !strcmp(kind, "end")) {
		json_object_set(record, kind, (json_t *)frame);
	}
	/* A frame of another kind is none of the contract: it must not take the place of a part of the record. */
	return write_record(writer, index);
}

static int on_case_end(void *context, size_t index, enum boot_outcome outcome, const char *detail)
{
	struct record_writer *writer = context;

	if (index >= writer->count)
		return -ERANGE;
	json_object_set_new(writer->records[index], "outcome", json_string(boot_outcome_name(outcome)));
	json_object_set_new(writer->records[index], "detail", json_string(detail && *detail ? detail : ""));
	if (outcome != BOOT_INTERRUPTED && outcome != BOOT_HOST_ERROR)
		json_object_set_new(writer->records[index], "complete", json_true());
	return write_record(writer, index);
}

struct boot_sink record_writer_sink(struct record_writer *writer)
{
	return (struct boot_sink){
		.context = writer, .facts = on_facts, .case_start = on_case_start, .frame = on_frame, .case_end = on_case_end,
	};
}

/* The last word on a case: the boot's own outcome where the case had none, or where the whole boot is blemished. */
static void settle(json_t *record, const struct boot_result *result)
{
	bool redo = result->outcome == BOOT_INTERRUPTED || result->outcome == BOOT_HOST_ERROR;
	bool open = !json_is_true(json_object_get(record, "complete"));
	const char *outcome = boot_outcome_name(result->outcome == BOOT_OK ? BOOT_LOST : result->outcome);

	json_object_set_new(record, "seconds", json_real(result->seconds));
	if (!isnan(result->seconds_to_workload))
		json_object_set_new(record, "seconds_to_workload", json_real(result->seconds_to_workload));
	if (open) {
		json_object_set_new(record, "outcome", json_string(outcome));
		json_object_set_new(record, "detail", json_string(result->detail));
		if (!redo)
			json_object_set_new(record, "complete", json_true());
	} else if (result->outcome == BOOT_WARN && !strcmp(text_of(record, "outcome"), "ok")) {
		json_object_set_new(record, "outcome", json_string(outcome));
		json_object_set_new(record, "detail", json_string(result->detail));
	}
}

int record_writer_finish(struct record_writer *writer, const struct boot_result *result)
{
	for (size_t i = 0; i < writer->count; i++) {
		settle(writer->records[i], result);
		write_record(writer, i);
		json_decref(writer->records[i]);
	}
	free(writer->records);
	json_decref(writer->facts);
	return writer->error;
}
