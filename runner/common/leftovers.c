// SPDX-License-Identifier: GPL-2.0-or-later
#include "leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "paths.h"

#define JOURNAL_LIMIT (1u << 20)

static const char *const kind_names[] = {
	[LEFTOVER_VALUE] = "value", [LEFTOVER_TREE] = "tree", [LEFTOVER_DIRECTORY] = "directory",
};
#define KINDS (sizeof(kind_names) / sizeof(kind_names[0]))

/* A new journal, locked. Between its making and its locking somebody may have taken it for one without owner. */
static int open_journal(struct leftovers *leftovers)
{
	char *folder = path_state("leftovers");
	int error = make_directories(folder);

	while (!error && !leftovers->owner) {
		struct stat status;
		int fd, length = snprintf(leftovers->path, sizeof(leftovers->path), "%s/XXXXXX", folder);

		fd = length < (int)sizeof(leftovers->path) ? mkostemp(leftovers->path, O_CLOEXEC) : -1;
		if (fd < 0) {
			error = length < (int)sizeof(leftovers->path) ? -errno : -ENAMETOOLONG;
		} else if (flock(fd, LOCK_EX) || fstat(fd, &status)) {
			error = -errno;
			unlink(leftovers->path);
			close(fd);
		} else if (status.st_nlink) {
			leftovers->lock = fd;
			leftovers->owner = getpid();
		} else {
			close(fd);
		}
	}
	free(folder);
	return error;
}

int leftovers_note(struct leftovers *leftovers, enum leftover_kind kind, const char *path, const char *value)
{
	int error = leftovers->owner ? 0 : open_journal(leftovers);
	json_t *entry;
	char *text, *line;

	if (error)
		return error;
	if (leftovers->owner != getpid())
		return -EBUSY;
	entry = json_pack("{s:s, s:s, s:s*}", "kind", kind_names[kind], "path", path, "value", value);
	text = entry ? json_dumps(entry, JSON_COMPACT) : NULL;
	json_decref(entry);
	if (!text)	/* a path that is no UTF-8 */
		return -EINVAL;
	line = text_format("%s\n", text);
	if (write(leftovers->lock, line, strlen(line)) != (ssize_t)strlen(line))
		error = errno ? -errno : -ENOSPC;
	free(line);
	free(text);
	return error;
}

void leftovers_end(struct leftovers *leftovers)
{
	if (!leftovers->owner)
		return;
	unlink(leftovers->path);
	/* The number means something to the process that opened it only. */
	if (leftovers->owner == getpid())
		close(leftovers->lock);
	*leftovers = (struct leftovers){ 0 };
}

/* The journal is a file of the user's, but what it makes us remove must be of the kind that we make. */
static bool is_ours(enum leftover_kind kind, const char *path)
{
	const char *name = strrchr(path, '/');

	if (path[0] != '/' || strstr(path, "/../"))
		return false;
	if (kind == LEFTOVER_VALUE)
		return !strncmp(path, "/proc/sys/", 10) || !strncmp(path, "/sys/", 5);
	return strstr(name, "shootdown") != NULL;
}

static int clear_one(const json_t *entry)
{
	const char *path = json_string_value(json_object_get(entry, "path")), *kind = json_string_value(json_object_get(entry, "kind"));
	const char *value = json_string_value(json_object_get(entry, "value"));
	size_t found = 0;

	while (kind && found < KINDS && strcmp(kind_names[found], kind))
		found++;
	/* A line that the kill cut short was not followed by its change. */
	if (!kind || !path || found == KINDS || !is_ours((enum leftover_kind)found, path) || (found == LEFTOVER_VALUE && !value))
		return -ENOENT;
	switch ((enum leftover_kind)found) {
	case LEFTOVER_VALUE:
		return write_setting(path, value);
	case LEFTOVER_TREE:
		return file_exists(path) ? remove_tree(path) : -ENOENT;
	case LEFTOVER_DIRECTORY:
		return rmdir(path) ? -errno : 0;
	}
	return -ENOENT;
}

/* The entries from the last to the first; true when nothing of them is left to do. */
static int clear_entries(char *text, unsigned int *count, char *reason, size_t reason_size)
{
	int first = 0;

	while (*text) {
		char *start = strrchr(text, '\n');
		json_t *entry;
		int error;

		if (start && !start[1]) {	/* the end of the last line that is left */
			*start = '\0';
			continue;
		}
		start = start ? start + 1 : text;
		entry = json_loads(start, JSON_REJECT_DUPLICATES, NULL);
		error = clear_one(entry);
		*count += !error;
		if (error && error != -ENOENT && !first) {
			first = error;
			snprintf(reason, reason_size, "%s: %s", json_string_value(json_object_get(entry, "path")), strerror(-error));
		}
		json_decref(entry);
		*start = '\0';
	}
	return first;
}

static int clear_journal(const char *path, unsigned int *count, char *reason, size_t reason_size)
{
	int error = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat status;
	char *text;

	if (fd < 0)
		return 0;
	/* Somebody else's journal must not make us (root, say) do anything. */
	if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &status) && status.st_uid == geteuid() && status.st_nlink &&
	    !read_file(path, JOURNAL_LIMIT, &text, NULL)) {
		error = clear_entries(text, count, reason, reason_size);
		if (!error)
			unlink(path);
		free(text);
	}
	close(fd);
	return error;
}

int leftovers_clear(unsigned int *count, char *reason, size_t reason_size)
{
	char *folder = path_state("leftovers"), **names = path_names(folder, "");
	int first = 0;

	*count = 0;
	for (char **name = names; *name; name++) {
		char *path = text_format("%s/%s", folder, *name), why[256];
		int error = clear_journal(path, count, why, sizeof(why));

		if (error && !first) {
			first = error;
			snprintf(reason, reason_size, "%s", why);
		}
		free(path);
	}
	names_free(names);
	free(folder);
	return first;
}
