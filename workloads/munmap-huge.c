// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unmaps one huge populated range; nothing else is in the region of interest.
 * What it costs is clearing entries, freeing pages and page tables, and telling
 * every CPU that runs the process. The range starts where a last-level table
 * does, so that the number of tables freed follows from the options alone.
 */
#include <inttypes.h>

#include "workloads/memory.h"

enum { PAGE_BASE, PAGE_THP, PAGE_HUGETLB };

static const char *const page_size_choices[] = { "4k", "thp", "hugetlb", NULL };

/* What the seed of the arm64-tlbi series unmapped. */
#define SEED_SIZE UINT64_C(0x433333000)
#define SMALLEST_SIZE (UINT64_C(64) << 10)
#define SPARE_MEMORY (UINT64_C(64) << 20)
#define MAXIMUM_SIBLINGS 4095

struct munmap_options {
	uint64_t size;
	int page_size;
	uint64_t chunk, holes, siblings;
};

#define AT(field) offsetof(struct munmap_options, field)

static const struct workload_option options[] = {
	{ "size", OPTION_SIZE, AT(size), "fit", SMALLEST_SIZE, UINT64_C(1) << 46, .accepts_fit = true, .unit = "bytes",
	  .help = "range to unmap; fit: 0x433333000 where memory allows it, else what does" },
	{ "page-size", OPTION_CHOICE, AT(page_size), "4k", .choices = page_size_choices,
	  .help = "pages of the range: the machine's base pages, transparent huge ones, or hugetlb" },
	{ "chunk", OPTION_SIZE, AT(chunk), "0", 0, 0, .unit = "bytes",
	  .help = "unmapped by one call of munmap; 0: the whole range" },
	{ "holes", OPTION_SIZE, AT(holes), "0", 0, 0, .unit = "bytes",
	  .help = "populate only one page in so many bytes, so that tables outweigh pages; 0: every page" },
	{ "siblings", OPTION_COUNT, AT(siblings), "0", 0, MAXIMUM_SIBLINGS, .unit = "threads",
	  .help = "threads of the process that run on other CPUs meanwhile, each of which has to be flushed" },
	{ .name = NULL },
};

static const struct workload_metric metrics[] = {
	{ "score", "bytes/s", METRIC_TIME, HIGHER_IS_BETTER, "bytes of the range unmapped per second" },
	{ "time_per_page", "ns/page", METRIC_TIME, LOWER_IS_BETTER, "time for each populated page" },
	{ "pages", "pages", METRIC_WORK, NEITHER_IS_BETTER, "populated pages unmapped" },
	{ "tables", "tables", METRIC_WORK, NEITHER_IS_BETTER, "last-level page tables that map the populated pages" },
	{ "calls", "calls", METRIC_WORK, NEITHER_IS_BETTER, "calls of munmap" },
	{ .name = NULL },
};

struct munmap {
	char *range;
	uint64_t length;	/* of the range, whole pages */
	uint64_t unmapped;	/* of it, so far */
	uint64_t granule;	/* bytes of a page of the chosen kind */
	uint64_t step;		/* from one populated page to the next */
	uint64_t chunk;
	uint64_t calls;
	int *sibling_cpus;
};

static uint64_t round_down(uint64_t value, uint64_t unit)
{
	return value / unit * unit;
}

/* Memory that a range of `size` bytes takes when populated: pages and their tables. */
static uint64_t populated_bytes(const struct munmap_options *chosen, uint64_t size)
{
	uint64_t page = chosen->page_size == PAGE_BASE ? 4096 : UINT64_C(2) << 20;
	uint64_t pages = size / (chosen->holes ? : page) + 1;
	uint64_t tables = chosen->holes > UINT64_C(2) << 20 ? pages : size / (UINT64_C(2) << 20) + 1;

	return pages * page + (tables + tables / 256) * 4096;
}

