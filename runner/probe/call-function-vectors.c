// SPDX-License-Identifier: GPL-2.0-or-later
/* Entries to the x86 vectors that carry function calls, TLB flushes among them. */
#include "perf-counter.h"

static int vectors_open(void **state, const struct probe_environment *environment)
{
	static const struct tracepoint_name names[] = {
		{ "irq_vectors", "call_function_entry" }, { "irq_vectors", "call_function_exit" },
		{ "irq_vectors", "call_function_single_entry" }, { "irq_vectors", "call_function_single_exit" },
		{ "irq_vectors", "reschedule_entry" }, { NULL, NULL },
	};

	(void)environment;
	return perf_open_tracepoints(state, names);
}

static const struct probe vectors_probe = {
	.name = "call-function-vectors",
	.summary = "tracepoints irq_vectors:call_function* and reschedule_entry (x86)",
	.costly = true, .wants_tracefs = true,
	.open = vectors_open, .begin = perf_probe_begin, .end = perf_probe_end,
	.report = perf_probe_report, .close = perf_probe_close,
};
PROBE_REGISTER(vectors_probe);
