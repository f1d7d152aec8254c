// SPDX-License-Identifier: GPL-2.0-or-later
// seeds: tests/fixtures/machines/*/hist
#include <errno.h>

#include "fuzz.h"
#include "runner/probe/hist-trigger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct tally tally = { 0 };
	int error = hist_parse(text, &tally);

	fuzz_assert(!error || error == -EINVAL || error == -EOVERFLOW || error == -ENOMEM);
	tally_sort(&tally);
	for (size_t i = 0; i < tally.used; i++)
		fuzz_assert(tally.entries[i].count);
	tally_free(&tally);
	free(text);
	return 0;
}
