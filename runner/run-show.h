/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a plan says to the person, before it runs. */
#ifndef SHOOTDOWN_RUN_SHOW_H
#define SHOOTDOWN_RUN_SHOW_H

#include <jansson.h>

void run_show_plan(const json_t *plan);		/* --dry-run, on standard output */
void run_show_left_out(const json_t *plan);	/* cases that this machine cannot run */
/* A plan that cannot decide its family says so before it runs, and how many blocks could. */
void run_warn_p_floor(const json_t *plan);

#endif
