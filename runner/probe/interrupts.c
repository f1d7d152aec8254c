// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interrupts.h"
#include "probe.h"

#define MOST_CPUS 8192

static const char *const x86_rows[] = { "TLB", "CAL", "RES", "LOC", NULL };

/* What arm64 calls its interprocessor interrupts, in the words of all kernels since 4.14. */
static const char *const arm64_names[] = {
	"Rescheduling interrupts", "Function call interrupts", "CPU stop interrupts", "CPU stop NMIs",
	"CPU stop (for crash dump) interrupts", "CPU stop for crash dump NMIs", "Timer broadcast interrupts",
	"IRQ work interrupts", "CPU wake-up interrupts", "CPU backtrace interrupts", "KGDB roundup interrupts", NULL,
};

struct row {
	char label[32], name[128];
	unsigned int count;		/* numbers that follow the label */
	unsigned long long *values;
};

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(word, *words))
			return true;
	return false;
}

/* "CPU0 CPU1 CPU4" -> numbers; the count, or 0 when this is no such line. */
static unsigned int parse_header(const char *line, const char *end, unsigned int *cpus)
{
	unsigned int count = 0;

	while (line < end) {
		char *next;

		line += strspn(line, " \t");
		if (line >= end || strncmp(line, "CPU", 3) || !isdigit((unsigned char)line[3]) || count == MOST_CPUS)
			break;
		cpus[count++] = (unsigned int)strtoul(line + 3, &next, 10);
		line = next;
	}
	return count;
}

static bool parse_row(const char *line, const char *end, unsigned int cpu_count, struct row *row)
{
	const char *colon = memchr(line, ':', (size_t)(end - line));
	size_t length;

	line += strspn(line, " \t");
	if (!colon || colon <= line || (size_t)(colon - line) >= sizeof(row->label))
		return false;
	snprintf(row->label, sizeof(row->label), "%.*s", (int)(colon - line), line);
	line = colon + 1;
	for (row->count = 0; row->count < cpu_count; row->count++) {
		char *next;

		line += strspn(line, " \t");
		if (line >= end || !isdigit((unsigned char)*line))
			break;
		row->values[row->count] = strtoull(line, &next, 10);
		if (*next && !isspace((unsigned char)*next))
			break;	/* a name that begins with a digit */
		line = next;
	}
	line += strspn(line, " \t");
	length = line < end ? (size_t)(end - line) : 0;
	while (length && isspace((unsigned char)line[length - 1]))
		length--;
	snprintf(row->name, sizeof(row->name), "%.*s", (int)length, line);
	return true;
}

static bool is_wanted(const struct row *row)
{
	if (!strncmp(row->label, "IPI", 3) && isdigit((unsigned char)row->label[3]))
		return is_one_of(row->name, arm64_names);
	return is_one_of(row->label, x86_rows);
}

static void add_row(json_t *rows, const struct row *row, const unsigned int *cpus, unsigned int cpu_count)
{
	char key[192], cpu[16];
	json_t *values;

	/* A row with fewer numbers than CPUs would be read at the wrong CPUs. */
	if (row->count != cpu_count)
		return;
	snprintf(key, sizeof(key), "interrupts.%s:%s", row->label, row->name);
	for (char *at = key; *at; at++)
		if (isspace((unsigned char)*at))
			*at = '_';
	values = json_object();
	for (unsigned int i = 0; i < cpu_count; i++) {
		snprintf(cpu, sizeof(cpu), "%u", cpus[i]);
		json_object_set_new(values, cpu, json_integer((json_int_t)row->values[i]));
	}
	json_object_set_new(rows, key, values);
}

json_t *interrupts_parse(const char *text)
{
	unsigned int *cpus = calloc(MOST_CPUS, sizeof(*cpus)), cpu_count;
	struct row row = { .values = calloc(MOST_CPUS, sizeof(*row.values)) };
	const char *end = text + strcspn(text, "\n");
	json_t *rows = NULL;

	if (cpus && row.values && (cpu_count = parse_header(text, end, cpus))) {
		rows = json_object();
		while (*end) {
			const char *line = end + 1;

			end = line + strcspn(line, "\n");
			if (parse_row(line, end, cpu_count, &row) && is_wanted(&row))
				add_row(rows, &row, cpus, cpu_count);
		}
	}
	free(cpus);
	free(row.values);
	return rows;
}

