/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process must clear away when it ends, noted on disk so that somebody
 * else can do it when the process was killed. Each process that has something
 * to note keeps a journal of its own below $XDG_STATE_HOME/shootdown/leftovers
 * and a lock on it: a journal that can be locked belongs to nobody any more.
 */
#ifndef SHOOTDOWN_LEFTOVERS_H
#define SHOOTDOWN_LEFTOVERS_H

#include <stddef.h>
#include <sys/types.h>

enum leftover_kind {
	LEFTOVER_VALUE,		/* a file of /proc/sys or /sys to get its old value back */
	LEFTOVER_TREE,		/* a directory of files of ours; "shootdown" is in its name */
	LEFTOVER_DIRECTORY,	/* rmdir: a tracefs instance of ours */
};

/* All zero: nothing is noted. May lie in memory shared by processes: those that did not make the journal can end it, too. */
struct leftovers {
	char path[256];
	int lock;
	pid_t owner;
};

/*
 * Before the change is made. `value` is of LEFTOVER_VALUE only. Where no
 * journal can be kept (no home, a disk that is full) -errno: whoever ends in
 * an orderly way needs none.
 */
int leftovers_note(struct leftovers *leftovers, enum leftover_kind kind, const char *path, const char *value);
/* All that was noted has been cleared away. */
void leftovers_end(struct leftovers *leftovers);

/*
 * Clears away what processes that are gone have left, the last change first.
 * *count things were. What could not be stays noted: the first -errno, and
 * the path in the reason.
 */
int leftovers_clear(unsigned int *count, char *reason, size_t reason_size);

#endif
