// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../runner/common/files.h"
#include "../runner/common/hash.h"
#include "../runner/common/interrupt.h"
#include "../runner/common/paths.h"
#include "base.h"
#include "error.h"

void watch(const struct watcher *watcher, const char *phase, const char *detail, double fraction)
{
	if (watcher->progress)
		watcher->progress(watcher->context, phase, detail, fraction);
}

int cache_lock(const char *name, const struct watcher *watcher, int *fd, struct kernel_error *error)
{
	char *directory = path_cache("locks"), *path = text_format("%s/%s", directory, name);
	char holder[256] = "", now[32], who[512], *detail;
	time_t seconds = time(NULL);
	struct tm local;
	bool told = false;
	int code = make_directories(directory);

	strftime(now, sizeof(now), "%H:%M:%S", localtime_r(&seconds, &local));
	snprintf(who, sizeof(who), "pid %d, kernel build %s, since %s", (int)getpid(), watcher->spec, now);
	while (!code) {
		code = lock_file(path, who, false, fd, holder, sizeof(holder));
		if (code != -EAGAIN)
			break;
		code = interrupted ? -EINTR : 0;
		if (!told) {
			detail = text_format("for %s", *holder ? holder : "another build");
			watch(watcher, "wait", detail, -1);
			free(detail);
			told = true;
		}
		usleep(200000);
	}
	if (code)
		code = kernel_fail_code(error, code, "lock %s%s%s%s", path, *holder ? " (held by " : "", holder,
					*holder ? ")" : "");
	free(path);
	free(directory);
	return code;
}

char *repository_open(struct kernel_error *error)
{
	char *directory = path_cache("git"), *head = text_format("%s/HEAD", directory), *reason = NULL;
	const struct git git = { .from = NULL };
	int code = 0;

	if (!file_exists(head)) {
		code = make_directories(directory);
		if (!code)
			code = git_run(&git, NULL, &reason, "init", "--quiet", "--bare", "--template=", directory, NULL);
	}
	if (code < 0)
		kernel_fail_code(error, code, "git repository %s cannot be made", directory);
	else if (code)
		kernel_fail(error, EXIT_ENVIRONMENT, "git repository %s cannot be made: %s", directory, git_reason(reason));
	if (code) {
		free(directory);
		directory = NULL;
	}
	free(reason);
	free(head);
	return directory;
}

static char *record_path(const char *name)
{
	char hash[HASH_TEXT], *directory = path_cache("sources"), *path;
	struct hash *state = hash_new();

	hash_add_text(state, name);
	hash_finish(state, hash);
	path = text_format("%s/%.32s.json", directory, hash);
	free(directory);
	return path;
}

int record_find(const char *name, struct base *base)
{
	char *path = record_path(name), reason[128];
	const char *tree, *release, *version;
	json_t *record;
	int code = read_json(path, &record, reason, sizeof(reason));

	free(path);
	if (code)
		return -ENOENT;
	tree = json_string_value(json_object_get(record, "tree"));
	release = json_string_value(json_object_get(record, "release"));
	version = json_string_value(json_object_get(record, "version"));
	if (tree && release) {
		base->tree = strdup(tree);
		base->release = strdup(release);
		if (version && !base->version)
			base->version = strdup(version);
	} else {
		code = -ENOENT;
	}
	json_decref(record);
	return code;
}

/* VALUE of a line "NAME = VALUE" in the head of the Makefile. */
static char *makefile_value(const char *makefile, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = makefile; line && *line; line = strchr(line, '\n'), line += line != NULL) {
		const char *value = line + length;

		if (strncmp(line, name, length))
			continue;
		value += strspn(value, " \t");
		if (*value != '=')
			continue;
		value++;
		value += strspn(value, " \t");
		return strndup(value, strcspn(value, " \t\n"));
	}
	return strdup("");
}

static int read_release(const char *repository, struct base *base, struct kernel_error *error)
{
	const struct git git = { .directory = repository };
	char *object = text_format("%s:Makefile", base->tree), *makefile = NULL;
	int code = git_run(&git, &makefile, NULL, "cat-file", "blob", object, NULL);
	char *parts[4] = { NULL };

	free(object);
	if (!code) {
		static const char *const names[] = { "VERSION", "PATCHLEVEL", "SUBLEVEL", "EXTRAVERSION" };

		for (size_t i = 0; i < 4; i++)
			parts[i] = makefile_value(makefile, names[i]);
	}
	free(makefile);
	if (code < 0)
		code = kernel_fail_code(error, code, "git on %s", repository);
	else if (code || !*parts[0] || !*parts[1])
		code = kernel_fail(error, EXIT_USAGE, "%s is not the source of a kernel (no Makefile with its version)",
				   base->resolved);
	else
		base->release = text_format("%s.%s.%s%s", parts[0], parts[1], *parts[2] ? parts[2] : "0", parts[3]);
	for (size_t i = 0; i < 4; i++)
		free(parts[i]);
	return code;
}

int record_keep(const char *name, const char *repository, struct base *base, struct kernel_error *error)
{
	char *path, *directory = path_cache("sources");
	int code = read_release(repository, base, error);
	json_t *record;

	if (!code) {
		record = json_pack("{ss ss ss ss?}", "name", name, "tree", base->tree, "release", base->release, "version",
				   base->version);
		path = record_path(name);
		code = make_directories(directory);
		if (!code)
			code = write_json(path, record);
		if (code)
			code = kernel_fail_code(error, code, "record %s", path);
		free(path);
		json_decref(record);
	}
	free(directory);
	return code;
}

int base_find(const struct kernel_spec *spec, const struct watcher *watcher, struct base *base, struct kernel_error *error)
{
	int code;

	memset(base, 0, sizeof(*base));
	switch (spec->source) {
	case KERNEL_DEB:
		code = base_from_deb(spec, watcher, base, error);
		break;
	case KERNEL_TAR:
		code = base_from_tar(spec, watcher, base, error);
		break;
	case KERNEL_GIT:
		code = base_from_git(spec, watcher, base, error);
		break;
	case KERNEL_TREE:
		code = base_from_tree(spec, watcher, base, error);
		break;
	default:
		code = kernel_fail(error, EXIT_INTERNAL, "a ready image has no base");
	}
	if (!code && !base->lineage)
		base->lineage = strdup(base->tree);
	if (code)
		base_free(base);
	return code;
}

void base_free(struct base *base)
{
	free(base->tree);
	free(base->version);
	free(base->release);
	free(base->resolved);
	free(base->lineage);
	memset(base, 0, sizeof(*base));
}
