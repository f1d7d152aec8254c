// SPDX-License-Identifier: GPL-2.0-or-later
/* The channel decoder: whole frames come through, whatever is not whole is counted and never passed on. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "runner/lane/channel.h"

struct seen {
	int count;
	json_int_t last;
	int answer;
};

static int note(void *context, const json_t *message)
{
	struct seen *seen = context;

	seen->count++;
	seen->last = json_integer_value(json_object_get(message, "n"));
	return seen->answer;
}

/* Appends a frame to text. */
static void frame(char *text, size_t size, uint64_t sequence, const char *payload)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "SD1 %" PRIu64 " %08lx %zu %s\n", sequence,
		 crc32(0, (const Bytef *)payload, (uInt)strlen(payload)), strlen(payload), payload);
}

static void feed(struct channel *channel, const char *text)
{
	assert_int_equal(channel_feed(channel, text, strlen(text)), 0);
}

static void whole_frames(void **state)
{
	struct channel channel;
	struct seen seen = { 0 };
	char text[512] = "";

	(void)state;
	frame(text, sizeof(text), 0, "{\"n\": 1}");
	frame(text, sizeof(text), 1, "{\"n\": 2}");
	channel_init(&channel, false, note, &seen);
	/* One byte at a time: a line may come in any number of pieces. */
	for (size_t i = 0; i < strlen(text); i++)
		assert_int_equal(channel_feed(&channel, text + i, 1), 0);
	channel_finish(&channel);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.last, 2);
	assert_int_equal(channel.frames, 2);
	assert_int_equal(channel.lost + channel.damaged, 0);
	channel_free(&channel);
}

static void a_gap_is_lost(void **state)
{
	struct channel channel;
	struct seen seen = { 0 };
	char text[512] = "";

	(void)state;
	frame(text, sizeof(text), 0, "{\"n\": 1}");
	frame(text, sizeof(text), 4, "{\"n\": 5}");
	channel_init(&channel, false, note, &seen);
	feed(&channel, text);
	assert_int_equal(seen.count, 2);
	assert_int_equal(channel.lost, 3);
	/* What was there already is no news. */
	text[0] = '\0';
	frame(text, sizeof(text), 2, "{\"n\": 9}");
	feed(&channel, text);
	assert_int_equal(seen.count, 2);
	assert_int_equal(channel.damaged, 1);
	channel_free(&channel);
}

static void every_changed_byte_is_damage(void **state)
{
	char text[256] = "";
	size_t size;

	(void)state;
	frame(text, sizeof(text), 0, "{\"n\": 1}");
	size = strlen(text);
	for (size_t i = 0; i < size; i++) {
		struct channel channel;
		struct seen seen = { 0 };
		char changed[256];

		memcpy(changed, text, size + 1);
		changed[i] ^= 0x01;
		channel_init(&channel, false, note, &seen);
		feed(&channel, changed);
		channel_finish(&channel);
		/* Another sequence number is a gap, everything else is damage. */
		assert_true(channel.lost + channel.damaged > 0);
		assert_true(!seen.count || channel.lost == 1);
		channel_free(&channel);
	}
}

static void hostile_lines(void **state)
{
	static const char *const lines[] = {
		"SD1 \n", "SD1 0\n", "SD1 0 00000000 0\n", "SD1 0 00000000 0 \n", "SD1 99999999999999999999 00000000 1 x\n",
		"SD1 0 0000000 1 x\n", "SD1 0 0000000g 1 x\n", "SD1 0 00000000 18446744073709551615 x\n", "SD1 -1 00000000 1 x\n",
		"SD1 0 00000000 5 x\n", "nonsense\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct channel channel;
		struct seen seen = { 0 };

		channel_init(&channel, false, note, &seen);
		feed(&channel, lines[i]);
		assert_int_equal(seen.count, 0);
		assert_int_equal(channel.damaged, 1);
		channel_free(&channel);
	}
}

static void no_json_is_damage(void **state)
{
	static const char *const payloads[] = { "{\"n\": 1", "[1]", "{\"n\": 1}{}", "{\"n\": 1, \"n\": 2}", "\xff" };

	(void)state;
	for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
		struct channel channel;
		struct seen seen = { 0 };
		char text[256] = "";

		frame(text, sizeof(text), 0, payloads[i]);
		channel_init(&channel, false, note, &seen);
		feed(&channel, text);
		assert_int_equal(seen.count, 0);
		assert_int_equal(channel.damaged, 1);
		channel_free(&channel);
	}
}

