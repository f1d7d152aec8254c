// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../runner/common/files.h"
#include "../runner/common/interrupt.h"
#include "../runner/common/paths.h"
#include "error.h"
#include "tree.h"

#define WORDS_MAXIMUM 40
#define LINE_LIMIT 4096
#define LOG_LIMIT (64U << 20)
#define LINES_OF_A_BUILD 2050		/* of a small configuration, until this tree has been built once */
#define SPACE_OF_A_TREE (3ULL << 30)

char *tree_path(const struct build_tree *tree, const char *below)
{
	return text_format("%s/%s", tree->source, below);
}

/* A tree that does not fit is better said before it is written. */
static int check_space(const struct build_tree *tree, struct kernel_error *error)
{
	struct statvfs space;

	if (file_exists(tree->index) || statvfs(tree->directory, &space))
		return 0;
	if ((unsigned long long)space.f_bavail * space.f_frsize >= SPACE_OF_A_TREE)
		return 0;
	return kernel_fail(error, EXIT_ENVIRONMENT, "a build tree needs 3 GiB and %s has %llu MiB left; make room, or put the "
			   "cache elsewhere with XDG_CACHE_HOME", tree->directory,
			   (unsigned long long)space.f_bavail * space.f_frsize >> 20);
}

int tree_open(const char *slot, const char *repository, const char *log, const struct toolchain *toolchain,
	      const struct watcher *watcher, struct build_tree *tree, struct kernel_error *error)
{
	char *trees = path_cache("trees"), *lock = text_format("tree-%s", slot);
	int code;

	*tree = (struct build_tree){ .repository = repository, .toolchain = toolchain, .watcher = watcher, .lock = -1 };
	tree->directory = text_format("%s/%s", trees, slot);
	tree->source = text_format("%s/source", tree->directory);
	tree->index = text_format("%s/index", tree->directory);
	tree->log = strdup(log);
	code = cache_lock(lock, watcher, &tree->lock, error);
	if (!code) {
		code = make_directories(tree->source);
		code = code ? kernel_fail_code(error, code, "build tree %s", tree->source) : check_space(tree, error);
	}
	free(lock);
	free(trees);
	if (code)
		tree_close(tree);
	return code;
}

void tree_close(struct build_tree *tree)
{
	if (tree->lock >= 0)
		unlock_file(tree->lock);
	free(tree->directory);
	free(tree->source);
	free(tree->index);
	free(tree->log);
	*tree = (struct build_tree){ .lock = -1 };
}

int tree_checkout(struct build_tree *tree, const char *object, struct kernel_error *error)
{
	const struct git git = { .directory = tree->repository, .index = tree->index, .work_tree = tree->source };
	char *lock = text_format("%s.lock", tree->index), *reason = NULL;
	int code;

	/* We hold the lock of the tree: a lock of git's is left from a killed one. */
	unlink(lock);
	free(lock);
	code = git_run(&git, NULL, &reason, "read-tree", "--reset", "-u", object, NULL);
	if (code < 0)
		code = kernel_fail_code(error, code, "checkout into %s", tree->source);
	else if (code && reason && strstr(reason, "No space left"))
		code = kernel_fail_code(error, -ENOSPC, "checkout into %s", tree->source);
	else if (code)
		code = kernel_fail(error, EXIT_ENVIRONMENT, "checkout into %s failed: %s; remove that directory to start afresh",
				   tree->source, git_reason(reason));
	free(reason);
	return code;
}

static unsigned int cpus_usable(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned int)CPU_COUNT(&set);
}

struct words {
	const char *words[WORDS_MAXIMUM + 1];
	char *owned[16];
	size_t count, owned_count;
};

static void add(struct words *words, const char *word)
{
	if (words->count < WORDS_MAXIMUM)
		words->words[words->count++] = word;
}

static void add_owned(struct words *words, char *word)
{
	words->owned[words->owned_count++] = word;
	add(words, word);
}

/*
 * Everything that a build could take from this machine, this day or this
 * directory into the image is fixed here: what is changed here changes images,
 * and RECIPE in build.c with it.
 */
