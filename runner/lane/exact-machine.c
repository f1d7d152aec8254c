// SPDX-License-Identifier: GPL-2.0-or-later
#include "exact-machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../common/files.h"
#include "../common/spawn.h"

#define FIRST_DAY 1577836800	/* 2020-01-01T00:00:00Z */
#define DAY 86400
/*
 * 2 ns an instruction. The kernel calibrates its timer by spinning through a tenth of a guest second, and each turn asks
 * every CPU: a slower clock costs minutes of boot with many CPUs, a faster one makes more ticks a piece of work.
 */
#define SHIFT 1
#define PROBE_TIMEOUT_MS 20000

struct row {
	const char *architecture, *cpu_model, *machine_options;
};

/*
 * The model is named and what would make it differ is switched on purpose: no
 * random numbers from the CPU, string instructions as fast ones. The keyboard
 * controller goes because its drivers look for mice while a case runs.
 */
static const struct row rows[] = {
	{ "x86-64", "max,la57=off,rdrand=off,rdseed=off,erms=on", ",i8042=off" },
	/*
	 * `max` has range TLBI, which hides what the old code did. For QEMU's other cores with LSE kernels have a
	 * work-around (erratum 4118414; a64fx: page tables of its own for user mode) that doubles TLBIs and DSBs.
	 */
	{ "arm64", "cortex-a72", ",dtb-randomness=off" },
};

static const struct row *row_of(const char *architecture)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].architecture, architecture))
			return &rows[i];
	return NULL;
}

const char *exact_cpu_model(const char *architecture)
{
	const struct row *row = row_of(architecture);

	return row ? row->cpu_model : NULL;
}

/* A comma in a path is doubled in QEMU's options. */
static char *escape(const char *path)
{
	char *escaped = malloc(2 * strlen(path) + 1), *to = escaped;

	if (!escaped)
		abort();
	for (; *path; path++) {
		*to++ = *path;
		if (*path == ',')
			*to++ = ',';
	}
	*to = '\0';
	return escaped;
}

static char *plugin_argument(const char *plugin, const char *counts, const char *options)
{
	char *path = escape(plugin), *output = escape(counts), *places = escape(options ? options : "");
	char *argument = text_format("%s,counts=%s%s%s", path, output, options ? ",options=" : "", places);

	free(path);
	free(output);
	free(places);
	return argument;
}

static void add(struct exact_machine *machine, size_t *count, const char *option, char *value)
{
	machine->extra[(*count)++] = text_format("%s", option);
	machine->extra[(*count)++] = value;
}

static void set_clock(struct exact_machine *machine, int phase)
{
	time_t seconds = FIRST_DAY + (time_t)(phase > 0 ? phase : 0) * DAY;
	struct tm day;

	gmtime_r(&seconds, &day);
	strftime(machine->date, sizeof(machine->date), "%Y-%m-%dT%H:%M:%S", &day);
	snprintf(machine->rtc, sizeof(machine->rtc), "clock=vm,base=%s", machine->date);
}

int exact_machine_make(const struct boot_request *request, const char *plugin, const char *counts, const char *options,
		       struct exact_machine *machine)
{
	const struct row *row = row_of(request->architecture);
	const char *more = request->boot_parameters ? request->boot_parameters : "";
	size_t count = 0;

	*machine = (struct exact_machine){ 0 };
	if (!row || request->cpus > EXACT_CPUS_MAXIMUM)
		return -EINVAL;
	machine->cpu_model = row->cpu_model;
	machine->machine_options = row->machine_options;
	machine->shift = SHIFT;
	machine->append = text_format("norandmaps%s%s", *more ? " " : "", more);
	set_clock(machine, request->phase);
	add(machine, &count, "-icount", text_format("shift=%u,sleep=off", machine->shift));
	add(machine, &count, "-rtc", text_format("%s", machine->rtc));
	add(machine, &count, "-seed", text_format("1"));
	/* A guest's kick of a virtio queue is handled at once, in the CPU's own thread, not when the host gets round to it. */
	add(machine, &count, "-global", text_format("virtio-pci.ioeventfd=off"));
	add(machine, &count, "-plugin", plugin_argument(plugin, counts, options));
	if (request->slice_microseconds) {
		/* A network that nobody is on, whose filter wakes QEMU after each interval of guest time: no slice is longer. */
		add(machine, &count, "-netdev", text_format("hubport,id=slice,hubid=0"));
		add(machine, &count, "-object", text_format("filter-buffer,id=slicer,netdev=slice,interval=%u", request->slice_microseconds));
	}
	return 0;
}

void exact_machine_free(struct exact_machine *machine)
{
	for (size_t i = 0; machine->extra[i]; i++)
		free(machine->extra[i]);
	free(machine->append);
	*machine = (struct exact_machine){ 0 };
}

void exact_machine_facts(const struct exact_machine *machine, const struct boot_request *request, json_t *facts)
{
	json_object_set_new(facts, "icount_shift", json_integer(machine->shift));
	json_object_set_new(facts, "clock_start", json_string(machine->date));
	json_object_set_new(facts, "slice_microseconds", json_integer(request->slice_microseconds));
	json_object_set_new(facts, "machine_options", json_string(machine->machine_options));
}

int exact_plugin_probe(const struct qemu_machine *machine, const char *version, const char *plugin, char *reason, size_t reason_size)
{
	char *path = escape(plugin), *argument = text_format("%s,probe=on", path), *output = NULL;
	const char *argv[] = { machine->binary, "-machine", "none", "-display", "none", "-nodefaults", "-plugin", argument, NULL };
	struct spawn_options options = { .input = -1, .output = -1, .error = 1 };	/* with standard output */
	int status = 0, error;

	error = run_capture(argv, &options, PROBE_TIMEOUT_MS, 65536, &output, &status);
	if (error)
		snprintf(reason, reason_size, "%s: %s", machine->binary, strerror(-error));
	else if (status || !strstr(output, "shootdown-exact: interface"))
		snprintf(reason, reason_size, "QEMU %s does not load the counting plugin (%.*s); install a QEMU from 7.2 to 8.2 built with plugins, as package %s of Debian 12",
			 version, (int)strcspn(output, "\n"), output[0] ? output : "it said nothing", machine->package);
	else
		error = 1;
	free(output);
	free(argument);
	free(path);
	return error == 1 ? 0 : -EOPNOTSUPP;
}
