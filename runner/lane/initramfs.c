// SPDX-License-Identifier: GPL-2.0-or-later
#include "initramfs.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../common/files.h"
#include "elf-closure.h"

/* A program or data file beyond this has no place in a guest's memory. */
#define FILE_LIMIT ((size_t)1 << 30)
#define TREE_DEPTH 32

struct entry {
	char *path;		/* "/lib/libc.so.6" */
	mode_t mode;		/* with the file type */
	char *data;		/* content, or target of a link */
	size_t size;
	dev_t device;
};

struct initramfs {
	const struct initramfs *base;
	struct entry *entries;	/* sorted by path: a parent stands before its children */
	size_t count, room;
	char *behind;		/* an archive file that follows when this one is written */
};

static const struct entry *find(const struct initramfs *initramfs, const char *path, size_t *position)
{
	size_t low = 0, high = initramfs->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(initramfs->entries[middle].path, path);

		if (!order)
			return &initramfs->entries[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (position)
		*position = low;
	return NULL;
}

static const struct entry *find_anywhere(const struct initramfs *initramfs, const char *path, size_t *position)
{
	const struct entry *entry = initramfs->base ? find(initramfs->base, path, NULL) : NULL;

	return entry ? entry : find(initramfs, path, position);
}

bool initramfs_has(const struct initramfs *initramfs, const char *path)
{
	return find_anywhere(initramfs, path, NULL);
}

static bool plain_path(const char *path)
{
	size_t size = strlen(path);

	return path[0] == '/' && size > 1 && size < PATH_MAX && path[size - 1] != '/' && !strstr(path, "//") &&
	       !strstr(path, "/../") && !strstr(path, "/./") && strcmp(path + size - 2, "/.") != 0 &&
	       (size < 3 || strcmp(path + size - 3, "/..") != 0);
}

static bool same(const struct entry *left, const struct entry *right)
{
	if ((left->mode & S_IFMT) != (right->mode & S_IFMT))
		return false;
	if (S_ISDIR(left->mode))
		return true;
	return left->size == right->size && left->device == right->device &&
	       (!left->size || !memcmp(left->data, right->data, left->size));
}

/* Takes over entry->data, also on failure. */
static int insert(struct initramfs *initramfs, const char *path, struct entry entry)
{
	const struct entry *taken;
	size_t position;
	int error = -ENOMEM;

	taken = find_anywhere(initramfs, path, &position);
	if (taken) {
		error = same(taken, &entry) ? 0 : -EEXIST;
		goto out;
	}
	if (initramfs->count == initramfs->room) {
		size_t room = initramfs->room ? initramfs->room * 2 : 64;
		struct entry *grown = realloc(initramfs->entries, room * sizeof(*grown));

		if (!grown)
			goto out;
		initramfs->entries = grown;
		initramfs->room = room;
	}
	entry.path = strdup(path);
	if (!entry.path)
		goto out;
	memmove(initramfs->entries + position + 1, initramfs->entries + position,
		(initramfs->count - position) * sizeof(entry));
	initramfs->entries[position] = entry;
	initramfs->count++;
	return 0;
out:
	free(entry.data);
	return error;
}

static int add_parents(struct initramfs *initramfs, const char *path)
{
	char *copy = strdup(path);
	int error = copy ? 0 : -ENOMEM;

	for (char *slash = copy ? strchr(copy + 1, '/') : NULL; slash && !error; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		error = insert(initramfs, copy, (struct entry){ .mode = S_IFDIR | 0755 });
		*slash = '/';
	}
	free(copy);
	return error;
}

static int add(struct initramfs *initramfs, const char *path, struct entry entry)
{
	int error = plain_path(path) ? add_parents(initramfs, path) : -EINVAL;

	if (error) {
		free(entry.data);
		return error;
	}
	return insert(initramfs, path, entry);
}

int initramfs_new(const struct initramfs *base, struct initramfs **initramfs)
{
	struct initramfs *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->base = base;
	*initramfs = made;
	return 0;
}

void initramfs_free(struct initramfs *initramfs)
{
	if (!initramfs)
		return;
	for (size_t i = 0; i < initramfs->count; i++) {
		free(initramfs->entries[i].path);
		free(initramfs->entries[i].data);
	}
	free(initramfs->entries);
	free(initramfs->behind);
	free(initramfs);
}

int initramfs_add_data(struct initramfs *initramfs, const char *path, const void *data, size_t size, unsigned int mode)
{
	struct entry entry = { .mode = S_IFREG | mode, .data = malloc(size + 1), .size = size };

	if (!entry.data)
		return -ENOMEM;
	memcpy(entry.data, data, size);
	return add(initramfs, path, entry);
}

int initramfs_add_file(struct initramfs *initramfs, const char *path, const char *host_path, unsigned int mode)
{
	struct entry entry = { .mode = S_IFREG | mode };
	int error = read_file(host_path, FILE_LIMIT, &entry.data, &entry.size);

	return error ? error : add(initramfs, path, entry);
}

int initramfs_add_directory(struct initramfs *initramfs, const char *path, unsigned int mode)
{
	return add(initramfs, path, (struct entry){ .mode = S_IFDIR | mode });
}

int initramfs_add_link(struct initramfs *initramfs, const char *path, const char *target)
{
	struct entry entry = { .mode = S_IFLNK | 0777, .data = strdup(target), .size = strlen(target) };

	return entry.data ? add(initramfs, path, entry) : -ENOMEM;
}

int initramfs_add_character_device(struct initramfs *initramfs, const char *path, unsigned int major, unsigned int minor)
{
	return add(initramfs, path, (struct entry){ .mode = S_IFCHR | 0600, .device = makedev(major, minor) });
}

int initramfs_set_behind(struct initramfs *initramfs, const char *archive)
{
	free(initramfs->behind);
	initramfs->behind = strdup(archive);
	return initramfs->behind ? 0 : -ENOMEM;
}

static int add_tree(struct initramfs *initramfs, const char *path, const char *host_path, int depth);

static int add_members(struct initramfs *initramfs, const char *path, const char *host_path, int depth)
{
	DIR *directory = opendir(host_path);
	struct dirent *member;
	int error = 0;

	if (!directory)
		return -errno;
	while (!error && (member = readdir(directory))) {
		char *inside, *outside;

		if (!strcmp(member->d_name, ".") || !strcmp(member->d_name, ".."))
			continue;
		inside = text_format("%s/%s", path, member->d_name);
		outside = text_format("%s/%s", host_path, member->d_name);
		error = add_tree(initramfs, inside, outside, depth - 1);
		free(inside);
		free(outside);
	}
	closedir(directory);
	return error;
}

static int add_tree(struct initramfs *initramfs, const char *path, const char *host_path, int depth)
{
	char target[PATH_MAX];
	struct stat status;
	ssize_t size;
	int error;

	if (!depth)
		return -ELOOP;
	if (lstat(host_path, &status))
		return -errno;
	/* A link that the user names is followed, links inside a directory stay links. */
	if (S_ISLNK(status.st_mode) && depth == TREE_DEPTH && stat(host_path, &status))
		return -errno;
	switch (status.st_mode & S_IFMT) {
	case S_IFREG:
		return initramfs_add_file(initramfs, path, host_path, status.st_mode & 0777);
	case S_IFLNK:
		size = readlink(host_path, target, sizeof(target) - 1);
		if (size < 0)
			return -errno;
		target[size] = '\0';
		return initramfs_add_link(initramfs, path, target);
	case S_IFDIR:
		error = initramfs_add_directory(initramfs, path, 0755);
		return error ? error : add_members(initramfs, path, host_path, depth);
	default:
		return -EINVAL;
	}
}

int initramfs_add_tree(struct initramfs *initramfs, const char *path, const char *host_path)
{
	return add_tree(initramfs, path, host_path, TREE_DEPTH);
}

static int add_closure(struct initramfs *initramfs, const struct elf_closure *closure, char *reason, size_t reason_size)
{
	int error = 0;

	if (closure->interpreter)
		error = initramfs_add_file(initramfs, closure->interpreter, closure->interpreter_path, 0755);
	for (size_t i = 0; i < closure->count && !error; i++) {
		const struct elf_file *library = &closure->libraries[i];
		const char *slash = strrchr(library->name, '/');
		char *path = text_format("%s/%s", INITRAMFS_LIBRARIES, slash ? slash + 1 : library->name);

		error = initramfs_add_file(initramfs, path, library->path, 0755);
		if (error)
			snprintf(reason, reason_size, "library %s: %s", library->path,
				 error == -EEXIST ? "another library of this name is in the guest already" : strerror(-error));
		free(path);
	}
	return error;
}

/* "#!/bin/sh -e": the interpreter travels to the path that the script names. */
static int add_script_interpreter(struct initramfs *initramfs, const char *host_path, char *reason, size_t reason_size)
{
	char line[256] = "", *start;
	FILE *file = fopen(host_path, "re");

	if (!file)
		return -errno;
	if (!fgets(line, sizeof(line), file) || strncmp(line, "#!", 2) != 0) {
		fclose(file);
		snprintf(reason, reason_size, "%s is neither a program nor a script that names its interpreter", host_path);
		return -ENOEXEC;
	}
	fclose(file);
	start = line + 2 + strspn(line + 2, " \t");
	start[strcspn(start, " \t\r\n")] = '\0';
	if (initramfs_has(initramfs, start))
		return 0;
	return initramfs_add_program(initramfs, start, start, reason, reason_size);
}

int initramfs_add_program(struct initramfs *initramfs, const char *path, const char *host_path,
			  char *reason, size_t reason_size)
{
	struct elf_closure closure;
	int error;

	reason[0] = '\0';
	error = initramfs_add_file(initramfs, path, host_path, 0755);
	if (!error)
		error = elf_closure(host_path, &closure, reason, reason_size);
	if (!error) {
		error = add_closure(initramfs, &closure, reason, reason_size);
		elf_closure_free(&closure);
	} else if (error == -ENOEXEC) {
		error = add_script_interpreter(initramfs, host_path, reason, reason_size);
	}
	if (error && !reason[0])
		snprintf(reason, reason_size, "%s: %s", host_path, strerror(-error));
	return error;
}

static int write_entry(struct archive *archive, const struct entry *entry, ino_t inode)
{
	struct archive_entry *header = archive_entry_new();
	int error = -EIO;

	if (!header)
		return -ENOMEM;
	archive_entry_set_pathname(header, entry->path + 1);
	archive_entry_set_mode(header, entry->mode);
	archive_entry_set_uid(header, 0);
	archive_entry_set_gid(header, 0);
	archive_entry_set_mtime(header, 0, 0);
	archive_entry_set_nlink(header, S_ISDIR(entry->mode) ? 2 : 1);
	archive_entry_set_ino(header, (la_int64_t)inode);
	archive_entry_set_size(header, S_ISREG(entry->mode) ? (la_int64_t)entry->size : 0);
	if (S_ISLNK(entry->mode))
		archive_entry_set_symlink(header, entry->data);
	if (S_ISCHR(entry->mode))
		archive_entry_set_rdev(header, entry->device);
	if (archive_write_header(archive, header) == ARCHIVE_OK &&
	    (!S_ISREG(entry->mode) || !entry->size ||
	     archive_write_data(archive, entry->data, entry->size) == (la_ssize_t)entry->size))
		error = 0;
	archive_entry_free(header);
	return error;
}

static int write_archive(const struct initramfs *initramfs, FILE *output)
{
	struct archive *archive = archive_write_new();
	int error = 0;

	if (!archive)
		return -ENOMEM;
	archive_write_set_format_cpio_newc(archive);
	archive_write_set_bytes_per_block(archive, 65536);
	archive_write_set_bytes_in_last_block(archive, 512);
	if (archive_write_open_FILE(archive, output) != ARCHIVE_OK)
		error = -EIO;
	for (size_t i = 0; i < initramfs->count && !error; i++)
		error = write_entry(archive, &initramfs->entries[i], (ino_t)(i + 1));
	if (!error && archive_write_close(archive) != ARCHIVE_OK)
		error = -EIO;
	/* The archive's own number says more (no space, quota), when there is one. */
	if (error && archive_errno(archive) > 0)
		error = -archive_errno(archive);
	archive_write_free(archive);
	return error;
}

/* In pieces: a toolchain is larger than the runner should ever be. */
static int write_copy(const char *path, FILE *output)
{
	FILE *input = fopen(path, "re");
	char piece[65536];
	size_t got;
	int error = 0;

	if (!input)
		return -errno;
	while (!error && (got = fread(piece, 1, sizeof(piece), input)))
		if (fwrite(piece, 1, got, output) != got)
			error = -errno;
	if (!error && ferror(input))
		error = -EIO;
	fclose(input);
	return error;
}

int initramfs_write(const struct initramfs *initramfs, const char *prefix, const char *output)
{
	char *temporary = text_format("%s.%ld.tmp", output, (long)getpid());
	FILE *file = fopen(temporary, "we");
	int error = file ? 0 : -errno;

	if (file) {
		if (prefix)
			error = write_copy(prefix, file);
		if (!error)
			error = write_archive(initramfs, file);
		if (!error && initramfs->behind)
			error = write_copy(initramfs->behind, file);
		if (fclose(file) && !error)
			error = -errno;
		if (!error && rename(temporary, output))
			error = -errno;
		if (error)
			unlink(temporary);
	}
	free(temporary);
	return error;
}
