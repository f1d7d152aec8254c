/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's end of the channel: bytes in, JSON messages out, losses counted.
 * Format of a line: CONTRIBUTING.md, "Channel between guest and host". Does no
 * input or output and trusts no byte.
 */
#ifndef SHOOTDOWN_CHANNEL_H
#define SHOOTDOWN_CHANNEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest line accepted; a longer one counts as damaged. */
#define CHANNEL_LINE_LIMIT (16u << 20)

enum channel_line {
	CHANNEL_NOT_A_FRAME,	/* does not begin as a frame does */
	CHANNEL_FRAME,
	CHANNEL_DAMAGED,	/* begins as a frame: length, checksum or syntax is wrong */
};

struct channel_frame {
	uint64_t sequence;
	const char *payload;	/* inside the line */
	size_t payload_size;
};

/* Pure. `line` is without its newline and need not be terminated by NUL; *frame is set for CHANNEL_FRAME only. */
enum channel_line channel_parse_line(const char *line, size_t size, struct channel_frame *frame);

/* Receives each whole message in order. A value other than 0 stops channel_feed(), which returns it. */
typedef int (*channel_handler)(void *context, const json_t *message);

struct channel {
	channel_handler handler;
	void *context;
	/*
	 * A console: the kernel writes between and into the lines, so that every
	 * frame comes twice. What is no whole frame is not counted: a frame of
	 * which both copies are spoilt shows as a gap.
	 */
	bool shared;
	uint64_t next;		/* sequence expected */
	uint64_t frames;	/* good ones */
	uint64_t lost;		/* sequence numbers that never came */
	uint64_t damaged;	/* lines with a wrong checksum, length, sequence or JSON */
	char *line;
	size_t used, room;
	bool skipping;		/* inside an overlong line */
};

void channel_init(struct channel *channel, bool shared, channel_handler handler, void *context);
int channel_feed(struct channel *channel, const void *data, size_t size);
/* The other end is gone: a line that was begun and not ended counts as damaged. */
void channel_finish(struct channel *channel);
void channel_free(struct channel *channel);

#endif
