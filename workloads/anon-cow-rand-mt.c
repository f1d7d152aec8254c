// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The vm-scalability case of this name: a process that has populated a private
 * mapping of /dev/zero forks one child, whose threads share it and store into
 * it at random. The parent stays, so the first store to a page finds it shared,
 * copies it and has to flush the old translation wherever the child runs.
 */
#include <inttypes.h>
#include <numaif.h>
#include <sched.h>

#include "workloads/memory.h"

enum { BALANCING_KEEP, BALANCING_OFF, BALANCING_ON, BALANCING_FAST };
enum { THP_NEVER, THP_MADVISE, THP_ALWAYS };
enum { PLACEMENT_LOCAL, PLACEMENT_FIRST_NODE, PLACEMENT_INTERLEAVE };

static const char *const balancing_choices[] = { "keep", "off", "on", "fast", NULL };
static const char *const thp_choices[] = { "never", "madvise", "always", NULL };
static const char *const placement_choices[] = { "local", "first-node", "interleave", NULL };

#define MILLISECOND UINT64_C(1000000)
#define BALANCING_PATH "/proc/sys/kernel/numa_balancing"

struct cow_options {
	uint64_t size, threads, stores;
	int balancing;
	uint64_t scan_delay, scan_period_min, scan_period_max;
	int thp, placement;
	bool together, usemem_clock;
};

#define AT(field) offsetof(struct cow_options, field)

static const struct workload_option options[] = {
	{ "size", OPTION_SIZE, AT(size), "128MiB", 1 << 16, UINT64_C(1) << 46, .accepts_fit = true, .unit = "bytes",
	  .help = "area that the parent populates and the child stores into; needs twice as much memory" },
	{ "threads", OPTION_COUNT, AT(threads), "all", 1, 4096, .accepts_all = true, .unit = "threads",
	  .help = "threads of the child" },
	{ "stores", OPTION_COUNT, AT(stores), "1000000", 1, UINT64_C(1) << 40, .unit = "stores",
	  .help = "random 8-byte stores of each thread" },
	{ "numa-balancing", OPTION_CHOICE, AT(balancing), "keep", .choices = balancing_choices,
	  .help = "automatic NUMA balancing for the run; fast: on, scanning from 1 ms on, every 10 to 50 ms" },
	{ "scan-delay", OPTION_DURATION, AT(scan_delay), "0", 0, 3600 * 1000 * MILLISECOND, .unit = "ms",
	  .help = "age at which NUMA balancing starts to scan a process; 0: as it is" },
	{ "scan-period-min", OPTION_DURATION, AT(scan_period_min), "0", 0, 3600 * 1000 * MILLISECOND, .unit = "ms",
	  .help = "shortest time between scans; 0: as it is" },
	{ "scan-period-max", OPTION_DURATION, AT(scan_period_max), "0", 0, 3600 * 1000 * MILLISECOND, .unit = "ms",
	  .help = "longest time between scans; 0: as it is" },
	{ "thp", OPTION_CHOICE, AT(thp), "never", .choices = thp_choices,
	  .help = "huge pages for the area: never, asked for by madvise, or as a system-wide policy" },
	{ "placement", OPTION_CHOICE, AT(placement), "local", .choices = placement_choices,
	  .help = "nodes that the parent populates; a copy always starts on the node of the thread that stores first" },
	{ "together", OPTION_FLAG, AT(together), "yes",
	  .help = "a thread waits for the others, spinning, before its first and after its last store: then every flush finds "
		  "all of them running; no: as vm-scalability does" },
	{ "usemem-clock", OPTION_FLAG, AT(usemem_clock), "no",
	  .help = "score as vm-scalability's usemem counts: each thread's bytes by its own time, then summed" },
	{ .name = NULL },
};

static const struct workload_metric metrics[] = {
	{ "score", "bytes/s", METRIC_TIME, HIGHER_IS_BETTER, "bytes stored per second, summed over the threads" },
	{ "pages_copied", "pages", METRIC_WORK, NEITHER_IS_BETTER, "different pages that the threads stored into" },
	{ "stores_per_page", "stores/page", METRIC_WORK, NEITHER_IS_BETTER, "stores for each page copied" },
	{ .name = NULL },
};

