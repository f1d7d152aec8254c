// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/paths.h"
#include "campaign.h"
#include "plan-check.h"

char *campaign_directory_name(const char *wanted, const char *suite)
{
	char stamp[32], *path;
	time_t now = time(NULL);
	struct tm utc;

	if (wanted)
		return strdup(wanted);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H-%M-%S", gmtime_r(&now, &utc));
	path = text_format("results/%s-%s", stamp, suite);
	for (unsigned int twin = 2; file_exists(path); twin++) {
		free(path);
		path = text_format("results/%s-%s-%u", stamp, suite, twin);
	}
	return path;
}

static int take_lock(struct campaign *campaign, char *reason, size_t reason_size)
{
	char *path = text_format("%s/lock", campaign->directory), who[64], holder[256];
	int error;

	snprintf(who, sizeof(who), "process %d", (int)getpid());
	error = lock_file(path, who, false, &campaign->lock, holder, sizeof(holder));
	free(path);
	if (error == -EAGAIN)
		snprintf(reason, reason_size, "%s runs this campaign; wait for it, or choose another -o", holder);
	else if (error)
		snprintf(reason, reason_size, "%s", strerror(-error));
	return error;
}

static int open_log(struct campaign *campaign, char *reason, size_t reason_size)
{
	char *path = text_format("%s/log.txt", campaign->directory);

	campaign->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	free(path);
	if (campaign->log >= 0)
		return 0;
	snprintf(reason, reason_size, "%s", strerror(errno));
	return -errno;
}

static int make_folder(const struct campaign *campaign, const char *below)
{
	char *path = text_format("%s/%s", campaign->directory, below);
	int error = make_directories(path);

	free(path);
	return error;
}

static int write_below(const struct campaign *campaign, const char *name, const json_t *value)
{
	char *path = text_format("%s/%s", campaign->directory, name);
	int error = write_json(path, value);

	free(path);
	return error;
}

static int fill_directory(struct campaign *campaign, const json_t *machine)
{
	static const char *const folders[] = { "records", "raw", "kernels" };
	int error = 0;

	for (size_t i = 0; !error && i < sizeof(folders) / sizeof(folders[0]); i++)
		error = make_folder(campaign, folders[i]);
	if (!error)
		error = write_below(campaign, "machine.json", machine);
	return error;
}

int campaign_commit(struct campaign *campaign)
{
	return write_below(campaign, "plan.json", campaign->plan);
}

/* What a runner that was killed has begun to write. We hold the lock. */
static void sweep(const struct campaign *campaign)
{
	static const char *const folders[] = { ".", "records", "kernels" };
	char *raw = text_format("%s/raw", campaign->directory), **boots = path_names(raw, "");

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char *path = text_format("%s/%s", campaign->directory, folders[i]);

		remove_unfinished(path);
		free(path);
	}
	for (char **boot = boots; *boot; boot++) {
		char *path = text_format("%s/%s", raw, *boot);

		remove_unfinished(path);
		free(path);
	}
	names_free(boots);
	free(raw);
}

int campaign_create(const char *directory, json_t *plan, const json_t *machine, struct campaign *campaign,
		    char *reason, size_t reason_size)
{
	char *plan_path = text_format("%s/plan.json", directory);
	bool exists = file_exists(plan_path);
	int error;

	free(plan_path);
	memset(campaign, 0, sizeof(*campaign));
	campaign->lock = campaign->log = -1;
	if (exists) {
		snprintf(reason, reason_size, "it holds a campaign already; use --resume to go on with it, or another -o");
		return -EEXIST;
	}
	error = make_directories(directory);
	if (error) {
		snprintf(reason, reason_size, "%s", strerror(-error));
		return error;
	}
	campaign->directory = strdup(directory);
	campaign->plan = json_incref(plan);
	error = take_lock(campaign, reason, reason_size);
	if (!error)
		error = open_log(campaign, reason, reason_size);
	if (!error) {
		sweep(campaign);
		error = fill_directory(campaign, machine);
		if (error)
			snprintf(reason, reason_size, "%s", strerror(-error));
	}
	if (error)
		campaign_close(campaign);
	return error;
}

int campaign_open(const char *directory, struct campaign *campaign, char *reason, size_t reason_size)
{
	char *path = text_format("%s/plan.json", directory);
	int error;

	memset(campaign, 0, sizeof(*campaign));
	campaign->lock = campaign->log = -1;
	error = read_json(path, &campaign->plan, reason, reason_size);
	free(path);
	if (error)
		return error;
	error = plan_check(campaign->plan, reason, reason_size);
	if (error) {
		json_decref(campaign->plan);
		campaign->plan = NULL;
		return error;
	}
	campaign->directory = strdup(directory);
	error = take_lock(campaign, reason, reason_size);
	if (!error)
		error = open_log(campaign, reason, reason_size);
	if (error)
		campaign_close(campaign);
	else
		sweep(campaign);
	return error;
}

