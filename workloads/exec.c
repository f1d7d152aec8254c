// SPDX-License-Identifier: GPL-2.0-or-later
/* The region of interest is the user's own command: shootdown run --exec -- COMMAND ARGUMENT... */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

struct exec_options {
	uint64_t status;
	bool output;
};

static const struct workload_option exec_rows[] = {
	{ .name = "status", .type = OPTION_COUNT, .offset = offsetof(struct exec_options, status), .default_text = "0", .maximum = 255,
	  .unit = "exit status", .help = "exit status that counts as success" },
	{ .name = "output", .type = OPTION_FLAG, .offset = offsetof(struct exec_options, output), .default_text = "no",
	  .help = "keep the command's standard output (it goes to standard error)" },
	{ .name = NULL },
};

static const struct workload_metric exec_metrics[] = {
	{ "score", "commands/s", METRIC_TIME, HIGHER_IS_BETTER, "One over the time from fork to the end of the command." },
	{ "elapsed", "ns", METRIC_TIME, LOWER_IS_BETTER, "Time from fork to the end of the command." },
	{ NULL, NULL, METRIC_TIME, NEITHER_IS_BETTER, NULL },
};

static int exec_prepare(struct run *run)
{
	return run_command(run) ? 0 : run_fail(run, -EINVAL, "no command; write it after '--'");
}

static int exec_begin(struct run *run, struct iteration *iteration)
{
	(void)run;
	(void)iteration;
	return 0;
}

static void become_command(const struct exec_options *options, char *const *command)
{
	int null = open("/dev/null", O_RDWR);

	if (null >= 0) {
		dup2(null, 0);
		dup2(options->output ? 2 : null, 1);
	}
	execvp(command[0], command);
	_exit(errno == ENOENT ? 127 : 126);
}

static int exec_work(struct run *run, struct iteration *iteration)
{
	const struct exec_options *options = run_options(run);
	char *const *command = run_command(run);
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return run_fail(run, -errno, "fork: %s", strerror(errno));
	if (pid == 0)
		become_command(options, command);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return run_fail(run, -errno, "waitpid: %s", strerror(errno));
	iteration_count(iteration, 1, 0);
	if (WIFSIGNALED(status))
		return run_fail(run, -ECHILD, "'%s' was killed by signal %d", command[0], WTERMSIG(status));
	if (WEXITSTATUS(status) == 127)
		return run_fail(run, -ENOENT, "'%s' was not found, or did not find a program itself (status 127)", command[0]);
	if ((uint64_t)WEXITSTATUS(status) != options->status)
		return run_fail(run, -ECHILD, "'%s' ended with status %d, not %llu", command[0], WEXITSTATUS(status),
				(unsigned long long)options->status);
	return 0;
}

static int exec_end(struct run *run, struct iteration *iteration)
{
	(void)run;
	iteration_metric(iteration, "score", 1 / iteration_seconds(iteration));
	iteration_metric(iteration, "elapsed", iteration_seconds(iteration) * 1e9);
	return 0;
}

const struct workload workload = {
	.contract = WORKLOAD_CONTRACT,
	.name = "exec",
	.summary = "the user's own command, counted like a workload",
	.operation = "command",
	.options_size = sizeof(struct exec_options),
	.options = exec_rows,
	.metrics = exec_metrics,
	.takes_command = true,
	.prepare = exec_prepare,
	.begin = exec_begin,
	.work = exec_work,
	.end = exec_end,
};
