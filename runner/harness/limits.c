// SPDX-License-Identifier: GPL-2.0-or-later
/* What the machine offers, and what a reader of the record must know about it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "run.h"

/* "MemAvailable:   123 kB": bytes; 0 when the line is not there. */
static uint64_t meminfo(const char *key)
{
	char *text, *line;
	uint64_t bytes = 0;

	if (probe_read_file("/proc/meminfo", &text))
		return 0;
	for (line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':') {
			bytes = strtoull(line + strlen(key) + 1, NULL, 10) * 1024;
			break;
		}
	}
	free(text);
	return bytes;
}

static bool read_number(const char *path, uint64_t *number)
{
	char *text, *end;
	bool good;

	if (probe_read_file(path, &text))
		return false;
	*number = strtoull(text, &end, 10);
	good = end != text;
	free(text);
	return good;
}

/* What this process's cgroup (version 2) still allows, or UINT64_MAX. */
static uint64_t cgroup_room(void)
{
	uint64_t room = UINT64_MAX, limit, used;
	char path[512], *text, *group, *end;

	if (probe_read_file("/proc/self/cgroup", &text))
		return room;
	group = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text - 1;
	if (group) {
		group += 4;
		group[strcspn(group, "\n")] = '\0';
		/* A limit may stand on any level above. */
		for (;;) {
			snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", group);
			if (read_number(path, &limit)) {
				snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.current", group);
				if (read_number(path, &used) && (limit > used ? limit - used : 0) < room)
					room = limit > used ? limit - used : 0;
			}
			end = strrchr(group, '/');
			if (!end)
				break;
			*end = '\0';
		}
	}
	free(text);
	return room;
}

uint64_t available_memory(void)
{
	uint64_t available = meminfo("MemAvailable"), room = cgroup_room();

	if (!available)
		available = meminfo("MemFree");
	return available < room ? available : room;
}

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
	json_object_set_new(facts, "memory_bytes", json_integer((json_int_t)meminfo("MemTotal")));
	json_object_set_new(facts, "memory_available_bytes", json_integer((json_int_t)available_memory()));
	add_cpu_facts(facts);
	for (size_t i = 0; i < sizeof(fact_files) / sizeof(fact_files[0]); i++)
		add_file_fact(facts, missing, &fact_files[i]);
	return facts;
}
