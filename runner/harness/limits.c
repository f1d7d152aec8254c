// SPDX-License-Identifier: GPL-2.0-or-later
/* What the machine offers, and what a reader of the record must know about it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../common/memory.h"
#include "run.h"

struct fact_file {
	const char *key, *path;
	bool in_brackets;	/* the word in force is marked: "always [madvise] never" */
};

static const struct fact_file fact_files[] = {
	{ "cpus_online", "/sys/devices/system/cpu/online", false },
	{ "nodes_online", "/sys/devices/system/node/online", false },
	{ "smt_active", "/sys/devices/system/cpu/smt/active", false },
	{ "clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource", false },
	{ "cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", false },
	{ "transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled", true },
	{ "numa_balancing", "/proc/sys/kernel/numa_balancing", false },
	{ "randomize_va_space", "/proc/sys/kernel/randomize_va_space", false },
	{ "perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid", false },
	{ "load_average", "/proc/loadavg", false },
};

static void add_file_fact(json_t *facts, json_t *missing, const struct fact_file *file)
{
	char *text, *open, *close;
	int error = probe_read_file(file->path, &text);

	if (error) {
		probe_missing(missing, file->key, "%s: %s", file->path, strerror(-error));
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	open = file->in_brackets ? strchr(text, '[') : NULL;
	close = open ? strchr(open, ']') : NULL;
	if (close)
		*close = '\0';
	json_object_set_new(facts, file->key, json_string(close ? open + 1 : text));
	free(text);
}

static void add_cpu_facts(json_t *facts)
{
	char *text, *line, *colon;

	if (probe_read_file("/proc/cpuinfo", &text))
		return;
	line = strstr(text, "model name");
	colon = line ? strchr(line, ':') : NULL;
	if (colon) {
		colon += 1 + (colon[1] == ' ');
		json_object_set_new(facts, "cpu_model", json_stringn(colon, strcspn(colon, "\n")));
	}
	line = strstr(text, "\nflags");
	if (line) {
		line[1 + strcspn(line + 1, "\n")] = '\0';
		json_object_set_new(facts, "hypervisor", json_boolean(strstr(line, " hypervisor")));
	}
	free(text);
}

json_t *machine_facts(const struct placement *placement, json_t *missing)
{
	json_t *facts = json_object();
	char *cpus = placement_cpu_list(placement);
	struct utsname name;

	if (!uname(&name)) {
		json_object_set_new(facts, "kernel_release", json_string(name.release));
		json_object_set_new(facts, "kernel_version", json_string(name.version));
		json_object_set_new(facts, "architecture", json_string(name.machine));
	}
	if (cpus)
		json_object_set_new(facts, "cpus_allowed", json_string(cpus));
	free(cpus);
	json_object_set_new(facts, "cpus", json_integer(placement->count));
	json_object_set_new(facts, "nodes", json_integer(placement->node_count));
	json_object_set_new(facts, "page_bytes", json_integer(sysconf(_SC_PAGESIZE)));
	json_object_set_new(facts, "memory_bytes", json_integer((json_int_t)meminfo_bytes("MemTotal")));
	json_object_set_new(facts, "memory_available_bytes", json_integer((json_int_t)available_memory()));
	add_cpu_facts(facts);
	for (size_t i = 0; i < sizeof(fact_files) / sizeof(fact_files[0]); i++)
		add_file_fact(facts, missing, &fact_files[i]);
	return facts;
}
