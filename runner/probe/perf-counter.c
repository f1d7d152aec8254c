// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf-counter.h"
#include "tracefs.h"

struct reading {
	unsigned long long value, enabled, running;	/* layout of read(2) */
};

struct counter {
	char key[128], reason[256];	/* reason "": it counts */
	int *fds;
	struct reading *totals;		/* as of the last report */
};

struct perf_counters {
	struct counter *counters;
	size_t count;
	int *cpus, cpu_count;		/* cpu_count fds a counter; one when not machine-wide */
	bool by_process, grouped;
};

int perf_online_cpus(int **cpus)
{
	char *text, *at;
	int count = 0, capacity = 0, error = probe_read_file("/sys/devices/system/cpu/online", &text);

	*cpus = NULL;
	if (error)
		return error;
	for (at = text; *at >= '0' && *at <= '9'; at += *at == ',') {
		long first = strtol(at, &at, 10), last = *at == '-' ? strtol(at + 1, &at, 10) : first;

		for (long cpu = first; cpu <= last && last < 1 << 16; cpu++) {
			if (count == capacity) {
				int *larger = realloc(*cpus, (size_t)(capacity = 2 * capacity + 8) * sizeof(*larger));

				if (!larger) {
					free(*cpus);
					free(text);
					return -ENOMEM;
				}
				*cpus = larger;
			}
			(*cpus)[count++] = (int)cpu;
		}
	}
	free(text);
	return count ? count : -ENODATA;
}

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu, int leader)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* All counters of a set the same way, or they could not be compared. */
static bool whole_machine_allowed(int cpu)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY };
	int fd = open_event(&attr, -1, cpu, -1);

	if (fd >= 0)
		close(fd);
	return fd != -EACCES && fd != -EPERM;
}

struct perf_counters *perf_counters_new(void)
{
	struct perf_counters *counters = calloc(1, sizeof(*counters));

	if (!counters)
		return NULL;
	counters->cpu_count = perf_online_cpus(&counters->cpus);
	if (counters->cpu_count <= 0 || !whole_machine_allowed(counters->cpus[0])) {
		counters->cpu_count = 1;
		counters->by_process = true;
	}
	return counters;
}

static const char *explain(const struct perf_event_attr *attr, int error)
{
	bool hardware = attr->type != PERF_TYPE_SOFTWARE && attr->type != PERF_TYPE_TRACEPOINT;

	switch (error) {
	case -EACCES:
	case -EPERM:
		return "not allowed (kernel.perf_event_paranoid); count EVENT:u, or run as root, or: "
		       "sudo sysctl kernel.perf_event_paranoid=-1";
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV:
		return hardware ? "no hardware PMU on this machine counts it" : "this kernel has no such event";
	case -ENOSYS:
		return "this kernel has no perf events (CONFIG_PERF_EVENTS)";
	case -EMFILE:
		return "too many open files; raise ulimit -n";
	}
	return strerror(-error);
}

static void close_fds(struct counter *counter, int count)
{
	for (int i = 0; counter->fds && i < count; i++)
		if (counter->fds[i] >= 0)
			close(counter->fds[i]);
}

/* The first one that counts; while one is being opened it may be that one itself. */
static const struct counter *find_leader(const struct perf_counters *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		if (!counters->counters[i].reason[0])
			return &counters->counters[i];
	return NULL;
}

/* The whole machine, CPU by CPU. */
static int open_on_cpus(const struct perf_counters *counters, struct counter *counter, struct perf_event_attr *attr)
{
	const struct counter *leader = counters->grouped ? find_leader(counters) : NULL;

	leader = leader == counter ? NULL : leader;
	/* A member counts when its leader does. */
	attr->disabled = !leader;
	for (int i = 0; i < counters->cpu_count; i++) {
		counter->fds[i] = open_event(attr, -1, counters->cpus[i], leader ? leader->fds[i] : -1);
		if (counter->fds[i] < 0) {
			int error = counter->fds[i];

			close_fds(counter, i);
			return error;
		}
	}
	return 0;
}

