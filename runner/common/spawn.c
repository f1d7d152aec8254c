// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"
#include "spawn.h"

static void apply_environment(const char *const *changes)
{
	for (; changes && *changes; changes++) {
		const char *equals = strchr(*changes, '=');

		if (!equals) {
			unsetenv(*changes);
			continue;
		}
		char *name = strndup(*changes, (size_t)(equals - *changes));

		if (name)
			setenv(name, equals + 1, 1);
		free(name);
	}
}

static int attach(int wanted, int target)
{
	if (wanted == SPAWN_INHERIT)
		return 0;
	if (wanted < 0)
		wanted = open("/dev/null", target ? O_WRONLY : O_RDONLY);
	if (wanted < 0)
		return -errno;
	if (wanted == target)
		return fcntl(target, F_SETFD, 0) ? -errno : 0;
	return dup2(wanted, target) < 0 ? -errno : 0;
}

static void keep_descriptors(const int *keep)
{
	/* Everything else goes at execve: no descriptor of ours may leak into a guest or a build. */
	syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
	for (; keep && *keep >= 0; keep++)
		fcntl(*keep, F_SETFD, 0);
}

static void write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!write(fd, text, strlen(text));
		close(fd);
	}
}

static void enter_no_network(void)
{
	unsigned int user = geteuid(), group = getegid();
	char map[64];

	/* An ordinary user needs a user namespace around it; where neither is allowed the network stays. */
	if (!unshare(CLONE_NEWNET) || user == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return;
	/* Without a map the identity is nobody's, and programs that set it back (make does) cannot start others. */
	write_map("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", user, user);
	write_map("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1", group, group);
	write_map("/proc/self/gid_map", map);
}

static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int number = 1; number < 32; number++)
		signal(number, SIG_DFL);
}

static void child_process(const char *const *argv, const struct spawn_options *options, pid_t parent, int report)
{
	int error;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, options->death_signal ? options->death_signal : SIGKILL);
	if (getppid() != parent)
		_exit(127);
	reset_signals();
	error = attach(options->input, 0);
	if (!error)
		error = attach(options->output, 1);
	if (!error)
		error = attach(options->error, 2);
	if (!error && options->directory && chdir(options->directory))
		error = -errno;
	if (!error) {
		if (options->no_network)
			enter_no_network();
		if (options->nice)
			setpriority(PRIO_PROCESS, 0, options->nice);
		keep_descriptors(options->keep);
		apply_environment(options->environment);
		execvp(argv[0], (char *const *)argv);
		error = -errno;
	}
	(void)!write(report, &error, sizeof(error));
	_exit(127);
}

