/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the runner learns of workloads, it learns from their executables: --describe and --resolve. */
#ifndef SHOOTDOWN_WORKLOAD_PROGRAM_H
#define SHOOTDOWN_WORKLOAD_PROGRAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guest_limits {
	unsigned int cpus, nodes;
	uint64_t memory_bytes;
};

char **workload_names(void);		/* names_free() */
bool workload_exists(const char *name);
/*
 * Runs it to its end for the JSON that it prints; *answer is the caller's.
 * -errno with a reason, its own one line when it does not end with 0:
 * -EINVAL for a wrong option, -ENOSPC when it needs more than there is, -EIO
 * when it was killed or broke.
 */
int workload_ask(const char *name, const char *const *arguments, json_t **answer, char *reason, size_t reason_size);
/* -errno with a reason; *description is the caller's. */
int workload_describe(const char *name, json_t **description, char *reason, size_t reason_size);
/*
 * Resolves `options` (name -> scalar) at these limits. The workload's own
 * one-line error is the reason: -EINVAL for a wrong option (usage), -ENOSPC
 * when it needs more than there is (environment).
 */
int workload_resolve(const char *name, const json_t *options, const struct guest_limits *limits,
		     json_t **resolved, char *reason, size_t reason_size);
/* True for a probe that makes the kernel work while it counts: no part of the default set. */
bool workload_probe_is_costly(const char *workload, const char *probe);
/* Checks a probe's name with the harness (nearest name in the reason). */
int workload_check_probe(const char *workload, const char *probe, char *reason, size_t reason_size);

#endif
