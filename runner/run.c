// SPDX-License-Identifier: GPL-2.0-or-later
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clear-leftovers.h"
#include "common/files.h"
#include "common/json-text.h"
#include "common/message.h"
#include "common/paths.h"
#include "common/units.h"
#include "machine/facts.h"
#include "plan/execute.h"
#include "run-reboot.h"
#include "run-show.h"
#include "run-words.h"
#include "store/campaign.h"

#define TIMEOUT_MAXIMUM (7ULL * 24 * 3600 * 1000000000)	/* nanoseconds */

/* Everything that one campaign holds while it is made and run. */
struct session {
	const struct run_words *words;
	struct suite suite;
	const struct lane *lane;
	struct lane_facts lane_facts;
	const char *architecture;
	struct kernel *kernels;
	size_t kernel_count;
	struct plan_request request;
	json_t *command;
	json_t *plan;
	json_t *machine;
};

static int choose_lane(struct session *session)
{
	const char *name = session->words->lane;
	char hint[96];

	if (!name)
		name = json_string_value(json_object_get(session->suite.json, "default-lane"));
	if (!name)
		name = "vm";
	session->lane = lane_find(name);
	if (session->lane)
		return EXIT_DONE;
	return report(EXIT_USAGE, "there is no lane '%s'%s", name, lane_hint(name, hint, sizeof(hint)));
}

static int probe_lane(struct session *session)
{
	const char *architecture = session->words->architecture;

	if (!architecture)
		architecture = json_string_value(json_object_get(session->suite.json, "architecture"));
	session->architecture = architecture ? architecture : host_architecture();
	if (strcmp(session->architecture, "x86-64") && strcmp(session->architecture, "arm64"))
		return report(EXIT_USAGE, "there is no architecture '%s'; name x86-64 or arm64", session->architecture);
	if (!session->lane->probe(session->architecture, &session->lane_facts))
		return EXIT_DONE;
	return report(EXIT_ENVIRONMENT, "the lane '%s' cannot run here: %s", session->lane->name, session->lane_facts.reason);
}

/* A list of texts of the suite as a vector that borrows from it. */
static const char **borrow_list(const json_t *list, const char *otherwise)
{
	const char **words = calloc(json_array_size(list) + 2, sizeof(*words));
	json_t *word;
	size_t index;

	if (!words)
		abort();
	json_array_foreach(list, index, word)
		words[index] = json_string_value(word);
	if (!json_array_size(list))
		words[0] = otherwise;
	return words;
}

/* The kernels of a run; of an A/A run the first one, twice. */
static int build_kernels(struct session *session, const char *const *specs, const char *const *kconfig)
{
	const char *twice[3] = { specs[0], specs[0], NULL };

	return run_build_kernels(session->words->aa ? twice : specs, kconfig, session->architecture, session->words->dry_run,
				 &session->kernels, &session->kernel_count);
}

static int get_kernels(struct session *session)
{
	const json_t *lane = suite_lane(&session->suite, session->lane->name);
	bool host = !strcmp(session->lane->name, "host");
	const char **specs = borrow_list(host ? NULL : json_object_get(session->suite.json, "kernels"), host ? "host" : "deb:6.12");
	const char **kconfig = borrow_list(json_object_get(lane, "kconfig"), "fast");
	int status = EXIT_DONE;

	/* The kernel that was "host" is perhaps not the one that runs now, and the others need no builder to be found again. */
	if (!host || !session->words->resume ||
	    !run_recall_kernels(session->words->directory, &session->kernels, &session->kernel_count))
		status = build_kernels(session, *session->words->specs ? session->words->specs : specs,
				       *session->words->kconfig ? session->words->kconfig : kconfig);

	free(specs);
	free(kconfig);
	return status;
}

/* A number given on the command line; 0 stays "not given". */
static int number_word(const char *option, const char *text, uint64_t least, uint64_t most, long long *value)
{
	uint64_t number;

	if (!text)
		return EXIT_DONE;
	if (parse_count(text, &number) || number < least || number > most)
		return report(EXIT_USAGE, "--%s: '%s' is not a number from %llu to %llu", option, text, (unsigned long long)least,
			      (unsigned long long)most);
	*value = (long long)number;
	return EXIT_DONE;
}

