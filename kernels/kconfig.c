// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kconfig.h"

static size_t symbol_length(const char *text)
{
	size_t length = 7;

	if (strncmp(text, "CONFIG_", 7))
		return 0;
	while (isalnum((unsigned char)text[length]) || text[length] == '_')
		length++;
	return length > 7 ? length : 0;
}

void kconfig_merge(json_t *symbols, const json_t *more)
{
	const char *symbol;
	json_t *value;

	json_object_foreach((json_t *)more, symbol, value) {
		json_object_del(symbols, symbol);
		json_object_set(symbols, symbol, value);
	}
}

/* "CONFIG_X=value" or "# CONFIG_X is not set". False when the line is neither that nor a comment. */
static bool take_line(const char *line, size_t length, json_t *symbols)
{
	const char *start = length > 2 && !strncmp(line, "# CONFIG_", 9) ? line + 2 : line;
	size_t symbol = symbol_length(start);
	char name[128];

	while (length && isspace((unsigned char)line[length - 1]))
		length--;
	if (!length)
		return true;
	if (line[0] == '#' && (!symbol || strncmp(start + symbol, " is not set", 11)))
		return true;	/* a comment */
	if (!symbol || symbol >= sizeof(name))
		return false;
	memcpy(name, start, symbol);
	name[symbol] = '\0';
	/* Kconfig takes the last member of a choice that is set: the order must be that of the lines that count. */
	json_object_del(symbols, name);
	if (line[0] == '#')
		return !json_object_set_new(symbols, name, json_string("n"));
	if (start[symbol] != '=' || symbol + 1 >= length)
		return false;
	return !json_object_set_new(symbols, name, json_stringn(start + symbol + 1, length - symbol - 1));
}

int kconfig_parse(const char *text, json_t *symbols, char *reason, size_t reason_size)
{
	unsigned int number = 1;

	for (const char *line = text; *line; number++) {
		size_t length = strcspn(line, "\n");

		if (!take_line(line, length, symbols)) {
			snprintf(reason, reason_size, "line %u: '%.*s' is neither CONFIG_NAME=VALUE nor a comment", number,
				 (int)(length < 60 ? length : 60), line);
			return -EINVAL;
		}
		line += length + (line[length] == '\n');
	}
	return 0;
}

char *kconfig_text(const json_t *symbols)
{
	const char *symbol;
	json_t *value;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		abort();
	json_object_foreach((json_t *)symbols, symbol, value) {
		if (!strcmp(json_string_value(value), "n"))
			fprintf(stream, "# %s is not set\n", symbol);
		else
			fprintf(stream, "%s=%s\n", symbol, json_string_value(value));
	}
	if (fclose(stream))
		abort();
	return text;
}

const char *kconfig_value(const json_t *symbols, const char *symbol)
{
	const char *value = json_string_value(json_object_get(symbols, symbol));

	return value ? value : "n";
}
