// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Resuming a campaign. The input is, parted by NUL bytes: plan.json, a record
 * that stands there already, and what the workload says in each boot that is
 * run, a frame a line.
 */
#include <math.h>

#include "fuzz.h"
#include "runner/common/files.h"
#include "runner/common/message.h"
#include "runner/plan/execute.h"
#include "runner/run-words.h"
#include "runner/store/campaign.h"

#define BOOTS 4

static char *frames;
static char directory[64];

static int prepare(const char *folder, const char *architecture, void **session, char *reason, size_t reason_size)
{
	(void)reason;
	(void)reason_size;
	fuzz_assert(file_exists(folder) && architecture);
	*session = strdup("session");
	return 0;
}

static void say(const struct boot_sink *sink, size_t index, const char *line, size_t size)
{
	json_t *frame = json_loadb(line, size, 0, NULL);

	if (json_is_object(frame))
		fuzz_assert(!sink->frame(sink->context, index, frame));
	json_decref(frame);
}

static int run(void *session, const struct boot_request *request, const struct boot_sink *sink, struct boot_result *result)
{
	json_t *facts = json_pack("{s:s}", "release", "6.12");

	(void)session;
	fuzz_assert(request->raw_directory && request->case_count);
	fuzz_assert(!sink->facts(sink->context, facts));
	for (size_t index = 0; index < request->case_count; index++) {
		fuzz_assert(request->cases[index].name && request->cases[index].arguments && request->cases[index].timeout_seconds);
		fuzz_assert(!sink->case_start(sink->context, index));
		for (const char *line = frames, *end; *line; line = *end ? end + 1 : end) {
			end = line + strcspn(line, "\n");
			say(sink, index, line, (size_t)(end - line));
		}
		fuzz_assert(!sink->case_end(sink->context, index, BOOT_OK, ""));
	}
	json_decref(facts);
	*result = (struct boot_result){ .outcome = BOOT_OK, .seconds_to_workload = NAN };
	return 0;
}

static void cleanup(void *session)
{
	free(session);
}

static const struct lane lane = { .name = "vm", .prepare = prepare, .run = run, .cleanup = cleanup };

static void check_record(const struct campaign *campaign, const json_t *boot)
{
	const json_t *id = json_array_get(json_object_get(boot, "cases"), 0);
	char *path = campaign_record_path(campaign, boot, plan_case_by_id(campaign->plan, json_string_value(id))), reason[256];
	json_t *record = NULL;

	fuzz_assert(!strncmp(path, directory, strlen(directory)) && !strstr(path, ".."));
	fuzz_assert(!read_json(path, &record, reason, sizeof(reason)));
	fuzz_assert(json_is_true(json_object_get(record, "complete")));
	json_decref(record);
	free(path);
}

static void recall(const json_t *plan)
{
	struct run_words words = { 0 };
	const char *const **const lists[] = { &words.specs, &words.kconfig, &words.probes, &words.exec, &words.exec_files };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		*lists[i] = calloc(1, sizeof(**lists[i]));
	run_words_recall(json_object_get(plan, "command"), &words);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		free((void *)*lists[i]);
}

static void resume(struct campaign *campaign)
{
	json_t *boots = json_object_get(campaign->plan, "boots");
	struct execute_summary summary;

	while (json_array_size(boots) > BOOTS)
		json_array_remove(boots, BOOTS);
	recall(campaign->plan);
	fuzz_assert(!campaign_execute(campaign, &lane, NULL, 0, EXECUTE_ALL, &summary));
	fuzz_assert(summary.ran + summary.skipped == summary.boots);
	for (size_t i = 0; i < json_array_size(boots); i++) {
		fuzz_assert(campaign_boot_done(campaign, json_array_get(boots, i)));
		if (json_array_size(json_object_get(json_array_get(boots, i), "cases")))
			check_record(campaign, json_array_get(boots, i));
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	snprintf(directory, sizeof(directory), "%s/fuzz-campaign-%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid());
	/* Progress is for people. */
	fuzz_assert(freopen("/dev/null", "w", stdout));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts parts = { data, size };
	char *plan = fuzz_part(&parts), *record = fuzz_part(&parts), path[128], reason[512] = "";
	struct campaign campaign;

	frames = fuzz_part(&parts);
	snprintf(path, sizeof(path), "%s/records", directory);
	fuzz_assert(!make_directories(path));
	snprintf(path, sizeof(path), "%s/records/0000-a.json", directory);
	fuzz_assert(!write_file(path, record, strlen(record)));
	snprintf(path, sizeof(path), "%s/plan.json", directory);
	fuzz_assert(!write_file(path, plan, strlen(plan)));
	if (campaign_open(directory, &campaign, reason, sizeof(reason))) {
		fuzz_assert(*reason);
	} else {
		resume(&campaign);
		campaign_close(&campaign);
	}
	remove_tree(directory);
	free(plan);
	free(record);
	free(frames);
	return 0;
}
