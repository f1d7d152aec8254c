/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format file of a tracepoint: where its fields lie, and what its numbers are called. */
#ifndef SHOOTDOWN_PROBE_TRACE_FORMAT_H
#define SHOOTDOWN_PROBE_TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

struct trace_field {
	size_t offset, size;
};

/* -ENOENT: no such field, or one that is no number of 1, 2, 4 or 8 bytes. */
int trace_field_find(const char *format, const char *name, struct trace_field *field);
/* -ERANGE: the record is too short. */
int trace_field_read(const struct trace_field *field, const void *record, size_t size, uint64_t *value);
/* Name of value in __print_symbolic(REC->FIELD, ...); "FIELD VALUE" where the format does not tell. */
void trace_symbol(const char *format, const char *field, uint64_t value, char *name, size_t name_size);

#endif
