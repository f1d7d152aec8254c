// SPDX-License-Identifier: GPL-2.0-or-later
/* reproduce: build, run, compare and check the claims of a published series, in one command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kernels/kernel.h"
#include "common/command.h"
#include "common/files.h"
#include "common/message.h"
#include "common/nearest.h"
#include "plan/analysis.h"
#include "run.h"

static const struct command_option options[] = {
	{ "lane", 0, "LANE", false, "host, vm or exact; else the suite's own" },
	{ "suite", 0, "NAME", false, "another suite of the series' folder, for example suite-quick" },
	{ "cpus", 0, "N[,N...]", false, "CPUs of the guest" },
	{ "blocks", 0, "B", false, "blocks" },
	{ "phases", 0, "P", false, "exact lane: starting points" },
	{ "memory", 0, "SIZE", false, "memory of the guest" },
	{ "output", 'o', "DIR", false, "directory of the campaign" },
	{ "costs", 0, "FILE", false, "cost model in YAML (ns for each TLBI and DSB) for predicted time" },
	{ NULL, 0, NULL, false, NULL },
};

static int check_series(const char *name)
{
	struct kernel_error error = { .exit_status = EXIT_INTERNAL };
	const char *names[128] = { NULL }, *key;
	json_t *series = NULL, *value;
	size_t count = 0;
	char hint[96];
	int status = EXIT_DONE;

	if (kernel_series_load(&series, &error))
		return report(error.exit_status, "%s", error.text);
	json_object_foreach(series, key, value)
		if (count < 127)
			names[count++] = key;
	if (!json_object_get(series, name))
		status = report(EXIT_USAGE, "there is no series '%s'%s; 'shootdown list series' names them", name,
				nearest_hint(name, names, hint, sizeof(hint)));
	json_decref(series);
	return status;
}

/* Text to the terminal, the report beside the records; the claims decide the exit status. */
static int show(const char *directory, const char *costs)
{
	char *cost_option = costs ? text_format("--costs=%s", costs) : NULL;
	const char *const text[] = { directory, "--format=text", cost_option, NULL };
	const char *const html[] = { directory, "--format=html", cost_option, NULL };
	const char *const claims[] = { directory, "--quiet", NULL };	/* the text above has told them */
	int status;

	status = analysis_run("compare", text);
	if (status != EXIT_USAGE && status != EXIT_ENVIRONMENT && status != EXIT_INTERNAL)
		status = analysis_run("compare", html);
	if (status != EXIT_USAGE && status != EXIT_ENVIRONMENT && status != EXIT_INTERNAL)
		status = analysis_run("claims", claims);
	free(cost_option);
	return status;
}

static int run(const struct command_arguments *arguments)
{
	static const char *const none[] = { NULL };
	const char *series = arguments->values[0], *suite = argument_option(arguments, "suite");
	char *suite_word = suite ? text_format("%s/%s", series, suite) : strdup(series), *directory = NULL;
	struct run_words words = {
		.suite = suite_word, .specs = none, .kconfig = none, .probes = none, .exec_files = none,
		.lane = argument_option(arguments, "lane"), .cpus = argument_option(arguments, "cpus"),
		.blocks = argument_option(arguments, "blocks"), .phases = argument_option(arguments, "phases"),
		.memory = argument_option(arguments, "memory"), .directory = argument_option(arguments, "output"),
	};
	int status = check_series(series);

	if (!status)
		status = run_campaign(&words, &directory);
	if (!status)
		status = show(directory, argument_option(arguments, "costs"));
	free(directory);
	free(suite_word);
	return status;
}

static const struct command command = {
	.name = "reproduce",
	.usage = "SERIES [OPTION]...",
	.summary = "Builds, runs, compares and checks the claims of a published series",
	.help = "Exit status: 0 claims shown, 1 a claim contradicted, 125 not shown here.",
	.options = options,
	.minimum = 1,
	.maximum = 1,
	.run = run,
};
COMMAND_REGISTER(command);
