/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parallel build. Jobs from a dependency graph, at most --jobs at a time:
 * units are compiled, each --archive of them is archived, and one link ends it.
 * A job is a fork and exec of a helper with the profile of a compiler (a driver
 * that runs two stages) or a linker. --real runs make in a copy of a directory
 * instead, and counts the recipes it ran.
 *
 * The defaults are the profile of `gcc -O2 -c` (Debian's 12.2) on a C file of
 * this project, runner/common/files.c: 3 forks, 3 execs, 117 headers, 560 failed
 * look-ups, 2,995 faults and 2,422 pages allocated for one job.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workloads/workload.h"

#define MAXIMUM_JOBS 4096
#define NOT_STARTED 127		/* exit status of a child whose exec failed */

enum { SPAWN_FORK, SPAWN_VFORK };

static const char *const spawn_choices[] = { "fork", "vfork", NULL };

struct make_options {
	uint64_t jobs, units, archive;
	int spawn;
	uint64_t headers, header_bytes, lookups, heap, text, object_bytes, compute;
	const char *real, *target;
};

#define AT(field) offsetof(struct make_options, field)
#define MIB UINT64_C(1048576)

static const struct workload_option options[] = {
	{ "jobs", OPTION_COUNT, AT(jobs), "all", 1, MAXIMUM_JOBS, .accepts_all = true, .unit = "jobs",
	  .help = "jobs at a time, make's -j; all: one for each CPU" },
	{ "units", OPTION_COUNT, AT(units), "48", 1, 1 << 20, .unit = "jobs", .help = "files to compile" },
	{ "archive", OPTION_COUNT, AT(archive), "12", 0, 1 << 20, .unit = "objects",
	  .help = "objects that one archive takes before the link; 0: no archives" },
	{ "spawn", OPTION_CHOICE, AT(spawn), "fork", .choices = spawn_choices,
	  .help = "how make and the compiler's driver start a program" },
	{ "headers", OPTION_COUNT, AT(headers), "117", 0, 1 << 16, .unit = "files", .help = "headers that a unit reads" },
	{ "header-bytes", OPTION_SIZE, AT(header_bytes), "4264", 0, 64 * MIB, .unit = "bytes", .help = "size of each" },
	{ "lookups", OPTION_COUNT, AT(lookups), "560", 0, 1 << 20, .unit = "look-ups",
	  .help = "times that a unit looks for a header where it is not" },
	{ "heap", OPTION_SIZE, AT(heap), "8600KiB", 0, 1024 * MIB, .unit = "bytes",
	  .help = "memory that the compiler takes, page by page; the assembler takes a sixteenth" },
	{ "text", OPTION_SIZE, AT(text), "32MiB", 0, 1024 * MIB, .unit = "bytes",
	  .help = "file that the compiler maps and touches, as large as its own text" },
	{ "object-bytes", OPTION_SIZE, AT(object_bytes), "7720", 0, 64 * MIB, .unit = "bytes", .help = "size of an object" },
	{ "compute", OPTION_COUNT, AT(compute), "100000", 0, UINT64_C(1) << 40, .unit = "steps",
	  .help = "random steps through the heap, in user mode" },
	{ "real", OPTION_TEXT, AT(real), "", .unit = "directory",
	  .help = "run make in a copy of this directory, cleaned first, instead of the graph" },
	{ "target", OPTION_TEXT, AT(target), "", .unit = "target", .help = "what the real make is asked for" },
	{ .name = NULL },
};

static const struct workload_metric metrics[] = {
	{ "score", "jobs/s", METRIC_TIME, HIGHER_IS_BETTER, "jobs per second" },
	{ "system_time", "s", METRIC_TIME, LOWER_IS_BETTER, "system seconds of all children" },
	{ "user_time", "s", METRIC_TIME, LOWER_IS_BETTER, "user seconds of all children" },
	{ "elapsed_time", "s", METRIC_TIME, LOWER_IS_BETTER, "seconds from the first job's start to the last one's end" },
	{ "faults_per_job", "faults/job", METRIC_WORK, NEITHER_IS_BETTER, "page faults of the children" },
	{ .name = NULL },
};

/* One node of the graph. */
struct job {
	char **arguments;
	unsigned int waits_for;		/* jobs that have to end first */
	unsigned int dependents;	/* how many wait for this one: units and archives have one, the link none */
	struct job *dependent;
	const char *output;
	pid_t pid;
};

struct make {
	const char *directory;
	struct job *jobs;
	unsigned int job_count;
	struct job **queue;		/* ready jobs in the order they became so */
	unsigned int queue_head, queue_tail;
	struct job **running;
	unsigned int running_count;
	char *compiler, *linker;	/* paths of the helpers */
	char *tree;			/* --real: the copy */
	struct rusage usage;		/* sum over the children */
};

static int resolve(void *values, const struct machine_limits *limits, struct workload_needs *needs,
		   char *reason, size_t reason_size)
{
	struct make_options *chosen = values;
	uint64_t files;

	if (chosen->jobs == OPTION_VALUE_ALL)
		chosen->jobs = limits->cpus;
	if (chosen->target[0] && !chosen->real[0]) {
		snprintf(reason, reason_size, "target is for a real make: name its directory with --real");
		return -EINVAL;
	}
	needs->cpus = 1;
	needs->nodes = 1;
	files = chosen->text + chosen->headers * (chosen->header_bytes + 4096) + chosen->units * (3 * chosen->object_bytes + 8192);
	needs->memory_bytes = files + chosen->jobs * (chosen->heap + 2 * MIB) + 3 * chosen->units * chosen->object_bytes + 16 * MIB;
	return 0;
}

/* --- children --- */

static void add_time(struct timeval *sum, const struct timeval *more)
{
	timeradd(sum, more, sum);
}

static void add_usage(struct rusage *sum, const struct rusage *more)
{
	add_time(&sum->ru_utime, &more->ru_utime);
	add_time(&sum->ru_stime, &more->ru_stime);
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

/* Runs a program outside the region of interest, in `directory`, its output in `output`; NULL: nowhere. */
static int run_program(const char *const *arguments, const char *directory, const char *output, int *status)
{
	pid_t pid = fork();
	int fd;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		fd = open(output ? : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0644);
		if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0 || chdir(directory) < 0)
			_exit(NOT_STARTED);
		setenv("LC_ALL", "C", 1);
		unsetenv("MAKEFLAGS");
		unsetenv("MAKELEVEL");
		execvp(arguments[0], (char *const *)arguments);
		_exit(NOT_STARTED);
	}
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static int check_status(struct run *run, int status, const char *what)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED)
		return run_fail(run, -ENOEXEC, "%s could not be started", what);
	if (WIFEXITED(status))
		return run_fail(run, -ECHILD, "%s ended with status %d", what, WEXITSTATUS(status));
	return run_fail(run, -ECHILD, "%s was ended by signal %d", what, WTERMSIG(status));
}

