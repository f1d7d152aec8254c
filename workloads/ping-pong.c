/* SPDX-License-Identifier: GPL-2.0-or-later */
// libs: liburing
/*
 * Request and response between pairs of processes. A side that waits sleeps in
 * the kernel, so that its CPU goes idle between two messages: each round trip
 * is two wake-ups and, where both sides stand on CPUs of their own, a switch to
 * the idle task and back on either of them. A transport is a row of a table.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <liburing.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workloads/workload.h"

#define MAXIMUM_PAIRS 4096
#define CACHE_LINE 64

enum role { CLIENT, SERVER };
enum direction { IN, OUT };

struct ping_pong_options {
	int transport;
	uint64_t message_size, pairs, round_trips;
	int relation;
	bool latency;
};

/* What joins one pair; made before the processes are, which inherit it. */
struct link {
	int fd[2][2];		/* [role][direction]; a socket stands in both; -1: none */
	uint32_t *words;	/* futex: one word for each role that is waited on, a cache line apart */
};

/* One end of a link, in the process that uses it. */
struct side {
	const struct transport *transport;
	int in, out;
	uint32_t *own, *other;	/* futex: the word this side waits on, and the one it advances */
	char *buffer;
	size_t size;
	struct io_uring ring;
	bool ring_open;
	bool request_read;	/* io_uring server: the next request came in together with the last reply's end */
	uint64_t last;		/* number of the last message */
};

struct transport {
	const char *name;
	size_t fixed_size;	/* what each message carries, when it is not the user's choice */
	size_t maximum_size;	/* of a message; 0: none */
	bool uring;
	int (*open)(struct link *link);
	/* One message there and back, and what answers it; `number` counts from 0. */
	int (*exchange)(struct side *side, uint64_t number);
	int (*answer)(struct side *side, uint64_t number);
};

/* --- messages carry their number, so that a lost or doubled one is seen --- */

static void number_message(struct side *side, uint64_t number)
{
	uint64_t mark = number + 1;	/* an eventfd adds what is written: never 0 */

	memcpy(side->buffer, &mark, side->size < sizeof(mark) ? side->size : sizeof(mark));
}

static int check_message(const struct side *side, uint64_t number)
{
	uint64_t mark = number + 1;

	return memcmp(side->buffer, &mark, side->size < sizeof(mark) ? side->size : sizeof(mark)) ? -EBADMSG : 0;
}

/* --- pipe, eventfd: read and write --- */

