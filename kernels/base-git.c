// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * git:PATH@REF. The objects of the commit's tree are copied, its history is
 * not, so that the cache stands by itself when the repository moves on.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../runner/common/files.h"
#include "../runner/common/nearest.h"
#include "base.h"
#include "error.h"

#define RANGE_LIMIT 4096

static int unknown_reference(const struct kernel_spec *spec, const char *reference, struct kernel_error *error)
{
	const struct git git = { .from = spec->name };
	char *listing = NULL, hint[160];
	const char **names = calloc(8192 + 1, sizeof(*names));
	size_t count = 0;

	if (names && !git_run(&git, &listing, NULL, "for-each-ref", "--format=%(refname:short)", NULL))
		for (char *line = listing; line && *line && count < 8192;) {
			char *next = strchr(line, '\n');

			if (next)
				*next++ = '\0';
			names[count++] = line;
			line = next;
		}
	nearest_hint(reference, names, hint, sizeof(hint));
	free(names);
	free(listing);
	return kernel_fail(error, EXIT_USAGE, "git repository %s has no commit '%s'%s", spec->name, reference, hint);
}

static int check_repository(const struct kernel_spec *spec, struct kernel_error *error)
{
	const struct git git = { .from = spec->name };
	char *reason = NULL;
	int code;

	if (!file_exists(spec->name))
		return kernel_fail(error, EXIT_USAGE, "there is no git repository %s", spec->name);
	code = git_run(&git, NULL, &reason, "rev-parse", "--git-dir", NULL);
	if (code < 0)
		code = kernel_fail_code(error, code, "git on %s (package git)", spec->name);
	else if (code)
		code = kernel_fail(error, EXIT_USAGE, "%s is not a git repository: %s", spec->name, git_reason(reason));
	free(reason);
	return code;
}

/* REF^{kind} as an object id. */
static int resolve(const struct kernel_spec *spec, const char *reference, const char *kind, char **id,
		   struct kernel_error *error)
{
	const struct git git = { .from = spec->name };
	char *word = text_format("%s^{%s}", reference, kind);
	int code = git_run(&git, id, NULL, "rev-parse", "--verify", "--quiet", "--end-of-options", word, NULL);
	char *start;

	free(word);
	if (code < 0)
		return kernel_fail_code(error, code, "git on %s", spec->name);
	if (code) {
		free(*id);
		*id = NULL;
		return unknown_reference(spec, reference, error);
	}
	/* Older git prints --end-of-options too. */
	start = strrchr(*id, '\n');
	if (start)
		memmove(*id, start + 1, strlen(start + 1) + 1);
	return 0;
}

