// SPDX-License-Identifier: GPL-2.0-or-later
// seeds: kernels/series/*/*/*.patch
/* What git said of a patch that does not apply, and behind a NUL byte the patch. */
#include "fuzz.h"
#include "kernels/patches.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts parts = { data, size };
	char *errors = fuzz_part(&parts), *patch = fuzz_part(&parts), place[96];

	patch_failure(errors, patch, place, sizeof(place));
	fuzz_assert(memchr(place, '\0', sizeof(place)) && !strchr(place, '\n'));
	free(errors);
	free(patch);
	return 0;
}
