// SPDX-License-Identifier: GPL-2.0-or-later
/* The words of a command line, parted by NUL bytes, for a command with every kind of option. */
#include <errno.h>

#include "fuzz.h"
#include "runner/common/arguments.h"

#define WORDS 24

static const struct command_option options[] = {
	{ "output", 'o', "DIR", false, "one value" },
	{ "kernel", 'k', "SPEC", true, "several" },
	{ "resume", 0, NULL, false, "a flag" },
	{ NULL, 0, NULL, false, NULL },
};
static const struct command command = {
	.name = "run", .usage = "", .summary = "", .options = options, .minimum = 0, .maximum = 3,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts parts = { data, size };
	struct command_arguments arguments;
	const char *words[WORDS + 1] = { NULL };
	char reason[256] = "";
	int count = 0, error;

	while (parts.size && count < WORDS)
		words[count++] = fuzz_part(&parts);
	error = arguments_parse(&command, count, words, &arguments, reason, sizeof(reason));
	fuzz_assert(!error || error == -ECANCELED || (error == -EINVAL && *reason));
	arguments_free(&arguments);
	while (count--)
		free((void *)words[count]);
	return 0;
}