/* A file with what to send and what need not be sent: trees of this repository that came before. */
static int revisions_file(const char *repository, const char *tree, const char *reference)
{
	const struct git git = { .directory = repository };
	char *known = NULL;
	int fd = memfd_create("revisions", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	dprintf(fd, "%s\n", tree);
	if (!git_run(&git, &known, NULL, "rev-parse", "--verify", "--quiet", reference, NULL) && *known)
		dprintf(fd, "^%s\n", known);
	free(known);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* pack-objects there, unpacked here through a pipe. */
static int copy_objects(const char *from, const char *repository, int revisions, char **reason)
{
	struct git source = { .from = from, .input = revisions }, target = { .directory = repository };
	struct child packer;
	int pipe_fds[2], status = 0, code;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	code = git_start(&source, pipe_fds[1], &packer, "pack-objects", "--revs", "--stdout", "--quiet", "--delta-base-offset",
			 NULL);
	close(pipe_fds[1]);
	if (!code) {
		target.input = pipe_fds[0];
		code = git_run(&target, NULL, reason, "index-pack", "--stdin", NULL);
	}
	close(pipe_fds[0]);
	if (code < 0) {
		child_end(&packer, 500);
		return code;
	}
	return child_wait(&packer, 60000, &status) || status ? 1 : code;
}

/* The tree may have come some other way: as a package, or as the sum of a series. */
static bool holds_tree(const char *repository, const char *tree)
{
	const struct git git = { .directory = repository };
	char *reference = text_format("refs/kernels/%s", tree);
	bool held = !git_run(&git, NULL, NULL, "rev-parse", "--verify", "--quiet", reference, NULL);

	free(reference);
	return held;
}

/* One reference a repository: the tree imported last, which the next one mostly shares. Caller frees. */
static char *last_import(const char *path)
{
	unsigned int sum = 5381;

	for (; *path; path++)
		sum = sum * 33 + (unsigned char)*path;
	return text_format("refs/lineage/%08x", sum);
}

static int import(const struct kernel_spec *spec, const char *path, const char *repository, const struct watcher *watcher,
		  struct base *base, struct kernel_error *error)
{
	const struct git git = { .directory = repository };
	char *reference = last_import(path), *reason = NULL;
	int revisions, code = 0;

	watch(watcher, "import", base->resolved, -1);
	if (!holds_tree(repository, base->tree)) {
		revisions = revisions_file(repository, base->tree, reference);
		code = revisions < 0 ? revisions : copy_objects(spec->name, repository, revisions, &reason);
		if (revisions >= 0)
			close(revisions);
	}
	/* The tree known may have been pruned there: send everything then. */
	if (code > 0) {
		free(reason);
		reason = NULL;
		revisions = revisions_file(repository, base->tree, "refs/none");
		code = revisions < 0 ? revisions : copy_objects(spec->name, repository, revisions, &reason);
		if (revisions >= 0)
			close(revisions);
	}
	if (!code)
		git_run(&git, NULL, NULL, "update-ref", reference, base->tree, NULL);
	if (code < 0)
		code = kernel_fail_code(error, code, "import of %s", base->resolved);
	else if (code)
		code = kernel_fail(error, EXIT_ENVIRONMENT, "import of %s into %s failed: %s", base->resolved, repository,
				   git_reason(reason));
	free(reason);
	free(reference);
	return code;
}

static int import_once(const struct kernel_spec *spec, const char *path, const char *record, const struct watcher *watcher,
		       struct base *base, struct kernel_error *error)
{
	char *repository = repository_open(error);
	int fd, code = repository ? cache_lock("import", watcher, &fd, error) : -EIO;

	if (!code) {
		if (record_find(record, base)) {
			code = resolve(spec, base->version, "tree", &base->tree, error);
			if (!code)
				code = import(spec, path, repository, watcher, base, error);
			if (!code)
				code = record_keep(record, repository, base, error);
		}
		unlock_file(fd);
	}
	free(repository);
	return code;
}

/*
 * All commits of a repository share one build tree: that of the content which
 * was imported from it first, so that a history which starts with a package's
 * source goes on from the objects of that package.
 */
static int find_lineage(const char *path, struct base *base, struct kernel_error *error)
{
	struct base first = { .resolved = base->resolved };
	char *name = text_format("repository %s", path), *repository = NULL;
	int code = 0;

	if (record_find(name, &first)) {
		first.tree = strdup(base->tree);
		repository = repository_open(error);
		code = repository ? record_keep(name, repository, &first, error) : -EIO;
	}
	base->lineage = first.tree;
	free(first.release);
	free(first.version);
	free(repository);
	free(name);
	return code;
}

int base_from_git(const struct kernel_spec *spec, const struct watcher *watcher, struct base *base, struct kernel_error *error)
{
	char *path, *record;
	int code = check_repository(spec, error);

	if (!code)
		code = resolve(spec, spec->version ? spec->version : "HEAD", "commit", &base->version, error);
	if (code)
		return code;
	path = realpath(spec->name, NULL);
	if (!path)
		path = strdup(spec->name);
	base->resolved = text_format("git:%s@%s", path, base->version);
	/* A commit is its content, wherever it stands. */
	record = text_format("commit %s", base->version);
	if (record_find(record, base))
		code = import_once(spec, path, record, watcher, base, error);
	if (!code)
		code = find_lineage(path, base, error);
	free(record);
	free(path);
	return code;
}

/* One spec a commit of the listing, oldest first. */
static char **specs_of_range(const struct kernel_spec *spec, char *listing, size_t *count)
{
	char **specs = calloc(RANGE_LIMIT + 2, sizeof(*specs)), *layers = spec_layers_text(spec);

	*count = 0;
	for (char *line = listing; specs && line && *line && *count <= RANGE_LIMIT;) {
		char *next = strchr(line, '\n');

		if (next)
			*next++ = '\0';
		specs[(*count)++] = text_format("git:%s@%s%s", spec->name, line, layers);
		line = next;
	}
	free(layers);
	return specs;
}

static int expand_range(const struct kernel_spec *spec, char ***specs, struct kernel_error *error)
{
	const struct git git = { .from = spec->name };
	char *dots = strstr(spec->version, ".."), *from = NULL, *to = NULL, *range, *listing = NULL;
	char *first = strndup(spec->version, (size_t)(dots - spec->version));
	size_t count = 0;
	int code = check_repository(spec, error);

	if (!code)
		code = resolve(spec, *first ? first : "HEAD", "commit", &from, error);
	if (!code)
		code = resolve(spec, dots[2] ? dots + 2 : "HEAD", "commit", &to, error);
	if (!code) {
		range = text_format("%s..%s", from, to);
		code = git_run(&git, &listing, NULL, "rev-list", "--reverse", "--topo-order", "--abbrev-commit", "--abbrev=12", range,
			       NULL);
		free(range);
		if (code)
			code = kernel_fail(error, EXIT_ENVIRONMENT, "git rev-list on %s failed; check it with git fsck", spec->name);
	}
	if (!code) {
		*specs = specs_of_range(spec, listing, &count);
		if (!count || count > RANGE_LIMIT) {
			kernel_specs_free(*specs);
			code = kernel_fail(error, EXIT_USAGE, count ? "git:%s@%s is more than 4096 commits; name a shorter range"
					   : "git:%s@%s holds no commit; is it the wrong way round?", spec->name, spec->version);
		}
	}
	free(listing);
	free(first);
	free(from);
	free(to);
	return code;
}

int kernel_spec_expand(const char *text, char ***specs, struct kernel_error *error)
{
	struct kernel_spec spec;
	int code;

	memset(error, 0, sizeof(*error));
	code = spec_parse(text, &spec, error);
	if (code)
		return code;
	if (spec.source == KERNEL_GIT && spec.version && strstr(spec.version, "..")) {
		code = expand_range(&spec, specs, error);
	} else {
		*specs = calloc(2, sizeof(**specs));
		(*specs)[0] = strdup(text);
	}
	spec_free(&spec);
	return code;
}

void kernel_specs_free(char **specs)
{
	for (char **spec = specs; spec && *spec; spec++)
		free(*spec);
	free(specs);
}
