// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "memory.h"

#define FILE_LIMIT (1U << 20)

uint64_t meminfo_bytes(const char *key)
{
	char *text, *line;
	uint64_t bytes = 0;

	if (read_file("/proc/meminfo", FILE_LIMIT, &text, NULL))
		return 0;
	for (line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':') {
			bytes = strtoull(line + strlen(key) + 1, NULL, 10) * 1024;
			break;
		}
	}
	free(text);
	return bytes;
}

static bool read_number(const char *path, uint64_t *number)
{
	char *text, *end;
	bool good;

	if (read_file(path, FILE_LIMIT, &text, NULL))
		return false;
	*number = strtoull(text, &end, 10);
	good = end != text;
	free(text);
	return good;
}

/* What this process's cgroup (version 2) still allows, or UINT64_MAX. */
static uint64_t cgroup_room(void)
{
	uint64_t room = UINT64_MAX, limit, used;
	char path[512], *text, *group, *end;

	if (read_file("/proc/self/cgroup", FILE_LIMIT, &text, NULL))
		return room;
	group = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text - 1;
	if (group) {
		group += 4;
		group[strcspn(group, "\n")] = '\0';
		/* A limit may stand on any level above. */
		for (;;) {
			snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", group);
			if (read_number(path, &limit)) {
				snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.current", group);
				if (read_number(path, &used) && (limit > used ? limit - used : 0) < room)
					room = limit > used ? limit - used : 0;
			}
			end = strrchr(group, '/');
			if (!end)
				break;
			*end = '\0';
		}
	}
	free(text);
	return room;
}

uint64_t available_memory(void)
{
	uint64_t available = meminfo_bytes("MemAvailable"), room = cgroup_room();

	if (!available)
		available = meminfo_bytes("MemFree");
	return available < room ? available : room;
}
