// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The supervisor sleeps while measuring works, and outlives it: whatever way
 * measuring ends, what it changed is put back and no process is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/interrupt.h"
#include "../common/leftovers.h"
#include "../common/orphans.h"
#include "lifeline.h"
#include "run.h"

#define CLEANUP_GRACE_MS 3000

struct supervision {
	struct run *run;
	pid_t pid;
	int watch, frames_in;	/* -1 with --frames: measuring writes to the descriptor itself */
	char *pending;		/* an unfinished line */
	size_t pending_size;
	json_t *start, *iterations;
};

static int start_measuring(struct supervision *supervision)
{
	struct run *run = supervision->run;
	pid_t parent = getpid();
	struct lifeline lifeline;
	int ends[2] = { -1, -1 }, error = lifeline_prepare(&lifeline);

	if (error)
		return error;
	supervision->frames_in = -1;
	if (!run->frame_fd) {
		if (pipe2(ends, O_CLOEXEC))
			return -errno;
		supervision->frames_in = ends[0];
		run->frame_fd = ends[1];
	}
	fflush(NULL);
	/*
	 * The child must begin where it will stay: a CPU that it only passed through would keep a bit in its mm's
	 * cpumask, and get a flush IPI that belongs to nothing.
	 */
	if (!run->workload->unpinned)
		pin_to_cpu(run->placement.places[0].cpu);
	supervision->pid = fork();
	if (supervision->pid < 0)
		return -errno;
	if (!supervision->pid) {
		lifeline_hold(&lifeline);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(STATUS_INTERNAL);
		setpgid(0, 0);
		if (ends[0] >= 0)
			close(ends[0]);
		exit(measure(run));
	}
	setpgid(supervision->pid, supervision->pid);
	if (ends[1] >= 0)
		close(ends[1]);
	supervision->watch = lifeline_watch(&lifeline, supervision->pid);
	return supervision->watch < 0 ? supervision->watch : 0;
}

static void take_line(struct supervision *supervision, const char *line, size_t length)
{
	json_t *frame = json_loadb(line, length, 0, NULL);
	const char *kind = json_string_value(json_object_get(frame, "frame"));

	if (kind && !strcmp(kind, "start")) {
		json_decref(supervision->start);
		supervision->start = json_incref(frame);
	} else if (kind && !strcmp(kind, "iteration")) {
		json_object_del(frame, "frame");
		json_array_append(supervision->iterations, frame);
	}
	json_decref(frame);
}

/* Takes what the pipe holds; false when nothing more will come. */
static bool take_frames(struct supervision *supervision)
{
	char buffer[65536], *newline, *text;
	ssize_t got = read(supervision->frames_in, buffer, sizeof(buffer));

	if (got <= 0)
		return got < 0 && errno == EINTR;
	text = realloc(supervision->pending, supervision->pending_size + (size_t)got);
	if (!text)
		return false;
	memcpy(text + supervision->pending_size, buffer, (size_t)got);
	supervision->pending = text;
	supervision->pending_size += (size_t)got;
	while ((newline = memchr(supervision->pending, '\n', supervision->pending_size))) {
		size_t length = (size_t)(newline - supervision->pending) + 1;

		take_line(supervision, supervision->pending, length);
		supervision->pending_size -= length;
		memmove(supervision->pending, newline + 1, supervision->pending_size);
	}
	return true;
}

/* Returns when measuring has ended, or when the person wants no more. */
static void wait_for_end(struct supervision *supervision, int timeout_ms, bool heed_interrupt)
{
	struct pollfd waits[2] = {
		{ .fd = supervision->watch, .events = POLLIN },
		{ .fd = supervision->frames_in, .events = POLLIN },	/* a negative descriptor is passed over */
	};

	while (!(heed_interrupt && interrupted)) {
		int ready = poll(waits, 2, timeout_ms);

		if (!ready || (ready < 0 && errno != EINTR))
			return;
		if (ready > 0 && waits[1].revents && !take_frames(supervision))
			waits[1].fd = -1;
		else if (ready > 0 && waits[0].revents && !waits[1].revents)
			return;
	}
}

static void end_measuring(struct supervision *supervision, int *status)
{
	if (interrupted) {
		/* A second Ctrl-C must not end us before things are put back: what follows is bounded. */
		sigset_t block;

		sigfillset(&block);
		sigprocmask(SIG_BLOCK, &block, NULL);
		/* First the gentle way: the workload's cleanup() may have a server to stop. */
		kill(supervision->pid, SIGTERM);
		wait_for_end(supervision, CLEANUP_GRACE_MS, false);
	}
	/* Before the leader is reaped, so that the group's number cannot belong to anybody else. */
	kill(-supervision->pid, SIGKILL);
	while (waitpid(supervision->pid, status, 0) < 0 && errno == EINTR)
		;
	close(supervision->watch);
	orphans_kill();
}

