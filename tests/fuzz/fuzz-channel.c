// SPDX-License-Identifier: GPL-2.0-or-later
/* However the bytes are cut, the same messages come out and the same losses are counted. */
#include "fuzz.h"
#include "runner/lane/channel.h"

struct seen {
	uint64_t messages, bytes;
};

static int on_message(void *context, const json_t *message)
{
	struct seen *seen = context;
	char *text = json_dumps(message, JSON_COMPACT);

	fuzz_assert(json_is_object(message) && text);
	seen->messages++;
	seen->bytes += strlen(text);
	free(text);
	return 0;
}

static void feed(struct channel *channel, const char *data, size_t size, size_t piece)
{
	for (size_t at = 0; at < size; at += piece)
		fuzz_assert(!channel_feed(channel, data + at, size - at < piece ? size - at : piece));
	channel_finish(channel);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole_seen = { 0 }, cut_seen = { 0 };
	struct channel whole, cut;
	char *bytes;

	if (size < 1)
		return 0;
	bytes = fuzz_text(data + 1, size - 1);
	channel_init(&whole, data[0] & 1, on_message, &whole_seen);
	channel_init(&cut, data[0] & 1, on_message, &cut_seen);
	feed(&whole, bytes, size - 1, size);
	feed(&cut, bytes, size - 1, 1 + (data[0] >> 1));
	fuzz_assert(whole_seen.messages == cut_seen.messages && whole_seen.bytes == cut_seen.bytes);
	fuzz_assert(whole.frames == cut.frames && whole.lost == cut.lost && whole.damaged == cut.damaged);
	fuzz_assert(whole.frames == whole_seen.messages);
	channel_free(&whole);
	channel_free(&cut);
	free(bytes);
	return 0;
}