/* Moves the descriptor out of the range that attach() writes to. */
static int report_pipe(int pipe_fds[2])
{
	if (pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	int high = fcntl(pipe_fds[1], F_DUPFD_CLOEXEC, 64);

	if (high < 0) {
		int error = -errno;

		close(pipe_fds[0]);
		close(pipe_fds[1]);
		return error;
	}
	close(pipe_fds[1]);
	pipe_fds[1] = high;
	return 0;
}

int spawn(const char *const *argv, const struct spawn_options *options, struct child *child)
{
	int pipe_fds[2], child_error = 0, error = report_pipe(pipe_fds);
	pid_t parent = getpid(), pid;
	ssize_t got;

	if (error)
		return error;
	pid = fork();
	if (pid == 0)
		child_process(argv, options, parent, pipe_fds[1]);
	error = pid < 0 ? -errno : 0;
	close(pipe_fds[1]);
	if (error) {
		close(pipe_fds[0]);
		return error;
	}
	setpgid(pid, pid);
	/* execve closes the pipe: end of file is success. */
	do
		got = read(pipe_fds[0], &child_error, sizeof(child_error));
	while (got < 0 && errno == EINTR);
	close(pipe_fds[0]);
	if (got == (ssize_t)sizeof(child_error)) {
		waitpid(pid, NULL, 0);
		return child_error;
	}
	child->pid = pid;
	child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (child->pidfd >= 0)
		return 0;
	error = -errno;
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return error;
}

static long long milliseconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int child_wait_ended(struct child *child, int *status)
{
	while (waitpid(child->pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	close(child->pidfd);
	child->pidfd = -1;
	child->pid = 0;
	return 0;
}

int child_wait(struct child *child, int timeout_ms, int *status)
{
	long long deadline = timeout_ms < 0 ? 0 : milliseconds_now() + timeout_ms;

	for (;;) {
		struct pollfd poll_fd = { .fd = child->pidfd, .events = POLLIN };
		int left = timeout_ms < 0 ? 500 : (int)(deadline - milliseconds_now());
		int ready;

		if (interrupted)
			return -EINTR;
		if (left < 0)
			left = 0;
		ready = poll(&poll_fd, 1, left > 500 ? 500 : left);
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready > 0)
			return child_wait_ended(child, status);
		if (timeout_ms >= 0 && left == 0)
			return -ETIMEDOUT;
	}
}

static bool reaped_within(struct child *child, int milliseconds)
{
	struct pollfd poll_fd = { .fd = child->pidfd, .events = POLLIN };
	long long deadline = milliseconds_now() + milliseconds;
	long long left;

	while ((left = deadline - milliseconds_now()) >= 0) {
		int ready = poll(&poll_fd, 1, (int)left);

		if (ready > 0)
			return waitpid(child->pid, NULL, WNOHANG) == child->pid;
		if (ready == 0)
			return false;
	}
	return false;
}

void child_end(struct child *child, int grace_ms)
{
	if (child->pid <= 0)
		return;
	kill(-child->pid, SIGTERM);
	if (!reaped_within(child, grace_ms)) {
		kill(-child->pid, SIGKILL);
		while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	/* What the child itself left in its group. */
	kill(-child->pid, SIGKILL);
	close(child->pidfd);
	child->pidfd = -1;
	child->pid = 0;
}

/* Reads until end of file. Past the limit: -EFBIG. */
static int drain(int fd, long long deadline, size_t limit, char **output)
{
	size_t have = 0, room = 4096;
	char *buffer = malloc(room + 1);

	while (buffer) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		long long left = deadline < 0 ? 500 : deadline - milliseconds_now();
		int ready = left < 0 ? 0 : poll(&poll_fd, 1, left > 500 ? 500 : (int)left);
		ssize_t got;

		if (interrupted || (deadline >= 0 && ready == 0 && milliseconds_now() >= deadline)) {
			free(buffer);
			return interrupted ? -EINTR : -ETIMEDOUT;
		}
		if (ready <= 0)
			continue;
		got = read(fd, buffer + have, room - have);
		if (got < 0 && errno != EINTR) {
			int error = -errno;

			free(buffer);
			return error;
		}
		if (got == 0) {
			buffer[have] = '\0';
			*output = buffer;
			return 0;
		}
		have += got > 0 ? (size_t)got : 0;
		if (have > limit) {
			free(buffer);
			return -EFBIG;
		}
		if (have == room) {
			char *larger = realloc(buffer, 2 * room + 1);

			if (!larger)
				free(buffer);
			buffer = larger;
			room *= 2;
		}
	}
	return -ENOMEM;
}

int run_capture(const char *const *argv, const struct spawn_options *options, int timeout_ms, size_t limit,
		char **output, int *status)
{
	struct spawn_options with_pipe = *options;
	long long deadline = timeout_ms < 0 ? -1 : milliseconds_now() + timeout_ms;
	struct child child;
	char *text = NULL;
	int error, pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	with_pipe.output = pipe_fds[1];
	error = spawn(argv, &with_pipe, &child);
	close(pipe_fds[1]);
	if (error) {
		close(pipe_fds[0]);
		return error;
	}
	error = drain(pipe_fds[0], deadline, limit, &text);
	close(pipe_fds[0]);
	if (!error)
		error = child_wait(&child, deadline < 0 ? -1 : (int)(deadline - milliseconds_now()) + 1000, status);
	if (error) {
		child_end(&child, 200);
		free(text);
		return error;
	}
	*output = text;
	return 0;
}
