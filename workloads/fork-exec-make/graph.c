// SPDX-License-Identifier: GPL-2.0-or-later
/* The graph of a build that is made up, and a loop like make's that goes through it. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workloads/fork-exec-make/make.h"

static void add_usage(struct rusage *sum, const struct rusage *more)
{
	timeradd(&sum->ru_utime, &more->ru_utime, &sum->ru_utime);
	timeradd(&sum->ru_stime, &more->ru_stime, &sum->ru_stime);
	sum->ru_minflt += more->ru_minflt;
	sum->ru_majflt += more->ru_majflt;
}

static pid_t start(char *const *arguments, bool use_vfork)
{
	pid_t pid = use_vfork ? vfork() : fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	execvp(arguments[0], arguments);
	_exit(NOT_STARTED);
}

/* NULL-terminated copies of texts that format_text() made; takes them over. -ENOMEM when one is missing. */
static int take_arguments(struct job *job, char *const *texts, size_t count)
{
	int error = 0;

	job->arguments = calloc(count + 1, sizeof(char *));
	for (size_t i = 0; i < count; i++) {
		if (job->arguments)
			job->arguments[i] = texts[i];
		else
			free(texts[i]);
		if (!texts[i])
			error = -ENOMEM;
	}
	return job->arguments ? error : -ENOMEM;
}

static int compile_job(const struct make_options *chosen, const struct make *state, struct job *job, uint64_t unit)
{
	char *const arguments[] = {
		format_text("%s", state->compiler),
		format_text("driver"),
		format_text("%s", state->directory),
		format_text("%" PRIu64, unit),
		format_text("--headers=%" PRIu64, chosen->headers),
		format_text("--header-bytes=%" PRIu64, chosen->header_bytes),
		format_text("--lookups=%" PRIu64, chosen->lookups),
		format_text("--heap=%" PRIu64, chosen->heap),
		format_text("--text=%" PRIu64, chosen->text),
		format_text("--object-bytes=%" PRIu64, chosen->object_bytes),
		format_text("--compute=%" PRIu64, chosen->compute),
		format_text("--vfork=%d", chosen->spawn == SPAWN_VFORK),
	};
	int error = take_arguments(job, arguments, sizeof(arguments) / sizeof(arguments[0]));

	job->output = format_text("%s/unit-%" PRIu64 ".o", state->directory, unit);
	return job->output ? error : -ENOMEM;
}

/* A job that reads the outputs of jobs[first .. first + count) and waits for them. */
static int link_job(struct make *state, struct job *job, char *output, unsigned int first, unsigned int count)
{
	job->output = output;
	job->arguments = calloc(count + 3, sizeof(char *));
	if (!output || !job->arguments)
		return -ENOMEM;
	job->arguments[0] = format_text("%s", state->linker);
	job->arguments[1] = format_text("%s", output);
	for (unsigned int i = 0; i < count; i++) {
		job->arguments[2 + i] = format_text("%s", state->jobs[first + i].output);
		state->jobs[first + i].dependent = job;
		if (!job->arguments[2 + i])
			return -ENOMEM;
	}
	return job->arguments[0] && job->arguments[1] ? 0 : -ENOMEM;
}

static int find_helper(struct run *run, const char *name, char **path)
{
	const char *found = run_helper(run, name);

	if (!found)
		return run_fail(run, -ENOENT, "the program %s is not installed in helpers/ beside the workload", name);
	*path = strdup(found);
	return *path ? 0 : -ENOMEM;
}

