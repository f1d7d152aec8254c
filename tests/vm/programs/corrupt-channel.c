// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes into the channel that init has open: a line whose checksum is wrong. Run in a guest, by root. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char line[] = "SD1 7 00000000 20 {\"init\": \"case-start\"}\n";

/* Number of the descriptor of init that is the channel; -1: it has none. */
static int channel_of_init(void)
{
	for (int fd = 0; fd < 64; fd++) {
		char path[64], target[256];
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/1/fd/%d", fd);
		length = readlink(path, target, sizeof(target) - 1);
		if (length <= 0)
			continue;
		target[length] = '\0';
		if (!strncmp(target, "/dev/vport", 10))
			return fd;
	}
	return -1;
}

int main(void)
{
	int theirs = channel_of_init(), init = (int)syscall(SYS_pidfd_open, 1, 0), channel;

	if (theirs < 0 || init < 0) {
		fprintf(stderr, "init has no channel\n");
		return 2;
	}
	channel = (int)syscall(SYS_pidfd_getfd, init, theirs, 0);
	if (channel < 0) {
		perror("pidfd_getfd");
		return 2;
	}
	return write(channel, line, sizeof(line) - 1) == (ssize_t)sizeof(line) - 1 ? 0 : 1;
}
