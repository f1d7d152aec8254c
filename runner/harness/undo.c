// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/files.h"
#include "undo.h"

static const enum leftover_kind leftover_kinds[] = {
	[UNDO_WRITE] = LEFTOVER_VALUE, [UNDO_REMOVE_TREE] = LEFTOVER_TREE, [UNDO_REMOVE_DIRECTORY] = LEFTOVER_DIRECTORY,
};

int undo_note(struct undo_ledger *ledger, enum undo_kind kind, const char *path, const char *value)
{
	unsigned int index = atomic_load(&ledger->count);
	struct undo_entry *entry;

	if (index >= UNDO_ENTRIES)
		return -ENOSPC;
	entry = &ledger->entries[index];
	if (strlen(path) >= sizeof(entry->path) || (value && strlen(value) >= sizeof(entry->value)))
		return -ENAMETOOLONG;
	entry->kind = kind;
	strcpy(entry->path, path);
	strcpy(entry->value, value ? value : "");
	atomic_store(&ledger->count, index + 1);
	/* Without a journal (no home to keep it in) a supervisor that lives still does it all. */
	(void)leftovers_note(&ledger->leftovers, leftover_kinds[kind], path, value);
	return 0;
}

static int undo_one(const struct undo_entry *entry)
{
	switch (entry->kind) {
	case UNDO_WRITE:
		return write_setting(entry->path, entry->value);
	case UNDO_REMOVE_TREE:
		return remove_tree(entry->path);
	case UNDO_REMOVE_DIRECTORY:
		return rmdir(entry->path) && errno != ENOENT ? -errno : 0;
	}
	return -EINVAL;
}

int undo_all(struct undo_ledger *ledger, char path[UNDO_PATH])
{
	unsigned int count = atomic_exchange(&ledger->count, 0);
	int first = 0;

	while (count--) {
		int error = undo_one(&ledger->entries[count]);

		if (error && !first) {
			first = error;
			snprintf(path, UNDO_PATH, "%s", ledger->entries[count].path);
		}
	}
	if (!first)
		leftovers_end(&ledger->leftovers);
	return first;
}
