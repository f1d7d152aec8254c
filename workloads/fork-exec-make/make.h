/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of fork-exec-make share. */
#ifndef SHOOTDOWN_FORK_EXEC_MAKE_H
#define SHOOTDOWN_FORK_EXEC_MAKE_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "workloads/workload.h"

#define NOT_STARTED 127		/* exit status of a child whose exec failed */

enum { SPAWN_FORK, SPAWN_VFORK };

struct make_options {
	uint64_t jobs, units, archive;
	int spawn;
	uint64_t headers, header_bytes, lookups, heap, text, object_bytes, compute;
	const char *real, *target;
};

/* One node of the graph. */
struct job {
	char **arguments;
	unsigned int waits_for;		/* jobs that have to end first */
	unsigned int dependents;	/* how many wait for this one: units and archives have one, the link none */
	struct job *dependent;
	const char *output;
	pid_t pid;
};

struct make {
	const char *directory;
	struct job *jobs;
	unsigned int job_count;
	struct job **queue;		/* ready jobs in the order they became so */
	unsigned int queue_head, queue_tail;
	struct job **running;
	unsigned int running_count;
	char *compiler, *linker;	/* paths of the helpers */
	char *tree, *log;		/* --real: the copy, and what its last program said */
	struct rusage usage;		/* sum over the children */
};

/* printf into a new string; NULL without memory. */
char *format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* 0, or -ECHILD (-ENOEXEC when it never started) with a text that says how `what` ended. */
int check_status(struct run *run, int status, const char *what);

/* graph.c: jobs, their dependencies, and what goes through them. */
int graph_plan(struct run *run, struct make *state);
void graph_reset(struct make *state);
int graph_run(struct run *run, struct iteration *iteration);
int graph_remove_outputs(struct run *run, const struct make *state);
void graph_free(struct make *state);

/* real.c: make in a copy of a directory. */
int real_copy(struct run *run, struct make *state);
int real_clean(struct run *run, const struct make *state);
int real_run(struct run *run);
/* How many recipes the last make ran. */
int real_count(const struct make *state, uint64_t *recipes);

#endif