/* Units first, then archives, then the link: the order in which make would find them. */
int graph_plan(struct run *run, struct make *state)
{
	const struct make_options *chosen = run_options(run);
	unsigned int units = (unsigned int)chosen->units, archives = 0, next;
	int error = find_helper(run, "compiler-job", &state->compiler);

	if (!error)
		error = find_helper(run, "linker-job", &state->linker);
	if (error)
		return error;
	if (chosen->archive)
		archives = (unsigned int)((chosen->units + chosen->archive - 1) / chosen->archive);
	state->job_count = units + archives + 1;
	state->jobs = calloc(state->job_count, sizeof(*state->jobs));
	state->queue = calloc(state->job_count, sizeof(*state->queue));
	state->running = calloc(chosen->jobs, sizeof(*state->running));
	if (!state->jobs || !state->queue || !state->running)
		return -ENOMEM;
	for (next = 0; next < units && !error; next++)
		error = compile_job(chosen, state, &state->jobs[next], next);
	for (unsigned int archive = 0; archive < archives && !error; archive++, next++) {
		unsigned int first = archive * (unsigned int)chosen->archive;
		unsigned int count = units - first < chosen->archive ? units - first : (unsigned int)chosen->archive;

		error = link_job(state, &state->jobs[next], format_text("%s/archive-%u.a", state->directory, archive),
				 first, count);
	}
	return error ? : link_job(state, &state->jobs[next], format_text("%s/program", state->directory),
				  archives ? units : 0, archives ? archives : units);
}

static void make_ready(struct make *state, struct job *job)
{
	state->queue[state->queue_tail++] = job;
}

static int start_job(struct run *run, struct make *state, struct job *job, bool use_vfork)
{
	pid_t pid = start(job->arguments, use_vfork);

	if (pid < 0)
		return run_fail(run, pid, "starting %s: %s", job->arguments[0], strerror(-pid));
	job->pid = pid;
	state->running[state->running_count++] = job;
	return 0;
}

/* Waits for one job to end and lets go what waited for it. */
static int finish_job(struct run *run, struct make *state)
{
	struct rusage usage;
	unsigned int slot = 0;
	struct job *job;
	int status;
	pid_t pid = wait4(-1, &status, 0, &usage);

	if (pid < 0)
		return errno == EINTR ? 0 : -errno;
	while (slot < state->running_count && state->running[slot]->pid != pid)
		slot++;
	if (slot == state->running_count)
		return 0;	/* not one of ours */
	job = state->running[slot];
	state->running[slot] = state->running[--state->running_count];
	add_usage(&state->usage, &usage);
	if (status)
		return check_status(run, status, job->output);
	if (job->dependent && --job->dependent->waits_for == 0)
		make_ready(state, job->dependent);
	return 0;
}

static void end_running(struct make *state)
{
	for (unsigned int i = 0; i < state->running_count; i++) {
		kill(state->running[i]->pid, SIGKILL);
		while (waitpid(state->running[i]->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	state->running_count = 0;
}

void graph_reset(struct make *state)
{
	state->queue_head = state->queue_tail = state->running_count = 0;
	memset(&state->usage, 0, sizeof(state->usage));
	for (unsigned int i = 0; i < state->job_count; i++)
		state->jobs[i].waits_for = 0;
	for (unsigned int i = 0; i < state->job_count; i++)
		if (state->jobs[i].dependent)
			state->jobs[i].dependent->waits_for++;
	for (unsigned int i = 0; i < state->job_count; i++)
		if (!state->jobs[i].waits_for)
			make_ready(state, &state->jobs[i]);
}

int graph_run(struct run *run, struct iteration *iteration)
{
	const struct make_options *chosen = run_options(run);
	struct make *state = run_private(run);
	int error = 0;

	while (!error && (state->queue_head < state->queue_tail || state->running_count)) {
		if (state->queue_head < state->queue_tail && state->running_count < chosen->jobs)
			error = start_job(run, state, state->queue[state->queue_head++], chosen->spawn == SPAWN_VFORK);
		else
			error = finish_job(run, state);
	}
	end_running(state);
	if (!error)
		iteration_count(iteration, state->job_count, 0);
	return error;
}

int graph_remove_outputs(struct run *run, const struct make *state)
{
	for (unsigned int i = 0; i < state->job_count; i++)
		if (unlink(state->jobs[i].output) < 0)
			return run_fail(run, -errno, "%s: %s", state->jobs[i].output, strerror(errno));
	return 0;
}

static void free_job(struct job *job)
{
	for (char **argument = job->arguments; argument && *argument; argument++)
		free(*argument);
	free(job->arguments);
	free((char *)job->output);
}

void graph_free(struct make *state)
{
	end_running(state);
	for (unsigned int i = 0; state->jobs && i < state->job_count; i++)
		free_job(&state->jobs[i]);
	free(state->jobs);
	free(state->queue);
	free(state->running);
	free(state->compiler);
	free(state->linker);
}
