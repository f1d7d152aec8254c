/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bases: unpatched sources, imported into the one repository of the cache. A
 * base is a git tree; its object id is the hash of the content.
 */
#ifndef SHOOTDOWN_KERNEL_BASE_H
#define SHOOTDOWN_KERNEL_BASE_H

#include "git.h"
#include "spec.h"

/* Whom to tell what is going on. */
struct watcher {
	kernel_progress progress;	/* or NULL */
	void *context;
	const char *spec;		/* what a lock says about its holder */
};
void watch(const struct watcher *watcher, const char *phase, const char *detail, double fraction);

struct base {
	char *tree;		/* object id */
	char *version;		/* package version, commit; NULL: none */
	char *release;		/* "6.12.117", from the Makefile */
	char *resolved;		/* "deb:6.12=6.12.117-1~deb12u1" */
	char *lineage;		/* bases of one lineage share a build tree, so that the next commit builds incrementally */
};

/* The repository of the cache, created where it is not there. Caller frees. NULL with *error filled. */
char *repository_open(struct kernel_error *error);
int base_find(const struct kernel_spec *spec, const struct watcher *watcher, struct base *base, struct kernel_error *error);
void base_free(struct base *base);

/*
 * What the sources share. A record remembers the tree of something that was
 * imported, by a name that changes when the content may have changed.
 */
int record_find(const char *name, struct base *base);	/* -ENOENT: not imported yet */
int record_keep(const char *name, const char *repository, struct base *base, struct kernel_error *error);
/* Takes a lock of the cache, waiting and saying for whom. */
int cache_lock(const char *name, const struct watcher *watcher, int *fd, struct kernel_error *error);

/* One file each. They set tree, version, resolved and lineage; base_find() adds the release. */
int base_from_deb(const struct kernel_spec *spec, const struct watcher *watcher, struct base *base, struct kernel_error *error);
int base_from_tar(const struct kernel_spec *spec, const struct watcher *watcher, struct base *base, struct kernel_error *error);
int base_from_git(const struct kernel_spec *spec, const struct watcher *watcher, struct base *base, struct kernel_error *error);
int base_from_tree(const struct kernel_spec *spec, const struct watcher *watcher, struct base *base, struct kernel_error *error);

/* Imports an archive; *tree is the caller's. */
int archive_import(const char *path, const char *repository, const struct watcher *watcher, char **tree,
		   struct kernel_error *error);

#endif
