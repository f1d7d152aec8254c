// SPDX-License-Identifier: GPL-2.0-or-later
/* The life of one worker: pinned, set up, ready, through the gate, work, out, torn down. */
#include <errno.h>
#include <linux/futex.h>
#include <limits.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "team.h"

/* Not FUTEX_PRIVATE: the words are shared between processes. */
static long futex(atomic_uint *word, int operation, unsigned int value)
{
	return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

void gate_set(atomic_uint *word, unsigned int value)
{
	atomic_store(word, value);
	futex(word, FUTEX_WAKE, INT_MAX);
}

static void gate_notify(struct gate *gate)
{
	eventfd_write(gate->event_fd, 1);
}

static void count_down(struct gate *gate, atomic_uint *countdown)
{
	if (atomic_fetch_sub(countdown, 1) == 1)
		gate_notify(gate);
}

/* Sleeps while the word is 0; returns what it became. */
static unsigned int sleep_on(atomic_uint *word, unsigned int *sleeps)
{
	unsigned int value;

	while (!(value = atomic_load(word)))
		if (!futex(word, FUTEX_WAIT, 0) && sleeps)
			++*sleeps;
	return value;
}

bool worker_must_stop(const struct worker *worker)
{
	const struct worker_slot *slot = (const struct worker_slot *)worker;

	return atomic_load_explicit(&slot->gate->stop, memory_order_relaxed);
}

void worker_wait_for_stop(const struct worker *worker)
{
	const struct worker_slot *slot = (const struct worker_slot *)worker;

	sleep_on(&slot->gate->stop, NULL);
}

/* Threads of the measuring process are in its own rusage; a process counts its children, too. */
static void read_usage(const struct worker_slot *slot, struct rusage *self, struct rusage *children)
{
	if (slot->team->spec.kind == TEAM_PROCESSES)
		getrusage(RUSAGE_CHILDREN, children);
	if (slot->team->spec.kind != TEAM_THREADS)
		getrusage(slot->team->spec.kind == TEAM_PROCESSES ? RUSAGE_SELF : RUSAGE_THREAD, self);
}

static void fail(struct worker_slot *slot, const char *what, int error)
{
	shared_fail(slot->gate->shared, error, "%s of worker %u of team '%s': %s", what, slot->worker.index,
		    slot->team->name, strerror(-error));
	gate_notify(slot->gate);
}

static int get_ready(struct worker_slot *slot)
{
	const struct team_spec *spec = &slot->team->spec;
	int error = slot->worker.cpu >= 0 ? pin_to_cpu(slot->worker.cpu) : pin_to_all(&slot->team->run->placement);

	if (error) {
		fail(slot, "pinning", error);
		return error;
	}
	if (spec->latency) {
		/* Touched here, so that no sample pays for a page fault. */
		memset(slot->latency, 0, sizeof(*slot->latency));
		slot->worker.latency = slot->latency;
	}
	error = spec->setup ? spec->setup(&slot->worker) : 0;
	if (error)
		fail(slot, "setup", error);
	return error;
}

void worker_live(struct worker_slot *slot)
{
	const struct team_spec *spec = &slot->team->spec;
	struct gate *gate = slot->gate;
	unsigned int verdict;
	int error = get_ready(slot);

	if (error)
		return;
	read_usage(slot, &slot->self_before, &slot->children_before);
	count_down(gate, &gate->not_ready);
	verdict = sleep_on(spec->background ? &gate->background_gate : &gate->foreground_gate, &slot->gate_sleeps);
	if (verdict == GATE_OPEN) {
		if (spec->background)
			count_down(gate, &gate->background_idle);
		error = spec->work(&slot->worker);
		if (error)
			fail(slot, "work", error);
		if (!spec->background)
			count_down(gate, &gate->foreground_left);
	}
	count_down(gate, &gate->all_left);
	sleep_on(&gate->finish, &slot->gate_sleeps);
	read_usage(slot, &slot->self_after, &slot->children_after);
	if (spec->teardown)
		spec->teardown(&slot->worker);
}