static void make_words(const struct build_tree *tree, const char *const *targets, struct words *words)
{
	const struct toolchain *tools = tree->toolchain;
	const char *wrapper = tools->ccache ? "ccache " : "";

	add(words, "make");
	add_owned(words, text_format("-j%u", cpus_usable()));
	add_owned(words, text_format("ARCH=%s", tools->kernel_architecture));
	if (*tools->prefix)
		add_owned(words, text_format("CROSS_COMPILE=%s", tools->prefix));
	add_owned(words, text_format("CC=%s%sgcc", wrapper, tools->prefix));
	add_owned(words, text_format("HOSTCC=%sgcc", wrapper));
	add_owned(words, text_format("KCFLAGS=-ffile-prefix-map=%s=.", tree->source));
	add_owned(words, text_format("KAFLAGS=-ffile-prefix-map=%s=.", tree->source));
	add(words, "LOCALVERSION=");
	add(words, "KBUILD_BUILD_TIMESTAMP=Wed Jan  1 00:00:00 UTC 2020");
	add(words, "KBUILD_BUILD_USER=shootdown");
	add(words, "KBUILD_BUILD_HOST=shootdown");
	add(words, "KBUILD_BUILD_VERSION=1");
	for (; *targets; targets++)
		add(words, *targets);
	words->words[words->count] = NULL;
}

static int start_make(const struct build_tree *tree, const char *const *targets, int output, struct child *child)
{
	char *base_directory = text_format("CCACHE_BASEDIR=%s", tree->source);
	char *ceiling = text_format("GIT_CEILING_DIRECTORIES=%s", tree->directory);
	/* Variables that the kernel's makefiles or the compiler would take from a person's environment. */
	const char *environment[] = {
		"LC_ALL=C", "TZ=UTC", "CCACHE_NOHASHDIR=1", base_directory, ceiling,
		"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "MAKEFILES", "ARCH", "SUBARCH", "CROSS_COMPILE", "LLVM",
		"LLVM_IAS", "CC", "HOSTCC", "LD", "AR", "CFLAGS", "CPPFLAGS", "LDFLAGS", "CFLAGS_KERNEL", "AFLAGS_KERNEL",
		"KCPPFLAGS", "KAFLAGS", "KCFLAGS", "KRUSTFLAGS", "HOSTCFLAGS", "HOSTLDFLAGS", "HOSTLDLIBS", "USERCFLAGS",
		"USERLDFLAGS", "KBUILD_OUTPUT", "KBUILD_EXTMOD", "KBUILD_VERBOSE", "KBUILD_ABS_SRCTREE", "KBUILD_SYMTYPES",
		"KBUILD_CFLAGS", "KCONFIG_CONFIG", "KCONFIG_ALLCONFIG", "KCONFIG_NOSILENTUPDATE", "KCONFIG_OVERWRITECONFIG",
		"INSTALL_PATH", "INSTALL_MOD_PATH", "INSTALL_MOD_STRIP", "LOCALVERSION", "SOURCE_DATE_EPOCH", "CPATH",
		"C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "GIT_DIR", "GIT_WORK_TREE",
		"GIT_INDEX_FILE", "V", "W", "C", "M", "O", NULL,
	};
	const struct spawn_options options = {
		.directory = tree->source, .environment = environment, .input = -1, .output = output, .error = output,
		.no_network = true, .nice = 5,
	};
	struct words words = { .count = 0 };
	int code;

	make_words(tree, targets, &words);
	code = spawn(words.words, &options, child);
	for (size_t i = 0; i < words.owned_count; i++)
		free(words.owned[i]);
	free(ceiling);
	free(base_directory);
	return code;
}

struct follower {
	const struct build_tree *tree;
	const char *phase;
	unsigned int lines, expected;
	char line[LINE_LIMIT];
	size_t length;
};

/* "  CC      mm/rmap.o" is one step. */
static void follow_line(struct follower *follower)
{
	double fraction;

	follower->line[follower->length] = '\0';
	if (!strncmp(follower->line, "  ", 2) && follower->line[2] >= 'A' && follower->line[2] <= 'Z') {
		follower->lines++;
		fraction = follower->expected ? (double)follower->lines / follower->expected : -1;
		watch(follower->tree->watcher, follower->phase, follower->line + 2, fraction > 0.99 ? 0.99 : fraction);
	}
	follower->length = 0;
}

static void follow(struct follower *follower, const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (data[i] == '\n')
			follow_line(follower);
		else if (follower->length < LINE_LIMIT - 1)
			follower->line[follower->length++] = data[i];
	}
}