static int write_message(const struct side *side)
{
	for (size_t done = 0; done < side->size;) {
		ssize_t wrote = write(side->out, side->buffer + done, side->size - done);

		if (wrote >= 0)
			done += (size_t)wrote;
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static int read_message(const struct side *side)
{
	for (size_t done = 0; done < side->size;) {
		ssize_t got = read(side->in, side->buffer + done, side->size - done);

		if (got > 0)
			done += (size_t)got;
		else if (got == 0)
			return -ECONNRESET;	/* the peer has gone */
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static int file_exchange(struct side *side, uint64_t number)
{
	int error;

	number_message(side, number);
	error = write_message(side);
	if (!error)
		error = read_message(side);
	return error ? : check_message(side, number);
}

static int file_answer(struct side *side, uint64_t number)
{
	int error = read_message(side);

	if (!error)
		error = check_message(side, number);
	return error ? : write_message(side);
}

/* --- sockets: send and receive --- */

static int send_message(const struct side *side)
{
	for (size_t done = 0; done < side->size;) {
		ssize_t sent = send(side->out, side->buffer + done, side->size - done, MSG_NOSIGNAL);

		if (sent >= 0)
			done += (size_t)sent;
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static int receive_message(const struct side *side)
{
	for (size_t done = 0; done < side->size;) {
		ssize_t got = recv(side->in, side->buffer + done, side->size - done, 0);

		if (got > 0)
			done += (size_t)got;
		else if (got == 0)
			return -ECONNRESET;
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static int socket_exchange(struct side *side, uint64_t number)
{
	int error;

	number_message(side, number);
	error = send_message(side);
	if (!error)
		error = receive_message(side);
	return error ? : check_message(side, number);
}

static int socket_answer(struct side *side, uint64_t number)
{
	int error = receive_message(side);

	if (!error)
		error = check_message(side, number);
	return error ? : send_message(side);
}

/* --- futex: a counter for each direction, and nothing else --- */

static int futex_wait_for(uint32_t *word, uint32_t wanted)
{
	uint32_t seen;

	while ((seen = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != wanted) {
		if (syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0) < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return 0;
}

static int futex_advance(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	return syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0) < 0 ? -errno : 0;
}

static int futex_exchange(struct side *side, uint64_t number)
{
	int error = futex_advance(side->other, (uint32_t)number + 1);

	return error ? : futex_wait_for(side->own, (uint32_t)number + 1);
}

static int futex_answer(struct side *side, uint64_t number)
{
	int error = futex_wait_for(side->own, (uint32_t)number + 1);

	return error ? : futex_advance(side->other, (uint32_t)number + 1);
}

/* --- io_uring: a send and the receive that waits for its answer are one system call --- */

static void queue_send(struct side *side)
{
	struct io_uring_sqe *entry = io_uring_get_sqe(&side->ring);

	io_uring_prep_send(entry, side->out, side->buffer, side->size, MSG_NOSIGNAL | MSG_WAITALL);
	io_uring_sqe_set_flags(entry, IOSQE_IO_LINK);
}

static void queue_receive(struct side *side)
{
	io_uring_prep_recv(io_uring_get_sqe(&side->ring), side->in, side->buffer, side->size, MSG_WAITALL);
}

/* Submits what is queued and waits for all of it; each has to have moved a whole message. */
static int complete(struct side *side, unsigned int count)
{
	int result = io_uring_submit_and_wait(&side->ring, count), error = 0;

	if (result < 0 && result != -EINTR)
		return result;
	while (count--) {
		struct io_uring_cqe *completion;

		do
			result = io_uring_wait_cqe(&side->ring, &completion);
		while (result == -EINTR);
		if (result < 0)
			return result;
		if (completion->res < 0)
			error = error ? : completion->res;
		else if ((size_t)completion->res != side->size)
			error = error ? : -ECONNRESET;
		io_uring_cqe_seen(&side->ring, completion);
	}
	return error;
}

static int uring_exchange(struct side *side, uint64_t number)
{
	int error;

	number_message(side, number);
	queue_send(side);
	queue_receive(side);
	error = complete(side, 2);
	return error ? : check_message(side, number);
}

static int uring_answer(struct side *side, uint64_t number)
{
	unsigned int queued = 1;
	int error = 0;

	if (!side->request_read) {
		queue_receive(side);
		error = complete(side, 1);
	}
	if (!error)
		error = check_message(side, number);
	if (error)
		return error;
	queue_send(side);
	side->request_read = number < side->last;
	if (side->request_read) {
		queue_receive(side);
		queued++;
	}
	return complete(side, queued);
}

/* --- opening a link --- */

static void use_socket(struct link *link, enum role role, int fd)
{
	link->fd[role][IN] = link->fd[role][OUT] = fd;
}

static int open_pipe(struct link *link)
{
	int there[2], back[2];

	if (pipe2(there, O_CLOEXEC) < 0)
		return -errno;
	link->fd[SERVER][IN] = there[0];
	link->fd[CLIENT][OUT] = there[1];
	if (pipe2(back, O_CLOEXEC) < 0)
		return -errno;
	link->fd[CLIENT][IN] = back[0];
	link->fd[SERVER][OUT] = back[1];
	return 0;
}

/* Both sides read one counter and write the other, so each process has both: the owner is who reads. */
static int open_eventfd(struct link *link)
{
	for (enum role role = CLIENT; role <= SERVER; role++) {
		link->fd[role][IN] = eventfd(0, EFD_CLOEXEC);
		if (link->fd[role][IN] < 0)
			return -errno;
		link->fd[!role][OUT] = fcntl(link->fd[role][IN], F_DUPFD_CLOEXEC, 0);
		if (link->fd[!role][OUT] < 0)
			return -errno;
	}
	return 0;
}

static int open_futex(struct link *link)
{
	void *words = mmap(NULL, 2 * CACHE_LINE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (words == MAP_FAILED)
		return -errno;
	link->words = words;
	return 0;
}

static int open_unix(struct link *link)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	use_socket(link, CLIENT, ends[0]);
	use_socket(link, SERVER, ends[1]);
	return 0;
}

/* A socket on a free loopback port; its address in *address. */
static int loopback_socket(int type, struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int error, fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	*address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (bind(fd, (struct sockaddr *)address, sizeof(*address)) == 0 &&
	    getsockname(fd, (struct sockaddr *)address, &length) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int open_udp(struct link *link)
{
	struct sockaddr_in address[2];

	for (enum role role = CLIENT; role <= SERVER; role++) {
		int fd = loopback_socket(SOCK_DGRAM, &address[role]);

		if (fd < 0)
			return fd;
		use_socket(link, role, fd);
	}
	for (enum role role = CLIENT; role <= SERVER; role++) {
		if (connect(link->fd[role][IN], (struct sockaddr *)&address[!role], sizeof(address[0])) < 0)
			return -errno;
	}
	return 0;
}

static int open_tcp(struct link *link)
{
	struct sockaddr_in address;
	int error = 0, one = 1, client, server, listener = loopback_socket(SOCK_STREAM, &address);

	if (listener < 0)
		return listener;
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client >= 0)
		use_socket(link, CLIENT, client);
	if (client < 0 || listen(listener, 1) < 0 || connect(client, (struct sockaddr *)&address, sizeof(address)) < 0) {
		error = -errno;
		goto close_listener;
	}
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (server < 0) {
		error = -errno;
		goto close_listener;
	}
	use_socket(link, SERVER, server);
	if (setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0 ||
	    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		error = -errno;
close_listener:
	close(listener);
	return error;
}

static void close_role(struct link *link, enum role role)
{
	int in = link->fd[role][IN], out = link->fd[role][OUT];

	if (in >= 0)
		close(in);
	if (out >= 0 && out != in)
		close(out);
	link->fd[role][IN] = link->fd[role][OUT] = -1;
}

static void close_link(struct link *link)
{
	close_role(link, CLIENT);
	close_role(link, SERVER);
	if (link->words)
		munmap(link->words, 2 * CACHE_LINE);
	link->words = NULL;
}

/* --- the table --- */

static const struct transport transports[] = {
	{ .name = "tcp", .open = open_tcp, .exchange = socket_exchange, .answer = socket_answer },
	{ .name = "udp", .maximum_size = 65507, .open = open_udp, .exchange = socket_exchange, .answer = socket_answer },
	{ .name = "unix", .open = open_unix, .exchange = socket_exchange, .answer = socket_answer },
	{ .name = "pipe", .open = open_pipe, .exchange = file_exchange, .answer = file_answer },
	{ .name = "eventfd", .fixed_size = sizeof(uint64_t), .open = open_eventfd, .exchange = file_exchange,
	  .answer = file_answer },
	{ .name = "futex", .fixed_size = sizeof(uint32_t), .open = open_futex, .exchange = futex_exchange,
	  .answer = futex_answer },
	{ .name = "io-uring-tcp", .uring = true, .open = open_tcp, .exchange = uring_exchange, .answer = uring_answer },
	{ .name = "io-uring-unix", .uring = true, .open = open_unix, .exchange = uring_exchange, .answer = uring_answer },
};

#define TRANSPORTS (sizeof(transports) / sizeof(transports[0]))

static const char *transport_choices[TRANSPORTS + 1];	/* the names of the table, for the option */

__attribute__((constructor)) static void list_transports(void)
{
	for (size_t i = 0; i < TRANSPORTS; i++)
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
