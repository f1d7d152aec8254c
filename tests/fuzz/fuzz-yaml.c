// SPDX-License-Identifier: GPL-2.0-or-later
// seeds: configs/*.yaml configs/suites/*.yaml kernels/series/*/*.yaml
#include "fuzz.h"
#include "runner/common/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), reason[256] = "", *dump;
	json_t *value = NULL;

	if (parse_yaml(text, size, &value, reason, sizeof(reason))) {
		fuzz_assert(*reason);
	} else {
		/* What was read can be written: the plan will hold it. */
		dump = json_dumps(value, JSON_ENCODE_ANY);
		fuzz_assert(dump);
		free(dump);
		json_decref(value);
	}
	free(text);
	return 0;
}
