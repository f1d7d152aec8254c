// SPDX-License-Identifier: GPL-2.0-or-later
/* compare: hands its command line to the analysis, which does all statistics. */
#include "common/command.h"
#include "plan/analysis.h"

static const struct command_option options[] = {
	{ "baseline", 0, "SPEC", false, "kernel that the others are compared with" },
	{ "format", 0, "FORMAT", false, "text (default), md, html, json, csv, lkp, benchstat" },
	{ "output", 'o', "FILE", false, "where the result goes (html: CAMPAIGN/report.html; lkp: a directory gets files)" },
	{ "costs", 0, "FILE", false, "cost model in YAML (ns for each TLBI and DSB) for predicted time" },
	{ NULL, 0, NULL, false, NULL },
};

static int run(const struct command_arguments *arguments)
{
	return analysis_command("compare", arguments, options);
}

static const struct command command = {
	.name = "compare",
	.usage = "CAMPAIGN... [OPTION]...",
	.summary = "Compares the kernels of finished campaigns",
	.help = "Exit status: 0 no regression, 1 regression or broken, 125 cannot tell.",
	.options = options,
	.minimum = 1,
	.maximum = -1,
	.run = run,
};
COMMAND_REGISTER(command);
