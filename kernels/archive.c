// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A source archive goes straight into a pack: unpacking it to files first
 * would write 1.4 GB that nobody reads. The decompressor runs as a process of
 * its own where there is one, beside git and without its dictionary in our
 * memory.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../runner/common/files.h"
#include "../runner/common/interrupt.h"
#include "base.h"
#include "error.h"
#include "toolchain.h"

#define SIZE_LIMIT (16LL << 30)
#define PATH_LIMIT 4096

struct import {
	FILE *stream;		/* to git fast-import */
	struct archive *archive;
	const char *path;
	const struct watcher *watcher;
	long long size, total;	/* bytes of compressed input read and to read */
	long long unpacked;
	int fd;			/* of the archive file */
	struct kernel_error *error;
};

static const struct {
	const char *program;
	unsigned char magic[6];
	size_t magic_size;
} decompressors[] = {
	{ "xz", { 0xfd, '7', 'z', 'X', 'Z', 0 }, 6 },
	{ "gzip", { 0x1f, 0x8b }, 2 },
	{ "bzip2", { 'B', 'Z', 'h' }, 3 },
	{ "zstd", { 0x28, 0xb5, 0x2f, 0xfd }, 4 },
};

/* Starts the decompressor on fd; *plain is what to read. Without one libarchive does it: *plain = fd. */
static int start_decompressor(int fd, struct child *child, int *plain)
{
	unsigned char head[6] = { 0 };
	int pipe_fds[2], code;

	*plain = fd;
	if (pread(fd, head, sizeof(head), 0) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(decompressors) / sizeof(decompressors[0]); i++) {
		const char *argv[] = { decompressors[i].program, "-dc", NULL };
		struct spawn_options options = { .input = fd, .error = -1, .no_network = true };

		if (memcmp(head, decompressors[i].magic, decompressors[i].magic_size) || !program_exists(argv[0]))
			continue;
		if (pipe2(pipe_fds, O_CLOEXEC))
			return -errno;
		options.output = pipe_fds[1];
		code = spawn(argv, &options, child);
		close(pipe_fds[1]);
		if (code)
			close(pipe_fds[0]);
		else
			*plain = pipe_fds[0];
		return code;
	}
	return 0;
}

/* Names that could leave the tree or mean something to git are refused. */
static bool safe_path(const char *path)
{
	size_t length = strlen(path);

	if (!length || length > PATH_LIMIT || path[0] == '/')
		return false;
	for (const char *part = path; *part;) {
		size_t size = strcspn(part, "/");

		if (!size || (size == 1 && part[0] == '.') || (size == 2 && !strncmp(part, "..", 2)) ||
		    (size == 4 && !strncasecmp(part, ".git", 4)))
			return false;
		part += size + (part[size] == '/');
	}
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p < 32 || *p == '"' || *p == '\\')
			return false;
	return true;
}

static int send_data(struct import *import, long long size)
{
	const void *block;
	size_t block_size;
	la_int64_t offset;
	long long sent = 0;
	int status;

	fprintf(import->stream, "data %lld\n", size);
	while ((status = archive_read_data_block(import->archive, &block, &block_size, &offset)) == ARCHIVE_OK) {
		if (offset != sent || sent + (long long)block_size > size)
			return -EBADMSG;
		if (fwrite(block, 1, block_size, import->stream) != block_size)
			return -EPIPE;
		sent += (long long)block_size;
	}
	if (status != ARCHIVE_EOF || sent != size)
		return -EBADMSG;
	return putc('\n', import->stream) == EOF ? -EPIPE : 0;
}

static int send_entry(struct import *import, struct archive_entry *entry)
{
	const char *path = archive_entry_pathname(entry), *target;
	mode_t type = archive_entry_filetype(entry);

	while (path && !strncmp(path, "./", 2))
		path += 2;
	if (type == AE_IFDIR)
		return 0;
	/* "git archive" puts the commit into a global header, which libarchive does not show: nothing else is let through. */
	if (!path || !safe_path(path))
		return kernel_fail(import->error, EXIT_USAGE, "archive %s holds a file with an unsafe name", import->path);
	if (archive_entry_hardlink(entry) || (type != AE_IFREG && type != AE_IFLNK))
		return kernel_fail(import->error, EXIT_USAGE, "archive %s: %s is neither a file nor a symbolic link; "
				   "pack the source again without it", import->path, path);
	if (type == AE_IFLNK) {
		target = archive_entry_symlink(entry);
		if (!target)
			return -EBADMSG;
		fprintf(import->stream, "M 120000 inline %s\ndata %zu\n%s\n", path, strlen(target), target);
		return ferror(import->stream) ? -EPIPE : 0;
	}
	import->unpacked += archive_entry_size(entry);
	if (!archive_entry_size_is_set(entry) || import->unpacked > SIZE_LIMIT)
		return kernel_fail(import->error, EXIT_USAGE, "archive %s is larger than 16 GiB unpacked", import->path);
	fprintf(import->stream, "M %s inline %s\n", archive_entry_perm(entry) & 0111 ? "100755" : "100644", path);
	return send_data(import, archive_entry_size(entry));
}

static void show_position(struct import *import)
{
	off_t position = lseek(import->fd, 0, SEEK_CUR);

	if (position >= 0 && import->total > 0)
		watch(import->watcher, "import", import->path, (double)position / (double)import->total);
}