static void a_console_has_other_lines(void **state)
{
	struct channel channel;
	struct seen seen = { 0 };
	char text[1024] = "[    1.0] Linux version 6.12\r\n\r\n# ";

	(void)state;
	frame(text, sizeof(text), 0, "{\"n\": 1, \"text\": \"SD1 in a payload\"}");
	text[strlen(text) - 1] = '\0';
	strcat(text, "\r\n[    2.0] more\r\n");
	channel_init(&channel, true, note, &seen);
	feed(&channel, text);
	text[0] = '\0';
	frame(text, sizeof(text), 1, "{\"n\": 2, \"text\": \"SD1 at the start of a line\"}");
	feed(&channel, text);
	channel_finish(&channel);
	assert_int_equal(channel.lost + channel.damaged, 0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.last, 2);
	channel_free(&channel);
}

static void a_second_copy_heals(void **state)
{
	struct channel channel;
	struct seen seen = { 0 };
	char text[1024] = "", copy[512];

	(void)state;
	channel_init(&channel, true, note, &seen);
	for (int i = 0; i < 4; i++) {
		text[0] = copy[0] = '\0';
		frame(copy, sizeof(copy), (uint64_t)i, "{\"n\": 3}");
		strcat(text, copy);
		strcat(text, copy);
		/* The kernel prints into the first, the second, neither, both copies. */
		if (i == 0 || i == 3)
			memcpy(text + 20, "\nx\n", 3);
		if (i == 1 || i == 3)
			memcpy(text + strlen(copy) + 20, "\nx\n", 3);
		feed(&channel, text);
	}
	text[0] = '\0';
	frame(text, sizeof(text), 4, "{\"n\": 4}");
	feed(&channel, text);
	assert_int_equal(seen.count, 4);
	assert_int_equal(channel.damaged, 0);
	assert_int_equal(channel.lost, 1);
	channel_free(&channel);
}

static void an_overlong_line_is_skipped(void **state)
{
	struct channel channel;
	struct seen seen = { 0 };
	char text[256] = "\n", *flood = malloc(1 << 20);

	(void)state;
	memset(flood, 'x', 1 << 20);
	channel_init(&channel, false, note, &seen);
	for (int i = 0; i < 40; i++)
		assert_int_equal(channel_feed(&channel, flood, 1 << 20), 0);
	assert_true(channel.room <= 3 * (size_t)CHANNEL_LINE_LIMIT);
	frame(text, sizeof(text), 0, "{\"n\": 7}");
	feed(&channel, text);
	assert_int_equal(channel.damaged, 1);
	assert_int_equal(seen.last, 7);
	channel_free(&channel);
	free(flood);
}

static void an_unfinished_line_is_damage(void **state)
{
	struct channel channel;
	struct seen seen = { 0 };
	char text[256] = "";

	(void)state;
	frame(text, sizeof(text), 0, "{\"n\": 1}");
	channel_init(&channel, false, note, &seen);
	assert_int_equal(channel_feed(&channel, text, strlen(text) - 3), 0);
	channel_finish(&channel);
	assert_int_equal(seen.count, 0);
	assert_int_equal(channel.damaged, 1);
	channel_free(&channel);
}

static void the_handler_can_stop(void **state)
{
	struct channel channel;
	struct seen seen = { .answer = -28 };
	char text[512] = "";

	(void)state;
	frame(text, sizeof(text), 0, "{\"n\": 1}");
	frame(text, sizeof(text), 1, "{\"n\": 2}");
	channel_init(&channel, false, note, &seen);
	assert_int_equal(channel_feed(&channel, text, strlen(text)), -28);
	assert_int_equal(seen.count, 1);
	channel_free(&channel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_frames),
		cmocka_unit_test(a_gap_is_lost),
		cmocka_unit_test(every_changed_byte_is_damage),
		cmocka_unit_test(hostile_lines),
		cmocka_unit_test(no_json_is_damage),
		cmocka_unit_test(a_console_has_other_lines),
		cmocka_unit_test(a_second_copy_heals),
		cmocka_unit_test(an_overlong_line_is_skipped),
		cmocka_unit_test(an_unfinished_line_is_damage),
		cmocka_unit_test(the_handler_can_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
