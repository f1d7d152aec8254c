// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../runner/common/build-id.h"
#include "../runner/common/files.h"
#include "../runner/common/paths.h"
#include "../runner/common/spawn.h"
#include "cache.h"
#include "error.h"
#include "package.h"
#include "ready.h"
#include "toolchain.h"

#define STAND_IN_LIMIT 4096
#define X86_MAGIC 0x202		/* "HdrS" */
#define X86_VERSION 0x20e	/* offset of the release's text, less 0x200 */
#define ARM64_MAGIC 0x38	/* "ARM\x64" */

static char *word_at(const char *data, size_t size, size_t offset)
{
	size_t length = 0;

	/* A file that is mapped has no NUL at its end. */
	while (offset + length < size && length < 64 && data[offset + length] && !strchr(" \n", data[offset + length]))
		length++;
	return strndup(data + offset, length);
}

/* The word after "Linux version " in the data of an uncompressed image. */
static char *release_in(const char *data, size_t size)
{
	static const char mark[] = "Linux version ";
	const char *found = memmem(data, size, mark, sizeof(mark) - 1);

	if (!found)
		return strdup("");
	return word_at(data, size, (size_t)(found + sizeof(mark) - 1 - data));
}

/* What the data of an image say. */
static void inspect_data(const char *data, size_t size, const char **architecture, char **release)
{
	size_t offset;

	if (size > 0x260 && !memcmp(data + X86_MAGIC, "HdrS", 4)) {
		*architecture = "x86-64";
		offset = 0x200 + (size_t)(unsigned char)data[X86_VERSION] + 256 * (size_t)(unsigned char)data[X86_VERSION + 1];
		*release = offset > 0x200 && offset < size ? word_at(data, size, offset) : strdup("");
	} else if (size > 0x40 && !memcmp(data + ARM64_MAGIC, "ARM\x64", 4)) {
		*architecture = "arm64";
		*release = release_in(data, size);
	}
}

int image_inspect(const char *path, const char **architecture, char **release)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), code = 0;
	struct stat status;
	void *data;

	*architecture = NULL;
	*release = NULL;
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status)) {
		code = -errno;
	} else if (S_ISREG(status.st_mode) && status.st_size > 0) {
		data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED) {
			code = -errno;
		} else {
			inspect_data(data, (size_t)status.st_size, architecture, release);
			munmap(data, (size_t)status.st_size);
		}
	}
	close(fd);
	return code;
}

static void ready_key(const char *kind, const char *what, const char *content, char key[HASH_TEXT])
{
	struct hash *state = hash_new();

	hash_add_text(state, kind);
	hash_add_text(state, what);
	hash_add_text(state, content);
	hash_finish(state, key);
}

static int check_image(const char *path, const char *architecture, char **release, struct kernel_error *error)
{
	const char *found;
	int code = image_inspect(path, &found, release);

	if (code)
		return kernel_fail(error, EXIT_USAGE, "kernel image %s cannot be read: %s", path, strerror(-code));
	if (!found)
		return kernel_fail(error, EXIT_USAGE, "%s is not a kernel image that can be booted here; name a bzImage or an "
				   "uncompressed arm64 Image", path);
	if (!strcmp(found, architecture))
		return 0;
	free(*release);
	*release = NULL;
	return kernel_fail(error, EXIT_USAGE, "%s is an image for %s, not for %s; say --arch %s", path, found, architecture, found);
}

static json_t *ready_identity(const char *key, const char *source, const char *version, const char *architecture,
			      const char *release, const char *image)
{
	char hash[HASH_TEXT];

	if (hash_file(image, hash))
		return NULL;
	return json_pack("{ss ss s{ss ss} ss ss ss}", "schema", "shootdown-kernel-1", "key", key, "base", "source", source, "version",
			 version, "architecture", architecture, "release", release, "image_hash", hash);
}

/* boot/NAME-RELEASE of an unpacked package, where it has one that says something. */
static int keep_text(const char *root, const char *name, const char *release, const char *folder, const char *as)
{
	char *from = text_format("%s/boot/%s-%s", root, name, release), *to = text_format("%s/%s", folder, as);
	struct stat status;
	int code = 0;

	/* Debian ships a System.map of one line that says where the real one is. */
	if (!stat(from, &status) && status.st_size > STAND_IN_LIMIT)
		code = copy_file(from, to);
	free(to);
	free(from);
	return code;
}

