// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "../common/files.h"
#include "../common/memory.h"
#include "../common/paths.h"
#include "facts.h"

#define FILE_LIMIT (1U << 20)

struct fact_file {
	const char *key, *path;
};

/* Read as they stand: one line each. */
static const struct fact_file state_files[] = {
	{ "clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource" },
	{ "cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor" },
	{ "smt", "/sys/devices/system/cpu/smt/control" },
	{ "online_cpus", "/sys/devices/system/cpu/online" },
	{ "isolated_cpus", "/sys/devices/system/cpu/isolated" },
	{ "transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled" },
	{ "numa_balancing", "/proc/sys/kernel/numa_balancing" },
	{ "randomize_va_space", "/proc/sys/kernel/randomize_va_space" },
	{ "perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid" },
	{ "load", "/proc/loadavg" },
	{ "command_line", "/proc/cmdline" },
};

static void add_file(json_t *section, json_t *missing, const struct fact_file *file)
{
	char *text;
	int error = read_file(file->path, FILE_LIMIT, &text, NULL);
	json_t *value = NULL;

	if (!error) {
		/* Of /proc/cmdline, what follows "--" is init's, and nobody's business. */
		char *rest = strstr(text, " -- ");

		text[strcspn(text, "\n")] = '\0';
		if (rest)
			*rest = '\0';
		value = json_string(text);
		free(text);
	}
	if (value)
		json_object_set_new(section, file->key, value);
	else
		json_object_set_new(missing, file->key, json_sprintf("%s: %s", file->path, error ? strerror(-error) : "not UTF-8"));
}

/* The first "key : value" of /proc/cpuinfo with one of these keys (x86, then arm64). */
static void add_cpu_model(json_t *identity, json_t *missing)
{
	static const char *const keys[] = { "model name\t: ", "CPU part\t: " };
	char *text, *found = NULL;

	if (read_file("/proc/cpuinfo", FILE_LIMIT, &text, NULL)) {
		json_object_set_new(missing, "cpu_model", json_string("/proc/cpuinfo cannot be read"));
		return;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !found; i++) {
		found = strstr(text, keys[i]);
		if (found)
			found += strlen(keys[i]);
	}
	if (found) {
		found[strcspn(found, "\n")] = '\0';
		json_object_set_new(identity, "cpu_model", json_string(found));
	} else {
		json_object_set_new(missing, "cpu_model", json_string("/proc/cpuinfo names none"));
	}
	free(text);
}

static void add_topology(json_t *identity, json_t *missing)
{
	hwloc_topology_t topology;

	if (hwloc_topology_init(&topology)) {
		json_object_set_new(missing, "topology", json_string("hwloc cannot start"));
		return;
	}
	if (!hwloc_topology_load(topology)) {
		json_object_set_new(identity, "cpus", json_integer(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU)));
		json_object_set_new(identity, "cores", json_integer(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE)));
		json_object_set_new(identity, "packages", json_integer(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE)));
		json_object_set_new(identity, "nodes", json_integer(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE)));
	} else {
		json_object_set_new(missing, "topology", json_string("hwloc cannot read the topology"));
	}
	hwloc_topology_destroy(topology);
}

json_t *host_facts(void)
{
	json_t *identity = json_object(), *state = json_object(), *missing = json_object();
	struct utsname name;

	json_object_set_new(identity, "architecture", json_string(host_architecture()));
	/* Neither the kernel nor the memory that it leaves makes another machine: a campaign of the host lane boots several. */
	if (!uname(&name)) {
		json_object_set_new(state, "kernel_release", json_string(name.release));
		json_object_set_new(state, "kernel_version", json_string(name.version));
	}
	add_cpu_model(identity, missing);
	add_topology(identity, missing);
	if (meminfo_bytes("MemTotal"))
		json_object_set_new(state, "memory_bytes", json_integer((json_int_t)meminfo_bytes("MemTotal")));
	else
		json_object_set_new(missing, "memory_bytes", json_string("/proc/meminfo does not say"));
	for (size_t i = 0; i < sizeof(state_files) / sizeof(state_files[0]); i++)
		add_file(state, missing, &state_files[i]);
	return json_pack("{s:o, s:o, s:o}", "identity", identity, "state", state, "missing", missing);
}

void machine_hash(const json_t *facts, char text[HASH_TEXT])
{
	hash_json(json_object_get(facts, "identity"), text);
}
