// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "nearest.h"

struct parsed {
	const struct command_option *options;
	size_t option_count;
	const char **positional;
	const char ***values;	/* of each option, NULL-terminated */
};

static size_t count_options(const struct command_option *options)
{
	size_t count = 0;

	while (options && options[count].name)
		count++;
	return count;
}

static long find_option(const struct parsed *parsed, const char *word, size_t length, char letter)
{
	for (size_t i = 0; i < parsed->option_count; i++) {
		const struct command_option *option = &parsed->options[i];

		if (letter ? option->letter == letter
			   : strlen(option->name) == length && !strncmp(option->name, word, length))
			return (long)i;
	}
	return -1;
}

static void add_value(struct parsed *parsed, size_t index, const char *value)
{
	size_t count = 0;
	const char **values = parsed->values[index];

	while (values && values[count])
		count++;
	values = realloc(values, (count + 2) * sizeof(*values));
	if (!values)
		abort();
	values[count] = value;
	values[count + 1] = NULL;
	parsed->values[index] = values;
}

static int unknown_option(const struct parsed *parsed, const char *word, char *reason, size_t reason_size)
{
	const char **names = calloc(parsed->option_count + 2, sizeof(*names));
	char hint[96] = "", plain[64];

	if (!names)
		abort();
	for (size_t i = 0; i < parsed->option_count; i++)
		names[i] = parsed->options[i].name;
	names[parsed->option_count] = "help";
	snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	nearest_hint(plain, names, hint, sizeof(hint));
	free(names);
	snprintf(reason, reason_size, "unknown option '%.*s'%s", (int)strcspn(word, "="), word, hint);
	return -EINVAL;
}

/* One option, long or short, at argv[*position]; moves *position past its value. */
static int parse_option(struct parsed *parsed, int argc, const char *const *argv, int *position,
			char *reason, size_t reason_size)
{
	const char *word = argv[*position], *equals = NULL, *value = NULL;
	long index;

	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		return -ECANCELED;
	if (word[1] == '-') {
		equals = strchr(word, '=');
		index = find_option(parsed, word + 2, equals ? (size_t)(equals - word) - 2 : strlen(word + 2), 0);
		value = equals ? equals + 1 : NULL;
	} else {
		index = find_option(parsed, NULL, 0, word[1]);
		value = word[2] ? word + 2 : NULL;
	}
	if (index < 0)
		return unknown_option(parsed, word, reason, reason_size);
	const struct command_option *option = &parsed->options[index];

	if (!option->argument && value) {
		snprintf(reason, reason_size, "option --%s takes no value", option->name);
		return -EINVAL;
	}
	if (option->argument && !value) {
		if (*position + 1 >= argc) {
			snprintf(reason, reason_size, "option --%s needs a value: %s", option->name, option->argument);
			return -EINVAL;
		}
		value = argv[++*position];
	}
	if (!option->repeats && parsed->values[index]) {
		snprintf(reason, reason_size, "option --%s is given twice", option->name);
		return -EINVAL;
	}
	add_value(parsed, (size_t)index, value ? value : "");
	return 0;
}

static int check_count(const struct command *command, int count, char *reason, size_t reason_size)
{
	if (count < command->minimum) {
		snprintf(reason, reason_size, "too few arguments; usage: shootdown %s %s", command->name, command->usage);
		return -EINVAL;
	}
	if (command->maximum >= 0 && count > command->maximum) {
		snprintf(reason, reason_size, "too many arguments; usage: shootdown %s %s", command->name, command->usage);
		return -EINVAL;
	}
	return 0;
}

int arguments_parse(const struct command *command, int argc, const char *const *argv,
		    struct command_arguments *arguments, char *reason, size_t reason_size)
{
	struct parsed *parsed = calloc(1, sizeof(*parsed));
	int error = 0, count = 0;

	memset(arguments, 0, sizeof(*arguments));
	if (!parsed)
		abort();
	parsed->options = command->options;
	parsed->option_count = count_options(command->options);
	parsed->values = calloc(parsed->option_count + 1, sizeof(*parsed->values));
	parsed->positional = calloc((size_t)argc + 1, sizeof(*parsed->positional));
	if (!parsed->values || !parsed->positional)
		abort();
	arguments->parsed = parsed;
	for (int i = 0; i < argc && !error; i++) {
		if (!strcmp(argv[i], "--")) {
			arguments->rest = argv + i + 1;
			arguments->rest_count = argc - i - 1;
			break;
		}
		if (argv[i][0] == '-' && argv[i][1])
			error = parse_option(parsed, argc, argv, &i, reason, reason_size);
		else
			parsed->positional[count++] = argv[i];
	}
	arguments->count = count;
	arguments->values = parsed->positional;
	return error ? error : check_count(command, count, reason, reason_size);
}

void arguments_free(struct command_arguments *arguments)
{
	struct parsed *parsed = (struct parsed *)arguments->parsed;

	for (size_t i = 0; parsed && i < parsed->option_count; i++)
		free(parsed->values[i]);
	if (parsed) {
		free(parsed->values);
		free(parsed->positional);
	}
	free(parsed);
}

const char *const *argument_options(const struct command_arguments *arguments, const char *name)
{
	static const char *const none[] = { NULL };
	const struct parsed *parsed = arguments->parsed;
	long index = find_option(parsed, name, strlen(name), 0);

	return index < 0 || !parsed->values[index] ? none : parsed->values[index];
}

const char *argument_option(const struct command_arguments *arguments, const char *name)
{
	const char *last = NULL;

	for (const char *const *value = argument_options(arguments, name); *value; value++)
		last = *value;
	return last;
}
