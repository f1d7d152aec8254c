// SPDX-License-Identifier: GPL-2.0-or-later
// libs: liburing
/*
 * Request and response between pairs of processes. A side that waits sleeps in
 * the kernel, so that its CPU goes idle between two messages: each round trip
 * is two wake-ups and, where both sides stand on CPUs of their own, a switch to
 * the idle task and back on either of them. A transport is a row of a table.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "workloads/ping-pong/transport.h"
#include "workloads/workload.h"

#define MAXIMUM_PAIRS 4096
#define MAXIMUM_TRANSPORTS 32

struct ping_pong_options {
	int transport;
	uint64_t message_size, pairs, round_trips;
	int relation;
	bool latency;
};

static const char *transport_choices[MAXIMUM_TRANSPORTS + 1];	/* the names of the table, for the option */

__attribute__((constructor)) static void list_transports(void)
{
	for (size_t i = 0; i < transport_count && i < MAXIMUM_TRANSPORTS; i++)
		transport_choices[i] = transports[i].name;
}

/* In the order of enum cpu_relation. */
static const char *const relation_choices[] = {
	"same-cpu", "smt-sibling", "same-cache", "same-package", "other-node", "any", NULL,
};

#define AT(field) offsetof(struct ping_pong_options, field)
#define DEFAULT_MESSAGE_SIZE 1

static const struct workload_option options[] = {
	{ "transport", OPTION_CHOICE, AT(transport), "tcp", .choices = transport_choices,
	  .help = "what carries the messages" },
	{ "message-size", OPTION_SIZE, AT(message_size), "1", 1, 64 << 20, .unit = "bytes",
	  .help = "size of request and response; eventfd and futex have one of their own" },
	{ "pairs", OPTION_COUNT, AT(pairs), "1", 1, MAXIMUM_PAIRS, .accepts_all = true, .unit = "pairs",
	  .help = "pairs of processes at work at once; all: as many as the CPUs give" },
	{ "round-trips", OPTION_COUNT, AT(round_trips), "20000", 1, UINT32_MAX, .unit = "round trips",
	  .help = "requests of each pair" },
	{ "relation", OPTION_CHOICE, AT(relation), "any", .choices = relation_choices,
	  .help = "where the two CPUs of a pair stand to each other" },
	{ "latency", OPTION_FLAG, AT(latency), "yes",
	  .help = "take the time of each round trip, for the percentiles" },
	{ .name = NULL },
};

static const struct workload_metric metrics[] = {
	{ "score", "round trips/s", METRIC_TIME, HIGHER_IS_BETTER, "round trips per second, summed over the pairs" },
	{ "latency_p50", "ns", METRIC_TIME, LOWER_IS_BETTER, "median time of a round trip" },
	{ "latency_p90", "ns", METRIC_TIME, LOWER_IS_BETTER, "90 of 100 round trips take no longer" },
	{ "latency_p99", "ns", METRIC_TIME, LOWER_IS_BETTER, "99 of 100 round trips take no longer" },
	{ "latency_p99.9", "ns", METRIC_TIME, LOWER_IS_BETTER, "999 of 1000 round trips take no longer" },
	{ .name = NULL },
};

struct ping_pong {
	const struct transport *transport;
	uint64_t message_size, pairs, round_trips;
	struct link *links;
	int *cpus[2];		/* by role, one for each pair */
	bool latency;
};

static int resolve(void *values, const struct machine_limits *limits, struct workload_needs *needs,
		   char *reason, size_t reason_size)
{
	struct ping_pong_options *chosen = values;
	const struct transport *transport = &transports[chosen->transport];
	unsigned int cpus_per_pair = chosen->relation == RELATION_SAME_CPU ? 1 : 2;

	if (chosen->pairs == OPTION_VALUE_ALL)
		chosen->pairs = limits->cpus > cpus_per_pair ? limits->cpus / cpus_per_pair : 1;
	if (transport->fixed_size) {
		if (chosen->message_size != DEFAULT_MESSAGE_SIZE && chosen->message_size != transport->fixed_size) {
			snprintf(reason, reason_size, "%s carries %zu bytes and no other message: leave out message-size",
				 transport->name, transport->fixed_size);
			return -EINVAL;
		}
		chosen->message_size = transport->fixed_size;
	}
	if (transport->maximum_size && chosen->message_size > transport->maximum_size) {
		snprintf(reason, reason_size, "a message over %s has at most %zu bytes", transport->name,
			 transport->maximum_size);
		return -EINVAL;
	}
	needs->cpus = (unsigned int)chosen->pairs * cpus_per_pair;
	needs->nodes = chosen->relation == RELATION_OTHER_NODE ? 2 : 1;
	needs->memory_bytes = (UINT64_C(16) << 20) + chosen->pairs * ((UINT64_C(2) << 20) + 8 * chosen->message_size);
	return 0;
}

