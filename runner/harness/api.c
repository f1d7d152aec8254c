// SPDX-License-Identifier: GPL-2.0-or-later
/* What workload.h offers to workloads about their run. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../common/files.h"
#include "team.h"

int shared_fail(struct run_shared *shared, int error, const char *format, ...)
{
	int nothing = 0;
	va_list list;

	/* The first one explains: what follows is mostly its consequence. The text is there before the error shows. */
	if (atomic_compare_exchange_strong(&shared->text_claimed, &nothing, 1)) {
		va_start(list, format);
		vsnprintf(shared->error_text, sizeof(shared->error_text), format, list);
		va_end(list);
		atomic_store(&shared->error, error ? error : -EIO);
	}
	return error;
}

int callback_failed(struct run *run, const char *callback, int error)
{
	return shared_fail(run->shared, error, "%s: %s", callback, strerror(-error));
}

int run_fail(struct run *run, int error, const char *format, ...)
{
	char text[REASON_SIZE];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return shared_fail(run->shared, error, "%s", text);
}

char *const *run_command(const struct run *run)
{
	return run->command;
}

void *run_options(struct run *run)
{
	return run->options;
}

void *run_private(struct run *run)
{
	return run->private;
}

void run_set_private(struct run *run, void *pointer)
{
	run->private = pointer;
}

const struct machine_limits *run_limits(const struct run *run)
{
	return &run->limits;
}

int run_cpus(struct run *run, unsigned int count, int *cpus)
{
	return placement_cpus(&run->placement, count, cpus);
}

int run_cpu_pair(struct run *run, enum cpu_relation relation, unsigned int pair, int cpus[2])
{
	return placement_pair(&run->placement, relation, pair, cpus);
}

int run_node_of_cpu(struct run *run, int cpu)
{
	const struct place *place = placement_of_cpu(&run->placement, cpu);

	return place ? place->node : 0;
}

/* DIRECTORY/NAME beside the workload's own executable, kept in the run; NULL when it is not there. */
static const char *beside_workload(struct run *run, const char *directory, const char *name, int access_mode)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (length < 0)
		return NULL;
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	free(run->helper);
	run->helper = text_format("%s/%s/%s", self, directory, name);
	return access(run->helper, access_mode) ? NULL : run->helper;
}

const char *run_helper(struct run *run, const char *name)
{
	return beside_workload(run, "helpers", name, X_OK);
}

const char *run_tree(struct run *run, const char *name)
{
	return strchr(name, '/') ? NULL : beside_workload(run, "trees", name, R_OK);
}

const char *run_directory(struct run *run)
{
	const char *const places[] = { getenv("TMPDIR"), "/tmp", "/dev/shm", "/run" };
	int error;

	for (size_t i = 0; !run->directory && i < sizeof(places) / sizeof(places[0]); i++) {
		char *path;

		if (!places[i] || !*places[i])
			continue;
		path = text_format("%s/shootdown-XXXXXX", places[i]);
		if (!mkdtemp(path)) {
			free(path);
			continue;
		}
		error = undo_note(&run->shared->undo, UNDO_REMOVE_TREE, path, NULL);
		if (error) {
			rmdir(path);
			free(path);
			errno = -error;
			return NULL;
		}
		run->directory = path;
	}
	return run->directory;
}

/* "always [madvise] never" holds the word in brackets; other files hold their whole line. */
static void value_in_force(char *text)
{
	char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	if (close) {
		*close = '\0';
		memmove(text, open + 1, strlen(open + 1) + 1);
	}
	text[strcspn(text, "\n")] = '\0';
}

static bool already_noted(const struct undo_ledger *ledger, const char *path)
{
	for (unsigned int i = 0; i < atomic_load(&ledger->count); i++)
		if (ledger->entries[i].kind == UNDO_WRITE && !strcmp(ledger->entries[i].path, path))
			return true;
	return false;
}

int run_set_file(struct run *run, const char *path, const char *value)
{
	char *old;
	size_t size;
	int error = read_file(path, UNDO_VALUE, &old, &size);

	if (error)
		return error;
	value_in_force(old);
	/* Only the first value found is the machine's own. */
	if (!already_noted(&run->shared->undo, path))
		error = undo_note(&run->shared->undo, UNDO_WRITE, path, old);
	free(old);
	if (!error)
		error = write_setting(path, value);
	if (!error)
		json_object_set_new(run->settings, path, json_string(value));
	return error;
}

uint64_t clock_nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

unsigned int iteration_index(const struct iteration *iteration)
{
	return iteration->index;
}

int iteration_add_team(struct iteration *iteration, const struct team_spec *spec)
{
	struct team *team;

	if (!spec->count || !spec->work || iteration->team_count == TEAMS)
		return -EINVAL;
	team = team_new(iteration->run, spec);
	if (!team)
		return -errno;
	iteration->teams[iteration->team_count++] = team;
	return 0;
}

uint64_t iteration_operations(const struct iteration *iteration)
{
	return iteration->operations;
}

uint64_t iteration_bytes(const struct iteration *iteration)
{
	return iteration->bytes;
}

double iteration_seconds(const struct iteration *iteration)
{
	return (double)(iteration->stopped - iteration->started) / 1e9;
}

void iteration_count(struct iteration *iteration, uint64_t operations, uint64_t bytes)
{
	iteration->operations += operations;
	iteration->bytes += bytes;
}

void iteration_metric(struct iteration *iteration, const char *name, double value)
{
	if (!isfinite(value))
		iteration_missing(iteration, name, "the workload could not compute it");
	else
		json_object_set_new(iteration->metrics, name, json_real(value));
}

void iteration_missing(struct iteration *iteration, const char *name, const char *reason)
{
	json_object_del(iteration->metrics, name);
	json_object_set_new(iteration->missing, name, json_string(reason));
}

const struct latency_histogram *iteration_latency(const struct iteration *iteration)
{
	return iteration->latency;
}
