// SPDX-License-Identifier: GPL-2.0-or-later
/* One case: a child in its own session, its frames and its output passed on, its time limit kept. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

/* The end of what a workload printed, for the one line that says why it failed. */
#define TAIL_SIZE 4096
/* A line beyond this is no frame; the host is told by the gap in what it can parse. */
#define LINE_LIMIT ((size_t)15 << 20)

enum { PIPE_FRAMES, PIPE_OUTPUT, PIPE_ERROR, PIPE_CHILD, PIPE_COUNT };

struct work {
	unsigned int index;
	const json_t *description;
	bool terminal, forward;
	pid_t pid;
	int pipes[PIPE_COUNT];		/* our ends; -1 when at end of file */
	char *line;
	size_t line_used, line_room;
	char tail[TAIL_SIZE];
	size_t tail_used;
	bool ended, timed_out;
	int status;
	uint64_t deadline_ns;		/* 0: none */
};

/* Written by the signal handler, so that poll() wakes up when a child ends. */
static int child_pipe = -1;

static void on_child(int number)
{
	int saved = errno;

	(void)number;
	(void)!write(child_pipe, "", 1);
	errno = saved;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* NULL-terminated vector of borrowed strings; NULL when something in it is no string. */
static char **text_vector(const json_t *array)
{
	char **vector = calloc(json_array_size(array) + 1, sizeof(*vector));
	json_t *value;
	size_t i;

	json_array_foreach(array, i, value) {
		if (vector && json_is_string(value)) {
			vector[i] = (char *)json_string_value(value);
			continue;
		}
		free(vector);
		return NULL;
	}
	return vector;
}

static void child_environment(const json_t *description)
{
	json_t *entry;
	size_t i;

	clearenv();
	setenv("PATH", "/exec:/bin:/sbin:/usr/bin:/usr/sbin:/workloads", 1);
	setenv("LD_LIBRARY_PATH", "/lib", 1);
	setenv("HOME", "/tmp", 1);
	setenv("LC_ALL", "C", 1);
	setenv("TERM", "linux", 1);
	json_array_foreach(json_object_get(description, "environment"), i, entry) {
		const char *text = json_string_value(entry);
		char *copy = text && strchr(text, '=') ? strdup(text) : NULL;

		if (copy)
			putenv(copy);
	}
}

static void attach(int from, int to)
{
	if (from == to)
		fcntl(to, F_SETFD, 0);
	else
		dup2(from, to);
}

/* /dev/console cannot be a controlling terminal: the device behind it, the last one in the kernel's list, can. */
static int open_terminal(void)
{
	char *active = read_text("/sys/class/tty/console/active"), *name, path[64];
	int fd = -1;

	if (active) {
		name = strrchr(active, ' ');
		snprintf(path, sizeof(path), "/dev/%s", name ? name + 1 : active);
		fd = open(path, O_RDWR);
	}
	free(active);
	return fd >= 0 ? fd : open("/dev/console", O_RDWR);
}

static void attach_terminal(void)
{
	int fd = open_terminal();

	for (int i = 0; i < 3; i++)
		attach(fd, i);
	ioctl(0, TIOCSCTTY, 1);
}

static void child_process(const struct work *work, char **arguments, const int ends[PIPE_COUNT])
{
	const char *directory = json_string_value(json_object_get(work->description, "directory"));

	setsid();
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	(void)write_text("/proc/self/oom_score_adj", "0");
	if (work->terminal) {
		attach_terminal();
	} else {
		attach(open("/dev/null", O_RDONLY), 0);
		attach(ends[PIPE_OUTPUT], 1);
		attach(ends[PIPE_ERROR], 2);
		attach(ends[PIPE_FRAMES], GUEST_FRAMES_FD);
	}
	child_environment(work->description);
	if (directory && chdir(directory)) {
		dprintf(2, "%s: %s\n", directory, strerror(errno));
		_exit(127);
	}
	execvp(arguments[0], arguments);
	dprintf(2, "%s: %s\n", arguments[0], strerror(errno));
	_exit(127);
}

static void close_all(int fds[PIPE_COUNT])
{
	for (int i = 0; i < PIPE_COUNT; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Our ends do not block; the child's ends stand above 9, out of the way of 0 to 3. */
static int make_pipes(struct work *work, int ends[PIPE_COUNT])
{
	for (int i = 0; i < PIPE_COUNT; i++)
		work->pipes[i] = ends[i] = -1;
	for (int i = 0; i < PIPE_COUNT; i++) {
		int pair[2];

		if (pipe2(pair, O_CLOEXEC))
			return -errno;
		work->pipes[i] = pair[0];
		ends[i] = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
		close(pair[1]);
		if (ends[i] < 0 || fcntl(pair[0], F_SETFL, O_NONBLOCK))
			return -errno;
	}
	fcntl(ends[PIPE_CHILD], F_SETFL, O_NONBLOCK);
	return 0;
}

static int start(struct work *work)
{
	char **arguments = text_vector(json_object_get(work->description, "arguments"));
	struct sigaction action = { .sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP };
	int ends[PIPE_COUNT], error;

	if (!arguments || !arguments[0]) {
		free(arguments);
		return -EINVAL;
	}
	error = make_pipes(work, ends);
	if (!error) {
		child_pipe = ends[PIPE_CHILD];
		sigaction(SIGCHLD, &action, NULL);
		work->pid = fork();
		if (!work->pid)
			child_process(work, arguments, ends);
		error = work->pid < 0 ? -errno : 0;
	}
	free(arguments);
	for (int i = 0; i < PIPE_CHILD; i++)
		if (ends[i] >= 0)
			close(ends[i]);
	if (error) {
		signal(SIGCHLD, SIG_DFL);
		if (ends[PIPE_CHILD] >= 0)
			close(ends[PIPE_CHILD]);
		close_all(work->pipes);
	}
	return error;
}

static void keep_tail(struct work *work, const char *data, size_t size)
{
	if (size > TAIL_SIZE) {
		data += size - TAIL_SIZE;
		size = TAIL_SIZE;
	}
	if (work->tail_used + size > TAIL_SIZE) {
		size_t drop = work->tail_used + size - TAIL_SIZE;

		memmove(work->tail, work->tail + drop, work->tail_used - drop);
		work->tail_used -= drop;
	}
	memcpy(work->tail + work->tail_used, data, size);
	work->tail_used += size;
}

static void take_output(struct work *work, int stream, const char *data, size_t size)
{
	if (work->forward)
		send_output(work->index, stream, data, size);
	else
		keep_tail(work, data, size);
}

static void take_frames(struct work *work, const char *data, size_t size)
{
	const char *newline;

	if (work->line_used + size > work->line_room) {
		size_t room = (work->line_used + size) * 2;
		char *grown = room <= 2 * LINE_LIMIT ? realloc(work->line, room) : NULL;

		if (!grown) {	/* no frame is that long: drop what was gathered, the host misses it */
			work->line_used = 0;
			return;
		}
		work->line = grown;
		work->line_room = room;
	}
	memcpy(work->line + work->line_used, data, size);
	work->line_used += size;
	while ((newline = memchr(work->line, '\n', work->line_used))) {
		size_t length = (size_t)(newline - work->line);

		if (length)
			send_frame(work->index, work->line, length);
		work->line_used -= length + 1;
		memmove(work->line, newline + 1, work->line_used);
	}
}

/* Reads what is there; false at end of file. */
static bool drain(struct work *work, int which)
{
	static char data[65536];

	for (;;) {
		ssize_t size = read(work->pipes[which], data, sizeof(data));

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return errno == EAGAIN;
		if (!size)
			return false;
		if (which == PIPE_FRAMES)
			take_frames(work, data, (size_t)size);
		else if (which != PIPE_CHILD)
			take_output(work, which == PIPE_OUTPUT ? 1 : 2, data, (size_t)size);
	}
}

/* As PID 1 we also get every orphan. */
static void reap(struct work *work)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == work->pid) {
			work->ended = true;
			work->status = status;
		}
	}
}

