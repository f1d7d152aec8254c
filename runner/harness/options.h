/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Option rows: the table of a workload, and the harness's own, are the only
 * description of an option. Parser, --help, --describe and the canonical
 * argument vector are made from them here.
 */
#ifndef SHOOTDOWN_HARNESS_OPTIONS_H
#define SHOOTDOWN_HARNESS_OPTIONS_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "../../workloads/workload.h"

struct option_table {
	const struct workload_option *rows;
	void *values;		/* the struct that the rows' offsets point into */
	/* Called for each option given, after its value was stored; lets an option repeat. May be NULL. */
	void (*given)(void *values, const struct workload_option *row);
};

/* Stores the default of every row. -EINVAL and a reason: the table itself is wrong. */
int options_default(const struct option_table *table, char *reason, size_t reason_size);

/*
 * Parses argv[1..] against all tables: --name value, --name=value, --flag,
 * --flag=yes|no. No positional arguments. -EINVAL and one line in reason.
 */
int options_parse(const struct option_table *tables, size_t table_count, char *const *argv,
		  char *reason, size_t reason_size);

/* First row that still holds OPTION_VALUE_ALL or OPTION_VALUE_FIT, or NULL. */
const struct workload_option *options_unresolved(const struct option_table *table);

json_t *options_values_json(const struct option_table *table);		/* {NAME: VALUE} */
json_t *options_arguments_json(const struct option_table *table);	/* ["--name=value", ...] */
json_t *options_describe_json(const struct option_table *table);	/* rows, for --describe */
void options_help(const struct option_table *table, FILE *stream);

#endif
