// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lifeline.h"

static int pidfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

int lifeline_prepare(struct lifeline *lifeline)
{
	int own = pidfd(getpid());

	lifeline->ends[0] = lifeline->ends[1] = -1;
	if (own >= 0)
		close(own);
	if (own != -ENOSYS)
		return 0;
	return pipe2(lifeline->ends, O_CLOEXEC) ? -errno : 0;
}

void lifeline_hold(struct lifeline *lifeline)
{
	if (lifeline->ends[0] >= 0)
		close(lifeline->ends[0]);
}

int lifeline_watch(struct lifeline *lifeline, pid_t pid)
{
	if (lifeline->ends[1] < 0)
		return pid < 0 ? -ESRCH : pidfd(pid);
	close(lifeline->ends[1]);
	if (pid >= 0)
		return lifeline->ends[0];
	close(lifeline->ends[0]);
	return -ESRCH;
}
