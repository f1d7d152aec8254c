/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the command says to the person. Library code does not use this; commands do.
 * Errors: one line, "shootdown: WHAT failed on WHAT: WHY; WHAT TO DO". Progress: with time left on a terminal, plain
 * lines elsewhere. Colours only on terminals, NO_COLOR honoured.
 */
#ifndef SHOOTDOWN_MESSAGE_H
#define SHOOTDOWN_MESSAGE_H

#include <stdbool.h>

enum exit_status {
	EXIT_DONE = 0, EXIT_REGRESSED = 1, EXIT_CANNOT_TELL = 125,
	EXIT_USAGE = 129, EXIT_ENVIRONMENT = 130, EXIT_INTERNAL = 131,
};

/* Prints one line to standard error; returns status, so: return report(EXIT_USAGE, "..."). */
int report(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));	/* standard error, plain */
bool colour_wanted(int fd);

/* done of total steps; text says what is going on. Rewrites its line on a terminal, at most 10 times a second. */
void progress_start(const char *title, unsigned int total);
void progress_step(unsigned int done, const char *text);
void progress_end(void);

#endif
