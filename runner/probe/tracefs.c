// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/files.h"
#include "probe.h"
#include "tracefs.h"

static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

static const char *found_root, *refusal;

static bool stands_at(const char *place)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/events", place);
	return !access(path, R_OK | X_OK);
}

static const char *find_mounted(void)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (stands_at(places[i]))
			return places[i];
	return NULL;
}

static const char *mount_privately(void)
{
	if (geteuid()) {
		refusal = "tracefs cannot be read; run as root, or: sudo mount -t tracefs -o mode=755 tracefs /sys/kernel/tracing";
		return NULL;
	}
	/* Without the private propagation the mount would show in the namespace that we came from. */
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tracefs", places[0], "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL)) {
		refusal = errno == ENODEV ? "this kernel has no tracefs (CONFIG_FTRACE and CONFIG_EVENT_TRACING)" :
			"tracefs is not mounted and cannot be mounted here";
		return NULL;
	}
	return find_mounted();
}

const char *tracefs_root(const char **reason)
{
	if (!found_root && !refusal)
		found_root = find_mounted();
	if (!found_root && !refusal)
		found_root = mount_privately();
	if (!found_root && reason)
		*reason = refusal ? refusal : "tracefs has no folder events";
	return found_root;
}

int tracefs_event_file(const char *system, const char *event, const char *file, char **text)
{
	const char *root = tracefs_root(NULL);
	char *path;
	size_t size;
	int error;

	if (!root)
		return -ENODEV;
	path = text_format("%s/events/%s/%s/%s", root, system, event, file);
	error = read_file(path, 1 << 24, text, &size);
	free(path);
	return error;
}

int tracefs_event_id(const char *system, const char *event, unsigned long long *id)
{
	char *text;
	int error = tracefs_event_file(system, event, "id", &text);

	if (error)
		return error;
	*id = strtoull(text, NULL, 10);
	free(text);
	return 0;
}

static bool grow_names(char ***names, size_t count)
{
	char **larger;

	if (count & (count + 1))
		return true;
	larger = realloc(*names, (2 * count + 3) * sizeof(**names));
	if (larger)
		*names = larger;
	return larger;
}

static size_t add_system(const char *root, const char *system, char ***names, size_t count)
{
	char *path = text_format("%s/events/%s", root, system);
	DIR *directory = opendir(path);
	struct dirent *entry;

	free(path);
	while (directory && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "enable") || !strcmp(entry->d_name, "filter"))
			continue;
		if (!grow_names(names, count))
			break;
		(*names)[count++] = text_format("%s:%s", system, entry->d_name);
	}
	if (directory)
		closedir(directory);
	return count;
}

char **tracefs_event_names(void)
{
	const char *root = tracefs_root(NULL);
	char *path = root ? text_format("%s/events", root) : NULL, **names = NULL;
	DIR *directory = path ? opendir(path) : NULL;
	struct dirent *entry;
	size_t count = 0;

	free(path);
	if (!directory || !grow_names(&names, 0)) {
		if (directory)
			closedir(directory);
		return NULL;
	}
	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			count = add_system(root, entry->d_name, &names, count);
	closedir(directory);
	names[count] = NULL;
	return names;
}

void tracefs_names_free(char **names)
{
	for (char **name = names; name && *name; name++)
		free(*name);
	free(names);
}

const char *tracepoint_is_idle(const char *system, const char *event)
{
#if defined(__x86_64__)
	(void)system;
	(void)event;
#else
	if (!strcmp(system, "tlb") && !strcmp(event, "tlb_flush"))
		return "only x86 kernels reach this tracepoint; arm64 flushes other CPUs by instruction, which the exact lane counts (event:tlbi-*)";
#endif
	return NULL;
}
