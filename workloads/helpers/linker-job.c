// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program with the profile of a linker (or archiver), for fork-exec-make:
 *
 *	linker-job OUTPUT INPUT...
 *
 * Maps every input, keeps a copy of it in a heap that grows with it, goes over
 * the heap once more as relocation does, and writes OUTPUT with all of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096

static char *heap, *heap_used, *heap_break;

_Noreturn static void die(const char *what, const char *path)
{
	fprintf(stderr, "linker-job: %s: %s: %s\n", what, path, strerror(errno));
	_exit(1);
}

/* The C library has used some of the break already: start at a page. */
static void open_heap(void)
{
	size_t used = (uintptr_t)sbrk(0) % PAGE;

	if (sbrk(used ? (intptr_t)(PAGE - used) : 0) == (void *)-1)
		die("heap", "start");
	heap = heap_used = heap_break = sbrk(0);
}

static char *allocate(size_t bytes, const char *path)
{
	char *block = heap_used;

	bytes = (bytes + 15) / 16 * 16;
	while (heap_used + bytes > heap_break) {
		if (sbrk(33 * PAGE) == (void *)-1)
			die("heap", path);
		heap_break += 33 * PAGE;
	}
	heap_used += bytes;
	return block;
}

static void take_input(const char *path)
{
	struct stat status;
	void *input;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status) < 0)
		die("open", path);
	if (status.st_size) {
		input = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (input == MAP_FAILED)
			die("map", path);
		memcpy(allocate((size_t)status.st_size, path), input, (size_t)status.st_size);
		munmap(input, (size_t)status.st_size);
	}
	close(fd);
}

static void write_output(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0)
		die("create", path);
	for (char *at = heap; at < heap_used;) {
		size_t left = (size_t)(heap_used - at);
		ssize_t wrote = write(fd, at, left < 16 * PAGE ? left : 16 * PAGE);

		if (wrote < 0)
			die("write", path);
		at += wrote;
	}
	if (close(fd) < 0)
		die("close", path);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: linker-job OUTPUT INPUT...\n");
		return 2;
	}
	open_heap();
	for (int i = 2; i < argc; i++)
		take_input(argv[i]);
	for (char *at = heap; at + 8 <= heap_used; at += 8)
		*(uint64_t *)at += (uint64_t)(at - heap);
	write_output(argv[1]);
	return 0;
}
