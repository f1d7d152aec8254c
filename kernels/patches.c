// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../runner/common/files.h"
#include "../runner/common/paths.h"
#include "error.h"
#include "patches.h"

#define PATCH_LIMIT (64U << 20)

struct application {
	struct git git;			/* with an index of its own */
	const struct base *base;
	const struct layer *layer;
	char *commit;			/* so far */
	struct kernel_error *error;
};

static int git_failed(struct application *application, int code, const char *what, char *reason)
{
	if (code < 0)
		return kernel_fail_code(application->error, code, "%s", what);
	return kernel_fail(application->error, EXIT_INTERNAL, "%s: git says: %s", what, git_reason(reason));
}

/* Number of the hunk of file that starts at that line of the old text; 0 when there is none. */
static unsigned int hunk_number(const char *patch, const char *file, unsigned long line)
{
	size_t length = strlen(file);
	unsigned int hunk = 0;
	bool inside = false;

	for (const char *p = patch, *newline; *p; p = newline ? newline + 1 : p + strlen(p)) {
		newline = strchr(p, '\n');
		if (!strncmp(p, "--- ", 4) && strncmp(p, "--- /dev/null", 13)) {
			const char *name = strchr(p + 4, '/');

			inside = name && !strncmp(name + 1, file, length) && strchr("\n\t ", name[1 + length]);
			hunk = 0;
		} else if (inside && !strncmp(p, "@@ -", 4)) {
			hunk++;
			if (strtoul(p + 4, NULL, 10) == line)
				return hunk;
		}
	}
	return 0;
}

void patch_failure(const char *errors, const char *patch_text, char *place, size_t place_size)
{
	static const char mark[] = "patch failed: ";
	const char *line = errors ? strstr(errors, mark) : NULL, *end, *colon = NULL;
	char file[512];
	unsigned long number;
	unsigned int hunk;

	if (!line) {
		/* "error: mm/nothing.c: does not exist in index", "error: corrupt patch at line 12" */
		line = errors ? strstr(errors, "error: ") : NULL;
		line = line ? line + 7 : errors && *errors ? errors : "git gives no reason";
		snprintf(place, place_size, "%.*s", (int)strcspn(line, "\n"), line);
		return;
	}
	line += strlen(mark);
	end = line + strcspn(line, "\n");
	for (const char *p = line; p < end; p++)
		if (*p == ':')
			colon = p;
	if (!colon || (size_t)(colon - line) >= sizeof(file)) {
		snprintf(place, place_size, "%.*s", (int)(end - line), line);
		return;
	}
	memcpy(file, line, (size_t)(colon - line));
	file[colon - line] = '\0';
	number = strtoul(colon + 1, NULL, 10);
	hunk = hunk_number(patch_text, file, number);
	if (hunk)
		snprintf(place, place_size, "%s, hunk %u (line %lu)", file, hunk, number);
	else
		snprintf(place, place_size, "%s, line %lu", file, number);
}

static int does_not_apply(struct application *application, const struct patch *patch, const char *which, char *errors)
{
	char place[640], *text = NULL;

	if (read_file(patch->path, PATCH_LIMIT, &text, NULL))
		text = NULL;
	patch_failure(errors, text ? text : "", place, sizeof(place));
	free(text);
	return kernel_fail(application->error, EXIT_REGRESSED, "%s: patch %s%s does not apply to %s: %s; rebase it, or choose a "
			   "base that it fits", application->layer->name, patch->name, which, application->base->resolved, place);
}

/* The index as a commit on top of what there is. */
static int commit_index(struct application *application, const char *message)
{
	char *tree = NULL, *commit = NULL, *reason = NULL;
	int code = git_run(&application->git, &tree, &reason, "write-tree", NULL);

	if (!code) {
		free(reason);
		reason = NULL;
		code = git_run(&application->git, &commit, &reason, "commit-tree", tree, "-m", message,
			       application->commit ? "-p" : NULL, application->commit, NULL);
	}
	if (code) {
		code = git_failed(application, code, "commit of a patch", reason);
		free(commit);
	} else {
		free(application->commit);
		application->commit = commit;
	}
	free(reason);
	free(tree);
	return code;
}

static int apply_patch(struct application *application, const struct patch *patch)
{
	char *errors = NULL, *message;
	int code = git_run(&application->git, NULL, &errors, "apply", "--cached", "--whitespace=nowarn", patch->path, NULL);

	if (code < 0)
		code = kernel_fail_code(application->error, code, "git apply of %s", patch->path);
	else if (code)
		code = does_not_apply(application, patch, "", errors);
	free(errors);
	if (code)
		return code;
	message = text_format("%s: %s", application->layer->name, patch->name);
	code = commit_index(application, message);
	free(message);
	return code;
}

/* " (mail 3: 'subject')" from what git am said last. */
static char *failed_mail(const char *output)
{
	const char *line = output ? strstr(output, "Patch failed at ") : NULL;

	if (!line)
		return strdup("");
	line += strlen("Patch failed at ");
	return text_format(" (mail %.*s)", (int)strcspn(line, "\n"), line);
}

