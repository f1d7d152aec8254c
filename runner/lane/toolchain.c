// SPDX-License-Identifier: GPL-2.0-or-later
#include "toolchain.h"

#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/paths.h"
#include "../common/spawn.h"
#include "initramfs.h"

/* Counted up by whoever changes which files of a package travel. */
#define RECIPE 1
#define LIST "configs/packages/guest-toolchain.txt"
#define QUERY_MILLISECONDS 60000
#define QUERY_LIMIT ((size_t)64 << 20)

/* What no build of C executes or reads: over half of the bytes. The dynamic linker is init's, and there already. */
static const char *const left_out[] = {
	"/etc/*", "/sbin/*", "/usr/sbin/*", "/usr/share/*", "/var/*", "/lib64/*", "*/lto1", "*lto-dump*", "*san.a", "*san.so*",
	"*san_preinit.o", "*gprofng*", "*/libgp-*", "*-gp-*", "*gold", "*dwp", "*gcov*", "*/gconv/*", "*/x86_64-linux-gnu/perl*",
};

struct toolchain {
	const char *debian_name;	/* of the architecture */
	json_t *known;			/* name: {"full-name", "version", "depends"} of what is installed */
	json_t *provided;		/* virtual name: name */
	json_t *chosen;			/* name: version */
};

static const char *debian_architecture(const char *architecture)
{
	return !strcmp(architecture, "arm64") ? "arm64" : "amd64";
}

static int query(const char *const *argv, char **output, char *reason, size_t reason_size)
{
	const struct spawn_options options = {
		.environment = (const char *const[]){ "LC_ALL=C", NULL }, .input = -1, .output = -1, .error = -1,
	};
	int status = 0, error = run_capture(argv, &options, QUERY_MILLISECONDS, QUERY_LIMIT, output, &status);

	if (!error && (!WIFEXITED(status) || WEXITSTATUS(status))) {
		free(*output);
		*output = NULL;
		error = -EPROTO;
	}
	if (error == -ENOENT)
		snprintf(reason, reason_size, "dpkg-query is not there: a guest's toolchain is made from installed Debian packages");
	else if (error)
		snprintf(reason, reason_size, "dpkg-query, for the guest's toolchain: %s", strerror(-error));
	return error;
}

/* The next field of a line, ended by a tab or the line's end. */
static char *field(char **line)
{
	return strsep(line, "\t");
}

/* The package's name at the start of "name:any (>= 1) | other", cut off in place. */
static char *package_name(char *text)
{
	text += strspn(text, " ");
	text[strcspn(text, " :(|,\n")] = '\0';
	return text;
}

static void take_package(struct toolchain *toolchain, char *line)
{
	char *status = field(&line), *architecture = field(&line), *name = field(&line), *full_name = field(&line);
	char *version = field(&line), *provides = field(&line), *depends = field(&line), *one;

	if (!depends || strncmp(status, "ii", 2) ||
	    (strcmp(architecture, toolchain->debian_name) && strcmp(architecture, "all")))
		return;
	json_object_set_new(toolchain->known, name, json_pack("{s:s, s:s, s:s}", "full-name", full_name, "version", version,
							       "depends", depends));
	while ((one = strsep(&provides, ",")))
		json_object_set_new(toolchain->provided, package_name(one), json_string(name));
}

static int read_packages(struct toolchain *toolchain, char *reason, size_t reason_size)
{
	static const char *const argv[] = {
		"dpkg-query", "--show", "--showformat",
		"${db:Status-Abbrev}\t${Architecture}\t${Package}\t${binary:Package}\t${Version}\t${Provides}\t"
		"${Pre-Depends}, ${Depends}\n", NULL,
	};
	char *output, *rest, *line;
	int error = query(argv, &output, reason, reason_size);

	if (error)
		return error;
	for (rest = output; (line = strsep(&rest, "\n"));)
		take_package(toolchain, line);
	free(output);
	return 0;
}

/* A package or what provides it; NULL when neither is installed. */
static const char *installed(const struct toolchain *toolchain, const char *name)
{
	if (json_object_get(toolchain->known, name))
		return name;
	return json_string_value(json_object_get(toolchain->provided, name));
}

static void choose(struct toolchain *toolchain, const char *name);

/* "a | b (>= 1)": the first that is installed. None is no error here: a package can be forced in without. */
static void choose_alternative(struct toolchain *toolchain, char *alternatives)
{
	char *one;

	while ((one = strsep(&alternatives, "|"))) {
		const char *name = installed(toolchain, package_name(one));

		if (name) {
			choose(toolchain, name);
			return;
		}
	}
}

static void choose(struct toolchain *toolchain, const char *name)
{
	const json_t *package = json_object_get(toolchain->known, name);
	char *depends, *rest, *group;

	if (json_object_get(toolchain->chosen, name))
		return;
	json_object_set(toolchain->chosen, name, json_object_get(package, "version"));
	rest = depends = strdup(json_string_value(json_object_get(package, "depends")));
	while ((group = strsep(&rest, ",")))
		choose_alternative(toolchain, group);
	free(depends);
}

