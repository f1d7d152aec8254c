// SPDX-License-Identifier: GPL-2.0-or-later
#include "fuzz.h"
#include "kernels/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *layers;
	struct kernel_error error = { 0 };
	struct kernel_spec spec;

	if (spec_parse(text, &spec, &error)) {
		fuzz_assert(*error.text && error.exit_status);
	} else {
		layers = spec_layers_text(&spec);
		/* Layers are the end of the spec, as they were written. */
		fuzz_assert(strlen(layers) <= strlen(text) && !strcmp(layers, text + strlen(text) - strlen(layers)));
		free(layers);
		spec_free(&spec);
	}
	free(text);
	return 0;
}
