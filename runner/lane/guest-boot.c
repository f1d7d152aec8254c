// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest-boot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../common/files.h"
#include "guest-state.h"

#define POLL_MS 200
#define READ_SIZE 65536
#define PIPE_ROOM (1 << 20)	/* what a user may have, by default */
/* One turn of the loop takes at most this from a stream, so that a flood cannot keep time limits from being seen. */
#define READ_TURNS 64
/* After an oops or a panic: time for the rest of the console before QEMU is ended. */
#define LAST_WORDS_SECONDS 5
#define END_GRACE_MS 1000
/* Ctrl-] leaves a guest at whose console a person sits. */
#define ESCAPE 0x1d

double guest_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void guest_text(char *text, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, size, format, arguments);
	va_end(arguments);
}

void guest_set_deadline(struct guest_state *state, unsigned int seconds, const char *waiting_for)
{
	state->deadline = guest_now() + seconds;
	state->limit_seconds = seconds;
	state->waiting_for = waiting_for;
}

uint64_t guest_losses(const struct guest_state *state)
{
	uint64_t losses = 0;

	for (int i = 0; i < STREAM_ERRORS; i++)
		losses += state->channels[i].lost + state->channels[i].damaged;
	return losses;
}

static void host_failure(struct guest_state *state, int error, const char *what)
{
	if (error && !state->host_error) {
		state->host_error = error;
		state->host_what = what;
	}
}

static void keep_errors(struct guest_state *state, const char *data, size_t size)
{
	size_t room = sizeof(state->errors) - 1;

	/* The first words are QEMU's own; what follows repeats or explains. */
	if (size > room - state->errors_used)
		size = room - state->errors_used;
	memcpy(state->errors + state->errors_used, data, size);
	state->errors_used += size;
	state->errors[state->errors_used] = '\0';
}

static void take(struct guest_state *state, enum guest_stream stream, const char *data, size_t size)
{
	if (stream == STREAM_ERRORS) {
		keep_errors(state, data, size);
		return;
	}
	if (stream == STREAM_CONSOLE) {
		host_failure(state, console_feed(&state->console, data, size), "console.log");
		if (state->options->terminal_output >= 0 && state->current != NO_CASE)
			(void)!write(state->options->terminal_output, data, size);
	}
	host_failure(state, channel_feed(&state->channels[stream], data, size), "channel");
}

/* Returns the number of bytes taken. */
static size_t read_stream(struct guest_state *state, enum guest_stream stream)
{
	/* One for each stream: a frame of the channel makes us read the console while the channel's bytes are in use. */
	static char buffers[STREAM_COUNT][READ_SIZE];
	char *data = buffers[stream];
	size_t taken = 0;

	for (int turn = 0; turn < READ_TURNS && state->streams[stream] >= 0; turn++) {
		ssize_t size = read(state->streams[stream], data, READ_SIZE);

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0 && errno == EAGAIN)
			break;
		if (size <= 0) {
			close(state->streams[stream]);
			state->streams[stream] = -1;
			break;
		}
		taken += (size_t)size;
		take(state, stream, data, (size_t)size);
		if (state->host_error)
			break;
	}
	return taken;
}

void guest_read_console(struct guest_state *state)
{
	static bool inside;

	/* The console may itself be the channel: then this is called from within its reading. */
	if (inside || state->channels[STREAM_CONSOLE].frames)
		return;
	inside = true;
	read_stream(state, STREAM_CONSOLE);
	inside = false;
}

/* Our end does not block; QEMU's end gets room, so that a guest seldom waits for us. */
static int make_socket(int *ours, int *theirs)
{
	int pair[2], room = 1 << 20;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	*ours = pair[0];
	*theirs = pair[1];
	return 0;
}

/*
 * A serial port writes byte by byte. In a socket each byte costs the room of
 * hundreds, so that a few lines unread fill it; a pipe holds what it says.
 */