/* What a thread of the child tells the parent. */
struct thread_result {
	uint64_t seed;
	uint64_t nanoseconds;
};

/* Shared by the child and the parent. */
struct results {
	uint32_t arrived, finished;	/* threads */
	struct thread_result threads[];
};

struct cow {
	uint64_t *area;
	uint64_t words;
	uint64_t length;
	uint64_t stores;
	uint32_t threads;
	bool together;
	struct results *results;
	size_t results_length;
};

static int check_scan_periods(const struct cow_options *cow, char *reason, size_t reason_size)
{
	const uint64_t periods[] = { cow->scan_delay, cow->scan_period_min, cow->scan_period_max };

	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		if (periods[i] % MILLISECOND == 0)
			continue;
		snprintf(reason, reason_size, "scan-delay and scan-period-* are whole milliseconds, the kernel's unit");
		return -EINVAL;
	}
	if (cow->scan_period_min > cow->scan_period_max && cow->scan_period_max) {
		snprintf(reason, reason_size, "scan-period-min is longer than scan-period-max");
		return -EINVAL;
	}
	return 0;
}

static int resolve(void *values, const struct machine_limits *limits, struct workload_needs *needs,
		   char *reason, size_t reason_size)
{
	struct cow_options *cow = values;
	const uint64_t unit = 2 << 20;
	int error;

	if (cow->threads == OPTION_VALUE_ALL)
		cow->threads = limits->cpus;
	if (cow->size == OPTION_VALUE_FIT)
		cow->size = limits->memory_bytes / 8 * 3 / unit * unit;	/* twice this, and a quarter stays free */
	if (cow->size < 1 << 16) {
		snprintf(reason, reason_size, "no memory left for an area: give a --size");
		return -ENOMEM;
	}
	if (cow->size % sizeof(uint64_t)) {
		snprintf(reason, reason_size, "size is not a multiple of 8 bytes, the size of a store");
		return -EINVAL;
	}
	if (cow->balancing == BALANCING_FAST) {
		cow->scan_delay = cow->scan_delay ? : MILLISECOND;
		cow->scan_period_min = cow->scan_period_min ? : 10 * MILLISECOND;
		cow->scan_period_max = cow->scan_period_max ? : 50 * MILLISECOND;
	}
	error = check_scan_periods(cow, reason, reason_size);
	if (error)
		return error;
	needs->cpus = (unsigned int)cow->threads;
	/* Between two nodes at least; on one, NUMA balancing has nowhere to move a page. */
	needs->nodes = cow->balancing == BALANCING_ON || cow->balancing == BALANCING_FAST ? 2 : 1;
	needs->memory_bytes = 2 * cow->size + cow->size / 128 + (UINT64_C(16) << 20);
	return 0;
}

static int supported(struct run *run, char *reason, size_t reason_size)
{
	const struct cow_options *cow = run_options(run);

	if (cow->balancing != BALANCING_KEEP && access(BALANCING_PATH, F_OK) < 0) {
		snprintf(reason, reason_size, "this kernel has no automatic NUMA balancing (CONFIG_NUMA_BALANCING)");
		return -EOPNOTSUPP;
	}
	if (cow->thp != THP_NEVER && access(THP_PATH "enabled", F_OK) < 0) {
		snprintf(reason, reason_size, "this kernel has no transparent huge pages");
		return -EOPNOTSUPP;
	}
	return 0;
}

/* The scan settings moved from sysctls to debugfs in 5.13. */
static int set_scan(struct run *run, const char *name, uint64_t nanoseconds)
{
	char value[32], path[128];

	if (!nanoseconds)
		return 0;
	snprintf(value, sizeof(value), "%" PRIu64, nanoseconds / MILLISECOND);
	snprintf(path, sizeof(path), "/proc/sys/kernel/numa_balancing_%s", name);
	if (access(path, F_OK) == 0)
		return run_set_file(run, path, value);
	snprintf(path, sizeof(path), "/sys/kernel/debug/sched/numa_balancing/%s", name);
	if (access(path, F_OK) < 0)
		return run_fail(run, -errno, "%s: %s: mount debugfs on /sys/kernel/debug and run as root",
				path, strerror(errno));
	return run_set_file(run, path, value);
}

