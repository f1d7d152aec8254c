// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/files.h"
#include "../common/interrupt.h"
#include "../common/leftovers.h"
#include "../common/message.h"
#include "../common/paths.h"
#include "../store/record.h"
#include "execute.h"

#define SESSION_PREFIX "shootdown-session-"

/* Default time limits of a case in seconds; the exact lane runs its CPUs one after the other. */
static unsigned int case_timeout(const json_t *plan, const char *lane, unsigned int cpus)
{
	long long seconds = json_integer_value(json_object_get(json_object_get(plan, "guest"), "timeout_seconds"));

	if (seconds)
		return (unsigned int)seconds;
	return !strcmp(lane, "exact") ? 600 + cpus * 20 : 300;
}

static char **string_list(const json_t *list)
{
	char **words = calloc(json_array_size(list) + 1, sizeof(*words));
	json_t *word;
	size_t index;

	if (!words)
		abort();
	json_array_foreach(list, index, word)
		words[index] = strdup(json_string_value(word));
	return words;
}

static void free_strings(char *const *words)
{
	for (char *const *word = words; word && *word; word++)
		free(*word);
	free((void *)words);
}

static json_t *case_arguments(const json_t *plan, const json_t *plan_case)
{
	const json_t *protocol = json_object_get(plan, "protocol");
	json_t *arguments = json_deep_copy(json_object_get(plan_case, "arguments")), *probe;
	size_t index;

	json_array_append_new(arguments, json_sprintf("--iterations=%" JSON_INTEGER_FORMAT,
						      json_integer_value(json_object_get(protocol, "iterations"))));
	json_array_append_new(arguments, json_sprintf("--warmup=%" JSON_INTEGER_FORMAT,
						      json_integer_value(json_object_get(protocol, "warmup"))));
	json_array_foreach(json_object_get(plan_case, "probes"), index, probe)
		json_array_append_new(arguments, json_sprintf("--probe=%s", json_string_value(probe)));
	return arguments;
}

static void fill_case(struct boot_case *boot_case, const json_t *plan, const json_t *plan_case, const char *lane)
{
	json_t *arguments = case_arguments(plan, plan_case);
	const json_t *exec = json_object_get(plan_case, "exec");

	boot_case->id = json_string_value(json_object_get(plan_case, "id"));
	boot_case->name = json_string_value(json_object_get(plan_case, "name"));
	boot_case->workload = json_string_value(json_object_get(plan_case, "workload"));
	boot_case->arguments = string_list(arguments);
	boot_case->settings = string_list(json_object_get(plan_case, "settings"));
	boot_case->helpers = string_list(json_object_get(json_object_get(plan_case, "describe"), "helpers"));
	boot_case->tree = plan_case_tree(plan_case);
	boot_case->command = exec ? string_list(json_object_get(exec, "command")) : NULL;
	boot_case->files = exec ? string_list(json_object_get(exec, "files")) : NULL;
	boot_case->timeout_seconds = case_timeout(plan, lane, (unsigned int)json_integer_value(json_object_get(plan_case, "cpus")));
	json_decref(arguments);
}

static void free_cases(struct boot_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free_strings(cases[i].arguments);
		free_strings(cases[i].settings);
		free_strings(cases[i].helpers);
		free_strings(cases[i].command);
		free_strings(cases[i].files);
	}
	free(cases);
}

static void fill_request(struct boot_request *request, const struct campaign *campaign, const json_t *boot)
{
	const json_t *guest = json_object_get(campaign->plan, "guest"), *phase = json_object_get(boot, "phase");

	memset(request, 0, sizeof(*request));
	request->architecture = json_string_value(json_object_get(campaign->plan, "architecture"));
	request->index = (unsigned int)json_integer_value(json_object_get(boot, "index"));
	request->block = (unsigned int)json_integer_value(json_object_get(boot, "block"));
	request->order = (unsigned int)json_integer_value(json_object_get(boot, "order"));
	request->phase = json_is_integer(phase) ? (int)json_integer_value(phase) : -1;
	request->phases = (unsigned int)json_integer_value(json_object_get(boot, "phases"));
	request->cpus = (unsigned int)json_integer_value(json_object_get(boot, "cpus"));
	request->nodes = (unsigned int)json_integer_value(json_object_get(guest, "nodes"));
	request->memory_bytes = (uint64_t)json_integer_value(json_object_get(guest, "memory_bytes"));
	request->boot_parameters = json_string_value(json_object_get(guest, "boot_parameters"));
	request->slice_microseconds = (unsigned int)json_integer_value(json_object_get(guest, "slice_microseconds"));
}

