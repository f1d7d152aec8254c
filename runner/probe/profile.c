// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where all CPUs were: instruction pointers sampled on each, by cycles where
 * there is a PMU and by the clock else, summed by kernel function. Without a
 * PMU a stretch with interrupts off is seen where it ends.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler.h"
#include "symbols.h"
#include "tally.h"
#include "probe.h"

#define KEY "profile"
#define SAMPLES_PER_SECOND 293	/* a prime, out of step with the tick; as many as a guest with dear timer interrupts bears under 2% */
#define SAMPLE_BUFFER (256 << 10)

enum mode { MODE_KERNEL, MODE_USER, MODE_OTHER };

struct profile {
	struct sampler *sampler;
	const char *event;
	struct tally tally;	/* mode, address */
	char reason[256];
};

static void record(void *context, unsigned int misc, const void *body, size_t size)
{
	struct profile *own = context;
	unsigned int cpu_mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	uint64_t address;

	if (size < sizeof(address))
		return;
	memcpy(&address, body, sizeof(address));
	if (cpu_mode == PERF_RECORD_MISC_KERNEL)
		tally_add(&own->tally, MODE_KERNEL, address, 1);
	else
		tally_add(&own->tally, cpu_mode == PERF_RECORD_MISC_USER ? MODE_USER : MODE_OTHER, 0, 1);
}

/* [[mode, address, count], ...]; names are found by the measuring process, in report(). */
static json_t *result(void *context)
{
	struct profile *own = context;
	json_t *array = json_array();

	for (size_t i = 0; i < own->tally.capacity; i++) {
		const struct tally_entry *entry = &own->tally.entries[i];

		if (entry->count)
			json_array_append_new(array, json_pack("[I, I, I]", (json_int_t)entry->first,
				(json_int_t)entry->second, (json_int_t)entry->count));
	}
	return array;
}

static void reset(void *context)
{
	tally_clear(&((struct profile *)context)->tally);
}

static int profile_open(void **state, const struct probe_environment *environment)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES,
		.freq = 1, .sample_freq = SAMPLES_PER_SECOND, .sample_type = PERF_SAMPLE_IP,
	};
	struct sampler_spec spec = {
		.attr = &attr, .buffer_bytes = SAMPLE_BUFFER, .record = record, .result = result, .reset = reset,
	};
	struct profile *own = calloc(1, sizeof(*own));

	(void)environment;
	if (!own)
		return -ENOMEM;
	*state = own;
	spec.context = own;
	own->event = "cycles";
	own->sampler = sampler_open(&spec, own->reason, sizeof(own->reason));
	if (!own->sampler) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		own->event = "cpu-clock";
		own->sampler = sampler_open(&spec, own->reason, sizeof(own->reason));
	}
	return 0;
}

static void profile_begin(void *state)
{
	struct profile *own = state;

	if (own->sampler)
		sampler_begin(own->sampler);
}

static void profile_end(void *state)
{
	struct profile *own = state;

	if (own->sampler)
		sampler_end(own->sampler);
}

/* Read anew for each report: modules and BPF programs come and go. */
static int load_symbols(struct symbols **symbols, char *reason, size_t reason_size)
{
	char *text;
	int error = probe_read_file("/proc/kallsyms", &text);

	if (!error)
		error = symbols_parse(text, symbols);
	if (error)
		snprintf(reason, reason_size, "/proc/kallsyms: %s", error == -EACCES ?
			 "addresses are hidden (kernel.kptr_restrict); run as root" : strerror(-error));
	return error;
}

static json_t *by_function(const json_t *samples, const struct symbols *symbols)
{
	json_t *sums = json_object(), *buckets = json_array(), *sample, *count;
	const char *name;
	size_t index;

	json_array_foreach(samples, index, sample) {
		json_int_t mode = json_integer_value(json_array_get(sample, 0));
		uint64_t address = (uint64_t)json_integer_value(json_array_get(sample, 1));
		json_int_t sum;

		name = mode == MODE_USER ? "[user]" : mode == MODE_OTHER ? "[other]" : symbols_find(symbols, address);
		name = name ? name : "[unknown]";
		sum = json_integer_value(json_object_get(sums, name)) + json_integer_value(json_array_get(sample, 2));
		json_object_set_new(sums, name, json_integer(sum));
	}
	json_object_foreach(sums, name, count)
		json_array_append_new(buckets, json_pack("[s, O]", name, count));
	json_decref(sums);
	return buckets;
}

static json_int_t total(const json_t *samples)
{
	json_int_t sum = 0;
	json_t *sample;
	size_t index;

	json_array_foreach(samples, index, sample)
		sum += json_integer_value(json_array_get(sample, 2));
	return sum;
}

static void profile_report(void *state, struct probe_report *report)
{
	struct profile *own = state;
	json_t *answer = own->sampler ? sampler_result(own->sampler) : NULL;
	const json_t *samples = json_object_get(answer, "result");
	struct symbols *symbols;

	if (!samples) {
		probe_missing(report->missing, KEY, "%s", own->sampler ? "the sampling process is gone" : own->reason);
	} else if (load_symbols(&symbols, own->reason, sizeof(own->reason))) {
		probe_missing(report->missing, KEY, "%s", own->reason);
	} else {
		/* Lost samples leave the shares as they are; their number is told. */
		json_object_set_new(report->counts, "profile.samples", json_integer(total(samples)));
		json_object_set(report->counts, "profile.lost", json_object_get(answer, "lost"));
		json_object_set_new(report->histograms, KEY, json_pack("{s:s, s:[s], s:s, s:i, s:o}", "unit", "samples",
			"keys", "function", "event", own->event, "samples_per_second", SAMPLES_PER_SECOND,
			"buckets", by_function(samples, symbols)));
		symbols_free(symbols);
	}
	json_decref(answer);
}

static void profile_close(void *state)
{
	struct profile *own = state;

	sampler_close(own->sampler);
	tally_free(&own->tally);
	free(own);
}

static const struct probe profile_probe = {
	.name = "profile",
	.summary = "samples of where all CPUs were, by kernel function",
	.costly = true,
	.open = profile_open, .begin = profile_begin, .end = profile_end, .report = profile_report, .close = profile_close,
};
PROBE_REGISTER(profile_probe);
