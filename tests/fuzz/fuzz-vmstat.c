// SPDX-License-Identifier: GPL-2.0-or-later
// seeds: tests/fixtures/machines/*/*/proc/vmstat
/* Two readings, parted by a NUL byte; one alone is taken twice. */
#include "fuzz.h"
#include "runner/probe/vmstat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts parts = { data, size };
	char *before = fuzz_part(&parts), *after = parts.size ? fuzz_part(&parts) : strdup(before);
	json_t *counts = json_object(), *missing = json_object(), *value;
	const char *key;

	vmstat_difference(before, after, counts, missing);
	json_object_foreach(counts, key, value)
		fuzz_assert(json_is_integer(value) && !json_object_get(missing, key));
	json_decref(counts);
	json_decref(missing);
	free(before);
	free(after);
	return 0;
}
