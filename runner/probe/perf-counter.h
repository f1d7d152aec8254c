/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting perf events: one descriptor for each CPU where the whole machine
 * may be watched, else one inherited by the process tree. Switched on right
 * before the clock and off right after it.
 */
#ifndef SHOOTDOWN_PROBE_PERF_COUNTER_H
#define SHOOTDOWN_PROBE_PERF_COUNTER_H

#include "probe.h"

/* Of <linux/perf_event.h>, or libpfm4's copy of it, which may be shorter: the two cannot be included together. */
struct perf_event_attr;

struct perf_counters;

struct perf_counters *perf_counters_new(void);	/* NULL: out of memory */
/* key: of counts; attr->size says how much of attr there is. What cannot be opened is kept for `missing`. -ENOMEM only. */
int perf_counters_add(struct perf_counters *counters, const char *key, const struct perf_event_attr *attr);
/* A key that cannot be had, with the reason. */
int perf_counters_miss(struct perf_counters *counters, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The tracepoint SYSTEM:EVENT, under the key tracepoint.SYSTEM:EVENT. */
int perf_counters_add_tracepoint(struct perf_counters *counters, const char *system, const char *event);
void perf_counters_enable(struct perf_counters *counters);
void perf_counters_disable(struct perf_counters *counters);
void perf_counters_report(struct perf_counters *counters, struct probe_report *report);
void perf_counters_free(struct perf_counters *counters);

/* What a set of readings says: estimate of the whole from the share of time that was counted. */
double perf_scale(unsigned long long value, unsigned long long enabled, unsigned long long running, double *share);

/* Online CPUs; count, or -errno. Caller frees. */
int perf_online_cpus(int **cpus);

/* For probes that are nothing but a list of tracepoints: their open() body. */
struct tracepoint_name {
	const char *system, *event;	/* system NULL ends the list */
};
int perf_open_tracepoints(void **state, const struct tracepoint_name *names);
/* The other callbacks of such a probe. */
void perf_probe_begin(void *state);
void perf_probe_end(void *state);
void perf_probe_report(void *state, struct probe_report *report);
void perf_probe_close(void *state);

#endif
