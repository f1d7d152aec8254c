// SPDX-License-Identifier: GPL-2.0-or-later
#include "tree-hash.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/paths.h"

static int by_name(const FTSENT **left, const FTSENT **right)
{
	return strcmp((*left)->fts_name, (*right)->fts_name);
}

static int add_entry(struct hash *hash, const FTSENT *entry, size_t root_length)
{
	char target[PATH_MAX];
	ssize_t size;

	switch (entry->fts_info) {
	case FTS_F:
		hash_add_text(hash, entry->fts_path + root_length);
		hash_add_text(hash, entry->fts_statp->st_mode & 0100 ? "program" : "file");
		return hash_add_file(hash, entry->fts_accpath);
	case FTS_SL:
	case FTS_SLNONE:
		size = readlink(entry->fts_accpath, target, sizeof(target) - 1);
		if (size < 0)
			return -errno;
		target[size] = '\0';
		hash_add_text(hash, entry->fts_path + root_length);
		hash_add_text(hash, target);
		return 0;
	case FTS_DNR:
	case FTS_NS:
	case FTS_ERR:
		return entry->fts_errno ? -entry->fts_errno : -EIO;
	default:
		return 0;
	}
}

static int hash_directory(const char *directory, char text[HASH_TEXT])
{
	char *const roots[] = { (char *)directory, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
	struct hash *hash;
	FTSENT *entry;
	int error = 0;

	if (!walk)
		return -errno;
	hash = hash_new();
	errno = 0;
	while (!error && (entry = fts_read(walk)))
		error = add_entry(hash, entry, strlen(directory));
	if (!error && errno)
		error = -errno;
	fts_close(walk);
	hash_finish(hash, text);
	return error;
}

int tree_hash(const char *architecture, const char *tree, char hash[HASH_TEXT])
{
	char *below = text_format("workloads/trees/%s", tree);
	char *ours = strchr(tree, '/') ? NULL : path_program(architecture, below);
	int error = hash_directory(ours && file_exists(ours) ? ours : tree, hash);

	free(ours);
	free(below);
	return error;
}
