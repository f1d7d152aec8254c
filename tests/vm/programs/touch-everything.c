// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes the kernel read and write user pages on its own account, by each way that a kernel without a direct map of
 * them (xpfo) could get wrong: a way that forgets to map a page is an oops, one that maps the wrong one is bad data.
 *
 *	touch-everything [NAME]...		prints "ok NAME", "not ok NAME: why" or "skip NAME: why" for each
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/errqueue.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096UL
#define MIB	(1UL << 20)
#define SKIPPED	77

static char why[256];

static int fail(const char *format, ...)
{
	int error = errno;
	size_t used;
	va_list list;

	va_start(list, format);
	vsnprintf(why, sizeof(why), format, list);
	va_end(list);
	used = strlen(why);
	if (error)
		snprintf(why + used, sizeof(why) - used, " (%s)", strerror(error));
	return 1;
}

static int skip(const char *reason)
{
	fail("%s", reason);
	return SKIPPED;
}

static void *map(size_t size, int flags)
{
	void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return area == MAP_FAILED ? NULL : area;
}

/* A pattern that tells each word of each area from every other one. */
static void fill(void *area, size_t size, uint64_t seed)
{
	uint64_t *word = area;

	for (size_t i = 0; i < size / sizeof(*word); i++)
		word[i] = (i + seed) * 0x9e3779b97f4a7c15ULL;
}

static bool filled(const void *area, size_t size, uint64_t seed)
{
	const uint64_t *word = area;

	for (size_t i = 0; i < size / sizeof(*word); i++)
		if (word[i] != (i + seed) * 0x9e3779b97f4a7c15ULL)
			return false;
	return true;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t written;

	if (fd < 0)
		return -errno;
	written = write(fd, text, strlen(text));
	close(fd);
	return written == (ssize_t)strlen(text) ? 0 : -EIO;
}

static bool transfer(ssize_t (*move)(int, void *, size_t), int fd, void *area, size_t size)
{
	char *at = area;

	while (size) {
		ssize_t done = move(fd, at, size);

		if (done <= 0)
			return false;
		at += done;
		size -= (size_t)done;
	}
	return true;
}

static ssize_t move_out(int fd, void *area, size_t size)
{
	return write(fd, area, size);
}

static bool send_all(int fd, void *area, size_t size)
{
	return transfer(move_out, fd, area, size);
}

static bool receive_all(int fd, void *area, size_t size)
{
	return transfer(read, fd, area, size);
}

static int test_cow(void)
{
	char *area = map(4 * MIB, 0);
	int status;
	pid_t child;

	if (!area)
		return fail("mmap");
	fill(area, 4 * MIB, 1);
	child = fork();
	if (!child) {
		for (size_t at = 0; at < 4 * MIB; at += PAGE)
			area[at] ^= 1;
		for (size_t at = 0; at < 4 * MIB; at += PAGE)
			area[at] ^= 1;
		_exit(filled(area, 4 * MIB, 1) ? 0 : 1);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status)
		return fail("the child's copy differs");
	return filled(area, 4 * MIB, 1) ? 0 : fail("the parent's pages differ");
}

static int test_fork_exec(void)
{
	for (int i = 0; i < 40; i++) {
		int status;
		pid_t child = fork();

		if (!child) {
			execl("/proc/self/exe", "touch-everything", "true", (char *)NULL);
			_exit(127);
		}
		if (child < 0 || waitpid(child, &status, 0) < 0 || status)
			return fail("run %d ended with status %x", i, status);
	}
	return 0;
}

