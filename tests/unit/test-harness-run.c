// SPDX-License-Identifier: GPL-2.0-or-later
/* Whole runs of workloads that are made up here: what is counted, and what is left when they go wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runner/harness/run.h"

#define SETTING_BEFORE "always [madvise] never\n"

/* What the made-up workloads tell the test, across processes. */
struct told {
	int cpus[64];
	uint64_t seeds[64];
	int pids[64];
	atomic_int cleaned, torn_down, stopped;
	pid_t orphan;
	char directory[256];
};

static struct told *told;
static char setting_path[] = "/tmp/shootdown-test-XXXXXX";

/* Runs it in a process of its own, as main() would; frames go to the returned descriptor. */
static pid_t start(const struct workload *made_up, uint64_t iterations, int *frames)
{
	int fd = memfd_create("frames", 0);
	pid_t pid;

	memset(told, 0, sizeof(*told));
	pid = fork();
	if (!pid) {
		struct harness_options harness = {
			.iterations = iterations, .warmup = 0, .frames = (uint64_t)fd, .phase_total = 1, .probes = { "rusage" },
		};
		struct run run = { .workload = made_up, .harness = &harness };
		char reason[256];
		int quiet = open("/dev/null", O_WRONLY);

		signal(SIGSEGV, SIG_DFL);	/* cmocka has a handler of its own */

		dup2(quiet, STDERR_FILENO);
		if (placement_load(&run.placement, NULL, reason, sizeof(reason)))
			_exit(STATUS_INTERNAL);
		_exit(supervise(&run));
	}
	*frames = fd;
	return pid;
}

