/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Teams: workers that are started, pinned, held at a gate, let through
 * together and reaped. Waiting is by futex and epoll, never by spinning.
 */
#ifndef SHOOTDOWN_HARNESS_TEAM_H
#define SHOOTDOWN_HARNESS_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "histogram.h"
#include "run.h"

#define CACHE_LINE 128	/* two lines: adjacent-line prefetch */

enum { GATE_CLOSED, GATE_OPEN, GATE_DISMISSED };

/* Each word has a line of its own. Countdowns reach 0; whoever brings one there tells the measuring process. */
struct gate {
	_Alignas(CACHE_LINE) atomic_uint not_ready;		/* workers that are not at the gate yet */
	_Alignas(CACHE_LINE) atomic_uint background_idle;	/* background workers that have not begun yet */
	_Alignas(CACHE_LINE) atomic_uint foreground_left;
	_Alignas(CACHE_LINE) atomic_uint all_left;		/* workers that are not out of work() yet */
	_Alignas(CACHE_LINE) atomic_uint background_gate;	/* futex: enum above */
	_Alignas(CACHE_LINE) atomic_uint foreground_gate;	/* futex */
	_Alignas(CACHE_LINE) atomic_uint stop;			/* futex: background must leave */
	_Alignas(CACHE_LINE) atomic_uint finish;		/* futex: the clock has stopped, tear down */
	_Alignas(CACHE_LINE) struct run_shared *shared;
	int event_fd, epoll_fd;
};

struct worker_slot {
	struct worker worker;		/* first: worker_must_stop() finds the slot by it */
	struct gate *gate;
	const struct team *team;
	struct rusage self_before, children_before, self_after, children_after;
	unsigned int gate_sleeps;	/* voluntary switches that are the harness's own */
	struct latency_histogram latency[];
};

struct team_process {
	pid_t pid;
	int watch;	/* becomes ready when it ends; negative: nothing to watch */
};

struct team {
	struct run *run;
	struct team_spec spec;
	char *name;
	int *cpus;
	char *slots;			/* shared memory */
	size_t slot_size, slots_size;
	pthread_t *threads;
	unsigned int thread_count;
	struct team_process *processes;
	unsigned int process_count;
};

struct gate *gate_new(struct run_shared *shared);	/* NULL and errno */
void gate_free(struct gate *gate);
/* Wakes everybody who sleeps on the word after setting it. */
void gate_set(atomic_uint *word, unsigned int value);
/* Sleeps until the countdown is 0. -EIO: somebody failed or died, said in shared; -EINTR: interrupted. */
int gate_wait(struct gate *gate, atomic_uint *countdown, struct team *const *teams, unsigned int team_count);

struct team *team_new(struct run *run, const struct team_spec *spec);	/* NULL and errno */
/* Starts the workers; they come to the gate by themselves. -errno, said in shared. */
int team_start(struct team *team);
/* Waits until they have left; kills processes that do not within the grace. -ETIMEDOUT: a thread is stuck. */
int team_reap(struct team *team, bool kill_now);
void team_free(struct team *team);
struct worker_slot *team_slot(const struct team *team, unsigned int index);
/* worker.c: the life of one worker. */
void worker_live(struct worker_slot *slot);

#endif