static int send_entries(struct import *import)
{
	struct archive_entry *entry;
	unsigned int count = 0;
	int status, code = 0;

	fputs("feature done\ncommit refs/import\ncommitter shootdown <shootdown@localhost> 1577836800 +0000\ndata 0\n",
	      import->stream);
	while ((status = archive_read_next_header(import->archive, &entry)) == ARCHIVE_OK || status == ARCHIVE_WARN) {
		code = interrupted ? -EINTR : send_entry(import, entry);
		if (code)
			break;
		if (++count % 512 == 0)
			show_position(import);
	}
	if (!code && status != ARCHIVE_EOF)
		code = -EBADMSG;
	if (!code && !count)
		code = -EBADMSG;
	if (!code && (fputs("\ndone\n", import->stream) == EOF || fflush(import->stream)))
		code = -EPIPE;
	if (code == -EBADMSG && !*import->error->text) {
		const char *why = archive_error_string(import->archive);

		code = kernel_fail(import->error, EXIT_USAGE, "archive %s cannot be read: %s", import->path,
				   why ? why : "it is cut short or damaged");
	}
	return code;
}

static int open_archive(struct import *import, int plain)
{
	import->archive = archive_read_new();
	if (!import->archive)
		return -ENOMEM;
	archive_read_support_filter_all(import->archive);
	archive_read_support_format_tar(import->archive);
	if (archive_read_open_fd(import->archive, plain, 1 << 18) == ARCHIVE_OK)
		return 0;
	return kernel_fail(import->error, EXIT_USAGE, "%s is not a tar archive: %s", import->path,
			   archive_error_string(import->archive));
}

/* Sends the archive to a running fast-import through pipe_fd, which is closed. */
static int send_archive(struct import *import, int pipe_fd)
{
	struct child decompressor = { .pid = 0, .pidfd = -1 };
	int plain, code = start_decompressor(import->fd, &decompressor, &plain);

	import->stream = fdopen(pipe_fd, "w");
	if (!import->stream) {
		close(pipe_fd);
		return -ENOMEM;
	}
	setvbuf(import->stream, NULL, _IOFBF, 1 << 18);
	if (!code)
		code = open_archive(import, plain);
	if (!code)
		code = send_entries(import);
	if (import->archive)
		archive_read_free(import->archive);
	if (fclose(import->stream) && !code)
		code = -EPIPE;
	if (plain != import->fd && plain >= 0)
		close(plain);
	child_end(&decompressor, code ? 0 : 1000);
	return code;
}

/* What was imported last; where all of it stands in one folder, that folder. */
static int imported_tree(const char *repository, char **tree, struct kernel_error *error)
{
	const struct git git = { .directory = repository };
	char *listing = NULL, *newline, id[65] = "";
	int code = git_run(&git, &listing, NULL, "ls-tree", "refs/import^{tree}", NULL);

	if (code == 0) {
		newline = strchr(listing, '\n');
		if (!newline && sscanf(listing, "040000 tree %64[0-9a-f]", id) == 1)
			*tree = strdup(id);
		else
			code = git_run(&git, tree, NULL, "rev-parse", "--verify", "refs/import^{tree}", NULL);
	}
	free(listing);
	if (code < 0)
		return kernel_fail_code(error, code, "git on %s", repository);
	return code ? kernel_fail(error, EXIT_INTERNAL, "git on %s lost what was imported", repository) : 0;
}

static int run_import(struct import *import, const char *repository)
{
	struct git git = { .directory = repository };
	struct child child;
	int pipe_fds[2], code, status = 0, wait_code;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return kernel_fail_code(import->error, -errno, "pipe to git");
	git.input = pipe_fds[0];
	code = git_start(&git, -1, &child, "fast-import", "--quiet", "--force", "--depth=0", "--done", NULL);
	close(pipe_fds[0]);
	if (code) {
		close(pipe_fds[1]);
		return kernel_fail_code(import->error, code, "git fast-import cannot be started");
	}
	code = send_archive(import, pipe_fds[1]);
	wait_code = code ? -ECANCELED : child_wait(&child, -1, &status);
	if (wait_code)
		child_end(&child, 1000);
	if (!code)
		code = wait_code;
	if (!code && status)
		code = kernel_fail(import->error, EXIT_ENVIRONMENT, "import of %s into %s failed; is the disk full?", import->path,
				   repository);
	if (code && !*import->error->text)
		kernel_fail_code(import->error, code == -EPIPE ? -ENOSPC : code, "import of %s into %s", import->path, repository);
	return code;
}

int archive_import(const char *path, const char *repository, const struct watcher *watcher, char **tree,
		   struct kernel_error *error)
{
	struct import import = { .path = path, .watcher = watcher, .error = error };
	struct stat status;
	int code;

	import.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (import.fd < 0)
		return kernel_fail(error, EXIT_USAGE, "archive %s cannot be read: %s", path, strerror(errno));
	if (!fstat(import.fd, &status))
		import.total = status.st_size;
	watch(watcher, "import", path, 0);
	code = run_import(&import, repository);
	close(import.fd);
	return code ? code : imported_tree(repository, tree, error);
}
