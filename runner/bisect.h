/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which commit to test next: git's own halving of a history, without touching anybody's work tree. */
#ifndef SHOOTDOWN_BISECT_H
#define SHOOTDOWN_BISECT_H

#include <stddef.h>

#define COMMIT_TEXT 65

struct bisect_state {
	const char *repository;
	char bad[COMMIT_TEXT];
	char (*good)[COMMIT_TEXT];
	size_t good_count;
	char (*skipped)[COMMIT_TEXT];
	size_t skipped_count;
};

/* Resolves the two ends. -ENOENT with a reason when a name is none, -EINVAL when bad does not follow good. */
int bisect_start(struct bisect_state *state, const char *repository, const char *good, const char *bad,
		 char *reason, size_t reason_size);
/*
 * The commit whose test halves what is left. 0; -ENODATA when state->bad is the first bad one; -EAGAIN when only
 * skipped commits are left between. *left is the number of commits that may still be the first bad one.
 */
int bisect_next(const struct bisect_state *state, char commit[COMMIT_TEXT], size_t *left);
/* Subject, author and day, for a person to read: no control characters. Caller frees; NULL when git cannot say. */
char *bisect_describe(const struct bisect_state *state, const char *commit);
void bisect_mark_good(struct bisect_state *state, const char *commit);
void bisect_mark_bad(struct bisect_state *state, const char *commit);
void bisect_mark_skipped(struct bisect_state *state, const char *commit);
void bisect_free(struct bisect_state *state);

#endif
