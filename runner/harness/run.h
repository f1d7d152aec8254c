/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the harness share. Three kinds of process take part:
 *
 *   the supervisor   main(): parses, waits, reports, puts back, kills what is left; does nothing during an ROI
 *   measuring        forked by it: topology, probes, workload callbacks, the ROI
 *   workers          forked or threaded by measuring, for the teams of one iteration
 *
 * struct run_shared is the memory they have in common.
 */
#ifndef SHOOTDOWN_HARNESS_RUN_H
#define SHOOTDOWN_HARNESS_RUN_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../workloads/workload.h"
#include "../probe/probe.h"
#include "options.h"
#include "placement.h"
#include "undo.h"

enum harness_status {
	STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_UNSUPPORTED = 125,
	STATUS_USAGE = 129, STATUS_ENVIRONMENT = 130, STATUS_INTERNAL = 131,
};

#define REASON_SIZE 512
#define PROBE_NAMES 64

/* The harness's own options; rows in main.c. */
struct harness_options {
	uint64_t iterations, warmup, frames;
	const char *probe, *probes[PROBE_NAMES + 1], *phase, *cpus, *resolve;
	unsigned int probe_count, phase_index, phase_total;
	bool no_probes, json, roi_marks, describe, help, list_probes;
};

struct run_shared {
	atomic_int error;			/* first -errno that was reported, 0: none */
	atomic_int text_claimed;		/* who may write error_text */
	char error_text[REASON_SIZE];
	atomic_int status;			/* enum harness_status, set by measuring before it leaves */
	atomic_bool finished;			/* measuring left by its own will */
	atomic_bool writing;			/* in the middle of a frame */
	struct undo_ledger undo;
};

struct team;
struct gate;

struct run {
	const struct workload *workload;
	const struct harness_options *harness;
	void *options, *private;
	char *const *command;			/* after "--"; NULL: none */
	struct machine_limits limits;
	struct workload_needs needs;
	struct placement placement;
	struct run_shared *shared;
	struct probe_set *probes;
	struct gate *gate;			/* shared; used anew by each iteration */
	int frame_fd;
	char *directory, *helper;
	json_t *settings;			/* what run_set_file() has written */
};

#define TEAMS 16

struct iteration {
	struct run *run;
	unsigned int index;
	bool warmup;
	struct team *teams[TEAMS];
	unsigned int team_count;
	uint64_t started, stopped;		/* clock_nanoseconds() */
	uint64_t operations, bytes;		/* of the measuring process, then of all */
	struct latency_histogram *latency;	/* merged; NULL without */
	struct probe_usage usage;		/* of worker processes */
	json_t *metrics, *missing;
};

/* measure.c: the whole life of the measuring process; returns its exit status. */
int measure(struct run *run);
/* supervise.c: forks measuring and sees to it that nothing stays behind; returns the exit status. */
int supervise(struct run *run);
/* roi.c: one pass; 0 or -errno with the reason in run->shared. */
int iteration_run(struct iteration *iteration);
/* frames.c */
json_t *frame_start(const struct run *run);
json_t *frame_iteration(struct iteration *iteration);	/* owns what probes and workload reported */
json_t *frame_end(const char *status, const char *error);
int frame_write(int fd, const json_t *frame);		/* -errno */
void frame_settle(int fd);
/* summary.c: what a person reads. */
void summary_print(const struct workload *workload, const json_t *start, const json_t *iterations);
/* limits.c */
json_t *machine_facts(const struct placement *placement, json_t *missing);

/* Records why the run fails unless somebody was first; returns error. */
int shared_fail(struct run_shared *shared, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* shared_fail with errno's text at the end, for a failed callback that did not explain itself. */
int callback_failed(struct run *run, const char *callback, int error);

#endif
