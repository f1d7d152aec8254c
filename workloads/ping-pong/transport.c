// SPDX-License-Identifier: GPL-2.0-or-later
/* Opening a link, and moving one message over it, for each transport; the table stands at the end. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workloads/ping-pong/transport.h"

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

void close_role(struct link *link, enum role role)
{
	int in = link->fd[role][IN], out = link->fd[role][OUT];

	if (in >= 0)
		close(in);
	if (out >= 0 && out != in)
		close(out);
	link->fd[role][IN] = link->fd[role][OUT] = -1;
}

void close_link(struct link *link)
{
	close_role(link, CLIENT);
	close_role(link, SERVER);
	if (link->words)
		munmap(link->words, 2 * CACHE_LINE);
	link->words = NULL;
}

/* --- the table --- */

const struct transport transports[] = {
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

const size_t transport_count = sizeof(transports) / sizeof(transports[0]);
