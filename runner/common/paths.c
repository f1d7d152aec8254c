// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "paths.h"

#ifndef SHOOTDOWN_PREFIX
#define SHOOTDOWN_PREFIX "/usr/local"
#endif

const char *host_architecture(void)
{
#if defined(__x86_64__)
	return "x86-64";
#elif defined(__aarch64__)
	return "arm64";
#else
#error "name this architecture"
#endif
}

/*
 * The directory that holds build/ when this program runs from a build tree,
 * NULL when it is installed. A build tree is known by the Makefile and the
 * contract beside it, however deep below build/ the program stands.
 */
static char *source_root(void)
{
	static const char *const marks[] = { "Makefile", "workloads/workload.h", "kernels/kernel.h" };
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (length <= 0)
		return NULL;
	path[length] = '\0';
	for (char *slash = strrchr(path, '/'); slash && slash != path; slash = strrchr(path, '/')) {
		bool all = true;

		*slash = '\0';
		for (size_t i = 0; all && i < sizeof(marks) / sizeof(marks[0]); i++) {
			char *mark = text_format("%s/%s", path, marks[i]);

			all = file_exists(mark);
			free(mark);
		}
		if (all)
			return strdup(path);
	}
	return NULL;
}

/* Folders below a build directory that hold programs. */
static bool is_program_folder(const char *name)
{
	static const char *const folders[] = { "tests", "workloads", "helpers", "guest", NULL };

	for (size_t i = 0; folders[i]; i++)
		if (!strcmp(name, folders[i]))
			return true;
	return false;
}

/* The build directory this program stands in (BUILD= may name another than build/). */
static char *build_root(void)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (length <= 0)
		return strdup("build");
	path[length] = '\0';
	for (slash = strrchr(path, '/'); slash && slash != path; slash = strrchr(path, '/')) {
		*slash = '\0';
		if (!is_program_folder(strrchr(path, '/') + 1))
			break;
	}
	return strdup(path);
}

char *path_data(const char *below)
{
	char *root = source_root();
	char *path = root ? text_format("%s/%s", root, below) : text_format("%s/share/shootdown/%s", SHOOTDOWN_PREFIX, below);

	free(root);
	return path;
}

char *path_python(void)
{
	char *root = source_root();

	return root ? root : text_format("%s/share/shootdown", SHOOTDOWN_PREFIX);
}

char *path_program(const char *architecture, const char *below)
{
	bool native = !architecture || !strcmp(architecture, host_architecture());
	char *root = source_root();
	char *build = root ? build_root() : text_format("%s/libexec/shootdown", SHOOTDOWN_PREFIX);
	char *path = native ? text_format("%s/%s", build, below) : text_format("%s/%s/%s", build, architecture, below);

	free(build);
	free(root);
	return path;
}

static char *below_home(const char *variable, const char *fallback, const char *below)
{
	const char *base = getenv(variable), *home = getenv("HOME");

	/* The XDG specification: a relative path in the variable is to be ignored. */
	if (base && base[0] == '/')
		return text_format("%s/shootdown/%s", base, below);
	return text_format("%s/%s/shootdown/%s", home && *home ? home : "/", fallback, below);
}

char *path_cache(const char *below)
{
	return below_home("XDG_CACHE_HOME", ".cache", below);
}

char *path_state(const char *below)
{
	return below_home("XDG_STATE_HOME", ".local/state", below);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ends_with(const char *name, const char *ending)
{
	size_t length = strlen(name), ending_length = strlen(ending);

	return length > ending_length && !strcmp(name + length - ending_length, ending);
}

char **path_names(const char *directory, const char *ending)
{
	DIR *stream = opendir(directory);
	size_t count = 0;
	char **names = calloc(1, sizeof(*names));
	struct dirent *entry;

	if (!names)
		abort();
	while (stream && (entry = readdir(stream))) {
		char **larger;

		if (entry->d_name[0] == '.' || (*ending && !ends_with(entry->d_name, ending)))
			continue;
		larger = realloc(names, (count + 2) * sizeof(*names));
		if (!larger)
			abort();
		names = larger;
		names[count] = strndup(entry->d_name, strlen(entry->d_name) - strlen(ending));
		names[++count] = NULL;
	}
	if (stream)
		closedir(stream);
	qsort(names, count, sizeof(*names), compare_names);
	return names;
}

char *path_find_program(const char *name)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return access(name, X_OK) ? NULL : strdup(name);
	while (path && *path) {
		size_t size = strcspn(path, ":");
		char *candidate = text_format("%.*s/%s", (int)size, path, name);

		if (!access(candidate, X_OK))
			return candidate;
		free(candidate);
		path += size + (path[size] == ':');
	}
	return NULL;
}

void names_free(char **names)
{
	for (char **name = names; name && *name; name++)
		free(*name);
	free(names);
}