/* The seed's size, or what fills three quarters of the memory there is. */
static uint64_t fitting_size(const struct munmap_options *chosen, uint64_t memory)
{
	uint64_t budget = memory > 2 * SPARE_MEMORY ? memory / 4 * 3 : memory / 2;
	uint64_t size = SEED_SIZE;

	while (size >= SMALLEST_SIZE && populated_bytes(chosen, size) > budget)
		size = size > UINT64_C(32) << 20 ? size - size / 16 : size / 2;
	return size == SEED_SIZE ? size : round_down(size, UINT64_C(2) << 20);
}

static int resolve(void *values, const struct machine_limits *limits, struct workload_needs *needs,
		   char *reason, size_t reason_size)
{
	struct munmap_options *chosen = values;
	uint64_t smallest_page = chosen->page_size == PAGE_BASE ? 4096 : UINT64_C(2) << 20;

	if (chosen->size == OPTION_VALUE_FIT)
		chosen->size = fitting_size(chosen, limits->memory_bytes);
	if (chosen->size < smallest_page || chosen->size < SMALLEST_SIZE) {
		snprintf(reason, reason_size, "size is less than one page of the chosen kind, or memory too small for any");
		return -EINVAL;
	}
	if (chosen->chunk % smallest_page || chosen->holes % smallest_page) {
		snprintf(reason, reason_size, "chunk and holes are multiples of the page, %" PRIu64 " bytes or more",
			 smallest_page);
		return -EINVAL;
	}
	needs->cpus = (unsigned int)chosen->siblings + 1;
	needs->nodes = 1;
	needs->memory_bytes = populated_bytes(chosen, chosen->size) + (UINT64_C(16) << 20);
	return 0;
}

static int supported(struct run *run, char *reason, size_t reason_size)
{
	const struct munmap_options *chosen = run_options(run);
	uint64_t huge;

	if (chosen->page_size == PAGE_THP && access(THP_PATH "enabled", F_OK) < 0) {
		snprintf(reason, reason_size, "this kernel has no transparent huge pages");
		return -EOPNOTSUPP;
	}
	if (chosen->page_size == PAGE_HUGETLB && read_keyed("/proc/meminfo", "Hugepagesize:", &huge) < 0) {
		snprintf(reason, reason_size, "this kernel has no hugetlb pages (CONFIG_HUGETLBFS)");
		return -EOPNOTSUPP;
	}
	return 0;
}

/* Fills the pool; the harness puts the old number back. */
static int fill_hugetlb_pool(struct run *run, const struct munmap *state)
{
	const char *path = "/proc/sys/vm/nr_hugepages";
	uint64_t needed = (state->length + state->step - 1) / state->step, free_pages, all_pages;
	char value[32];
	int error;

	/* mmap reserves for the whole range, populated or not, so holes take as much of the pool. */
	needed = state->length / state->granule > needed ? state->length / state->granule : needed;
	error = read_keyed("/proc/meminfo", "HugePages_Free:", &free_pages);
	if (!error)
		error = read_keyed("/proc/meminfo", "HugePages_Total:", &all_pages);
	if (error)
		return error;
	if (free_pages >= needed)
		return 0;
	snprintf(value, sizeof(value), "%" PRIu64, all_pages + needed - free_pages);
	error = run_set_file(run, path, value);
	if (error)
		return error;
	read_keyed("/proc/meminfo", "HugePages_Free:", &free_pages);
	if (free_pages < needed)
		return run_fail(run, -ENOMEM, "hugetlb pool: %" PRIu64 " of %" PRIu64
				" pages could be had: memory is too small or fragmented", free_pages, needed);
	return 0;
}

static int page_granule(const struct munmap_options *chosen, uint64_t *granule)
{
	uint64_t kilobytes;
	int error;

	switch (chosen->page_size) {
	case PAGE_HUGETLB:
		error = read_keyed("/proc/meminfo", "Hugepagesize:", &kilobytes);
		*granule = kilobytes << 10;
		return error;
	case PAGE_THP:
		if (read_keyed(THP_PATH "hpage_pmd_size", "", granule) < 0)
			*granule = table_reach();
		return 0;
	default:
		*granule = base_page_size();
		return 0;
	}
}

