// SPDX-License-Identifier: GPL-2.0-or-later
/* run: words to a campaign. */
#include <stdio.h>
#include <stdlib.h>

#include "common/command.h"
#include "common/files.h"
#include "common/message.h"
#include "plan/analysis.h"
#include "run.h"
#include "run-overview.h"
#include "run-resume.h"

static const struct command_option options[] = {
	{ "kernel", 'k', "SPEC", true, "kernel to run: deb:6.12, deb:6.12+SERIES/VARIANT, git:PATH@REF, image:FILE, host" },
	{ "lane", 0, "LANE", false, "host, vm or exact" },
	{ "case", 0, "CASE", false, "only this case of the suite" },
	{ "option", 0, "NAME=VALUE", true, "an option of the workload, in every case that runs" },
	{ "cpus", 0, "N[,N...]", false, "CPUs of the guest; each number makes cases of its own" },
	{ "blocks", 0, "B", false, "blocks: boots of every kernel" },
	{ "iterations", 0, "K", false, "measured iterations in a boot" },
	{ "warmup", 0, "K", false, "iterations before those" },
	{ "phases", 0, "P", false, "exact lane: starting points" },
	{ "memory", 0, "SIZE", false, "memory of the guest" },
	{ "timeout", 0, "DURATION", false, "how long one case may take in a boot, as in 20min, before it is called hung" },
	{ "nodes", 0, "N", false, "NUMA nodes of the guest" },
	{ "slice", 0, "US", false, "exact lane: bound of a CPU's slice in microseconds of guest time; 0 for none" },
	{ "seed", 0, "N", false, "seed of the order of kernels" },
	{ "kconfig", 0, "NAME|FILE", true, "kernel configuration fragment" },
	{ "probe", 0, "NAME", true, "a further source of counts; perf:EVENT for one event" },
	{ "arch", 0, "ARCH", false, "x86-64 or arm64" },
	{ "baseline", 0, "SPEC", false, "kernel that the others are compared with" },
	{ "output", 'o', "DIR", false, "directory of the campaign" },
	{ "resume", 0, NULL, false, "go on with the campaign in -o, or in the directory that is named instead of a suite" },
	{ "reboot", 0, "HOW", false, "host lane: boot the machine into each kernel; HOW is kexec" },
	{ "initrd", 0, "FILE", false, "with --reboot: the initrd to boot with (the system's own), or none" },
	{ "pilot", 0, NULL, false, "run the first kernel against itself and propose blocks and iterations" },
	{ "effect", 0, "PERCENT", false, "with --pilot: the change that should be found (the suite's margin)" },
	{ "power", 0, "P", false, "with --pilot: how surely, 0 to 1 (0.8)" },
	{ "dry-run", 0, NULL, false, "say what would run" },
	{ "exec", 0, NULL, false, "the region of interest is the COMMAND after --" },
	{ "file", 0, "FILE", true, "with --exec: a file the command needs in the guest" },
	{ NULL, 0, NULL, false, NULL },
};

/* A positive number after an option of --pilot, or what stands for "not given". */
static int pilot_number(const char *option, const char *text, json_t *question, const char *key)
{
	char *end;
	double value;

	if (!text)
		return EXIT_DONE;
	value = strtod(text, &end);
	if (end == text || *end || !(value > 0) || value > 1000)
		return report(EXIT_USAGE, "--%s: '%s' is not a positive number", option, text);
	json_object_set_new(question, key, json_real(value));
	return EXIT_DONE;
}

/* What the pilot's campaign says of the blocks that the real one needs. */
static int propose(const char *directory, const struct command_arguments *arguments)
{
	json_t *question = json_pack("{s:s, s:s}", "ask", "pilot", "campaign", directory), *answer = NULL;
	const char *text;
	char reason[256];
	int status = pilot_number("effect", argument_option(arguments, "effect"), question, "effect_percent");

	if (!status)
		status = pilot_number("power", argument_option(arguments, "power"), question, "power");
	if (!status && analysis_ask(question, &answer, reason, sizeof(reason)))
		status = report(EXIT_ENVIRONMENT, "pilot %s: %s", directory, reason);
	text = json_string_value(json_object_get(answer, "text"));
	if (!status)
		printf("%s\n", text ? text : "");
	json_decref(answer);
	json_decref(question);
	return status;
}

