// SPDX-License-Identifier: GPL-2.0-or-later
/* deb:6.12 is Debian's package linux-source-6.12: the installed one where there is one, else downloaded into the cache. */
#include <stdlib.h>
#include <string.h>

#include "../runner/common/files.h"
#include "../runner/common/paths.h"
#include "base.h"
#include "error.h"
#include "package.h"

#define PREFIX "linux-source-"

static char *archive_in(const char *root, const char *package)
{
	static const char *const endings[] = { "xz", "zst", "gz", "bz2" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		char *path = text_format("%s/usr/src/%s.tar.%s", root, package, endings[i]);

		if (file_exists(path))
			return path;
		free(path);
	}
	return NULL;
}

/* The source archive of that version; *scratch is a directory to remove afterwards, or NULL. */
static int find_archive(const char *package, const char *version, const struct watcher *watcher, char **archive,
			char **scratch, struct kernel_error *error)
{
	char *installed = package_installed(package);
	int code = 0;

	*scratch = NULL;
	*archive = installed && !strcmp(installed, version) ? archive_in("", package) : NULL;
	free(installed);
	if (*archive)
		return 0;
	*scratch = path_cache("download-source");
	code = package_unpack(package, version, *scratch, watcher, error);
	if (!code) {
		*archive = archive_in(*scratch, package);
		if (!*archive)
			code = kernel_fail(error, EXIT_ENVIRONMENT, "package %s=%s holds no usr/src/%s.tar.*", package, version, package);
	}
	return code;
}

static int import(const char *package, const char *record, const struct watcher *watcher, struct base *base,
		  struct kernel_error *error)
{
	char *repository = repository_open(error), *archive = NULL, *scratch = NULL;
	int fd, code = repository ? cache_lock("import", watcher, &fd, error) : -1;

	if (!repository)
		return code;
	if (!code) {
		/* Somebody else may have imported it while we waited. */
		if (record_find(record, base))
			code = find_archive(package, base->version, watcher, &archive, &scratch, error);
		if (!code && archive)
			code = archive_import(archive, repository, watcher, &base->tree, error);
		if (!code && archive)
			code = record_keep(record, repository, base, error);
		if (scratch)
			remove_tree(scratch);
		unlock_file(fd);
	}
	free(scratch);
	free(archive);
	free(repository);
	return code;
}

int base_from_deb(const struct kernel_spec *spec, const struct watcher *watcher, struct base *base, struct kernel_error *error)
{
	char *package = text_format(PREFIX "%s", spec->name), *record;
	int code = 0;

	if (spec->version)
		base->version = strdup(spec->version);
	else
		code = package_resolve(package, PREFIX, true, watcher->spec, &base->version, error);
	if (!code) {
		base->resolved = text_format("deb:%s=%s", spec->name, base->version);
		record = strdup(base->resolved);
		if (record_find(record, base))
			code = import(package, record, watcher, base, error);
		free(record);
	}
	free(package);
	return code;
}
