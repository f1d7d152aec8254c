// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit size_units[] = {
	{ "", 1 }, { "B", 1 },
	{ "K", 1ULL << 10 }, { "KiB", 1ULL << 10 }, { "k", 1ULL << 10 },
	{ "M", 1ULL << 20 }, { "MiB", 1ULL << 20 },
	{ "G", 1ULL << 30 }, { "GiB", 1ULL << 30 },
	{ "T", 1ULL << 40 }, { "TiB", 1ULL << 40 },
	{ NULL, 0 },
};

static const struct unit duration_units[] = {
	{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
	{ "min", 60000000000ULL }, { "h", 3600000000000ULL }, { "d", 86400000000000ULL },
	{ NULL, 0 },
};

/* A number without sign, then the rest of the text with blanks skipped. */
static int parse_number(const char *text, uint64_t *number, const char **rest)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10);
	if (errno)
		return -errno;
	while (isspace((unsigned char)*end))
		end++;
	*rest = end;
	return 0;
}

static int parse_with_units(const char *text, const struct unit *units, uint64_t *value)
{
	const char *rest;
	uint64_t number;
	int error = parse_number(text, &number, &rest);

	if (error)
		return error;
	for (; units->name; units++) {
		if (strcmp(units->name, rest))
			continue;
		if (__builtin_mul_overflow(number, units->factor, value))
			return -ERANGE;
		return 0;
	}
	return -EINVAL;
}

int parse_size(const char *text, uint64_t *bytes)
{
	return parse_with_units(text, size_units, bytes);
}

int parse_duration(const char *text, uint64_t *nanoseconds)
{
	if (!strcmp(text, "0")) {
		*nanoseconds = 0;
		return 0;
	}
	return parse_with_units(text, duration_units, nanoseconds);
}

int parse_count(const char *text, uint64_t *count)
{
	const char *rest;
	uint64_t number;
	int error = parse_number(text, &number, &rest);

	if (error)
		return error;
	if (*rest)
		return -EINVAL;
	*count = number;
	return 0;
}

char *format_size(uint64_t bytes, char *text, size_t text_size)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t index = 0;

	while (value >= 1024 && index < 4) {
		value /= 1024;
		index++;
	}
	snprintf(text, text_size, value == (uint64_t)value ? "%.0f %s" : "%.1f %s", value, names[index]);
	return text;
}

char *format_duration(uint64_t nanoseconds, char *text, size_t text_size)
{
	double seconds = (double)nanoseconds / 1e9;

	if (seconds >= 3600)
		snprintf(text, text_size, "%.0f h %02.0f min", (double)(uint64_t)(seconds / 3600),
			 (double)((uint64_t)seconds % 3600 / 60));
	else if (seconds >= 60)
		snprintf(text, text_size, "%.0f min %02.0f s", (double)(uint64_t)(seconds / 60),
			 (double)((uint64_t)seconds % 60));
	else if (seconds >= 1)
		snprintf(text, text_size, "%.3g s", seconds);
	else if (nanoseconds >= 1000000)
		snprintf(text, text_size, "%.3g ms", seconds * 1e3);
	else if (nanoseconds >= 1000)
		snprintf(text, text_size, "%.3g us", seconds * 1e6);
	else
		snprintf(text, text_size, "%llu ns", (unsigned long long)nanoseconds);
	return text;
}
