// SPDX-License-Identifier: GPL-2.0-or-later
// seeds: tests/fixtures/machines/*/*/proc/interrupts
/* Two readings, parted by a NUL byte; one alone is taken twice. */
#include "fuzz.h"
#include "runner/probe/interrupts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts parts = { data, size };
	char *first = fuzz_part(&parts), *second = parts.size ? fuzz_part(&parts) : strdup(first);
	json_t *before = interrupts_parse(first), *after = interrupts_parse(second);
	json_t *counts = json_object(), *per_cpu = json_object(), *missing = json_object(), *value;
	const char *key;

	if (before && after) {
		interrupts_difference(before, after, counts, per_cpu, missing);
		/* A key is counted or missing, never both. */
		json_object_foreach(counts, key, value)
			fuzz_assert(json_is_integer(value) && !json_object_get(missing, key));
	}
	json_decref(before);
	json_decref(after);
	json_decref(counts);
	json_decref(per_cpu);
	json_decref(missing);
	free(first);
	free(second);
	return 0;
}
