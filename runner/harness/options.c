// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../common/nearest.h"
#include "../common/units.h"
#include "options.h"

static void *row_value(const struct option_table *table, const struct workload_option *row)
{
	return (char *)table->values + row->offset;
}

static int explain(char *reason, size_t reason_size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int explain(char *reason, size_t reason_size, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(reason, reason_size, format, list);
	va_end(list);
	return -EINVAL;
}

static bool row_is_number(const struct workload_option *row)
{
	return row->type == OPTION_SIZE || row->type == OPTION_COUNT || row->type == OPTION_DURATION;
}

/* A bound as a person would write it for this row. */
static const char *bound_text(const struct workload_option *row, uint64_t bound, char *text, size_t size)
{
	if (row->type == OPTION_SIZE)
		return format_size(bound, text, size);
	if (row->type == OPTION_DURATION)
		return format_duration(bound, text, size);
	snprintf(text, size, "%llu", (unsigned long long)bound);
	return text;
}

static int check_range(const struct workload_option *row, uint64_t value, const char *text,
		       char *reason, size_t reason_size)
{
	char low[32], high[32];

	if (value >= row->minimum && (!row->maximum || value <= row->maximum))
		return 0;
	if (!row->maximum)
		return explain(reason, reason_size, "--%s: %s is out of range; it must be at least %s", row->name,
			       text, bound_text(row, row->minimum, low, sizeof(low)));
	return explain(reason, reason_size, "--%s: %s is out of range; it must be from %s to %s", row->name, text,
		       bound_text(row, row->minimum, low, sizeof(low)),
		       bound_text(row, row->maximum, high, sizeof(high)));
}

static int parse_row_number(const struct workload_option *row, uint64_t *value, const char *text,
			    char *reason, size_t reason_size)
{
	int error;

	if (row->accepts_all && !strcmp(text, "all")) {
		*value = OPTION_VALUE_ALL;
		return 0;
	}
	if (row->accepts_fit && !strcmp(text, "fit")) {
		*value = OPTION_VALUE_FIT;
		return 0;
	}
	error = row->type == OPTION_SIZE ? parse_size(text, value) :
		row->type == OPTION_DURATION ? parse_duration(text, value) : parse_count(text, value);
	if (error == -ERANGE)
		return explain(reason, reason_size, "--%s: %s is too large", row->name, text);
	if (error)
		return explain(reason, reason_size, "--%s: '%s' is not %s%s%s", row->name, text,
			       row->type == OPTION_SIZE ? "a size; write it like 4096, 64KiB or 1GiB" :
			       row->type == OPTION_DURATION ? "a duration with a unit; write it like 250us, 10ms or 3s" :
			       "a whole number", row->accepts_all ? ", or the word all" : "",
			       row->accepts_fit ? ", or the word fit" : "");
	return check_range(row, *value, text, reason, reason_size);
}

static int parse_row_choice(const struct workload_option *row, int *value, const char *text,
			    char *reason, size_t reason_size)
{
	char hint[128], list[256] = "";
	int i;

	for (i = 0; row->choices[i]; i++) {
		if (!strcmp(row->choices[i], text)) {
			*value = i;
			return 0;
		}
		if (strlen(list) + strlen(row->choices[i]) + 3 < sizeof(list))
			strcat(strcat(list, i ? ", " : ""), row->choices[i]);
	}
	return explain(reason, reason_size, "--%s: '%s' is none of %s%s", row->name, text, list,
		       nearest_hint(text, row->choices, hint, sizeof(hint)));
}

static int parse_row_flag(const struct workload_option *row, bool *value, const char *text,
			  char *reason, size_t reason_size)
{
	if (!strcmp(text, "yes") || !strcmp(text, "no")) {
		*value = text[0] == 'y';
		return 0;
	}
	return explain(reason, reason_size, "--%s: '%s' is neither yes nor no", row->name, text);
}

static int parse_row(const struct option_table *table, const struct workload_option *row, const char *text,
		     char *reason, size_t reason_size)
{
	void *value = row_value(table, row);

	switch (row->type) {
	case OPTION_SIZE:
	case OPTION_COUNT:
	case OPTION_DURATION:
		return parse_row_number(row, value, text, reason, reason_size);
	case OPTION_CHOICE:
		return parse_row_choice(row, value, text, reason, reason_size);
	case OPTION_FLAG:
		return parse_row_flag(row, value, text, reason, reason_size);
	case OPTION_TEXT:
		*(const char **)value = text;
		return 0;
	}
	return explain(reason, reason_size, "--%s: the row has no known type", row->name);
}

int options_default(const struct option_table *table, char *reason, size_t reason_size)
{
	for (const struct workload_option *row = table->rows; row && row->name; row++) {
		int error;

		if (!row->default_text) {
			if (row->type == OPTION_TEXT || row->type == OPTION_FLAG)
				continue;
			return explain(reason, reason_size, "--%s has no default", row->name);
		}
		error = parse_row(table, row, row->default_text, reason, reason_size);
		if (error)
			return error;
	}
	return 0;
}

static const struct workload_option *find_row(const struct option_table *tables, size_t table_count,
					      const char *name, size_t length, const struct option_table **table)
{
	for (size_t i = 0; i < table_count; i++) {
		for (const struct workload_option *row = tables[i].rows; row && row->name; row++) {
			if (strlen(row->name) == length && !memcmp(row->name, name, length)) {
				*table = &tables[i];
				return row;
			}
		}
	}
	return NULL;
}

static int unknown_option(const struct option_table *tables, size_t table_count, const char *name, size_t length,
			  char *reason, size_t reason_size)
{
	const char *names[256];
	size_t count = 0;
	char word[64], near[128] = "";
	const char *nearest;

	for (size_t i = 0; i < table_count; i++)
		for (const struct workload_option *row = tables[i].rows; row && row->name; row++)
			if (count < sizeof(names) / sizeof(names[0]) - 1)
				names[count++] = row->name;
	names[count] = NULL;
	snprintf(word, sizeof(word), "%.*s", (int)length, name);
	nearest = nearest_name(word, names);
	if (nearest)
		snprintf(near, sizeof(near), "; did you mean '--%s'?", nearest);
	return explain(reason, reason_size, "unknown option '--%s'%s", word, *near ? near : "; see --help");
}

int options_parse(const struct option_table *tables, size_t table_count, char *const *argv,
		  char *reason, size_t reason_size)
{
	for (argv++; *argv; argv++) {
		const struct workload_option *row;
		const struct option_table *table;
		const char *name = *argv, *text;
		size_t length;
		int error;

		if (strncmp(name, "--", 2) || !name[2])
			return explain(reason, reason_size, "unexpected argument '%s'; options start with --", name);
		name += 2;
		length = strcspn(name, "=");
		text = name[length] ? name + length + 1 : NULL;
		row = find_row(tables, table_count, name, length, &table);
		if (!row)
			return unknown_option(tables, table_count, name, length, reason, reason_size);
		if (!text && row->type == OPTION_FLAG)
			text = "yes";
		else if (!text)
			text = *++argv;
		if (!text)
			return explain(reason, reason_size, "--%s needs a value", row->name);
		error = parse_row(table, row, text, reason, reason_size);
		if (error)
			return error;
		if (table->given)
			table->given(table->values, row);
	}
	return 0;
}

const struct workload_option *options_unresolved(const struct option_table *table)
{
	for (const struct workload_option *row = table->rows; row && row->name; row++)
		if (row_is_number(row) && *(uint64_t *)row_value(table, row) == UINT64_MAX)
			return row;
	return NULL;
}

static json_t *row_value_json(const struct option_table *table, const struct workload_option *row)
{
	const void *value = row_value(table, row);
	uint64_t number;

	switch (row->type) {
	case OPTION_CHOICE:
		return json_string(row->choices[*(const int *)value]);
	case OPTION_FLAG:
		return json_boolean(*(const bool *)value);
	case OPTION_TEXT:
		return *(const char *const *)value ? json_string(*(const char *const *)value) : json_null();
	default:
		number = *(const uint64_t *)value;
		if (number == UINT64_MAX)
			return json_string(row->accepts_all ? "all" : "fit");
		return json_integer((json_int_t)number);
	}
}

json_t *options_values_json(const struct option_table *table)
{
	json_t *object = json_object();

	for (const struct workload_option *row = table->rows; row && row->name; row++)
		json_object_set_new(object, row->name, row_value_json(table, row));
	return object;
}

json_t *options_arguments_json(const struct option_table *table)
{
	json_t *array = json_array();

	for (const struct workload_option *row = table->rows; row && row->name; row++) {
		json_t *value = row_value_json(table, row);

		if (json_is_string(value))
			json_array_append_new(array, json_sprintf("--%s=%s", row->name, json_string_value(value)));
		else if (json_is_boolean(value))
			json_array_append_new(array, json_sprintf("--%s=%s", row->name,
								  json_is_true(value) ? "yes" : "no"));
		else if (json_is_integer(value))
			json_array_append_new(array, json_sprintf("--%s=%lld%s", row->name,
				(long long)json_integer_value(value), row->type == OPTION_DURATION ? "ns" : ""));
		json_decref(value);	/* a text that was not given stays away */
	}
	return array;
}

static const char *const type_names[] = {
	[OPTION_SIZE] = "size", [OPTION_COUNT] = "count", [OPTION_DURATION] = "duration",
	[OPTION_CHOICE] = "choice", [OPTION_FLAG] = "flag", [OPTION_TEXT] = "text",
};

json_t *options_describe_json(const struct option_table *table)
{
	json_t *array = json_array();

	for (const struct workload_option *row = table->rows; row && row->name; row++) {
		json_t *item = json_pack("{s:s, s:s, s:s?, s:s?, s:s?}", "name", row->name,
					 "type", type_names[row->type], "default", row->default_text,
					 "unit", row->unit, "help", row->help);

		if (row_is_number(row)) {
			json_object_set_new(item, "minimum", json_integer((json_int_t)row->minimum));
			if (row->maximum)
				json_object_set_new(item, "maximum", json_integer((json_int_t)row->maximum));
			json_object_set_new(item, "accepts_all", json_boolean(row->accepts_all));
			json_object_set_new(item, "accepts_fit", json_boolean(row->accepts_fit));
		}
		if (row->is_source_tree)
			json_object_set_new(item, "source_tree", json_true());
		if (row->type == OPTION_CHOICE) {
			json_t *choices = json_array();

			for (int i = 0; row->choices[i]; i++)
				json_array_append_new(choices, json_string(row->choices[i]));
			json_object_set_new(item, "choices", choices);
		}
		json_array_append_new(array, item);
	}
	return array;
}

static void help_value(const struct workload_option *row, FILE *stream)
{
	static const char *const words[] = {
		[OPTION_SIZE] = "SIZE", [OPTION_COUNT] = "N", [OPTION_DURATION] = "TIME", [OPTION_TEXT] = "TEXT",
	};

	if (row->type == OPTION_FLAG)
		return;
	fputc(' ', stream);
	if (row->type != OPTION_CHOICE) {
		fputs(words[row->type], stream);
	} else {
		for (int i = 0; row->choices[i]; i++)
			fprintf(stream, "%s%s", i ? "|" : "", row->choices[i]);
	}
	if (row->accepts_all)
		fputs("|all", stream);
	if (row->accepts_fit)
		fputs("|fit", stream);
}

void options_help(const struct option_table *table, FILE *stream)
{
	char low[32], high[32];

	for (const struct workload_option *row = table->rows; row && row->name; row++) {
		fprintf(stream, "  --%s", row->name);
		help_value(row, stream);
		fprintf(stream, "\n        %s", row->help ? row->help : "");
		if (row->default_text)
			fprintf(stream, " [default %s", row->default_text);
		if (row->default_text && row_is_number(row) && row->unit && row->type == OPTION_COUNT)
			fprintf(stream, " %s", row->unit);
		if (row->default_text && row_is_number(row) && row->maximum)
			fprintf(stream, "; %s to %s", bound_text(row, row->minimum, low, sizeof(low)),
				bound_text(row, row->maximum, high, sizeof(high)));
		fputs(row->default_text ? "]\n" : "\n", stream);
	}
}
