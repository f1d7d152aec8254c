/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHOOTDOWN_RUN_OVERVIEW_H
#define SHOOTDOWN_RUN_OVERVIEW_H

/* What `run` could run on this machine, in which lanes, and about how long each would take; exit status. */
int run_overview(void);

#endif
