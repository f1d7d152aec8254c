// SPDX-License-Identifier: GPL-2.0-or-later
/* main() of every workload: what it is asked for, and whether that makes sense. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/units.h"
#include "../common/memory.h"
#include "run.h"

static const struct workload_option harness_rows[] = {
	{ "iterations", OPTION_COUNT, offsetof(struct harness_options, iterations), "5", 1, 100000,
	  .unit = "iterations", .help = "Measured iterations." },
	{ "warmup", OPTION_COUNT, offsetof(struct harness_options, warmup), "1", 0, 100000,
	  .unit = "iterations", .help = "Iterations before them, marked as warm-up." },
	{ "probe", OPTION_TEXT, offsetof(struct harness_options, probe), NULL,
	  .help = "Count with this probe, too; may be given several times. See --list-probes." },
	{ "no-probes", OPTION_FLAG, offsetof(struct harness_options, no_probes), NULL,
	  .help = "Leave the default probes out." },
	{ "json", OPTION_FLAG, offsetof(struct harness_options, json), NULL,
	  .help = "Print one JSON object instead of a summary." },
	{ "frames", OPTION_COUNT, offsetof(struct harness_options, frames), "0", 0, 1 << 20,
	  .help = "Write a JSON object a line to this file descriptor as the run goes; 0: no." },
	{ "roi-marks", OPTION_FLAG, offsetof(struct harness_options, roi_marks), NULL,
	  .help = "Mark begin and end of each measured iteration for the exact lane." },
	{ "phase", OPTION_TEXT, offsetof(struct harness_options, phase), NULL,
	  .help = "P/N: begin each region P/N of a timer tick later." },
	{ "cpus", OPTION_TEXT, offsetof(struct harness_options, cpus), NULL,
	  .help = "Use only these CPUs, as in 0-3,6." },
	{ "describe", OPTION_FLAG, offsetof(struct harness_options, describe), NULL,
	  .help = "Print name, options, metrics and helpers as JSON." },
	{ "resolve", OPTION_TEXT, offsetof(struct harness_options, resolve), NULL,
	  .help = "cpus=N,nodes=N,memory=BYTES: print the options as they would be on such a machine, as JSON." },
	{ "list-probes", OPTION_FLAG, offsetof(struct harness_options, list_probes), NULL,
	  .help = "Print the probes there are; with --json as JSON." },
	{ "help", OPTION_FLAG, offsetof(struct harness_options, help), NULL, .help = "Print this text." },
	{ .name = NULL },
};

static int complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int complain(int status, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	fprintf(stderr, "%s: ", workload.name);
	vfprintf(stderr, format, list);
	fputc('\n', stderr);
	va_end(list);
	return status;
}

/* --probe may be repeated; each value is kept. */
static void option_given(void *values, const struct workload_option *row)
{
	struct harness_options *harness = values;

	if (!strcmp(row->name, "probe") && harness->probe_count < PROBE_NAMES)
		harness->probes[harness->probe_count++] = harness->probe;
}

static void print_help(const struct option_table *own, const struct option_table *common)
{
	printf("Usage: %s [--OPTION VALUE]...\n%s.\n", workload.name, workload.summary);
	if (own->rows && own->rows->name) {
		printf("\nOptions of %s:\n", workload.name);
		options_help(own, stdout);
	}
	printf("\nOptions of every workload:\n");
	options_help(common, stdout);
	if (workload.metrics && workload.metrics->name)
		printf("\nMetrics:\n");
	for (const struct workload_metric *metric = workload.metrics; metric && metric->name; metric++)
		printf("  %s (%s)\n        %s\n", metric->name, metric->unit, metric->help ? metric->help : "");
	printf("\nExit status: 0 done, 1 the work failed, 125 not supported here, 129 usage, 130 environment, 131 internal.\n");
}

static json_t *describe_metrics(void)
{
	static const char *const classes[] = { "work", "schedule", "time" };
	static const char *const better[] = { "higher", "lower", "neither" };
	json_t *array = json_array();

	for (const struct workload_metric *metric = workload.metrics; metric && metric->name; metric++)
		json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:s, s:s?}", "name", metric->name, "unit", metric->unit,
			"class", classes[metric->metric_class], "better", better[metric->better], "help", metric->help));
	return array;
}

static int print_json(json_t *value)
{
	int failed = json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

	putchar('\n');
	json_decref(value);
	return failed ? complain(STATUS_INTERNAL, "the JSON cannot be made") : STATUS_DONE;
}

