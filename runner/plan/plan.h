/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan: everything that a campaign will do, resolved before anything
 * boots, as the JSON that CONTRIBUTING.md describes ("plan.json").
 */
#ifndef SHOOTDOWN_PLAN_H
#define SHOOTDOWN_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../kernels/kernel.h"
#include "../lane/lane.h"
#include "suite.h"

#define CPU_COUNTS_MAXIMUM 32

struct plan_request {
	const struct suite *suite;
	const struct lane *lane;
	const char *architecture;
	const struct kernel *kernels;
	size_t kernel_count;
	const char *baseline;		/* label or id; NULL: the series' own, else the first */
	unsigned int cpus[CPU_COUNTS_MAXIMUM];
	size_t cpus_count;		/* 0: the suite's, else the lane's default */
	/* 0 means: as the suite says, else the default of DESIGN.md */
	unsigned int blocks, iterations, phases, nodes;
	uint64_t memory_bytes, timeout_nanoseconds;
	int warmup;			/* -1: as the suite says */
	int slice_microseconds;		/* -1: as the suite says */
	uint64_t seed;
	const char *const *probes;	/* further ones; NULL-terminated; may be NULL */
	const json_t *lane_facts;
	const json_t *command;		/* the command line that repeats it, to be recorded */
	const char *const *exec;	/* --exec: the user's command; NULL: none */
	const char *const *exec_files;
};

struct plan_error {
	int exit_status;		/* 129 or 130 */
	char text[768];
};

int plan_make(const struct plan_request *request, json_t **plan, struct plan_error *error);
/* What each case needs of the programs: fills plan.hashes. -errno. */
int plan_hash_programs(json_t *plan, struct plan_error *error);
/* Hash of what identifies the plan; also stored as plan.id. */
void plan_identify(json_t *plan);
/* Default number of CPUs of a lane on this machine. */
unsigned int plan_default_cpus(const char *lane);
/* "2,4,8" -> counts. -EINVAL with a reason. */
int plan_parse_cpus(const char *text, unsigned int *counts, size_t *count, char *reason, size_t reason_size);

#endif
