// SPDX-License-Identifier: GPL-2.0-or-later
/* A real make, in a copy of the directory that the user names. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workloads/fork-exec-make/make.h"

/* Runs a program in `directory` and waits for it; what it says goes into the file `log`. *status as of waitpid. */
static int run_program(const char *const *arguments, const char *directory, const char *log, int *status)
{
	pid_t pid = fork();
	int fd;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
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

/* The last line that is not empty: where make, cp and compilers say what went wrong. */
static void last_line(const char *log, char *last, size_t size)
{
	FILE *file = fopen(log, "re");
	char *line = NULL;
	size_t length = 0;

	last[0] = '\0';
	while (file && getline(&line, &length, file) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0])
			snprintf(last, size, "%s", line);
	}
	free(line);
	if (file)
		fclose(file);
}

static int run_checked(struct run *run, const char *const *arguments, const char *directory, const char *log)
{
	char last[256];
	int status, error = run_program(arguments, directory, log, &status);

	if (error)
		return run_fail(run, error, "starting %s: %s", arguments[0], strerror(-error));
	if (WIFEXITED(status) && WEXITSTATUS(status) && WEXITSTATUS(status) != NOT_STARTED) {
		last_line(log, last, sizeof(last));
		return run_fail(run, -ECHILD, "%s ended with status %d: %s", arguments[0], WEXITSTATUS(status), last);
	}
	return check_status(run, status, arguments[0]);
}

int real_copy(struct run *run, struct make *state)
{
	const struct make_options *chosen = run_options(run);
	const char *ours = run_tree(run, chosen->real), *from = ours ? ours : chosen->real;

	state->tree = format_text("%s/tree", state->directory);
	state->log = format_text("%s/make.log", state->directory);
	if (!state->tree || !state->log)
		return -ENOMEM;
	return run_checked(run, (const char *const[]){ "cp", "-a", "--", from, state->tree, NULL }, ".", state->log);
}

int real_clean(struct run *run, const struct make *state)
{
	return run_checked(run, (const char *const[]){ "make", "clean", NULL }, state->tree, state->log);
}

int real_run(struct run *run)
{
	const struct make_options *chosen = run_options(run);
	struct make *state = run_private(run);
	const char *target = chosen->target[0] ? chosen->target : NULL;
	char width[32];
	const char *arguments[] = { "make", "--trace", width, "--", target, NULL };
	struct rusage before, after;
	int error;

	snprintf(width, sizeof(width), "-j%" PRIu64, chosen->jobs);
	getrusage(RUSAGE_CHILDREN, &before);
	error = run_checked(run, arguments, state->tree, state->log);
	getrusage(RUSAGE_CHILDREN, &after);
	timersub(&after.ru_utime, &before.ru_utime, &state->usage.ru_utime);
	timersub(&after.ru_stime, &before.ru_stime, &state->usage.ru_stime);
	state->usage.ru_minflt = after.ru_minflt - before.ru_minflt;
	return error;
}

/* `make --trace` says before each recipe it runs: "Makefile:12: target 'x' does not exist" or "... update target 'x' ...". */
int real_count(const struct make *state, uint64_t *recipes)
{
	FILE *file = fopen(state->log, "re");
	char *line = NULL;
	size_t size = 0;

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
