// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/files.h"
#include "probe.h"

#define LARGEST_FILE (64 << 20)

const char *probe_root = "";

int probe_read_file(const char *path, char **text)
{
	char *whole = text_format("%s%s", probe_root, path);
	size_t size;
	int error = read_file(whole, LARGEST_FILE, text, &size);

	free(whole);
	return error;
}

void probe_missing(json_t *missing, const char *key, const char *format, ...)
{
	char reason[512];
	va_list list;

	va_start(list, format);
	vsnprintf(reason, sizeof(reason), format, list);
	va_end(list);
	json_object_set_new(missing, key, json_string(reason));
}
