/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches the guest's console for what a kernel says when it is in trouble,
 * and keeps its log: the head, and when it grows beyond that the tail, with a
 * line between them that says what was cut.
 */
#ifndef SHOOTDOWN_CONSOLE_H
#define SHOOTDOWN_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lane.h"

#define CONSOLE_HEAD_LIMIT ((size_t)4 << 20)
#define CONSOLE_TAIL_LIMIT ((size_t)1 << 20)

/* Pure: what one line of a console says; BOOT_OK when nothing bad. The line is without newline and need not be NUL-terminated. */
enum boot_outcome console_classify(const char *line, size_t size);

struct console_event {
	enum boot_outcome outcome;	/* BOOT_OK: none yet */
	uint64_t line;			/* from 1, counted over the whole console */
	char text[320];			/* the line without its time stamp, control characters replaced */
};

struct console {
	struct console_event event;	/* the worst since the start */
	struct console_event since;	/* the worst since console_mark() */
	uint64_t lines;
	uint64_t bytes;
	int log;			/* file descriptor or -1 */
	char *tail;			/* ring buffer */
	uint64_t tail_bytes;		/* ever written into it */
	size_t line_used;
	char line_text[1024];		/* longer lines are judged by their beginning */
};

/* `log` is borrowed. -ENOMEM. */
int console_init(struct console *console, int log);
/* 0, or -errno when the log could not be written (the watching goes on). */
int console_feed(struct console *console, const void *data, size_t size);
void console_mark(struct console *console);
/* Ends the log: last line, what was cut, tail. */
int console_finish(struct console *console);
void console_free(struct console *console);
/*
 * Pure: the event is one that multi-threaded TCG brings about by itself. QEMU
 * may keep a translation that holds a breakpoint which the kernel, patching
 * its text, has already taken out; whoever runs it gets an oops "int3".
 */
bool console_event_is_stale_breakpoint(const struct console_event *event);
/* "WARNING: CPU: 0 PID: 1 at mm/rmap.c:12; console line 812" */
void console_event_text(const struct console_event *event, char *text, size_t size);

#endif
