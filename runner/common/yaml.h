/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * YAML files as JSON values (libyaml), and a check of their shape by rows.
 * libcyaml maps YAML onto fixed C structs; suites and series hold open maps
 * (options, settings, config symbols), so the document is read as it is and
 * checked here, where a wrong key can be answered with the nearest right one.
 */
#ifndef SHOOTDOWN_YAML_H
#define SHOOTDOWN_YAML_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * One document of at most 1 MiB and 32 levels. Plain true, false, null and
 * numbers get their type, everything else is text. Duplicate keys, anchors,
 * aliases, tags and further documents are refused. -EBADMSG with a reason
 * that names the line; *value is the caller's.
 */
int parse_yaml(const char *data, size_t size, json_t **value, char *reason, size_t reason_size);
int read_yaml(const char *path, json_t **value, char *reason, size_t reason_size);

enum shape_type { SHAPE_TEXT, SHAPE_INTEGER, SHAPE_NUMBER, SHAPE_FLAG, SHAPE_SCALAR, SHAPE_MAP, SHAPE_LIST, SHAPE_ANY };

struct shape {
	const char *name;		/* key; NULL ends the rows */
	enum shape_type type;
	bool required;
	const struct shape *keys;	/* MAP: its rows (NULL: any keys); LIST of maps: rows of each item */
	enum shape_type item;		/* LIST without rows: type of each item; MAP without rows: type of each value */
	long long minimum, maximum;	/* INTEGER, NUMBER; maximum 0: no limit */
};

/* 0 or -EINVAL with one line: "cases[2]: unknown key 'wokload'; did you mean 'workload'?". */
int shape_check(const json_t *value, const struct shape *keys, const char *where, char *reason, size_t reason_size);

#endif