/* Numbers are read first: a typing error must not cost the build of a kernel. */
static int read_numbers(struct session *session)
{
	const struct run_words *words = session->words;
	struct plan_request *request = &session->request;
	long long blocks = 0, iterations = 0, phases = 0, nodes = 0, warmup = -1, slice = -1, seed = 1;
	char reason[256];
	int status = number_word("blocks", words->blocks, 1, 1000, &blocks);

	if (!status)
		status = number_word("iterations", words->iterations, 1, 10000, &iterations);
	if (!status)
		status = number_word("warmup", words->warmup, 0, 1000, &warmup);
	if (!status)
		status = number_word("phases", words->phases, 1, 64, &phases);
	if (!status)
		status = number_word("nodes", words->nodes, 1, 64, &nodes);
	if (!status)
		status = number_word("slice", words->slice, 0, 1000000, &slice);
	if (!status)
		status = number_word("seed", words->seed, 0, INT64_MAX, &seed);
	if (!status && words->memory && (parse_size(words->memory, &request->memory_bytes) || request->memory_bytes < GUEST_MEMORY_MINIMUM))
		status = report(EXIT_USAGE, "--memory: '%s' is no memory of a guest; give 64 MiB or more, with the unit", words->memory);
	if (!status && words->timeout && (parse_duration(words->timeout, &request->timeout_nanoseconds) ||
					  request->timeout_nanoseconds < 1000000000ULL || request->timeout_nanoseconds > TIMEOUT_MAXIMUM))
		status = report(EXIT_USAGE, "--timeout: '%s' is no limit of a case; give 1s to 7d, with the unit", words->timeout);
	if (!status && words->cpus &&
	    plan_parse_cpus(words->cpus, request->cpus, &request->cpus_count, reason, sizeof(reason)))
		status = report(EXIT_USAGE, "--cpus: %s", reason);
	request->blocks = (unsigned int)blocks;
	request->iterations = (unsigned int)iterations;
	request->phases = (unsigned int)phases;
	request->nodes = (unsigned int)nodes;
	request->warmup = (int)warmup;
	request->slice_microseconds = (int)slice;
	request->seed = (uint64_t)seed;
	return status;
}

/* What no plan can mend: a kernel that cannot be booted, a pilot where nothing varies. */
static int check_lane(const struct session *session)
{
	const char *lane = session->lane->name;

	for (size_t i = 0; i < session->kernel_count; i++)
		if (strcmp(lane, "host") && session->kernels[i].label && !strcmp(session->kernels[i].label, "host"))
			return report(EXIT_USAGE, "kernel 'host' is the running one, of which lane %s has no image to boot; use --lane host, or "
				      "name another kernel with -k", lane);
	if (session->words->aa && !strcmp(lane, "exact"))
		return report(EXIT_USAGE, "--pilot: a kernel's counts in the exact lane are the same again, so that there is nothing to "
			      "estimate; run it, with more --phases where its report says so");
	return EXIT_DONE;
}

static int make_plan(struct session *session)
{
	struct plan_request *request = &session->request;
	struct plan_error error = { .exit_status = EXIT_INTERNAL };
	char hash[HASH_TEXT];

	request->suite = &session->suite;
	request->lane = session->lane;
	request->architecture = session->architecture;
	request->kernels = session->kernels;
	request->kernel_count = session->kernel_count;
	request->baseline = session->words->baseline;
	request->probes = session->words->probes;
	request->lane_facts = session->lane_facts.facts;
	request->command = session->command;
	request->exec = session->words->exec;
	request->exec_files = session->words->exec_files;
	if (plan_make(request, &session->plan, &error) || plan_hash_programs(session->plan, &error))
		return report(error.exit_status, "%s", error.text);
	session->machine = host_facts();
	machine_hash(session->machine, hash);
	json_object_set_new(session->plan, "machine", json_string(hash));
	plan_identify(session->plan);
	return EXIT_DONE;
}

