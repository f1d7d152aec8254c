/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract between a workload and the harness that runs it.
 *
 * One file in workloads/ is one workload is one executable. The file defines
 * `const struct workload workload` and nothing else that is visible; the
 * harness (runner/harness/) brings main(), options, pinning, the ready gate,
 * the clock, the counters and the output. The workload owns only the work and
 * counts its operations.
 *
 * Order of calls in one process:
 *
 *   resolve -> supported -> prepare -> K x (begin -> [ROI: work and teams] -> end) -> cleanup
 *
 * All callbacks return 0 or -errno; they print nothing. A callback that fails
 * may explain itself with run_fail(), whose text becomes the one-line error.
 */
#ifndef SHOOTDOWN_WORKLOAD_H
#define SHOOTDOWN_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKLOAD_CONTRACT 1

enum metric_class {
	METRIC_WORK,		/* what the kernel or the workload did: a verdict in every lane */
	METRIC_SCHEDULE,	/* depends on who ran when */
	METRIC_TIME,		/* seconds, rates and what follows elapsed time */
};

enum metric_better { HIGHER_IS_BETTER, LOWER_IS_BETTER, NEITHER_IS_BETTER };

struct workload_metric {
	const char *name;	/* NULL ends the table */
	const char *unit;	/* "bytes/s", "round trips/s", "ns/page" */
	enum metric_class metric_class;
	enum metric_better better;
	const char *help;
};

enum option_type {
	OPTION_SIZE,		/* uint64_t bytes: 4096, 64KiB, "1 GiB"; a unit is required beyond plain bytes */
	OPTION_COUNT,		/* uint64_t */
	OPTION_DURATION,	/* uint64_t nanoseconds: 10ms, 3s; the unit is required */
	OPTION_CHOICE,		/* int, index into .choices */
	OPTION_FLAG,		/* bool: --name, --name=no */
	OPTION_TEXT,		/* const char *, lives as long as the process */
};

/*
 * One row describes one option completely: parser, --help, --describe and the
 * suite's check all come from it. The words `all` (number of CPUs allowed;
 * OPTION_COUNT) and `fit` (what memory allows; OPTION_SIZE) are legal where
 * .accepts_all or .accepts_fit say so; they arrive in resolve() as
 * OPTION_VALUE_ALL and OPTION_VALUE_FIT and must be gone afterwards.
 */
#define OPTION_VALUE_ALL UINT64_MAX
#define OPTION_VALUE_FIT UINT64_MAX

struct workload_option {
	const char *name;		/* NULL ends the table */
	enum option_type type;
	size_t offset;			/* into the workload's options struct */
	const char *default_text;	/* parsed as if given by the user */
	uint64_t minimum, maximum;	/* SIZE, COUNT, DURATION; maximum 0: no limit */
	const char *const *choices;	/* CHOICE: NULL-terminated */
	bool accepts_all, accepts_fit;
	bool is_source_tree;		/* TEXT: a directory that is built, or the name of one of workloads/trees. It travels
					 * into guests, and a toolchain with it */
	const char *unit;		/* shown in help: "bytes", "threads" */
	const char *help;
};

/* What the machine (or the planned guest) offers; given to resolve(). */
struct machine_limits {
	unsigned int cpus;
	unsigned int nodes;
	uint64_t memory_bytes;
};

/* What a resolved case needs; checked by the plan before anything boots. */
struct workload_needs {
	unsigned int cpus;
	unsigned int nodes;
	uint64_t memory_bytes;
};

struct run;		/* one process of the workload: options, topology, placement (harness/run.h) */
struct iteration;	/* one pass through the ROI */
struct latency_histogram;

/* One pinned thread or process that the harness made for a team. */
struct worker {
	unsigned int index;		/* 0 .. team count - 1 */
	int cpu;			/* where it is pinned, OS index; -1 when the team is not pinned */
	void *argument;			/* team_spec.argument */
	uint64_t operations;		/* counted by work(); summed over the team */
	uint64_t bytes;			/* likewise, where bytes make sense */
	struct latency_histogram *latency;	/* NULL unless team_spec.latency; nanoseconds */
	uint64_t random_seed;		/* independent for each worker, the same in every run */
	void *scratch;			/* for setup() to hand something to work() and teardown() */
};

enum team_kind {
	TEAM_PROCESSES,		/* each worker is a process of its own */
	TEAM_CHILD_THREADS,	/* all workers are threads of ONE forked child */
	TEAM_THREADS,		/* threads of the measuring process */
};

struct team_spec {
	const char *name;
	enum team_kind kind;
	unsigned int count;
	const int *cpus;	/* count OS indexes, -1: not pinned; NULL: spread over the allowed CPUs, in topology order */
	void *argument;
	bool latency;		/* give each worker a latency histogram */
	bool background;	/* let in before the clock starts; works until the clock has stopped: work() polls
				 * worker_must_stop() or sleeps in worker_wait_for_stop() */
	int (*setup)(struct worker *worker);	/* pinned already; before the gate; may be NULL */
	int (*work)(struct worker *worker);	/* between the gate and the end of the clock */
	void (*teardown)(struct worker *worker);	/* after the clock has stopped; may be NULL */
};