static int keep_modules(const char *root, const char *release, const char *folder)
{
	char *from = text_format("%s/lib/modules/%s", root, release), *parent = text_format("%s/lib/modules", folder);
	char *to = text_format("%s/%s", parent, release);
	int code = make_directories(parent);

	if (!file_exists(from)) {
		free(from);
		from = text_format("%s/usr/lib/modules/%s", root, release);
	}
	if (!code && file_exists(from) && rename(from, to))
		code = -errno;
	free(to);
	free(parent);
	free(from);
	return code;
}

struct ready {
	const char *key, *image, *source, *version, *architecture, *release;
	const char *root;	/* of an unpacked package; NULL for a single image */
};

/* Puts the parts into the cache. */
static int keep_ready(const struct ready *ready, struct kernel_error *error)
{
	char *folder = cache_begin(ready->key, error), *to;
	json_t *identity = NULL;
	int code;

	if (!folder)
		return -EIO;
	to = text_format("%s/image", folder);
	code = copy_file(ready->image, to);
	if (!code && ready->root)
		code = keep_text(ready->root, "config", ready->release, folder, "config");
	if (!code && ready->root)
		code = keep_text(ready->root, "System.map", ready->release, folder, "System.map");
	if (!code && ready->root)
		code = keep_modules(ready->root, ready->release, folder);
	if (!code) {
		identity = ready_identity(ready->key, ready->source, ready->version, ready->architecture, ready->release, to);
		code = identity ? 0 : -EIO;
	}
	if (code)
		code = kernel_fail_code(error, code, "%s cannot be kept in %s", ready->image, folder);
	else
		code = cache_commit(ready->key, folder, identity, error);
	json_decref(identity);
	free(to);
	free(folder);
	return code;
}

static int from_file(const struct kernel_spec *spec, const char *architecture, const struct watcher *watcher,
		     struct kernel *kernel, bool *built, struct kernel_error *error)
{
	char hash[HASH_TEXT], key[HASH_TEXT], *path = realpath(spec->name, NULL), *release = NULL;
	int fd, code = path ? check_image(path, architecture, &release, error)
			: kernel_fail(error, EXIT_USAGE, "there is no kernel image %s", spec->name);

	if (!code) {
		code = hash_file(path, hash);
		if (code)
			code = kernel_fail_code(error, code, "%s", path);
	}
	if (!code) {
		ready_key("image", architecture, hash, key);
		kernel->spec = text_format("image:%s", path);
		*built = !cache_holds(key);
		code = *built ? cache_lock("ready", watcher, &fd, error) : 0;
		if (!code && *built) {
			if (!cache_holds(key))
				code = keep_ready(&(struct ready){ .key = key, .image = path, .source = kernel->spec, .version = "",
								   .architecture = architecture, .release = release }, error);
			unlock_file(fd);
		}
	}
	if (!code)
		code = cache_load(key, kernel, error);
	if (!code)
		kernel->id = strndup(key, 16);
	free(release);
	free(path);
	return code;
}

/* The one boot/vmlinuz-* of an unpacked package; NULL when it has none. */
static char *image_in(const char *root)
{
	char *pattern = text_format("%s/boot/vmlinuz-*", root), *path = NULL;
	glob_t found = { .gl_pathc = 0 };

	if (!glob(pattern, 0, NULL, &found) && found.gl_pathc == 1)
		path = strdup(found.gl_pathv[0]);
	globfree(&found);
	free(pattern);
	return path;
}

/* linux-image-cloud-amd64 is only a name for the newest real package. */
static char *real_package(const char *package, const char *version)
{
	char *what = text_format("%s=%s", package, version), *output = NULL, *word, *name = NULL;
	const char *argv[] = { "apt-cache", "show", what, NULL };
	static const char *const environment[] = { "LC_ALL=C", NULL };
	const struct spawn_options options = { .environment = environment, .input = -1, .output = -1, .error = -1 };
	int status;

	if (!run_capture(argv, &options, 60000, 1 << 20, &output, &status)) {
		word = strstr(output, "\nDepends: ");
		word = word ? word + strlen("\nDepends: ") : NULL;
		if (word && !strncmp(word, "linux-image-", 12) && word[12] >= '0' && word[12] <= '9')
			name = strndup(word, strcspn(word, " ,\n"));
	}
	free(output);
	free(what);
	return name;
}

