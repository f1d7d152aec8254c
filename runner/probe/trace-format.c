// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace-format.h"

/* "\tfield:unsigned long pages;\toffset:16;\tsize:8;\tsigned:0;" */
static const char *field_line(const char *format, const char *name)
{
	size_t name_length = strlen(name);

	for (const char *at = format; (at = strstr(at, "field:")); at += strcspn(at, "\n")) {
		size_t length = strcspn(at, ";\n");

		/* The declaration ends with the name; a blank stands before it. */
		if (length > name_length && at[length - name_length - 1] == ' ' &&
		    !memcmp(at + length - name_length, name, name_length))
			return at;
	}
	return NULL;
}

int trace_field_find(const char *format, const char *name, struct trace_field *field)
{
	const char *line = field_line(format, name), *rest = line ? strchr(line, ';') : NULL;
	unsigned long offset, size;

	if (!rest || sscanf(rest, "; offset:%lu; size:%lu;", &offset, &size) != 2)
		return -ENOENT;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return -ENOENT;
	*field = (struct trace_field){ .offset = offset, .size = size };
	return 0;
}

int trace_field_read(const struct trace_field *field, const void *record, size_t size, uint64_t *value)
{
	const char *at;
	uint8_t one;
	uint16_t two;
	uint32_t four;

	if (field->size > size || field->offset > size - field->size)
		return -ERANGE;
	at = (const char *)record + field->offset;
	switch (field->size) {
	case 1:
		memcpy(&one, at, 1);
		*value = one;
		return 0;
	case 2:
		memcpy(&two, at, 2);
		*value = two;
		return 0;
	case 4:
		memcpy(&four, at, 4);
		*value = four;
		return 0;
	}
	memcpy(value, at, 8);
	return 0;
}

void trace_symbol(const char *format, const char *field, uint64_t value, char *name, size_t name_size)
{
	char start[80];
	const char *at;

	snprintf(name, name_size, "%s %llu", field, (unsigned long long)value);
	snprintf(start, sizeof(start), "__print_symbolic(REC->%s,", field);
	at = strstr(format, start);
	if (!at)
		return;
	/* { 0, "flush on task switch" }, { 1, ... }) */
	for (at += strlen(start); (at = strpbrk(at, "{)")) && *at == '{'; at++) {
		char *end;
		uint64_t number = strtoull(at + 1, &end, 0);
		const char *quote = strchr(end, '"');

		if (!quote)
			return;
		if (number == value && end != at + 1) {
			snprintf(name, name_size, "%.*s", (int)strcspn(quote + 1, "\""), quote + 1);
			return;
		}
		at = quote + 1 + strcspn(quote + 1, "\"");
		if (!*at)
			return;
	}
}
