// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

/* Between a file's name and what makes it another one while it is written. */
#define UNFINISHED ".unfinished-"

char *text_format(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		abort();
	va_end(arguments);
	return text;
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t put = write(fd, data, size);

		if (put < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		data += put;
		size -= (size_t)put;
	}
	return 0;
}

/* A device or a pipe is written to: a rename would put a file in its place. */
static int write_special(const char *path, const void *data, size_t size)
{
	int error, fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	error = write_all(fd, data, size);
	if (close(fd) && !error)
		error = -errno;
	return error;
}

int write_setting(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t written;
	int error = 0;

	if (fd < 0)
		return -errno;
	written = write(fd, value, strlen(value));
	if (written != (ssize_t)strlen(value))
		error = written < 0 ? -errno : -EIO;
	if (close(fd) && !error)
		error = -errno;
	return error;
}

int write_file(const char *path, const void *data, size_t size)
{
	struct stat status;

	if (!stat(path, &status) && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return write_special(path, data, size);
	char *temporary = text_format("%s" UNFINISHED "XXXXXX", path);
	int error = 0, fd = mkostemp(temporary, O_CLOEXEC);

	if (fd < 0) {
		error = -errno;
		free(temporary);
		return error;
	}
	error = write_all(fd, data, size);
	if (!error && fchmod(fd, 0644))
		error = -errno;
	if (!error && fsync(fd))
		error = -errno;
	if (close(fd) && !error)
		error = -errno;
	if (!error && rename(temporary, path))
		error = -errno;
	if (error)
		unlink(temporary);
	free(temporary);
	return error;
}

int write_json(const char *path, const json_t *value)
{
	char *text = json_dumps(value, JSON_SORT_KEYS | JSON_INDENT(1) | JSON_ENCODE_ANY);
	char *line;
	int error;

	if (!text)
		return -ENOMEM;
	line = text_format("%s\n", text);
	error = write_file(path, line, strlen(line));
	free(line);
	free(text);
	return error;
}

int read_file(const char *path, size_t limit, char **data, size_t *size)
{
	size_t have = 0, room = 4096;
	char *buffer;
	int error = 0, fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	buffer = malloc(room + 1);
	while (buffer) {
		ssize_t got = read(fd, buffer + have, room - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			error = -errno;
		if (got <= 0)
			break;
		have += (size_t)got;
		if (have > limit) {
			error = -EFBIG;
			break;
		}
		if (have == room) {
			char *larger = realloc(buffer, 2 * room + 1);

			if (!larger) {
				error = -ENOMEM;
				break;
			}
			buffer = larger;
			room *= 2;
		}
	}
	close(fd);
	if (!buffer)
		return -ENOMEM;
	if (error) {
		free(buffer);
		return error;
	}
	buffer[have] = '\0';
	*data = buffer;
	if (size)
		*size = have;
	return 0;
}

int read_json(const char *path, json_t **value, char *reason, size_t reason_size)
{
	json_error_t json_error;
	char *data;
	size_t size;
	int error = read_file(path, SIZE_MAX - 1, &data, &size);

	if (error) {
		snprintf(reason, reason_size, "%s", strerror(-error));
		return error;
	}
	*value = json_loadb(data, size, JSON_REJECT_DUPLICATES, &json_error);
	free(data);
	if (*value)
		return 0;
	snprintf(reason, reason_size, "line %d: %s", json_error.line, json_error.text);
	return -EBADMSG;
}

int make_directories(const char *path)
{
	char *copy = strdup(path);
	int error = 0;

	if (!copy)
		return -ENOMEM;
	for (char *slash = copy + 1; !error; slash++) {
		char kept = *slash;

		if (kept && kept != '/')
			continue;
		*slash = '\0';
		if (mkdir(copy, 0755) && errno != EEXIST)
			error = -errno;
		*slash = kept;
		if (!kept)
			break;
	}
	free(copy);
	return error;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *position)
{
	(void)status;
	(void)type;
	(void)position;
	return remove(path) && errno != ENOENT ? -errno : 0;
}

int remove_tree(const char *path)
{
	struct stat status;

	if (lstat(path, &status))
		return errno == ENOENT ? 0 : -errno;
	return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Streams: what is copied may be a vmlinux of hundreds of megabytes. */
static int copy_data(int from, int to)
{
	char data[1 << 16];
	ssize_t got;

	while ((got = read(from, data, sizeof(data))) != 0) {
		int error = got < 0 ? -errno : write_all(to, data, (size_t)got);

		if (error && error != -EINTR)
			return error;
	}
	return fsync(to) ? -errno : 0;
}

int copy_file(const char *from, const char *to)
{
	char *temporary = text_format("%s" UNFINISHED "XXXXXX", to);
	int error = 0, source = open(from, O_RDONLY | O_CLOEXEC), target = -1;

	if (source < 0)
		error = -errno;
	if (!error) {
		target = mkostemp(temporary, O_CLOEXEC);
		error = target < 0 ? -errno : copy_data(source, target);
	}
	if (!error && (fchmod(target, 0644) || rename(temporary, to)))
		error = -errno;
	if (error && target >= 0)
		unlink(temporary);
	if (target >= 0)
		close(target);
	if (source >= 0)
		close(source);
	free(temporary);
	return error;
}

void remove_unfinished(const char *directory)
{
	DIR *stream = opendir(directory);
	struct dirent *entry;

	while (stream && (entry = readdir(stream))) {
		const char *mark = strstr(entry->d_name, UNFINISHED);

		if (mark && strlen(mark) == strlen(UNFINISHED "XXXXXX"))
			unlinkat(dirfd(stream), entry->d_name, 0);
	}
	if (stream)
		closedir(stream);
}

bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void lock_holder(int fd, char *holder, size_t holder_size)
{
	ssize_t got = pread(fd, holder, holder_size - 1, 0);

	holder[got > 0 ? got : 0] = '\0';
	holder[strcspn(holder, "\n")] = '\0';
	if (!holder[0])
		snprintf(holder, holder_size, "another process");
}

/* A holder that removes its file leaves a lock on something that nobody else will find. Closes the descriptor then. */
static bool still_there(int fd, const char *path)
{
	struct stat locked, there;

	if (!fstat(fd, &locked) && !stat(path, &there) && locked.st_ino == there.st_ino && locked.st_dev == there.st_dev)
		return true;
	close(fd);
	return false;
}

int lock_file(const char *path, const char *who, bool wait, int *fd_result, char *holder, size_t holder_size)
{
	int error = 0, fd;

	do {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB))) {
			error = errno == EWOULDBLOCK ? -EAGAIN : -errno;
			if (error == -EAGAIN && holder && holder_size)
				lock_holder(fd, holder, holder_size);
			close(fd);
			return error;
		}
	} while (!still_there(fd, path));
	/* Who holds it is for people only: a failure to write it does not unlock. */
	if (ftruncate(fd, 0) == 0)
		dprintf(fd, "%s\n", who);
	*fd_result = fd;
	return 0;
}

void unlock_file(int fd)
{
	if (ftruncate(fd, 0)) {
		/* the name of the last holder stays; the lock itself goes with the descriptor */
	}
	close(fd);
}
