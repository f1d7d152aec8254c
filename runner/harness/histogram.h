/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log-linear histogram of nanoseconds: 64 buckets for each power of two, so a
 * bucket is at most 1/64 of its value wide. Values from 2^41 ns (36 minutes)
 * on share the last bucket. One writer; no locks.
 */
#ifndef SHOOTDOWN_HARNESS_HISTOGRAM_H
#define SHOOTDOWN_HARNESS_HISTOGRAM_H

#include <jansson.h>
#include <stdint.h>

#define LATENCY_SUB_BITS 6
#define LATENCY_TOP_BIT 41
#define LATENCY_BUCKETS (((LATENCY_TOP_BIT - LATENCY_SUB_BITS) << LATENCY_SUB_BITS) + (1 << LATENCY_SUB_BITS))

struct latency_histogram {
	uint64_t count;
	uint64_t buckets[LATENCY_BUCKETS];
};

unsigned int latency_bucket(uint64_t nanoseconds);
/* The bucket holds low <= value < high. */
void latency_bounds(unsigned int bucket, uint64_t *low, uint64_t *high);
void latency_merge(struct latency_histogram *into, const struct latency_histogram *from);
/* {"unit": "ns", "buckets": [[low, high, count], ...]}, empty buckets left out. */
json_t *latency_json(const struct latency_histogram *histogram);

#endif
