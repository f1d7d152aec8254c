// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../runner/common/files.h"
#include "git.h"

#define WORDS_MAXIMUM 48
#define OUTPUT_LIMIT (64U << 20)

static const char *const settings[] = {
	"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.autocrlf=false",
	"-c", "core.attributesFile=/dev/null", "-c", "core.excludesFile=/dev/null", "-c", "gc.auto=0",
	"-c", "maintenance.auto=false", "-c", "core.fsync=none", "-c", "core.compression=1", "-c", "checkout.workers=0",
	"-c", "index.threads=true", "-c", "advice.detachedHead=false", "-c", "commit.gpgSign=false",
};

/* A person who names somebody else's repository means to read it; nothing of it is executed (see above). */
static char *trust(const struct git *git)
{
	char *real = git->from ? realpath(git->from, NULL) : NULL;
	char *text = text_format("safe.directory=%s", real ? real : "");

	free(real);
	return text;
}

static size_t gather(const char **words, const struct git *git, const char *trusted, va_list arguments)
{
	size_t count = 0;
	const char *word;

	words[count++] = "git";
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		words[count++] = settings[i];
	words[count++] = "-c";
	words[count++] = trusted;
	if (git->from) {
		words[count++] = "-C";
		words[count++] = git->from;
	}
	while ((word = va_arg(arguments, const char *)) && count < WORDS_MAXIMUM)
		words[count++] = word;
	words[count] = NULL;
	return count;
}

static int start(const struct git *git, int output, int errors, struct child *child, va_list arguments)
{
	const char *words[WORDS_MAXIMUM + 1];
	char *directory = git->directory ? text_format("GIT_DIR=%s", git->directory) : NULL;
	char *index = git->index ? text_format("GIT_INDEX_FILE=%s", git->index) : NULL;
	char *work_tree = git->work_tree ? text_format("GIT_WORK_TREE=%s", git->work_tree) : NULL;
	char *trusted = trust(git);
	const char *environment[] = {
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C", "TZ=UTC",
		"GIT_AUTHOR_NAME=shootdown", "GIT_AUTHOR_EMAIL=shootdown@localhost", "GIT_AUTHOR_DATE=1577836800 +0000",
		"GIT_COMMITTER_NAME=shootdown", "GIT_COMMITTER_EMAIL=shootdown@localhost",
		"GIT_COMMITTER_DATE=1577836800 +0000",
		"GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG", "GIT_OBJECT_DIRECTORY",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_TRACE", "GIT_EXTERNAL_DIFF",
		directory ? directory : "GIT_DIR", index ? index : "GIT_INDEX_FILE",
		work_tree ? work_tree : "GIT_WORK_TREE", NULL,
	};
	struct spawn_options options = {
		.environment = environment, .input = git->input ? git->input : -1, .output = output, .error = errors,
		.no_network = true,
	};
	int error;

	gather(words, git, trusted, arguments);
	error = spawn(words, &options, child);
	free(trusted);
	free(work_tree);
	free(index);
	free(directory);
	return error;
}

int git_start(const struct git *git, int output, struct child *child, ...)
{
	va_list arguments;
	int error;

	va_start(arguments, child);
	error = start(git, output, -1, child, arguments);
	va_end(arguments);
	return error;
}

/* The whole of a memory file as text without its last newline. */
static int take_text(int fd, char **text)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *data = size >= 0 && size <= OUTPUT_LIMIT ? malloc((size_t)size + 1) : NULL;

	if (!data)
		return size > OUTPUT_LIMIT ? -EFBIG : -ENOMEM;
	if (pread(fd, data, (size_t)size, 0) != size) {
		free(data);
		return -EIO;
	}
	if (size && data[size - 1] == '\n')
		size--;
	data[size] = '\0';
	*text = data;
	return 0;
}

int git_run(const struct git *git, char **output, char **errors, ...)
{
	int output_fd = output ? memfd_create("git-output", MFD_CLOEXEC) : -1;
	int errors_fd = errors ? memfd_create("git-errors", MFD_CLOEXEC) : -1;
	char *output_text = NULL, *errors_text = NULL;
	struct child child;
	va_list arguments;
	int status, error;

	va_start(arguments, errors);
	error = start(git, output_fd, errors_fd, &child, arguments);
	va_end(arguments);
	if (!error) {
		error = child_wait(&child, -1, &status);
		if (error)
			child_end(&child, 2000);
	}
	if (!error && output)
		error = take_text(output_fd, &output_text);
	if (!error && errors)
		error = take_text(errors_fd, &errors_text);
	if (output_fd >= 0)
		close(output_fd);
	if (errors_fd >= 0)
		close(errors_fd);
	if (error) {
		free(output_text);
		return error;
	}
	if (output)
		*output = output_text;
	if (errors)
		*errors = errors_text;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

const char *git_reason(char *errors)
{
	static const char *const marks[] = { "fatal: ", "error: " };

	for (size_t i = 0; errors && i < sizeof(marks) / sizeof(marks[0]); i++) {
		char *line = strstr(errors, marks[i]);

		if (line) {
			line += strlen(marks[i]);
			line[strcspn(line, "\n")] = '\0';
			return line;
		}
	}
	if (!errors || !*errors)
		return "no reason given";
	errors[strcspn(errors, "\n")] = '\0';
	return errors;
}
