// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "nearest.h"

#define WORD_LIMIT 64

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost one each. */
static size_t word_distance(const char *a, const char *b)
{
	size_t rows = strlen(a), columns = strlen(b);
	size_t cost[WORD_LIMIT + 1][WORD_LIMIT + 1];

	if (rows > WORD_LIMIT || columns > WORD_LIMIT)
		return WORD_LIMIT;
	for (size_t i = 0; i <= rows; i++)
		cost[i][0] = i;
	for (size_t j = 0; j <= columns; j++)
		cost[0][j] = j;
	for (size_t i = 1; i <= rows; i++) {
		for (size_t j = 1; j <= columns; j++) {
			size_t best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			best = MIN(best, cost[i - 1][j] + 1);
			best = MIN(best, cost[i][j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = MIN(best, cost[i - 2][j - 2] + 1);
			cost[i][j] = best;
		}
	}
	return cost[rows][columns];
}

const char *nearest_name(const char *word, const char *const *names)
{
	size_t limit = MAX(strlen(word) / 3, (size_t)1);
	const char *nearest = NULL;

	for (; *names; names++) {
		size_t distance = word_distance(word, *names);

		/* A word cut short ("anon-cow" for "anon-cow-rand-mt") is near as well. */
		if (strlen(word) >= 3 && !strncmp(word, *names, strlen(word)))
			distance = MIN(distance, (size_t)1);
		if (distance <= limit && (!nearest || distance < word_distance(word, nearest)))
			nearest = *names;
	}
	return nearest;
}

char *nearest_hint(const char *word, const char *const *names, char *text, size_t text_size)
{
	const char *nearest = nearest_name(word, names);

	if (nearest)
		snprintf(text, text_size, "; did you mean '%s'?", nearest);
	else if (text_size)
		text[0] = '\0';
	return text;
}
