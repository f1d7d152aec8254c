// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../common/nearest.h"
#include "lane.h"

#define LANES_MAXIMUM 15

/* The linker makes these; weak, so that a program without lanes links as well. */
extern const struct lane *const __start_shootdown_lanes[] __attribute__((weak, visibility("hidden")));
extern const struct lane *const __stop_shootdown_lanes[] __attribute__((weak, visibility("hidden")));

static const char *const outcome_names[] = {
	[BOOT_OK] = "ok",
	[BOOT_PANIC] = "panic",
	[BOOT_OOPS] = "oops",
	[BOOT_WARN] = "warn",
	[BOOT_HANG] = "hang",
	[BOOT_OUT_OF_MEMORY] = "out-of-memory",
	[BOOT_EARLY_EXIT] = "early-exit",
	[BOOT_LOST] = "lost",
	[BOOT_WORKLOAD_FAILED] = "workload-failed",
	[BOOT_UNSUPPORTED] = "unsupported",
	[BOOT_HOST_ERROR] = "host-error",
	[BOOT_INTERRUPTED] = "interrupted",
};

const char *boot_outcome_name(enum boot_outcome outcome)
{
	return outcome_names[outcome];
}

void boot_not_started(struct boot_result *result, const char *reason, int error)
{
	*result = (struct boot_result){ .outcome = BOOT_HOST_ERROR, .seconds_to_workload = NAN };
	snprintf(result->detail, sizeof(result->detail), "%s", reason[0] ? reason : strerror(-error));
}

const struct lane *const *lane_next(const struct lane *const *previous)
{
	const struct lane *const *next = previous ? previous + 1 : __start_shootdown_lanes;

	return next < __stop_shootdown_lanes ? next : NULL;
}

const struct lane *lane_find(const char *name)
{
	for (const struct lane *const *lane = lane_next(NULL); lane; lane = lane_next(lane))
		if (!strcmp((*lane)->name, name))
			return *lane;
	return NULL;
}

char *lane_hint(const char *name, char *text, size_t text_size)
{
	const char *names[LANES_MAXIMUM + 1] = { NULL };
	size_t count = 0;

	for (const struct lane *const *lane = lane_next(NULL); lane && count < LANES_MAXIMUM; lane = lane_next(lane))
		names[count++] = (*lane)->name;
	return nearest_hint(name, names, text, text_size);
}