static int wait_ms(const struct work *work)
{
	uint64_t now = now_ns();

	if (!work->deadline_ns)
		return -1;
	return now >= work->deadline_ns ? 0 : (int)((work->deadline_ns - now) / 1000000 + 1);
}

static void watch(struct work *work)
{
	while (!work->ended) {
		struct pollfd polled[PIPE_COUNT];

		for (int i = 0; i < PIPE_COUNT; i++)
			polled[i] = (struct pollfd){ .fd = work->pipes[i], .events = POLLIN };
		poll(polled, PIPE_COUNT, wait_ms(work));
		for (int i = 0; i < PIPE_COUNT; i++) {
			if (polled[i].fd < 0 || !(polled[i].revents & (POLLIN | POLLHUP | POLLERR)) || drain(work, i))
				continue;
			close(work->pipes[i]);
			work->pipes[i] = -1;
		}
		reap(work);
		if (!work->ended && work->deadline_ns && now_ns() >= work->deadline_ns) {
			work->timed_out = true;
			kill(-1, SIGKILL);
			waitpid(work->pid, &work->status, 0);
			work->ended = true;
		}
	}
}

/* Whatever the case left running must not disturb the next one. What is in the pipes is still its own. */
static void finish(struct work *work)
{
	signal(SIGCHLD, SIG_DFL);
	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	for (int i = 0; i < PIPE_CHILD; i++)
		if (work->pipes[i] >= 0)
			drain(work, i);
	close_all(work->pipes);
	close(child_pipe);
	child_pipe = -1;
	free(work->line);
}

