/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decode.h"

#include <string.h>

static const struct decoder *const decoders[] = { &decoder_x86, &decoder_arm64 };

const struct decoder *decoder_find(const char *target)
{
	for (size_t i = 0; i < sizeof(decoders) / sizeof(decoders[0]); i++)
		if (strcmp(decoders[i]->target, target) == 0)
			return decoders[i];
	return NULL;
}
