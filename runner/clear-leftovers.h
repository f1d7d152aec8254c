/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before a command starts anything: what a killed one left is cleared away. */
#ifndef SHOOTDOWN_CLEAR_LEFTOVERS_H
#define SHOOTDOWN_CLEAR_LEFTOVERS_H

/* Says what it did, and what it could not do: that is no reason not to start. */
void clear_leftovers(void);

#endif
