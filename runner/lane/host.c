// SPDX-License-Identifier: GPL-2.0-or-later
/* The host lane: the workload runs on the kernel that runs. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/orphans.h"
#include "../common/paths.h"
#include "../guest/facts.h"
#include "../machine/settings.h"
#include "guest-state.h"
#include "running-kernel.h"

#define POLL_MS 200
#define LINE_LIMIT ((size_t)16 << 20)
#define END_GRACE_MS 2000
/* The end of what a workload printed, for the line that says why it failed. */
#define TAIL_SIZE 4096

/*
 * One case. The messages that a guest's init would send are made here and go
 * the same way, so that a case is judged alike in every lane.
 */
struct host_case {
	struct guest_state *state;
	struct child child;
	int frames, output;
	char *line;
	size_t line_used, line_room;
	char tail[TAIL_SIZE + 1];
	size_t tail_used;
};

static int host_probe(const char *architecture, struct lane_facts *facts)
{
	if (architecture && strcmp(architecture, host_architecture())) {
		snprintf(facts->reason, sizeof(facts->reason), "this machine is %s, not %s; use lane vm or exact",
			 host_architecture(), architecture);
		return -EOPNOTSUPP;
	}
	facts->reason[0] = '\0';
	facts->facts = json_pack("{s:s, s:{}}", "accelerator", "none", "missing");
	return facts->facts ? 0 : -ENOMEM;
}

static int host_prepare(const char *directory, const char *architecture, void **session, char *reason, size_t reason_size)
{
	struct lane_facts facts = { 0 };
	int error = host_probe(architecture, &facts);

	(void)directory;
	if (error)
		snprintf(reason, reason_size, "%s", facts.reason);
	else
		*session = facts.facts;
	return error;
}

static void host_cleanup(void *session)
{
	json_decref(session);
}

static void say(struct guest_state *state, json_t *message)
{
	if (message)
		guest_message(state, message);
	json_decref(message);
}

static void take_line(struct host_case *host, const char *line, size_t size)
{
	json_t *frame;

	if (!size)
		return;
	frame = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
	say(host->state, json_pack("{s:s, s:i, s:o?}", "init", "frame", "case", (int)host->state->current, "frame", frame));
}

static void take_frames(struct host_case *host, const char *data, size_t size)
{
	char *newline;

	if (host->line_used + size > host->line_room) {
		size_t room = (host->line_used + size) * 2;
		char *grown = room <= 2 * LINE_LIMIT ? realloc(host->line, room) : NULL;

		if (!grown) {
			host->line_used = 0;
			host->state->channels[STREAM_CHANNEL].lost++;
			return;
		}
		host->line = grown;
		host->line_room = room;
	}
	memcpy(host->line + host->line_used, data, size);
	host->line_used += size;
	while ((newline = memchr(host->line, '\n', host->line_used))) {
		size_t length = (size_t)(newline - host->line);

		take_line(host, host->line, length);
		host->line_used -= length + 1;
		memmove(host->line, newline + 1, host->line_used);
	}
}

static void keep_tail(struct host_case *host, const char *data, size_t size)
{
	size_t drop;

	if (size > TAIL_SIZE) {
		data += size - TAIL_SIZE;
		size = TAIL_SIZE;
	}
	drop = host->tail_used + size > TAIL_SIZE ? host->tail_used + size - TAIL_SIZE : 0;
	memmove(host->tail, host->tail + drop, host->tail_used - drop);
	host->tail_used -= drop;
	memcpy(host->tail + host->tail_used, data, size);
	host->tail_used += size;
}

/* Reads what is there; closes at end of file. */
static void drain(struct host_case *host, int *fd)
{
	static char data[65536];
	ssize_t size;

	while (*fd >= 0) {
		size = read(*fd, data, sizeof(data));
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0 && errno == EAGAIN)
			return;
		if (size <= 0) {
			close(*fd);
			*fd = -1;
			return;
		}
		if (fd == &host->frames)
			take_frames(host, data, (size_t)size);
		else
			keep_tail(host, data, (size_t)size);
	}
}

static int make_pipe(int *ours, int *theirs)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC))
		return -errno;
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	*ours = pair[0];
	*theirs = pair[1];
	return 0;
}

