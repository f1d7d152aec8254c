/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the fuzz targets share. A target is one file fuzz-NAME.c that defines
 * LLVMFuzzerTestOneInput(); a line "// seeds: PATTERN..." names files to start
 * from, beside those in corpus/NAME. An input that once broke something stays
 * there.
 */
#ifndef SHOOTDOWN_FUZZ_H
#define SHOOTDOWN_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the input is. */
#define fuzz_assert(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

/* Bytes as a text of their own, so that a byte read behind its end is seen. Caller frees. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* The input as parts between NUL bytes; a part that is not there is "". */
struct fuzz_parts {
	const uint8_t *data;
	size_t size;
};

static inline char *fuzz_part(struct fuzz_parts *parts)
{
	const uint8_t *end = parts->size ? memchr(parts->data, '\0', parts->size) : NULL;
	size_t size = end ? (size_t)(end - parts->data) : parts->size;
	char *text = fuzz_text(parts->data, size);

	parts->data += end ? size + 1 : size;
	parts->size -= end ? size + 1 : size;
	return text;
}

/* A path that holds the bytes; valid until fuzz_file_close(). */
struct fuzz_file {
	int fd;
	char path[32];
};

static inline void fuzz_file_open(struct fuzz_file *file, const void *data, size_t size)
{
	file->fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (file->fd < 0 || write(file->fd, data, size) != (ssize_t)size)
		abort();
	snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
}

static inline void fuzz_file_close(struct fuzz_file *file)
{
	close(file->fd);
}

#endif
