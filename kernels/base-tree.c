// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tree:PATH, a source directory as it stands. An index of our own over it
 * makes the second look cheap: only files whose status changed are read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../runner/common/files.h"
#include "../runner/common/hash.h"
#include "../runner/common/paths.h"
#include "base.h"
#include "error.h"

/* What a build leaves in a source directory that is not under git. */
static const char build_outputs[] =
	"*.o\n*.a\n*.ko\n*.mod\n*.mod.c\n*.cmd\n*.d\n*.order\n*.so\n*.so.dbg\n*.lds\n!/arch/*/kernel/vmlinux.lds.S\n*.tmp\n"
	".tmp_*\n.config\n.config.old\n.version\n/vmlinux*\n/System.map\n/Module.symvers\n/modules.builtin*\n/include/config/\n"
	"/include/generated/\n/arch/*/include/generated/\n/arch/*/boot/bzImage\n/arch/*/boot/Image*\n.git\n";

/* Appends what git ls-files says to fd. -errno or git's exit status. */
static int list_into(const struct git *git, int fd, const char *others, const char *excludes)
{
	struct child child;
	int status = 0, code = git_start(git, fd, &child, "ls-files", "-z", "--cached", others, excludes, NULL);

	if (!code) {
		code = child_wait(&child, -1, &status);
		if (code)
			child_end(&child, 500);
		else if (status)
			code = -EIO;
	}
	return code;
}

/*
 * NUL-separated names of the files, in a memory file; -errno. What our index
 * knows is among them: files that are gone must leave it.
 */
static int list_files(const struct git *ours, const char *path, bool under_git)
{
	const struct git theirs = { .from = path };
	char *excludes = path_cache("git/build-outputs"), *option = text_format("--exclude-from=%s", excludes);
	int fd = memfd_create("names", MFD_CLOEXEC);
	int code = fd < 0 ? -errno : write_file(excludes, build_outputs, sizeof(build_outputs) - 1);

	if (!code)
		code = under_git ? list_into(ours, fd, NULL, NULL) : list_into(ours, fd, "--others", option);
	if (!code && under_git)
		code = list_into(&theirs, fd, "--others", "--exclude-standard");
	free(option);
	free(excludes);
	if (code) {
		close(fd);
		return code;
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Brings our index in step with the directory and writes it as a tree. */
static int import(const char *path, const char *repository, const char *index, char **tree, struct kernel_error *error)
{
	char *dot_git = text_format("%s/.git", path), *reason = NULL;
	/* git names files from where it stands: it must stand in the tree. */
	struct git git = { .directory = repository, .index = index, .work_tree = path, .from = path };
	int code, names = list_files(&git, path, file_exists(dot_git));

	free(dot_git);
	if (names < 0)
		return kernel_fail_code(error, names, "the files of %s cannot be listed", path);
	git.input = names;
	code = git_run(&git, NULL, &reason, "update-index", "--add", "--remove", "-z", "--stdin", NULL);
	close(names);
	git.input = 0;
	if (!code) {
		free(reason);
		reason = NULL;
		code = git_run(&git, tree, &reason, "write-tree", NULL);
	}
	if (code < 0)
		code = kernel_fail_code(error, code, "import of %s", path);
	else if (code)
		code = kernel_fail(error, EXIT_ENVIRONMENT, "import of %s failed: %s", path, git_reason(reason));
	free(reason);
	return code;
}

static char *index_path(const char *path)
{
	char hash[HASH_TEXT], *directory = path_cache("git/indexes"), *index;
	struct hash *state = hash_new();

	hash_add_text(state, path);
	hash_finish(state, hash);
	(void)!make_directories(directory);
	index = text_format("%s/%.16s", directory, hash);
	free(directory);
	return index;
}

int base_from_tree(const struct kernel_spec *spec, const struct watcher *watcher, struct base *base, struct kernel_error *error)
{
	char *path = realpath(spec->name, NULL), *repository, *index, *lock, *record;
	struct stat status;
	int fd, code;

	if (!path || stat(path, &status) || !S_ISDIR(status.st_mode)) {
		free(path);
		return kernel_fail(error, EXIT_USAGE, "%s: there is no directory %s", watcher->spec, spec->name);
	}
	base->resolved = text_format("tree:%s", path);
	base->lineage = strdup(base->resolved);
	repository = repository_open(error);
	code = repository ? cache_lock("import", watcher, &fd, error) : -EIO;
	if (!code) {
		index = index_path(path);
		lock = text_format("%s.lock", index);
		/* We hold the lock of the cache: a lock of git's that is still there is left from a killed one. */
		unlink(lock);
		watch(watcher, "import", path, -1);
		code = import(path, repository, index, &base->tree, error);
		if (!code) {
			record = text_format("tree %s", base->tree);
			free(base->tree);
			base->tree = NULL;
			if (record_find(record, base)) {
				base->tree = strdup(record + 5);
				code = record_keep(record, repository, base, error);
			}
			free(record);
		}
		free(lock);
		free(index);
		unlock_file(fd);
	}
	free(repository);
	free(path);
	return code;
}
