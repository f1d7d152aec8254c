/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command of shootdown: one cmd-NAME.c, found through a linker section.
 * Its option rows make the parser, --help, the man page and the completions.
 */
#ifndef SHOOTDOWN_COMMAND_H
#define SHOOTDOWN_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct command_option {
	const char *name;	/* long, without dashes; NULL ends the table */
	char letter;		/* 0: none */
	const char *argument;	/* "SPEC"; NULL: a flag */
	bool repeats;
	const char *help;
};

struct command_arguments {
	int count;			/* positional ones */
	const char *const *values;
	int rest_count;			/* what followed "--" */
	const char *const *rest;	/* NULL-terminated; NULL when there was no "--" */
	const void *parsed;		/* of the parser */
};

struct command {
	const char *name;	/* "run", "kernel" */
	const char *usage;	/* "SUITE|WORKLOAD [OPTION]..." */
	const char *summary;
	const char *help;	/* further lines for --help and the man page; may be NULL */
	const struct command_option *options;
	int minimum, maximum;	/* positional arguments; maximum -1: any number */
	int (*run)(const struct command_arguments *arguments);	/* returns the exit status */
};

/* Value of an option: the last given, NULL when absent; a flag gives "". */
const char *argument_option(const struct command_arguments *arguments, const char *name);
/* All values of a repeatable option in order, NULL-terminated; borrowed. */
const char *const *argument_options(const struct command_arguments *arguments, const char *name);

const struct command *const *command_next(const struct command *const *previous);

#define COMMAND_REGISTER(command_struct) \
	static const struct command *const command_entry __attribute__((used, section("shootdown_commands"))) = &(command_struct)

#endif
