/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHOOTDOWN_ORDER_H
#define SHOOTDOWN_ORDER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Order of `count` kernels in a block. Blocks come in pairs: the second runs
 * the first one's order backwards, so a drift that is linear over the pair
 * favours nobody; each pair starts from a fresh seeded permutation.
 * Pure: the same seed, block and count give the same order.
 */
void block_order(uint64_t seed, unsigned int block, size_t count, size_t *order);

#endif