/*
 * git am wants a working tree. It gets an empty one of its own: am takes the
 * files that it patches out of the index.
 */
static int make_place(struct application *application, const char *directory)
{
	const struct git here = { .directory = application->git.directory }, there = { .from = directory };
	char *reason = NULL;
	int code = remove_tree(directory);

	if (code)
		return kernel_fail_code(application->error, code, "%s", directory);
	git_run(&here, NULL, NULL, "worktree", "prune", NULL);
	code = git_run(&here, NULL, &reason, "worktree", "add", "--quiet", "--force", "--no-checkout", "--detach", directory,
		       application->commit, NULL);
	if (!code) {
		free(reason);
		reason = NULL;
		code = git_run(&there, NULL, &reason, "read-tree", "HEAD", NULL);
	}
	if (code)
		code = git_failed(application, code, "a place for git am", reason);
	free(reason);
	return code;
}

static int run_am(struct application *application, const char *directory, const struct patch *patch)
{
	const struct git there = { .from = directory };
	char *output = NULL, *errors = NULL, *commit = NULL, *which;
	int code = git_run(&there, &output, &errors, "am", "--quiet", "--keep-non-patch", "--whitespace=nowarn", patch->path, NULL);

	if (code < 0) {
		code = kernel_fail_code(application->error, code, "git am of %s", patch->path);
	} else if (code) {
		which = failed_mail(output);
		code = does_not_apply(application, patch, which, errors);
		free(which);
	} else {
		code = git_run(&there, &commit, NULL, "rev-parse", "HEAD", NULL);
	}
	free(output);
	free(errors);
	if (code) {
		free(commit);
		return code;
	}
	free(application->commit);
	application->commit = commit;
	return git_run(&application->git, NULL, NULL, "read-tree", commit, NULL);
}

static int apply_mails(struct application *application, const struct patch *patch)
{
	const struct git here = { .directory = application->git.directory };
	char *directory = path_cache("git/mails");
	int code = make_place(application, directory);

	if (!code)
		code = run_am(application, directory, patch);
	git_run(&here, NULL, NULL, "worktree", "remove", "--force", "--force", directory, NULL);
	remove_tree(directory);
	free(directory);
	return code;
}

static int apply_layer(struct application *application, const struct layer *layer)
{
	int code = 0;

	application->layer = layer;
	for (size_t i = 0; !code && i < layer->patch_count; i++)
		code = layer->spec->mbox ? apply_mails(application, &layer->patches[i])
					 : apply_patch(application, &layer->patches[i]);
	return code;
}

/* What kind of files differ between base and result. */
static int classify(struct application *application, struct patched *patched)
{
	char *listing = NULL, *reason = NULL;
	int code = git_run(&application->git, &listing, &reason, "diff-tree", "-r", "--name-only", application->base->tree,
			   patched->tree, NULL);

	if (code)
		code = git_failed(application, code, "files of the patches", reason);
	for (char *line = listing; !code && line && *line;) {
		char *next = strchr(line, '\n'), *name;

		if (next)
			*next++ = '\0';
		name = strrchr(line, '/');
		patched->common_headers |= !strncmp(line, "include/", 8) || !fnmatch("arch/*/include/*", line, 0);
		patched->kconfig |= !strncmp(name ? name + 1 : line, "Kconfig", 7);
		line = next;
	}
	free(listing);
	free(reason);
	return code;
}

static int apply_all(struct application *application, const struct layer *layers, size_t count, struct patched *patched)
{
	char *reason = NULL, *reference;
	int code = git_run(&application->git, NULL, &reason, "read-tree", application->base->tree, NULL);

	if (code)
		code = git_failed(application, code, "base", reason);
	free(reason);
	if (!code)
		code = commit_index(application, application->base->resolved);
	for (size_t i = 0; !code && i < count; i++)
		code = apply_layer(application, &layers[i]);
	if (code)
		return code;
	code = git_run(&application->git, &patched->tree, NULL, "write-tree", NULL);
	if (!code) {
		/* Kept from anybody's garbage collection, and to be looked at with git log. */
		reference = text_format("refs/kernels/%s", patched->tree);
		git_run(&application->git, NULL, NULL, "update-ref", reference, application->commit, NULL);
		free(reference);
		code = classify(application, patched);
	}
	return code;
}

int layers_apply(const char *repository, const struct base *base, const struct layer *layers, size_t count,
		 struct patched *patched, struct kernel_error *error)
{
	char *index = text_format("%s/index-patches", repository), *lock = text_format("%s.lock", index);
	struct application application = {
		.git = { .directory = repository, .index = index }, .base = base, .error = error,
	};
	int code;

	memset(patched, 0, sizeof(*patched));
	/* The caller holds the lock of the cache: what stands there is left from a killed one. */
	unlink(index);
	unlink(lock);
	code = apply_all(&application, layers, count, patched);
	if (code) {
		free(patched->tree);
		patched->tree = NULL;
		if (!*error->text)
			kernel_fail(error, EXIT_INTERNAL, "git could not make the tree of %s", base->resolved);
	}
	unlink(index);
	free(lock);
	free(index);
	free(application.commit);
	return code;
}
