/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampling perf events on every CPU. A process of its own owns the ring
 * buffers, drains them when they are half full, and adds the samples up; the
 * measuring process only tells it to begin and to end, so it gains no thread.
 */
#ifndef SHOOTDOWN_PROBE_SAMPLER_H
#define SHOOTDOWN_PROBE_SAMPLER_H

#include <jansson.h>
#include <stddef.h>

struct perf_event_attr;
struct sampler;

struct sampler_spec {
	const struct perf_event_attr *attr;	/* disabled and wakeup are set here; attr->size is heeded */
	size_t buffer_bytes;			/* each CPU's; rounded up to a power of two of pages */
	/* In the sampling process. record: body of one PERF_RECORD_SAMPLE; misc: of its header. */
	void (*record)(void *context, unsigned int misc, const void *body, size_t size);
	json_t *(*result)(void *context);	/* what to hand over, as JSON; owned by the caller */
	void (*reset)(void *context);
	void *context;
};

/* NULL and the reason. */
struct sampler *sampler_open(const struct sampler_spec *spec, char *reason, size_t reason_size);
void sampler_begin(struct sampler *sampler);
void sampler_end(struct sampler *sampler);
/* {"lost": N, "result": ...}; NULL: the sampling process is gone. */
json_t *sampler_result(struct sampler *sampler);
void sampler_close(struct sampler *sampler);

#endif
