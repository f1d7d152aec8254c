// SPDX-License-Identifier: GPL-2.0-or-later
#include "console.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Lines by which a kernel names its trouble, matched at the start of the
 * message (after time stamp and caller), so that a message which only talks of
 * a warning is none. `also` must stand in the rest of the line.
 * First match wins: the special before the general.
 */
static const struct pattern {
	const char *start;
	const char *also;
	enum boot_outcome outcome;
} patterns[] = {
	{ "Kernel panic - not syncing: Out of memory", NULL, BOOT_OUT_OF_MEMORY },
	{ "Kernel panic - not syncing: System is deadlocked on memory", NULL, BOOT_OUT_OF_MEMORY },
	{ "Kernel panic - not syncing: softlockup", NULL, BOOT_HANG },
	{ "Kernel panic - not syncing: hung_task", NULL, BOOT_HANG },
	{ "Kernel panic - not syncing: RCU Stall", NULL, BOOT_HANG },
	{ "Kernel panic - not syncing", NULL, BOOT_PANIC },
	{ "watchdog: BUG: soft lockup", NULL, BOOT_HANG },
	{ "watchdog: Watchdog detected hard LOCKUP", NULL, BOOT_HANG },
	{ "watchdog: CPU", "Watchdog detected hard LOCKUP", BOOT_HANG },
	{ "NMI watchdog: Watchdog detected hard LOCKUP", NULL, BOOT_HANG },
	{ "NMI watchdog: BUG: soft lockup", NULL, BOOT_HANG },
	{ "BUG: soft lockup", NULL, BOOT_HANG },
	{ "BUG: workqueue lockup", NULL, BOOT_HANG },
	{ "rcu: INFO: rcu_", "stall", BOOT_HANG },
	{ "INFO: rcu_", "stall", BOOT_HANG },
	{ "INFO: task ", "blocked for more than", BOOT_HANG },
	{ "Out of memory: Killed process", NULL, BOOT_OUT_OF_MEMORY },
	{ "Out of memory: Kill process", NULL, BOOT_OUT_OF_MEMORY },
	{ "Memory cgroup out of memory: Kill", NULL, BOOT_OUT_OF_MEMORY },
	{ "Out of memory (oom_kill_allocating_task): Kill", NULL, BOOT_OUT_OF_MEMORY },
	{ "Oops: ", NULL, BOOT_OOPS },
	{ "int3: ", "[#", BOOT_OOPS },
	{ "Oops - ", NULL, BOOT_OOPS },
	{ "Oops[#", NULL, BOOT_OOPS },
	{ "Internal error: ", NULL, BOOT_OOPS },
	{ "Unable to handle kernel ", NULL, BOOT_OOPS },
	{ "kernel BUG at ", NULL, BOOT_OOPS },
	{ "general protection fault", NULL, BOOT_OOPS },
	{ "double fault: ", NULL, BOOT_OOPS },
	{ "divide error: ", NULL, BOOT_OOPS },
	{ "invalid opcode: ", NULL, BOOT_OOPS },
	{ "PANIC: double fault", NULL, BOOT_PANIC },
	{ "BUG: ", NULL, BOOT_OOPS },
	{ "WARNING: ", " at ", BOOT_WARN },
	{ "WARNING: possible ", NULL, BOOT_WARN },
	{ "WARNING: suspicious ", NULL, BOOT_WARN },
	{ "WARNING: inconsistent lock state", NULL, BOOT_WARN },
	{ "WARNING: bad unlock balance", NULL, BOOT_WARN },
	{ "WARNING: held lock freed", NULL, BOOT_WARN },
	{ "WARNING: lock held when returning to user space", NULL, BOOT_WARN },
	{ "WARNING: Nested lock was not taken", NULL, BOOT_WARN },
	{ "UBSAN: ", NULL, BOOT_WARN },
};

/* What may be overtaken by what: a warning by all, a hang or a kill by an oops or a panic, the first of those stays. */
static int rank(enum boot_outcome outcome)
{
	switch (outcome) {
	case BOOT_PANIC:
	case BOOT_OOPS:
		return 3;
	case BOOT_HANG:
	case BOOT_OUT_OF_MEMORY:
		return 2;
	case BOOT_WARN:
		return 1;
	default:
		return 0;
	}
}

/* Length of a leading "[   12.345678] " or "[   12.345678][   T17] ". */
static size_t stamp_size(const char *line, size_t size)
{
	size_t at = 0;

	while (at < size && line[at] == '[') {
		size_t end = at + 1;

		while (end < size && line[end] != ']' && end - at < 24 && strchr(" .TC0123456789", line[end]))
			end++;
		if (end >= size || line[end] != ']')
			break;
		at = end + 1;
	}
	while (at < size && line[at] == ' ')
		at++;
	return at;
}

static bool starts_with(const char *line, size_t size, const char *start)
{
	return size >= strlen(start) && memcmp(line, start, strlen(start)) == 0;
}

