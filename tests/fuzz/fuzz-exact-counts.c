// SPDX-License-Identifier: GPL-2.0-or-later
/* A counts file: the blocks of the input get a right checksum, else nothing behind it would ever be read. */
#include <zlib.h>

#include "fuzz.h"
#include "runner/exact/format.h"
#include "runner/lane/exact-counts.h"

static void mend(char *file, size_t size)
{
	size_t at = strlen(EXACT_MAGIC);

	while (at <= size && size - at >= sizeof(struct exact_block)) {
		struct exact_block block;

		memcpy(&block, file + at, sizeof(block));
		block.size %= 256;
		at += sizeof(block);
		if (block.size > size - at)
			return;
		block.checksum = (uint32_t)crc32(crc32(0, NULL, 0), (const Bytef *)file + at, (uInt)block.size);
		memcpy(file + at - sizeof(block), &block, sizeof(block));
		at += block.size + 7;
		at -= at % 8;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct exact_symbol one = { 0xffffffff81000000, "start" };
	const struct exact_symbols symbols = { &one, 1 };
	size_t magic = strlen(EXACT_MAGIC);
	struct exact_summary summary;
	struct fuzz_file file;
	char *bytes = malloc(size + magic);

	memcpy(bytes, EXACT_MAGIC, magic);
	if (size)
		memcpy(bytes + magic, data, size);
	mend(bytes, size + magic);
	fuzz_file_open(&file, bytes, size + magic);
	if (!exact_counts_check(file.path, &symbols, &summary)) {
		fuzz_assert(summary.strange_targets <= summary.targets);
		exact_symbols_are_foreign(&summary);
	}
	fuzz_file_close(&file);
	free(bytes);
	return 0;
}
