// SPDX-License-Identifier: GPL-2.0-or-later
// seeds: configs/kconfig/*.config
/* Fragments and .config files: what was read, written and read again is the same. */
#include "fuzz.h"
#include "kernels/kconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), reason[128] = "", *written;
	json_t *symbols = json_object(), *again = json_object();

	if (kconfig_parse(text, symbols, reason, sizeof(reason))) {
		fuzz_assert(*reason);
	} else {
		written = kconfig_text(symbols);
		fuzz_assert(!kconfig_parse(written, again, reason, sizeof(reason)));
		fuzz_assert(json_equal(symbols, again));
		free(written);
	}
	json_decref(symbols);
	json_decref(again);
	free(text);
	return 0;
}