static int choose_siblings(struct run *run, struct munmap *state, unsigned int siblings)
{
	int *cpus = calloc(siblings + 1, sizeof(*cpus));
	int error;

	if (!cpus)
		return -ENOMEM;
	state->sibling_cpus = cpus;
	/* The first is where the harness has pinned the process that unmaps. */
	error = run_cpus(run, siblings + 1, cpus);
	if (error)
		return error;
	memmove(cpus, cpus + 1, siblings * sizeof(*cpus));
	return 0;
}

static int prepare(struct run *run)
{
	const struct munmap_options *chosen = run_options(run);
	struct munmap *state = calloc(1, sizeof(*state));
	int error;

	if (!state)
		return -ENOMEM;
	run_set_private(run, state);
	error = page_granule(chosen, &state->granule);
	if (error)
		return error;
	state->length = round_down(chosen->size, state->granule);
	if (!state->length)
		return run_fail(run, -EINVAL, "size of %" PRIu64 " bytes is less than a page of %" PRIu64,
				chosen->size, state->granule);
	state->step = chosen->holes ? : state->granule;
	state->chunk = chosen->chunk ? : state->length;
	if (state->step % state->granule || (chosen->chunk && state->chunk % state->granule))
		return run_fail(run, -EINVAL, "chunk and holes have to be multiples of the page, %" PRIu64 " bytes here",
				state->granule);
	if (chosen->page_size == PAGE_THP && thp_mode_is("never"))
		error = run_set_file(run, THP_PATH "enabled", "madvise");
	if (!error && chosen->page_size == PAGE_HUGETLB)
		error = fill_hugetlb_pool(run, state);
	return error ? : choose_siblings(run, state, (unsigned int)chosen->siblings);
}

/* Reserves more than is needed and keeps the part that starts at a table's (or huge page's) boundary. */
static int map_aligned(struct munmap *state, int extra_flags)
{
	uint64_t reach = table_reach() > state->granule ? table_reach() : state->granule;
	char *reserved = mmap(NULL, state->length + 2 * reach, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *start;

	if (reserved == MAP_FAILED)
		return -errno;
	start = reserved + (reach - (uintptr_t)reserved % reach) % reach;
	munmap(reserved, state->length + 2 * reach);
	start = mmap(start, state->length, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | extra_flags, -1, 0);
	if (start == MAP_FAILED)
		return -errno;
	state->range = start;
	state->unmapped = 0;
	return 0;
}

static int populate_range(const struct munmap *state)
{
	if (state->step == state->granule)
		return populate(state->range, state->length);
	for (uint64_t at = 0; at < state->length; at += state->step) {
		int error = populate(state->range + at, state->granule);

		if (error)
			return error;
	}
	return 0;
}

/* Bytes of the range that are mapped by huge entries, as smaps says. */
static int huge_bytes(const struct munmap *state, uint64_t *bytes)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	char line[512];
	bool inside = false;

	if (!file)
		return -errno;
	*bytes = 0;
	while (fgets(line, sizeof(line), file)) {
		uint64_t start, end, kilobytes;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2)
			inside = start < (uintptr_t)state->range + state->length && end > (uintptr_t)state->range;
		else if (inside && sscanf(line, "AnonHugePages: %" SCNu64, &kilobytes) == 1)
			*bytes += kilobytes << 10;
	}
	fclose(file);
	return 0;
}

/* A fall-back to small pages would be another case than the one asked for. */
static int check_huge(struct run *run, const struct munmap *state)
{
	uint64_t wanted = (state->length + state->step - 1) / state->step * state->granule, had = 0;
	int error = huge_bytes(state, &had);

	if (error)
		return error;
	if (had < wanted)
		return run_fail(run, -ENOMEM, "only %" PRIu64 " of %" PRIu64
				" bytes came as huge pages: memory is too small or fragmented", had, wanted);
	return 0;
}

