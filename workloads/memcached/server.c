// SPDX-License-Identifier: GPL-2.0-or-later
/* The server process: the distribution's memcached, on a socket of its own. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "workloads/memcached/memcached.h"

#define NOBODY 65534		/* memcached does not run as root, and a guest has no list of users */
#define NOT_STARTED 127
#define START_MS 20000
#define STOP_MS 3000
#define POLL_MS 5
#define MIB UINT64_C(1048576)

static void sleep_ms(long milliseconds)
{
	const struct timespec pause = { .tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

static void file_path(const struct memcached *state, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", state->directory, name);
}

static int make_directory(struct run *run, struct memcached *state)
{
	const char *parent = run_directory(run);

	if (!parent)
		return -errno;
	if (asprintf(&state->directory, "%s/server", parent) < 0) {
		state->directory = NULL;
		return -ENOMEM;
	}
	if (mkdir(state->directory, 0755) < 0)
		return -errno;
	/* The server gives up root, and has to reach and fill its directory all the same. */
	if (geteuid() == 0 && (chmod(parent, 0711) < 0 || chown(state->directory, NOBODY, NOBODY) < 0))
		return -errno;
	return 0;
}

static int confine(const struct memcached *state)
{
	uint64_t count = state->options->server_threads;
	int highest = 0, error;
	cpu_set_t *set;
	size_t size;

	for (uint64_t i = 0; i < count; i++)
		highest = state->server_cpus[i] > highest ? state->server_cpus[i] : highest;
	set = CPU_ALLOC((size_t)highest + 1);
	size = CPU_ALLOC_SIZE((size_t)highest + 1);
	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	for (uint64_t i = 0; i < count; i++)
		CPU_SET_S((size_t)state->server_cpus[i], size, set);
	error = sched_setaffinity(0, size, set) < 0 ? -errno : 0;
	CPU_FREE(set);
	return error;
}

/* In the child: becomes memcached. */
_Noreturn static void become_server(const struct memcached *state, pid_t parent)
{
	const struct memcached_options *options = state->options;
	char threads[16], memory[16], connections[16], item[24], path[PATH_MAX], log[PATH_MAX];
	const char *tcp[] = { options->server, "-l", "127.0.0.1", "-p", "-1", "-U", "0", "-t", threads, "-m", memory,
			      "-c", connections, "-I", item, NULL };
	const char *local[] = { options->server, "-s", path, "-a", "0700", "-t", threads, "-m", memory,
				"-c", connections, "-I", item, NULL };
	/* An item carries its key and a header of some 60 bytes; slabs waste up to a quarter. */
	uint64_t bytes = options->keys * (options->value_size + 200) * 3 / 2 + 64 * MIB;
	int fd;

	snprintf(threads, sizeof(threads), "%" PRIu64, options->server_threads);
	snprintf(memory, sizeof(memory), "%" PRIu64, bytes / MIB);
	snprintf(connections, sizeof(connections), "%" PRIu64, options->connections + 64);
	snprintf(item, sizeof(item), "%" PRIu64, options->value_size < MIB / 2 ? MIB : 2 * options->value_size);
	file_path(state, "port", path);
	setenv("MEMCACHED_PORT_FILENAME", path, 1);
	file_path(state, "socket", path);
	file_path(state, "log", log);
	fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0 || confine(state))
		_exit(NOT_STARTED);
	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
			       setresuid(NOBODY, NOBODY, NOBODY) < 0))
		_exit(NOT_STARTED);
	if (access(state->directory, W_OK | X_OK) < 0) {
		dprintf(STDERR_FILENO, "user %d cannot reach %s: set TMPDIR to a directory open to all\n", (int)geteuid(),
			state->directory);
		_exit(NOT_STARTED);
	}
	/* After the change of user, which takes it back. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(NOT_STARTED);
	execvp(options->server, (char *const *)(options->transport == TRANSPORT_TCP ? tcp : local));
	dprintf(STDERR_FILENO, "%s: %s\n", options->server, strerror(errno));
	_exit(NOT_STARTED);
}

/* The server writes "TCP INET: 41234" when it listens. */
static int read_port(const struct memcached *state, uint16_t *port)
{
	char path[PATH_MAX], line[128];
	unsigned int number = 0;
	FILE *file;

	file_path(state, "port", path);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (!number && fgets(line, sizeof(line), file))
		if (sscanf(line, "TCP INET: %u", &number) != 1)
			number = 0;
	fclose(file);
	*port = (uint16_t)number;
	return number && number <= UINT16_MAX ? 0 : -EAGAIN;
}

static int find_address(struct memcached *state)
{
	uint16_t port;
	int error;

	if (state->options->transport == TRANSPORT_UNIX) {
		state->address.local = (struct sockaddr_un){ .sun_family = AF_UNIX };
		if ((size_t)snprintf(state->address.local.sun_path, sizeof(state->address.local.sun_path), "%s/socket",
				     state->directory) >= sizeof(state->address.local.sun_path))
			return -ENAMETOOLONG;
		state->address_length = sizeof(state->address.local);
		return 0;
	}
	error = read_port(state, &port);
	if (error)
		return error;
	state->address.inet = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	state->address_length = sizeof(state->address.inet);
	return 0;
}

int server_connect(const struct memcached *state)
{
	int error, fd = socket(state->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, &state->address.any, state->address_length) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

/* The first line that the server said, for the message. */
static void first_words(const struct memcached *state, char *words, size_t size)
{
	char path[PATH_MAX];
	FILE *file;

	file_path(state, "log", path);
	file = fopen(path, "re");
	if (!file || !fgets(words, (int)size, file))
		snprintf(words, size, "it says nothing");
	words[strcspn(words, "\n")] = '\0';
	if (file)
		fclose(file);
}

static int wait_for_server(struct run *run, struct memcached *state)
{
	char words[200];
	int error = -EAGAIN, status;

	for (long waited = 0; waited < START_MS; waited += POLL_MS) {
		if (waitpid(state->server, &status, WNOHANG) == state->server) {
			state->server = 0;
			first_words(state, words, sizeof(words));
			return run_fail(run, -ECHILD, "%s ended before it answered: %s", state->options->server, words);
		}
		error = find_address(state);
		if (!error) {
			int fd = server_connect(state);

			if (fd >= 0) {
				close(fd);
				return 0;
			}
			error = fd;
		}
		sleep_ms(POLL_MS);
	}
	return run_fail(run, -ETIMEDOUT, "%s does not answer after %d s: %s", state->options->server, START_MS / 1000,
			strerror(-error));
}

int server_start(struct run *run, struct memcached *state)
{
	pid_t parent = getpid(), pid;
	int error = make_directory(run, state);

	if (error)
		return run_fail(run, error, "no directory for the server: %s", strerror(-error));
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		become_server(state, parent);
	state->server = pid;
	return wait_for_server(run, state);
}

uint64_t server_cpu_time(const struct memcached *state)
{
	struct timespec used;
	clockid_t clock;

	if (!state->server || clock_getcpuclockid(state->server, &clock) || clock_gettime(clock, &used) < 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

void server_stop(struct memcached *state)
{
	if (!state->server)
		return;
	kill(state->server, SIGTERM);
	for (long waited = 0; waited < STOP_MS; waited += POLL_MS) {
		if (waitpid(state->server, NULL, WNOHANG) != 0) {
			state->server = 0;
			return;
		}
		sleep_ms(POLL_MS);
	}
	kill(state->server, SIGKILL);
	while (waitpid(state->server, NULL, 0) < 0 && errno == EINTR)
		;
	state->server = 0;
}
