/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The campaign directory (CONTRIBUTING.md, "Campaign directory"): created
 * once, locked while somebody runs it, each file written whole or not at all.
 */
#ifndef SHOOTDOWN_CAMPAIGN_H
#define SHOOTDOWN_CAMPAIGN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "../../kernels/kernel.h"

struct campaign {
	char *directory;
	json_t *plan;
	int lock;
	int log;		/* log.txt, appended */
};

/* ./results/2026-11-30T21-00-00-SUITE, or `wanted` when not NULL. Caller frees. */
char *campaign_directory_name(const char *wanted, const char *suite);
/* -EEXIST when the directory holds a campaign already, -EAGAIN when somebody runs it; reason says it in words. */
int campaign_create(const char *directory, json_t *plan, const json_t *machine, struct campaign *campaign,
		    char *reason, size_t reason_size);
/*
 * Writes plan.json, when everything that the campaign is to hold beside it is
 * there: a directory with a plan can be resumed, one without is begun anew.
 */
int campaign_commit(struct campaign *campaign);
/* Opens one to resume it. */
int campaign_open(const char *directory, struct campaign *campaign, char *reason, size_t reason_size);
void campaign_close(struct campaign *campaign);

/* Copies of what the plan was made from. */
int campaign_add_file(struct campaign *campaign, const char *from, const char *name);
int campaign_add_kernel(struct campaign *campaign, const char *id, const struct kernel *kernel, bool exact);
void campaign_log(struct campaign *campaign, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* raw/BOOT, made; caller frees. NULL and errno. */
char *campaign_raw_directory(struct campaign *campaign, unsigned int boot);
/* True when every record of that boot is complete. */
bool campaign_boot_done(const struct campaign *campaign, const json_t *boot);
/* Path of a record; caller frees. */
char *campaign_record_path(const struct campaign *campaign, const json_t *boot, const json_t *plan_case);
/* The case of the plan with that id; borrowed. */
json_t *plan_case_by_id(const json_t *plan, const char *id);
/* The source tree that a case builds (workload.h), or NULL. */
const char *plan_case_tree(const json_t *plan_case);
json_t *plan_kernel_by_id(const json_t *plan, const char *id);
/* The kernel of a boot, of kernels that stand in the order of plan.kernels; NULL: none. */
const struct kernel *plan_kernel(const json_t *plan, const json_t *boot, const struct kernel *kernels, size_t count);

#endif
