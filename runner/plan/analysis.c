// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/message.h"
#include "../common/paths.h"
#include "../common/spawn.h"
#include "analysis.h"

/* Debian's own interpreter: the first python3 on PATH may be one without the distribution's packages. */
static const char *interpreter(void)
{
	const char *chosen = getenv("SHOOTDOWN_PYTHON");

	return chosen && *chosen ? chosen : "/usr/bin/python3";
}

static char *python_path(void)
{
	char *directory = path_python();
	char *variable = text_format("PYTHONPATH=%s", directory);

	free(directory);
	return variable;
}

static int wait_for_status(struct child *child)
{
	int status, error = child_wait(child, -1, &status);

	if (error) {
		child_end(child, 1000);
		return report(EXIT_ENVIRONMENT, "analysis was interrupted: %s", strerror(-error));
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return report(EXIT_INTERNAL, "analysis ended by signal %d; run the command again with more memory", WTERMSIG(status));
}

int analysis_run(const char *name, const char *const *arguments)
{
	const char *argv[256] = { interpreter(), "-m", "analysis", name };
	char *path = python_path();
	const char *environment[] = { path, NULL };
	const struct spawn_options options = {
		.environment = environment, .input = SPAWN_INHERIT, .output = SPAWN_INHERIT, .error = SPAWN_INHERIT,
	};
	struct child child;
	size_t count = 4;
	int error;

	for (; *arguments; arguments++) {
		if (count >= sizeof(argv) / sizeof(argv[0]) - 1) {
			free(path);
			return report(EXIT_USAGE, "%s: more than %zu arguments", name, count);
		}
		argv[count++] = *arguments;
	}
	fflush(stdout);
	error = spawn(argv, &options, &child);
	free(path);
	if (error)
		return report(EXIT_ENVIRONMENT, "cannot start %s: %s; install python3 and the packages that 'make packages' lists",
			      argv[0], strerror(-error));
	return wait_for_status(&child);
}

int analysis_command(const char *name, const struct command_arguments *arguments, const struct command_option *options)
{
	const char *argv[256];
	size_t count = 0, limit = sizeof(argv) / sizeof(argv[0]) - 3;
	char *flags[256];
	size_t flag_count = 0;
	int status;

	for (int i = 0; i < arguments->count && count < limit; i++)
		argv[count++] = arguments->values[i];
	for (const struct command_option *option = options; option->name; option++) {
		for (const char *const *value = argument_options(arguments, option->name); *value && count < limit; value++) {
			flags[flag_count] = option->argument ? text_format("--%s=%s", option->name, *value)
							     : text_format("--%s", option->name);
			argv[count++] = flags[flag_count++];
		}
	}
	argv[count] = NULL;
	status = count < limit ? analysis_run(name, argv) : report(EXIT_USAGE, "%s: more than %zu arguments", name, limit);
	while (flag_count)
		free(flags[--flag_count]);
	return status;
}

static int question_file(const json_t *question)
{
	char *text = json_dumps(question, JSON_COMPACT);
	int fd = memfd_create("question", MFD_CLOEXEC);
	size_t length = text ? strlen(text) : 0;

	if (fd >= 0 && (!text || write(fd, text, length) != (ssize_t)length || lseek(fd, 0, SEEK_SET))) {
		close(fd);
		fd = -1;
	}
	free(text);
	return fd;
}

int analysis_ask(const json_t *question, json_t **answer, char *reason, size_t reason_size)
{
	const char *argv[] = { interpreter(), "-m", "analysis", "ask", NULL };
	char *path = python_path(), *output = NULL;
	const char *environment[] = { path, NULL };
	struct spawn_options options = { .environment = environment, .error = SPAWN_INHERIT };
	json_error_t json_error;
	int status = 0, error;

	options.input = question_file(question);
	error = options.input < 0 ? -ENOMEM : run_capture(argv, &options, 600000, 16 << 20, &output, &status);
	if (options.input >= 0)
		close(options.input);
	free(path);
	if (error) {
		snprintf(reason, reason_size, "cannot run %s -m analysis: %s", argv[0], strerror(-error));
		return error;
	}
	*answer = WIFEXITED(status) && !WEXITSTATUS(status) ? json_loads(output, 0, &json_error) : NULL;
	free(output);
	if (*answer)
		return 0;
	snprintf(reason, reason_size, "the analysis gave no answer (exit status %d)", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return -EPROTO;
}
