// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Histogram of the tracepoint tlb:tlb_flush by reason and number of pages: by
 * a histogram trigger in the kernel, else by sampling each event.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hist-trigger.h"
#include "sampler.h"
#include "trace-format.h"
#include "tracefs.h"

#define KEY "tlb_flush"
#define SAMPLE_BUFFER (1 << 20)	/* bytes for each CPU */
#define ALL_PAGES UINT64_MAX	/* TLB_FLUSH_ALL */

struct tlb_flush {
	struct hist_trigger *hist;
	struct sampler *sampler;
	struct trace_field reason_field, pages_field;
	struct tally tally;
	char *format;
	char reason[256];		/* why there is neither */
};

static void record(void *context, unsigned int misc, const void *body, size_t size)
{
	struct tlb_flush *own = context;
	uint64_t reason, pages;
	uint32_t raw_size;

	(void)misc;
	/* PERF_SAMPLE_RAW alone: a length, then the record as the format file describes it. */
	if (size < sizeof(raw_size))
		return;
	memcpy(&raw_size, body, sizeof(raw_size));
	if (raw_size > size - sizeof(raw_size))
		return;
	body = (const char *)body + sizeof(raw_size);
	if (!trace_field_read(&own->reason_field, body, raw_size, &reason) &&
	    !trace_field_read(&own->pages_field, body, raw_size, &pages))
		tally_add(&own->tally, reason, pages, 1);
}

/* Kernels differ in the case of these names; the record has one spelling. */
static void one_spelling(char *name)
{
	static const char *const spellings[] = { "local MM shootdown", "remote IPI send" };

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
		if (!strcasecmp(name, spellings[i]))
			strcpy(name, spellings[i]);
}

static json_t *buckets(const char *format, struct tally *tally)
{
	json_t *array = json_array();

	tally_sort(tally);
	for (size_t i = 0; i < tally->used; i++) {
		const struct tally_entry *entry = &tally->entries[i];
		char name[64];

		trace_symbol(format, "reason", entry->first, name, sizeof(name));
		one_spelling(name);
		json_array_append_new(array, json_pack("[s, o, I]", name, entry->second == ALL_PAGES ? json_string("all") :
			json_integer((json_int_t)entry->second), (json_int_t)entry->count));
	}
	tally_clear(tally);
	return array;
}

static json_t *result(void *context)
{
	struct tlb_flush *own = context;

	return buckets(own->format, &own->tally);
}

static void reset(void *context)
{
	tally_clear(&((struct tlb_flush *)context)->tally);
}

static void open_sampler(struct tlb_flush *own, unsigned long long id)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT, .config = id,
		.sample_period = 1, .sample_type = PERF_SAMPLE_RAW,
	};
	const struct sampler_spec spec = {
		.attr = &attr, .buffer_bytes = SAMPLE_BUFFER, .record = record, .result = result, .reset = reset, .context = own,
	};

	if (trace_field_find(own->format, "reason", &own->reason_field) ||
	    trace_field_find(own->format, "pages", &own->pages_field))
		snprintf(own->reason, sizeof(own->reason), "the format of tlb:tlb_flush is not one that is known");
	else
		own->sampler = sampler_open(&spec, own->reason, sizeof(own->reason));
}

static int tlb_flush_open(void **state, const struct probe_environment *environment)
{
	struct tlb_flush *own = calloc(1, sizeof(*own));
	unsigned long long id;

	if (!own)
		return -ENOMEM;
	*state = own;
	if (tracepoint_is_idle("tlb", "tlb_flush")) {
		snprintf(own->reason, sizeof(own->reason), "%s", tracepoint_is_idle("tlb", "tlb_flush"));
		return 0;
	}
	own->hist = hist_open(environment, "tlb", "tlb_flush", "reason,pages", own->reason, sizeof(own->reason));
	if (tracefs_event_file("tlb", "tlb_flush", "format", &own->format))
		own->format = NULL;
	/* A spec on the stack is enough: the sampling process is forked inside sampler_open() and has its copy. */
	if (!own->hist && own->format && !tracefs_event_id("tlb", "tlb_flush", &id))
		open_sampler(own, id);
	return 0;
}

static void tlb_flush_begin(void *state)
{
	struct tlb_flush *own = state;

	if (own->hist)
		hist_begin(own->hist);
	else if (own->sampler)
		sampler_begin(own->sampler);
}

static void tlb_flush_end(void *state)
{
	struct tlb_flush *own = state;

	if (own->hist)
		hist_end(own->hist);
	else if (own->sampler)
		sampler_end(own->sampler);
}

static json_t *sampled_buckets(struct tlb_flush *own, char *reason, size_t reason_size)
{
	json_t *answer = sampler_result(own->sampler), *array = json_object_get(answer, "result");
	json_int_t lost = json_integer_value(json_object_get(answer, "lost"));

	if (!array)
		snprintf(reason, reason_size, "the sampling process is gone");
	else if (lost)
		snprintf(reason, reason_size, "%lld events were lost, so the histogram would not be whole", (long long)lost);
	array = array && !lost ? json_incref(array) : NULL;
	json_decref(answer);
	return array;
}

static void tlb_flush_report(void *state, struct probe_report *report)
{
	struct tlb_flush *own = state;
	char reason[256] = "";
	json_t *array = NULL;

	if (own->hist && !hist_read(own->hist, &own->tally, reason, sizeof(reason)))
		array = buckets(own->format ? own->format : "", &own->tally);
	else if (own->sampler)
		array = sampled_buckets(own, reason, sizeof(reason));
	if (array)
		json_object_set_new(report->histograms, KEY, json_pack("{s:s, s:[s, s], s:o}", "unit", "flushes",
			"keys", "reason", "pages", "buckets", array));
	else
		probe_missing(report->missing, KEY, "%s", *reason ? reason : own->reason);
}

static void tlb_flush_close(void *state)
{
	struct tlb_flush *own = state;

	hist_close(own->hist);
	sampler_close(own->sampler);
	tally_free(&own->tally);
	free(own->format);
	free(own);
}

static const struct probe tlb_flush_probe = {
	.name = "tlb-flush",
	.summary = "histogram of tracepoint tlb:tlb_flush by reason and number of pages (x86)",
	.costly = true, .wants_tracefs = true,
	.open = tlb_flush_open, .begin = tlb_flush_begin, .end = tlb_flush_end,
	.report = tlb_flush_report, .close = tlb_flush_close,
};
PROBE_REGISTER(tlb_flush_probe);
