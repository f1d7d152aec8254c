// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A parallel build. Jobs from a dependency graph, at most --jobs at a time:
 * units are compiled, each --archive of them is archived, and one link ends it.
 * A job is a fork and exec of a helper with the profile of a compiler (a driver
 * that runs two stages) or a linker. --real runs make in a copy of a directory
 * instead, and counts the recipes it ran.
 *
 * The defaults are the profile of `gcc -O2 -c` (Debian's 12.2, x86-64) on a C
 * file of this project, runner/common/files.c. For one unit, counted by perf:
 *
 *	                        gcc	compiler-job
 *	pages allocated		2,434	2,430
 *	page faults		2,998	2,912
 *	programs executed	3	3
 *	headers read		117	117
 *
 * and make's own fork on top of the driver's two. A whole build, by the suite
 * real-build in a guest of 2 CPUs (deb:6.12): make -j2 of workloads/trees/
 * shootdown, 33 jobs, beside 33 that are made up, each figure for one job:
 *
 *				make and gcc	made up
 *	pages allocated		2,313		2,202
 *	page faults		2,774		2,599
 *	forks			2.91		2.76
 *	programs executed	2.91		2.76
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workloads/fork-exec-make/make.h"

#define MAXIMUM_JOBS 4096

static const char *const spawn_choices[] = { "fork", "vfork", NULL };

#define AT(field) offsetof(struct make_options, field)
#define MIB UINT64_C(1048576)
/* A toolchain in the guest's memory, the copied tree and its objects; and a compiler at work. */
#define REAL_BYTES (256 * MIB)
#define REAL_JOB_BYTES (64 * MIB)

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
	{ "real", OPTION_TEXT, AT(real), "", .unit = "directory", .is_source_tree = true,
	  .help = "run make in a copy of this directory, cleaned first, instead of the graph; 'shootdown' is a small "
		  "project that comes with it" },
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
	if (chosen->real[0]) {
		needs->memory_bytes = REAL_BYTES + chosen->jobs * REAL_JOB_BYTES;
		return 0;
	}
	needs->memory_bytes = files + chosen->jobs * (chosen->heap + 2 * MIB) + 3 * chosen->units * chosen->object_bytes + 16 * MIB;
	return 0;
}

char *format_text(const char *format, ...)
{
	char *result = NULL;
	va_list values;

	va_start(values, format);
	if (vasprintf(&result, format, values) < 0)
		result = NULL;
	va_end(values);
	return result;
}

int check_status(struct run *run, int status, const char *what)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED)
		return run_fail(run, -ENOEXEC, "%s could not be started", what);
	if (WIFEXITED(status))
		return run_fail(run, -ECHILD, "%s ended with status %d", what, WEXITSTATUS(status));
	return run_fail(run, -ECHILD, "%s was killed by signal %d", what, WTERMSIG(status));
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
		return real_copy(run, state);
	error = write_sources(run, state);
	return error ? : graph_plan(run, state);
}

static int begin(struct run *run, struct iteration *iteration)
{
	struct make *state = run_private(run);

	(void)iteration;
	if (state->tree)
		return real_clean(run, state);
	graph_reset(state);
	return 0;
}

static int work(struct run *run, struct iteration *iteration)
{
	struct make *state = run_private(run);

	return state->tree ? real_run(run) : graph_run(run, iteration);
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
		error = real_count(state, &recipes);
		if (!error && !recipes)
			error = run_fail(run, -ENODATA, "make had nothing to do in %s", state->tree);
		if (error)
			return error;
		iteration_count(iteration, recipes, 0);
	} else {
		error = graph_remove_outputs(run, state);
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

static void cleanup(struct run *run)
{
	struct make *state = run_private(run);

	if (!state)
		return;
	graph_free(state);
	free(state->tree);
	free(state->log);
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
