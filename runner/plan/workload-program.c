// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/message.h"
#include "../common/paths.h"
#include "../common/spawn.h"
#include "workload-program.h"

#define ARGUMENTS_MAXIMUM 64
#define OUTPUT_LIMIT (1U << 20)
#define TIMEOUT_MS 20000

static bool is_executable_file(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

char **workload_names(void)
{
	char *directory = path_program(NULL, "workloads");
	char **names = path_names(directory, ""), **kept = names;

	for (char **name = names; *name; name++) {
		char *path = text_format("%s/%s", directory, *name);

		if (is_executable_file(path))
			*kept++ = *name;
		else
			free(*name);
		free(path);
	}
	*kept = NULL;
	free(directory);
	return names;
}

static char *program_path(const char *name)
{
	char *below = text_format("workloads/%s", name);
	char *path = path_program(NULL, below);

	free(below);
	return path;
}

bool workload_exists(const char *name)
{
	char *path;
	bool exists;

	if (strchr(name, '/') || name[0] == '.')
		return false;
	path = program_path(name);
	exists = is_executable_file(path);
	free(path);
	return exists;
}

int workload_ask(const char *name, const char *const *arguments, json_t **answer, char *reason, size_t reason_size)
{
	const char *argv[ARGUMENTS_MAXIMUM + 2];
	char *path = program_path(name), *output = NULL;
	size_t count = 0;
	int status = 0, error, error_file = -1;
	json_error_t json_error;
	FILE *errors = tmpfile();

	argv[count++] = path;
	for (; *arguments && count <= ARGUMENTS_MAXIMUM; arguments++)
		argv[count++] = *arguments;
	argv[count] = NULL;
	error_file = errors ? fileno(errors) : -1;
	error = run_capture(argv, &(struct spawn_options){ .input = -1, .error = error_file }, TIMEOUT_MS, OUTPUT_LIMIT,
			    &output, &status);
	if (error) {
		snprintf(reason, reason_size, "cannot run workload '%s': %s; build it with 'make'", name, strerror(-error));
	} else if (WIFSIGNALED(status)) {
		/* Nothing about the machine: a case may not be left out for it. */
		snprintf(reason, reason_size, "%s was killed by signal %d while it was asked %s; run this again", name, WTERMSIG(status),
			 argv[1] ? argv[1] : "");
		error = -EIO;
	} else if (WEXITSTATUS(status)) {
		char text[400] = "";

		rewind(errors);
		if (!fgets(text, sizeof(text), errors))
			snprintf(text, sizeof(text), "%s ended with status %d", name, WEXITSTATUS(status));
		text[strcspn(text, "\n")] = '\0';
		snprintf(reason, reason_size, "%s", text);
		error = WEXITSTATUS(status) == EXIT_USAGE ? -EINVAL : WEXITSTATUS(status) == EXIT_ENVIRONMENT ? -ENOSPC : -EIO;
	} else {
		*answer = json_loads(output, JSON_REJECT_DUPLICATES, &json_error);
		if (!*answer) {
			snprintf(reason, reason_size, "workload '%s' answered no JSON: %s", name, json_error.text);
			error = -EPROTO;
		}
	}
	if (errors)
		fclose(errors);
	free(output);
	free(path);
	return error;
}

/* A program describes itself in the same words for as long as this command runs: each question is asked once. */
static int ask_once(const char *name, const char *const *arguments, json_t **answer, char *reason, size_t reason_size)
{
	static json_t *answers;
	char *question = text_format("%s %s %s", name, arguments[0], arguments[1] ? arguments[1] : "");
	json_t *known = json_object_get(answers, question);
	int error = 0;

	if (!answers)
		answers = json_object();
	if (known)
		*answer = json_deep_copy(known);
	else
		error = workload_ask(name, arguments, answer, reason, reason_size);
	if (!known && !error)
		json_object_set_new(answers, question, json_deep_copy(*answer));
	free(question);
	return error ? error : *answer ? 0 : -ENOMEM;
}

int workload_describe(const char *name, json_t **description, char *reason, size_t reason_size)
{
	const char *const arguments[] = { "--describe", NULL };

	return ask_once(name, arguments, description, reason, reason_size);
}

/* "--name=value" of a scalar as YAML had it; caller frees. */
static char *option_argument(const char *name, const json_t *value)
{
	if (json_is_string(value))
		return text_format("--%s=%s", name, json_string_value(value));
	if (json_is_boolean(value))
		return text_format("--%s=%s", name, json_is_true(value) ? "yes" : "no");
	if (json_is_integer(value))
		return text_format("--%s=%" JSON_INTEGER_FORMAT, name, json_integer_value(value));
	return text_format("--%s=%.17g", name, json_real_value(value));
}

int workload_resolve(const char *name, const json_t *options, const struct guest_limits *limits,
		     json_t **resolved, char *reason, size_t reason_size)
{
	const char *arguments[ARGUMENTS_MAXIMUM + 1];
	char *owned[ARGUMENTS_MAXIMUM];
	size_t count = 0;
	const char *key;
	json_t *value;
	int error;

	owned[count] = text_format("--resolve=cpus=%u,nodes=%u,memory=%llu", limits->cpus, limits->nodes,
				   (unsigned long long)limits->memory_bytes);
	arguments[count] = owned[count];
	count++;
	json_object_foreach((json_t *)options, key, value) {
		if (count >= ARGUMENTS_MAXIMUM)
			break;
		owned[count] = option_argument(key, value);
		arguments[count] = owned[count];
		count++;
	}
	arguments[count] = NULL;
	error = workload_ask(name, arguments, resolved, reason, reason_size);
	while (count)
		free(owned[--count]);
	return error;
}

bool workload_probe_is_costly(const char *workload, const char *probe)
{
	static const char *const arguments[] = { "--list-probes", "--json", NULL };
	char *name = strndup(probe, strcspn(probe, ":")), reason[256];
	json_t *probes = NULL, *row;
	bool costly = false;
	size_t index;

	if (name && !workload_ask(workload, arguments, &probes, reason, sizeof(reason)))
		json_array_foreach(probes, index, row)
			if (!strcmp(json_string_value(json_object_get(row, "name")), name))
				costly = json_is_true(json_object_get(row, "costly"));
	json_decref(probes);
	free(name);
	return costly;
}

int workload_check_probe(const char *workload, const char *probe, char *reason, size_t reason_size)
{
	char *argument = text_format("--probe=%s", probe);
	const char *const arguments[] = { "--describe", argument, NULL };
	json_t *ignored = NULL;
	int error = ask_once(workload, arguments, &ignored, reason, reason_size);

	json_decref(ignored);
	free(argument);
	return error;
}
