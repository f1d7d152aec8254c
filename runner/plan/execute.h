/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs what a plan holds, boot by boot; a campaign goes on after a kernel that failed, and stops after a host that did. */
#ifndef SHOOTDOWN_EXECUTE_H
#define SHOOTDOWN_EXECUTE_H

#include "../lane/lane.h"
#include "../store/campaign.h"

struct execute_summary {
	unsigned int boots, ran, skipped, failed, repeated;	/* skipped: complete already, from before --resume */
	char stop[512];					/* why the campaign stopped early; "" when it did not */
	const json_t *next;				/* with -EAGAIN: the boot that waits for its kernel; borrowed from the plan */
};

#define EXECUTE_ALL (-1)

/*
 * kernels stand in the order of plan.kernels. 0; -EAGAIN when somebody must
 * boot another kernel first, or when `most` boots were run and more are left;
 * -EINTR after an interruption; -errno of the host.
 */
int campaign_execute(struct campaign *campaign, const struct lane *lane, const struct kernel *kernels, size_t kernel_count,
		     int most, struct execute_summary *summary);

#endif
