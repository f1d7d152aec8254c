/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of a kernel's functions, from System.map or kallsyms: what the plugin is told to watch, and whether the symbols are those of the kernel that ran. */
#ifndef SHOOTDOWN_EXACT_SYMBOLS_H
#define SHOOTDOWN_EXACT_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exact_symbol {
	uint64_t address;
	char name[56];		/* longer names are cut: none that is looked for is that long */
};

struct exact_symbols {
	struct exact_symbol *list;	/* text symbols, ascending addresses */
	size_t count;
};

/* -errno; -EINVAL: not a file of symbols, or one without addresses. */
int exact_symbols_read(const char *path, struct exact_symbols *symbols);
void exact_symbols_free(struct exact_symbols *symbols);
/* Whether a symbol stands at exactly this address. */
bool exact_symbols_has(const struct exact_symbols *symbols, uint64_t address);
/* Writes the plugin's options file (runner/exact/places.h) for an architecture. */
int exact_places_write(const struct exact_symbols *symbols, const char *architecture, const char *path);

#endif
