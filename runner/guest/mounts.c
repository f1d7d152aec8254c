// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

/* In this order; what a kernel does not have is left out, the workloads say what they miss. */
static const struct mount_row {
	const char *type, *target, *options;
} rows[] = {
	{ "proc", "/proc", NULL },
	{ "sysfs", "/sys", NULL },
	{ "devtmpfs", "/dev", "mode=0755" },
	{ "devpts", "/dev/pts", "mode=0620,ptmxmode=0666" },
	{ "tmpfs", "/dev/shm", "mode=1777" },
	{ "tmpfs", "/tmp", "mode=1777" },
	{ "tmpfs", "/run", "mode=0755" },
	{ "debugfs", "/sys/kernel/debug", NULL },
	{ "tracefs", "/sys/kernel/tracing", NULL },
	{ "cgroup2", "/sys/fs/cgroup", NULL },
	{ "hugetlbfs", "/dev/hugepages", NULL },
};

/* Programs expect these; devtmpfs does not make them. */
static const struct link_row {
	const char *target, *path;
} links[] = {
	{ "/proc/self/fd", "/dev/fd" },
	{ "/proc/self/fd/0", "/dev/stdin" },
	{ "/proc/self/fd/1", "/dev/stdout" },
	{ "/proc/self/fd/2", "/dev/stderr" },
};

/* Files that the user sent to a place below /tmp or /run must not vanish under a mount. */
static bool holds_files(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	bool found = false;

	while (directory && !found && (entry = readdir(directory)))
		found = strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	if (directory)
		closedir(directory);
	return found;
}

void mount_everything(void)
{
	umask(0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		mkdir(rows[i].target, 0755);
		if (!strcmp(rows[i].type, "tmpfs") && holds_files(rows[i].target))
			continue;
		(void)mount(rows[i].type, rows[i].target, rows[i].type, 0, rows[i].options);
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		(void)!symlink(links[i].target, links[i].path);
	mkdir("/tmp", 01777);
	umask(022);
}

void make_read_only(const json_t *paths)
{
	json_t *path;
	size_t i;

	json_array_foreach(paths, i, path) {
		const char *text = json_string_value(path);

		if (text && !mount(text, text, NULL, MS_BIND, NULL))
			(void)mount(NULL, text, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
	}
}

void bring_loopback_up(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { 0 };

	if (fd < 0)
		return;
	strcpy(request.ifr_name, "lo");
	if (!ioctl(fd, SIOCGIFFLAGS, &request)) {
		request.ifr_flags |= IFF_UP | IFF_RUNNING;
		ioctl(fd, SIOCSIFFLAGS, &request);
	}
	close(fd);
}