/* `dropped` holds what ended the attempts before this one, and goes into the record. */
static int run_boot(struct campaign *campaign, const struct lane *lane, void *session, const json_t *boot,
		    const struct kernel *kernel, const json_t *dropped, struct boot_result *result)
{
	const json_t *ids = json_object_get(boot, "cases"), *id;
	struct boot_case *cases = calloc(json_array_size(ids) + 1, sizeof(*cases));
	struct record_writer writer;
	struct boot_request request;
	struct boot_sink sink;
	size_t index;
	char *raw;
	int error, write_error;

	if (!cases)
		abort();
	fill_request(&request, campaign, boot);
	json_array_foreach(ids, index, id)
		fill_case(&cases[index], campaign->plan, plan_case_by_id(campaign->plan, json_string_value(id)), lane->name);
	raw = campaign_raw_directory(campaign, request.index);
	request.kernel = kernel;
	request.cases = cases;
	request.case_count = json_array_size(ids);
	request.raw_directory = raw;
	request.keep_console = true;
	memset(result, 0, sizeof(*result));
	result->seconds_to_workload = NAN;
	result->outcome = BOOT_HOST_ERROR;
	record_writer_start(&writer, campaign, boot);
	sink = record_writer_sink(&writer);
	error = raw ? 0 : -errno;
	if (!error && json_array_size(dropped)) {
		json_t *facts = json_pack("{s:O}", "dropped_boots", dropped);

		error = facts ? sink.facts(sink.context, facts) : -ENOMEM;
		json_decref(facts);
	}
	if (!error)
		error = lane->run(session, &request, &sink, result);
	if (error)
		snprintf(result->detail, sizeof(result->detail), "%s", strerror(-error));
	write_error = record_writer_finish(&writer, result);
	free_cases(cases, request.case_count);
	free(raw);
	return error ? error : write_error;
}

static void describe_boot(const struct campaign *campaign, const json_t *boot, char *text, size_t text_size)
{
	const json_t *kernel = plan_kernel_by_id(campaign->plan, json_string_value(json_object_get(boot, "kernel")));
	const json_t *cases = json_object_get(boot, "cases");
	const json_t *only = json_array_size(cases) == 1
		? plan_case_by_id(campaign->plan, json_string_value(json_array_get(cases, 0))) : NULL;

	snprintf(text, text_size, "block %d, %s, %d CPUs%s%s", (int)json_integer_value(json_object_get(boot, "block")),
		 json_string_value(json_object_get(kernel, "label")), (int)json_integer_value(json_object_get(boot, "cpus")),
		 only ? ", " : "", only ? json_string_value(json_object_get(only, "name")) : "");
}

/* The console of a dropped boot stands beside that of its successor. */
static int keep_dropped_console(struct campaign *campaign, const json_t *boot, size_t number)
{
	char *raw = campaign_raw_directory(campaign, (unsigned int)json_integer_value(json_object_get(boot, "index")));
	char *from = text_format("%s/console.log", raw ? raw : ""), *to = text_format("%s/console-dropped-%zu.log", raw ? raw : "", number);
	int error = raw && !rename(from, to) ? 0 : -errno;

	free(to);
	free(from);
	free(raw);
	return error;
}

/*
 * A boot that ended of what the emulator is known to do by itself is dropped
 * and repeated: the one cause outside the kernel for which a boot may be. What
 * it ended of stays in campaign.log and in the record. An end that comes
 * back each time is the kernel's.
 */
static int run_boot_until_told(struct campaign *campaign, const struct lane *lane, void *session, const json_t *boot,
			       const struct kernel *kernel, const char *what, struct boot_result *result, unsigned int *repeated)
{
	json_t *dropped = json_array();
	int error;

	if (!dropped)
		return -ENOMEM;
	for (;;) {
		error = run_boot(campaign, lane, session, boot, kernel, dropped, result);
		if (error || !result->emulator_suspect || json_array_size(dropped) == BOOT_REPEATS || interrupted)
			break;
		campaign_log(campaign, "%s: dropped and repeated, the emulator's doing: %s (%.1f s)", what, result->detail, result->seconds);
		note("%s: the emulator ran a breakpoint that the kernel had taken out; the boot is repeated", what);
		json_array_append_new(dropped, json_string(result->detail));
		(*repeated)++;
		error = keep_dropped_console(campaign, boot, json_array_size(dropped));
		if (error)
			break;
	}
	json_decref(dropped);
	return error;
}

static int after_boot(struct campaign *campaign, const char *what, const struct boot_result *result, int error,
		      struct execute_summary *summary)
{
	campaign_log(campaign, "%s: %s%s%s (%.1f s)", what, boot_outcome_name(result->outcome), *result->detail ? ": " : "",
		     result->detail, result->seconds);
	if (result->outcome == BOOT_INTERRUPTED || interrupted) {
		snprintf(summary->stop, sizeof(summary->stop), "interrupted");
		return -EINTR;
	}
	if (error || result->outcome == BOOT_HOST_ERROR) {
		snprintf(summary->stop, sizeof(summary->stop), "%.200s: %.300s", what, error ? strerror(-error) : result->detail);
		return error ? error : -EIO;
	}
	summary->ran++;
	if (result->outcome != BOOT_OK && result->outcome != BOOT_UNSUPPORTED) {
		summary->failed++;
		note("%s: %s: %s", what, boot_outcome_name(result->outcome), result->detail);
	}
	return 0;
}

