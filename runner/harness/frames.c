// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "team.h"

json_t *frame_start(const struct run *run)
{
	const struct option_table table = { run->workload->options, run->options, NULL };
	json_t *missing = json_object(), *facts = machine_facts(&run->placement, missing);

	if (json_object_size(run->settings))
		json_object_set(facts, "settings", run->settings);
	probes_facts(facts, missing);
	return json_pack("{s:s, s:i, s:s, s:o, s:o, s:o}", "frame", "start", "contract", WORKLOAD_CONTRACT,
			 "workload", run->workload->name, "options", options_values_json(&table),
			 "facts", facts, "missing", missing);
}

static void miss_unreported_metrics(const struct iteration *iteration)
{
	for (const struct workload_metric *metric = iteration->run->workload->metrics; metric && metric->name; metric++)
		if (!json_object_get(iteration->metrics, metric->name) &&
		    !json_object_get(iteration->missing, metric->name))
			iteration_missing((struct iteration *)iteration, metric->name, "not reported by the workload");
}

json_t *frame_iteration(struct iteration *iteration)
{
	struct probe_report report = {
		.counts = json_object(), .per_cpu = json_object(), .histograms = json_object(),
		.scaled = json_object(), .missing = iteration->missing,
		.workers = &iteration->usage, .elapsed_seconds = iteration_seconds(iteration),
	};
	json_t *frame;

	miss_unreported_metrics(iteration);
	probes_report(iteration->run->probes, &report);
	if (iteration->latency)
		json_object_set_new(report.histograms, "latency_ns", latency_json(iteration->latency));
	frame = json_pack("{s:s, s:i, s:b, s:I, s:I, s:I, s:O, s:o, s:o, s:o, s:o, s:O}", "frame", "iteration",
			  "index", iteration->index, "warmup", iteration->warmup,
			  "elapsed_ns", (json_int_t)(iteration->stopped - iteration->started),
			  "operations", (json_int_t)iteration->operations, "bytes", (json_int_t)iteration->bytes,
			  "metrics", iteration->metrics, "counts", report.counts, "per_cpu", report.per_cpu,
			  "histograms", report.histograms, "scaled", report.scaled, "missing", iteration->missing);
	return frame;
}

json_t *frame_end(const char *status, const char *error)
{
	json_t *frame = json_pack("{s:s, s:s}", "frame", "end", "status", status);

	if (error && *error)
		json_object_set_new(frame, "error", json_string(error));
	return frame;
}

int frame_write(int fd, const json_t *frame)
{
	char *text = json_dumps(frame, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
	size_t length, done = 0;
	int error = 0;

	if (!text)
		return -ENOMEM;
	length = strlen(text);
	text[length++] = '\n';	/* in place of the NUL */
	while (done < length && !error) {
		ssize_t written = write(fd, text + done, length - done);

		if (written > 0)
			done += (size_t)written;
		else if (written < 0 && errno != EINTR)
			error = -errno;
	}
	free(text);
	return error;
}

/* True when nobody but us is running or waiting for a CPU: "0.00 0.01 0.05 1/123 4567". Unknown: true. */
static bool machine_is_quiet(void)
{
	unsigned int running = 1;
	char *text;

	if (probe_read_file("/proc/loadavg", &text))
		return true;
	if (sscanf(text, "%*s %*s %*s %u/", &running) != 1)
		running = 1;
	free(text);
	return running <= 1;
}

/*
 * The reader of the frame must be done with it before the next ROI begins: its
 * work would be counted there. Waits, at most 0.2 s, until the pipe is empty
 * and the machine has been quiet for a few milliseconds.
 */
void frame_settle(int fd)
{
	const struct timespec step = { .tv_nsec = 2000000 };
	struct stat status;
	int waiting = 0;

	if (fstat(fd, &status) || !S_ISFIFO(status.st_mode))
		return;
	for (int i = 0, quiet = 0; i < 100 && quiet < 3; i++) {
		nanosleep(&step, NULL);
		if (ioctl(fd, FIONREAD, &waiting))
			return;
		quiet = !waiting && machine_is_quiet() ? quiet + 1 : 0;
	}
}