static int test_thp(void)
{
	char *area = map(32 * MIB, 0), *aligned = (char *)(((uintptr_t)area + 2 * MIB) & ~(2 * MIB - 1));
	int status;
	pid_t child;

	if (!area)
		return fail("mmap");
	write_file("/sys/kernel/mm/transparent_hugepage/enabled", "madvise");
	if (madvise(aligned, 24 * MIB, MADV_HUGEPAGE))
		return skip("no transparent huge pages");
	fill(aligned, 24 * MIB, 2);
	child = fork();
	if (!child) {
		for (size_t at = 0; at < 24 * MIB; at += PAGE)
			aligned[at + 7]++;
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status)
		return fail("child");
	/* Split by a hole, collapse again, give back. */
	munmap(aligned + 3 * MIB, PAGE);
	madvise(aligned + 8 * MIB, 2 * MIB, MADV_DONTNEED);
	fill(aligned + 8 * MIB, 2 * MIB, 2 + 8 * MIB / 8);
	madvise(aligned + 8 * MIB, 2 * MIB, 25 /* MADV_COLLAPSE */);
	if (!filled(aligned, 3 * MIB, 2) || !filled(aligned + 4 * MIB, 20 * MIB, 2 + 4 * MIB / 8))
		return fail("data differ");
	return 0;
}

static int test_tmpfs(void)
{
	int fd = memfd_create("tmpfs", 0);
	char *shared, *buffer = map(8 * MIB, 0);

	if (fd < 0 || !buffer)
		return fail("memfd_create");
	fill(buffer, 8 * MIB, 3);
	if (!send_all(fd, buffer, 8 * MIB))
		return fail("write");
	shared = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED || !filled(shared, 8 * MIB, 3))
		return fail("what is mapped is not what was written");
	fill(shared, 8 * MIB, 4);
	if (lseek(fd, 0, SEEK_SET) || !receive_all(fd, buffer, 8 * MIB) || !filled(buffer, 8 * MIB, 4))
		return fail("what is read is not what was stored");
	/* Zeroes the rest of a page in the middle and at the end. */
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100, 3 * PAGE) || ftruncate(fd, 5 * MIB + 1234))
		return fail("fallocate");
	if (shared[99] == 0 && shared[98] == 0 && shared[97] == 0)
		return fail("hole too large");
	for (size_t at = 100; at < 100 + 3 * PAGE; at++)
		if (shared[at])
			return fail("no hole at %zu", at);
	for (size_t at = 5 * MIB + 1234; at < 5 * MIB + PAGE; at++)
		if (shared[at])
			return fail("not truncated at %zu", at);
	return 0;
}

static int test_pipe(void)
{
	int ends[2], file = memfd_create("pipe", 0);
	char *buffer = map(MIB, 0), *back = map(MIB, 0);
	pid_t child;
	int status;

	if (!buffer || !back || pipe(ends) || file < 0)
		return fail("pipe");
	fill(buffer, MIB, 5);
	child = fork();
	if (!child) {
		struct iovec vector = { buffer, MIB / 2 };

		close(ends[0]);
		while (vector.iov_len) {
			ssize_t done = vmsplice(ends[1], &vector, 1, 0);

			if (done <= 0)
				_exit(1);
			vector.iov_base = (char *)vector.iov_base + done;
			vector.iov_len -= (size_t)done;
		}
		if (!send_all(file, buffer + MIB / 2, MIB / 4) || lseek(file, 0, SEEK_SET))
			_exit(2);
		for (size_t left = MIB / 4; left;) {
			ssize_t done = splice(file, NULL, ends[1], NULL, left, 0);

			if (done <= 0)
				_exit(3);
			left -= (size_t)done;
		}
		_exit(send_all(ends[1], buffer + MIB / 4 * 3, MIB / 4) ? 0 : 4);
	}
	close(ends[1]);
	if (!receive_all(ends[0], back, MIB) || !filled(back, MIB, 5))
		return fail("data differ");
	if (waitpid(child, &status, 0) < 0 || status)
		return fail("child ended with %x", status);
	return 0;
}

static int tcp_pair(int pair[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || pair[0] < 0 || bind(listener, (void *)&address, length) || listen(listener, 1) ||
	    getsockname(listener, (void *)&address, &length) || connect(pair[0], (void *)&address, length))
		return -1;
	pair[1] = accept(listener, NULL, NULL);
	close(listener);
	return pair[1] < 0 ? -1 : 0;
}

