/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A descriptor that becomes ready when a child ends: a pidfd, or on kernels
 * before 5.3 (and under valgrind) the read end of a pipe that the child holds.
 *
 *   lifeline_prepare -> fork -> child: lifeline_hold, parent: lifeline_watch
 */
#ifndef SHOOTDOWN_HARNESS_LIFELINE_H
#define SHOOTDOWN_HARNESS_LIFELINE_H

#include <sys/types.h>

struct lifeline {
	int ends[2];	/* -1 where a pidfd does */
};

int lifeline_prepare(struct lifeline *lifeline);	/* -errno */
void lifeline_hold(struct lifeline *lifeline);		/* in the child */
/* Descriptor to poll and to close, or -errno; pid negative (the fork failed): only cleans up. */
int lifeline_watch(struct lifeline *lifeline, pid_t pid);

#endif
