/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's file system: a set of entries, written as a cpio archive that is
 * the same to the byte for the same entries (sorted, no time, no owner, no
 * path of this machine).
 */
#ifndef SHOOTDOWN_INITRAMFS_H
#define SHOOTDOWN_INITRAMFS_H

#include <stdbool.h>
#include <stddef.h>

/* Where libraries stand in the guest; init sets LD_LIBRARY_PATH to it. */
#define INITRAMFS_LIBRARIES "/lib"

struct initramfs;

/* `base` (may be NULL, borrowed, must outlive): what is in it already need not be added again. */
int initramfs_new(const struct initramfs *base, struct initramfs **initramfs);
void initramfs_free(struct initramfs *initramfs);

/*
 * Paths in the guest are absolute and plain (no "..", no "//"); parents are
 * made. The same entry twice is kept once; another content at a path that is
 * taken is -EEXIST. Adding to a set that failed before is harmless.
 */
int initramfs_add_data(struct initramfs *initramfs, const char *path, const void *data, size_t size, unsigned int mode);
int initramfs_add_file(struct initramfs *initramfs, const char *path, const char *host_path, unsigned int mode);
int initramfs_add_directory(struct initramfs *initramfs, const char *path, unsigned int mode);
int initramfs_add_link(struct initramfs *initramfs, const char *path, const char *target);
int initramfs_add_character_device(struct initramfs *initramfs, const char *path, unsigned int major, unsigned int minor);
/* A file or a directory with everything in it. */
int initramfs_add_tree(struct initramfs *initramfs, const char *path, const char *host_path);
/* A program with its interpreter and libraries, or a script with its interpreter. `reason` says what is missing. */
int initramfs_add_program(struct initramfs *initramfs, const char *path, const char *host_path,
			  char *reason, size_t reason_size);
bool initramfs_has(const struct initramfs *initramfs, const char *path);

/* An archive file, written before, that is copied behind the entries: the kernel unpacks one after the other. */
int initramfs_set_behind(struct initramfs *initramfs, const char *archive);

/* Writes the archive to `output`, after the bytes of file `prefix` (an archive written before) when that is not NULL. Whole or not at all. */
int initramfs_write(const struct initramfs *initramfs, const char *prefix, const char *output);

#endif
