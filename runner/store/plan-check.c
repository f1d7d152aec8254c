// SPDX-License-Identifier: GPL-2.0-or-later
#include "plan-check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../common/json-text.h"
#include "campaign.h"

#define BOOTS_LIMIT 1000000

struct place {
	const char *list;	/* NULL: the plan itself */
	size_t index;
	char *reason;
	size_t reason_size;
};

static int wrong(const struct place *place, const char *key, const char *what)
{
	if (place->list)
		snprintf(place->reason, place->reason_size, "%s[%zu].%s %s", place->list, place->index, key, what);
	else
		snprintf(place->reason, place->reason_size, "%s %s", key, what);
	return -EBADMSG;
}

static int check_texts(const struct place *place, const json_t *map, const char *const *keys)
{
	for (; *keys; keys++)
		if (!json_is_string(json_object_get(map, *keys)))
			return wrong(place, *keys, "is no text");
	return 0;
}

static int check_text_list(const struct place *place, const json_t *map, const char *key)
{
	const json_t *list = json_object_get(map, key);
	json_t *item;
	size_t index;

	if (!json_is_array(list))
		return wrong(place, key, "is no list");
	json_array_foreach(list, index, item)
		if (!json_is_string(item))
			return wrong(place, key, "holds something that is no text");
	return 0;
}

static int check_number(const struct place *place, const json_t *map, const char *key, json_int_t least, json_int_t most)
{
	const json_t *value = json_object_get(map, key);

	if (!json_is_integer(value) || json_integer_value(value) < least || json_integer_value(value) > most)
		return wrong(place, key, "is no number, or one that cannot be");
	return 0;
}

static int check_kernel(const struct place *place, const json_t *plan, const json_t *kernel)
{
	static const char *const texts[] = { "id", "label", NULL };

	(void)plan;
	return check_texts(place, kernel, texts);
}

/* The name becomes part of a path. */
static bool is_file_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/');
}

static int check_case(const struct place *place, const json_t *plan, const json_t *plan_case)
{
	static const char *const texts[] = { "id", "name", "workload", NULL };
	static const char *const lists[] = { "arguments", "settings", "probes" };
	const json_t *describe = json_object_get(plan_case, "describe"), *exec = json_object_get(plan_case, "exec");
	int error = check_texts(place, plan_case, texts);

	(void)plan;
	if (!error && !is_file_name(text_of(plan_case, "name")))
		error = wrong(place, "name", "cannot be part of a file's name");
	for (size_t i = 0; !error && i < sizeof(lists) / sizeof(lists[0]); i++)
		error = check_text_list(place, plan_case, lists[i]);
	if (!error)
		error = check_number(place, plan_case, "cpus", 1, 65536);
	if (!error && json_object_get(describe, "helpers"))
		error = check_text_list(place, describe, "helpers");
	if (!error && exec)
		error = check_text_list(place, exec, "command");
	if (!error && exec)
		error = check_text_list(place, exec, "files");
	return error;
}

static int check_boot(const struct place *place, const json_t *plan, const json_t *boot)
{
	static const char *const texts[] = { "kernel", NULL };
	int error = check_texts(place, boot, texts);
	json_t *id;
	size_t index;

	if (!error && !plan_kernel_by_id(plan, text_of(boot, "kernel")))
		error = wrong(place, "kernel", "is none of the plan's kernels");
	if (!error)
		error = check_number(place, boot, "index", 0, BOOTS_LIMIT);
	if (!error)
		error = check_number(place, boot, "block", 0, BOOTS_LIMIT);
	if (!error)
		error = check_number(place, boot, "cpus", 1, 65536);
	if (!error)
		error = check_text_list(place, boot, "cases");
	json_array_foreach(json_object_get(boot, "cases"), index, id)
		if (!error && !plan_case_by_id(plan, json_string_value(id)))
			error = wrong(place, "cases", "names a case that the plan does not have");
	return error;
}

int plan_check(const json_t *plan, char *reason, size_t reason_size)
{
	static const struct {
		const char *name;
		int (*check)(const struct place *place, const json_t *plan, const json_t *entry);
	} lists[] = { { "kernels", check_kernel }, { "cases", check_case }, { "boots", check_boot } };
	static const char *const texts[] = { "schema", "id", "lane", "architecture", "baseline", NULL };
	struct place place = { .reason = reason, .reason_size = reason_size };
	int error = check_texts(&place, plan, texts);

	if (!error)
		error = check_text_list(&place, plan, "command");
	for (size_t i = 0; !error && i < sizeof(lists) / sizeof(lists[0]); i++) {
		const json_t *list = json_object_get(plan, lists[i].name);
		json_t *entry;
		size_t index;

		if (!json_array_size(list))
			error = wrong(&place, lists[i].name, "is no list, or an empty one");
		json_array_foreach(list, index, entry) {
			const struct place inside = { lists[i].name, index, reason, reason_size };

			if (!error)
				error = lists[i].check(&inside, plan, entry);
		}
	}
	return error;
}
