// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "../../workloads/workload.h"
#include "histogram.h"

#define SUB (1u << LATENCY_SUB_BITS)

unsigned int latency_bucket(uint64_t nanoseconds)
{
	unsigned int top;

	if (nanoseconds < SUB)
		return (unsigned int)nanoseconds;
	top = 63 - (unsigned int)__builtin_clzll(nanoseconds);
	if (top >= LATENCY_TOP_BIT)
		return LATENCY_BUCKETS - 1;
	/* The bits below the leading one choose among the SUB buckets of this power of two. */
	return ((top - LATENCY_SUB_BITS + 1) << LATENCY_SUB_BITS) +
	       (unsigned int)((nanoseconds >> (top - LATENCY_SUB_BITS)) & (SUB - 1));
}

void latency_bounds(unsigned int bucket, uint64_t *low, uint64_t *high)
{
	unsigned int shift;

	if (bucket < SUB) {
		*low = bucket;
		*high = bucket + 1;
		return;
	}
	shift = (bucket >> LATENCY_SUB_BITS) - 1;
	*low = (uint64_t)(SUB + (bucket & (SUB - 1))) << shift;
	*high = bucket == LATENCY_BUCKETS - 1 ? UINT64_MAX : *low + (1ULL << shift);
}

void latency_record(struct latency_histogram *histogram, uint64_t nanoseconds)
{
	histogram->buckets[latency_bucket(nanoseconds)]++;
	histogram->count++;
}

void latency_merge(struct latency_histogram *into, const struct latency_histogram *from)
{
	if (!from->count)
		return;
	into->count += from->count;
	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
}

double latency_quantile(const struct latency_histogram *histogram, double fraction)
{
	uint64_t low, high, below = 0;
	double wanted;

	if (!histogram || !histogram->count)
		return NAN;
	wanted = fraction * (double)histogram->count;
	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
		below += histogram->buckets[i];
		if (histogram->buckets[i] && (double)below >= wanted) {
			latency_bounds(i, &low, &high);
			/* Buckets below SUB hold one value; the last one has no upper bound. */
			if (i < SUB || i == LATENCY_BUCKETS - 1)
				return (double)low;
			return (double)low + (double)(high - low) / 2;
		}
	}
	return NAN;
}

json_t *latency_json(const struct latency_histogram *histogram)
{
	json_t *buckets = json_array();
	uint64_t low, high;

	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
		if (!histogram->buckets[i])
			continue;
		latency_bounds(i, &low, &high);
		if (high > INT64_MAX)
			high = INT64_MAX;
		json_array_append_new(buckets, json_pack("[I, I, I]", (json_int_t)low, (json_int_t)high,
							 (json_int_t)histogram->buckets[i]));
	}
	return json_pack("{s:s, s:o}", "unit", "ns", "buckets", buckets);
}