static int describe(const struct option_table *own)
{
	json_t *helpers = json_array();

	for (const char *const *helper = workload.helpers; helper && *helper; helper++)
		json_array_append_new(helpers, json_string(*helper));
	return print_json(json_pack("{s:i, s:s, s:s, s:s, s:o, s:o, s:o}", "contract", workload.contract,
				    "name", workload.name, "summary", workload.summary, "operation", workload.operation,
				    "options", options_describe_json(own), "metrics", describe_metrics(), "helpers", helpers));
}

static int list_probes(bool json)
{
	json_t *array = json_array();

	for (const struct probe *const *probe = probe_next(NULL); probe; probe = probe_next(probe)) {
		json_array_append_new(array, json_pack("{s:s, s:s, s:b, s:b}", "name", (*probe)->name, "summary", (*probe)->summary,
			"costly", (*probe)->costly, "takes_argument", (*probe)->takes_argument));
		if (!json)
			printf("%s%s %-*s %s\n", (*probe)->costly ? "  " : "* ", (*probe)->name,
			       (int)(26 - strlen((*probe)->name)), (*probe)->takes_argument ? ":EVENT" : "", (*probe)->summary);
	}
	if (json)
		return print_json(array);
	json_decref(array);
	printf("(* in the default set)\n");
	return STATUS_DONE;
}

/* "P/N", P below N. */
static int parse_phase(struct harness_options *harness, char *reason, size_t reason_size)
{
	int end = 0;

	harness->phase_total = 1;
	if (!harness->phase)
		return 0;
	if (sscanf(harness->phase, "%9u/%9u%n", &harness->phase_index, &harness->phase_total, &end) == 2 &&
	    !harness->phase[end] && harness->phase_index < harness->phase_total)
		return 0;
	snprintf(reason, reason_size, "--phase: '%s' is not P/N with P below N", harness->phase);
	return -EINVAL;
}

/* "cpus=N,nodes=N,memory=BYTES", each at most once. */
static int parse_limits(const char *text, struct machine_limits *limits, char *reason, size_t reason_size)
{
	char *copy = strdup(text), *rest = copy, *part;
	int error = copy ? 0 : -ENOMEM;

	*limits = (struct machine_limits){ .cpus = 1, .nodes = 1 };
	while (!error && (part = strsep(&rest, ","))) {
		char *value = strchr(part, '=');
		uint64_t number = 0;

		if (value)
			*value++ = '\0';
		error = !value ? -EINVAL : !strcmp(part, "memory") ? parse_size(value, &number) : parse_count(value, &number);
		if (!error && !strcmp(part, "memory"))
			limits->memory_bytes = number;
		else if (!error && !strcmp(part, "cpus") && number && number < 1 << 20)
			limits->cpus = (unsigned int)number;
		else if (!error && !strcmp(part, "nodes") && number && number < 1 << 20)
			limits->nodes = (unsigned int)number;
		else
			error = -EINVAL;
	}
	free(copy);
	if (error)
		snprintf(reason, reason_size, "--resolve: '%s' is not cpus=N,nodes=N,memory=BYTES", text);
	return error;
}

static int resolve_options(struct run *run, const struct option_table *own)
{
	char reason[REASON_SIZE] = "";
	const struct workload_option *row;
	int error;

	run->needs = (struct workload_needs){ .cpus = 1, .nodes = 1 };
	error = workload.resolve ? workload.resolve(run->options, &run->limits, &run->needs, reason, sizeof(reason)) : 0;
	if (error)
		return complain(error == -EINVAL || error == -ERANGE ? STATUS_USAGE : STATUS_ENVIRONMENT, "%s",
				*reason ? reason : strerror(-error));
	row = options_unresolved(own);
	if (row)
		return complain(STATUS_INTERNAL, "--%s was left unresolved", row->name);
	return STATUS_DONE;
}

static int print_resolved(struct run *run, const struct option_table *own)
{
	char reason[REASON_SIZE];
	int status;

	if (parse_limits(run->harness->resolve, &run->limits, reason, sizeof(reason)))
		return complain(STATUS_USAGE, "%s", reason);
	status = resolve_options(run, own);
	if (status)
		return status;
	return print_json(json_pack("{s:o, s:o, s:{s:i, s:i, s:I}}", "options", options_values_json(own),
				    "arguments", options_arguments_json(own), "needs", "cpus", run->needs.cpus, "nodes",
				    run->needs.nodes, "memory_bytes", (json_int_t)run->needs.memory_bytes));
}