static int make_pipe(int *ours, int *theirs)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC))
		return -errno;
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	fcntl(pair[1], F_SETPIPE_SZ, PIPE_ROOM);
	*ours = pair[0];
	*theirs = pair[1];
	return 0;
}

static int make_streams(struct guest_state *state, struct qemu_options *qemu, int *errors)
{
	const struct guest_boot *options = state->options;
	int (*make_stream)(int *, int *) = options->never_waits ? make_pipe : make_socket;
	int pair[2], error;

	qemu->pipes = options->never_waits;
	error = make_stream(&state->streams[STREAM_CONSOLE], &qemu->console);
	if (!error && options->second_port && qemu->machine->second_port)
		error = make_stream(&state->streams[STREAM_SECOND_PORT], &qemu->second_port);
	if (!error && options->virtio_channel)
		error = make_stream(&state->streams[STREAM_CHANNEL], &qemu->channel);
	if (error)
		return error;
	if (pipe2(pair, O_CLOEXEC))
		return -errno;
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	state->streams[STREAM_ERRORS] = pair[0];
	*errors = pair[1];
	return 0;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

static int start_qemu(struct guest_state *state)
{
	struct qemu_options qemu = state->options->qemu;
	struct spawn_options spawning = { .input = -1, .output = -1 };
	int keep[4], kept = 0, errors = -1, error;
	char **argv = NULL;

	qemu.console = qemu.second_port = qemu.channel = -1;
	error = make_streams(state, &qemu, &errors);
	if (!error)
		error = qemu_argv(&qemu, &argv);
	if (!error) {
		const int sockets[] = { qemu.console, qemu.second_port, qemu.channel };

		for (int i = 0; i < 3; i++)
			if (sockets[i] >= 0)
				keep[kept++] = sockets[i];
		keep[kept] = -1;
		spawning.keep = keep;
		spawning.error = errors;
		state->started = guest_now();
		error = spawn((const char *const *)argv, &spawning, &state->child);
	}
	qemu_argv_free(argv);
	close_if_open(qemu.console);
	close_if_open(qemu.second_port);
	close_if_open(qemu.channel);
	close_if_open(errors);
	return error;
}

static void send_to_console(struct guest_state *state, const char *data, size_t size)
{
	while (size) {
		ssize_t written = write(state->streams[STREAM_CONSOLE], data, size);

		if (written < 0 && errno == EAGAIN)
			break;	/* a person does not type that fast; a file that is pasted loses its end */
		if (written < 0)
			break;
		data += written;
		size -= (size_t)written;
	}
}

/* What a person types. End of file becomes Ctrl-D, once. */
static void relay_input(struct guest_state *state)
{
	char data[1024];
	ssize_t size = read(state->terminal_input, data, sizeof(data));

	if (size < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (size <= 0) {
		state->terminal_input = -1;
		send_to_console(state, "\004", 1);
		return;
	}
	if (isatty(state->terminal_input) && memchr(data, ESCAPE, (size_t)size))
		state->left = true;
	else
		send_to_console(state, data, (size_t)size);
}

static void wait_for_something(struct guest_state *state)
{
	struct pollfd polled[STREAM_COUNT + 2];
	double left = (state->deadline - guest_now()) * 1e3;
	int count = 0, timeout = left < POLL_MS ? (int)(left < 0 ? 0 : left + 1) : POLL_MS;
	bool typing = state->terminal_input >= 0 && state->current != NO_CASE;

	for (int i = 0; i < STREAM_COUNT; i++)
		polled[count++] = (struct pollfd){ .fd = state->streams[i], .events = POLLIN };
	polled[count++] = (struct pollfd){ .fd = state->child.pidfd, .events = POLLIN };
	polled[count++] = (struct pollfd){ .fd = typing ? state->terminal_input : -1, .events = POLLIN };
	if (poll(polled, (nfds_t)count, timeout) < 0)
		return;
	state->qemu_ended = polled[STREAM_COUNT].revents & POLLIN;
	if (polled[STREAM_COUNT + 1].revents)
		relay_input(state);
}

static bool kernel_is_dead(const struct guest_state *state)
{
	return state->console.event.outcome == BOOT_PANIC || state->console.event.outcome == BOOT_OOPS;
}

/* True when the boot is over, for whatever reason. */
static bool turn(struct guest_state *state, bool *last_words)
{
	wait_for_something(state);
	/* Console first: what the kernel said before a frame is known when the frame is judged. */
	for (int i = 0; i < STREAM_COUNT; i++)
		read_stream(state, (enum guest_stream)i);
	if (interrupted || state->left || state->host_error || state->qemu_ended)
		return true;
	if (kernel_is_dead(state) && !*last_words && !state->done) {
		*last_words = true;
		guest_set_deadline(state, LAST_WORDS_SECONDS, "end after the oops");
	}
	if (state->done && !state->options->power_off_seconds)
		return true;
	return guest_now() >= state->deadline;
}

/* After QEMU has ended: everything it wrote is in the sockets. */
static void read_rest(struct guest_state *state)
{
	for (int i = 0; i < STREAM_COUNT; i++)
		while (!state->host_error && read_stream(state, (enum guest_stream)i))
			;
	for (int i = 0; i < STREAM_ERRORS; i++)
		channel_finish(&state->channels[i]);
}

static void set_result(struct boot_result *result, enum boot_outcome outcome, const char *detail)
{
	result->outcome = outcome;
	guest_text(result->detail, sizeof(result->detail), "%s", detail);
}

static void judge_early_end(const struct guest_state *state, struct boot_result *result)
{
	char detail[DETAIL_SIZE], first[256];

	guest_text(first, sizeof(first), "%.*s", (int)strcspn(state->errors, "\n"), state->errors);
	if (state->qemu_signal) {
		guest_text(detail, sizeof(detail), "QEMU was killed by signal %d (%s), after %llu console lines%s%s", state->qemu_signal,
			   strsignal(state->qemu_signal), (unsigned long long)state->console.lines, first[0] ? "; QEMU: " : "", first);
		set_result(result, BOOT_HOST_ERROR, detail);
	} else if (state->qemu_ended && first[0] && !state->console.bytes) {
		guest_text(detail, sizeof(detail), "QEMU did not start the guest: %s", first);
		set_result(result, BOOT_HOST_ERROR, detail);
	} else if (state->qemu_ended) {
		guest_text(detail, sizeof(detail), "the guest went away before it was done, after %llu console lines%s%s%s%s",
			 (unsigned long long)state->console.lines, first[0] ? "; QEMU: " : "", first,
			 state->trouble[0] ? "; " : "", state->trouble);
		set_result(result, BOOT_EARLY_EXIT, detail);
	} else {
		guest_text(detail, sizeof(detail), "no %s within %u s, after %llu console lines%s%s", state->waiting_for,
			 state->limit_seconds, (unsigned long long)state->console.lines,
			 state->trouble[0] ? "; " : "", state->trouble);
		set_result(result, BOOT_HANG, detail);
	}
}

/* The cause first: what ended the boot, then what was lost, then what was merely noted. */
static void judge_boot(const struct guest_state *state, struct boot_result *result)
{
	uint64_t losses = guest_losses(state);
	char detail[DETAIL_SIZE];

	console_event_text(&state->console.event, detail, sizeof(detail));
	if (state->host_error) {
		guest_text(detail, sizeof(detail), "%s: %s", state->host_what, strerror(-state->host_error));
		set_result(result, BOOT_HOST_ERROR, detail);
	} else if (kernel_is_dead(state)) {
		set_result(result, state->console.event.outcome, detail);
	} else if ((interrupted || state->left) && !state->done) {
		set_result(result, BOOT_INTERRUPTED, state->left ? "left with Ctrl-]" : "interrupted");
	} else if (!state->done && state->console.event.outcome != BOOT_OK && state->console.event.outcome != BOOT_WARN) {
		set_result(result, state->console.event.outcome, detail);
	} else if (!state->done) {
		judge_early_end(state, result);
	} else if (losses) {
		guest_text(detail, sizeof(detail), "%llu frames lost or damaged on their way to the runner", (unsigned long long)losses);
		set_result(result, BOOT_LOST, detail);
	} else if (state->console.event.outcome != BOOT_OK) {
		set_result(result, state->console.event.outcome, detail);
	} else {
		set_result(result, state->worst_case, state->worst_detail);
	}
}

static int open_log(const struct guest_boot *options, int *log)
{
	char *path;

	*log = -1;
	if (!options->raw_directory)
		return 0;
	path = text_format("%s/console.log", options->raw_directory);
	*log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	free(path);
	return *log < 0 ? -errno : 0;
}

static void set_start_failure(const struct guest_boot *options, int error, struct boot_result *result)
{
	if (error == -ENOENT)
		guest_text(result->detail, sizeof(result->detail), "%s is not installed; install package %s",
			 options->qemu.machine->binary, options->qemu.machine->package);
	else if (error == -EINVAL)
		guest_text(result->detail, sizeof(result->detail), "%u CPUs, %u nodes and %llu bytes make no guest",
			 options->qemu.cpus, options->qemu.nodes, (unsigned long long)options->qemu.memory_bytes);
	else
		guest_text(result->detail, sizeof(result->detail), "%s: %s", options->qemu.machine->binary, strerror(-error));
	result->outcome = BOOT_HOST_ERROR;
}

/* A guest that goes away lets QEMU exit; a QEMU that dies of a signal says nothing about the guest. */
static void end_qemu(struct guest_state *state)
{
	int status;

	if (state->qemu_ended && !child_wait(&state->child, END_GRACE_MS, &status) && WIFSIGNALED(status))
		state->qemu_signal = WTERMSIG(status);
	child_end(&state->child, END_GRACE_MS);
}

static void run(struct guest_state *state, struct boot_result *result)
{
	bool last_words = false;

	guest_set_deadline(state, state->options->boot_seconds, "first case");
	while (!turn(state, &last_words))
		;
	end_qemu(state);
	read_rest(state);
	host_failure(state, console_finish(&state->console), "console.log");
	result->seconds = guest_now() - state->started;
	result->seconds_to_workload = state->first_case - state->started;
	judge_boot(state, result);
	result->emulator_suspect = result->outcome == BOOT_OOPS && !strcmp(state->options->qemu.accelerator, "tcg,thread=multi") &&
				   console_event_is_stale_breakpoint(&state->console.event);
	guest_abandon_case(state, result->outcome, result->detail);
}

int guest_boot_run(const struct guest_boot *options, struct boot_result *result)
{
	struct guest_state *state = calloc(1, sizeof(*state));
	int log = -1, error;

	if (!state)
		return -ENOMEM;
	state->options = options;
	state->current = NO_CASE;
	state->first_case = NAN;
	state->terminal_input = options->terminal_input;
	*result = (struct boot_result){ .seconds_to_workload = NAN };
	for (int i = 0; i < STREAM_COUNT; i++)
		state->streams[i] = -1;
	for (int i = 0; i < STREAM_ERRORS; i++)
		channel_init(&state->channels[i], i == STREAM_CONSOLE, guest_message, state);
	error = open_log(options, &log);
	if (error) {
		guest_text(result->detail, sizeof(result->detail), "%s/console.log: %s", options->raw_directory, strerror(-error));
		result->outcome = BOOT_HOST_ERROR;
	} else if (!(error = console_init(&state->console, log))) {
		error = start_qemu(state);
		if (error)
			set_start_failure(options, error, result);
		else
			run(state, result);
	}
	console_free(&state->console);
	for (int i = 0; i < STREAM_COUNT; i++)
		close_if_open(state->streams[i]);
	for (int i = 0; i < STREAM_ERRORS; i++)
		channel_free(&state->channels[i]);
	close_if_open(log);
	free(state->file_name);
	free(state->file_data);
	free(state);
	return error == -ENOMEM ? error : 0;
}