/* --- the graph --- */

static char *text(const char *format, ...)
{
	char *result = NULL;
	va_list values;

	va_start(values, format);
	if (vasprintf(&result, format, values) < 0)
		result = NULL;
	va_end(values);
	return result;
}

static int compile_job(const struct make_options *chosen, const struct make *state, struct job *job, uint64_t unit)
{
	char *arguments[] = {
		text("%s", state->compiler), text("driver"), text("%s", state->directory), text("%" PRIu64, unit),
		text("--headers=%" PRIu64, chosen->headers), text("--header-bytes=%" PRIu64, chosen->header_bytes),
		text("--lookups=%" PRIu64, chosen->lookups), text("--heap=%" PRIu64, chosen->heap),
		text("--text=%" PRIu64, chosen->text), text("--object-bytes=%" PRIu64, chosen->object_bytes),
		text("--compute=%" PRIu64, chosen->compute), text("--vfork=%d", chosen->spawn == SPAWN_VFORK),
	};
	const size_t count = sizeof(arguments) / sizeof(arguments[0]);
	int error = 0;

	job->output = text("%s/unit-%" PRIu64 ".o", state->directory, unit);
	job->arguments = calloc(count + 1, sizeof(char *));
	for (size_t i = 0; i < count; i++) {
		if (!arguments[i] || !job->arguments)
			error = -ENOMEM;
		if (job->arguments)
			job->arguments[i] = arguments[i];
		else
			free(arguments[i]);
	}
	return error ? : job->output ? 0 : -ENOMEM;
}

