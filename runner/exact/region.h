/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regions of interest: what a begin and an end mark do, and the counts file. */
#ifndef SHOOTDOWN_EXACT_REGION_H
#define SHOOTDOWN_EXACT_REGION_H

#include <stdint.h>

#include "decode.h"

#pragma GCC visibility push(hidden)

/* Opens the counts file and writes its header. 0, or -1 with a line on standard error. */
int region_start(const char *path, const struct decoder *decoder, unsigned int cpus,
		 uint32_t user_counter, uint32_t user_repeat_counter);
/* A mark was reached. Marks out of order end counting: the file says why. */
void region_mark(uint32_t mark);
/* QEMU ends. */
void region_end(void);

#pragma GCC visibility pop

#endif