static struct counter *new_counter(struct perf_counters *counters, const char *key)
{
	struct counter *larger = realloc(counters->counters, (counters->count + 1) * sizeof(*larger)), *counter;

	if (!larger)
		return NULL;
	counters->counters = larger;
	counter = &larger[counters->count++];
	memset(counter, 0, sizeof(*counter));
	snprintf(counter->key, sizeof(counter->key), "%s", key);
	return counter;
}

int perf_counters_add(struct perf_counters *counters, const char *key, const struct perf_event_attr *attr)
{
	struct counter *counter = new_counter(counters, key);
	struct perf_event_attr own = { 0 };
	int error;

	if (!counter)
		return -ENOMEM;
	counter->fds = calloc((size_t)counters->cpu_count, sizeof(*counter->fds));
	counter->totals = calloc((size_t)counters->cpu_count, sizeof(*counter->totals));
	if (!counter->fds || !counter->totals)
		return -ENOMEM;
	memcpy(&own, attr, attr->size < sizeof(own) ? attr->size : sizeof(own));
	own.size = sizeof(own);
	own.disabled = 1;
	own.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (counters->by_process) {
		own.inherit = 1;
		counter->fds[0] = open_event(&own, 0, -1, -1);
		error = counter->fds[0] < 0 ? counter->fds[0] : 0;
	} else {
		error = open_on_cpus(counters, counter, &own);
	}
	if (error)
		snprintf(counter->reason, sizeof(counter->reason), "%s", explain(&own, error));
	return 0;
}

int perf_counters_miss(struct perf_counters *counters, const char *key, const char *format, ...)
{
	struct counter *counter = new_counter(counters, key);
	va_list list;

	if (!counter)
		return -ENOMEM;
	va_start(list, format);
	vsnprintf(counter->reason, sizeof(counter->reason), format, list);
	va_end(list);
	return 0;
}

int perf_counters_add_tracepoint(struct perf_counters *counters, const char *system, const char *event)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT };
	const char *reason = "";
	unsigned long long id = 0;
	char key[128];
	int error;

	snprintf(key, sizeof(key), "tracepoint.%s:%s", system, event);
	reason = tracepoint_is_idle(system, event);
	if (reason || !tracefs_root(&reason))
		return perf_counters_miss(counters, key, "%s", reason);
	error = tracefs_event_id(system, event, &id);
	if (error)
		return perf_counters_miss(counters, key, "%s", error == -ENOENT ? "this kernel has no such tracepoint" :
					  strerror(-error));
	attr.config = id;
	return perf_counters_add(counters, key, &attr);
}

static void switch_cpu(const struct perf_counters *counters, int index, unsigned long request)
{
	const struct counter *leader = counters->grouped ? find_leader(counters) : NULL;

	if (leader) {
		ioctl(leader->fds[index], request, 0);
		return;
	}
	for (size_t i = 0; i < counters->count; i++)
		if (!counters->counters[i].reason[0])
			ioctl(counters->counters[i].fds[index], request, 0);
}

/*
 * Switching another CPU's counters takes an interrupt there, which counters of
 * interrupts see. This CPU, which sends them, counts as the last and stops as
 * the first, so that it sees none; each other CPU sees its own at most once
 * when it is switched on and once when it is switched off.
 */
static void switch_all(struct perf_counters *counters, unsigned long request)
{
	int here = counters->by_process ? -1 : sched_getcpu(), own = -1;

	for (int i = 0; i < counters->cpu_count && !counters->by_process; i++)
		if (counters->cpus[i] == here)
			own = i;
	if (own >= 0 && request == PERF_EVENT_IOC_DISABLE)
		switch_cpu(counters, own, request);
	for (int i = 0; i < counters->cpu_count; i++)
		if (i != own)
			switch_cpu(counters, i, request);
	if (own >= 0 && request == PERF_EVENT_IOC_ENABLE)
		switch_cpu(counters, own, request);
}

