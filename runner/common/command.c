// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

extern const struct command *const __start_shootdown_commands[];
extern const struct command *const __stop_shootdown_commands[];

const struct command *const *command_next(const struct command *const *previous)
{
	const struct command *const *next = previous ? previous + 1 : __start_shootdown_commands;

	return next < __stop_shootdown_commands ? next : NULL;
}
