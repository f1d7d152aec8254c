// SPDX-License-Identifier: GPL-2.0-or-later
// seeds: configs/suites/*.yaml kernels/series/*/suite*.yaml
#include "fuzz.h"
#include "runner/plan/suite.h"

static void use(struct suite *suite)
{
	char reason[512], *name;
	const char *first;

	for (size_t i = 0; i < 3; i++)
		fuzz_assert(json_is_object(suite_lane(suite, (const char *const[]){ "host", "vm", "exact" }[i])));
	first = json_string_value(json_object_get(json_array_get(json_object_get(suite->json, "cases"), 0), "name"));
	fuzz_assert(first);
	name = strdup(first);
	fuzz_assert(!suite_keep_case(suite, name, reason, sizeof(reason)));
	fuzz_assert(json_array_size(json_object_get(suite->json, "cases")) >= 1);
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_file file;
	struct suite suite;
	char reason[512] = "";

	fuzz_file_open(&file, data, size);
	if (suite_load(file.path, &suite, reason, sizeof(reason)))
		fuzz_assert(*reason);
	else
		use(&suite);
	suite_free(&suite);
	fuzz_file_close(&file);
	return 0;
}
