// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers with units: what is printed of a size or a duration can be read, and is near it. */
#include <math.h>

#include "fuzz.h"
#include "runner/common/units.h"

static void near(uint64_t value, uint64_t again)
{
	fuzz_assert(fabs((double)value - (double)again) <= (double)value * 0.06 + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), shown[64];
	uint64_t value, again;

	if (!parse_size(text, &value) && !parse_size(format_size(value, shown, sizeof(shown)), &again))
		near(value, again);
	if (!parse_duration(text, &value) && !parse_duration(format_duration(value, shown, sizeof(shown)), &again))
		near(value, again);
	parse_count(text, &value);
	free(text);
	return 0;
}