static size_t count_texts(char *const *texts)
{
	size_t count = 0;

	while (texts && texts[count])
		count++;
	return count;
}

/* PATH [OPTION]... --frames FD [-- COMMAND]... */
static const char **make_argv(const struct boot_case *boot_case, const char *program, const char *frames)
{
	const char **argv = calloc(count_texts(boot_case->arguments) + count_texts(boot_case->command) + 5, sizeof(*argv));
	size_t count = 0;

	if (!argv)
		return NULL;
	argv[count++] = program;
	for (char *const *text = boot_case->arguments; text && *text; text++)
		argv[count++] = *text;
	argv[count++] = "--frames";
	argv[count++] = frames;
	if (boot_case->command)
		argv[count++] = "--";
	for (char *const *text = boot_case->command; text && *text; text++)
		argv[count++] = *text;
	return argv;
}

static int start(struct host_case *host, const struct boot_case *boot_case)
{
	char *below = text_format("workloads/%s", boot_case->workload ? boot_case->workload : "exec");
	char *program = path_program(NULL, below), number[16];
	int frames = -1, output = -1, error;
	const char **argv = NULL;

	error = make_pipe(&host->frames, &frames);
	if (!error)
		error = make_pipe(&host->output, &output);
	if (!error) {
		const int keep[] = { frames, -1 };
		/* When we are killed the supervisor still puts back what its workload changed. */
		struct spawn_options options = {
			.input = -1, .output = output, .error = output, .keep = keep, .death_signal = SIGTERM,
		};

		snprintf(number, sizeof(number), "%d", frames);
		argv = make_argv(boot_case, program, number);
		error = argv ? spawn(argv, &options, &host->child) : -ENOMEM;
	}
	if (frames >= 0)
		close(frames);
	if (output >= 0)
		close(output);
	free(argv);
	free(program);
	free(below);
	return error;
}

/* Until the workload ends, its time is up (true), or the run is interrupted. */
static bool watch(struct host_case *host, double deadline, int *status)
{
	for (;;) {
		struct pollfd polled[] = {
			{ .fd = host->frames, .events = POLLIN },
			{ .fd = host->output, .events = POLLIN },
			{ .fd = host->child.pidfd, .events = POLLIN },
		};
		int ready = poll(polled, 3, POLL_MS);

		drain(host, &host->frames);
		drain(host, &host->output);
		if (interrupted || host->state->host_error)
			return false;
		if (ready > 0 && polled[2].revents) {
			child_wait(&host->child, 1000, status);
			return false;
		}
		if (guest_now() >= deadline)
			return true;
	}
}

