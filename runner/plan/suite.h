/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suites: from a file, a name, or a bare workload, to one checked JSON value (CONTRIBUTING.md, "Series and suites"). */
#ifndef SHOOTDOWN_SUITE_H
#define SHOOTDOWN_SUITE_H

#include <jansson.h>
#include <stddef.h>

#include "../common/hash.h"

struct suite {
	json_t *json;
	char *path;		/* of the file; NULL for a bare workload */
	char *directory;	/* that holds it; NULL for a bare workload */
	char hash[HASH_TEXT];
};

/*
 * `word` is a path, the name of a file in configs/suites, SERIES/SUITE or
 * SERIES of kernels/series, or a workload. 0; -ENOENT when it is nothing of
 * all that (nearest name in the reason); -EINVAL, -EBADMSG for a file that is
 * wrong. Everything that names another thing (workload, probe, case of a
 * metric) is checked later, by the plan, which knows them.
 */
int suite_load(const char *word, struct suite *suite, char *reason, size_t reason_size);
/* A suite of one case: that workload with its defaults. */
int suite_from_workload(const char *workload, struct suite *suite);
/* Leaves one case, those that its derived metrics draw on, and its primary metrics. -ENOENT with the nearest name. */
int suite_keep_case(struct suite *suite, const char *name, char *reason, size_t reason_size);
/* "NAME=VALUE": that option in every case. -EINVAL for another form; whether a workload has it the plan finds out. */
int suite_set_option(struct suite *suite, const char *text, char *reason, size_t reason_size);
void suite_free(struct suite *suite);

/* The lane's section of the suite; never NULL, may be empty. Borrowed. */
json_t *suite_lane(const struct suite *suite, const char *lane);

/* Names of suites: "smoke", "xpfo/suite", ...; NULL-terminated, names_free(). */
char **suite_names(void);

#endif