static int run_sibling(struct worker *worker)
{
	while (!worker_must_stop(worker))
		cpu_relax();
	return 0;
}

static int begin(struct run *run, struct iteration *iteration)
{
	const struct munmap_options *chosen = run_options(run);
	struct munmap *state = run_private(run);
	int error = map_aligned(state, chosen->page_size == PAGE_HUGETLB ? MAP_HUGETLB : 0);

	if (error)
		return run_fail(run, error, "mmap of %" PRIu64 " bytes: %s", state->length, strerror(-error));
	/* A kernel without huge pages refuses the advice and does what it asks for. */
	if (chosen->page_size == PAGE_BASE)
		madvise(state->range, state->length, MADV_NOHUGEPAGE);
	else if (chosen->page_size == PAGE_THP && madvise(state->range, state->length, MADV_HUGEPAGE) < 0)
		return run_fail(run, -errno, "huge pages by madvise: %s", strerror(errno));
	error = populate_range(state);
	if (error)
		return run_fail(run, error, "populating %" PRIu64 " bytes: %s", state->length, strerror(-error));
	error = chosen->page_size == PAGE_THP ? check_huge(run, state) : 0;
	if (error || !chosen->siblings)
		return error;
	return iteration_add_team(iteration, &(struct team_spec) {
		.name = "sibling",
		.kind = TEAM_THREADS,
		.count = (unsigned int)chosen->siblings,
		.cpus = state->sibling_cpus,
		.background = true,
		.work = run_sibling,
	});
}

static int unmap_range(struct munmap *state)
{
	while (state->unmapped < state->length) {
		uint64_t left = state->length - state->unmapped;
		uint64_t length = left < state->chunk ? left : state->chunk;

		if (munmap(state->range + state->unmapped, length) < 0)
			return -errno;
		state->unmapped += length;
		state->calls++;
	}
	return 0;
}

static int work(struct run *run, struct iteration *iteration)
{
	struct munmap *state = run_private(run);
	int error;

	state->calls = 0;
	error = unmap_range(state);
	if (error)
		return run_fail(run, error, "munmap at %" PRIu64 " of %" PRIu64 " bytes: %s", state->unmapped,
				state->length, strerror(-error));
	iteration_count(iteration, (state->length + state->step - 1) / state->step, state->length);
	return 0;
}

static int end(struct run *run, struct iteration *iteration)
{
	const struct munmap_options *chosen = run_options(run);
	struct munmap *state = run_private(run);
	uint64_t pages = iteration_operations(iteration);
	uint64_t table_step = state->step > table_reach() ? state->step : table_reach();
	double seconds = iteration_seconds(iteration);

	iteration_metric(iteration, "score", (double)state->length / seconds);
	iteration_metric(iteration, "time_per_page", seconds * 1e9 / (double)pages);
	iteration_metric(iteration, "pages", (double)pages);
	iteration_metric(iteration, "calls", (double)state->calls);
	if (chosen->page_size == PAGE_BASE)
		iteration_metric(iteration, "tables", (double)((state->length + table_step - 1) / table_step));
	else
		iteration_missing(iteration, "tables", "huge pages are mapped one level up");
	state->range = NULL;
	return 0;
}

static void cleanup(struct run *run)
{
	struct munmap *state = run_private(run);

	if (!state)
		return;
	if (state->range)
		munmap(state->range + state->unmapped, state->length - state->unmapped);
	free(state->sibling_cpus);
	free(state);
	run_set_private(run, NULL);
}

const struct workload workload = {
	.contract = WORKLOAD_CONTRACT,
	.name = "munmap-huge",
	.summary = "unmaps one huge populated range",
	.operation = "page",
	.options_size = sizeof(struct munmap_options),
	.options = options,
	.metrics = metrics,
	.resolve = resolve,
	.supported = supported,
	.prepare = prepare,
	.begin = begin,
	.work = work,
	.end = end,
	.cleanup = cleanup,
};
