// SPDX-License-Identifier: GPL-2.0-or-later
/* The life of the measuring process: from the probes' opening to the workload's cleanup. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/interrupt.h"
#include "team.h"

static int remember_directory(void *context, const char *path)
{
	struct run *run = context;

	return undo_note(&run->shared->undo, UNDO_REMOVE_DIRECTORY, path, NULL);
}

static int write_frame(struct run *run, json_t *frame)
{
	int error;

	if (!frame)
		return shared_fail(run->shared, -ENOMEM, "a frame cannot be made: out of memory, or text that is not UTF-8");
	atomic_store(&run->shared->writing, true);
	error = frame_write(run->frame_fd, frame);
	atomic_store(&run->shared->writing, false);
	json_decref(frame);
	if (error)
		return shared_fail(run->shared, error, "writing a frame: %s", strerror(-error));
	frame_settle(run->frame_fd);
	return 0;
}

static int one_iteration(struct run *run, unsigned int index)
{
	struct iteration iteration = {
		.run = run, .index = index, .warmup = index < run->harness->warmup,
		.metrics = json_object(), .missing = json_object(),
	};
	int error = iteration_run(&iteration);

	if (!error)
		error = write_frame(run, frame_iteration(&iteration));
	json_decref(iteration.metrics);
	json_decref(iteration.missing);
	free(iteration.latency);
	return error;
}

static int iterations(struct run *run)
{
	unsigned int total = (unsigned int)(run->harness->warmup + run->harness->iterations);
	int error = 0;

	for (unsigned int i = 0; i < total && !error; i++)
		error = interrupted ? -EINTR : one_iteration(run, i);
	return error;
}

static int prepare(struct run *run)
{
	int error = run->workload->unpinned ? pin_to_all(&run->placement) : pin_to_cpu(run->placement.places[0].cpu);
	const struct probe_environment environment = {
		.remember_directory = remember_directory, .context = run,
	};

	if (error)
		return shared_fail(run->shared, error, "pinning the measuring process: %s", strerror(-error));
	run->gate = gate_new(run->shared);
	if (!run->gate)
		return shared_fail(run->shared, -errno, "making the gate: %s", strerror(errno));
	run->probes = probes_open(run->harness->probes, &environment);
	if (!run->probes)
		return shared_fail(run->shared, -ENOMEM, "opening the probes: out of memory");
	error = run->workload->prepare ? run->workload->prepare(run) : 0;
	return error ? callback_failed(run, "prepare", error) : 0;
}

static int status_of(int error)
{
	/* The machine's fault, not the work's. */
	return !error ? STATUS_DONE : error == -EINTR ? STATUS_ENVIRONMENT : STATUS_FAILED;
}

int measure(struct run *run)
{
	char reason[REASON_SIZE] = "";
	int error;

	run->settings = json_object();
	if (run->workload->supported && run->workload->supported(run, reason, sizeof(reason))) {
		shared_fail(run->shared, -EOPNOTSUPP, "%s", *reason ? reason : "not supported here");
		error = write_frame(run, frame_start(run));
		atomic_store(&run->shared->status, STATUS_UNSUPPORTED);
		goto out_settings;
	}
	error = prepare(run);
	/* After prepare(), because facts must be those in force while it runs. */
	if (!error)
		error = write_frame(run, frame_start(run));
	else
		write_frame(run, frame_start(run));
	if (!error)
		error = iterations(run);
	if (run->workload->cleanup)
		run->workload->cleanup(run);
	atomic_store(&run->shared->status, status_of(error));
	/* A thread that cannot be joined still uses what would be freed. */
	if (error == -ETIMEDOUT) {
		atomic_store(&run->shared->finished, true);
		_exit(STATUS_FAILED);
	}
	if (run->probes)
		probes_close(run->probes);
	if (run->gate)
		gate_free(run->gate);
out_settings:
	json_decref(run->settings);
	free(run->directory);
	free(run->helper);
	atomic_store(&run->shared->finished, true);
	return atomic_load(&run->shared->status);
}
