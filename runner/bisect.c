// SPDX-License-Identifier: GPL-2.0-or-later
#include "bisect.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/files.h"
#include "common/spawn.h"

#define GIT_TIMEOUT_MS 60000
#define OUTPUT_LIMIT (64U << 20)

static int git(const struct bisect_state *state, const char *const *arguments, size_t count, char **output)
{
	const char **argv = calloc(count + 6, sizeof(*argv));
	int status = 0, error;

	if (!argv)
		abort();
	argv[0] = "git";
	argv[1] = "-C";
	argv[2] = state->repository;
	argv[3] = "-c";
	argv[4] = "core.hooksPath=/dev/null";
	memcpy(argv + 5, arguments, count * sizeof(*argv));
	error = run_capture(argv, &(struct spawn_options){ .input = -1, .error = -1 }, GIT_TIMEOUT_MS, OUTPUT_LIMIT, output, &status);
	free(argv);
	if (!error && (!WIFEXITED(status) || WEXITSTATUS(status))) {
		free(*output);
		return -ENOENT;
	}
	return error;
}

static int resolve(const struct bisect_state *state, const char *name, char commit[COMMIT_TEXT])
{
	char *wanted = text_format("%s^{commit}", name), *output;
	const char *const arguments[] = { "rev-parse", "--verify", "--quiet", "--end-of-options", wanted };
	int error = git(state, arguments, 5, &output);

	free(wanted);
	if (error)
		return error;
	output[strcspn(output, "\n")] = '\0';
	snprintf(commit, COMMIT_TEXT, "%s", output);
	free(output);
	return 0;
}

static void append(char (**list)[COMMIT_TEXT], size_t *count, const char *commit)
{
	char (*larger)[COMMIT_TEXT] = realloc(*list, (*count + 1) * sizeof(**list));

	if (!larger)
		abort();
	snprintf(larger[*count], COMMIT_TEXT, "%s", commit);
	*list = larger;
	*count += 1;
}

int bisect_start(struct bisect_state *state, const char *repository, const char *good, const char *bad,
		 char *reason, size_t reason_size)
{
	char commit[COMMIT_TEXT], *output;
	const char *const ancestor[] = { "merge-base", "--is-ancestor", commit, state->bad };
	int error;

	memset(state, 0, sizeof(*state));
	state->repository = repository;
	if (resolve(state, good, commit)) {
		snprintf(reason, reason_size, "%s has no commit '%s'; name one with --good", repository, good);
		return -ENOENT;
	}
	if (resolve(state, bad, state->bad)) {
		snprintf(reason, reason_size, "%s has no commit '%s'; name one with --bad", repository, bad);
		return -ENOENT;
	}
	error = git(state, ancestor, 4, &output);
	if (error || !strcmp(commit, state->bad)) {
		snprintf(reason, reason_size, "'%s' is not older than '%s'; exchange --good and --bad", good, bad);
		return -EINVAL;
	}
	free(output);
	bisect_mark_good(state, commit);
	return 0;
}

static bool is_skipped(const struct bisect_state *state, const char *commit)
{
	for (size_t i = 0; i < state->skipped_count; i++)
		if (!strcmp(state->skipped[i], commit))
			return true;
	return false;
}

int bisect_next(const struct bisect_state *state, char commit[COMMIT_TEXT], size_t *left)
{
	const char **arguments = calloc(state->good_count + 4, sizeof(*arguments));
	size_t count = 0;
	char *output, *line, *rest;
	bool found = false, skipped = false;
	int error;

	if (!arguments)
		abort();
	arguments[count++] = "rev-list";
	arguments[count++] = "--bisect-all";
	arguments[count++] = state->bad;
	arguments[count++] = "--not";
	for (size_t i = 0; i < state->good_count; i++)
		arguments[count++] = state->good[i];
	error = git(state, arguments, count, &output);
	free(arguments);
	if (error)
		return error;
	*left = 0;
	rest = output;
	/* "HASH (dist=N)", the best halving first. */
	while ((line = strsep(&rest, "\n")) && *line) {
		line[strcspn(line, " ")] = '\0';
		*left += 1;
		if (!strcmp(line, state->bad))
			continue;
		if (is_skipped(state, line))
			skipped = true;
		else if (!found)
			snprintf(commit, COMMIT_TEXT, "%s", line);
		found = found || !is_skipped(state, line);
	}
	free(output);
	return found ? 0 : skipped ? -EAGAIN : -ENODATA;
}

char *bisect_describe(const struct bisect_state *state, const char *commit)
{
	const char *const arguments[] = { "log", "-1", "--no-color", "--date=short", "--format=  %s%n  %an, %ad", commit };
	char *output;

	if (git(state, arguments, 6, &output))
		return NULL;
	for (char *c = output; *c; c++)
		if ((unsigned char)*c < ' ' && *c != '\n')
			*c = ' ';
	return output;
}

void bisect_mark_good(struct bisect_state *state, const char *commit)
{
	append(&state->good, &state->good_count, commit);
}

void bisect_mark_bad(struct bisect_state *state, const char *commit)
{
	snprintf(state->bad, sizeof(state->bad), "%s", commit);
}

void bisect_mark_skipped(struct bisect_state *state, const char *commit)
{
	append(&state->skipped, &state->skipped_count, commit);
}

void bisect_free(struct bisect_state *state)
{
	free(state->good);
	free(state->skipped);
	memset(state, 0, sizeof(*state));
}