static bool send_zerocopy(int fd, char *buffer, size_t size)
{
	int one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		return false;
	while (size) {
		ssize_t done = send(fd, buffer, size > 65536 ? 65536 : size, MSG_ZEROCOPY);

		if (done < 0 && errno == ENOBUFS) {
			char control[256];
			struct msghdr message = { .msg_control = control, .msg_controllen = sizeof(control) };

			recvmsg(fd, &message, MSG_ERRQUEUE);
			continue;
		}
		if (done <= 0)
			return false;
		buffer += done;
		size -= (size_t)done;
	}
	return true;
}

static int socket_child(int fd, char *buffer, bool tcp)
{
	int file = memfd_create("sendfile", 0);
	off_t offset = 0;

	if (!send_all(fd, buffer, MIB))
		return 1;
	if (file < 0 || !send_all(file, buffer + MIB, MIB))
		return 2;
	while (offset < (off_t)MIB)
		if (sendfile(fd, file, &offset, MIB - (size_t)offset) <= 0)
			return 3;
	if (tcp)
		return send_zerocopy(fd, buffer + 2 * MIB, MIB) ? 0 : 4;
	return send_all(fd, buffer + 2 * MIB, MIB) ? 0 : 5;
}

static int socket_test(int pair[2], bool tcp)
{
	char *buffer = map(3 * MIB, 0), *back = map(3 * MIB, 0);
	int status;
	pid_t child;

	if (!buffer || !back)
		return fail("mmap");
	fill(buffer, 3 * MIB, 6);
	child = fork();
	if (!child) {
		close(pair[1]);
		_exit(socket_child(pair[0], buffer, tcp));
	}
	close(pair[0]);
	if (!receive_all(pair[1], back, 3 * MIB) || !filled(back, 3 * MIB, 6))
		return fail("data differ");
	if (waitpid(child, &status, 0) < 0 || status)
		return fail("child ended with %x", status);
	return 0;
}

static int test_unix(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return fail("socketpair");
	return socket_test(pair, false);
}

static int test_tcp(void)
{
	int pair[2];

	if (tcp_pair(pair))
		return skip("no TCP over lo");
	return socket_test(pair, true);
}

/* As a debugger does. */
static int test_remote_memory(void)
{
	char *area = map(MIB, 0), *copy = map(MIB, 0), path[32];
	off_t there = (off_t)(uintptr_t)area;
	int memory, error = 0;
	pid_t child;

	if (!area || !copy)
		return fail("mmap");
	fill(area, MIB, 7);
	child = fork();
	if (!child)
		for (;;)
			pause();
	snprintf(path, sizeof(path), "/proc/%d/mem", child);
	memory = open(path, O_RDWR);
	if (memory < 0)
		error = fail("%s", path);
	else if (pread(memory, copy, MIB, there) != (ssize_t)MIB || !filled(copy, MIB, 7))
		error = fail("read");
	fill(copy, MIB, 8);
	if (!error && pwrite(memory, copy, MIB, there) != (ssize_t)MIB)
		error = fail("write");
	memset(copy, 0, MIB);
	if (!error && (pread(memory, copy, MIB, there) != (ssize_t)MIB || !filled(copy, MIB, 8)))
		error = fail("read again");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return error;
}

/* The dump must hold the pattern: the kernel has read the pages, in whichever way it does that. */
static int test_core_dump(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	static const uint64_t pattern[] = { 0x636f7265206f6620ULL, 0x746865206d6174ULL };
	char name[] = "/tmp/dump-XXXXXX", *core;
	struct stat stat;
	int status, fd;
	pid_t child;

	if (!mkdtemp(name))
		return fail("mkdtemp");
	if (write_file("/proc/sys/kernel/core_pattern", "core"))
		return skip("core_pattern is not to be written");
	child = fork();
	if (!child) {
		char *area = map(2 * MIB, 0);

		if (chdir(name) || setrlimit(RLIMIT_CORE, &limit))
			_exit(1);
		memcpy(area + MIB, pattern, sizeof(pattern));
		abort();
	}
	if (waitpid(child, &status, 0) < 0 || !WCOREDUMP(status))
		return fail("status %x", status);
	if (chdir(name))
		return fail("chdir");
	fd = open("core", O_RDONLY);
	if (fd < 0) {
		char path[64];

		snprintf(path, sizeof(path), "core.%d", child);
		fd = open(path, O_RDONLY);
	}
	if (fd < 0 || fstat(fd, &stat))
		return fail("no core");
	core = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (core == MAP_FAILED)
		return fail("mmap of the core");
	return memmem(core, (size_t)stat.st_size, pattern, sizeof(pattern)) ? 0 : fail("the dump lacks the pattern");
}

