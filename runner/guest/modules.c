// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

static int load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)
		error = -errno;
	close(fd);
	return error;
}

int load_modules(const json_t *paths, const char **failed)
{
	int first = 0;
	json_t *path;
	size_t i;

	/* One that fails does not keep the others from being tried: the channel may need only some of them. */
	json_array_foreach(paths, i, path) {
		const char *name = json_string_value(path);
		int error = name ? load_module(name) : -EINVAL;

		if (error && !first) {
			first = error;
			*failed = name ? name : "?";
		}
	}
	return first;
}
