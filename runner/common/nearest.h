/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHOOTDOWN_NEAREST_H
#define SHOOTDOWN_NEAREST_H

#include <stddef.h>

/*
 * The name that is nearest to a mistyped word by Damerau-Levenshtein
 * distance, or NULL when none is near enough to be suggested (distance more
 * than a third of the word's length). Borrowed from names (NULL-terminated).
 */
const char *nearest_name(const char *word, const char *const *names);
/* Writes "; did you mean 'NAME'?" or "" into text; returns text. */
char *nearest_hint(const char *word, const char *const *names, char *text, size_t text_size);

#endif