static int test_swap(void)
{
	size_t size = 48 * MIB;
	char *area = map(size, 0);

	if (!area)
		return fail("mmap");
	if (write_file("/sys/block/zram0/disksize", "100663296") && access("/dev/zram0", F_OK))
		return skip("no zram");
	{
		/* A swap header is a page: version, last page, magic. */
		uint32_t *header = aligned_alloc(PAGE, PAGE);
		int fd = open("/dev/zram0", O_WRONLY);

		memset(header, 0, PAGE);
		header[256] = 1;
		header[257] = 100663296 / PAGE - 1;
		memcpy((char *)header + PAGE - 10, "SWAPSPACE2", 10);
		if (fd < 0 || write(fd, header, PAGE) != (ssize_t)PAGE)
			return fail("zram0");
		close(fd);
	}
	if (swapon("/dev/zram0", 0))
		return fail("swapon");
	fill(area, size, 9);
	/* Pages of one value are not stored but remembered. */
	memset(area + 4 * MIB, 0, MIB);
	if (madvise(area, size, 21 /* MADV_PAGEOUT */))
		return fail("madvise");
	for (size_t at = 4 * MIB; at < 5 * MIB; at++)
		if (area[at])
			return fail("zeroes differ");
	if (!filled(area, 4 * MIB, 9) || !filled(area + 5 * MIB, size - 5 * MIB, 9 + 5 * MIB / 8))
		return fail("data differ");
	madvise(area, size, 21);
	if (swapoff("/dev/zram0"))
		return fail("swapoff");
	return filled(area, 4 * MIB, 9) ? 0 : fail("data differ after swapoff");
}

static int test_migrate(void)
{
	size_t pages = 1024;
	char *area = map(pages * PAGE, 0);
	void **address = calloc(pages, sizeof(*address));
	int *node = calloc(pages, sizeof(*node)), *status = calloc(pages, sizeof(*status));

	if (!area || !address || !node || !status)
		return fail("memory");
	if (access("/sys/devices/system/node/node1", F_OK))
		return skip("one node");
	fill(area, pages * PAGE, 10);
	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < pages; i++) {
			address[i] = area + i * PAGE;
			node[i] = (round + (int)i) & 1;
		}
		if (syscall(SYS_move_pages, 0, pages, address, node, status, 2 /* MPOL_MF_MOVE */) < 0)
			return fail("move_pages");
		if (!filled(area, pages * PAGE, 10))
			return fail("data differ");
	}
	for (size_t i = 0; i < pages; i++)
		if (status[i] != node[i])
			return fail("page %zu is on %d, not on %d", i, status[i], node[i]);
	return 0;
}

static int test_compact(void)
{
	char *area = map(32 * MIB, 0);

	if (!area)
		return fail("mmap");
	fill(area, 32 * MIB, 11);
	for (size_t at = 0; at < 32 * MIB; at += 2 * PAGE)
		madvise(area + at, PAGE, MADV_DONTNEED);
	if (write_file("/proc/sys/vm/compact_memory", "1"))
		return skip("no compaction");
	for (size_t at = PAGE; at < 32 * MIB; at += 2 * PAGE)
		if (!filled(area + at, PAGE, 11 + at / 8))
			return fail("data differ at %zu", at);
	return 0;
}

