// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "vmstat.h"

/* nr_ means "how many there are", but for these. */
static const char *const nr_events[] = {
	"nr_tlb_remote_flush", "nr_tlb_remote_flush_received", "nr_tlb_local_flush_all", "nr_tlb_local_flush_one",
	"nr_vmscan_write", "nr_vmscan_immediate_reclaim", "nr_dirtied", "nr_written", "nr_throttled_written",
	"nr_foll_pin_acquired", "nr_foll_pin_released", NULL,
};

/* Gauges by other names. */
static const char *const other_gauges[] = { "workingset_nodes", NULL };

/* What this suite is about: said to be missing where the kernel does not count it. */
static const char *const wanted[] = {
	"nr_tlb_remote_flush", "nr_tlb_remote_flush_received", "nr_tlb_local_flush_all", "nr_tlb_local_flush_one", NULL,
};

static bool is_one_of(const char *name, size_t length, const char *const *names)
{
	for (; *names; names++)
		if (strlen(*names) == length && !memcmp(*names, name, length))
			return true;
	return false;
}

bool vmstat_counts_events(const char *name, size_t length)
{
	if (length > 3 && !memcmp(name, "nr_", 3))
		return is_one_of(name, length, nr_events);
	return !is_one_of(name, length, other_gauges);
}

#if defined(__x86_64__)
#define NOT_COUNTED "this kernel does not count it (CONFIG_DEBUG_TLBFLUSH)"
#else
#define NOT_COUNTED "only x86 kernels count it; arm64 flushes other CPUs by instruction"
#endif

/* "NAME VALUE\n" at line. */
static bool parse_line(const char *line, size_t *name_length, unsigned long long *value)
{
	char *end;

	*name_length = strcspn(line, " \n");
	if (!*name_length || line[*name_length] != ' ')
		return false;
	*value = strtoull(line + *name_length + 1, &end, 10);
	return end != line + *name_length + 1 && (*end == '\n' || !*end);
}

static const char *next_line(const char *line)
{
	const char *newline = strchr(line, '\n');

	return newline && newline[1] ? newline + 1 : NULL;
}

/* Both readings have the same lines in the same order, so the search begins where the last one ended. */
static const char *find_line(const char *text, const char *hint, const char *name, size_t length)
{
	for (const char *start = hint ? hint : text; start; start = start == text ? NULL : text) {
		for (const char *line = start; line; line = next_line(line))
			if (!strncmp(line, name, length) && line[length] == ' ')
				return line;
	}
	return NULL;
}

void vmstat_difference(const char *before, const char *after, json_t *counts, json_t *missing)
{
	const char *old = NULL;
	char key[160];

	for (const char *line = after; line && *line; line = next_line(line)) {
		unsigned long long value, old_value;
		size_t length, old_length;

		if (!parse_line(line, &length, &value) || length > 128 || !vmstat_counts_events(line, length))
			continue;
		old = find_line(before, old, line, length);
		snprintf(key, sizeof(key), "proc-vmstat.%.*s", (int)length, line);
		if (json_object_get(missing, key))
			continue;
		if (!json_object_del(counts, key))
			probe_missing(missing, key, "stands more than once in /proc/vmstat");
		else if (!old || !parse_line(old, &old_length, &old_value))
			probe_missing(missing, key, "not in /proc/vmstat before the region");
		else if (value < old_value)
			probe_missing(missing, key, "went down in the region, so it does not count events");
		else
			json_object_set_new(counts, key, json_integer((json_int_t)(value - old_value)));
	}
	for (const char *const *name = wanted; *name; name++) {
		snprintf(key, sizeof(key), "proc-vmstat.%s", *name);
		if (!json_object_get(counts, key) && !json_object_get(missing, key))
			probe_missing(missing, key, NOT_COUNTED);
	}
}

static int vmstat_open(void **state, const struct probe_environment *environment)
{
	struct sampled_file *file = calloc(1, sizeof(*file));

	(void)environment;
	if (!file)
		return -ENOMEM;
	sampled_open(file, "/proc/vmstat");
	*state = file;
	return 0;
}

static void vmstat_begin(void *state)
{
	sampled_read(state, 0);
}

static void vmstat_end(void *state)
{
	sampled_read(state, 1);
}

static void vmstat_report(void *state, struct probe_report *report)
{
	const struct sampled_file *file = state;
	int error = sampled_error(file);

	if (error)
		probe_missing(report->missing, "proc-vmstat", "%s: %s", file->path, strerror(-error));
	else
		vmstat_difference(file->text[0], file->text[1], report->counts, report->missing);
}

static void vmstat_close(void *state)
{
	sampled_close(state);
	free(state);
}

static const struct probe vmstat_probe = {
	.name = "vmstat",
	.summary = "every event counter of /proc/vmstat; gauges are left out",
	.open = vmstat_open, .begin = vmstat_begin, .end = vmstat_end, .report = vmstat_report, .close = vmstat_close,
};
PROBE_REGISTER(vmstat_probe);