/* A job that reads the outputs of jobs[first .. first + count) and waits for them. */
static int link_job(struct make *state, struct job *job, char *output, unsigned int first, unsigned int count)
{
	job->output = output;
	job->arguments = calloc(count + 3, sizeof(char *));
	if (!output || !job->arguments)
		return -ENOMEM;
	job->arguments[0] = text("%s", state->linker);
	job->arguments[1] = text("%s", output);
	for (unsigned int i = 0; i < count; i++) {
		job->arguments[2 + i] = text("%s", state->jobs[first + i].output);
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
static int plan_jobs(struct run *run, struct make *state)
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

		error = link_job(state, &state->jobs[next], text("%s/archive-%u.a", state->directory, archive),
				 first, count);
	}
	return error ? : link_job(state, &state->jobs[next], text("%s/program", state->directory),
				  archives ? units : 0, archives ? archives : units);
}

static int write_file_of(const char *path, uint64_t bytes)
{
	static const char line[64] = "/* what a header says does not matter here, only its size */\n";
	FILE *file = fopen(path, "we");
	int error = 0;

	if (!file)
		return -errno;
	for (uint64_t left = bytes; left && !error;) {
		size_t now = left < sizeof(line) ? left : sizeof(line);

		error = fwrite(line, 1, now, file) == now ? 0 : -errno;
		left -= now;
	}
	if (fclose(file) != 0 && !error)
		error = -errno;
	return error;
}