static int keep_package(const char *package, const char *version, const char *architecture, const char *key,
			const char *resolved, const struct watcher *watcher, struct kernel_error *error)
{
	char *scratch = path_cache("download-image"), *image, *release = NULL;
	int code = package_unpack(package, version, scratch, watcher, error);

	if (!code) {
		image = image_in(scratch);
		code = image ? check_image(image, architecture, &release, error)
			     : kernel_fail(error, EXIT_USAGE, "package %s=%s holds no kernel image; 'apt-cache search ^linux-image-' "
					   "lists those that do", package, version);
		if (!code) {
			/* The head of the image names it with the packager behind; the file's own name is uname -r. */
			free(release);
			release = strdup(strstr(image, "/boot/vmlinuz-") + strlen("/boot/vmlinuz-"));
			watch(watcher, "pack", resolved, -1);
			code = keep_ready(&(struct ready){ .key = key, .image = image, .source = resolved, .version = version,
							   .architecture = architecture, .release = release, .root = scratch }, error);
		}
		free(release);
		free(image);
	}
	remove_tree(scratch);
	free(scratch);
	return code;
}

static int from_package(const struct kernel_spec *spec, const char *architecture, const struct watcher *watcher,
			struct kernel *kernel, bool *built, struct kernel_error *error)
{
	char *version = spec->version ? strdup(spec->version) : NULL, *package = strdup(spec->name), *real, key[HASH_TEXT];
	int fd, code = version ? 0 : package_resolve(package, "linux-image-", false, watcher->spec, &version, error);

	if (code) {
		free(package);
		return code;
	}
	kernel->spec = text_format("deb-image:%s=%s", package, version);
	ready_key("deb-image", architecture, kernel->spec, key);
	*built = !cache_holds(key);
	if (*built) {
		code = cache_lock("ready", watcher, &fd, error);
		real = code ? NULL : real_package(package, version);
		if (real) {
			free(package);
			free(version);
			package = real;
			version = NULL;
			code = package_resolve(package, "linux-image-", false, watcher->spec, &version, error);
		}
		if (!code) {
			if (!cache_holds(key))
				code = keep_package(package, version, architecture, key, kernel->spec, watcher, error);
			unlock_file(fd);
		}
	}
	if (!code)
		code = cache_load(key, kernel, error);
	if (!code)
		kernel->id = strndup(key, 16);
	free(version);
	free(package);
	return code;
}

static char *if_readable(const char *format, const char *release)
{
	char *path = text_format("%s%s", format, release);

	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

static int from_host(const char *architecture, struct kernel *kernel, struct kernel_error *error)
{
	char key[HASH_TEXT], build_id[BUILD_ID_TEXT];
	struct utsname name;

	if (strcmp(architecture, host_architecture()))
		return kernel_fail(error, EXIT_USAGE, "the running kernel is for %s, not for %s", host_architecture(), architecture);
	if (uname(&name))
		return kernel_fail_code(error, -errno, "uname");
	ready_key("host", name.release, name.version, key);
	kernel->spec = text_format("host=%s", name.release);
	kernel->id = strndup(key, 16);
	kernel->architecture = strdup(architecture);
	kernel->release = strdup(name.release);
	kernel->image = if_readable("/boot/vmlinuz-", name.release);
	kernel->config = if_readable("/boot/config-", name.release);
	kernel->modules = if_readable("/lib/modules/", name.release);
	kernel->identity = json_pack("{ss ss s{ss ss} ss ss}", "schema", "shootdown-kernel-1", "key", key, "base", "source", "host",
				     "version", name.version, "architecture", architecture, "release", name.release);
	/* By which the host lane knows it again after other kernels ran. */
	if (!build_id_running_text(build_id))
		json_object_set_new(kernel->identity, "build_id", json_string(build_id));
	return 0;
}

int ready_kernel(const struct kernel_spec *spec, const char *architecture, const struct watcher *watcher,
		 struct kernel *kernel, bool *built, struct kernel_error *error)
{
	*built = false;
	switch (spec->source) {
	case KERNEL_IMAGE:
		return from_file(spec, architecture, watcher, kernel, built, error);
	case KERNEL_DEB_IMAGE:
		return from_package(spec, architecture, watcher, kernel, built, error);
	default:
		return from_host(architecture, kernel, error);
	}
}
