/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What workloads that map memory have in common: huge page sizes, transparent huge pages, populating. */
#ifndef SHOOTDOWN_WORKLOAD_MEMORY_H
#define SHOOTDOWN_WORKLOAD_MEMORY_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workloads/workload.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23		/* since 5.14 */
#endif

#define THP_PATH "/sys/kernel/mm/transparent_hugepage/"

static inline uint64_t base_page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What one last-level page table maps: 2 MiB with 4 KiB pages, 512 MiB with 64 KiB ones. */
static inline uint64_t table_reach(void)
{
	uint64_t page = base_page_size();

	return page / sizeof(uint64_t) * page;
}

/* First line of a small file of /proc or /sys, without its newline. */
static inline int read_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = read(fd, line, size - 1);
	if (length < 0)
		length = -errno;
	close(fd);
	if (length < 0)
		return (int)length;
	line[length] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

/* Number after `key` in a file of lines "key  number"; -ENOENT when no line has the key. */
static inline int read_keyed(const char *path, const char *key, uint64_t *value)
{
	FILE *file = fopen(path, "re");
	char line[256];
	int error = -ENOENT;

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		*value = strtoull(line + strlen(key), NULL, 10);
		error = 0;
		break;
	}
	fclose(file);
	return error;
}

/* True when the bracketed word of transparent_hugepage/enabled is `mode`. */
static inline bool thp_mode_is(const char *mode)
{
	char line[128], word[32];

	snprintf(word, sizeof(word), "[%s]", mode);
	return read_line(THP_PATH "enabled", line, sizeof(line)) == 0 && strstr(line, word);
}

/* Touches every page of a range for writing; 0 or -errno. */
static inline int populate(void *start, uint64_t length)
{
	volatile char *bytes = start;
	uint64_t page = base_page_size();

	while (madvise(start, length, MADV_POPULATE_WRITE) < 0) {
		if (errno == EAGAIN || errno == EINTR)
			continue;
		if (errno != EINVAL)
			return -errno;
		/* A kernel that does not know the advice: store into each page. */
		for (uint64_t at = 0; at < length; at += page)
			bytes[at] = 1;
		return 0;
	}
	return 0;
}

#endif
