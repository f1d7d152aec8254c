/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where tracefs stands. When it is not mounted and we may, it is mounted in a
 * mount namespace of our own, which ends with us: the machine is not changed.
 */
#ifndef SHOOTDOWN_PROBE_TRACEFS_H
#define SHOOTDOWN_PROBE_TRACEFS_H

#include <stddef.h>

/* Root of tracefs, borrowed; NULL and the reason why it cannot be had, with what to do. */
const char *tracefs_root(const char **reason);
/* Number of a tracepoint for perf_event_attr.config. -ENOENT: this kernel has no such event. Other -errno: no tracefs. */
int tracefs_event_id(const char *system, const char *event, unsigned long long *id);
/* Text of a file below events/SYSTEM/EVENT; caller frees. -errno. */
int tracefs_event_file(const char *system, const char *event, const char *file, char **text);
/*
 * Why a tracepoint that every kernel lists never fires on this architecture,
 * so that its 0 would be no count; NULL when it does.
 */
const char *tracepoint_is_idle(const char *system, const char *event);
/* All "SYSTEM:EVENT", NULL-terminated; freed by tracefs_names_free. NULL without tracefs. */
char **tracefs_event_names(void);
void tracefs_names_free(char **names);

#endif