/* Bytes that are no UTF-8 would make the message no JSON. */
static void make_printable(char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] >= 0x7f || ((unsigned char)text[i] < 0x20 && text[i] != '\n' && text[i] != '\t'))
			text[i] = '?';
}

static void send_end(struct work *work)
{
	json_t *message = json_pack("{s:s, s:i, s:i, s:b}", "init", "case-end", "case", (int)work->index,
				    "signal", WIFSIGNALED(work->status) ? WTERMSIG(work->status) : 0,
				    "timeout", work->timed_out);

	if (WIFEXITED(work->status))
		json_object_set_new(message, "exit", json_integer(WEXITSTATUS(work->status)));
	if (work->tail_used) {
		make_printable(work->tail, work->tail_used);
		json_object_set_new(message, "output", json_stringn(work->tail, work->tail_used));
	}
	send_message(message);
}

static void send_refused(unsigned int index, const char *what, int error)
{
	send_message(json_pack("{s:s, s:i, s:b, s:i, s:s, s:s}", "init", "case-end", "case", (int)index,
			       "timeout", 0, "signal", 0, "error", what, "why", strerror(-error)));
}

void run_case(unsigned int case_index, const json_t *description, bool terminal)
{
	struct work work = { .index = case_index, .description = description, .terminal = terminal };
	json_int_t limit = json_integer_value(json_object_get(description, "timeout_seconds"));
	struct saved_setting *saved = NULL;
	const char *failed = "";
	int error;

	work.forward = json_is_true(json_object_get(description, "forward_output"));
	error = settings_apply(json_object_get(description, "settings"), &saved, &failed);
	if (error) {
		char *what;

		send_message(json_pack("{s:s, s:i}", "init", "case-start", "case", (int)case_index));
		if (asprintf(&what, "setting '%s'", failed) >= 0) {
			send_refused(case_index, what, error);
			free(what);
		}
		settings_restore(&saved);
		return;
	}
	send_message(json_pack("{s:s, s:i}", "init", "case-start", "case", (int)case_index));
	if (limit > 0)
		work.deadline_ns = now_ns() + (uint64_t)limit * 1000000000u;
	error = start(&work);
	if (error) {
		send_refused(case_index, "start", error);
	} else {
		watch(&work);
		finish(&work);
		send_end(&work);
	}
	settings_restore(&saved);
}
