/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/interrupts: the rows this suite counts, matched as whole labels. */
#ifndef SHOOTDOWN_PROBE_INTERRUPTS_H
#define SHOOTDOWN_PROBE_INTERRUPTS_H

#include <jansson.h>

/*
 * {"interrupts.TLB:TLB_shootdowns": {"0": 12, "1": 30}, ...} of one reading.
 * x86: rows TLB, CAL, RES and LOC. arm64: the IPI rows, told apart by their
 * names because their numbers differ between kernels. NULL: the text is not
 * one of /proc/interrupts.
 */
json_t *interrupts_parse(const char *text);
/* after - before, into sums and per_cpu; what cannot be compared goes to missing. */
void interrupts_difference(const json_t *before, const json_t *after, json_t *counts, json_t *per_cpu, json_t *missing);

#endif
