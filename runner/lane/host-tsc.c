// SPDX-License-Identifier: GPL-2.0-or-later
#include "host-tsc.h"

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)

#include <x86intrin.h>

#define MEASURED_NANOSECONDS 20000000
#define TRIES 8

/* A counter and a clock read in one moment. */
struct moment {
	uint64_t ticks, nanoseconds;
};

/* The reading that took the shortest time: a process can be put aside between the two. */
static struct moment now(void)
{
	struct moment best = { 0, 0 };
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		struct timespec clock;
		uint64_t before = __rdtsc(), after;

		clock_gettime(CLOCK_MONOTONIC_RAW, &clock);
		after = __rdtsc();
		if (after - before >= shortest)
			continue;
		shortest = after - before;
		best.ticks = before + shortest / 2;
		best.nanoseconds = (uint64_t)clock.tv_sec * 1000000000 + (uint64_t)clock.tv_nsec;
	}
	return best;
}

unsigned int host_tsc_khz(void)
{
	static unsigned int khz;
	const struct timespec pause = { .tv_nsec = MEASURED_NANOSECONDS };
	struct moment start, end;

	if (khz)
		return khz;
	start = now();
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	end = now();
	if (end.ticks <= start.ticks || end.nanoseconds <= start.nanoseconds)
		return 0;
	khz = (unsigned int)((double)(end.ticks - start.ticks) * 1e6 / (double)(end.nanoseconds - start.nanoseconds) + 0.5);
	return khz;
}

#else

unsigned int host_tsc_khz(void)
{
	return 0;
}

#endif
