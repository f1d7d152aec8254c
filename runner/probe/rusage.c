// SPDX-License-Identifier: GPL-2.0-or-later
/* Time and faults of the measuring process, of its children that ended in the ROI, and of its workers. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "probe.h"

struct rusage_state {
	struct rusage self[2], children[2];
};

/* A sum of differences, back to the microseconds it was made of. */
static json_t *microseconds(double value)
{
	return json_real(round(value * 1e6) / 1e6);
}

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

void usage_add_difference(struct probe_usage *usage, const struct rusage *before, const struct rusage *after)
{
	usage->user_seconds += seconds(&after->ru_utime) - seconds(&before->ru_utime);
	usage->system_seconds += seconds(&after->ru_stime) - seconds(&before->ru_stime);
	usage->voluntary_context_switches += after->ru_nvcsw - before->ru_nvcsw;
	usage->involuntary_context_switches += after->ru_nivcsw - before->ru_nivcsw;
	usage->minor_page_faults += after->ru_minflt - before->ru_minflt;
	usage->major_page_faults += after->ru_majflt - before->ru_majflt;
}

static int rusage_open(void **state, const struct probe_environment *environment)
{
	(void)environment;
	*state = calloc(1, sizeof(struct rusage_state));
	return *state ? 0 : -ENOMEM;
}

static void rusage_begin(void *state)
{
	struct rusage_state *own = state;

	getrusage(RUSAGE_CHILDREN, &own->children[0]);
	getrusage(RUSAGE_SELF, &own->self[0]);
}

static void rusage_end(void *state)
{
	struct rusage_state *own = state;

	getrusage(RUSAGE_SELF, &own->self[1]);
	getrusage(RUSAGE_CHILDREN, &own->children[1]);
}

static void rusage_report(void *state, struct probe_report *report)
{
	struct rusage_state *own = state;
	struct probe_usage usage = *report->workers;

	usage_add_difference(&usage, &own->self[0], &own->self[1]);
	usage_add_difference(&usage, &own->children[0], &own->children[1]);
	json_object_set_new(report->counts, "time.user_time", microseconds(usage.user_seconds));
	json_object_set_new(report->counts, "time.system_time", microseconds(usage.system_seconds));
	json_object_set_new(report->counts, "time.elapsed_time", json_real(report->elapsed_seconds));
	json_object_set_new(report->counts, "time.voluntary_context_switches",
			    json_integer(usage.voluntary_context_switches));
	json_object_set_new(report->counts, "time.involuntary_context_switches",
			    json_integer(usage.involuntary_context_switches));
	json_object_set_new(report->counts, "time.minor_page_faults", json_integer(usage.minor_page_faults));
	json_object_set_new(report->counts, "time.major_page_faults", json_integer(usage.major_page_faults));
}

static const struct probe rusage_probe = {
	.name = "rusage",
	.summary = "user and system time, context switches and page faults of all processes of the workload",
	.open = rusage_open, .begin = rusage_begin, .end = rusage_end, .report = rusage_report, .close = free,
};
PROBE_REGISTER(rusage_probe);
