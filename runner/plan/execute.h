/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs what a plan holds, boot by boot; a campaign goes on after a kernel that failed, and stops after a host that did. */
#ifndef SHOOTDOWN_EXECUTE_H
#define SHOOTDOWN_EXECUTE_H

#include "../lane/lane.h"
#include "../store/campaign.h"

struct execute_summary {
	unsigned int boots, ran, skipped, failed, repeated;	/* skipped: complete already, from before --resume */
	char stop[512];					/* why the campaign stopped early; "" when it did not */
};

/* kernels stand in the order of plan.kernels. 0; -EINTR after an interruption; -errno of the host. */
int campaign_execute(struct campaign *campaign, const struct lane *lane, const struct kernel *kernels, size_t kernel_count,
		     struct execute_summary *summary);

#endif