/* Its ring is a page that the kernel uses by page_address() and that moves. */
static int test_aio(void)
{
	aio_context_t context = 0;
	char *buffer = map(64 * PAGE, 0);
	int fd = memfd_create("aio", 0);
	struct iocb block, *list[] = { &block };
	struct io_event event;

	if (syscall(SYS_io_setup, 64, &context))
		return skip("no aio");
	fill(buffer, 64 * PAGE, 12);
	for (int i = 0; i < 64; i++) {
		memset(&block, 0, sizeof(block));
		block.aio_fildes = (uint32_t)fd;
		block.aio_lio_opcode = IOCB_CMD_PWRITE;
		block.aio_buf = (uintptr_t)(buffer + (size_t)i * PAGE);
		block.aio_nbytes = PAGE;
		block.aio_offset = (int64_t)((size_t)i * PAGE);
		if (syscall(SYS_io_submit, context, 1, list) != 1 ||
		    syscall(SYS_io_getevents, context, 1, 1, &event, NULL) != 1 || event.res != (int64_t)PAGE)
			return fail("request %d", i);
		if (i % 16 == 0)
			write_file("/proc/sys/vm/compact_memory", "1");
	}
	memset(buffer, 0, 64 * PAGE);
	if (pread(fd, buffer, 64 * PAGE, 0) != (ssize_t)(64 * PAGE) || !filled(buffer, 64 * PAGE, 12))
		return fail("data differ");
	return 0;
}

