// SPDX-License-Identifier: GPL-2.0-or-later
/* Size of the kernel's mm_struct, which a cpumask sized by NR_CPUS makes large. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

#define KEY "memory.mm_struct_object_size"
#define SYSFS_FILE "/sys/kernel/slab/mm_struct/object_size"

/* "mm_struct  80 80 1600 20 8 : ...": the third number. 0: no such line. */
static long slabinfo_size(const char *text)
{
	const char *line = strncmp(text, "mm_struct ", 10) ? strstr(text, "\nmm_struct ") : text;
	long size = 0;

	if (!line || sscanf(line + (*line == '\n'), "mm_struct %*u %*u %ld", &size) != 1)
		return 0;
	return size;
}

static void memory_facts(json_t *facts, json_t *missing)
{
	char *text = NULL;
	int error = probe_read_file(SYSFS_FILE, &text);
	long size = error ? 0 : strtol(text, NULL, 10);
	const char *source = SYSFS_FILE;

	free(text);
	if (size <= 0) {
		source = "/proc/slabinfo";
		error = probe_read_file(source, &text);
		size = error ? 0 : slabinfo_size(text);
		if (!error)
			free(text);
	}
	if (size > 0) {
		json_object_set_new(facts, KEY, json_integer(size));
		json_object_set_new(facts, "memory.mm_struct_source", json_string(source));
	} else if (error) {
		probe_missing(missing, KEY, "no %s, and %s: %s", SYSFS_FILE, source, strerror(-error));
	} else {
		probe_missing(missing, KEY, "neither %s nor a line of %s tells it", SYSFS_FILE, source);
	}
}

static void memory_report(void *state, struct probe_report *report)
{
	json_t *facts = json_object();

	(void)state;
	memory_facts(facts, report->missing);
	if (json_object_get(facts, KEY))
		json_object_set(report->counts, KEY, json_object_get(facts, KEY));
	json_decref(facts);
}

static const struct probe memory_probe = {
	.name = "memory",
	.summary = "size of the kernel's mm_struct, from the slab allocator",
	.report = memory_report, .facts = memory_facts,
};
PROBE_REGISTER(memory_probe);