static int fill_campaign(struct session *session, struct campaign *campaign)
{
	const json_t *entries = json_object_get(session->plan, "kernels");
	bool exact = !strcmp(session->lane->name, "exact");
	int error = 0;

	for (size_t i = 0; i < session->kernel_count && !error; i++)
		error = campaign_add_kernel(campaign, text_of(json_array_get(entries, i), "id"), &session->kernels[i], exact);
	if (!error && session->suite.path)
		error = campaign_add_file(campaign, session->suite.path, "suite.yaml");
	if (!error && !json_is_null(json_object_get(session->plan, "series"))) {
		static const char *const names[] = { "series.yaml", "groups.yaml" };

		for (size_t i = 0; i < 2 && !error; i++) {
			char *below = text_format("kernels/series/%s/%s", text_of(json_object_get(session->plan, "series"), "series"), names[i]);
			char *path = path_data(below);

			if (file_exists(path))
				error = campaign_add_file(campaign, path, names[i]);
			free(path);
			free(below);
		}
	}
	return error;
}

static int finish(const struct campaign *campaign, const struct execute_summary *summary, int error)
{
	if (error == -EINTR)
		return report(EXIT_ENVIRONMENT, "interrupted; what was measured is kept: shootdown run --resume -o %s goes on", campaign->directory);
	if (error)
		return report(EXIT_ENVIRONMENT, "campaign %s stopped: %s; mend that, then: shootdown run --resume -o %s", campaign->directory,
			      summary->stop, campaign->directory);
	note("%u boots: %u ran, %u were there already, %u failed; records in %s", summary->boots, summary->ran, summary->skipped,
	     summary->failed, campaign->directory);
	note("next: shootdown compare %s", campaign->directory);
	return EXIT_DONE;
}

/* The next boot of the plan wants a kernel that somebody must boot. */
static int wait_for_boot(const struct session *session, const struct campaign *campaign, const struct execute_summary *summary)
{
	const struct kernel *kernel = plan_kernel(campaign->plan, summary->next, session->kernels, session->kernel_count);
	const char *label = kernel ? kernel->label : text_of(summary->next, "kernel");
	const char *image = kernel && kernel->image ? kernel->image : "no image is known";
	const char *parameters = kernel && kernel->boot_parameters ? kernel->boot_parameters : "";

	return report(EXIT_CANNOT_TELL, "%u of %u boots are done; boot kernel %s (%s%s%s) and run this again: shootdown run --resume %s",
		      summary->ran + summary->skipped, summary->boots, label, image, *parameters ? ", with " : "", parameters,
		      campaign->directory);
}

static int execute(struct session *session, struct campaign *campaign)
{
	struct execute_summary summary;
	int error = campaign_execute(campaign, session->lane, session->kernels, session->kernel_count, EXECUTE_ALL, &summary);

	return summary.next ? wait_for_boot(session, campaign, &summary) : finish(campaign, &summary, error);
}

/* One boot of the plan is one of the machine: what it was started for runs, and the machine is started for the next. */
static int execute_rebooting(struct session *session, struct campaign *campaign)
{
	struct execute_summary summary;
	struct reboot reboot;
	int error, status = run_reboot_begin(campaign, &reboot);

	if (status)
		return status;
	error = campaign_execute(campaign, session->lane, session->kernels, session->kernel_count, reboot.arrived ? 1 : 0, &summary);
	if (error == -EAGAIN && summary.next && (summary.ran || !reboot.arrived)) {
		status = run_reboot_leave(campaign, session->words, &reboot, summary.next, session->kernels, session->kernel_count);
	} else {
		run_reboot_end(campaign, &reboot);
		if (error == -EAGAIN && summary.next)
			snprintf(summary.stop, sizeof(summary.stop), "%s was started with kexec and is not what runs now (did it come up?)",
				 text_of(plan_kernel_by_id(campaign->plan, text_of(summary.next, "kernel")), "label"));
		status = finish(campaign, &summary, error);
	}
	json_decref(reboot.state);
	return status;
}

