/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHOOTDOWN_PROBE_VMSTAT_H
#define SHOOTDOWN_PROBE_VMSTAT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* False for a gauge: a number of pages there are, which goes up and down and counts no event. */
bool vmstat_counts_events(const char *name, size_t length);
/* "proc-vmstat.NAME": after - before, for every line that counts events. */
void vmstat_difference(const char *before, const char *after, json_t *counts, json_t *missing);

#endif