static int finish(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The frame of that kind and number; NULL when there are fewer. */
static json_t *frame_of(int fd, const char *kind, unsigned int number)
{
	FILE *file = fdopen(dup(fd), "r");
	char *line = NULL;
	size_t size = 0;
	json_t *found = NULL;

	rewind(file);
	while (!found && getline(&line, &size, file) > 0) {
		json_t *frame = json_loads(line, 0, NULL);
		const char *name = json_string_value(json_object_get(frame, "frame"));

		if (name && !strcmp(name, kind) && !number--)
			found = json_incref(frame);
		json_decref(frame);
	}
	free(line);
	fclose(file);
	return found;
}

static void expect_end(int fd, const char *status, const char *error_part)
{
	json_t *end = frame_of(fd, "end", 0);
	const char *error = json_string_value(json_object_get(end, "error"));

	assert_non_null(end);
	assert_string_equal(json_string_value(json_object_get(end, "status")), status);
	if (error_part && (!error || !strstr(error, error_part)))
		fail_msg("error '%s' does not say '%s'", error ? error : "", error_part);
	json_decref(end);
}

static int tell_setup(struct worker *worker)
{
	unsigned int base = *(unsigned int *)worker->argument;

	told->cpus[base + worker->index] = worker->cpu >= 0 && sched_getcpu() == worker->cpu ? worker->cpu : -1;
	told->seeds[base + worker->index] = worker->random_seed;
	told->pids[base + worker->index] = getpid();
	worker->scratch = &told->pids[base + worker->index];
	return 0;
}

static int count_work(struct worker *worker)
{
	worker->operations = 10 + worker->index;
	worker->bytes = 100;
	if (worker->latency)
		for (int i = 0; i < 5; i++)
			latency_record(worker->latency, 1000);
	return worker->scratch ? 0 : -EFAULT;
}

static void tell_teardown(struct worker *worker)
{
	(void)worker;
	atomic_fetch_add(&told->torn_down, 1);
}

static int until_stop(struct worker *worker)
{
	worker->operations = 1000000;	/* of a background team: not summed */
	worker_wait_for_stop(worker);
	atomic_fetch_add(&told->stopped, worker_must_stop(worker));
	return 0;
}

static unsigned int bases[] = { 0, 10, 20, 30 };

static int begin_three_kinds(struct run *run, struct iteration *iteration)
{
	const enum team_kind kinds[] = { TEAM_PROCESSES, TEAM_CHILD_THREADS, TEAM_THREADS };
	struct team_spec spec = {
		.name = "counters", .count = 3, .latency = true, .setup = tell_setup, .work = count_work, .teardown = tell_teardown,
	};
	int error = 0;

	(void)run;
	for (int i = 0; i < 3 && !error; i++) {
		spec.kind = kinds[i];
		spec.argument = &bases[i];
		error = iteration_add_team(iteration, &spec);
	}
	spec = (struct team_spec){ .name = "background", .kind = TEAM_THREADS, .count = 2, .background = true, .work = until_stop };
	return error ? error : iteration_add_team(iteration, &spec);
}

static int end_three_kinds(struct run *run, struct iteration *iteration)
{
	if (latency_quantile(iteration_latency(iteration), 0.5) < 980)
		return run_fail(run, -EIO, "the latencies were not merged");
	iteration_metric(iteration, "score", (double)iteration_operations(iteration));
	iteration_metric(iteration, "nonsense", 0.0 / 0.0);
	return 0;
}

static void three_kinds_of_team(void **state)
{
	static const struct workload_metric metrics[] = { { .name = "score" }, { .name = "nonsense" }, { .name = "forgotten" }, { 0 } };
	static const struct workload made_up = {
		.name = "made-up", .metrics = metrics, .begin = begin_three_kinds, .end = end_three_kinds,
	};
	json_t *frame, *missing;
	int fd;

	(void)state;
	assert_int_equal(finish(start(&made_up, 2, &fd)), STATUS_DONE);
	expect_end(fd, "done", NULL);
	frame = frame_of(fd, "iteration", 1);
	assert_int_equal(json_integer_value(json_object_get(frame, "operations")), 3 * (10 + 11 + 12));
	assert_int_equal(json_integer_value(json_object_get(frame, "bytes")), 900);
	missing = json_object_get(frame, "missing");
	assert_non_null(json_object_get(missing, "nonsense"));
	assert_non_null(json_object_get(missing, "forgotten"));
	assert_null(json_object_get(json_object_get(frame, "metrics"), "nonsense"));
	json_decref(frame);
	assert_null(frame_of(fd, "iteration", 2));
	assert_int_equal(told->torn_down, 2 * 9);
	assert_int_equal(told->stopped, 2 * 2);
	for (int i = 0; i < 3; i++) {
		assert_true(told->cpus[i] >= 0 && told->cpus[10 + i] >= 0 && told->cpus[20 + i] >= 0);
		assert_true(told->seeds[i] == told->seeds[10 + i] && told->seeds[i] != told->seeds[(i + 1) % 3]);
		assert_int_equal(told->pids[10 + i], told->pids[10]);
		assert_int_equal(told->pids[20 + i], told->pids[20]);
	}
	assert_true(told->pids[0] != told->pids[1] && told->pids[1] != told->pids[2]);
	close(fd);
}

static int die(struct worker *worker)
{
	if (worker->index == 1)
		raise(SIGSEGV);
	pause();
	return 0;
}

static int change_things(struct run *run)
{
	int error = run_set_file(run, setting_path, "never");

	if (!error)
		error = run_set_file(run, setting_path, "always");
	if (!run_directory(run))
		return -errno;
	snprintf(told->directory, sizeof(told->directory), "%s", run_directory(run));
	return error;
}

static void note_cleanup(struct run *run)
{
	(void)run;
	atomic_fetch_add(&told->cleaned, 1);
}

static void expect_all_put_back(void)
{
	char text[64] = "";
	int fd = open(setting_path, O_RDONLY);

	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	/* The word that was in force, over what had been written: the file is a plain one here. */
	assert_int_equal(strncmp(text, "madvise", 7), 0);
	assert_int_equal(access(told->directory, F_OK), -1);
}

static void reset_setting(void)
{
	int fd = open(setting_path, O_WRONLY | O_TRUNC);

	assert_int_equal(write(fd, SETTING_BEFORE, strlen(SETTING_BEFORE)), strlen(SETTING_BEFORE));
	close(fd);
}

static enum team_kind kind_to_start;
static int (*work_to_do)(struct worker *worker);
static int (*setup_to_do)(struct worker *worker);

static int begin_chosen(struct run *run, struct iteration *iteration)
{
	const struct team_spec spec = {
		.name = "doomed", .kind = kind_to_start, .count = 3, .setup = setup_to_do, .work = work_to_do,
	};

	(void)run;
	return iteration_add_team(iteration, &spec);
}

static const struct workload doomed = {
	.name = "doomed", .prepare = change_things, .begin = begin_chosen, .cleanup = note_cleanup,
};

static int run_doomed(enum team_kind kind, int (*setup)(struct worker *), int (*work)(struct worker *), const char *says)
{
	int fd, status;

	reset_setting();
	kind_to_start = kind;
	setup_to_do = setup;
	work_to_do = work;
	status = finish(start(&doomed, 3, &fd));
	expect_end(fd, "failed", says);
	expect_all_put_back();
	close(fd);
	return status;
}

static void a_worker_that_dies_is_named(void **state)
{
	(void)state;
	assert_int_equal(run_doomed(TEAM_PROCESSES, NULL, die, "process 1 of team 'doomed' was killed by signal 11"),
			 STATUS_FAILED);
	assert_int_equal(told->cleaned, 1);
	assert_int_equal(run_doomed(TEAM_CHILD_THREADS, NULL, die, "process 0 of team 'doomed' was killed by signal 11"),
			 STATUS_FAILED);
	/* Its thread takes the measuring process along: the supervisor says so and cleans up all the same. */
	assert_int_equal(run_doomed(TEAM_THREADS, NULL, die, "the measuring process was killed by signal 11"), STATUS_FAILED);
}

static int refuse(struct worker *worker)
{
	return worker->index == 2 ? -ENOSPC : 0;
}

static void a_worker_that_fails_is_named(void **state)
{
	const enum team_kind kinds[] = { TEAM_PROCESSES, TEAM_CHILD_THREADS, TEAM_THREADS };

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(run_doomed(kinds[i], refuse, refuse, "setup of worker 2 of team 'doomed': No space left"),
				 STATUS_FAILED);
		assert_int_equal(run_doomed(kinds[i], NULL, refuse, "work of worker 2 of team 'doomed': No space left"),
				 STATUS_FAILED);
		assert_int_equal(told->cleaned, 1);
	}
}

