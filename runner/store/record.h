/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of one boot: filled as frames come, written after each, so that a later failure loses nothing. */
#ifndef SHOOTDOWN_RECORD_H
#define SHOOTDOWN_RECORD_H

#include "../lane/lane.h"
#include "campaign.h"

struct record_writer {
	struct campaign *campaign;
	const json_t *boot;		/* of the plan */
	json_t *facts;
	json_t **records;		/* one a case, in the boot's order */
	size_t count;
	int error;			/* the first write that failed; -errno */
};

void record_writer_start(struct record_writer *writer, struct campaign *campaign, const json_t *boot);
/* The lane's end of it. */
struct boot_sink record_writer_sink(struct record_writer *writer);
/*
 * Completes what the boot left open: a case without an end gets the boot's
 * outcome. After an interruption or a host error the records stay incomplete,
 * so that --resume runs the boot again. Returns the first write error.
 */
int record_writer_finish(struct record_writer *writer, const struct boot_result *result);

#endif
