// SPDX-License-Identifier: GPL-2.0-or-later
/* tar:FILE, compressed or not. A file is known again by what the file system says of it, not by reading it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../runner/common/files.h"
#include "base.h"
#include "error.h"

int base_from_tar(const struct kernel_spec *spec, const struct watcher *watcher, struct base *base, struct kernel_error *error)
{
	char *path = realpath(spec->name, NULL), *record, *repository;
	struct stat status;
	int fd, code = 0;

	if (!path || stat(path, &status) || !S_ISREG(status.st_mode)) {
		free(path);
		return kernel_fail(error, EXIT_USAGE, "%s: there is no file %s", watcher->spec, spec->name);
	}
	base->resolved = text_format("tar:%s", path);
	record = text_format("tar:%s %llu %llu %lld %lld.%09ld", path, (unsigned long long)status.st_dev,
			     (unsigned long long)status.st_ino, (long long)status.st_size,
			     (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
	if (record_find(record, base)) {
		repository = repository_open(error);
		code = repository ? cache_lock("import", watcher, &fd, error) : -EIO;
		if (!code) {
			if (record_find(record, base)) {
				code = archive_import(path, repository, watcher, &base->tree, error);
				if (!code)
					code = record_keep(record, repository, base, error);
			}
			unlock_file(fd);
		}
		free(repository);
	}
	free(record);
	free(path);
	return code;
}
