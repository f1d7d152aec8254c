/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From counters of runs to the arrays of a region, by address. */
#ifndef SHOOTDOWN_EXACT_GATHER_H
#define SHOOTDOWN_EXACT_GATHER_H

#include <stddef.h>

#include "format.h"

#pragma GCC visibility push(hidden)

/* Fills the numbers of `region` and makes its payload: the region and its arrays. The caller frees it. Returns its size. */
size_t gather_region(struct exact_region *region, void **payload);

#pragma GCC visibility pop

#endif
