// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../runner/common/files.h"
#include "../runner/common/paths.h"
#include "cache.h"
#include "error.h"

char *cache_directory(const char *key)
{
	char *kernels = path_cache("kernels"), *directory = text_format("%s/%.16s", kernels, key);

	free(kernels);
	return directory;
}

bool cache_holds(const char *key)
{
	char *directory = cache_directory(key), *path = text_format("%s/kernel.json", directory);
	bool found = file_exists(path);

	free(path);
	free(directory);
	return found;
}

char *cache_begin(const char *key, struct kernel_error *error)
{
	char *directory = cache_directory(key), *folder = text_format("%s.partial", directory);
	int code = remove_tree(folder);

	free(directory);
	if (!code)
		code = make_directories(folder);
	if (!code)
		return folder;
	kernel_fail_code(error, code, "%s", folder);
	free(folder);
	return NULL;
}

/* What was copied must be on the disk before its name says that it is whole. */
static int synchronise(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = 0;

	if (fd < 0)
		return -errno;
	if (syncfs(fd))
		code = -errno;
	close(fd);
	return code;
}

int cache_commit(const char *key, const char *folder, json_t *identity, struct kernel_error *error)
{
	char *directory = cache_directory(key), *path = text_format("%s/kernel.json", folder);
	int code = write_json(path, identity);

	if (!code)
		code = synchronise(folder);
	if (!code && rename(folder, directory)) {
		code = -errno;
		/* The same key is the same kernel: somebody else was faster, or left it without its last file. */
		if (code == -EEXIST || code == -ENOTEMPTY) {
			code = cache_holds(key) ? remove_tree(folder) : remove_tree(directory);
			if (!code && !cache_holds(key) && rename(folder, directory))
				code = -errno;
		}
	}
	if (code)
		code = kernel_fail_code(error, code, "%s", directory);
	free(path);
	free(directory);
	return code;
}

static char *part(const char *directory, const char *name)
{
	char *path = text_format("%s/%s", directory, name);

	if (file_exists(path))
		return path;
	free(path);
	return NULL;
}

static char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return strdup(text ? text : "");
}

int cache_load(const char *key, struct kernel *kernel, struct kernel_error *error)
{
	char *directory = cache_directory(key), *path = text_format("%s/kernel.json", directory), reason[160], *below;
	int code = read_json(path, &kernel->identity, reason, sizeof(reason));

	if (code) {
		kernel->identity = NULL;
		code = kernel_fail(error, EXIT_ENVIRONMENT, "%s cannot be read: %s; remove %s to build it anew", path, reason, directory);
	} else {
		kernel->architecture = text_of(kernel->identity, "architecture");
		kernel->release = text_of(kernel->identity, "release");
		kernel->image = part(directory, "image");
		kernel->vmlinux = part(directory, "vmlinux");
		kernel->system_map = part(directory, "System.map");
		kernel->config = part(directory, "config");
		below = text_format("lib/modules/%s", kernel->release);
		kernel->modules = part(directory, below);
		free(below);
	}
	free(path);
	free(directory);
	return code;
}

void kernel_free(struct kernel *kernel)
{
	free(kernel->spec);
	free(kernel->label);
	free(kernel->id);
	free(kernel->architecture);
	free(kernel->image);
	free(kernel->vmlinux);
	free(kernel->system_map);
	free(kernel->config);
	free(kernel->modules);
	free(kernel->release);
	free(kernel->boot_parameters);
	free(kernel->series);
	free(kernel->variant);
	json_decref(kernel->identity);
	memset(kernel, 0, sizeof(*kernel));
}

int kernel_list(json_t **kernels, struct kernel_error *error)
{
	char *directory = path_cache("kernels"), **names = path_names(directory, "");

	memset(error, 0, sizeof(*error));
	*kernels = json_array();
	for (char **name = names; name && *name; name++) {
		char *path = text_format("%s/%s/kernel.json", directory, *name), *folder = text_format("%s/%s", directory, *name);
		char reason[160];
		json_t *identity;

		/* A folder without it is one that is being filled. */
		if (!strchr(*name, '.') && !read_json(path, &identity, reason, sizeof(reason))) {
			json_object_set_new(identity, "directory", json_string(folder));
			json_array_append_new(*kernels, identity);
		}
		free(folder);
		free(path);
	}
	names_free(names);
	free(directory);
	return 0;
}
