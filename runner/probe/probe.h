/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A probe is one source of counts round the ROI. One file in runner/probe/
 * defines one `const struct probe` and registers it; nothing else lists it.
 *
 *   open -> K x (begin -> [ROI] -> end -> report) -> close
 *
 * begin() and end() stand right before and right after the clock: they only
 * read or switch; whatever takes longer belongs in report(). What cannot be
 * had goes to `missing` with its reason, never to `counts` as 0.
 */
#ifndef SHOOTDOWN_PROBE_H
#define SHOOTDOWN_PROBE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

/* What worker processes used inside one ROI. */
struct probe_usage {
	double user_seconds, system_seconds;
	long voluntary_context_switches, involuntary_context_switches;
	long minor_page_faults, major_page_faults;
};

void usage_add_difference(struct probe_usage *usage, const struct rusage *before, const struct rusage *after);

/* The record's objects that report() fills; keys are those of CONTRIBUTING.md, "Frames". */
struct probe_report {
	json_t *counts, *per_cpu, *histograms, *scaled, *missing;
	const struct probe_usage *workers;	/* worker processes of the harness, which live beyond the ROI's end */
	double elapsed_seconds;
};

struct probe_environment {
	/* Notes a directory to be removed by rmdir when the run ends, however it ends. -errno: do not make it. */
	int (*remember_directory)(void *context, const char *path);
	void *context;
	const char *const *arguments;		/* what followed "NAME:", NULL-terminated */
};

struct probe {
	const char *name, *summary;
	bool costly;		/* not in the default set */
	bool takes_argument;	/* NAME:ARGUMENT, may be given several times */
	bool wants_tracefs;
	/* 0, or -EINVAL and a reason with the nearest name when there is no such argument anywhere. May be NULL. */
	int (*check)(const char *argument, char *reason, size_t reason_size);
	/* *state is the probe's own. Trouble with a source is no error: it is kept for `missing`. -ENOMEM only. */
	int (*open)(void **state, const struct probe_environment *environment);
	void (*begin)(void *state);
	void (*end)(void *state);
	void (*report)(void *state, struct probe_report *report);
	void (*close)(void *state);
	void (*facts)(json_t *facts, json_t *missing);	/* for the start frame; called whether the probe is on or not */
};

#define PROBE_REGISTER(probe_struct) \
	static const struct probe *const probe_struct##_entry __attribute__((used, section("shootdown_probes"))) = &(probe_struct)

/* Iterates: probe_next(NULL) is the first. */
const struct probe *const *probe_next(const struct probe *const *previous);

/* --- the set of probes of a run (probes.c) --- */

struct probe_set;

/* 0, or -EINVAL and one line: no such probe or argument, with the nearest name. */
int probes_check(const char *const *names, char *reason, size_t reason_size);
/* In the process that outlives the measuring one, before it is forked: tracefs, where a chosen probe wants it. */
void probes_prepare(const char *const *names);
/* names may contain "default". NULL: out of memory. Trouble of a source shows in `missing`. */
struct probe_set *probes_open(const char *const *names, const struct probe_environment *environment);
void probes_begin(struct probe_set *set);
void probes_end(struct probe_set *set);
void probes_report(struct probe_set *set, struct probe_report *report);
void probes_close(struct probe_set *set);
void probes_facts(json_t *facts, json_t *missing);

/* --- for probes (source.c) --- */

/* Prefix of /proc and /sys: "" but in tests, which read captured trees. */
extern const char *probe_root;
/* Whole file below probe_root; caller frees. -errno. */
int probe_read_file(const char *path, char **text);

/* A file that is read before and after the ROI through one descriptor, into memory that is kept. */
struct sampled_file {
	const char *path;
	int fd;
	char *text[2];		/* NUL-terminated; before, after */
	size_t capacity[2];
	int error[2];		/* -errno of each reading */
};

void sampled_open(struct sampled_file *file, const char *path);
void sampled_read(struct sampled_file *file, int which);
void sampled_close(struct sampled_file *file);
/* First error of the two readings; 0 when both stand. */
int sampled_error(const struct sampled_file *file);

void probe_missing(json_t *missing, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
