// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf-counter.h"
#include "sampler.h"

enum command { BEGIN = 'b', END = 'e', RESULT = 'r' };

struct sampler {
	pid_t pid;
	FILE *stream;		/* both ways: commands out, answers in */
};

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

/* State of the sampling process. */
struct sampling {
	const struct sampler_spec *spec;
	struct ring *rings;
	struct pollfd *waits;	/* commands first, then the rings */
	int count;
	size_t page_size, buffer_size;
	char *scratch;		/* a record that wraps round the end */
	unsigned long long lost;
};

static size_t buffer_size(size_t wanted, size_t page_size)
{
	size_t size = page_size;

	while (size < wanted)
		size *= 2;
	return size;
}

static int open_ring(struct sampling *sampling, struct ring *ring, int cpu)
{
	struct perf_event_attr attr = { 0 };
	void *memory;

	memcpy(&attr, sampling->spec->attr, sampling->spec->attr->size < sizeof(attr) ? sampling->spec->attr->size :
	       sizeof(attr));
	attr.size = sizeof(attr);
	attr.disabled = 1;
	attr.watermark = 1;
	attr.wakeup_watermark = (__u32)(sampling->buffer_size / 2);
	ring->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return -errno;
	memory = mmap(NULL, sampling->page_size + sampling->buffer_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	ring->page = memory;
	return 0;
}

static int open_rings(struct sampling *sampling, int command_fd)
{
	int *cpus, error = 0;

	sampling->page_size = (size_t)sysconf(_SC_PAGESIZE);
	sampling->buffer_size = buffer_size(sampling->spec->buffer_bytes, sampling->page_size);
	sampling->count = perf_online_cpus(&cpus);
	if (sampling->count < 0)
		return sampling->count;
	sampling->rings = calloc((size_t)sampling->count, sizeof(*sampling->rings));
	sampling->waits = calloc((size_t)sampling->count + 1, sizeof(*sampling->waits));
	sampling->scratch = malloc(65536);
	if (!sampling->rings || !sampling->waits || !sampling->scratch)
		error = -ENOMEM;
	for (int i = 0; i < sampling->count && !error; i++) {
		error = open_ring(sampling, &sampling->rings[i], cpus[i]);
		sampling->waits[i + 1] = (struct pollfd){ .fd = sampling->rings[i].fd, .events = POLLIN };
	}
	free(cpus);
	if (!error)
		sampling->waits[0] = (struct pollfd){ .fd = command_fd, .events = POLLIN };
	return error;
}

static void take_record(struct sampling *sampling, const struct perf_event_header *header)
{
	const char *body = (const char *)(header + 1);
	size_t size = header->size - sizeof(*header);
	unsigned long long lost[2];	/* id, count */

	if (header->type == PERF_RECORD_SAMPLE) {
		sampling->spec->record(sampling->spec->context, header->misc, body, size);
	} else if (header->type == PERF_RECORD_LOST && size >= sizeof(lost)) {
		memcpy(lost, body, sizeof(lost));
		sampling->lost += lost[1];
	}
}

static void drain(struct sampling *sampling, struct ring *ring)
{
	const char *data = (const char *)ring->page + sampling->page_size;
	unsigned long long tail = ring->page->data_tail;
	unsigned long long head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

	while (tail < head) {
		size_t at = tail & (sampling->buffer_size - 1), first;
		const struct perf_event_header *header = (const struct perf_event_header *)(data + at);

		/* Records are aligned to 8 bytes, so the header itself never wraps; what follows may. */
		if (header->size < sizeof(*header))
			break;
		if (at + header->size > sampling->buffer_size) {
			first = sampling->buffer_size - at;
			memcpy(sampling->scratch, data + at, first);
			memcpy(sampling->scratch + first, data, header->size - first);
			header = (const struct perf_event_header *)sampling->scratch;
		}
		take_record(sampling, header);
		tail += header->size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

static void drain_all(struct sampling *sampling)
{
	for (int i = 0; i < sampling->count; i++)
		drain(sampling, &sampling->rings[i]);
}

static void switch_all(struct sampling *sampling, unsigned long request)
{
	for (int i = 0; i < sampling->count; i++)
		ioctl(sampling->rings[i].fd, request, 0);
}

/* Answers one line to each command. false: nobody asks any more. */
static bool obey(struct sampling *sampling, int fd, FILE *answers)
{
	char command;
	json_t *answer;

	if (read(fd, &command, 1) != 1)
		return false;
	switch (command) {
	case BEGIN:
		sampling->spec->reset(sampling->spec->context);
		sampling->lost = 0;
		switch_all(sampling, PERF_EVENT_IOC_ENABLE);
		fputs("ok\n", answers);
		break;
	case END:
		switch_all(sampling, PERF_EVENT_IOC_DISABLE);
		drain_all(sampling);
		fputs("ok\n", answers);
		break;
	case RESULT:
		answer = json_pack("{s:I, s:o}", "lost", (json_int_t)sampling->lost,
				   "result", sampling->spec->result(sampling->spec->context));
		json_dumpf(answer, answers, JSON_COMPACT);
		fputc('\n', answers);
		json_decref(answer);
		break;
	}
	return !fflush(answers);
}

static void __attribute__((noreturn)) sampling_main(const struct sampler_spec *spec, int fd)
{
	struct sampling sampling = { .spec = spec };
	FILE *answers = fdopen(fd, "w");
	cpu_set_t all;
	int error = answers ? open_rings(&sampling, fd) : -ENOMEM;

	/* Not on the measuring process's CPU alone, where it would take its time. */
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	if (answers)
		fprintf(answers, "%d\n", error);
	if (!answers || fflush(answers) || error)
		_exit(1);
	while (poll(sampling.waits, (nfds_t)sampling.count + 1, -1) >= 0 || errno == EINTR) {
		drain_all(&sampling);
		if (sampling.waits[0].revents && !obey(&sampling, fd, answers))
			break;
	}
	_exit(0);
}

static void explain(int error, char *reason, size_t reason_size)
{
	snprintf(reason, reason_size, "%s", error == -EACCES || error == -EPERM ?
		 "sampling every CPU is not allowed (kernel.perf_event_paranoid); run as root" :
		 error == -ENOENT || error == -EOPNOTSUPP ? "no such event on this machine" : strerror(-error));
}

static void ask(struct sampler *sampler, enum command command)
{
	char sign = (char)command;
	ssize_t sent;

	do
		sent = write(fileno(sampler->stream), &sign, 1);
	while (sent < 0 && errno == EINTR);
}

/* One line; caller frees. NULL: the sampling process is gone. */
static char *answer(struct sampler *sampler)
{
	char *line = NULL;
	size_t size = 0;

	if (getline(&line, &size, sampler->stream) > 0)
		return line;
	free(line);
	return NULL;
}

static void __attribute__((noreturn)) child_main(const struct sampler_spec *spec, const int ends[2], pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_IGN);
	close(ends[0]);
	if (getppid() != parent)
		_exit(1);
	sampling_main(spec, ends[1]);
}

/* 0, or the child's -errno. */
static int start(struct sampler *sampler, const struct sampler_spec *spec)
{
	pid_t parent = getpid();
	int ends[2], error = -EIO;
	char *line;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	fflush(NULL);
	sampler->pid = fork();
	if (!sampler->pid)
		child_main(spec, ends, parent);
	close(ends[1]);
	sampler->stream = sampler->pid > 0 ? fdopen(ends[0], "r+") : NULL;
	if (!sampler->stream) {
		close(ends[0]);
		return error;
	}
	line = answer(sampler);
	error = line ? atoi(line) : error;
	free(line);
	return error;
}

struct sampler *sampler_open(const struct sampler_spec *spec, char *reason, size_t reason_size)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	int error = sampler ? start(sampler, spec) : -ENOMEM;

	if (!error)
		return sampler;
	explain(error, reason, reason_size);
	sampler_close(sampler);
	return NULL;
}

static void ask_and_wait(struct sampler *sampler, enum command command)
{
	ask(sampler, command);
	free(answer(sampler));
}

void sampler_begin(struct sampler *sampler)
{
	ask_and_wait(sampler, BEGIN);
}

void sampler_end(struct sampler *sampler)
{
	ask_and_wait(sampler, END);
}

json_t *sampler_result(struct sampler *sampler)
{
	json_t *result;
	char *line;

	ask(sampler, RESULT);
	line = answer(sampler);
	result = line ? json_loads(line, 0, NULL) : NULL;
	free(line);
	return result;
}

void sampler_close(struct sampler *sampler)
{
	if (!sampler)
		return;
	if (sampler->stream)
		fclose(sampler->stream);
	if (sampler->pid > 0) {
		kill(sampler->pid, SIGTERM);
		while (waitpid(sampler->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(sampler);
}