static int write_sources(struct run *run, const struct make *state)
{
	const struct make_options *chosen = run_options(run);
	char path[PATH_MAX];
	int error;

	snprintf(path, sizeof(path), "%s/text", state->directory);
	error = write_file_of(path, chosen->text);
	for (uint64_t header = 0; header < chosen->headers && !error; header++) {
		snprintf(path, sizeof(path), "%s/header-%" PRIu64 ".h", state->directory, header);
		error = write_file_of(path, chosen->header_bytes);
	}
	for (uint64_t unit = 0; unit < chosen->units && !error; unit++) {
		snprintf(path, sizeof(path), "%s/unit-%" PRIu64 ".c", state->directory, unit);
		error = write_file_of(path, chosen->object_bytes);
	}
	return error ? run_fail(run, error, "%s: %s", path, strerror(-error)) : 0;
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

static void reset_graph(struct make *state)
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

static int run_graph(struct run *run, struct iteration *iteration)
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

static int remove_outputs(struct run *run, const struct make *state)
{
	for (unsigned int i = 0; i < state->job_count; i++)
		if (unlink(state->jobs[i].output) < 0)
			return run_fail(run, -errno, "%s: %s", state->jobs[i].output, strerror(errno));
	return 0;
}

/* --- a real make --- */

static int copy_tree(struct run *run, struct make *state)
{
	const struct make_options *chosen = run_options(run);
	const char *from = chosen->real;
	int error, status;

	state->tree = text("%s/tree", state->directory);
	if (!state->tree)
		return -ENOMEM;
	error = run_program((const char *const[]){ "cp", "-a", "--", from, state->tree, NULL }, ".", NULL, &status);
	if (!error && status)
		error = run_fail(run, -ENOENT, "%s could not be copied to %s: is it a directory, and is there room?",
				 from, state->tree);
	return error;
}

static int clean_tree(struct run *run, const struct make *state)
{
	int status, error = run_program((const char *const[]){ "make", "clean", NULL }, state->tree, NULL, &status);

	return error ? : check_status(run, status, "make clean");
}

static char *log_path(const struct make *state)
{
	return text("%s/make.log", state->directory);
}

static int run_real(struct run *run)
{
	const struct make_options *chosen = run_options(run);
	struct make *state = run_private(run);
	char width[32], *log = log_path(state);
	const char *arguments[] = { "make", "--trace", width, chosen->target[0] ? chosen->target : NULL, NULL };
	struct rusage before, after;
	int status, error;

	if (!log)
		return -ENOMEM;
	snprintf(width, sizeof(width), "-j%" PRIu64, chosen->jobs);
	getrusage(RUSAGE_CHILDREN, &before);
	error = run_program(arguments, state->tree, log, &status);
	getrusage(RUSAGE_CHILDREN, &after);
	free(log);
	if (!error)
		error = check_status(run, status, "make");
	timersub(&after.ru_utime, &before.ru_utime, &state->usage.ru_utime);
	timersub(&after.ru_stime, &before.ru_stime, &state->usage.ru_stime);
	state->usage.ru_minflt = after.ru_minflt - before.ru_minflt;
	return error;
}

/* `make --trace` says before each recipe it runs: "Makefile:12: target 'x' does not exist" or "... update target 'x' ...". */
static int count_recipes(const struct make *state, uint64_t *recipes)
{
	char *log = log_path(state), *line = NULL;
	FILE *file = log ? fopen(log, "re") : NULL;
	size_t size = 0;

	free(log);
	if (!file)
		return -errno;
	*recipes = 0;
	while (getline(&line, &size, file) >= 0) {
		char *quote = strstr(line, "target '"), *colon = strchr(line, ':');
		unsigned int number;

		if (quote && colon && quote > colon && sscanf(colon, ":%u: ", &number) == 1)
			++*recipes;
	}
	free(line);
	fclose(file);
	return 0;
}

/* --- what the harness calls --- */

static int prepare(struct run *run)
{
	const struct make_options *chosen = run_options(run);
	struct make *state = calloc(1, sizeof(*state));
	int error;

	if (!state)
		return -ENOMEM;
	run_set_private(run, state);
	state->directory = run_directory(run);
	if (!state->directory)
		return run_fail(run, -errno, "no directory for the build: %s", strerror(errno));
	if (chosen->real[0])
		return copy_tree(run, state);
	error = write_sources(run, state);
	return error ? : plan_jobs(run, state);
}

static int begin(struct run *run, struct iteration *iteration)
{
	struct make *state = run_private(run);

	(void)iteration;
	if (state->tree)
		return clean_tree(run, state);
	reset_graph(state);
	return 0;
}

static int work(struct run *run, struct iteration *iteration)
{
	struct make *state = run_private(run);

	return state->tree ? run_real(run) : run_graph(run, iteration);
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static int end(struct run *run, struct iteration *iteration)
{
	struct make *state = run_private(run);
	double jobs, elapsed = iteration_seconds(iteration);
	uint64_t recipes = 0;
	int error;

	if (state->tree) {
		error = count_recipes(state, &recipes);
		if (!error && !recipes)
			error = run_fail(run, -ENODATA, "make had nothing to do in %s", state->tree);
		if (error)
			return error;
		iteration_count(iteration, recipes, 0);
	} else {
		error = remove_outputs(run, state);
		if (error)
			return error;
	}
	jobs = (double)iteration_operations(iteration);
	iteration_metric(iteration, "score", jobs / elapsed);
	iteration_metric(iteration, "system_time", seconds_of(&state->usage.ru_stime));
	iteration_metric(iteration, "user_time", seconds_of(&state->usage.ru_utime));
	iteration_metric(iteration, "elapsed_time", elapsed);
	iteration_metric(iteration, "faults_per_job", (double)state->usage.ru_minflt / jobs);
	return 0;
}

static void free_job(struct job *job)
{
	for (char **argument = job->arguments; argument && *argument; argument++)
		free(*argument);
	free(job->arguments);
	free((char *)job->output);
}

static void cleanup(struct run *run)
{
	struct make *state = run_private(run);

	if (!state)
		return;
	end_running(state);
	for (unsigned int i = 0; state->jobs && i < state->job_count; i++)
		free_job(&state->jobs[i]);
	free(state->jobs);
	free(state->queue);
	free(state->running);
	free(state->compiler);
	free(state->linker);
	free(state->tree);
	free(state);
	run_set_private(run, NULL);
}

static const char *const helpers[] = { "compiler-job", "linker-job", NULL };

const struct workload workload = {
	.contract = WORKLOAD_CONTRACT,
	.name = "fork-exec-make",
	.summary = "a parallel build: fork, exec, faults and page allocations of compilers",
	.operation = "job",
	.options_size = sizeof(struct make_options),
	.options = options,
	.metrics = metrics,
	.unpinned = true,
	.helpers = helpers,
	.resolve = resolve,
	.prepare = prepare,
	.begin = begin,
	.work = work,
	.end = end,
	.cleanup = cleanup,
};