static int check_needs(const struct run *run)
{
	char needed[32], there[32];

	if (run->needs.cpus > run->limits.cpus)
		return complain(STATUS_ENVIRONMENT, "needs %u CPUs, and this process may use %u; ask for less or allow more",
				run->needs.cpus, run->limits.cpus);
	if (run->needs.nodes > run->limits.nodes)
		return complain(STATUS_ENVIRONMENT, "needs %u NUMA nodes, and this process may use CPUs of %u", run->needs.nodes,
				run->limits.nodes);
	if (run->needs.memory_bytes > run->limits.memory_bytes)
		return complain(STATUS_ENVIRONMENT, "needs %s of memory, and %s are available; choose a smaller size",
				format_size(run->needs.memory_bytes, needed, sizeof(needed)),
				format_size(run->limits.memory_bytes, there, sizeof(there)));
	return STATUS_DONE;
}

static int run_here(struct run *run, const struct option_table *own)
{
	char reason[REASON_SIZE] = "";
	int error, status;

	error = placement_load(&run->placement, run->harness->cpus, reason, sizeof(reason));
	if (error)
		return complain(error == -EINVAL ? STATUS_USAGE : STATUS_ENVIRONMENT, "%s", reason);
	run->limits = (struct machine_limits){
		.cpus = run->placement.count, .nodes = run->placement.node_count, .memory_bytes = available_memory(),
	};
	status = resolve_options(run, own);
	if (!status)
		status = check_needs(run);
	if (!status)
		status = supervise(run);
	placement_free(&run->placement);
	return status;
}

/* The default set goes first unless it was declined. */
static int choose_probes(struct harness_options *harness)
{
	char reason[REASON_SIZE] = "";

	if (harness->probe_count == PROBE_NAMES)
		return complain(STATUS_USAGE, "--probe: more than %d of them", PROBE_NAMES - 1);
	if (!harness->no_probes) {
		memmove(harness->probes + 1, harness->probes, harness->probe_count * sizeof(harness->probes[0]));
		harness->probes[0] = "default";
		harness->probe_count++;
	}
	harness->probes[harness->probe_count] = NULL;
	return probes_check(harness->probes, reason, sizeof(reason)) ? complain(STATUS_USAGE, "--probe: %s", reason) : 0;
}

static int dispatch(struct run *run, struct harness_options *harness, const struct option_table *own,
		    const struct option_table *common)
{
	int status;

	if (harness->help) {
		print_help(own, common);
		return STATUS_DONE;
	}
	if (harness->describe) {
		status = choose_probes(harness);
		return status ? status : describe(own);
	}
	if (harness->list_probes)
		return list_probes(harness->json);
	if (harness->resolve)
		return print_resolved(run, own);
	status = choose_probes(harness);
	return status ? status : run_here(run, own);
}

/* Cuts argv at "--"; what follows is the command of a workload that takes one. */
static int split_command(struct run *run, char **argv, char *reason, size_t reason_size)
{
	while (*argv && strcmp(*argv, "--"))
		argv++;
	if (!*argv)
		return 0;
	if (!workload.takes_command || !argv[1]) {
		snprintf(reason, reason_size, workload.takes_command ? "a command must follow '--'" : "this workload takes no command after '--'");
		return -EINVAL;
	}
	*argv = NULL;
	run->command = argv + 1;
	return 0;
}

int main(int argc, char **argv)
{
	struct harness_options harness = { 0 };
	void *values = calloc(1, workload.options_size ? workload.options_size : 1);
	const struct option_table tables[] = {
		{ workload.options, values, NULL }, { harness_rows, &harness, option_given },
	};
	struct run run = { .workload = &workload, .harness = &harness, .options = values };
	char reason[REASON_SIZE] = "";
	int status;

	if (argc < 1 || !values || workload.contract != WORKLOAD_CONTRACT)
		return complain(STATUS_INTERNAL, "built for contract %u, and this harness has %u", workload.contract,
				WORKLOAD_CONTRACT);
	if (options_default(&tables[0], reason, sizeof(reason)) || options_default(&tables[1], reason, sizeof(reason)))
		status = complain(STATUS_INTERNAL, "default of %s", reason);
	else if (split_command(&run, argv, reason, sizeof(reason)) || options_parse(tables, 2, argv, reason, sizeof(reason)) || parse_phase(&harness, reason, sizeof(reason)))
		status = complain(STATUS_USAGE, "%s", reason);
	else
		status = dispatch(&run, &harness, &tables[0], &tables[1]);
	free(values);
	if (fflush(stdout) || ferror(stdout))
		return status ? status : complain(STATUS_ENVIRONMENT, "writing to standard output: %s", strerror(errno));
	return status;
}
