// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

void sampled_open(struct sampled_file *file, const char *path)
{
	char *whole = text_format("%s%s", probe_root, path);

	*file = (struct sampled_file){ .path = path };
	file->fd = open(whole, O_RDONLY | O_CLOEXEC);
	file->error[0] = file->error[1] = file->fd < 0 ? -errno : 0;
	free(whole);
	/* The first reading makes the memory; those round the ROI find it there. */
	sampled_read(file, 0);
	sampled_read(file, 1);
}

static int grow(struct sampled_file *file, int which)
{
	size_t capacity = file->capacity[which] ? 2 * file->capacity[which] : 16384;
	char *text = capacity > LARGEST_FILE ? NULL : realloc(file->text[which], capacity);

	if (!text)
		return -ENOMEM;
	file->text[which] = text;
	file->capacity[which] = capacity;
	return 0;
}

void sampled_read(struct sampled_file *file, int which)
{
	size_t length = 0;
	ssize_t got = 1;
	int error = 0;

	if (file->fd < 0)
		return;
	while (got && !error) {
		if (length + 1 >= file->capacity[which]) {
			error = grow(file, which);
			continue;
		}
		got = pread(file->fd, file->text[which] + length, file->capacity[which] - length - 1, (off_t)length);
		if (got > 0)
			length += (size_t)got;
		else if (got < 0 && errno != EINTR)
			error = -errno;
	}
	if (file->text[which])
		file->text[which][length] = '\0';
	file->error[which] = error;
}

void sampled_close(struct sampled_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->text[0]);
	free(file->text[1]);
}

int sampled_error(const struct sampled_file *file)
{
	return file->error[0] ? file->error[0] : file->error[1];
}