static bool is_campaign(const char *directory)
{
	char *plan = text_format("%s/plan.json", directory ? directory : "");
	bool is = directory && file_exists(plan);

	free(plan);
	return is;
}

static bool any_option(const struct command_arguments *arguments)
{
	for (const struct command_option *option = options; option->name; option++)
		if (argument_option(arguments, option->name))
			return true;
	return false;
}

static int run(const struct command_arguments *arguments)
{
	struct run_words words = {
		.suite = arguments->count ? arguments->values[0] : NULL,
		.specs = argument_options(arguments, "kernel"),
		.kconfig = argument_options(arguments, "kconfig"),
		.probes = argument_options(arguments, "probe"),
		.options = argument_options(arguments, "option"),
		.lane = argument_option(arguments, "lane"),
		.cpus = argument_option(arguments, "cpus"),
		.blocks = argument_option(arguments, "blocks"),
		.iterations = argument_option(arguments, "iterations"),
		.warmup = argument_option(arguments, "warmup"),
		.phases = argument_option(arguments, "phases"),
		.memory = argument_option(arguments, "memory"),
		.timeout = argument_option(arguments, "timeout"),
		.nodes = argument_option(arguments, "nodes"),
		.slice = argument_option(arguments, "slice"),
		.seed = argument_option(arguments, "seed"),
		.architecture = argument_option(arguments, "arch"),
		.baseline = argument_option(arguments, "baseline"),
		.only_case = argument_option(arguments, "case"),
		.directory = argument_option(arguments, "output"),
		.resume = argument_option(arguments, "resume"),
		.reboot = argument_option(arguments, "reboot"),
		.initrd = argument_option(arguments, "initrd"),
		.dry_run = argument_option(arguments, "dry-run"),
		.aa = argument_option(arguments, "pilot"),
		.exec = argument_option(arguments, "exec") ? arguments->rest : NULL,
		.exec_files = argument_options(arguments, "file"),
	};
	char *directory = NULL;
	int status;

	if (argument_option(arguments, "exec") && (!arguments->rest_count || words.suite))
		status = report(EXIT_USAGE, "run --exec takes its command after '--' and no suite: shootdown run --exec -- COMMAND");
	else if (!words.exec && arguments->rest_count)
		status = report(EXIT_USAGE, "a command after '--' needs --exec");
	else if (words.resume && !words.directory && !is_campaign(words.suite))
		status = report(EXIT_USAGE, "--resume needs the campaign's directory: shootdown run --resume DIR, or -o DIR");
	else if (words.resume)
		status = run_resume(words.directory ? words.directory : words.suite, &words, &directory);
	else if (!words.suite && !words.exec && !any_option(arguments))
		status = run_overview();
	else if (!words.suite && !words.exec)
		status = report(EXIT_USAGE, "name a suite or a workload; 'shootdown list suites' and 'shootdown list workloads' show them");
	else {
		if (words.exec)
			words.suite = "exec";
		status = run_campaign(&words, &directory);
	}
	if (!status && words.aa && directory)
		status = propose(directory, arguments);
	/* The directory is the one thing that a script wants to know. */
	if (directory)
		printf("%s\n", directory);
	free(directory);
	return status;
}

static const struct command command = {
	.name = "run",
	.usage = "[SUITE|WORKLOAD [OPTION]... | --exec [OPTION]... -- COMMAND [ARGUMENT]...]",
	.summary = "Builds and boots the kernels, runs the cases of a suite, and keeps the records",
	.help = "Alone it says what could run here, and about how long that would take.\nPrints the campaign's directory. 'shootdown compare DIRECTORY' shows what came out.",
	.options = options,
	.minimum = 0,
	.maximum = 1,
	.run = run,
};
COMMAND_REGISTER(command);
