// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest.h"

/* Path and value of one setting; the path is the caller's to free. */
static int parse(const char *setting, char **path, const char **value)
{
	static const char sysctl[] = "sysctl ", file[] = "file ";
	const char *equals = strchr(setting, '=');
	int size;

	if (!equals)
		return -EINVAL;
	*value = equals + 1;
	if (!strncmp(setting, sysctl, sizeof(sysctl) - 1)) {
		setting += sizeof(sysctl) - 1;
		size = asprintf(path, "/proc/sys/%.*s", (int)(equals - setting), setting);
		/* kernel.numa_balancing; a name with a slash (net/ipv4/conf/eth0.1) has its dots for itself. */
		if (size >= 0 && !memchr(setting, '/', (size_t)(equals - setting)))
			for (char *c = *path; *c; c++)
				*c = *c == '.' ? '/' : *c;
	} else if (!strncmp(setting, file, sizeof(file) - 1)) {
		setting += sizeof(file) - 1;
		size = asprintf(path, "%.*s", (int)(equals - setting), setting);
	} else {
		return -EINVAL;
	}
	return size < 0 ? -ENOMEM : 0;
}

static int apply(const char *setting, struct saved_setting **saved)
{
	struct saved_setting *before = calloc(1, sizeof(*before));
	const char *value;
	int error;

	if (!before)
		return -ENOMEM;
	error = parse(setting, &before->path, &value);
	if (!error) {
		before->value = read_text(before->path);
		error = before->value ? write_text(before->path, value) : -errno;
	}
	if (error) {
		free(before->path);
		free(before->value);
		free(before);
		return error;
	}
	chosen_word(before->value);
	before->next = *saved;
	*saved = before;
	return 0;
}

int settings_apply(const json_t *settings, struct saved_setting **saved, const char **failed)
{
	json_t *setting;
	size_t i;

	json_array_foreach(settings, i, setting) {
		const char *text = json_string_value(setting);
		int error = text ? apply(text, saved) : -EINVAL;

		if (error) {
			*failed = text ? text : "?";
			return error;
		}
	}
	return 0;
}

/* The list has the last one first: so the same file set twice ends with its first value. */
void settings_restore(struct saved_setting **saved)
{
	while (*saved) {
		struct saved_setting *setting = *saved;

		*saved = setting->next;
		(void)write_text(setting->path, setting->value);
		free(setting->path);
		free(setting->value);
		free(setting);
	}
}