enum boot_outcome console_classify(const char *line, size_t size)
{
	size_t stamp = stamp_size(line, size);

	line += stamp;
	size -= stamp;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (starts_with(line, size, patterns[i].start) &&
		    (!patterns[i].also || memmem(line, size, patterns[i].also, strlen(patterns[i].also))))
			return patterns[i].outcome;
	return BOOT_OK;
}

static void note_event(struct console_event *event, enum boot_outcome outcome, const struct console *console)
{
	size_t stamp = stamp_size(console->line_text, console->line_used);
	size_t size = console->line_used - stamp;

	/* What a panic says after an oops, a hang or an OOM kill is its consequence; a panic out of the blue overtakes. */
	if (rank(outcome) <= rank(event->outcome))
		return;
	event->outcome = outcome;
	event->line = console->lines;
	if (size >= sizeof(event->text))
		size = sizeof(event->text) - 1;
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)console->line_text[stamp + i];

		event->text[i] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
	}
	event->text[size] = '\0';
}

static void end_line(struct console *console)
{
	enum boot_outcome outcome;

	while (console->line_used && console->line_text[console->line_used - 1] == '\r')
		console->line_used--;
	console->lines++;
	outcome = console_classify(console->line_text, console->line_used);
	if (outcome != BOOT_OK) {
		note_event(&console->event, outcome, console);
		note_event(&console->since, outcome, console);
	}
	console->line_used = 0;
}

static void watch(struct console *console, const char *data, size_t size)
{
	const char *end = data + size;

	while (data < end) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));
		size_t part = (size_t)((newline ? newline : end) - data);
		size_t room = sizeof(console->line_text) - console->line_used;
		size_t kept = part < room ? part : room;

		memcpy(console->line_text + console->line_used, data, kept);
		console->line_used += kept;
		data += part;
		if (newline) {
			end_line(console);
			data++;
		}
	}
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t written = write(fd, data, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		data += written;
		size -= (size_t)written;
	}
	return 0;
}

static void keep_tail(struct console *console, const char *data, size_t size)
{
	if (size > CONSOLE_TAIL_LIMIT) {
		console->tail_bytes += size - CONSOLE_TAIL_LIMIT;
		data += size - CONSOLE_TAIL_LIMIT;
		size = CONSOLE_TAIL_LIMIT;
	}
	while (size) {
		size_t at = console->tail_bytes % CONSOLE_TAIL_LIMIT;
		size_t part = CONSOLE_TAIL_LIMIT - at < size ? CONSOLE_TAIL_LIMIT - at : size;

		memcpy(console->tail + at, data, part);
		console->tail_bytes += part;
		data += part;
		size -= part;
	}
}

int console_init(struct console *console, int log)
{
	*console = (struct console){ .log = log };
	console->tail = malloc(CONSOLE_TAIL_LIMIT);
	return console->tail ? 0 : -ENOMEM;
}

int console_feed(struct console *console, const void *data, size_t size)
{
	size_t head = 0;
	int error = 0;

	watch(console, data, size);
	if (console->bytes < CONSOLE_HEAD_LIMIT) {
		head = CONSOLE_HEAD_LIMIT - console->bytes;
		head = head < size ? head : size;
		if (console->log >= 0)
			error = write_all(console->log, data, head);
	}
	keep_tail(console, (const char *)data + head, size - head);
	console->bytes += size;
	return error;
}

void console_mark(struct console *console)
{
	console->since = (struct console_event){ .outcome = BOOT_OK };
}

static int write_tail(const struct console *console)
{
	size_t at = console->tail_bytes % CONSOLE_TAIL_LIMIT;
	char note[128];
	int error;

	if (console->tail_bytes <= CONSOLE_TAIL_LIMIT)
		return write_all(console->log, console->tail, console->tail_bytes);
	snprintf(note, sizeof(note), "\n[shootdown: %llu bytes of the console were cut here]\n",
		 (unsigned long long)(console->tail_bytes - CONSOLE_TAIL_LIMIT));
	error = write_all(console->log, note, strlen(note));
	if (!error)
		error = write_all(console->log, console->tail + at, CONSOLE_TAIL_LIMIT - at);
	return error ? error : write_all(console->log, console->tail, at);
}

int console_finish(struct console *console)
{
	if (console->line_used)
		end_line(console);
	return console->log >= 0 ? write_tail(console) : 0;
}

void console_free(struct console *console)
{
	free(console->tail);
	console->tail = NULL;
}

bool console_event_is_stale_breakpoint(const struct console_event *event)
{
	return event->outcome == BOOT_OOPS &&
	       (!strncmp(event->text, "Oops: int3: ", 12) || !strncmp(event->text, "int3: ", 6));
}

void console_event_text(const struct console_event *event, char *text, size_t size)
{
	snprintf(text, size, "%s; console line %llu", event->text, (unsigned long long)event->line);
}
