// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program with the profile of a C compiler, for fork-exec-make:
 *
 *	compiler-job driver    DIRECTORY UNIT [--KEY=NUMBER]...	runs the other two, one after the other
 *	compiler-job compile   DIRECTORY UNIT [--KEY=NUMBER]...
 *	compiler-job assemble  DIRECTORY UNIT [--KEY=NUMBER]...
 *
 * compile maps a file as large as a compiler's text and touches it, looks for
 * headers where they are not and then reads them where they are, grows a heap
 * page by page, walks it, and writes DIRECTORY/unit-UNIT.s; assemble turns that
 * into DIRECTORY/unit-UNIT.o. Nothing depends on time, process number or
 * address. Static and without malloc: every page comes from a fault that the
 * profile asks for.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define HEAP_STEP (33 * PAGE)		/* how far malloc moves the break at a time */
#define ASSEMBLY_PER_OBJECT 3		/* text is about three times as long as what it becomes */

struct profile {
	uint64_t headers, header_bytes, lookups, heap, text, object_bytes, compute, vfork;
};

static const struct {
	const char *name;
	size_t offset;
} keys[] = {
	{ "headers", offsetof(struct profile, headers) },
	{ "header-bytes", offsetof(struct profile, header_bytes) },
	{ "lookups", offsetof(struct profile, lookups) },
	{ "heap", offsetof(struct profile, heap) },
	{ "text", offsetof(struct profile, text) },
	{ "object-bytes", offsetof(struct profile, object_bytes) },
	{ "compute", offsetof(struct profile, compute) },
	{ "vfork", offsetof(struct profile, vfork) },
};

static const char *stage, *directory, *unit;

_Noreturn static void die(const char *what, const char *path)
{
	fprintf(stderr, "compiler-job: %s: %s: %s\n", what, path, strerror(errno));
	_exit(1);
}

static void read_arguments(int count, char **arguments, struct profile *profile)
{
	for (int i = 0; i < count; i++) {
		const char *equals = strchr(arguments[i], '=');
		bool known = false;
		char *end;

		for (size_t key = 0; equals && key < sizeof(keys) / sizeof(keys[0]); key++) {
			size_t length = strlen(keys[key].name);

			if ((size_t)(equals - arguments[i]) != length + 2 || strncmp(arguments[i] + 2, keys[key].name, length))
				continue;
			errno = 0;
			*(uint64_t *)((char *)profile + keys[key].offset) = strtoull(equals + 1, &end, 10);
			known = !errno && end != equals + 1 && !*end;
		}
		if (!known) {
			errno = EINVAL;
			die("argument", arguments[i]);
		}
	}
}

static void file_path(char *path, const char *format, ...)
{
	va_list values;
	int length = snprintf(path, PATH_MAX, "%s/", directory);

	va_start(values, format);
	length += vsnprintf(path + length, PATH_MAX - (size_t)length, format, values);
	va_end(values);
	if (length >= PATH_MAX) {
		errno = ENAMETOOLONG;
		die("path", directory);
	}
}

/* --- the heap: the break moves in steps, a page is touched when it is used --- */

static char *heap_start, *heap_break, *heap_used;

/* The C library has used some of the break already: start at a page. */
static void open_heap(void)
{
	size_t used = (uintptr_t)sbrk(0) % PAGE;

	if (sbrk(used ? (intptr_t)(PAGE - used) : 0) == (void *)-1)
		die("heap", stage);
	heap_start = heap_break = heap_used = sbrk(0);
}

static void grow_heap(uint64_t bytes)
{
	uint64_t random = 1;

	while (bytes >= PAGE) {
		if (heap_used + PAGE > heap_break) {
			if (sbrk(HEAP_STEP) == (void *)-1)
				die("heap", stage);
			heap_break += HEAP_STEP;
		}
		/* A page of a compiler's heap is filled, not only touched. */
		for (size_t at = 0; at < PAGE; at += 64)
			*(uint64_t *)(heap_used + at) = random = random * UINT64_C(6364136223846793005) + at;
		heap_used += PAGE;
		bytes -= PAGE;
	}
}

