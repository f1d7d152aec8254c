// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Causes exactly N one-page shootdowns with M sibling threads, each on a CPU
 * of its own. The measuring process touches a page and takes it back with
 * madvise(MADV_DONTNEED), N times: one unmapped PTE, one flush of one page.
 * A fault on an absent PTE flushes nothing.
 *
 * What each source must show for one iteration, on a machine that does
 * nothing else:
 *
 *   source                                      siblings spin     --idle-siblings
 *   ------------------------------------------  ----------------  ------------------------
 *   proc-vmstat.nr_tlb_remote_flush             N (0 if M = 0)    N: counted before anybody is left out
 *   proc-vmstat.nr_tlb_remote_flush_received    N * M             0: a lazy CPU is spared
 *   proc-vmstat.nr_tlb_local_flush_one          N                 N: of the CPU that asks
 *   proc-vmstat.nr_tlb_local_flush_all          0                 0
 *   interrupts.TLB (x86)                        N * M, N each     0
 *   interrupts.CAL (x86)                        N * M + rest      rest: holds the TLB row, and calls that are not ours
 *   tlb_flush "remote IPI send", 1 page         N                 N
 *   tlb_flush "local MM shootdown", 1 page      N                 N
 *   tlb_flush "remote shootdown", -             N * M             0
 *   flush_tlb_func calls (exact lane)           N * (M + 1)       N
 *   invlpg (exact lane)                         N * (M + 1)       N
 *
 * A sibling whose CPU was taken by a kernel thread would be spared as lazy.
 * So each flush waits until every spinning sibling has shown a sign of life,
 * and --real-time keeps others off their CPUs. What is left is a thread that
 * comes within the microsecond between the sign and the interrupt.
 *
 * Kernels before 4.20 do not spare lazy CPUs, but one that gets an IPI leaves
 * the mm: M received in all, and nr_tlb_remote_flush stays at 1. With
 * --wake-siblings each CPU is lazy anew at each flush: N and N * M there, and
 * the right column on later kernels. arm64 flushes by instruction: no row, no
 * IPI, and N TLBI. The table is compared with every source by the tests, not
 * here.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

struct options {
	uint64_t flushes, siblings;
	bool idle_siblings, wake_siblings, real_time;
};

static const struct workload_option options[] = {
	{ "flushes", OPTION_COUNT, offsetof(struct options, flushes), "1000", 1, 1ULL << 40,
	  .unit = "flushes", .help = "N: how many times a page is touched and taken back." },
	{ "siblings", OPTION_COUNT, offsetof(struct options, siblings), "1", 0, 1 << 20, .accepts_all = true,
	  .unit = "threads", .help = "M: threads of the process on other CPUs; all: one on each." },
	{ "idle-siblings", OPTION_FLAG, offsetof(struct options, idle_siblings), "no",
	  .help = "The siblings sleep, so that their CPUs idle with the process's mm loaded lazily." },
	{ "wake-siblings", OPTION_FLAG, offsetof(struct options, wake_siblings), "no",
	  .help = "Before each flush the sleeping siblings wake up and go back to sleep, so that each flush finds them lazy." },
	{ "real-time", OPTION_FLAG, offsetof(struct options, real_time), "no",
	  .help = "Spinning siblings run under SCHED_FIFO, so that nothing takes their CPUs; needs privilege." },
	{ .name = NULL },
};

static const struct workload_metric metrics[] = {
	{ "score", "flushes/s", METRIC_TIME, HIGHER_IS_BETTER, "Touch and flush of one page, by one thread." },
	{ "flush_time", "ns/flush", METRIC_TIME, LOWER_IS_BETTER, "Elapsed time of one touch and flush." },
	{ .name = NULL },
};

/* What one sibling shows that it runs: on lines of its own. */
struct sign {
	_Alignas(128) atomic_uint turns;
};

/* A table of PTEs that falls empty may be freed, which is another kind of flush: a second page keeps it in use. */
struct area {
	char *mapping, *page;
	size_t mapping_size, page_size;
	struct sign *signs;	/* one for each sibling */
	atomic_uint turn;	/* futex: siblings sleep while it stays the same */
	atomic_ulong woken;	/* how often one of them woke up */
	int cpus[];
};

#define PTE_TABLE_SPAN ((size_t)2 << 20)
#define LAST_TURN UINT_MAX
#define NAP_NANOSECONDS 50000	/* time enough to wake up, take note and sleep again */

static int resolve(void *values, const struct machine_limits *limits, struct workload_needs *needs,
		   char *reason, size_t reason_size)
{
	struct options *own = values;

	if (own->siblings == OPTION_VALUE_ALL)
		own->siblings = limits->cpus - 1;
	if (own->siblings >= limits->cpus) {
		snprintf(reason, reason_size, "--siblings %llu needs %llu CPUs, and there are %u",
			 (unsigned long long)own->siblings, (unsigned long long)own->siblings + 1, limits->cpus);
		return -ENXIO;
	}
	if (own->wake_siblings && !own->idle_siblings) {
		snprintf(reason, reason_size, "--wake-siblings is for siblings that sleep: add --idle-siblings");
		return -EINVAL;
	}
	*needs = (struct workload_needs){
		.cpus = (unsigned int)own->siblings + 1, .nodes = 1, .memory_bytes = 16 << 20,
	};
	return 0;
}

