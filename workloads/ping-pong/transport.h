/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What carries the messages of ping-pong. */
#ifndef SHOOTDOWN_PING_PONG_TRANSPORT_H
#define SHOOTDOWN_PING_PONG_TRANSPORT_H

#include <liburing.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_LINE 64

enum role { CLIENT, SERVER };
enum direction { IN, OUT };

/* What joins one pair; made before the processes are, which inherit it. */
struct link {
	int fd[2][2];		/* [role][direction]; a socket stands in both; -1: none */
	uint32_t *words;	/* futex: one word for each role that is waited on, a cache line apart */
};

/* One end of a link, in the process that uses it. */
struct side {
	const struct transport *transport;
	int in, out;
	uint32_t *own, *other;	/* futex: the word this side waits on, and the one it advances */
	char *buffer;
	size_t size;
	struct io_uring ring;
	bool ring_open;
	bool request_read;	/* io_uring server: the next request came in together with the last reply's end */
	uint64_t last;		/* number of the last message */
};

struct transport {
	const char *name;
	size_t fixed_size;	/* what each message carries, when it is not the user's choice */
	size_t maximum_size;	/* of a message; 0: none */
	bool uring;
	int (*open)(struct link *link);
	/* One message there and back, and what answers it; `number` counts from 0. */
	int (*exchange)(struct side *side, uint64_t number);
	int (*answer)(struct side *side, uint64_t number);
};

extern const struct transport transports[];
extern const size_t transport_count;

/* Closes what one role uses of a link; harmless on a link that is closed, or was opened half. */
void close_role(struct link *link, enum role role);
void close_link(struct link *link);

#endif
