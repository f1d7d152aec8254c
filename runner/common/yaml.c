// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "files.h"
#include "yaml.h"

#define YAML_SIZE_LIMIT (1U << 20)
#define YAML_DEPTH_LIMIT 32

struct reader {
	yaml_parser_t parser;
	char *reason;
	size_t reason_size;
};

static int refuse(struct reader *reader, const yaml_mark_t *mark, const char *what)
{
	snprintf(reader->reason, reader->reason_size, "line %zu: %s", mark->line + 1, what);
	return -EBADMSG;
}

static int next_event(struct reader *reader, yaml_event_t *event)
{
	if (yaml_parser_parse(&reader->parser, event))
		return 0;
	return refuse(reader, &reader->parser.problem_mark,
		      reader->parser.problem ? reader->parser.problem : "not valid YAML");
}

static json_t *plain_scalar(const char *text)
{
	char *end;
	long long integer;
	double real;

	if (!strcmp(text, "true"))
		return json_true();
	if (!strcmp(text, "false"))
		return json_false();
	if (!*text || !strcmp(text, "~") || !strcmp(text, "null"))
		return json_null();
	if (strspn(text, "+-.0123456789eE") != strlen(text))
		return json_string(text);
	errno = 0;
	integer = strtoll(text, &end, 10);
	if (!*end && !errno)
		return json_integer(integer);
	real = strtod(text, &end);
	if (!*end && end != text)
		return json_real(real);
	return json_string(text);
}

static int read_node(struct reader *reader, yaml_event_t *event, int depth, json_t **value);

static int read_sequence(struct reader *reader, int depth, json_t **value)
{
	json_t *list = json_array();
	int error = 0;

	while (!error) {
		yaml_event_t event;
		json_t *item = NULL;

		error = next_event(reader, &event);
		if (error)
			break;
		if (event.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&event);
			*value = list;
			return 0;
		}
		error = read_node(reader, &event, depth + 1, &item);
		yaml_event_delete(&event);
		if (!error && json_array_append_new(list, item))
			error = -ENOMEM;
	}
	json_decref(list);
	return error;
}

/* One "key: value" whose key event was read already. */
static int read_pair(struct reader *reader, yaml_event_t *key, int depth, json_t *map)
{
	const char *name = (const char *)key->data.scalar.value;
	yaml_event_t event;
	json_t *item = NULL;
	int error;

	if (key->type != YAML_SCALAR_EVENT)
		return refuse(reader, &key->start_mark, "a key must be plain text");
	if (json_object_get(map, name))
		return refuse(reader, &key->start_mark, "this key stands twice in one mapping");
	error = next_event(reader, &event);
	if (error)
		return error;
	error = read_node(reader, &event, depth + 1, &item);
	yaml_event_delete(&event);
	if (error)
		return error;
	if (json_object_set_new(map, name, item))
		return refuse(reader, &key->start_mark, "this key is not valid UTF-8");
	return 0;
}

static int read_mapping(struct reader *reader, int depth, json_t **value)
{
	json_t *map = json_object();
	int error = 0;

	while (!error) {
		yaml_event_t key;

		error = next_event(reader, &key);
		if (error)
			break;
		if (key.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&key);
			*value = map;
			return 0;
		}
		error = read_pair(reader, &key, depth, map);
		yaml_event_delete(&key);
	}
	json_decref(map);
	return error;
}

static int read_scalar(struct reader *reader, yaml_event_t *event, json_t **value)
{
	const char *text = (const char *)event->data.scalar.value;

	if (event->data.scalar.anchor || event->data.scalar.tag)
		return refuse(reader, &event->start_mark, "anchors and tags are not used here");
	if (strlen(text) != event->data.scalar.length)
		return refuse(reader, &event->start_mark, "a zero byte in a text");
	*value = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? plain_scalar(text) : json_string(text);
	return *value ? 0 : refuse(reader, &event->start_mark, "not valid UTF-8");
}

static int read_node(struct reader *reader, yaml_event_t *event, int depth, json_t **value)
{
	if (depth > YAML_DEPTH_LIMIT)
		return refuse(reader, &event->start_mark, "nested too deeply");
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return read_scalar(reader, event, value);
	case YAML_SEQUENCE_START_EVENT:
		return read_sequence(reader, depth, value);
	case YAML_MAPPING_START_EVENT:
		return read_mapping(reader, depth, value);
	case YAML_ALIAS_EVENT:
		return refuse(reader, &event->start_mark, "anchors and aliases are not used here");
	default:
		return refuse(reader, &event->start_mark, "nothing stands here");
	}
}

/* Reads events up to one of that type; anything else is refused. */
static int expect(struct reader *reader, yaml_event_type_t type, const char *otherwise)
{
	yaml_event_t event;
	int error = next_event(reader, &event);

	if (error)
		return error;
	if (event.type != type)
		error = refuse(reader, &event.start_mark, otherwise);
	yaml_event_delete(&event);
	return error;
}

static int read_document(struct reader *reader, json_t **value)
{
	yaml_event_t event;
	int error = expect(reader, YAML_STREAM_START_EVENT, "not YAML");

	if (!error)
		error = expect(reader, YAML_DOCUMENT_START_EVENT, "the file is empty");
	if (!error)
		error = next_event(reader, &event);
	if (error)
		return error;
	error = read_node(reader, &event, 0, value);
	yaml_event_delete(&event);
	if (!error)
		error = expect(reader, YAML_DOCUMENT_END_EVENT, "more than one value");
	if (!error)
		error = expect(reader, YAML_STREAM_END_EVENT, "more than one document");
	return error;
}

int parse_yaml(const char *data, size_t size, json_t **value, char *reason, size_t reason_size)
{
	struct reader reader = { .reason = reason, .reason_size = reason_size };
	json_t *document = NULL;
	int error;

	if (size > YAML_SIZE_LIMIT) {
		snprintf(reason, reason_size, "larger than 1 MiB");
		return -EFBIG;
	}
	if (!yaml_parser_initialize(&reader.parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)data, size);
	error = read_document(&reader, &document);
	yaml_parser_delete(&reader.parser);
	if (error)
		json_decref(document);
	else
		*value = document;
	return error;
}

int read_yaml(const char *path, json_t **value, char *reason, size_t reason_size)
{
	char *data;
	size_t size;
	int error = read_file(path, YAML_SIZE_LIMIT, &data, &size);

	if (error) {
		snprintf(reason, reason_size, "%s", strerror(-error));
		return error;
	}
	error = parse_yaml(data, size, value, reason, reason_size);
	free(data);
	return error;
}
