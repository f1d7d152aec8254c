/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a shootdown is what the suite takes it for: an interrupt on another
 * CPU. A guest's kernel may ask its hypervisor instead, and no file says so.
 */
#ifndef SHOOTDOWN_REMOTE_FLUSH_H
#define SHOOTDOWN_REMOTE_FLUSH_H

#include <stddef.h>

/*
 * Has known-flush flush one page many times for a thread on another CPU, and
 * counts the row TLB of /proc/interrupts meanwhile: a lower bound, since that
 * thread may be off its CPU for a moment. -errno with a reason: one CPU, an
 * architecture without that row, no such program.
 */
int remote_flush_try(unsigned long long *flushes, unsigned long long *interrupts, char *reason, size_t reason_size);

#endif
