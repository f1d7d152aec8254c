/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs are started with argument vectors only. Every child gets its own process group and dies with the parent. */
#ifndef SHOOTDOWN_SPAWN_H
#define SHOOTDOWN_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct spawn_options {
	const char *directory;		/* NULL: inherited */
	const char *const *environment;	/* "NAME=value" added to (or, with value absent: "NAME", removed from) the inherited ones */
	int input, output, error;	/* file descriptors for 0, 1, 2; -1: /dev/null; SPAWN_INHERIT */
	const int *keep;		/* further descriptors to keep open, ended by -1; others are closed */
	bool no_network;		/* in an empty network namespace where the machine allows it */
	int nice;			/* added niceness */
	int death_signal;		/* sent to it when this process dies; 0: SIGKILL */
};
#define SPAWN_INHERIT (-2)

struct child {
	pid_t pid;		/* also the process group */
	int pidfd;		/* readable when the child has ended */
};

/* 0, or -errno (also that of execve: -ENOENT when there is no such program). argv[0] is looked up in PATH. */
int spawn(const char *const *argv, const struct spawn_options *options, struct child *child);
/* Waits; *status as of waitpid. -ETIMEDOUT after timeout_ms (negative: none), -EINTR when `interrupted` was set: the child still runs then. */
int child_wait(struct child *child, int timeout_ms, int *status);
/* Reaps a child whose pidfd is readable. */
int child_wait_ended(struct child *child, int *status);
/* SIGTERM to the group, after grace_ms SIGKILL; reaps; closes the pidfd. Safe on an ended child. */
void child_end(struct child *child, int grace_ms);
/* Runs to the end and captures standard output up to limit bytes; NUL-terminated, caller frees. *status as of waitpid. */
int run_capture(const char *const *argv, const struct spawn_options *options, int timeout_ms, size_t limit, char **output, int *status);

#endif
