// SPDX-License-Identifier: GPL-2.0-or-later
/* What a guest's init says: one JSON message a line. A sink hears of cases in their order, and of nothing outside them. */
#include <math.h>

#include "fuzz.h"
#include "runner/lane/guest-state.h"

#define CASES 3

struct heard {
	size_t started, ended;
};

static int on_facts(void *context, const json_t *facts)
{
	(void)context;
	fuzz_assert(json_is_object(facts));
	return 0;
}

static int on_start(void *context, size_t index)
{
	struct heard *heard = context;

	fuzz_assert(index == heard->started && heard->started == heard->ended && index < CASES);
	heard->started++;
	return 0;
}

static int on_frame(void *context, size_t index, const json_t *frame)
{
	const struct heard *heard = context;

	fuzz_assert(json_is_object(frame) && index + 1 == heard->started && heard->started == heard->ended + 1);
	return 0;
}

static int on_end(void *context, size_t index, enum boot_outcome outcome, const char *detail)
{
	struct heard *heard = context;

	fuzz_assert(index == heard->ended && heard->started == heard->ended + 1);
	fuzz_assert(boot_outcome_name(outcome) && detail);
	heard->ended++;
	return 0;
}

static int on_output(void *context, size_t index, int stream, const void *data, size_t size)
{
	(void)context;
	(void)stream;
	fuzz_assert(index < CASES);
	free(fuzz_text(data, size));
	return 0;
}

static int on_file(void *context, const char *name, const void *data, size_t size)
{
	(void)context;
	fuzz_assert(name);
	free(fuzz_text(data, size));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned int seconds[CASES] = { 1, 1, 1 };
	struct heard heard = { 0 };
	const struct boot_sink sink = {
		.context = &heard, .facts = on_facts, .case_start = on_start, .frame = on_frame, .case_end = on_end,
	};
	const struct guest_boot options = {
		.case_count = CASES, .case_seconds = seconds, .sink = &sink, .plain_commands = size && data[0] & 1,
		.hooks = { .output = on_output, .file = on_file },
	};
	struct guest_state *state = calloc(1, sizeof(*state));

	fuzz_assert(state);
	state->options = &options;
	state->current = NO_CASE;
	state->first_case = NAN;
	for (int i = 0; i < STREAM_COUNT; i++)
		state->streams[i] = -1;
	while (size) {
		const uint8_t *newline = memchr(data, '\n', size);
		size_t length = newline ? (size_t)(newline - data) : size, taken = newline ? length + 1 : size;
		json_t *message = json_loadb((const char *)data, length, 0, NULL);

		if (json_is_object(message))
			fuzz_assert(!guest_message(state, message));
		json_decref(message);
		data += taken;
		size -= taken;
	}
	guest_abandon_case(state, BOOT_EARLY_EXIT, "the end");
	fuzz_assert(heard.started == heard.ended);
	free(state->file_name);
	free(state->file_data);
	free(state);
	return 0;
}