/* What a campaign is run with, beside the campaign itself. */
struct execution {
	const struct lane *lane;
	void *session;
	const struct kernel *kernels;
	size_t kernel_count;
	bool *now;		/* of each kernel: the lane can run it as things stand */
	int most;
	struct execute_summary *summary;
};

static int execute_boot(struct campaign *campaign, const struct execution *execution, const json_t *boot, size_t index)
{
	struct boot_result result;
	char what[512];
	int error;

	describe_boot(campaign, boot, what, sizeof(what));
	progress_step((unsigned int)index, what);
	error = run_boot_until_told(campaign, execution->lane, execution->session, boot,
				    plan_kernel(campaign->plan, boot, execution->kernels, execution->kernel_count), what, &result,
				    &execution->summary->repeated);
	return after_boot(campaign, what, &result, error, execution->summary);
}

static bool must_wait(const struct campaign *campaign, const struct execution *execution, const json_t *boot)
{
	const struct kernel *kernel = plan_kernel(campaign->plan, boot, execution->kernels, execution->kernel_count);

	if (execution->most >= 0 && execution->summary->ran >= (unsigned int)execution->most)
		return true;
	return kernel && !execution->now[kernel - execution->kernels];
}

/*
 * In the order of the plan. Where another kernel must be booted first, the
 * boots of this one go ahead of the others of their block and no further: the
 * boots of a block stay next to each other.
 */
static int execute_boots(struct campaign *campaign, const struct execution *execution)
{
	const json_t *boots = json_object_get(campaign->plan, "boots"), *waits = NULL;
	json_t *boot;
	size_t index;
	int error = 0;

	execution->summary->boots = (unsigned int)json_array_size(boots);
	progress_start("boot", execution->summary->boots);
	json_array_foreach(boots, index, boot) {
		if (campaign_boot_done(campaign, boot)) {
			execution->summary->skipped++;
			continue;
		}
		if (waits && (execution->most >= 0 || !json_equal(json_object_get(waits, "block"), json_object_get(boot, "block"))))
			continue;
		if (must_wait(campaign, execution, boot)) {
			waits = waits ? waits : boot;
			continue;
		}
		error = execute_boot(campaign, execution, boot, index);
		if (error)
			break;
	}
	progress_end();
	execution->summary->next = waits;
	return error ? error : waits ? -EAGAIN : 0;
}

static int find_runnable(const struct execution *execution)
{
	struct execute_summary *summary = execution->summary;

	for (size_t i = 0; i < execution->kernel_count; i++)
		execution->now[i] = true;
	if (!execution->lane->runs_now)
		return 0;
	return execution->lane->runs_now(execution->session, execution->kernels, execution->kernel_count, execution->now, summary->stop,
					 sizeof(summary->stop));
}

/*
 * A name that nobody had before: who clears away after a killed runner must
 * not hit the one that resumed its campaign.
 */
static int make_session_directory(const struct campaign *campaign, struct leftovers *leftovers, char **directory)
{
	char *whole = realpath(campaign->directory, NULL), **names = path_names(campaign->directory, "");

	*directory = text_format("%s/" SESSION_PREFIX "XXXXXX", whole ? whole : campaign->directory);
	free(whole);
	/* We hold the campaign's lock: those that are there are of the dead. */
	for (char **name = names; *name; name++) {
		char *path = text_format("%s/%s", campaign->directory, *name);

		if (!strncmp(*name, SESSION_PREFIX, strlen(SESSION_PREFIX)))
			remove_tree(path);
		free(path);
	}
	names_free(names);
	if (!mkdtemp(*directory))
		return -errno;
	(void)leftovers_note(leftovers, LEFTOVER_TREE, *directory, NULL);
	return 0;
}

int campaign_execute(struct campaign *campaign, const struct lane *lane, const struct kernel *kernels, size_t kernel_count,
		     int most, struct execute_summary *summary)
{
	struct execution execution = {
		.lane = lane, .kernels = kernels, .kernel_count = kernel_count, .now = calloc(kernel_count + 1, sizeof(bool)), .most = most,
		.summary = summary,
	};
	const char *architecture = json_string_value(json_object_get(campaign->plan, "architecture"));
	struct leftovers leftovers = { 0 };
	char *directory;
	int error;

	memset(summary, 0, sizeof(*summary));
	error = make_session_directory(campaign, &leftovers, &directory);
	if (error || !execution.now)
		snprintf(summary->stop, sizeof(summary->stop), "%.400s: %s", directory, strerror(error ? -error : ENOMEM));
	else
		error = lane->prepare(directory, architecture, &execution.session, summary->stop, sizeof(summary->stop));
	if (!error)
		error = execution.now ? find_runnable(&execution) : -ENOMEM;
	if (!error)
		error = execute_boots(campaign, &execution);
	if (execution.session)
		lane->cleanup(execution.session);
	if (!remove_tree(directory))
		leftovers_end(&leftovers);
	free(directory);
	free(execution.now);
	return error;
}