void perf_counters_enable(struct perf_counters *counters)
{
	switch_all(counters, PERF_EVENT_IOC_ENABLE);
}

void perf_counters_disable(struct perf_counters *counters)
{
	switch_all(counters, PERF_EVENT_IOC_DISABLE);
}

double perf_scale(unsigned long long value, unsigned long long enabled, unsigned long long running, double *share)
{
	*share = enabled ? (double)running / (double)enabled : 1;
	if (running == enabled)
		return (double)value;
	return running ? (double)value * (double)enabled / (double)running : NAN;
}

/* What one descriptor counted since the last report. */
static bool read_since(int fd, struct reading *total, struct reading *since)
{
	struct reading now;

	if (read(fd, &now, sizeof(now)) != sizeof(now))
		return false;
	since->value = now.value - total->value;
	since->enabled = now.enabled - total->enabled;
	since->running = now.running - total->running;
	*total = now;
	return true;
}

static void report_counter(const struct perf_counters *counters, struct counter *counter, struct probe_report *report)
{
	double sum = 0, counted = 0, possible = 0, share;
	json_t *each = json_object();
	char cpu[16];

	for (int i = 0; i < counters->cpu_count; i++) {
		struct reading since;
		double value;

		if (!read_since(counter->fds[i], &counter->totals[i], &since)) {
			probe_missing(report->missing, counter->key, "reading the counter: %s", strerror(errno));
			goto out;
		}
		value = perf_scale(since.value, since.enabled, since.running, &share);
		if (isnan(value)) {
			probe_missing(report->missing, counter->key, "never had a hardware counter: too many events at once");
			goto out;
		}
		sum += value;
		counted += (double)since.running;
		possible += (double)since.enabled;
		snprintf(cpu, sizeof(cpu), "%d", counters->by_process ? -1 : counters->cpus[i]);
		json_object_set_new(each, cpu, json_integer(llround(value)));
	}
	json_object_set_new(report->counts, counter->key, json_integer(llround(sum)));
	if (!counters->by_process)
		json_object_set(report->per_cpu, counter->key, each);
	if (counted < possible)
		json_object_set_new(report->scaled, counter->key, json_real(counted / possible));
out:
	json_decref(each);
}

void perf_counters_report(struct perf_counters *counters, struct probe_report *report)
{
	for (size_t i = 0; i < counters->count; i++) {
		struct counter *counter = &counters->counters[i];

		if (counter->reason[0])
			probe_missing(report->missing, counter->key, "%s", counter->reason);
		else
			report_counter(counters, counter, report);
	}
	if (counters->by_process && counters->count)
		probe_missing(report->missing, "perf.whole-machine",
			      "not allowed (kernel.perf_event_paranoid): perf events count this workload's processes only");
}

void perf_counters_free(struct perf_counters *counters)
{
	if (!counters)
		return;
	for (size_t i = 0; i < counters->count; i++) {
		if (!counters->counters[i].reason[0])
			close_fds(&counters->counters[i], counters->cpu_count);
		free(counters->counters[i].fds);
		free(counters->counters[i].totals);
	}
	free(counters->counters);
	free(counters->cpus);
	free(counters);
}

int perf_open_tracepoints(void **state, const struct tracepoint_name *names)
{
	struct perf_counters *counters = perf_counters_new();

	if (counters)
		counters->grouped = !counters->by_process;
	for (; counters && names->system; names++) {
		if (perf_counters_add_tracepoint(counters, names->system, names->event)) {
			perf_counters_free(counters);
			return -ENOMEM;
		}
	}
	*state = counters;
	return counters ? 0 : -ENOMEM;
}

void perf_probe_begin(void *state)
{
	perf_counters_enable(state);
}

void perf_probe_end(void *state)
{
	perf_counters_disable(state);
}

void perf_probe_report(void *state, struct probe_report *report)
{
	perf_counters_report(state, report);
}

void perf_probe_close(void *state)
{
	perf_counters_free(state);
}
