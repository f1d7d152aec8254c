// SPDX-License-Identifier: GPL-2.0-or-later
#include "orphans.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"

#define ROUNDS 100

void orphans_adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* A child of ours by /proc/PID/stat: its name may hold anything, so the search is from the last bracket. */
static bool is_child(const char *pid_text)
{
	char path[64], *text, *bracket;
	size_t size;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid_text);
	if (read_file(path, 65536, &text, &size))
		return false;
	bracket = strrchr(text, ')');
	if (!bracket || sscanf(bracket + 1, " %*c %d", &parent) != 1)
		parent = 0;
	free(text);
	return parent == getpid();
}

void orphans_kill(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct dirent *entry;
		bool found = false;
		DIR *directory;

		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (waitpid(-1, NULL, WNOHANG) < 0 || !(directory = opendir("/proc")))
			return;
		while ((entry = readdir(directory))) {
			if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || !is_child(entry->d_name))
				continue;
			kill((pid_t)atoi(entry->d_name), SIGKILL);
			found = true;
		}
		closedir(directory);
		if (!found)
			return;
		poll(NULL, 0, 1);
	}
}
