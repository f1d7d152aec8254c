/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One campaign from words to records: what `run`, `reproduce` and `bisect` share. Reports its own errors. */
#ifndef SHOOTDOWN_RUN_H
#define SHOOTDOWN_RUN_H

#include <stdbool.h>

#include "plan/plan.h"

struct run_words {
	const char *suite;		/* SUITE or WORKLOAD */
	const char *const *specs;	/* -k; NULL-terminated, may be empty: the suite's */
	const char *const *kconfig;	/* may be empty: the lane's in the suite, else fast */
	const char *const *probes;
	const char *const *options;	/* "NAME=VALUE" of the workload, for every case; may be NULL */
	const char *lane, *cpus, *blocks, *iterations, *warmup, *phases, *memory, *timeout, *nodes, *slice, *seed, *architecture, *baseline;
	const char *only_case;		/* leave only this case of the suite; NULL: all */
	const char *directory;		/* -o */
	const char *reboot, *initrd;	/* how the machine is booted into the next kernel; not part of the plan */
	bool dry_run, resume;
	bool aa;			/* the first kernel against itself: what --pilot runs */
	const char *const *exec;	/* NULL: none */
	const char *const *exec_files;
};

/* Exit status; *directory (caller frees) is where the campaign stands, NULL when there is none. */
int run_campaign(const struct run_words *words, char **directory);

/* Builds the kernels that specs name; ranges are expanded. Exit status; the caller frees with run_kernels_free(). */
int run_build_kernels(const char *const *specs, const char *const *kconfig, const char *architecture, bool check_only,
		      struct kernel **kernels, size_t *count);
/* The kernels of a campaign as it recorded them, from the cache; false: one is gone, or the campaign has none. */
bool run_recall_kernels(const char *campaign_directory, struct kernel **kernels, size_t *count);
void run_kernels_free(struct kernel *kernels, size_t count);

#endif
