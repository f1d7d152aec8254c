/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run --reboot kexec: each boot of the plan is a boot of the machine, and the
 * campaign goes on by itself. DIR/reboot.json remembers across them what the
 * machine was started with, and for which boot it was left.
 */
#ifndef SHOOTDOWN_RUN_REBOOT_H
#define SHOOTDOWN_RUN_REBOOT_H

#include "run.h"
#include "store/campaign.h"

struct reboot {
	json_t *state;
	bool arrived;		/* this system was started for the next boot of the plan */
};

/* Whether it could be done here, before anything is built. Exit status. */
int run_reboot_check(const struct run_words *words, const char *lane);
/* Reads or makes reboot.json. Exit status. */
int run_reboot_begin(const struct campaign *campaign, struct reboot *reboot);
/* Leaves for the kernel of a boot. EXIT_DONE: the machine goes down now. */
int run_reboot_leave(const struct campaign *campaign, const struct run_words *words, struct reboot *reboot, const json_t *boot,
		     const struct kernel *kernels, size_t count);
/* The campaign has ended or stopped: the unit and the mark are removed. */
void run_reboot_end(const struct campaign *campaign, struct reboot *reboot);

#endif