static int leave(struct worker *worker)
{
	(void)worker;
	_exit(7);
}

static void a_worker_that_exits_is_named(void **state)
{
	(void)state;
	assert_int_equal(run_doomed(TEAM_PROCESSES, leave, refuse, "exited with status 7 before its work was done"),
			 STATUS_FAILED);
}

static int begin_fails(struct run *run, struct iteration *iteration)
{
	(void)iteration;
	return run_fail(run, -ENOMEM, "no room for %d pages", 5);
}

static int never(struct run *run, char *reason, size_t reason_size)
{
	(void)run;
	snprintf(reason, reason_size, "this kernel lacks it");
	return -EOPNOTSUPP;
}

static void callbacks_explain_themselves(void **state)
{
	static const struct workload failing = { .name = "failing", .begin = begin_fails, .cleanup = note_cleanup };
	static const struct workload unsupported = { .name = "unsupported", .supported = never, .begin = begin_fails };
	json_t *frame;
	int fd;

	(void)state;
	assert_int_equal(finish(start(&failing, 1, &fd)), STATUS_FAILED);
	expect_end(fd, "failed", "no room for 5 pages");
	assert_int_equal(told->cleaned, 1);
	close(fd);
	assert_int_equal(finish(start(&unsupported, 1, &fd)), STATUS_UNSUPPORTED);
	expect_end(fd, "unsupported", "this kernel lacks it");
	frame = frame_of(fd, "start", 0);
	assert_non_null(json_object_get(frame, "facts"));
	json_decref(frame);
	close(fd);
}

/* A grandchild in a session of its own, as a daemon would be. */
static int leave_orphan(struct run *run, struct iteration *iteration)
{
	int status;
	pid_t child = fork();

	(void)run;
	(void)iteration;
	if (!child) {
		setsid();
		child = fork();
		if (!child) {
			told->orphan = getpid();
			for (;;)
				pause();
		}
		_exit(0);
	}
	waitpid(child, &status, 0);
	while (!*(volatile pid_t *)&told->orphan)
		sched_yield();
	return 0;
}

static void no_process_is_left(void **state)
{
	static const struct workload made_up = { .name = "orphans", .work = leave_orphan };
	int fd;

	(void)state;
	assert_int_equal(finish(start(&made_up, 1, &fd)), STATUS_DONE);
	assert_true(told->orphan > 0);
	assert_int_equal(kill(told->orphan, 0), -1);
	close(fd);
}

static int kill_self(struct run *run, struct iteration *iteration)
{
	(void)run;
	(void)iteration;
	return kill(getpid(), SIGKILL);
}

static void settings_survive_a_kill(void **state)
{
	static const struct workload made_up = { .name = "killed", .prepare = change_things, .work = kill_self };
	int fd;

	(void)state;
	reset_setting();
	assert_int_equal(finish(start(&made_up, 1, &fd)), STATUS_FAILED);
	expect_end(fd, "failed", "killed by signal 9");
	expect_all_put_back();
	close(fd);
}

static int wait_for_ever(struct worker *worker)
{
	told->pids[worker->index] = getpid();
	for (;;)
		pause();
	return 0;
}

static void an_interrupt_ends_it_in_order(void **state)
{
	const struct timespec moment = { .tv_nsec = 5000000 };
	int fd;
	pid_t pid;

	(void)state;
	reset_setting();
	kind_to_start = TEAM_PROCESSES;
	setup_to_do = NULL;
	work_to_do = wait_for_ever;
	pid = start(&doomed, 1, &fd);
	while (!*(volatile int *)&told->pids[0] || !*(volatile int *)&told->pids[1] || !*(volatile int *)&told->pids[2])
		nanosleep(&moment, NULL);
	kill(pid, SIGTERM);
	assert_int_equal(finish(pid), STATUS_ENVIRONMENT);
	expect_end(fd, "failed", "interrupted by signal 15");
	assert_int_equal(told->cleaned, 1);
	expect_all_put_back();
	for (int i = 0; i < 3; i++)
		assert_int_equal(kill(told->pids[i], 0), -1);
	close(fd);
}

static int set_up(void **state)
{
	int fd = mkstemp(setting_path);

	(void)state;
	close(fd);
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return fd < 0 || told == MAP_FAILED;
}

static int tear_down(void **state)
{
	(void)state;
	munmap(told, sizeof(*told));
	return unlink(setting_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_kinds_of_team),
		cmocka_unit_test(a_worker_that_dies_is_named),
		cmocka_unit_test(a_worker_that_fails_is_named),
		cmocka_unit_test(a_worker_that_exits_is_named),
		cmocka_unit_test(callbacks_explain_themselves),
		cmocka_unit_test(no_process_is_left),
		cmocka_unit_test(settings_survive_a_kill),
		cmocka_unit_test(an_interrupt_ends_it_in_order),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
