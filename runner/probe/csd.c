// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Function calls asked of other CPUs, and what is sent to make them run.
 * Switching the counters off is such a call, too: one csd_function_entry and
 * exit more on each CPU.
 */
#include "perf-counter.h"

static int csd_open(void **state, const struct probe_environment *environment)
{
	static const struct tracepoint_name names[] = {
		{ "csd", "csd_queue_cpu" }, { "csd", "csd_function_entry" }, { "csd", "csd_function_exit" },
		{ "ipi", "ipi_send_cpu" }, { "ipi", "ipi_send_cpumask" }, { NULL, NULL },
	};

	(void)environment;
	return perf_open_tracepoints(state, names);
}

static const struct probe csd_probe = {
	.name = "csd",
	.summary = "tracepoints csd:* and ipi:ipi_send_*: calls queued, run, and interrupts sent for them",
	.costly = true, .wants_tracefs = true,
	.open = csd_open, .begin = perf_probe_begin, .end = perf_probe_end,
	.report = perf_probe_report, .close = perf_probe_close,
};
PROBE_REGISTER(csd_probe);
