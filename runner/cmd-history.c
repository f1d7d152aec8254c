// SPDX-License-Identifier: GPL-2.0-or-later
/* history: scores of kernels over time, in a SQLite file, with change points. */
#include "common/command.h"
#include "plan/analysis.h"

static const struct command_option options[] = {
	{ "database", 0, "FILE", false, "the SQLite file; else one in $XDG_STATE_HOME/shootdown" },
	{ "case", 0, "CASE", false, "show: only this case" },
	{ "metric", 0, "METRIC", false, "show: only this metric" },
	{ "json", 0, NULL, false, "show: as JSON" },
	{ "html", 0, "FILE", false, "show: a page with the curves" },
	{ "output", 'o', "FILE", false, "show: where the text goes" },
	{ NULL, 0, NULL, false, NULL },
};

static int run(const struct command_arguments *arguments)
{
	return analysis_command("history", arguments, options);
}

static const struct command command = {
	.name = "history",
	.usage = "add CAMPAIGN... | show",
	.summary = "Keeps scores of kernels over time and marks where they changed",
	.options = options,
	.minimum = 1,
	.maximum = -1,
	.run = run,
};
COMMAND_REGISTER(command);