static uint64_t walk_heap(uint64_t steps)
{
	uint64_t words = (uint64_t)(heap_used - heap_start) / sizeof(uint64_t), random = 88172645463325252u, sum = 0;
	uint64_t *heap = (uint64_t *)heap_start;

	for (uint64_t i = 0; words && i < steps; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		sum += heap[random % words] += i;
	}
	return sum;
}

/* --- files --- */

static char buffer[64 << 10];

static void read_whole(const char *path)
{
	struct stat status;
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status) < 0)
		die("open", path);
	while ((got = read(fd, buffer, sizeof(buffer))) > 0)
		;
	if (got < 0)
		die("read", path);
	close(fd);
}

static void write_whole(const char *path, uint64_t bytes, uint64_t content)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		die("create", path);
	memcpy(buffer, &content, sizeof(content));
	while (bytes) {
		/* A compiler's stdio writes pages. */
		ssize_t wrote = write(fd, buffer, bytes < PAGE ? bytes : PAGE);

		if (wrote < 0)
			die("write", path);
		bytes -= (uint64_t)wrote;
	}
	if (close(fd) < 0)
		die("close", path);
}

/* --- stages --- */

static void touch_text(uint64_t bytes)
{
	char path[PATH_MAX];
	const volatile char *text;
	int fd;

	if (!bytes)
		return;
	file_path(path, "text");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("open", path);
	text = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		die("map", path);
	for (uint64_t at = 0; at < bytes; at += PAGE)
		(void)text[at];
	close(fd);
}

static void compile(const struct profile *profile)
{
	uint64_t heap_share = profile->heap / (profile->headers + 1), lookups = 0, sum;
	char path[PATH_MAX];

	open_heap();
	touch_text(profile->text);
	file_path(path, "unit-%s.c", unit);
	read_whole(path);
	for (uint64_t header = 0; header < profile->headers; header++) {
		for (; lookups * profile->headers < profile->lookups * (header + 1); lookups++) {
			file_path(path, "absent/header-%lu.h", (unsigned long)header);
			if (access(path, R_OK) == 0)
				die("should be absent", path);
		}
		file_path(path, "header-%lu.h", (unsigned long)header);
		read_whole(path);
		grow_heap(heap_share);
	}
	grow_heap(profile->heap - (uint64_t)(heap_used - heap_start));
	sum = walk_heap(profile->compute);
	file_path(path, "unit-%s.s", unit);
	write_whole(path, profile->object_bytes * ASSEMBLY_PER_OBJECT, sum);
}

static void assemble(const struct profile *profile)
{
	char path[PATH_MAX];

	open_heap();
	file_path(path, "unit-%s.s", unit);
	read_whole(path);
	grow_heap(profile->heap / 16);
	file_path(path, "unit-%s.o", unit);
	write_whole(path, profile->object_bytes, walk_heap(profile->compute / 16));
}

/* Who waits for the driver learns that a stage was killed, not that it failed. */
_Noreturn static void end_as(int status)
{
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	_exit(1);	/* the stage has said why */
}

static void run_stage(char **arguments, char *name, bool use_vfork)
{
	int status;
	pid_t pid;

	arguments[1] = name;
	pid = use_vfork ? vfork() : fork();
	if (pid < 0)
		die("fork", name);
	if (pid == 0) {
		execv(arguments[0], arguments);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) < 0)
		die("wait", name);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		end_as(status);
}

static void drive(char **arguments, const struct profile *profile)
{
	static char compile_name[] = "compile", assemble_name[] = "assemble";
	char path[PATH_MAX];

	run_stage(arguments, compile_name, profile->vfork);
	run_stage(arguments, assemble_name, profile->vfork);
	file_path(path, "unit-%s.s", unit);
	if (unlink(path) < 0)
		die("unlink", path);
}

int main(int argc, char **argv)
{
	struct profile profile = { 0 };

	if (argc < 4) {
		fprintf(stderr, "usage: compiler-job driver|compile|assemble DIRECTORY UNIT [--KEY=NUMBER]...\n");
		return 2;
	}
	stage = argv[1];
	directory = argv[2];
	unit = argv[3];
	read_arguments(argc - 4, argv + 4, &profile);
	if (strcmp(stage, "driver") == 0)
		drive(argv, &profile);
	else if (strcmp(stage, "compile") == 0)
		compile(&profile);
	else if (strcmp(stage, "assemble") == 0)
		assemble(&profile);
	else
		return 2;
	return 0;
}