static int choose_packages(struct toolchain *toolchain, char *reason, size_t reason_size)
{
	char *path = path_data(LIST), *line = NULL;
	FILE *file = fopen(path, "re");
	size_t size = 0;
	int error = file ? 0 : -errno;

	if (error)
		snprintf(reason, reason_size, "%s: %s", path, strerror(-error));
	while (!error && getline(&line, &size, file) >= 0) {
		const char *name;

		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (line[0] == '-') {
			json_object_del(toolchain->known, package_name(line + 1));
			continue;
		}
		name = installed(toolchain, package_name(line));
		if (name) {
			choose(toolchain, name);
		} else {
			snprintf(reason, reason_size, "the guest's toolchain has no %s for %s; install the package %s:%s", line,
				 toolchain->debian_name, line, toolchain->debian_name);
			error = -ENOENT;
		}
	}
	free(line);
	if (file)
		fclose(file);
	free(path);
	return error;
}

static void close_toolchain(struct toolchain *toolchain)
{
	json_decref(toolchain->known);
	json_decref(toolchain->provided);
	json_decref(toolchain->chosen);
}

/* On success the caller's to close. */
static int open_toolchain(const char *architecture, struct toolchain *toolchain, char identity[HASH_TEXT], char *reason,
			  size_t reason_size)
{
	json_t *whole;
	int error;

	*toolchain = (struct toolchain){ debian_architecture(architecture), json_object(), json_object(), json_object() };
	error = read_packages(toolchain, reason, reason_size);
	if (!error)
		error = choose_packages(toolchain, reason, reason_size);
	if (error) {
		close_toolchain(toolchain);
		return error;
	}
	whole = json_pack("{s:i, s:s, s:O}", "recipe", RECIPE, "architecture", architecture, "packages", toolchain->chosen);
	hash_json(whole, identity);
	json_decref(whole);
	return 0;
}

int toolchain_identity(const char *architecture, char identity[HASH_TEXT], char *reason, size_t reason_size)
{
	struct toolchain toolchain;
	int error = open_toolchain(architecture, &toolchain, identity, reason, reason_size);

	if (!error)
		close_toolchain(&toolchain);
	return error;
}

static bool is_left_out(const char *path)
{
	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
		if (!fnmatch(left_out[i], path, 0))
			return true;
	return false;
}

/* "/lib" is a link into /usr on this machine and a directory in the guest: links of the root stay behind. */
static int add_link(struct initramfs *initramfs, const char *path)
{
	char target[PATH_MAX];
	ssize_t size;

	if (!strchr(path + 1, '/'))
		return 0;
	size = readlink(path, target, sizeof(target) - 1);
	if (size < 0)
		return -errno;
	target[size] = '\0';
	return initramfs_add_link(initramfs, path, target);
}

/* A package lists what an administrator may have left out or taken away since (documentation, most of all). */
static int add_path(struct initramfs *initramfs, const char *path)
{
	struct stat status;

	if (path[0] != '/' || is_left_out(path) || lstat(path, &status))
		return 0;
	if (S_ISLNK(status.st_mode))
		return add_link(initramfs, path);
	return S_ISREG(status.st_mode) ? initramfs_add_file(initramfs, path, path, status.st_mode & 0755) : 0;
}

static int add_files(const struct toolchain *toolchain, struct initramfs *initramfs, char *reason, size_t reason_size)
{
	size_t count = 2, packages = json_object_size(toolchain->chosen);
	const char **argv = calloc(packages + 3, sizeof(*argv));
	char *output = NULL, *rest, *line;
	const char *name;
	json_t *version;
	int error;

	if (!argv)
		return -ENOMEM;
	argv[0] = "dpkg-query";
	argv[1] = "--listfiles";
	json_object_foreach(toolchain->chosen, name, version)
		argv[count++] = json_string_value(json_object_get(json_object_get(toolchain->known, name), "full-name"));
	error = query(argv, &output, reason, reason_size);
	for (rest = output; !error && (line = strsep(&rest, "\n"));) {
		error = add_path(initramfs, line);
		if (error)
			snprintf(reason, reason_size, "%s, for the guest's toolchain: %s", line, strerror(-error));
	}
	free(output);
	free(argv);
	return error;
}

static int make_archive(const struct toolchain *toolchain, const char *directory, const char *path, char *reason, size_t reason_size)
{
	struct initramfs *initramfs;
	int error = initramfs_new(NULL, &initramfs);

	if (error)
		return error;
	error = add_files(toolchain, initramfs, reason, reason_size);
	/* What update-alternatives gives make's CC, and belongs to no package. */
	if (!error && !initramfs_has(initramfs, "/usr/bin/cc"))
		error = initramfs_add_link(initramfs, "/usr/bin/cc", "gcc");
	if (!error)
		error = make_directories(directory);
	if (!error)
		error = initramfs_write(initramfs, NULL, path);
	if (error && !reason[0])
		snprintf(reason, reason_size, "%s: %s", path, strerror(-error));
	initramfs_free(initramfs);
	return error;
}

int toolchain_archive(const char *architecture, char **path, char *reason, size_t reason_size)
{
	struct toolchain toolchain;
	char identity[HASH_TEXT], *directory, *archive;
	int error = open_toolchain(architecture, &toolchain, identity, reason, reason_size);

	if (error)
		return error;
	directory = path_cache("toolchains");
	archive = text_format("%s/%.16s.cpio", directory, identity);
	reason[0] = '\0';
	if (!file_exists(archive))
		error = make_archive(&toolchain, directory, archive, reason, reason_size);
	close_toolchain(&toolchain);
	free(directory);
	if (error)
		free(archive);
	else
		*path = archive;
	return error;
}
