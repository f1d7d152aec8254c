/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers with units, as people write them. All parsers take the whole text or fail: -EINVAL, -ERANGE. */
#ifndef SHOOTDOWN_UNITS_H
#define SHOOTDOWN_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* "4096", "0x433333000", "64KiB", "1 GiB", "2M" (binary): bytes. */
int parse_size(const char *text, uint64_t *bytes);
/* "10ms", "3 s", "250us", "5min", "2d": nanoseconds. The unit is required (except for 0). */
int parse_duration(const char *text, uint64_t *nanoseconds);
/* Decimal or 0x: a count. */
int parse_count(const char *text, uint64_t *count);
/* Writes "1.5 GiB" / "12.3 ms" into text; returns text. */
char *format_size(uint64_t bytes, char *text, size_t text_size);
char *format_duration(uint64_t nanoseconds, char *text, size_t text_size);

#endif
