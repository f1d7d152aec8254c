// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"
#include "stat.h"

/* Order of the numbers of a cpu line. NULL: not of interest. */
static const char *const time_keys[] = {
	"machine.user_time", NULL /* nice */, "machine.system_time", "machine.idle_time", NULL /* iowait */,
	"machine.irq_time", "machine.softirq_time", "machine.steal_time",
};
#define TIMES (sizeof(time_keys) / sizeof(time_keys[0]))

static const char *find_line(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (; text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
		if (!strncmp(text, name, length) && text[length] == ' ')
			return text + length;
	return NULL;
}

int stat_context_switches(const char *before, const char *after, json_t *counts)
{
	const char *old = find_line(before, "ctxt"), *new = find_line(after, "ctxt");

	if (!old || !new)
		return -ENOENT;
	json_object_set_new(counts, "sched.context_switches",
			    json_integer((json_int_t)(strtoull(new, NULL, 10) - strtoull(old, NULL, 10))));
	return 0;
}

static bool parse_times(const char *line, unsigned long long times[TIMES])
{
	for (size_t i = 0; i < TIMES; i++) {
		char *end;

		while (*line == ' ')
			line++;
		times[i] = strtoull(line, &end, 10);
		if (end == line)
			return false;
		line = end;
	}
	return true;
}

/* Ticks of a CPU can step back a little when idle time is estimated: such a value is no time at all. */
static json_t *seconds(unsigned long long before, unsigned long long after, long ticks_per_second)
{
	return json_real(after > before ? (double)(after - before) / (double)ticks_per_second : 0);
}

static bool add_times(const char *name, const char *before, const char *after, long ticks_per_second,
		      json_t *counts, json_t *per_cpu)
{
	unsigned long long old[TIMES], new[TIMES];
	const char *old_line = find_line(before, name), *new_line = find_line(after, name);

	if (!old_line || !new_line || !parse_times(old_line, old) || !parse_times(new_line, new))
		return false;
	for (size_t i = 0; i < TIMES; i++) {
		json_t *value, *each;

		if (!time_keys[i])
			continue;
		value = seconds(old[i], new[i], ticks_per_second);
		if (!name[3]) {
			json_object_set_new(counts, time_keys[i], value);
			continue;
		}
		each = json_object_get(per_cpu, time_keys[i]);
		if (!each)
			json_object_set_new(per_cpu, time_keys[i], each = json_object());
		json_object_set_new(each, name + 3, value);
	}
	return true;
}

int stat_times(const char *before, const char *after, long ticks_per_second, json_t *counts, json_t *per_cpu)
{
	const char *line = after;
	char name[32];

	if (!add_times("cpu", before, after, ticks_per_second, counts, per_cpu))
		return -ENOENT;
	while ((line = strchr(line, '\n'))) {
		line++;
		if (sscanf(line, "%31[a-z0-9]", name) == 1 && !strncmp(name, "cpu", 3) && isdigit((unsigned char)name[3]))
			add_times(name, before, after, ticks_per_second, counts, per_cpu);
	}
	return 0;
}

static int stat_open(void **state, const struct probe_environment *environment)
{
	struct sampled_file *file = calloc(1, sizeof(*file));

	(void)environment;
	if (!file)
		return -ENOMEM;
	sampled_open(file, "/proc/stat");
	*state = file;
	return 0;
}

static void stat_begin(void *state)
{
	sampled_read(state, 0);
}

static void stat_end(void *state)
{
	sampled_read(state, 1);
}

static void context_switches_report(void *state, struct probe_report *report)
{
	const struct sampled_file *file = state;
	int error = sampled_error(file);

	if (!error)
		error = stat_context_switches(file->text[0], file->text[1], report->counts);
	if (error)
		probe_missing(report->missing, "sched.context_switches", "%s: %s", file->path, strerror(-error));
}

static void machine_report(void *state, struct probe_report *report)
{
	const struct sampled_file *file = state;
	int error = sampled_error(file);

	if (!error)
		error = stat_times(file->text[0], file->text[1], sysconf(_SC_CLK_TCK), report->counts, report->per_cpu);
	if (error)
		probe_missing(report->missing, "machine.steal_time", "%s: %s", file->path, strerror(-error));
}

static void stat_close(void *state)
{
	sampled_close(state);
	free(state);
}

/*
 * The kernel adds these up anyhow, so reading them costs the region nothing;
 * the perf event of the same name (perf:context-switches) would cost a few
 * percent of each switch.
 */
static const struct probe context_switches_probe = {
	.name = "context-switches",
	.summary = "context switches of the whole machine (/proc/stat)",
	.open = stat_open, .begin = stat_begin, .end = stat_end, .report = context_switches_report, .close = stat_close,
};
PROBE_REGISTER(context_switches_probe);

static const struct probe machine_probe = {
	.name = "machine",
	.summary = "where the whole machine's time went, stolen time too (/proc/stat, in ticks)",
	.open = stat_open, .begin = stat_begin, .end = stat_end, .report = machine_report, .close = stat_close,
};
PROBE_REGISTER(machine_probe);
