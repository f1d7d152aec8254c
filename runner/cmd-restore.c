// SPDX-License-Identifier: GPL-2.0-or-later
/* restore: puts back what a killed run left changed, and removes what it left lying. */
#include <stdio.h>
#include <string.h>

#include "common/command.h"
#include "common/leftovers.h"
#include "common/message.h"
#include "machine/resume-unit.h"
#include "machine/settings.h"

static int run(const struct command_arguments *arguments)
{
	unsigned int count = 0, files = 0;
	char reason[256] = "";
	bool removed;
	int error;

	(void)arguments;
	if (settings_restore_journal(&count, reason, sizeof(reason)))
		return report(EXIT_ENVIRONMENT, "restore: %s", reason);
	if (leftovers_clear(&files, reason, sizeof(reason)))
		return report(EXIT_ENVIRONMENT, "restore: %s", reason);
	error = resume_unit_remove(&removed);
	if (error)
		return report(EXIT_ENVIRONMENT, "restore: " RESUME_UNIT " cannot be removed: %s; run as root", strerror(-error));
	if (removed)
		printf(RESUME_UNIT " removed\n");
	if (files)
		printf("%u things of killed runs cleared away\n", files);
	if (count || (!removed && !files))
		printf(count ? "%u settings put back\n" : "nothing to put back\n", count);
	return EXIT_DONE;
}

static const struct command_option options[] = { { NULL, 0, NULL, false, NULL } };

static const struct command command = {
	.name = "restore",
	.usage = "",
	.summary = "Puts back and clears away what a killed run left, and ends reboots that it planned",
	.options = options,
	.minimum = 0,
	.maximum = 0,
	.run = run,
};
COMMAND_REGISTER(command);
