// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "facts.h"

char *read_whole(const char *path, size_t *size)
{
	size_t used = 0, room = 4096;
	char *text = malloc(room);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (text && fd >= 0) {
		ssize_t got = read(fd, text + used, room - used - 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			break;
		used += (size_t)got;
		if (!got) {
			close(fd);
			text[used] = '\0';
			*size = used;
			return text;
		}
		if (room - used < 2) {
			char *grown = realloc(text, room * 2);

			if (!grown)
				break;
			text = grown;
			room *= 2;
		}
	}
	if (fd >= 0)
		close(fd);
	free(text);
	return NULL;
}

char *read_text(const char *path)
{
	size_t size;
	char *text = read_whole(path, &size);

	while (text && size && text[size - 1] == '\n')
		text[--size] = '\0';
	return text;
}

int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), error = 0;
	size_t size = strlen(text);

	if (fd < 0)
		return -errno;
	if (write(fd, text, size) != (ssize_t)size)
		error = errno ? -errno : -EIO;
	if (close(fd) && !error)
		error = -errno;
	return error;
}

char *chosen_word(char *text)
{
	char *start = strchr(text, '['), *end = start ? strchr(start, ']') : NULL;

	if (end) {
		memmove(text, start + 1, (size_t)(end - start - 1));
		text[end - start - 1] = '\0';
	}
	return text;
}