static int supported(struct run *run, char *reason, size_t reason_size)
{
	const struct ping_pong_options *chosen = run_options(run);
	struct io_uring ring;
	int cpus[2], error;

	for (unsigned int pair = 0; pair < chosen->pairs; pair++) {
		if (run_cpu_pair(run, (enum cpu_relation)chosen->relation, pair, cpus) == 0)
			continue;
		snprintf(reason, reason_size, "the allowed CPUs have %u pairs in the relation %s, %" PRIu64 " are asked for",
			 pair, relation_choices[chosen->relation], chosen->pairs);
		return -EOPNOTSUPP;
	}
	if (!transports[chosen->transport].uring)
		return 0;
	error = io_uring_queue_init(4, &ring, 0);
	if (error) {
		snprintf(reason, reason_size, "io_uring cannot be had here: %s (CONFIG_IO_URING, kernel.io_uring_disabled)",
			 strerror(-error));
		return -EOPNOTSUPP;
	}
	io_uring_queue_exit(&ring);
	return 0;
}

/* A link takes up to four descriptors, and the harness has its own. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int prepare(struct run *run)
{
	const struct ping_pong_options *chosen = run_options(run);
	struct ping_pong *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	run_set_private(run, state);
	state->transport = &transports[chosen->transport];
	state->message_size = chosen->message_size;
	state->pairs = chosen->pairs;
	state->round_trips = chosen->round_trips;
	state->latency = chosen->latency;
	state->links = calloc(chosen->pairs, sizeof(*state->links));
	state->cpus[CLIENT] = calloc(chosen->pairs, sizeof(int));
	state->cpus[SERVER] = calloc(chosen->pairs, sizeof(int));
	if (!state->links || !state->cpus[CLIENT] || !state->cpus[SERVER])
		return -ENOMEM;
	for (unsigned int pair = 0; pair < state->pairs; pair++) {
		int cpus[2], error = run_cpu_pair(run, (enum cpu_relation)chosen->relation, pair, cpus);

		if (error)
			return error;
		state->cpus[CLIENT][pair] = cpus[0];
		state->cpus[SERVER][pair] = cpus[1];
		memset(state->links[pair].fd, -1, sizeof(state->links[pair].fd));
	}
	raise_descriptor_limit();
	return 0;
}

/* --- the processes --- */

/* Keeps this side of its own link and closes all else, so that an end that dies is an end of file for its peer. */
static void keep_side(struct ping_pong *state, unsigned int pair, enum role role)
{
	for (unsigned int other = 0; other < state->pairs; other++) {
		close_role(&state->links[other], !role);
		if (other != pair)
			close_role(&state->links[other], role);
	}
}

static int open_side(struct worker *worker, enum role role)
{
	struct ping_pong *state = worker->argument;
	struct link *link = &state->links[worker->index];
	struct side *side = calloc(1, sizeof(*side));
	int error;

	if (!side)
		return -ENOMEM;
	worker->scratch = side;
	keep_side(state, worker->index, role);
	side->transport = state->transport;
	side->in = link->fd[role][IN];
	side->out = link->fd[role][OUT];
	if (link->words) {
		side->own = link->words + (role == CLIENT ? 0 : CACHE_LINE / sizeof(uint32_t));
		side->other = link->words + (role == CLIENT ? CACHE_LINE / sizeof(uint32_t) : 0);
	}
	side->size = state->message_size;
	side->last = state->round_trips - 1;
	side->buffer = calloc(1, side->size);
	if (!side->buffer)
		return -ENOMEM;
	if (!side->transport->uring)
		return 0;
	error = io_uring_queue_init(4, &side->ring, 0);
	side->ring_open = !error;
	return error;
}