static int set_balancing(struct run *run, const struct cow_options *cow)
{
	int error;

	error = set_scan(run, "scan_delay_ms", cow->scan_delay);
	if (!error)
		error = set_scan(run, "scan_period_max_ms", cow->scan_period_max);
	if (!error)
		error = set_scan(run, "scan_period_min_ms", cow->scan_period_min);
	if (!error && cow->balancing != BALANCING_KEEP)
		error = run_set_file(run, BALANCING_PATH, cow->balancing == BALANCING_OFF ? "0" : "1");
	return error;
}

static int set_thp(struct run *run, const struct cow_options *cow)
{
	if (cow->thp == THP_ALWAYS && !thp_mode_is("always"))
		return run_set_file(run, THP_PATH "enabled", "always");
	if (cow->thp == THP_MADVISE && thp_mode_is("never"))
		return run_set_file(run, THP_PATH "enabled", "madvise");
	return 0;
}

static int prepare(struct run *run)
{
	const struct cow_options *cow = run_options(run);
	struct cow *state = calloc(1, sizeof(*state));
	void *results;
	int error;

	if (!state)
		return -ENOMEM;
	run_set_private(run, state);
	state->stores = cow->stores;
	state->threads = (uint32_t)cow->threads;
	state->together = cow->together;
	state->results_length = sizeof(*state->results) + cow->threads * sizeof(struct thread_result);
	results = mmap(NULL, state->results_length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (results == MAP_FAILED)
		return -errno;
	state->results = results;
	error = set_thp(run, cow);
	return error ? : set_balancing(run, cow);
}

/*
 * The policy decides where the parent's pages go and is then taken back: the
 * child would inherit it, and pages under an explicit policy are never scanned.
 */
static int place(void *area, uint64_t length, int placement, unsigned int nodes)
{
	unsigned long mask = placement == PLACEMENT_FIRST_NODE || nodes >= sizeof(mask) * 8 ? 1 : (1UL << nodes) - 1;
	int policy = placement == PLACEMENT_FIRST_NODE ? MPOL_PREFERRED : MPOL_INTERLEAVE;
	int error;

	if (placement == PLACEMENT_LOCAL || nodes < 2)
		return populate(area, length);
	if (mbind(area, length, policy, &mask, sizeof(mask) * 8, 0) < 0)
		return -errno;
	error = populate(area, length);
	if (!error && mbind(area, length, MPOL_DEFAULT, NULL, 0, 0) < 0)
		error = -errno;
	return error;
}

static int map_area(struct run *run, struct cow *state)
{
	const struct cow_options *cow = run_options(run);
	uint64_t page = base_page_size();
	void *area;
	int fd, error = 0;

	fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return run_fail(run, -errno, "/dev/zero: %s", strerror(errno));
	state->length = (cow->size + page - 1) / page * page;
	area = mmap(NULL, state->length, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (area == MAP_FAILED)
		error = -errno;
	close(fd);
	if (error)
		return run_fail(run, error, "mmap of %" PRIu64 " bytes: %s", state->length, strerror(-error));
	state->area = area;
	state->words = cow->size / sizeof(uint64_t);
	/* A kernel without huge pages refuses the advice and does what it asks for. */
	madvise(area, state->length, cow->thp == THP_NEVER ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	error = place(area, state->length, cow->placement, run_limits(run)->nodes);
	return error ? run_fail(run, error, "populating %" PRIu64 " bytes: %s", state->length, strerror(-error)) : 0;
}

static void unmap_area(struct cow *state)
{
	if (state->area)
		munmap(state->area, state->length);
	state->area = NULL;
}

/* xorshift64*: a full period, no state beyond a register, another sequence for each seed. */
static inline uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint64_t first_state(uint64_t seed)
{
	return seed ? seed : UINT64_C(0x9e3779b97f4a7c15);	/* zero would stay zero */
}

static inline uint64_t below(uint64_t random, uint64_t limit)
{
	return (uint64_t)(((unsigned __int128)random * limit) >> 64);
}

/* Brings the shared page in, so that the first use of it is no fault inside the region. */
static int open_thread(struct worker *worker)
{
	const struct cow *state = worker->argument;

	state->results->threads[worker->index].seed = worker->random_seed;
	return 0;
}

/* A thread that slept here would leave its CPU idle, and an idle CPU is spared the flushes that are to be seen. */
static void wait_for_others(uint32_t *count, uint32_t all)
{
	const unsigned int patience = 1000;	/* where several threads share a CPU, somebody has to make way */

	__atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL);
	for (unsigned int turn = 1; __atomic_load_n(count, __ATOMIC_ACQUIRE) < all; turn++) {
		cpu_relax();
		if (turn % patience == 0)
			sched_yield();
	}
}

static int store_at_random(struct worker *worker)
{
	const struct cow *state = worker->argument;
	uint64_t random_state = first_state(worker->random_seed);
	uint64_t *area = state->area;
	uint64_t start;

	if (state->together)
		wait_for_others(&state->results->arrived, state->threads);
	start = clock_nanoseconds();
	for (uint64_t i = 0; i < state->stores; i++) {
		uint64_t random = next_random(&random_state);

		area[below(random, state->words)] = random;
	}
	state->results->threads[worker->index].nanoseconds = clock_nanoseconds() - start;
	if (state->together)
		wait_for_others(&state->results->finished, state->threads);
	worker->operations = state->stores;
	worker->bytes = state->stores * sizeof(uint64_t);
	return 0;
}

static int begin(struct run *run, struct iteration *iteration)
{
	const struct cow_options *cow = run_options(run);
	struct cow *state = run_private(run);
	int error = map_area(run, state);

	if (error)
		return error;
	memset(state->results, 0, state->results_length);
	return iteration_add_team(iteration, &(struct team_spec) {
		.name = "store",
		.kind = TEAM_CHILD_THREADS,
		.count = (unsigned int)cow->threads,
		.argument = state,
		.setup = open_thread,
		.work = store_at_random,
	});
}

/*
 * Pages stored into, found by going through the same random sequences again:
 * exact, and nothing is added to the loop that is measured.
 */
static int count_pages(const struct cow *state, uint64_t *pages)
{
	uint64_t words_per_page = base_page_size() / sizeof(uint64_t);
	uint64_t count = (state->words + words_per_page - 1) / words_per_page;
	unsigned char *seen = calloc(count, 1);

	if (!seen)
		return -ENOMEM;
	for (uint64_t thread = 0; thread < state->threads; thread++) {
		uint64_t random_state = first_state(state->results->threads[thread].seed);

		for (uint64_t i = 0; i < state->stores; i++)
			seen[below(next_random(&random_state), state->words) / words_per_page] = 1;
	}
	*pages = 0;
	for (uint64_t i = 0; i < count; i++)
		*pages += seen[i];
	free(seen);
	return 0;
}

static double score(const struct cow_options *cow, const struct cow *state, const struct iteration *iteration)
{
	double sum = 0;

	if (!cow->usemem_clock)
		return (double)iteration_bytes(iteration) / iteration_seconds(iteration);
	for (uint64_t thread = 0; thread < cow->threads; thread++)
		sum += (double)(state->stores * sizeof(uint64_t)) * 1e9 / (double)state->results->threads[thread].nanoseconds;
	return sum;
}

static int end(struct run *run, struct iteration *iteration)
{
	const struct cow_options *cow = run_options(run);
	struct cow *state = run_private(run);
	uint64_t pages;
	int error;

	unmap_area(state);
	error = count_pages(state, &pages);
	if (error)
		return error;
	iteration_metric(iteration, "score", score(cow, state, iteration));
	iteration_metric(iteration, "pages_copied", (double)pages);
	iteration_metric(iteration, "stores_per_page", (double)(cow->threads * cow->stores) / (double)pages);
	return 0;
}

static void cleanup(struct run *run)
{
	struct cow *state = run_private(run);

	if (!state)
		return;
	unmap_area(state);
	if (state->results)
		munmap(state->results, state->results_length);
	free(state);
	run_set_private(run, NULL);
}

const struct workload workload = {
	.contract = WORKLOAD_CONTRACT,
	.name = "anon-cow-rand-mt",
	.summary = "random stores of many threads into memory shared copy-on-write with the parent",
	.operation = "store",
	.options_size = sizeof(struct cow_options),
	.options = options,
	.metrics = metrics,
	.resolve = resolve,
	.supported = supported,
	.prepare = prepare,
	.begin = begin,
	.end = end,
	.cleanup = cleanup,
};
