// SPDX-License-Identifier: GPL-2.0-or-later
/* shootdown COMMAND: finds the command, parses its arguments, runs it, and checks that its output was written. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/arguments.h"
#include "common/command.h"
#include "common/interrupt.h"
#include "common/message.h"
#include "common/nearest.h"
#include "common/version.h"

#define COMMANDS_MAXIMUM 32

static const struct command *find_command(const char *name)
{
	for (const struct command *const *entry = command_next(NULL); entry; entry = command_next(entry))
		if (!strcmp((*entry)->name, name))
			return *entry;
	return NULL;
}

static int compare_commands(const void *a, const void *b)
{
	const struct command *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

static void print_usage(FILE *stream)
{
	const struct command *commands[COMMANDS_MAXIMUM];
	size_t count = 0;

	for (const struct command *const *entry = command_next(NULL); entry && count < COMMANDS_MAXIMUM;
	     entry = command_next(entry))
		commands[count++] = *entry;
	qsort(commands, count, sizeof(commands[0]), compare_commands);
	fprintf(stream, "usage: shootdown COMMAND [ARGUMENT]...\n\n");
	for (size_t i = 0; i < count; i++)
		fprintf(stream, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(stream, "\n'shootdown COMMAND --help' tells more of one.\n");
}

static void print_help(const struct command *command)
{
	printf("usage: shootdown %s %s\n\n%s.\n", command->name, command->usage, command->summary);
	for (const struct command_option *option = command->options; option && option->name; option++) {
		char names[80];
		int used = option->letter ? snprintf(names, sizeof(names), "-%c, ", option->letter)
					  : snprintf(names, sizeof(names), "    ");

		snprintf(names + used, sizeof(names) - (size_t)used, "--%s%s%s", option->name, option->argument ? " " : "",
			 option->argument ? option->argument : "");
		printf("%s  %-28s %s%s\n", option == command->options ? "\n" : "", names, option->help,
		       option->repeats ? " (may be repeated)" : "");
	}
	if (command->help)
		printf("\n%s\n", command->help);
}

static int unknown_command(const char *word)
{
	const char *names[COMMANDS_MAXIMUM + 1];
	size_t count = 0;
	char hint[96];

	for (const struct command *const *entry = command_next(NULL); entry && count < COMMANDS_MAXIMUM;
	     entry = command_next(entry))
		names[count++] = (*entry)->name;
	names[count] = NULL;
	nearest_hint(word, names, hint, sizeof(hint));
	return report(EXIT_USAGE, "unknown command '%s'%s; 'shootdown --help' lists them", word, hint);
}

static int run_command(const struct command *command, int argc, const char *const *argv)
{
	struct command_arguments arguments;
	char reason[512];
	int status, error = arguments_parse(command, argc, argv, &arguments, reason, sizeof(reason));

	if (error == -ECANCELED) {
		print_help(command);
		status = EXIT_DONE;
	} else if (error) {
		status = report(EXIT_USAGE, "%s: %s; 'shootdown %s --help' lists the options", command->name, reason,
				command->name);
	} else {
		status = command->run(&arguments);
	}
	arguments_free(&arguments);
	return status;
}

/* Output that was not written (a full disk, a closed pipe) is a failure of the command. */
static int close_output(int status)
{
	if (fflush(stdout) || ferror(stdout))
		return status ? status : report(EXIT_ENVIRONMENT, "standard output could not be written: %s", strerror(errno));
	return status;
}

int main(int argc, char **argv)
{
	const struct command *command;

	interrupt_handlers_install();
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_usage(stdout);
		return close_output(EXIT_DONE);
	}
	if (!strcmp(argv[1], "--version")) {
		printf("shootdown %s\n", shootdown_version);
		return close_output(EXIT_DONE);
	}
	command = find_command(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	return close_output(run_command(command, argc - 2, (const char *const *)argv + 2));
}
