// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clients: each is a process with its share of the connections, and on each
 * connection one request is out at a time. Which key is asked for, and whether
 * it is read or written, follows from the worker's seed.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "workloads/memcached/memcached.h"

#define EVENTS 64
#define KEY_FORMAT "key-%010" PRIu64	/* one width, so that every answer has a known size */
#define HEADER_SIZE 96

struct connection {
	int fd;
	uint64_t left;		/* requests still to be sent */
	uint64_t sent_at;
	size_t expected, received;
	bool get;
};

struct client {
	const struct memcached *state;
	struct connection *connections;
	uint64_t count;
	uint64_t random;
	int epoll;
	char *request, *answer;
	size_t buffer_size;
	size_t get_answer_size;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int send_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -errno;
		data += sent;
		size -= (size_t)sent;
	}
	return 0;
}

static size_t write_set(char *request, uint64_t key, uint64_t value_size)
{
	int header = sprintf(request, "set " KEY_FORMAT " 0 0 %" PRIu64 "\r\n", key, value_size);

	memset(request + header, 'a' + (int)(key % 26), value_size);
	memcpy(request + header + value_size, "\r\n", 2);
	return (size_t)header + value_size + 2;
}

#define STORED "STORED\r\n"
#define END "\r\nEND\r\n"

static size_t get_answer_size(uint64_t value_size)
{
	char header[HEADER_SIZE];
	int length = snprintf(header, sizeof(header), "VALUE " KEY_FORMAT " 0 %" PRIu64 "\r\n", UINT64_C(0), value_size);

	return (size_t)length + value_size + strlen(END);
}

static int send_request(struct client *client, struct connection *connection)
{
	const struct memcached_options *options = client->state->options;
	uint64_t random = next_random(&client->random), key = (random >> 20) % options->keys;
	size_t size;

	connection->get = random % 100 >= options->sets;
	if (connection->get)
		size = (size_t)sprintf(client->request, "get " KEY_FORMAT "\r\n", key);
	else
		size = write_set(client->request, key, options->value_size);
	connection->expected = connection->get ? client->get_answer_size : strlen(STORED);
	connection->received = 0;
	connection->left--;
	connection->sent_at = clock_nanoseconds();
	return send_all(connection->fd, client->request, size);
}

/* Takes what has come of an answer; 1 when it is whole, 0 when more is to come. Anything but the right answer is an error. */
static int receive(struct client *client, struct connection *connection)
{
	const char *start = connection->get ? "VALUE " : STORED, *last = connection->get ? END : STORED;
	size_t room = connection->expected - connection->received;
	ssize_t got = recv(connection->fd, client->answer, room, MSG_DONTWAIT);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (got == 0)
		return -ECONNRESET;
	/* An error of the server, or a miss, is shorter than what is waited for: its first byte gives it away. */
	if (connection->received == 0 && client->answer[0] != start[0])
		return -EBADMSG;
	connection->received += (size_t)got;
	if (connection->received < connection->expected)
		return 0;
	if ((size_t)got >= strlen(last) && memcmp(client->answer + got - strlen(last), last, strlen(last)) != 0)
		return -EBADMSG;
	return 1;
}

/* Waits for the answers of all connections that have a request out, and sends the next ones. */
static int serve_connections(struct client *client, struct worker *worker, uint64_t out)
{
	struct epoll_event events[EVENTS];

	while (out) {
		int ready = epoll_wait(client->epoll, events, EVENTS, -1);

		if (ready < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < ready; i++) {
			struct connection *connection = events[i].data.ptr;
			int whole = receive(client, connection), error = 0;

			if (whole < 0)
				return whole;
			if (!whole)
				continue;
			if (worker) {
				latency_record(worker->latency, clock_nanoseconds() - connection->sent_at);
				worker->operations++;
			}
			if (connection->left)
				error = send_request(client, connection);
			else
				out--;
			if (error)
				return error;
		}
	}
	return 0;
}

static int run_requests(struct client *client, struct worker *worker, uint64_t requests)
{
	for (uint64_t i = 0; i < client->count; i++) {
		int error;

		client->connections[i].left = requests;
		error = send_request(client, &client->connections[i]);
		if (error)
			return error;
	}
	return serve_connections(client, worker, client->count);
}

static int open_connection(struct client *client, struct connection *connection)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };
	int one = 1;

	connection->fd = server_connect(client->state);
	if (connection->fd < 0)
		return connection->fd;
	if (client->state->options->transport == TRANSPORT_TCP &&
	    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		return -errno;
	return epoll_ctl(client->epoll, EPOLL_CTL_ADD, connection->fd, &event) < 0 ? -errno : 0;
}

int client_open(struct worker *worker)
{
	const struct memcached *state = worker->argument;
	const struct memcached_options *options = state->options;
	struct client *client = calloc(1, sizeof(*client));
	int error = 0;

	if (!client)
		return -ENOMEM;
	worker->scratch = client;
	client->state = state;
	client->random = worker->random_seed | 1;
	client->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (client->epoll < 0)
		return -errno;
	client->count = options->connections / options->clients +
		(worker->index < options->connections % options->clients);
	client->get_answer_size = get_answer_size(options->value_size);
	client->buffer_size = client->get_answer_size + HEADER_SIZE;
	client->request = malloc(client->buffer_size);
	client->answer = malloc(client->buffer_size);
	client->connections = calloc(client->count, sizeof(*client->connections));
	if (!client->request || !client->answer || !client->connections)
		return -ENOMEM;
	for (uint64_t i = 0; i < client->count; i++)
		client->connections[i].fd = -1;
	for (uint64_t i = 0; i < client->count && !error; i++)
		error = open_connection(client, &client->connections[i]);
	/* One request each before the gate: the server has then accepted all and given them to its threads. */
	return error ? : run_requests(client, NULL, 1);
}

int client_work(struct worker *worker)
{
	struct client *client = worker->scratch;

	return run_requests(client, worker, client->state->options->requests);
}

void client_close(struct worker *worker)
{
	struct client *client = worker->scratch;

	if (!client)
		return;
	for (uint64_t i = 0; client->connections && i < client->count; i++)
		if (client->connections[i].fd >= 0)
			close(client->connections[i].fd);
	if (client->epoll >= 0)
		close(client->epoll);
	free(client->connections);
	free(client->request);
	free(client->answer);
	free(client);
	worker->scratch = NULL;
}

static int store_keys(int fd, const struct memcached_options *options, char *request)
{
	char answer[sizeof(STORED)];

	for (uint64_t key = 0; key < options->keys; key++) {
		int error = send_all(fd, request, write_set(request, key, options->value_size));

		if (error)
			return error;
		for (size_t got = 0; got < strlen(STORED);) {
			ssize_t more = recv(fd, answer + got, strlen(STORED) - got, 0);

			if (more < 0 && errno == EINTR)
				continue;
			if (more <= 0)
				return more < 0 ? -errno : -ECONNRESET;
			got += (size_t)more;
			if (memcmp(answer, STORED, got) != 0)
				return -EBADMSG;
		}
	}
	return 0;
}

int client_fill(struct run *run, const struct memcached *state)
{
	const struct memcached_options *options = state->options;
	char *request = malloc(HEADER_SIZE + options->value_size);
	int fd = server_connect(state), error = fd < 0 ? fd : request ? 0 : -ENOMEM;

	if (!error)
		error = store_keys(fd, options, request);
	if (fd >= 0)
		close(fd);
	free(request);
	return error ? run_fail(run, error, "storing %" PRIu64 " keys in the server: %s", options->keys, strerror(-error)) : 0;
}
