/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parser of a command's arguments after its option rows. */
#ifndef SHOOTDOWN_ARGUMENTS_H
#define SHOOTDOWN_ARGUMENTS_H

#include "command.h"

/*
 * Parses argv (the words after the command's name). 0; or -EINVAL with one
 * line in reason; or -ECANCELED when --help was asked for. The result borrows
 * argv and is freed by arguments_free().
 */
int arguments_parse(const struct command *command, int argc, const char *const *argv,
		    struct command_arguments *arguments, char *reason, size_t reason_size);
void arguments_free(struct command_arguments *arguments);

#endif
