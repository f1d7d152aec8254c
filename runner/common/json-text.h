/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHOOTDOWN_JSON_TEXT_H
#define SHOOTDOWN_JSON_TEXT_H

#include <jansson.h>

/* The text under a key; "" when there is none, or it is no text. Borrowed from the object. */
static inline const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

#endif
