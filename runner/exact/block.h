/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the blocks of format.h. A failed write ends QEMU with a line: a counts file with a hole is worse than none. */
#ifndef SHOOTDOWN_EXACT_BLOCK_H
#define SHOOTDOWN_EXACT_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

int block_open(const char *path);	/* 0 or -1 */
void block_write(uint32_t type, const void *payload, size_t size);
void block_close(void);

#pragma GCC visibility pop

#endif