static int test_io_uring(void)
{
	struct io_uring_params params = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 8, &params), fd = memfd_create("uring", 0);
	char *buffer = map(16 * PAGE, 0), *queue, *completed;
	struct iovec fixed = { buffer, 16 * PAGE };
	struct io_uring_sqe *entry;

	if (ring < 0)
		return skip("no io_uring");
	queue = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	completed = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	entry = mmap(NULL, 8 * sizeof(*entry), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (queue == MAP_FAILED || completed == MAP_FAILED || entry == MAP_FAILED)
		return fail("mmap of the rings");
	fill(buffer, 16 * PAGE, 13);
	if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &fixed, 1))
		return fail("register");
	for (int pass = 0; pass < 2; pass++) {
		memset(entry, 0, sizeof(*entry));
		entry->opcode = pass ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED;
		entry->fd = fd;
		entry->addr = (uintptr_t)buffer;
		entry->len = 16 * PAGE;
		*(uint32_t *)(queue + params.sq_off.array) = 0;
		__atomic_add_fetch((uint32_t *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
			return fail("enter");
		__atomic_add_fetch((uint32_t *)(completed + params.cq_off.head), 1, __ATOMIC_RELEASE);
		if (!pass)
			memset(buffer, 0, 16 * PAGE);
	}
	return filled(buffer, 16 * PAGE, 13) ? 0 : fail("data differ");
}

static int test_direct_io(void)
{
	char *buffer = map(MIB, 0);
	int fd = open("/dev/vda", O_RDWR | O_DIRECT);

	if (fd < 0)
		return skip("no /dev/vda");
	fill(buffer, MIB, 14);
	if (pwrite(fd, buffer, MIB, 0) != (ssize_t)MIB)
		return fail("write");
	memset(buffer, 0, MIB);
	if (pread(fd, buffer, MIB, 0) != (ssize_t)MIB || !filled(buffer, MIB, 14))
		return fail("data differ");
	close(fd);
	/* And through the page cache of the device, which the kernel uses by page_address(). */
	fd = open("/dev/vda", O_RDWR);
	memset(buffer, 0, MIB);
	if (pread(fd, buffer, MIB, 0) != (ssize_t)MIB || !filled(buffer, MIB, 14))
		return fail("data differ through the page cache");
	return 0;
}

static int test_hugetlb(void)
{
	char *area;
	int status;
	pid_t child;

	if (write_file("/proc/sys/vm/nr_hugepages", "8"))
		return skip("no hugetlb");
	area = map(4 * MIB, MAP_HUGETLB);
	if (!area)
		return skip("no huge pages to be had");
	fill(area, 4 * MIB, 15);
	child = fork();
	if (!child) {
		area[0]++;
		area[2 * MIB]++;
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return fail("child");
	if (!filled(area, 4 * MIB, 15))
		return fail("data differ");
	munmap(area, 4 * MIB);
	write_file("/proc/sys/vm/nr_hugepages", "0");
	return 0;
}

static int test_ksm(void)
{
	char *area = map(4 * MIB, 0);

	if (!area || madvise(area, 4 * MIB, MADV_MERGEABLE))
		return skip("no KSM");
	for (size_t at = 0; at < 4 * MIB; at += PAGE)
		fill(area + at, PAGE, 16);
	write_file("/sys/kernel/mm/ksm/pages_to_scan", "4000");
	write_file("/sys/kernel/mm/ksm/sleep_millisecs", "10");
	write_file("/sys/kernel/mm/ksm/run", "1");
	usleep(400000);
	for (size_t at = 0; at < 4 * MIB; at += PAGE) {
		if (!filled(area + at, PAGE, 16))
			return fail("data differ");
		area[at] ^= 1;
	}
	write_file("/sys/kernel/mm/ksm/run", "2");
	return 0;
}

/* What user space had is the kernel's now, and the other way round, over and over. */
static int test_recycle(void)
{
	char block[4096] = { 1 };

	for (int round = 0; round < 6; round++) {
		char *area = map(16 * MIB, 0);
		int pairs[64][2], count = 0;

		if (!area)
			return fail("mmap");
		fill(area, 16 * MIB, 17);
		munmap(area, 16 * MIB);
		while (count < 64 && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pairs[count])) {
			while (write(pairs[count][0], block, sizeof(block)) > 0)
				;
			count++;
		}
		while (count--) {
			close(pairs[count][0]);
			close(pairs[count][1]);
		}
	}
	return 0;
}

/* What the kernel says of itself, line by line; see arch/x86/mm/xpfo_selftest.c of the series. */
static int test_selftest(void)
{
	FILE *file = fopen("/sys/kernel/debug/xpfo/selftest", "r");
	char line[256];
	int bad = 0, good = 0;

	if (!file)
		return skip("the kernel has no xpfo/selftest");
	while (fgets(line, sizeof(line), file)) {
		printf("# %s", line);
		good += !strncmp(line, "ok ", 3);
		bad += !strncmp(line, "not ok ", 7);
	}
	fclose(file);
	fflush(stdout);
	errno = 0;
	if (bad || !good)
		return fail("%d of %d", bad, bad + good);
	return 0;
}

static int test_true(void)
{
	return 0;
}

static const struct {
	const char	*name;
	int		(*run)(void);
} tests[] = {
	{ "cow", test_cow }, { "fork-exec", test_fork_exec }, { "thp", test_thp }, { "tmpfs", test_tmpfs },
	{ "pipe", test_pipe }, { "unix", test_unix }, { "tcp", test_tcp }, { "remote-memory", test_remote_memory },
	{ "core-dump", test_core_dump }, { "swap", test_swap }, { "migrate", test_migrate },
	{ "compact", test_compact }, { "aio", test_aio }, { "io-uring", test_io_uring },
	{ "direct-io", test_direct_io }, { "hugetlb", test_hugetlb }, { "ksm", test_ksm },
	{ "recycle", test_recycle }, { "selftest", test_selftest }, { "true", test_true },
};

static int run_one(size_t index)
{
	int channel[2], status;
	pid_t child;

	if (pipe(channel))
		return 1;
	fflush(stdout);
	child = fork();
	if (!child) {
		int result;

		errno = 0;
		why[0] = '\0';
		result = tests[index].run();
		if (why[0] && write(channel[1], why, strlen(why)) < 0)
			_exit(1);
		_exit(result);
	}
	close(channel[1]);
	memset(why, 0, sizeof(why));
	if (read(channel[0], why, sizeof(why) - 1) < 0)
		why[0] = '\0';
	close(channel[0]);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return 1;
	if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		printf("ok %s\n", tests[index].name);
		return 0;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
		printf("skip %s: %s\n", tests[index].name, why);
		return 0;
	}
	printf("not ok %s: %s, status %x\n", tests[index].name, why[0] ? why : "killed", status);
	return 1;
}

int main(int count, char **arguments)
{
	int failed = 0;

	if (count == 2 && !strcmp(arguments[1], "true"))
		return 0;
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		bool wanted = count == 1;

		for (int argument = 1; argument < count; argument++)
			wanted |= !strcmp(arguments[argument], tests[i].name);
		if (wanted)
			failed |= run_one(i);
	}
	return failed;
}
