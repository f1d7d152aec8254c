// SPDX-License-Identifier: GPL-2.0-or-later
#include "channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PREFIX "SD1 "
#define PREFIX_SIZE (sizeof(PREFIX) - 1)

struct cursor {
	const char *at, *end;
};

/* A decimal number of at most 19 digits (so that it cannot overflow), followed by one space. */
static bool take_decimal(struct cursor *cursor, uint64_t *value)
{
	const char *start = cursor->at;

	*value = 0;
	while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9' && cursor->at - start < 19)
		*value = *value * 10 + (uint64_t)(*cursor->at++ - '0');
	return cursor->at > start && cursor->at < cursor->end && *cursor->at++ == ' ';
}

static bool take_checksum(struct cursor *cursor, uint32_t *value)
{
	static const char digits[] = "0123456789abcdef";

	*value = 0;
	if (cursor->end - cursor->at < 9 || cursor->at[8] != ' ')
		return false;
	for (int i = 0; i < 8; i++) {
		const char *digit = cursor->at[i] ? strchr(digits, cursor->at[i]) : NULL;

		if (!digit)
			return false;
		*value = *value << 4 | (uint32_t)(digit - digits);
	}
	cursor->at += 9;
	return true;
}

enum channel_line channel_parse_line(const char *line, size_t size, struct channel_frame *frame)
{
	struct cursor cursor = { line, line + size };
	uint64_t sequence, length;
	uint32_t checksum;

	if (size < PREFIX_SIZE || memcmp(line, PREFIX, PREFIX_SIZE) != 0)
		return CHANNEL_NOT_A_FRAME;
	cursor.at += PREFIX_SIZE;
	if (!take_decimal(&cursor, &sequence) || !take_checksum(&cursor, &checksum) || !take_decimal(&cursor, &length))
		return CHANNEL_DAMAGED;
	if (length != (uint64_t)(cursor.end - cursor.at))
		return CHANNEL_DAMAGED;
	if (crc32_z(0, (const unsigned char *)cursor.at, length) != checksum)
		return CHANNEL_DAMAGED;
	frame->sequence = sequence;
	frame->payload = cursor.at;
	frame->payload_size = length;
	return CHANNEL_FRAME;
}

static int deliver(struct channel *channel, const struct channel_frame *frame)
{
	json_t *message;
	int error;

	if (frame->sequence < channel->next) {
		if (!channel->shared)	/* there every line comes twice */
			channel->damaged++;
		return 0;
	}
	channel->lost += frame->sequence - channel->next;
	channel->next = frame->sequence + 1;
	message = json_loadb(frame->payload, frame->payload_size, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(message)) {
		json_decref(message);
		channel->damaged++;
		return 0;
	}
	channel->frames++;
	error = channel->handler(channel->context, message);
	json_decref(message);
	return error;
}

/*
 * A console may have put something in front of the frame without a newline (a
 * prompt, the end of a kernel message), and a payload may hold the prefix: the
 * first place from which the line is a whole frame is the frame.
 */
static enum channel_line find_frame(const char *line, size_t size, struct channel_frame *frame)
{
	const char *end = line + size;

	for (const char *at = line; at; at = memmem(at + 1, (size_t)(end - at - 1), PREFIX, PREFIX_SIZE))
		if (channel_parse_line(at, (size_t)(end - at), frame) == CHANNEL_FRAME)
			return CHANNEL_FRAME;
	return CHANNEL_NOT_A_FRAME;
}

static int take_line(struct channel *channel, const char *line, size_t size)
{
	struct channel_frame frame;
	enum channel_line kind;

	if (size && line[size - 1] == '\r')	/* a terminal made "\r\n" of "\n" */
		size--;
	if (!size)
		return 0;
	kind = channel->shared ? find_frame(line, size, &frame) : channel_parse_line(line, size, &frame);
	if (kind == CHANNEL_FRAME)
		return deliver(channel, &frame);
	if (!channel->shared)
		channel->damaged++;
	return 0;
}

static int append(struct channel *channel, const char *data, size_t size)
{
	if (channel->skipping)
		return 0;
	if (channel->used + size > CHANNEL_LINE_LIMIT) {
		channel->skipping = true;
		channel->used = 0;
		channel->damaged += !channel->shared;
		return 0;
	}
	if (channel->used + size > channel->room) {
		size_t room = (channel->used + size) * 2;
		char *line = realloc(channel->line, room);

		if (!line)
			return -ENOMEM;
		channel->line = line;
		channel->room = room;
	}
	memcpy(channel->line + channel->used, data, size);
	channel->used += size;
	return 0;
}

void channel_init(struct channel *channel, bool shared, channel_handler handler, void *context)
{
	*channel = (struct channel){ .handler = handler, .context = context, .shared = shared };
}

int channel_feed(struct channel *channel, const void *data, size_t size)
{
	const char *at = data, *end = at + size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;
		int error = 0;

		if (newline && !channel->used && !channel->skipping) {
			error = take_line(channel, at, (size_t)(stop - at));
		} else {
			error = append(channel, at, (size_t)(stop - at));
			if (!error && newline && !channel->skipping)
				error = take_line(channel, channel->line, channel->used);
			if (newline) {
				channel->used = 0;
				channel->skipping = false;
			}
		}
		if (error)
			return error;
		at = newline ? newline + 1 : end;
	}
	return 0;
}

void channel_finish(struct channel *channel)
{
	if (channel->used && !channel->shared)
		channel->damaged++;
	channel->used = 0;
}

void channel_free(struct channel *channel)
{
	free(channel->line);
	channel->line = NULL;
	channel->used = channel->room = 0;
}
