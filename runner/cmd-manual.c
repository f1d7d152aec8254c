// SPDX-License-Identifier: GPL-2.0-or-later
/* manual: the man page, made from the option rows that the parser uses. */
#include <stdio.h>
#include <string.h>

#include "common/command.h"
#include "common/message.h"
#include "common/version.h"

/* A dash is a minus, and a dot or quote at the start of a line is a request, unless escaped. */
static void print_text(const char *text)
{
	for (const char *at = text; *at; at++) {
		if ((at == text || at[-1] == '\n') && (*at == '.' || *at == '\''))
			fputs("\\&", stdout);
		if (*at == '-' || *at == '\\')
			putchar('\\');
		putchar(*at);
	}
}

static void print_option(const struct command_option *option)
{
	printf(".TP\n");
	if (option->letter)
		printf("\\fB\\-%c\\fR, ", option->letter);
	printf("\\fB\\-\\-");
	print_text(option->name);
	printf("\\fR");
	if (option->argument) {
		printf(" \\fI");
		print_text(option->argument);
		printf("\\fR");
	}
	printf("\n");
	print_text(option->help);
	printf("%s\n", option->repeats ? " (may be repeated)" : "");
}

static void print_command(const struct command *command)
{
	printf(".SS shootdown %s ", command->name);
	print_text(command->usage);
	printf("\n");
	print_text(command->summary);
	printf(".\n");
	if (command->help) {
		print_text(command->help);
		printf("\n");
	}
	for (const struct command_option *option = command->options; option->name; option++)
		print_option(option);
}

static int run_manual(const struct command_arguments *arguments)
{
	(void)arguments;
	printf(".TH SHOOTDOWN 1 \"\" \"shootdown %s\"\n.SH NAME\nshootdown \\- what a kernel patch does to TLB flush IPIs and context switches\n"
	       ".SH SYNOPSIS\n\\fBshootdown\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR]...\n.SH COMMANDS\n", shootdown_version);
	for (const struct command *const *command = command_next(NULL); command; command = command_next(command))
		print_command(*command);
	printf(".SH EXIT STATUS\n0 done; 1 regression, broken, or a claim contradicted; 125 cannot tell; 129 usage; 130 environment; "
	       "131 internal error.\n"
	       ".SH ENVIRONMENT\n.TP\nXDG_CACHE_HOME, XDG_STATE_HOME\nWhere kernels, and journals and history, are kept.\n"
	       ".TP\nSHOOTDOWN_SERIES_PATH\nFurther folders of series, separated by colons.\n.TP\nSHOOTDOWN_PYTHON\nThe Python interpreter.\n"
	       ".TP\nNO_COLOR\nNo colours.\n");
	return EXIT_DONE;
}

static const struct command_option no_options[] = { { NULL, 0, NULL, false, NULL } };

static const struct command manual = {
	.name = "manual",
	.usage = "",
	.summary = "Prints the man page (troff); 'shootdown manual | man -l -' shows it",
	.options = no_options,
	.minimum = 0,
	.maximum = 0,
	.run = run_manual,
};
COMMAND_REGISTER(manual);
