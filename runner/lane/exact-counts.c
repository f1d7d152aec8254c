// SPDX-License-Identifier: GPL-2.0-or-later
#include "exact-counts.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "../common/files.h"
#include "../exact/format.h"

#define COUNTS_LIMIT ((size_t)1 << 30)
/* Assembler calls local labels here and there; beyond this the symbols are another kernel's. */
#define STRANGE_PERCENT 5

static int call_kind(const char *header, size_t size)
{
	json_t *json = json_loadb(header, size, 0, NULL), *kinds = json_object_get(json, "kinds"), *kind;
	int found = -1;
	size_t i;

	json_array_foreach(kinds, i, kind)
		if (json_is_string(kind) && !strcmp(json_string_value(kind), "call"))
			found = (int)i;
	json_decref(json);
	return found;
}

static uint64_t word(const char *array, size_t index)
{
	uint64_t value;

	memcpy(&value, array + index * sizeof(value), sizeof(value));
	return value;
}

/* Kind of the instruction at an address, or -1. */
static int kind_at(const char *addresses, const char *kinds, size_t count, uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (word(addresses, middle) < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && word(addresses, low) == address ? (unsigned char)kinds[low] : -1;
}

static int check_region(const char *payload, size_t size, int call, const struct exact_symbols *symbols, struct exact_summary *summary)
{
	const char *addresses = payload + sizeof(struct exact_region), *kinds, *sources, *targets;
	struct exact_region region;
	size_t needed;

	if (size < sizeof(region))
		return -EBADMSG;
	memcpy(&region, payload, sizeof(region));
	kinds = addresses + 16ul * region.instructions;
	sources = kinds + (region.instructions + 7ul) / 8 * 8;
	targets = sources + 8ul * region.branches;
	needed = (size_t)(targets - payload) + 8ul * region.branches + 16ul * region.repeats + 16ul * region.commands + 24ul * region.watched;
	if (needed != size || region.index != summary->regions)
		return -EBADMSG;
	summary->regions++;
	for (size_t i = 0; symbols && i < region.branches; i++) {
		if (kind_at(addresses, kinds, region.instructions, word(sources, i)) != call)
			continue;
		summary->targets++;
		summary->strange_targets += !exact_symbols_has(symbols, word(targets, i));
	}
	return 0;
}

static int check_block(const struct exact_block *block, const char *payload, int *call, const struct exact_symbols *symbols,
		       struct exact_summary *summary)
{
	size_t length = block->size;

	if (crc32(crc32(0, NULL, 0), (const Bytef *)payload, (uInt)block->size) != block->checksum)
		return -EBADMSG;
	switch (block->type) {
	case EXACT_HEADER:
		*call = call_kind(payload, block->size);
		return 0;
	case EXACT_REGION:
		return check_region(payload, block->size, *call, symbols, summary);
	case EXACT_FAULT:
		if (length >= sizeof(summary->fault))
			length = sizeof(summary->fault) - 1;
		memcpy(summary->fault, payload, length);
		summary->fault[length] = '\0';
		return 0;
	case EXACT_END:
		return 0;
	default:
		return -EBADMSG;
	}
}

int exact_counts_check(const char *path, const struct exact_symbols *symbols, struct exact_summary *summary)
{
	size_t size, at = strlen(EXACT_MAGIC);
	struct exact_block block;
	int call = -1, error;
	char *data;

	*summary = (struct exact_summary){ 0 };
	error = read_file(path, COUNTS_LIMIT, &data, &size);
	if (error)
		return error;
	if (size < at || memcmp(data, EXACT_MAGIC, at))
		error = -EBADMSG;
	while (!error && size - at >= sizeof(block)) {
		memcpy(&block, data + at, sizeof(block));
		at += sizeof(block);
		if (block.size > size - at)
			break;
		error = check_block(&block, data + at, &call, symbols, summary);
		at += block.size + 7;
		at -= at % 8;
		if (at > size)
			break;
	}
	free(data);
	return error;
}

bool exact_symbols_are_foreign(const struct exact_summary *summary)
{
	return summary->strange_targets * 100 > summary->targets * STRANGE_PERCENT;
}

static int deflate_all(const char *data, size_t size, char *output, size_t room, size_t *used)
{
	z_stream stream = { .next_in = (Bytef *)data, .avail_in = (uInt)size, .next_out = (Bytef *)output, .avail_out = (uInt)room };
	int status;

	if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	status = deflate(&stream, Z_FINISH);
	*used = stream.total_out;
	deflateEnd(&stream);
	return status == Z_STREAM_END ? 0 : -EIO;
}

int exact_counts_compress(const char *from, const char *to)
{
	char *data, *output;
	size_t size, room, used;
	int error = read_file(from, COUNTS_LIMIT, &data, &size);

	if (error)
		return error;
	room = compressBound(size) + 64;
	output = malloc(room);
	error = output ? deflate_all(data, size, output, room, &used) : -ENOMEM;
	if (!error)
		error = write_file(to, output, used);
	free(output);
	free(data);
	return error;
}
