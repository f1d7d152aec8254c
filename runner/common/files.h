/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files: each is written completely or not at all. */
#ifndef SHOOTDOWN_FILES_H
#define SHOOTDOWN_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Temporary file in the same directory, fsync, rename. -errno; nothing is left behind. */
int write_file(const char *path, const void *data, size_t size);
/* Into a file of /proc or /sys, which takes one write() and cannot be replaced. -errno. */
int write_setting(const char *path, const char *value);
int write_json(const char *path, const json_t *value);	/* sorted keys, indented, newline at end */
/* Reads at most limit bytes (-EFBIG beyond); NUL is added after the end; caller frees. Works on /proc and /sys. */
int read_file(const char *path, size_t limit, char **data, size_t *size);
int read_json(const char *path, json_t **value, char *reason, size_t reason_size);
int make_directories(const char *path);		/* like mkdir -p */
int remove_tree(const char *path);		/* like rm -rf, never follows links; 0 when absent */
int copy_file(const char *from, const char *to);
/* Removes what write_file() and copy_file() of a process that was killed left there. Nobody else may be writing there. */
void remove_unfinished(const char *directory);
bool file_exists(const char *path);
/* printf into a new string; aborts on lack of memory. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Advisory lock on a file. 0 with *fd; -EAGAIN when somebody holds it: holder gets what they wrote ("pid 12, shootdown kernel build ..."). */
int lock_file(const char *path, const char *who, bool wait, int *fd, char *holder, size_t holder_size);
void unlock_file(int fd);

#endif
