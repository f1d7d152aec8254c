// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/files.h"
#include "hist-trigger.h"
#include "tracefs.h"

/* Room for distinct pairs; more would be dropped, which is noticed. */
#define HIST_ENTRIES 16384

struct hist_trigger {
	char *instance, *trigger_path, *hist_path, *command;
};

/* Commands are appended: a trigger file holds a list. */
static int write_command(const struct hist_trigger *trigger, const char *prefix, const char *suffix)
{
	char *text = text_format("%s%s%s\n", prefix, trigger->command, suffix);
	int fd = open(trigger->trigger_path, O_WRONLY | O_APPEND | O_CLOEXEC);
	int error = fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	free(text);
	return error;
}

static int make_instance(struct hist_trigger *trigger, const struct probe_environment *environment, const char *root)
{
	int error;

	trigger->instance = text_format("%s/instances/shootdown-%d", root, getpid());
	error = environment->remember_directory ?
		environment->remember_directory(environment->context, trigger->instance) : 0;
	if (!error && mkdir(trigger->instance, 0700))
		error = -errno;
	return error;
}

struct hist_trigger *hist_open(const struct probe_environment *environment, const char *system, const char *event,
			       const char *keys, char *reason, size_t reason_size)
{
	struct hist_trigger *trigger = calloc(1, sizeof(*trigger));
	const char *why = "out of memory", *root = trigger ? tracefs_root(&why) : NULL;
	unsigned long long id;
	int error = root ? tracefs_event_id(system, event, &id) : -ENODEV;

	if (root && error)
		why = error == -ENOENT ? "this kernel has no such tracepoint" : strerror(-error);
	if (!error) {
		error = make_instance(trigger, environment, root);
		why = error ? "a tracefs instance cannot be made" : why;
	}
	if (!error) {
		trigger->trigger_path = text_format("%s/events/%s/%s/trigger", trigger->instance, system, event);
		trigger->hist_path = text_format("%s/events/%s/%s/hist", trigger->instance, system, event);
		trigger->command = text_format("hist:keys=%s:size=%d", keys, HIST_ENTRIES);
		error = write_command(trigger, "", ":pause");
		why = error ? "this kernel has no histogram triggers (CONFIG_HIST_TRIGGERS)" : why;
	}
	if (!error)
		return trigger;
	snprintf(reason, reason_size, "%s", why);
	hist_close(trigger);
	return NULL;
}

void hist_begin(struct hist_trigger *trigger)
{
	write_command(trigger, "", ":clear");
	write_command(trigger, "", ":cont");
}

void hist_end(struct hist_trigger *trigger)
{
	write_command(trigger, "", ":pause");
}

/* "{ reason:          1, pages: 18446744073709551615 } hitcount:       1000" */
static int parse_entry(const char *line, struct tally *tally)
{
	const char *end = line + strcspn(line, "\n"), *close = memchr(line, '}', (size_t)(end - line));
	const char *colon = strchr(line, ':'), *hits = close ? strstr(close, "hitcount:") : NULL;
	uint64_t keys[2] = { 0, 0 };

	if (!close || !hits || hits > end)
		return -EINVAL;
	for (int i = 0; i < 2 && colon && colon < close; i++) {
		const char *digits = colon + 1 + strspn(colon + 1, " ");

		keys[i] = *digits == '-' ? (uint64_t)strtoll(digits, NULL, 10) : strtoull(digits, NULL, 10);
		colon = strchr(colon + 1, ':');
	}
	return tally_add(tally, keys[0], keys[1], strtoull(hits + strlen("hitcount:"), NULL, 10));
}

int hist_parse(const char *text, struct tally *tally)
{
	bool totals = false;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *start = line + strspn(line, " \t");
		int error = *start == '{' ? parse_entry(start, tally) : 0;

		if (error)
			return error;
		if (!strncmp(start, "Dropped:", 8) && strtoull(start + 8, NULL, 10))
			return -EOVERFLOW;
		totals |= !strncmp(start, "Totals:", 7);
	}
	return totals ? 0 : -EINVAL;
}

int hist_read(struct hist_trigger *trigger, struct tally *tally, char *reason, size_t reason_size)
{
	char *text;
	size_t size;
	int error = read_file(trigger->hist_path, 64 << 20, &text, &size);

	if (!error) {
		error = hist_parse(text, tally);
		free(text);
	}
	if (error)
		snprintf(reason, reason_size, "reading the histogram: %s", error == -EOVERFLOW ?
			 "events were dropped, so it is not whole" : strerror(-error));
	return error;
}

void hist_close(struct hist_trigger *trigger)
{
	if (!trigger)
		return;
	if (trigger->command)
		write_command(trigger, "!", "");
	if (trigger->instance)
		rmdir(trigger->instance);
	free(trigger->instance);
	free(trigger->trigger_path);
	free(trigger->hist_path);
	free(trigger->command);
	free(trigger);
}
