// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

struct symbol {
	uint64_t address;
	const char *name;
	char type;
};

struct symbols {
	char *text;
	struct symbol *list;
	size_t count;
};

static unsigned int leading_underscores(const char *name)
{
	return (unsigned int)strspn(name, "_");
}

/* By address; of equals the one to be shown comes first. */
static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	bool x_global = x->type == 'T', y_global = y->type == 'T';

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x_global != y_global)
		return y_global - x_global;
	if (leading_underscores(x->name) != leading_underscores(y->name))
		return leading_underscores(x->name) < leading_underscores(y->name) ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* "ffffffff81000000 T name\t[module]\n": cuts the line into its parts. false: not a text symbol. */
static bool parse_line(char *line, char *end, struct symbol *symbol)
{
	char *at;

	symbol->address = strtoull(line, &at, 16);
	if (at == line || at + 3 >= end || at[0] != ' ' || at[2] != ' ')
		return false;
	symbol->type = at[1];
	symbol->name = at + 3;
	at[3 + strcspn(at + 3, "\t \n")] = '\0';
	return symbol->type == 't' || symbol->type == 'T' || symbol->type == 'W' || symbol->type == 'w';
}

static size_t count_lines(const char *text)
{
	size_t lines = 1;

	for (; (text = strchr(text, '\n')); text++)
		lines++;
	return lines;
}

int symbols_parse(char *text, struct symbols **symbols)
{
	struct symbols *own = calloc(1, sizeof(*own));
	char *line = text, *end = text + strlen(text), *newline;

	if (!own) {
		free(text);
		return -ENOMEM;
	}
	own->text = text;
	own->list = calloc(count_lines(text), sizeof(*own->list));
	for (; own->list && line < end; line = newline + 1) {
		newline = strchr(line, '\n');
		newline = newline ? newline : end;
		own->count += parse_line(line, newline, &own->list[own->count]);
	}
	if (!own->list || !own->count) {
		int error = own->list ? -EINVAL : -ENOMEM;

		symbols_free(own);
		return error;
	}
	qsort(own->list, own->count, sizeof(*own->list), by_address);
	if (!own->list[own->count - 1].address) {
		symbols_free(own);
		return -EACCES;
	}
	*symbols = own;
	return 0;
}

const char *symbols_find(const struct symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->count;

	/* The first one above the address; the last one not above it stands before. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->list[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	for (low--; low && symbols->list[low - 1].address == symbols->list[low].address;)
		low--;
	return symbols->list[low].name;
}

void symbols_free(struct symbols *symbols)
{
	free(symbols->list);
	free(symbols->text);
	free(symbols);
}
