/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must be put back when the run ends, however it ends. The ledger lies
 * in memory shared with the supervisor, which outlives a measuring process
 * that crashes. An entry is complete before the change it undoes is made. A
 * journal on disk holds the same for whoever comes after a supervisor that
 * was killed.
 */
#ifndef SHOOTDOWN_HARNESS_UNDO_H
#define SHOOTDOWN_HARNESS_UNDO_H

#include <stdatomic.h>

#include "../common/leftovers.h"

#define UNDO_ENTRIES 64
#define UNDO_PATH 256
#define UNDO_VALUE 256

enum undo_kind {
	UNDO_WRITE,		/* write value back into path */
	UNDO_REMOVE_TREE,	/* a directory of files that we made */
	UNDO_REMOVE_DIRECTORY,	/* rmdir: a tracefs instance */
};

struct undo_entry {
	enum undo_kind kind;
	char path[UNDO_PATH], value[UNDO_VALUE];
};

struct undo_ledger {
	atomic_uint count;
	struct undo_entry entries[UNDO_ENTRIES];
	struct leftovers leftovers;
};

/* -ENAMETOOLONG, -ENOSPC: nothing was noted, so nothing may be changed. */
int undo_note(struct undo_ledger *ledger, enum undo_kind kind, const char *path, const char *value);
/* In reverse order; each entry once. First -errno, with the path that stayed as it was. */
int undo_all(struct undo_ledger *ledger, char path[UNDO_PATH]);

#endif