static json_t *end_message(const struct host_case *host, int status, bool timed_out)
{
	json_t *message = json_pack("{s:s, s:i, s:i, s:b}", "init", "case-end", "case", (int)host->state->current,
				    "signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0, "timeout", timed_out);
	json_t *output = json_stringn(host->tail, host->tail_used);

	if (WIFEXITED(status) && !timed_out)
		json_object_set_new(message, "exit", json_integer(WEXITSTATUS(status)));
	if (output)	/* what is no UTF-8 is no reason that could be shown */
		json_object_set_new(message, "output", output);
	return message;
}

static json_t *refusal(size_t index, const char *what, const char *why)
{
	return json_pack("{s:s, s:i, s:s, s:s}", "init", "case-end", "case", (int)index, "error", what, "why", why);
}

/* Settings for the life of the case. A file that this kernel lacks, or that this user may not write: not supported, and why. */
static int set_up(struct guest_state *state, const struct boot_case *boot_case, size_t index, struct settings **settings)
{
	char reason[256], what[300];
	int error;

	*settings = NULL;
	if (!count_texts(boot_case->settings))
		return 0;
	error = settings_apply(boot_case->settings, settings, reason, sizeof(reason));
	if (error) {
		guest_text(what, sizeof(what), "setting %s", reason);
		say(state, refusal(index, what, ""));
	}
	return error;
}

static void put_back(struct guest_state *state, struct settings *settings)
{
	int error = settings ? settings_restore(settings) : 0;

	if (error && !state->host_error) {
		state->host_error = error;
		state->host_what = "a setting could not be put back ('shootdown restore' tries again)";
	}
}

static void run_one(struct guest_state *state, const struct boot_case *boot_case, size_t index)
{
	struct host_case host = { .state = state, .frames = -1, .output = -1 };
	struct settings *settings;
	int status = 0, error;
	bool timed_out;

	say(state, json_pack("{s:s, s:i}", "init", "case-start", "case", (int)index));
	if (set_up(state, boot_case, index, &settings))
		return;
	error = start(&host, boot_case);
	if (error) {
		say(state, refusal(index, boot_case->workload ? boot_case->workload : "exec", strerror(-error)));
	} else {
		timed_out = watch(&host, guest_now() + boot_case->timeout_seconds, &status);
		child_end(&host.child, END_GRACE_MS);
		/* What a supervisor that was killed could not end itself. */
		orphans_kill();
		drain(&host, &host.frames);
		drain(&host, &host.output);
		if (!interrupted && !state->host_error)
			say(state, end_message(&host, status, timed_out));
	}
	put_back(state, settings);
	if (host.frames >= 0)
		close(host.frames);
	if (host.output >= 0)
		close(host.output);
	free(host.line);
}

static void judge(const struct guest_state *state, struct boot_result *result)
{
	if (state->host_error) {
		result->outcome = BOOT_HOST_ERROR;
		guest_text(result->detail, sizeof(result->detail), "%s: %s", state->host_what, strerror(-state->host_error));
	} else if (interrupted) {
		result->outcome = BOOT_INTERRUPTED;
		guest_text(result->detail, sizeof(result->detail), "interrupted");
	} else {
		result->outcome = state->worst_case;
		guest_text(result->detail, sizeof(result->detail), "%s", state->worst_detail);
	}
}

/* Which boot of the machine this was: several boots of a plan may have been one. */
static json_t *boot_facts(void)
{
	json_t *facts = collect_facts();
	char *boot_id = read_text("/proc/sys/kernel/random/boot_id");

	if (facts && boot_id)
		json_object_set_new(facts, "boot_id", json_string(boot_id));
	else if (facts)
		json_object_set_new(json_object_get(facts, "missing"), "boot_id",
				    json_string("/proc/sys/kernel/random/boot_id could not be read"));
	free(boot_id);
	return facts;
}

static int run_cases(const json_t *facts, const struct boot_request *request, const struct boot_sink *sink,
		     const unsigned int *limits, struct boot_result *result)
{
	const struct guest_boot options = {
		.case_count = request->case_count, .case_seconds = limits, .facts = facts, .sink = sink,
	};
	struct guest_state *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	state->options = &options;
	state->current = NO_CASE;
	state->first_case = NAN;
	for (int i = 0; i < STREAM_COUNT; i++)
		state->streams[i] = -1;
	state->started = guest_now();
	orphans_adopt();
	say(state, json_pack("{s:s, s:o?}", "init", "boot", "facts", boot_facts()));
	for (size_t i = 0; i < request->case_count && !interrupted && !state->host_error; i++)
		run_one(state, &request->cases[i], i);
	result->seconds = guest_now() - state->started;
	result->seconds_to_workload = state->first_case - state->started;
	judge(state, result);
	guest_abandon_case(state, result->outcome, result->detail);
	free(state);
	return 0;
}

static int host_runs_now(void *session, const struct kernel *kernels, size_t count, bool *now, char *reason, size_t reason_size)
{
	(void)session;
	return running_kernels(kernels, count, now, reason, reason_size);
}

static int host_run(void *session, const struct boot_request *request, const struct boot_sink *sink, struct boot_result *result)
{
	unsigned int *limits;
	int error;

	*result = (struct boot_result){ .seconds_to_workload = NAN };
	limits = calloc(request->case_count + 1, sizeof(*limits));
	if (!limits)
		return -ENOMEM;
	for (size_t i = 0; i < request->case_count; i++)
		limits[i] = request->cases[i].timeout_seconds;
	error = run_cases(session, request, sink, limits, result);
	free(limits);
	return error;
}

static const struct lane host_lane = {
	.name = "host",
	.summary = "runs the workloads on the kernel that runs",
	.probe = host_probe,
	.prepare = host_prepare,
	.runs_now = host_runs_now,
	.run = host_run,
	.cleanup = host_cleanup,
};
LANE_REGISTER(host_lane);