static int open_client(struct worker *worker)
{
	return open_side(worker, CLIENT);
}

static int open_server(struct worker *worker)
{
	return open_side(worker, SERVER);
}

static int client_work(struct worker *worker)
{
	const struct ping_pong *state = worker->argument;
	struct side *side = worker->scratch;
	uint64_t before = worker->latency ? clock_nanoseconds() : 0;

	for (uint64_t number = 0; number < state->round_trips; number++) {
		int error = side->transport->exchange(side, number);

		if (error)
			return error;
		worker->operations++;
		if (worker->latency) {
			uint64_t now = clock_nanoseconds();

			latency_record(worker->latency, now - before);
			before = now;
		}
	}
	worker->bytes = 2 * worker->operations * side->size;
	return 0;
}

static int server_work(struct worker *worker)
{
	const struct ping_pong *state = worker->argument;
	struct side *side = worker->scratch;
	int error = 0;

	for (uint64_t number = 0; number < state->round_trips && !error; number++)
		error = side->transport->answer(side, number);
	return error;
}

static void close_side(struct worker *worker)
{
	struct side *side = worker->scratch;

	if (!side)
		return;
	if (side->ring_open)
		io_uring_queue_exit(&side->ring);
	free(side->buffer);
	free(side);
	worker->scratch = NULL;
}

static int begin(struct run *run, struct iteration *iteration)
{
	struct ping_pong *state = run_private(run);
	struct team_spec team = {
		.name = "server", .kind = TEAM_PROCESSES, .count = (unsigned int)state->pairs,
		.cpus = state->cpus[SERVER], .argument = state,
		.setup = open_server, .work = server_work, .teardown = close_side,
	};
	int error;

	for (uint64_t pair = 0; pair < state->pairs; pair++) {
		error = state->transport->open(&state->links[pair]);
		if (error)
			return run_fail(run, error, "opening %s: %s%s", state->transport->name, strerror(-error),
					error == -EADDRNOTAVAIL || error == -ENETUNREACH ?
					": is the loopback interface up?" : "");
	}
	error = iteration_add_team(iteration, &team);
	if (error)
		return error;
	team.name = "client";
	team.cpus = state->cpus[CLIENT];
	team.latency = state->latency;
	team.setup = open_client;
	team.work = client_work;
	return iteration_add_team(iteration, &team);
}

static void close_links(struct ping_pong *state)
{
	for (uint64_t pair = 0; state->links && pair < state->pairs; pair++)
		close_link(&state->links[pair]);
}

static void report_percentile(struct iteration *iteration, const char *name, double fraction)
{
	const struct latency_histogram *histogram = iteration_latency(iteration);

	if (histogram)
		iteration_metric(iteration, name, latency_quantile(histogram, fraction));
	else
		iteration_missing(iteration, name, "switched off by --latency=no");
}

static int end(struct run *run, struct iteration *iteration)
{
	close_links(run_private(run));
	iteration_metric(iteration, "score", (double)iteration_operations(iteration) / iteration_seconds(iteration));
	report_percentile(iteration, "latency_p50", 0.5);
	report_percentile(iteration, "latency_p90", 0.9);
	report_percentile(iteration, "latency_p99", 0.99);
	report_percentile(iteration, "latency_p99.9", 0.999);
	return 0;
}

static void cleanup(struct run *run)
{
	struct ping_pong *state = run_private(run);

	if (!state)
		return;
	close_links(state);
	free(state->links);
	free(state->cpus[CLIENT]);
	free(state->cpus[SERVER]);
	free(state);
	run_set_private(run, NULL);
}

const struct workload workload = {
	.contract = WORKLOAD_CONTRACT,
	.name = "ping-pong",
	.summary = "request and response between pairs of processes that sleep while they wait",
	.operation = "round trip",
	.options_size = sizeof(struct ping_pong_options),
	.options = options,
	.metrics = metrics,
	.resolve = resolve,
	.supported = supported,
	.prepare = prepare,
	.begin = begin,
	.end = end,
	.cleanup = cleanup,
};
