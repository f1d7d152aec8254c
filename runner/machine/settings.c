// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/paths.h"
#include "settings.h"

struct settings {
	json_t *entries;	/* [{"path", "old"}], in the order of change */
	int lock;		/* held while settings are in force */
};

static char *journal_path(void)
{
	return path_state("settings.json");
}

char *settings_path(const char *text, const char **value)
{
	const char *name = strchr(text, ' '), *equals = strchr(text, '=');
	char *path;

	if (!name || !equals || equals < name || strstr(text, ".."))
		return NULL;
	*value = equals + 1;
	name++;
	path = strndup(name, (size_t)(equals - name));
	if (!strncmp(text, "sysctl ", 7)) {
		char *below = path;

		for (char *dot = below; *dot; dot++)
			if (*dot == '.')
				*dot = '/';
		path = text_format("/proc/sys/%s", below);
		free(below);
	} else if (strncmp(text, "file ", 5)) {
		free(path);
		return NULL;
	}
	if (strncmp(path, "/proc/sys/", 10) && strncmp(path, "/sys/", 5)) {
		free(path);
		return NULL;
	}
	return path;
}

/* The value to write back: the file's first line, or the bracketed word of a choice ("always [madvise] never"). */
static int read_setting(const char *path, char **old)
{
	char *text, *open, *close_bracket;
	int error = read_file(path, 4096, &text, NULL);

	if (error)
		return error;
	text[strcspn(text, "\n")] = '\0';
	open = strchr(text, '[');
	close_bracket = open ? strchr(open, ']') : NULL;
	*old = close_bracket ? strndup(open + 1, (size_t)(close_bracket - open) - 1) : strdup(text);
	free(text);
	return *old ? 0 : -ENOMEM;
}

static int write_journal(const json_t *entries)
{
	char *path = journal_path(), *slash = strrchr(path, '/');
	json_t *journal;
	int error;

	if (!json_array_size(entries)) {
		error = unlink(path) && errno != ENOENT ? -errno : 0;
		free(path);
		return error;
	}
	*slash = '\0';
	error = make_directories(path);
	*slash = '/';
	journal = json_pack("{s:O}", "entries", entries);
	if (!error)
		error = write_json(path, journal);
	json_decref(journal);
	free(path);
	return error;
}

static int put_back(json_t *entries, unsigned int *count)
{
	int first_error = 0;

	for (size_t i = json_array_size(entries); i-- > 0;) {
		const json_t *entry = json_array_get(entries, i);
		const char *path = json_string_value(json_object_get(entry, "path"));
		const char *old = json_string_value(json_object_get(entry, "old"));
		int error = path && old ? write_setting(path, old) : -EINVAL;

		/* A file that is gone (a CPU offline, another boot) has no value to put back. */
		if (error && error != -ENOENT) {
			first_error = first_error ? first_error : error;
			continue;
		}
		*count += 1;
		json_array_remove(entries, i);
	}
	return first_error;
}

static int change(struct settings *applied, const char *text, char *reason, size_t reason_size)
{
	const char *value;
	char *path = settings_path(text, &value), *old = NULL;
	int error;

	if (!path) {
		snprintf(reason, reason_size, "'%s' is not a setting: write 'sysctl NAME' or 'file /sys/...'", text);
		return -EINVAL;
	}
	error = read_setting(path, &old);
	if (!error && strcmp(old, value)) {
		json_array_append_new(applied->entries, json_pack("{s:s, s:s}", "path", path, "old", old));
		error = write_journal(applied->entries);
		if (!error)
			error = write_setting(path, value);
	}
	if (error)
		snprintf(reason, reason_size, "%s cannot be set to '%s': %s%s", path, value, strerror(-error),
			 error == -EACCES || error == -EPERM ? "; run as root" : "");
	free(old);
	free(path);
	return error;
}

/* Only one process may have settings in force, else one would take the other's for the old values. */
static int take_lock(int *lock, char *reason, size_t reason_size)
{
	char *path = path_state("settings.lock"), *slash = strrchr(path, '/'), who[64], holder[128];
	int error;

	*slash = '\0';
	error = make_directories(path);
	*slash = '/';
	snprintf(who, sizeof(who), "process %d", (int)getpid());
	if (!error)
		error = lock_file(path, who, false, lock, holder, sizeof(holder));
	if (error == -EAGAIN) {
		snprintf(reason, reason_size, "%s still uses them; end it first", holder);
		error = -EBUSY;
	} else if (error) {
		snprintf(reason, reason_size, "%s: %s", path, strerror(-error));
	}
	free(path);
	return error;
}

/* The lock is held: whoever wrote a journal that is there is gone. */
static int restore_journal(unsigned int *count, char *reason, size_t reason_size)
{
	char *path = journal_path();
	json_t *journal = NULL, *entries;
	int error;

	*count = 0;
	if (!file_exists(path)) {
		free(path);
		return 0;
	}
	error = read_json(path, &journal, reason, reason_size);
	free(path);
	if (error)
		return error;
	entries = json_object_get(journal, "entries");
	error = put_back(entries, count);
	if (error)
		snprintf(reason, reason_size, "%zu could not be put back: %s; run as root", json_array_size(entries), strerror(-error));
	if (write_journal(entries) && !error) {
		snprintf(reason, reason_size, "the journal of settings cannot be written");
		error = -EIO;
	}
	json_decref(journal);
	return error;
}

int settings_apply(char *const *texts, struct settings **result, char *reason, size_t reason_size)
{
	struct settings *applied;
	unsigned int count;
	int error, lock;

	*result = NULL;
	if (!texts || !*texts)
		return 0;
	error = take_lock(&lock, reason, reason_size);
	if (error)
		return error;
	/* What a killed run left must not be taken for the machine's own. */
	error = restore_journal(&count, reason, reason_size);
	applied = error ? NULL : calloc(1, sizeof(*applied));
	if (!applied) {
		unlock_file(lock);
		return error ? error : -ENOMEM;
	}
	applied->lock = lock;
	applied->entries = json_array();
	for (; *texts && !error; texts++)
		error = change(applied, *texts, reason, reason_size);
	if (error)
		settings_restore(applied);
	else
		*result = applied;
	return error;
}

int settings_restore(struct settings *applied)
{
	unsigned int count = 0;
	int error, journal_error;

	if (!applied)
		return 0;
	error = put_back(applied->entries, &count);
	journal_error = write_journal(applied->entries);
	unlock_file(applied->lock);
	json_decref(applied->entries);
	free(applied);
	return error ? error : journal_error;
}

int settings_restore_journal(unsigned int *count, char *reason, size_t reason_size)
{
	char *path = journal_path();
	bool exists = file_exists(path);
	int error, lock;

	free(path);
	*count = 0;
	if (!exists)
		return 0;
	error = take_lock(&lock, reason, reason_size);
	if (error)
		return error;
	error = restore_journal(count, reason, reason_size);
	unlock_file(lock);
	return error;
}
