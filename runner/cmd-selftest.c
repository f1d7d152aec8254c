// SPDX-License-Identifier: GPL-2.0-or-later
/* selftest: the statistics on simulated campaigns whose truth is known. */
#include "common/command.h"
#include "plan/analysis.h"

static const struct command_option options[] = {
	{ "campaigns", 0, "N", false, "simulated campaigns for each row" },
	{ "blocks", 0, "B", false, "blocks of each" },
	{ "iterations", 0, "K", false, "iterations of each boot" },
	{ "seed", 0, "N", false, "seed of the simulation" },
	{ "json", 0, NULL, false, "as JSON" },
	{ "output", 'o', "FILE", false, "where the table goes" },
	{ NULL, 0, NULL, false, NULL },
};

static int run(const struct command_arguments *arguments)
{
	return analysis_command("selftest", arguments, options);
}

static const struct command command = {
	.name = "selftest",
	.usage = "stats [OPTION]...",
	.summary = "Measures false alarms and power of the verdicts on simulated campaigns with known truth",
	.options = options,
	.minimum = 1,
	.maximum = 1,
	.run = run,
};
COMMAND_REGISTER(command);