static int judge(struct supervision *supervision, int status)
{
	struct run_shared *shared = supervision->run->shared;
	char path[UNDO_PATH];
	int error = undo_all(&shared->undo, path);

	if (interrupted) {
		atomic_store(&shared->text_claimed, 1);
		snprintf(shared->error_text, sizeof(shared->error_text), "interrupted by signal %d (%s)", interrupted,
			 strsignal(interrupted));
		return STATUS_ENVIRONMENT;
	}
	if (!atomic_load(&shared->finished)) {
		if (WIFSIGNALED(status))
			shared_fail(shared, -EIO, "the measuring process was killed by signal %d (%s)", WTERMSIG(status),
				    strsignal(WTERMSIG(status)));
		else
			shared_fail(shared, -EIO, "the measuring process exited with status %d before its end",
				    WEXITSTATUS(status));
		return STATUS_FAILED;
	}
	if (error) {
		shared_fail(shared, error, "putting back %s: %s", path, strerror(-error));
		return STATUS_ENVIRONMENT;
	}
	return atomic_load(&shared->status);
}

static const char *status_name(int status)
{
	return status == STATUS_DONE ? "done" : status == STATUS_UNSUPPORTED ? "unsupported" : "failed";
}

static int emit_end(struct supervision *supervision, const char *status)
{
	struct run *run = supervision->run;
	json_t *end = frame_end(status, run->shared->error_text);
	int error = 0;

	/* A line that was cut short by a crash must not swallow this one. */
	if (atomic_load(&run->shared->writing) && write(run->frame_fd, "\n", 1) != 1)
		error = -errno;
	if (!error)
		error = frame_write(run->frame_fd, end);
	json_decref(end);
	return error;
}

static int emit_json(struct supervision *supervision, const char *status)
{
	json_t *document = json_pack("{s:s, s:O?, s:O, s:s}", "workload", supervision->run->workload->name,
				     "start", supervision->start, "iterations", supervision->iterations, "status", status);
	int error;

	if (*supervision->run->shared->error_text)
		json_object_set_new(document, "error", json_string(supervision->run->shared->error_text));
	error = json_dumpf(document, stdout, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15)) ? -EIO : 0;
	putchar('\n');
	json_decref(document);
	return error;
}

static int emit(struct supervision *supervision, int status)
{
	int error = 0;

	if (supervision->frames_in < 0)
		error = emit_end(supervision, status_name(status));
	else if (supervision->run->harness->json)
		error = emit_json(supervision, status_name(status));
	else if (json_array_size(supervision->iterations))
		summary_print(supervision->run->workload, supervision->start, supervision->iterations);
	if (status != STATUS_DONE)
		fprintf(stderr, "%s: %s: %s\n", supervision->run->workload->name, status_name(status),
			supervision->run->shared->error_text);
	if (fflush(stdout) || ferror(stdout) || error) {
		fprintf(stderr, "%s: writing the result: %s\n", supervision->run->workload->name,
			strerror(error ? -error : errno));
		return status ? status : STATUS_ENVIRONMENT;
	}
	return status;
}

/* What the user gave must be open, and must not be kept open by what the workload starts. */
static int check_frame_fd(const struct run *run)
{
	int flags = run->frame_fd ? fcntl(run->frame_fd, F_GETFD) : 0;

	if (flags >= 0 && (!run->frame_fd || !fcntl(run->frame_fd, F_SETFD, flags | FD_CLOEXEC)))
		return 0;
	fprintf(stderr, "%s: --frames: file descriptor %d is not open\n", run->workload->name, run->frame_fd);
	return -EBADF;
}

int supervise(struct run *run)
{
	struct supervision supervision = { .run = run, .iterations = json_array() };
	unsigned int cleared;
	char reason[256];
	int status = 0, error;

	run->frame_fd = (int)run->harness->frames;
	if (check_frame_fd(run)) {
		json_decref(supervision.iterations);
		return STATUS_USAGE;
	}
	run->shared = mmap(NULL, sizeof(*run->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->shared == MAP_FAILED) {
		fprintf(stderr, "%s: mapping shared memory: %s\n", run->workload->name, strerror(errno));
		return STATUS_ENVIRONMENT;
	}
	interrupt_handlers_install();
	/* A value that a killed run left must not be taken for the machine's own. */
	leftovers_clear(&cleared, reason, sizeof(reason));
	probes_prepare(run->harness->probes);
	orphans_adopt();
	error = start_measuring(&supervision);
	if (error) {
		fprintf(stderr, "%s: starting the measuring process: %s\n", run->workload->name, strerror(-error));
		status = STATUS_ENVIRONMENT;
	} else {
		wait_for_end(&supervision, -1, true);
		end_measuring(&supervision, &status);
		status = emit(&supervision, judge(&supervision, status));
	}
	json_decref(supervision.start);
	json_decref(supervision.iterations);
	free(supervision.pending);
	if (supervision.frames_in >= 0)
		close(supervision.frames_in);
	munmap(run->shared, sizeof(*run->shared));
	return status;
}