/* The sum, or -1 when the two do not have the same CPUs or a number fell. */
static json_int_t row_difference(const json_t *before, const json_t *after, json_t *each)
{
	json_int_t sum = 0;
	const char *cpu;
	json_t *value;

	if (json_object_size(before) != json_object_size(after))
		return -1;
	json_object_foreach((json_t *)after, cpu, value) {
		const json_t *old = json_object_get(before, cpu);
		json_int_t difference = json_integer_value(value) - json_integer_value(old);

		if (!old || difference < 0)
			return -1;
		json_object_set_new(each, cpu, json_integer(difference));
		sum += difference;
	}
	return sum;
}

static bool has_label(const json_t *rows, const char *label)
{
	char prefix[48];
	const char *key;
	json_t *value;

	snprintf(prefix, sizeof(prefix), "interrupts.%s:", label);
	json_object_foreach((json_t *)rows, key, value)
		if (!strncmp(key, prefix, strlen(prefix)))
			return true;
	return false;
}

static void miss_absent_rows(const json_t *rows, json_t *missing)
{
	char key[48];

	/* arm64 flushes other CPUs' TLBs by instruction: it has no such rows and misses nothing. */
	if (has_label(rows, "IPI0"))
		return;
	for (const char *const *label = x86_rows; *label; label++) {
		if (has_label(rows, *label))
			continue;
		snprintf(key, sizeof(key), "interrupts.%s", *label);
		probe_missing(missing, key, "/proc/interrupts of this kernel has no row %s", *label);
	}
}

void interrupts_difference(const json_t *before, const json_t *after, json_t *counts, json_t *per_cpu, json_t *missing)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)after, key, value) {
		json_t *each = json_object();
		json_int_t sum = row_difference(json_object_get(before, key), value, each);

		if (sum >= 0) {
			json_object_set_new(counts, key, json_integer(sum));
			json_object_set(per_cpu, key, each);
		} else {
			probe_missing(missing, key, "a CPU came, went or counted backwards in the region");
		}
		json_decref(each);
	}
	miss_absent_rows(after, missing);
}

static int interrupts_open(void **state, const struct probe_environment *environment)
{
	struct sampled_file *file = calloc(1, sizeof(*file));

	(void)environment;
	if (!file)
		return -ENOMEM;
	sampled_open(file, "/proc/interrupts");
	*state = file;
	return 0;
}

static void interrupts_begin(void *state)
{
	sampled_read(state, 0);
}

static void interrupts_end(void *state)
{
	sampled_read(state, 1);
}

static void interrupts_report(void *state, struct probe_report *report)
{
	const struct sampled_file *file = state;
	json_t *before = NULL, *after = NULL;
	int error = sampled_error(file);

	if (!error) {
		before = interrupts_parse(file->text[0]);
		after = interrupts_parse(file->text[1]);
	}
	if (error)
		probe_missing(report->missing, "interrupts", "%s: %s", file->path, strerror(-error));
	else if (!before || !after)
		probe_missing(report->missing, "interrupts", "%s does not begin with a line of CPUs", file->path);
	else
		interrupts_difference(before, after, report->counts, report->per_cpu, report->missing);
	json_decref(before);
	json_decref(after);
}

static void interrupts_close(void *state)
{
	sampled_close(state);
	free(state);
}

static const struct probe interrupts_probe = {
	.name = "interrupts",
	.summary = "TLB, CAL, RES and LOC rows of /proc/interrupts for each CPU; on arm64 the IPI rows",
	.open = interrupts_open, .begin = interrupts_begin, .end = interrupts_end,
	.report = interrupts_report, .close = interrupts_close,
};
PROBE_REGISTER(interrupts_probe);
