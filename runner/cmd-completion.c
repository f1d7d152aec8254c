// SPDX-License-Identifier: GPL-2.0-or-later
/* completion: for bash and zsh, made from the option rows that the parser uses. */
#include <stdio.h>
#include <string.h>

#include "common/command.h"
#include "common/message.h"

static const struct command_option no_options[] = { { NULL, 0, NULL, false, NULL } };

/* The words after a command that are not options, where a fixed set is known; NULL: files. */
struct fixed_words {
	const char *command, *words;
};

static const struct fixed_words fixed[] = {
	{ "list", "workloads series suites kernels events" },
	{ "kernel", "build boot list" },
	{ "completion", "bash zsh" },
	{ "history", "add show" },
	{ "selftest", "stats" },
};

static const char *words_of(const char *command)
{
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (!strcmp(fixed[i].command, command))
			return fixed[i].words;
	return NULL;
}

static void print_bash(void)
{
	printf("# bash completion for shootdown\n_shootdown()\n{\n\tlocal word=${COMP_WORDS[COMP_CWORD]} words=\n"
	       "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\twords='");
	for (const struct command *const *command = command_next(NULL); command; command = command_next(command))
		printf("%s ", (*command)->name);
	printf("--help --version'\n\telse\n\t\tcase ${COMP_WORDS[1]} in\n");
	for (const struct command *const *command = command_next(NULL); command; command = command_next(command)) {
		printf("\t\t%s) words='%s", (*command)->name, words_of((*command)->name) ? words_of((*command)->name) : "");
		for (const struct command_option *option = (*command)->options; option->name; option++)
			printf(" --%s", option->name);
		printf(" --help' ;;\n");
	}
	printf("\t\tesac\n\t\tif [ \"${COMP_WORDS[1]}\" = run ] && [ \"${word#-}\" = \"$word\" ]; then\n"
	       "\t\t\twords+=\" $(shootdown list suites 2>/dev/null | cut -d' ' -f1) $(shootdown list workloads 2>/dev/null | cut -d' ' -f1)\"\n"
	       "\t\tfi\n\tfi\n\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -f -- \"$word\")\n}\ncomplete -F _shootdown shootdown\n");
}

/* Brackets, colons and quotes mean something to _arguments. */
static void print_zsh_text(const char *text)
{
	for (; *text; text++) {
		if (strchr("[]:'\\", *text))
			fputs(*text == '\'' ? "'\\'" : "\\", stdout);
		putchar(*text);
	}
}

static void print_zsh(void)
{
	printf("#compdef shootdown\nlocal -a commands\ncommands=(\n");
	for (const struct command *const *command = command_next(NULL); command; command = command_next(command)) {
		printf("\t'%s:", (*command)->name);
		print_zsh_text((*command)->summary);
		printf("'\n");
	}
	printf(")\nif (( CURRENT == 2 )); then\n\t_describe command commands\n\treturn\nfi\ncase $words[2] in\n");
	for (const struct command *const *command = command_next(NULL); command; command = command_next(command)) {
		const char *words = words_of((*command)->name);

		printf("%s)\n\t_arguments \\\n", (*command)->name);
		for (const struct command_option *option = (*command)->options; option->name; option++) {
			printf("\t\t'%s--%s%s[", option->repeats ? "*" : "", option->name, option->argument ? "=" : "");
			print_zsh_text(option->help);
			printf("]%s%s%s' \\\n", option->argument ? ":" : "", option->argument ? option->argument : "", option->argument ? ":_files" : "");
		}
		printf(words ? "\t\t'*:word:(%s)' ;;\n" : "\t\t'*:file:_files' ;;\n", words);
	}
	printf("esac\n");
}

static int run_completion(const struct command_arguments *arguments)
{
	const char *shell = arguments->values[0];

	if (!strcmp(shell, "bash"))
		print_bash();
	else if (!strcmp(shell, "zsh"))
		print_zsh();
	else
		return report(EXIT_USAGE, "completion: there is none for '%s'; name bash or zsh", shell);
	return EXIT_DONE;
}

static const struct command completion = {
	.name = "completion",
	.usage = "bash|zsh",
	.summary = "Prints the completions for a shell",
	.options = no_options,
	.minimum = 1,
	.maximum = 1,
	.run = run_completion,
};
COMMAND_REGISTER(completion);