static int prepare(struct run *run)
{
	const struct options *own = run_options(run);
	unsigned int cpus = (unsigned int)own->siblings + 1;
	struct area *area = calloc(1, sizeof(*area) + cpus * sizeof(area->cpus[0]));

	if (!area)
		return -ENOMEM;
	run_set_private(run, area);
	area->signs = aligned_alloc(sizeof(*area->signs), cpus * sizeof(*area->signs));
	if (!area->signs)
		return -ENOMEM;
	memset(area->signs, 0, cpus * sizeof(*area->signs));
	area->page_size = (size_t)sysconf(_SC_PAGESIZE);
	area->mapping_size = PTE_TABLE_SPAN + 2 * area->page_size;
	area->mapping = mmap(NULL, area->mapping_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area->mapping == MAP_FAILED) {
		area->mapping = NULL;
		return -errno;
	}
	madvise(area->mapping, area->mapping_size, MADV_NOHUGEPAGE);
	area->page = (char *)(((uintptr_t)area->mapping + PTE_TABLE_SPAN - 1) & ~(PTE_TABLE_SPAN - 1));
	area->page[area->page_size] = 1;
	return run_cpus(run, cpus, area->cpus);
}

static int become_real_time(struct worker *worker)
{
	const struct options *own = run_options(worker->argument);
	const struct sched_param parameter = { .sched_priority = 1 };

	return own->real_time && sched_setscheduler(0, SCHED_FIFO, &parameter) ? -errno : 0;
}

static int spin(struct worker *worker)
{
	struct area *area = run_private(worker->argument);
	struct sign *sign = &area->signs[worker->index];

	/* The only writer: no locked instruction is needed. */
	for (unsigned int turns = 0; !worker_must_stop(worker); turns++) {
		atomic_store_explicit(&sign->turns, turns, memory_order_relaxed);
		cpu_relax();
	}
	return 0;
}

static void wait_for_signs(const struct area *area, uint64_t siblings)
{
	for (uint64_t i = 0; i < siblings; i++) {
		unsigned int before = atomic_load_explicit(&area->signs[i].turns, memory_order_relaxed);

		while (atomic_load_explicit(&area->signs[i].turns, memory_order_relaxed) == before)
			cpu_relax();
	}
}

static int sleep_lazily(struct worker *worker)
{
	worker_wait_for_stop(worker);
	return 0;
}

static int wake_now_and_then(struct worker *worker)
{
	/* Not for ever: an iteration that fails before its work has no last turn. */
	const struct timespec limit = { .tv_sec = 1 };
	struct area *area = run_private(worker->argument);
	unsigned int seen = 0, turn;

	while ((turn = atomic_load(&area->turn)) != LAST_TURN && !worker_must_stop(worker)) {
		if (turn != seen)
			atomic_fetch_add(&area->woken, 1);
		seen = turn;
		syscall(SYS_futex, &area->turn, FUTEX_WAIT_PRIVATE, seen, &limit, NULL, 0);
	}
	worker_wait_for_stop(worker);
	return 0;
}

static void next_turn(struct area *area, unsigned int turn)
{
	atomic_store(&area->turn, turn);
	syscall(SYS_futex, &area->turn, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* A sibling is asleep again a nap after it took note. */
static void wake_siblings(struct area *area, uint64_t siblings, uint64_t turn)
{
	const struct timespec nap = { .tv_nsec = NAP_NANOSECONDS };
	bool all_woken;

	next_turn(area, (unsigned int)(turn % LAST_TURN));
	do {
		all_woken = atomic_load(&area->woken) >= siblings * turn;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	} while (!all_woken);
}

static int begin(struct run *run, struct iteration *iteration)
{
	const struct options *own = run_options(run);
	struct area *area = run_private(run);
	const struct team_spec siblings = {
		.name = "siblings", .kind = TEAM_THREADS, .count = (unsigned int)own->siblings, .background = true,
		.cpus = area->cpus + 1, .argument = run, .setup = own->idle_siblings ? NULL : become_real_time,
		.work = own->wake_siblings ? wake_now_and_then : own->idle_siblings ? sleep_lazily : spin,
	};

	atomic_store(&area->turn, 0);
	atomic_store(&area->woken, 0);
	return own->siblings ? iteration_add_team(iteration, &siblings) : 0;
}

static int work(struct run *run, struct iteration *iteration)
{
	const struct options *own = run_options(run);
	struct area *area = run_private(run);
	uint64_t spinning = own->idle_siblings ? 0 : own->siblings;
	volatile char *page = area->page;
	int error = 0;

	for (uint64_t i = 0; i < own->flushes && !error; i++) {
		if (own->wake_siblings)
			wake_siblings(area, own->siblings, i + 1);
		*page = 1;
		wait_for_signs(area, spinning);
		if (madvise(area->page, area->page_size, MADV_DONTNEED))
			error = -errno;
	}
	if (own->wake_siblings)
		next_turn(area, LAST_TURN);
	iteration_count(iteration, own->flushes, 0);
	return error;
}

static int end(struct run *run, struct iteration *iteration)
{
	double seconds = iteration_seconds(iteration), flushes = (double)iteration_operations(iteration);

	(void)run;
	iteration_metric(iteration, "score", flushes / seconds);
	iteration_metric(iteration, "flush_time", seconds * 1e9 / flushes);
	return 0;
}

static void cleanup(struct run *run)
{
	struct area *area = run_private(run);

	if (area && area->mapping)
		munmap(area->mapping, area->mapping_size);
	if (area)
		free(area->signs);
	free(area);
}

const struct workload workload = {
	.contract = WORKLOAD_CONTRACT,
	.name = "known-flush",
	.summary = "Causes exactly N one-page TLB shootdowns with exactly M sibling threads",
	.operation = "flush",
	.options_size = sizeof(struct options),
	.options = options,
	.metrics = metrics,
	.resolve = resolve,
	.prepare = prepare,
	.begin = begin,
	.work = work,
	.end = end,
	.cleanup = cleanup,
};
