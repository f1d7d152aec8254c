/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/stat: context switches of the machine, and where its time went. */
#ifndef SHOOTDOWN_PROBE_STAT_H
#define SHOOTDOWN_PROBE_STAT_H

#include <jansson.h>

/* -ENOENT: a reading has no line ctxt. */
int stat_context_switches(const char *before, const char *after, json_t *counts);
/* machine.steal_time and its like in seconds, also for each CPU. */
int stat_times(const char *before, const char *after, long ticks_per_second, json_t *counts, json_t *per_cpu);

#endif
