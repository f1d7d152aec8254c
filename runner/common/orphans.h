/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes whose parent died before them. */
#ifndef SHOOTDOWN_ORPHANS_H
#define SHOOTDOWN_ORPHANS_H

/* From now on orphans among our descendants become our children. */
void orphans_adopt(void);
/* Kills and reaps every child there is, and what their ends bring us in turn. For a process without children of its own. */
void orphans_kill(void);

#endif
