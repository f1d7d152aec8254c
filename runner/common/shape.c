// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "nearest.h"
#include "yaml.h"

#define KEYS_MAXIMUM 48

struct place {
	char *reason;
	size_t reason_size;
};

static int wrong(const struct place *place, const char *where, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(place->reason, place->reason_size, "%s%s%s", where, *where ? ": " : "", text);
	return -EINVAL;
}

static const char *type_name(enum shape_type type)
{
	static const char *const names[] = {
		[SHAPE_TEXT] = "text", [SHAPE_INTEGER] = "a whole number", [SHAPE_NUMBER] = "a number",
		[SHAPE_FLAG] = "true or false", [SHAPE_SCALAR] = "one value", [SHAPE_MAP] = "a mapping",
		[SHAPE_LIST] = "a list", [SHAPE_ANY] = "anything",
	};

	return names[type];
}

static bool has_type(const json_t *value, enum shape_type type)
{
	switch (type) {
	case SHAPE_TEXT:
		return json_is_string(value);
	case SHAPE_INTEGER:
		return json_is_integer(value);
	case SHAPE_NUMBER:
		return json_is_number(value);
	case SHAPE_FLAG:
		return json_is_boolean(value);
	case SHAPE_SCALAR:
		return json_is_string(value) || json_is_number(value) || json_is_boolean(value);
	case SHAPE_MAP:
		return json_is_object(value);
	case SHAPE_LIST:
		return json_is_array(value);
	case SHAPE_ANY:
		return true;
	}
	return false;
}

static int check_keys(const json_t *map, const struct shape *keys, const char *where, const struct place *place);

static int check_list(const json_t *list, const struct shape *row, const char *where, const struct place *place)
{
	size_t index;
	json_t *item;
	int error = 0;

	json_array_foreach(list, index, item) {
		char *inner = text_format("%s[%zu]", where, index);

		if (!row->keys && !has_type(item, row->item))
			error = wrong(place, inner, "must be %s", type_name(row->item));
		else if (row->keys && !json_is_object(item))
			error = wrong(place, inner, "must be a mapping");
		else if (row->keys)
			error = check_keys(item, row->keys, inner, place);
		free(inner);
		if (error)
			return error;
	}
	return 0;
}

static int check_range(const json_t *value, const struct shape *row, const char *where, const struct place *place)
{
	double number = json_number_value(value);

	if (!json_is_number(value) || (row->type != SHAPE_INTEGER && row->type != SHAPE_NUMBER))
		return 0;
	if (number < (double)row->minimum)
		return wrong(place, where, "%g is less than %lld", number, row->minimum);
	if (row->maximum && number > (double)row->maximum)
		return wrong(place, where, "%g is more than %lld", number, row->maximum);
	return 0;
}

static int check_open_map(const json_t *map, const struct shape *row, const char *where, const struct place *place)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)map, key, value) {
		if (!has_type(value, row->item))
			return wrong(place, where, "'%.80s' must be %s", key, type_name(row->item));
	}
	return 0;
}

static int check_value(const json_t *value, const struct shape *row, const char *where, const struct place *place)
{
	if (!has_type(value, row->type))
		return wrong(place, where, "must be %s", type_name(row->type));
	if (row->type == SHAPE_MAP)
		return row->keys ? check_keys(value, row->keys, where, place) : check_open_map(value, row, where, place);
	if (row->type == SHAPE_LIST)
		return check_list(value, row, where, place);
	return check_range(value, row, where, place);
}

static int unknown_key(const char *key, const struct shape *keys, const char *where, const struct place *place)
{
	const char *names[KEYS_MAXIMUM + 1];
	size_t count = 0;
	char hint[96];

	for (; keys->name && count < KEYS_MAXIMUM; keys++)
		names[count++] = keys->name;
	names[count] = NULL;
	return wrong(place, where, "unknown key '%.80s'%s", key, nearest_hint(key, names, hint, sizeof(hint)));
}

static int check_keys(const json_t *map, const struct shape *keys, const char *where, const struct place *place)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)map, key, value) {
		const struct shape *row = keys;
		char *inner;
		int error;

		while (row->name && strcmp(row->name, key))
			row++;
		if (!row->name)
			return unknown_key(key, keys, where, place);
		inner = text_format("%s%s%s", where, *where ? "." : "", key);
		error = check_value(value, row, inner, place);
		free(inner);
		if (error)
			return error;
	}
	for (const struct shape *row = keys; row->name; row++)
		if (row->required && !json_object_get(map, row->name))
			return wrong(place, where, "key '%s' is missing", row->name);
	return 0;
}

int shape_check(const json_t *value, const struct shape *keys, const char *where, char *reason, size_t reason_size)
{
	const struct place place = { reason, reason_size };

	if (!json_is_object(value))
		return wrong(&place, where, "must be a mapping");
	return check_keys(value, keys, where, &place);
}
