// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The real memcached under load: clients on many connections, each with one
 * request out at a time, against a server that is started, pinned and stopped
 * here. Server threads and clients sleep while they wait, so that every CPU
 * goes back and forth between the process and idle.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "workloads/memcached/memcached.h"

#define MIB UINT64_C(1048576)

static const char *const transport_choices[] = { "tcp", "unix", NULL };

#define AT(field) offsetof(struct memcached_options, field)

static const struct workload_option options[] = {
	{ "transport", OPTION_CHOICE, AT(transport), "tcp", .choices = transport_choices,
	  .help = "a loopback port or a Unix socket" },
	{ "connections", OPTION_COUNT, AT(connections), "32", 1, 60000, .unit = "connections",
	  .help = "connections of all clients together" },
	{ "requests", OPTION_COUNT, AT(requests), "500", 1, UINT64_C(1) << 40, .unit = "requests",
	  .help = "requests on each connection, one after the other" },
	{ "keys", OPTION_COUNT, AT(keys), "1000", 1, 9999999999, .unit = "keys", .help = "keys, all stored beforehand" },
	{ "value-size", OPTION_SIZE, AT(value_size), "100", 1, 16 * MIB, .unit = "bytes", .help = "size of each value" },
	{ "sets", OPTION_COUNT, AT(sets), "10", 0, 100, .unit = "%", .help = "share of requests that store; the others read" },
	{ "server-threads", OPTION_COUNT, AT(server_threads), "all", 1, 1024, .accepts_all = true, .unit = "threads",
	  .help = "worker threads of the server, a CPU for each; all: half of the CPUs" },
	{ "clients", OPTION_COUNT, AT(clients), "all", 1, 4096, .accepts_all = true, .unit = "processes",
	  .help = "client processes, each on a CPU of its own; all: the CPUs that the server leaves" },
	{ "server", OPTION_TEXT, AT(server), "memcached", .unit = "program", .help = "the program, by name or path" },
	{ .name = NULL },
};

static const struct workload_metric metrics[] = {
	{ "score", "requests/s", METRIC_TIME, HIGHER_IS_BETTER, "requests answered per second" },
	{ "latency_p50", "ns", METRIC_TIME, LOWER_IS_BETTER, "median time from request to answer" },
	{ "latency_p90", "ns", METRIC_TIME, LOWER_IS_BETTER, "90 of 100 answers take no longer" },
	{ "latency_p99", "ns", METRIC_TIME, LOWER_IS_BETTER, "99 of 100 answers take no longer" },
	{ "latency_p99.9", "ns", METRIC_TIME, LOWER_IS_BETTER, "999 of 1000 answers take no longer" },
	{ "server_cpu_time", "s", METRIC_TIME, LOWER_IS_BETTER, "CPU seconds of the server, in user and system mode" },
	{ "server_cpu_per_request", "ns/request", METRIC_TIME, LOWER_IS_BETTER, "the same for each request" },
	{ .name = NULL },
};

static int resolve(void *values, const struct machine_limits *limits, struct workload_needs *needs,
		   char *reason, size_t reason_size)
{
	struct memcached_options *chosen = values;

	if (chosen->server_threads == OPTION_VALUE_ALL)
		chosen->server_threads = limits->cpus > 1 ? limits->cpus / 2 : 1;
	if (chosen->clients == OPTION_VALUE_ALL)
		chosen->clients = limits->cpus > chosen->server_threads ? limits->cpus - chosen->server_threads : 1;
	if (chosen->clients > chosen->connections)
		chosen->clients = chosen->connections;
	if (!chosen->server[0]) {
		snprintf(reason, reason_size, "server names no program");
		return -EINVAL;
	}
	/* On one CPU both sides share it. */
	needs->cpus = limits->cpus == 1 ? 1 : (unsigned int)(chosen->server_threads + chosen->clients);
	needs->nodes = 1;
	needs->memory_bytes = chosen->keys * (chosen->value_size + 200) * 3 / 2 + chosen->connections * 64 * 1024 + 128 * MIB;
	return 0;
}

/* Looked for as execvp() does, because a child that cannot be started says so too late. */
static bool program_exists(const char *name)
{
	const char *path = getenv("PATH");
	char candidate[4096];

	if (strchr(name, '/'))
		return access(name, X_OK) == 0;
	for (size_t length; path && *path; path += length + (path[length] == ':')) {
		length = strcspn(path, ":");
		snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)length, path, name);
		if (access(candidate, X_OK) == 0)
			return true;
	}
	return false;
}

