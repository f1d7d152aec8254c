/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this machine can measure: named checks, each with the fact, the harm, and the command that mends it. Nothing is changed. */
#ifndef SHOOTDOWN_CHECKS_H
#define SHOOTDOWN_CHECKS_H

#include <stddef.h>

#define CHECKS_MAXIMUM 64

enum check_status {
	CHECK_GOOD,
	CHECK_WARNING,		/* measurements are worse for it */
	CHECK_MISSING,		/* something cannot be measured */
	CHECK_BLOCKS,		/* a lane or a command cannot run */
	CHECK_UNKNOWN,		/* the fact itself cannot be had */
};

struct check_result {
	const char *name;
	enum check_status status;
	char fact[200], harm[160], mend[200];
};

const char *check_status_name(enum check_status status);
/* Runs the checks that matter to a lane ("host", "vm", "exact"; NULL: all). Returns how many. */
size_t checks_run(const char *lane, struct check_result *results, size_t limit);

#endif
