// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "facts.h"

#define KLOG_READ_ALL 3
#define KLOG_SIZE 10

/* What could not be had is in `missing` with its reason: never an empty value. */
static void set(json_t *facts, const char *key, const char *value, const char *reason)
{
	if (value)
		json_object_set_new(facts, key, json_string(value));
	else
		json_object_set_new(json_object_get(facts, "missing"), key, json_string(reason));
}

static void set_file(json_t *facts, const char *key, const char *path)
{
	char reason[256], *text = read_text(path);

	snprintf(reason, sizeof(reason), "%s could not be read", path);
	set(facts, key, text, reason);
	free(text);
}

static void set_choice(json_t *facts, const char *key, const char *path)
{
	char reason[256], *text = read_text(path);

	snprintf(reason, sizeof(reason), "%s could not be read", path);
	set(facts, key, text ? chosen_word(text) : NULL, reason);
	free(text);
}

/* Value of the first line "KEY<tabs>: VALUE" of /proc/cpuinfo. */
static void set_processor(json_t *facts, const char *name, const char *key, char *text)
{
	size_t size = strlen(key);
	char *copy = NULL;

	for (char *line = text; line && *line; line = strchr(line, '\n')) {
		char *colon;

		line += *line == '\n';
		if (strncmp(line, key, size) || !strchr(" \t:", line[size]))
			continue;
		colon = strchr(line, ':');
		if (colon && colon[1])
			copy = strndup(colon + 2, strcspn(colon + 2, "\n"));
		break;
	}
	set(facts, name, copy, "no such line in /proc/cpuinfo");
	free(copy);
}

/* "Switched APIC routing to: physical flat" (6.x), "Switched APIC routing to physical flat." (before). */
static void set_apic_driver(json_t *facts)
{
	static const char phrase[] = "Switched APIC routing to";
	int size = klogctl(KLOG_SIZE, NULL, 0);
	char *log = size > 0 ? malloc((size_t)size + 1) : NULL, *at = NULL;

	if (log) {
		size = klogctl(KLOG_READ_ALL, log, size);
		log[size > 0 ? size : 0] = '\0';
		at = strstr(log, phrase);
	}
	if (at) {
		at += sizeof(phrase) - 1;
		at += strspn(at, ": ");
		at[strcspn(at, "\r\n")] = '\0';
		if (*at && at[strlen(at) - 1] == '.')
			at[strlen(at) - 1] = '\0';
	}
	set(facts, "apic_driver", at ? at : log ? "the kernel's default (no switch logged)" : NULL, "no kernel log");
	free(log);
}

json_t *collect_facts(void)
{
	json_t *facts = json_pack("{s:{}}", "missing");
	char *processor = read_text("/proc/cpuinfo");
	struct utsname name;

	if (!facts)
		return NULL;
	if (!uname(&name)) {
		set(facts, "release", name.release, "");
		set(facts, "version", name.version, "");
		set(facts, "machine", name.machine, "");
	}
	set_processor(facts, "cpu_flags", strcmp(name.machine, "aarch64") ? "flags" : "Features", processor);
	set_processor(facts, "cpu_name", strcmp(name.machine, "aarch64") ? "model name" : "CPU part", processor);
	free(processor);
	if (!strcmp(name.machine, "x86_64"))
		set_apic_driver(facts);
	json_object_set_new(facts, "cpus", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	json_object_set_new(facts, "memory_bytes",
			    json_integer((json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)));
	json_object_set_new(facts, "page_bytes", json_integer(sysconf(_SC_PAGESIZE)));
	set_file(facts, "online_cpus", "/sys/devices/system/cpu/online");
	set_file(facts, "online_nodes", "/sys/devices/system/node/online");
	set_file(facts, "clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	set_file(facts, "command_line", "/proc/cmdline");
	set_choice(facts, "transparent_hugepages", "/sys/kernel/mm/transparent_hugepage/enabled");
	return facts;
}
