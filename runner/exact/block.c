/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "block.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "counters.h"
#include "format.h"

static int descriptor = -1;

static uint32_t crc32_of(const uint8_t *bytes, size_t size)
{
	static uint32_t table[256];
	uint32_t crc = ~0u;

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			table[i] = i;
			for (int bit = 0; bit < 8; bit++)
				table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xedb88320u : table[i] >> 1;
		}
	for (size_t i = 0; i < size; i++)
		crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
	return ~crc;
}

static void write_all(const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t written = write(descriptor, at, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			give_up("cannot write the counts file: is the disk full?");
		at += written;
		size -= written;
	}
}

int block_open(const char *path)
{
	descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (descriptor < 0)
		return -1;
	write_all(EXACT_MAGIC, strlen(EXACT_MAGIC));
	return 0;
}

void block_write(uint32_t type, const void *payload, size_t size)
{
	static const char zeros[8];
	struct exact_block block = { .type = type, .checksum = crc32_of(payload, size), .size = size };

	if (descriptor < 0)
		return;
	write_all(&block, sizeof(block));
	write_all(payload, size);
	write_all(zeros, -size % 8);
}

void block_close(void)
{
	if (descriptor >= 0 && close(descriptor) != 0)
		give_up("cannot write the counts file: is the disk full?");
	descriptor = -1;
}