/* Copies what make says into the log until it ends; *status as of waitpid. */
static int follow_make(struct child *child, int from, int log, struct follower *follower, int *status)
{
	char data[16384];

	for (;;) {
		struct pollfd poll_fd = { .fd = from, .events = POLLIN };
		ssize_t size = 0;

		if (interrupted)
			return -EINTR;
		if (poll(&poll_fd, 1, 300) <= 0)
			continue;
		size = read(from, data, sizeof(data));
		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			return child_wait(child, 30000, status);
		if (write(log, data, (size_t)size) != size)
			return -ENOSPC;
		follow(follower, data, (size_t)size);
	}
}

/* How many steps a whole build of this tree took last time. */
static unsigned int expected_lines(const struct build_tree *tree)
{
	char *path = text_format("%s/steps", tree->directory), *text;
	unsigned int lines = LINES_OF_A_BUILD;

	if (!read_file(path, 64, &text, NULL)) {
		lines = (unsigned int)strtoul(text, NULL, 10);
		free(text);
	}
	free(path);
	return lines;
}

static void keep_lines(const struct build_tree *tree, unsigned int lines)
{
	char *path = text_format("%s/steps", tree->directory), text[32];

	/* A build that goes on from a killed one, or from a variant, has fewer. */
	if (!file_exists(path) || lines > expected_lines(tree)) {
		snprintf(text, sizeof(text), "%u\n", lines);
		(void)!write_file(path, text, strlen(text));
	}
	free(path);
}

static int build_failed(const struct build_tree *tree, const char *target, off_t start, struct kernel_error *error)
{
	char *text = NULL, *line = NULL;
	unsigned int count = 0;
	size_t size = 0;

	if (!read_file(tree->log, LOG_LIMIT, &text, &size) && (size_t)start <= size)
		line = log_summary(text + start, &count);
	snprintf(error->log, sizeof(error->log), "%s", tree->log);
	if (line && strstr(line, "No space left on device"))
		kernel_fail_code(error, -ENOSPC, "make %s in %s", target, tree->source);
	else if (count > 1)
		kernel_fail(error, EXIT_REGRESSED, "make %s for %s failed: %s (and %u more); the log is %s", target,
			    tree->watcher->spec, line, count - 1, tree->log);
	else
		kernel_fail(error, EXIT_REGRESSED, "make %s for %s failed: %s; the log is %s", target, tree->watcher->spec,
			    line ? line : "it gave no reason", tree->log);
	free(line);
	free(text);
	return -EBADMSG;
}

int tree_make(struct build_tree *tree, const char *phase, const char *const *targets, bool counted,
	      struct kernel_error *error)
{
	struct follower follower = { .tree = tree, .phase = phase, .expected = counted ? expected_lines(tree) : 0 };
	int pipe_fds[2], code, status = 0, log = open(tree->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	struct child child = { .pid = 0, .pidfd = -1 };
	off_t start = log >= 0 ? lseek(log, 0, SEEK_END) : 0;

	if (log < 0)
		return kernel_fail_code(error, -errno, "build log %s", tree->log);
	if (pipe2(pipe_fds, O_CLOEXEC)) {
		close(log);
		return kernel_fail_code(error, -errno, "pipe");
	}
	watch(tree->watcher, phase, targets[0], counted ? 0 : -1);
	code = start_make(tree, targets, pipe_fds[1], &child);
	close(pipe_fds[1]);
	if (!code)
		code = follow_make(&child, pipe_fds[0], log, &follower, &status);
	close(pipe_fds[0]);
	close(log);
	if (code) {
		/* make removes what is half made when it gets the signal. */
		child_end(&child, 10000);
		return kernel_fail_code(error, code, "make %s for %s", targets[0], tree->watcher->spec);
	}
	if (status)
		return build_failed(tree, targets[0], start, error);
	if (counted)
		keep_lines(tree, follower.lines);
	return 0;
}

char *log_summary(const char *log_text, unsigned int *count)
{
	static const char *const marks[] = { ": error: ", "error: ", ": fatal error: ", "undefined reference to", "No space left on device",
					     "*** " };
	char *found = NULL;

	*count = 0;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !found; i++)
		for (const char *line = log_text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
			size_t length = strcspn(line, "\n");
			const char *mark = memmem(line, length, marks[i], strlen(marks[i]));

			if (!mark)
				continue;
			if (!found)
				found = strndup(line, length < 400 ? length : 400);
			++*count;
		}
	return found;
}
