// SPDX-License-Identifier: GPL-2.0-or-later
#include "fuzz.h"
#include "runner/lane/console.h"

static void feed(struct console *console, const char *data, size_t size, size_t piece)
{
	for (size_t at = 0; at < size; at += piece)
		fuzz_assert(!console_feed(console, data + at, size - at < piece ? size - at : piece));
	fuzz_assert(!console_finish(console));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct console whole, cut;
	char *bytes = fuzz_text(data, size), text[400];
	int log = memfd_create("log", MFD_CLOEXEC);

	fuzz_assert(log >= 0 && !console_init(&whole, -1) && !console_init(&cut, log));
	feed(&whole, bytes, size, size + 1);
	feed(&cut, bytes, size, 1 + size % 7);
	/* What a console says does not depend on how its bytes came. */
	fuzz_assert(whole.event.outcome == cut.event.outcome && whole.event.line == cut.event.line);
	fuzz_assert(!strcmp(whole.event.text, cut.event.text) && whole.lines == cut.lines && whole.bytes == size);
	console_event_text(&cut.event, text, sizeof(text));
	for (const char *at = text; *at; at++)
		fuzz_assert((unsigned char)*at >= ' ');
	console_event_is_stale_breakpoint(&cut.event);
	console_classify(bytes, size);
	console_free(&whole);
	console_free(&cut);
	close(log);
	free(bytes);
	return 0;
}
