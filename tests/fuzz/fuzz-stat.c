// SPDX-License-Identifier: GPL-2.0-or-later
// seeds: tests/fixtures/machines/*/*/proc/stat
/* Two readings, parted by a NUL byte; one alone is taken twice. */
#include <math.h>

#include "fuzz.h"
#include "runner/probe/stat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts parts = { data, size };
	char *before = fuzz_part(&parts), *after = parts.size ? fuzz_part(&parts) : strdup(before);
	json_t *counts = json_object(), *per_cpu = json_object(), *value;
	const char *key;

	stat_context_switches(before, after, counts);
	stat_times(before, after, 100, counts, per_cpu);
	json_object_foreach(counts, key, value)
		fuzz_assert(json_is_number(value) && isfinite(json_number_value(value)));
	json_decref(counts);
	json_decref(per_cpu);
	free(before);
	free(after);
	return 0;
}