struct workload {
	unsigned int contract;		/* WORKLOAD_CONTRACT */
	const char *name;
	const char *summary;		/* one line */
	const char *operation;		/* what `operations` counts: "round trip", "page", "job" */
	size_t options_size;
	const struct workload_option *options;
	const struct workload_metric *metrics;
	bool unpinned;			/* the measuring process may run on every allowed CPU (its children inherit that);
					 * false: it is pinned to the first CPU of run_cpus() */
	bool takes_command;		/* what follows "--" is the user's command: run_command() */
	const char *const *helpers;	/* programs in workloads/helpers/ that it executes; NULL-terminated or NULL */

	/* Turn `all` and `fit` into numbers, check options against each other, say what is needed. Runs on the
	 * planning host as well as in the guest: must look at `limits` only, never at the machine. */
	int (*resolve)(void *options, const struct machine_limits *limits, struct workload_needs *needs,
		       char *reason, size_t reason_size);
	/* 0, or -EOPNOTSUPP and a reason why this kernel or machine cannot run it. May be NULL. */
	int (*supported)(struct run *run, char *reason, size_t reason_size);
	int (*prepare)(struct run *run);			/* once; may be NULL */
	int (*begin)(struct run *run, struct iteration *iteration);	/* before the clock: memory, teams */
	int (*work)(struct run *run, struct iteration *iteration);	/* in the ROI, on the measuring process; NULL: only teams */
	int (*end)(struct run *run, struct iteration *iteration);	/* after the clock: checks, metrics; may be NULL */
	void (*cleanup)(struct run *run);			/* always runs; may be NULL */
};

extern const struct workload workload;

/* --- what the harness offers (runner/harness/) --- */

void *run_options(struct run *run);		/* the workload's options struct, resolved */
void *run_private(struct run *run);		/* the workload's pointer, see run_set_private() */
void run_set_private(struct run *run, void *pointer);
const struct machine_limits *run_limits(const struct run *run);
/* Absolute path of a helper program; NULL when it is not installed. */
const char *run_helper(struct run *run, const char *name);
/* Absolute path of a source tree that comes with the workloads; NULL when there is none of that name. */
const char *run_tree(struct run *run, const char *name);
/* The command after "--", NULL-terminated; NULL when there was none. */
char *const *run_command(const struct run *run);
/* A fresh directory for files, removed after cleanup; NULL and errno on failure. */
const char *run_directory(struct run *run);
/* Says why a callback fails; returns `error` so that it can be returned. */
int run_fail(struct run *run, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Writes a sysctl or /sys file for the life of the process, recorded, and put back on every way out. -errno. */
int run_set_file(struct run *run, const char *path, const char *value);

enum cpu_relation {
	RELATION_SAME_CPU, RELATION_SMT_SIBLING, RELATION_SAME_CACHE,
	RELATION_SAME_PACKAGE, RELATION_OTHER_NODE, RELATION_ANY,
};
/* The pair-th disjoint pair of allowed CPUs in that relation. -ENXIO when the machine has none. */
int run_cpu_pair(struct run *run, enum cpu_relation relation, unsigned int pair, int cpus[2]);
/* Allowed CPUs in topology order, one of each core first; count entries. -ENXIO when fewer exist. */
int run_cpus(struct run *run, unsigned int count, int *cpus);
/* NUMA node of a CPU; 0 without NUMA. */
int run_node_of_cpu(struct run *run, int cpu);

/* Number of this iteration, warm-up included, from 0. */
unsigned int iteration_index(const struct iteration *iteration);
/* Adds a team; the harness starts, pins, gates and reaps it. `spec` is copied. */
int iteration_add_team(struct iteration *iteration, const struct team_spec *spec);
/* In end(): sums over the workers of all foreground teams. */
uint64_t iteration_operations(const struct iteration *iteration);
uint64_t iteration_bytes(const struct iteration *iteration);
double iteration_seconds(const struct iteration *iteration);
/* In work()/end() of workloads without teams: counts operations of the measuring process. */
void iteration_count(struct iteration *iteration, uint64_t operations, uint64_t bytes);
/* In end(): reports a metric of the table. A value that could not be had: iteration_missing(). */
void iteration_metric(struct iteration *iteration, const char *name, double value);
void iteration_missing(struct iteration *iteration, const char *name, const char *reason);
/* Histogram of all workers, merged; NULL without. */
const struct latency_histogram *iteration_latency(const struct iteration *iteration);
/* Clock of the harness, nanoseconds, CLOCK_MONOTONIC_RAW where the vDSO has it. */
uint64_t clock_nanoseconds(void);

void latency_record(struct latency_histogram *histogram, uint64_t nanoseconds);
/* Value below which `fraction` (0..1) of the samples lie, error at most 1/64 of it; 0 samples: NAN. */
double latency_quantile(const struct latency_histogram *histogram, double fraction);

/* True when a background team must leave work(). */
bool worker_must_stop(const struct worker *worker);
/* Sleeps until then, without a timer: the CPU is left to idle. */
void worker_wait_for_stop(const struct worker *worker);

/* Executed every turn of a loop that waits or spins. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

#endif
