// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/kallsyms, as the sampled profile and as the exact lane read it. */
#include <errno.h>

#include "fuzz.h"
#include "runner/lane/exact-symbols.h"
#include "runner/probe/symbols.h"

static void profile(const uint8_t *data, size_t size)
{
	struct symbols *symbols;
	int error = symbols_parse(fuzz_text(data, size), &symbols);

	if (error) {
		fuzz_assert(error == -EACCES || error == -EINVAL);
		return;
	}
	for (int bit = 0; bit < 64; bit++)
		symbols_find(symbols, UINT64_MAX << bit);
	fuzz_assert(symbols_find(symbols, UINT64_MAX));
	symbols_free(symbols);
}

static void exact(const uint8_t *data, size_t size)
{
	struct exact_symbols symbols;
	struct fuzz_file file;

	fuzz_file_open(&file, data, size);
	if (!exact_symbols_read(file.path, &symbols)) {
		for (size_t i = 0; i < symbols.count; i++)
			fuzz_assert(exact_symbols_has(&symbols, symbols.list[i].address) && *symbols.list[i].name);
		fuzz_assert(!exact_places_write(&symbols, "x86-64", "/dev/null"));
		fuzz_assert(!exact_places_write(&symbols, "arm64", "/dev/null"));
		exact_symbols_free(&symbols);
	}
	fuzz_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	profile(data, size);
	exact(data, size);
	return 0;
}
