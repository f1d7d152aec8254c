// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "message.h"
#include "units.h"

static struct {
	const char *title;
	unsigned int total, done;
	struct timespec start, shown;
	bool terminal, line_open;
} progress;

static double seconds_since(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - then->tv_sec) + (double)(now.tv_nsec - then->tv_nsec) / 1e9;
}

static void end_open_line(void)
{
	if (progress.line_open)
		fputs("\r\033[K", stderr);
	progress.line_open = false;
}

bool colour_wanted(int fd)
{
	const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(fd) && !(no_colour && *no_colour) && !(terminal && !strcmp(terminal, "dumb"));
}

/* Texts hold what files and guests said: it must not steer a terminal. */
static void put_text(const char *format, va_list arguments, const char *allowed)
{
	char *text;

	if (vasprintf(&text, format, arguments) < 0)
		abort();
	for (char *at = text; *at; at++)
		if (((unsigned char)*at < ' ' || *at == 0x7f) && !strchr(allowed, *at))
			*at = '?';
	fputs(text, stderr);
	fputc('\n', stderr);
	free(text);
}

int report(int status, const char *format, ...)
{
	va_list arguments;

	end_open_line();
	fputs(colour_wanted(2) ? "\033[1;31mshootdown:\033[0m " : "shootdown: ", stderr);
	va_start(arguments, format);
	put_text(format, arguments, "");
	va_end(arguments);
	return status;
}

void note(const char *format, ...)
{
	va_list arguments;

	end_open_line();
	va_start(arguments, format);
	put_text(format, arguments, "\n\t");
	va_end(arguments);
}

void progress_start(const char *title, unsigned int total)
{
	memset(&progress, 0, sizeof(progress));
	progress.title = title;
	progress.total = total;
	progress.terminal = isatty(2);
	clock_gettime(CLOCK_MONOTONIC, &progress.start);
}

static void time_left(char *text, size_t text_size)
{
	double elapsed = seconds_since(&progress.start);
	char duration[32];

	text[0] = '\0';
	if (progress.done && progress.done < progress.total) {
		double left = elapsed / progress.done * (progress.total - progress.done);

		if (left < 0.5)
			return;
		format_duration((uint64_t)(left + 0.5) * 1000000000ULL, duration, sizeof(duration));
		snprintf(text, text_size, ", %s left", duration);
	}
}

void progress_step(unsigned int done, const char *text)
{
	char left[64];

	progress.done = done;
	if (progress.terminal && progress.line_open && done < progress.total && seconds_since(&progress.shown) < 0.1)
		return;
	clock_gettime(CLOCK_MONOTONIC, &progress.shown);
	time_left(left, sizeof(left));
	if (progress.terminal) {
		fprintf(stderr, "\r\033[K%s %u/%u%s: %s", progress.title, done, progress.total, left, text);
		progress.line_open = true;
	} else {
		fprintf(stderr, "%s %u/%u%s: %s\n", progress.title, done, progress.total, left, text);
	}
	fflush(stderr);
}

void progress_end(void)
{
	end_open_line();
}
