// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One iteration: begin, workers at the gate, counters, clock, ROI, clock,
 * counters, workers out, end. Nothing but the work stands between the marks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "roi.h"
#include "team.h"

typedef int (*roi_function)(struct iteration *iteration);

/* An empty ROI holds no instruction of ours at all. */
static int roi_empty_marked(struct iteration *iteration)
{
	(void)iteration;
	roi_mark(ROI_MARK_BEGIN);
	roi_mark(ROI_MARK_END);
	return 0;
}

static int roi_empty(struct iteration *iteration)
{
	(void)iteration;
	return 0;
}

static inline __attribute__((always_inline)) int roi_body(struct iteration *iteration)
{
	struct gate *gate = iteration->run->gate;
	const struct workload *described = iteration->run->workload;
	bool foreground = atomic_load_explicit(&gate->foreground_left, memory_order_relaxed);
	int error = 0;

	if (foreground)
		gate_set(&gate->foreground_gate, GATE_OPEN);
	if (described->work)
		error = described->work(iteration->run, iteration);
	if (!error && foreground)
		return gate_wait(gate, &gate->foreground_left, iteration->teams, iteration->team_count);
	return error ? callback_failed(iteration->run, "work", error) : 0;
}

static int roi_marked(struct iteration *iteration)
{
	int error;

	roi_mark(ROI_MARK_BEGIN);
	error = roi_body(iteration);
	roi_mark(ROI_MARK_END);
	return error;
}

static int roi_unmarked(struct iteration *iteration)
{
	return roi_body(iteration);
}

static roi_function choose_roi(const struct iteration *iteration)
{
	/* The exact lane counts between marks: a warm-up has none. */
	bool marked = iteration->run->harness->roi_marks && !iteration->warmup;
	bool empty = !iteration->run->workload->work && !atomic_load(&iteration->run->gate->foreground_left);

	if (empty)
		return marked ? roi_empty_marked : roi_empty;
	return marked ? roi_marked : roi_unmarked;
}

/* Spends its share of a timer tick, so that the ROI of each phase begins at another point of it. */
static void burn_phase(const struct harness_options *harness)
{
	struct timespec tick;
	uint64_t until;

	if (!harness->phase_index || clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		return;
	until = clock_nanoseconds() + ((uint64_t)tick.tv_sec * 1000000000 + (uint64_t)tick.tv_nsec) *
		harness->phase_index / harness->phase_total;
	while (clock_nanoseconds() < until)
		cpu_relax();
}

static void gate_reset(struct iteration *iteration)
{
	struct gate *gate = iteration->run->gate;
	unsigned int all = 0, background = 0;

	for (unsigned int t = 0; t < iteration->team_count; t++) {
		all += iteration->teams[t]->spec.count;
		if (iteration->teams[t]->spec.background)
			background += iteration->teams[t]->spec.count;
	}
	atomic_store(&gate->not_ready, all);
	atomic_store(&gate->all_left, all);
	atomic_store(&gate->background_idle, background);
	atomic_store(&gate->foreground_left, all - background);
	atomic_store(&gate->background_gate, GATE_CLOSED);
	atomic_store(&gate->foreground_gate, GATE_CLOSED);
	atomic_store(&gate->stop, 0);
	atomic_store(&gate->finish, 0);
}

/* All at the gate, background ones at work. */
static int start_teams(struct iteration *iteration)
{
	struct gate *gate = iteration->run->gate;
	int error;

	for (unsigned int t = 0; t < iteration->team_count; t++) {
		error = team_start(iteration->teams[t]);
		if (error)
			return error;
	}
	error = gate_wait(gate, &gate->not_ready, iteration->teams, iteration->team_count);
	if (error || !atomic_load(&gate->background_idle))
		return error;
	gate_set(&gate->background_gate, GATE_OPEN);
	return gate_wait(gate, &gate->background_idle, iteration->teams, iteration->team_count);
}

static int measured_region(struct iteration *iteration)
{
	roi_function roi = choose_roi(iteration);
	struct run *run = iteration->run;
	int error;

	burn_phase(run->harness);
	probes_begin(run->probes);
	iteration->started = clock_nanoseconds();
	error = roi(iteration);
	iteration->stopped = clock_nanoseconds();
	probes_end(run->probes);
	return error;
}

/* Lets everybody out. A failure before or in the ROI kills the processes: they may wait for one that is dead. */
static int finish_teams(struct iteration *iteration, int error)
{
	struct gate *gate = iteration->run->gate;
	int first = error;

	gate_set(&gate->stop, 1);
	if (error) {
		gate_set(&gate->background_gate, GATE_DISMISSED);
		gate_set(&gate->foreground_gate, GATE_DISMISSED);
	} else {
		first = gate_wait(gate, &gate->all_left, iteration->teams, iteration->team_count);
	}
	gate_set(&gate->finish, 1);
	for (unsigned int t = 0; t < iteration->team_count; t++) {
		int failed = team_reap(iteration->teams[t], first);

		if (failed == -ETIMEDOUT || !first)
			first = failed ? failed : first;
	}
	return first;
}

static void collect(struct iteration *iteration)
{
	for (unsigned int t = 0; t < iteration->team_count; t++) {
		const struct team *team = iteration->teams[t];

		for (unsigned int i = 0; i < team->spec.count; i++) {
			const struct worker_slot *slot = team_slot(team, i);

			usage_add_difference(&iteration->usage, &slot->self_before, &slot->self_after);
			usage_add_difference(&iteration->usage, &slot->children_before, &slot->children_after);
			if (team->spec.kind != TEAM_THREADS)
				iteration->usage.voluntary_context_switches -= slot->gate_sleeps;
			if (!team->spec.background) {
				iteration->operations += slot->worker.operations;
				iteration->bytes += slot->worker.bytes;
			}
			if (!team->spec.latency)
				continue;
			if (!iteration->latency)
				iteration->latency = calloc(1, sizeof(*iteration->latency));
			if (iteration->latency)
				latency_merge(iteration->latency, slot->latency);
		}
	}
}

static void free_teams(struct iteration *iteration)
{
	for (unsigned int t = 0; t < iteration->team_count; t++)
		team_free(iteration->teams[t]);
	iteration->team_count = 0;
}

int iteration_run(struct iteration *iteration)
{
	struct run *run = iteration->run;
	int error = run->workload->begin ? run->workload->begin(run, iteration) : 0;

	if (error) {
		free_teams(iteration);
		return callback_failed(run, "begin", error);
	}
	gate_reset(iteration);
	error = start_teams(iteration);
	if (!error)
		error = measured_region(iteration);
	error = finish_teams(iteration, error);
	/* A thread that is stuck may still write into its slot. */
	if (error == -ETIMEDOUT)
		return shared_fail(run->shared, error, "a thread did not leave its work");
	if (!error) {
		collect(iteration);
		error = run->workload->end ? run->workload->end(run, iteration) : 0;
		if (error)
			error = callback_failed(run, "end", error);
	}
	free_teams(iteration);
	return error;
}