static int run_boots(struct session *session, struct campaign *campaign)
{
	return session->words->reboot ? execute_rebooting(session, campaign) : execute(session, campaign);
}

static int start_campaign(struct session *session, char **directory)
{
	char *path = campaign_directory_name(session->words->directory, text_of(session->suite.json, "suite"));
	struct campaign campaign;
	char reason[512];
	int status, error;

	error = campaign_create(path, session->plan, session->machine, &campaign, reason, sizeof(reason));
	if (error) {
		status = report(error == -EEXIST ? EXIT_USAGE : EXIT_ENVIRONMENT, "campaign %s: %s", path, reason);
		free(path);
		return status;
	}
	error = fill_campaign(session, &campaign);
	if (!error)
		error = campaign_commit(&campaign);
	status = error ? report(EXIT_ENVIRONMENT, "campaign %s cannot be written: %s", path, strerror(-error)) : run_boots(session, &campaign);
	campaign_close(&campaign);
	*directory = path;
	return status;
}

/*
 * The first thing in which two plans differ, by name; NULL when they are one.
 * Cases and boots are not looked at: they follow from the rest, and from the
 * memory that was free when the first plan was made, which stays in force.
 */
static const char *plan_difference(const json_t *old, const json_t *new)
{
	static const char *const fields[] = {
		"lane", "architecture", "accelerator", "qemu_version", "cpu_model", "suite", "protocol", "kernels", "hashes", "machine",
		"seed", "baseline",
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!json_equal(json_object_get(old, fields[i]), json_object_get(new, fields[i])))
			return fields[i];
	return NULL;
}

static int resume_campaign(struct session *session, char **directory)
{
	struct campaign campaign;
	char reason[512];
	const char *difference;
	int status;

	if (campaign_open(session->words->directory, &campaign, reason, sizeof(reason)))
		return report(EXIT_ENVIRONMENT, "campaign %s cannot be resumed: %s", session->words->directory, reason);
	difference = plan_difference(campaign.plan, session->plan);
	if (difference)
		status = report(EXIT_USAGE, "campaign %s was made with another %s; resume it as it was, or start a new one with another -o",
				session->words->directory, difference);
	else
		status = run_boots(session, &campaign);
	campaign_close(&campaign);
	*directory = strdup(session->words->directory);
	return status;
}

static int prepare(struct session *session)
{
	char reason[768];
	int status, error = suite_load(session->words->suite, &session->suite, reason, sizeof(reason));

	if (!error && session->words->only_case)
		error = suite_keep_case(&session->suite, session->words->only_case, reason, sizeof(reason));
	for (const char *const *option = session->words->options; !error && option && *option; option++)
		error = suite_set_option(&session->suite, *option, reason, sizeof(reason));
	if (error)
		return report(EXIT_USAGE, "%s", reason);
	status = read_numbers(session);
	if (!status)
		status = choose_lane(session);
	if (!status)
		status = run_reboot_check(session->words, session->lane->name);
	if (!status)
		status = probe_lane(session);
	if (!status)
		status = get_kernels(session);
	if (!status)
		status = check_lane(session);
	if (!status)
		status = make_plan(session);
	return status;
}

int run_campaign(const struct run_words *words, char **directory)
{
	struct session session = { .words = words, .command = run_words_record(words) };
	int status;

	*directory = NULL;
	if (!words->dry_run)
		clear_leftovers();
	status = prepare(&session);
	if (!status) {
		if (!words->resume) {
			run_show_left_out(session.plan);
			if (!words->aa)
				run_warn_p_floor(session.plan);
		}
		if (words->dry_run)
			run_show_plan(session.plan);
		else
			status = words->resume ? resume_campaign(&session, directory) : start_campaign(&session, directory);
	}
	json_decref(session.command);
	json_decref(session.plan);
	json_decref(session.machine);
	json_decref(session.lane_facts.facts);
	run_kernels_free(session.kernels, session.kernel_count);
	suite_free(&session.suite);
	return status;
}