static int supported(struct run *run, char *reason, size_t reason_size)
{
	const struct memcached_options *chosen = run_options(run);

	if (program_exists(chosen->server))
		return 0;
	snprintf(reason, reason_size, "%s is not installed: apt-get install memcached, or name it with --server",
		 chosen->server);
	return -EOPNOTSUPP;
}

/* The server has the first CPUs and the clients those after them; with one CPU there is no choice. */
static int choose_cpus(struct run *run, struct memcached *state)
{
	unsigned int threads = (unsigned int)state->options->server_threads, clients = (unsigned int)state->options->clients;
	int *cpus = calloc(threads + clients, sizeof(*cpus)), error;

	if (!cpus)
		return -ENOMEM;
	state->server_cpus = cpus;
	state->client_cpus = cpus + threads;
	if (run_limits(run)->cpus > 1)
		return run_cpus(run, threads + clients, cpus);
	error = run_cpus(run, 1, cpus);
	for (unsigned int i = 1; i < threads + clients; i++)
		cpus[i] = cpus[0];
	return error;
}

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
	struct memcached *state = calloc(1, sizeof(*state));
	int error;

	if (!state)
		return -ENOMEM;
	run_set_private(run, state);
	state->options = run_options(run);
	raise_descriptor_limit();
	error = choose_cpus(run, state);
	if (!error)
		error = server_start(run, state);
	return error ? : client_fill(run, state);
}

static int begin(struct run *run, struct iteration *iteration)
{
	struct memcached *state = run_private(run);

	return iteration_add_team(iteration, &(struct team_spec) {
		.name = "client",
		.kind = TEAM_PROCESSES,
		.count = (unsigned int)state->options->clients,
		.cpus = state->client_cpus,
		.argument = state,
		.latency = true,
		.setup = client_open,
		.work = client_work,
		.teardown = client_close,
	});
}

static int work(struct run *run, struct iteration *iteration)
{
	struct memcached *state = run_private(run);

	(void)iteration;
	state->server_cpu_before = server_cpu_time(state);
	return 0;
}

static void report_server_time(const struct memcached *state, struct iteration *iteration)
{
	uint64_t after = server_cpu_time(state);
	double used = (double)(after - state->server_cpu_before);

	if (!after || after < state->server_cpu_before) {
		iteration_missing(iteration, "server_cpu_time", "the server's CPU clock cannot be read");
		iteration_missing(iteration, "server_cpu_per_request", "the server's CPU clock cannot be read");
		return;
	}
	iteration_metric(iteration, "server_cpu_time", used / 1e9);
	iteration_metric(iteration, "server_cpu_per_request", used / (double)iteration_operations(iteration));
}

static int end(struct run *run, struct iteration *iteration)
{
	const struct memcached *state = run_private(run);
	const struct latency_histogram *latency = iteration_latency(iteration);
	uint64_t wanted = state->options->connections * state->options->requests;

	report_server_time(state, iteration);
	if (iteration_operations(iteration) != wanted)
		return run_fail(run, -EIO, "%" PRIu64 " of %" PRIu64 " requests were answered",
				iteration_operations(iteration), wanted);
	iteration_metric(iteration, "score", (double)iteration_operations(iteration) / iteration_seconds(iteration));
	iteration_metric(iteration, "latency_p50", latency_quantile(latency, 0.5));
	iteration_metric(iteration, "latency_p90", latency_quantile(latency, 0.9));
	iteration_metric(iteration, "latency_p99", latency_quantile(latency, 0.99));
	iteration_metric(iteration, "latency_p99.9", latency_quantile(latency, 0.999));
	return 0;
}

static void cleanup(struct run *run)
{
	struct memcached *state = run_private(run);

	if (!state)
		return;
	server_stop(state);
	free(state->directory);
	free(state->server_cpus);
	free(state);
	run_set_private(run, NULL);
}

static const char *const helpers[] = { "memcached", NULL };	/* the distribution's, found on PATH */

const struct workload workload = {
	.contract = WORKLOAD_CONTRACT,
	.name = "memcached",
	.summary = "the real memcached, asked by clients on many connections",
	.operation = "request",
	.options_size = sizeof(struct memcached_options),
	.options = options,
	.metrics = metrics,
	.helpers = helpers,
	.resolve = resolve,
	.supported = supported,
	.prepare = prepare,
	.begin = begin,
	.work = work,
	.end = end,
	.cleanup = cleanup,
};