void campaign_close(struct campaign *campaign)
{
	char *path;

	if (campaign->log >= 0)
		close(campaign->log);
	if (campaign->lock >= 0) {
		path = text_format("%s/lock", campaign->directory);
		unlink(path);
		free(path);
		unlock_file(campaign->lock);
	}
	json_decref(campaign->plan);
	free(campaign->directory);
	memset(campaign, 0, sizeof(*campaign));
	campaign->lock = campaign->log = -1;
}

int campaign_add_file(struct campaign *campaign, const char *from, const char *name)
{
	char *path = text_format("%s/%s", campaign->directory, name);
	int error = copy_file(from, path);

	free(path);
	return error;
}

int campaign_add_kernel(struct campaign *campaign, const char *id, const struct kernel *kernel, bool exact)
{
	char *name = text_format("kernels/%s.json", id);
	int error = write_below(campaign, name, kernel->identity ? kernel->identity : json_null());

	free(name);
	if (!error && kernel->config) {
		name = text_format("kernels/%s.config", id);
		error = campaign_add_file(campaign, kernel->config, name);
		free(name);
	}
	if (!error && exact && kernel->system_map) {
		name = text_format("kernels/%s.System.map", id);
		error = campaign_add_file(campaign, kernel->system_map, name);
		free(name);
	}
	return error;
}

void campaign_log(struct campaign *campaign, const char *format, ...)
{
	va_list arguments;
	char stamp[32], *text, *line;
	time_t now = time(NULL);
	struct tm utc;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		abort();
	va_end(arguments);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	line = text_format("%s %s\n", stamp, text);
	/* The log is for people; the records are what must not be lost, and their errors are reported. */
	(void)!write(campaign->log, line, strlen(line));
	free(line);
	free(text);
}

char *campaign_raw_directory(struct campaign *campaign, unsigned int boot)
{
	char *path = text_format("%s/raw/%04u", campaign->directory, boot);
	int error = make_directories(path);

	if (!error)
		return path;
	free(path);
	errno = -error;
	return NULL;
}

static json_t *entry_by_id(const json_t *list, const char *id)
{
	json_t *entry;
	size_t index;

	json_array_foreach(list, index, entry) {
		const char *have = json_string_value(json_object_get(entry, "id"));

		if (have && id && !strcmp(have, id))
			return entry;
	}
	return NULL;
}

json_t *plan_case_by_id(const json_t *plan, const char *id)
{
	return entry_by_id(json_object_get(plan, "cases"), id);
}

json_t *plan_kernel_by_id(const json_t *plan, const char *id)
{
	return entry_by_id(json_object_get(plan, "kernels"), id);
}

const struct kernel *plan_kernel(const json_t *plan, const json_t *boot, const struct kernel *kernels, size_t count)
{
	const char *id = json_string_value(json_object_get(boot, "kernel"));
	const json_t *entry;
	size_t index;

	json_array_foreach(json_object_get(plan, "kernels"), index, entry) {
		const char *have = json_string_value(json_object_get(entry, "id"));

		if (index < count && id && have && !strcmp(have, id))
			return &kernels[index];
	}
	return NULL;
}

char *campaign_record_path(const struct campaign *campaign, const json_t *boot, const json_t *plan_case)
{
	return text_format("%s/records/%04d-%s.json", campaign->directory,
			   (int)json_integer_value(json_object_get(boot, "index")),
			   json_string_value(json_object_get(plan_case, "name")));
}

bool campaign_boot_done(const struct campaign *campaign, const json_t *boot)
{
	json_t *id;
	size_t index;

	json_array_foreach(json_object_get(boot, "cases"), index, id) {
		const json_t *plan_case = plan_case_by_id(campaign->plan, json_string_value(id));
		char *path = campaign_record_path(campaign, boot, plan_case), reason[128];
		json_t *record = NULL;
		bool complete = !read_json(path, &record, reason, sizeof(reason)) &&
				json_is_true(json_object_get(record, "complete"));

		json_decref(record);
		free(path);
		if (!complete)
			return false;
	}
	return true;
}

const char *plan_case_tree(const json_t *plan_case)
{
	const json_t *rows = json_object_get(json_object_get(plan_case, "describe"), "options"), *row;
	size_t index;

	json_array_foreach(rows, index, row) {
		const char *value = json_string_value(json_object_get(json_object_get(plan_case, "options"),
								      json_string_value(json_object_get(row, "name"))));

		if (json_is_true(json_object_get(row, "source_tree")) && value && *value)
			return value;
	}
	return NULL;
}
