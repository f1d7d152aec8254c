/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHOOTDOWN_MEMORY_H
#define SHOOTDOWN_MEMORY_H

#include <stdint.h>

/* A line of /proc/meminfo ("MemTotal") in bytes; 0 when it is not there. */
uint64_t meminfo_bytes(const char *key);
/* What may still be allocated: MemAvailable, or less where a cgroup limits it. Bytes. */
uint64_t available_memory(void);

#endif
