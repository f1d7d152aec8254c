// SPDX-License-Identifier: GPL-2.0-or-later
#include "resume-unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/files.h"

#define SYSTEM_UNITS "/etc/systemd/system"
#define WANTED_BY "multi-user.target"
#define UNIT_LIMIT 65536	/* bytes; one of ours has a few hundred */

/* What decides where the command finds its things; a unit starts with next to nothing. */
static const char *const kept_environment[] = {
	"HOME", "PATH", "XDG_CACHE_HOME", "XDG_STATE_HOME", "SHOOTDOWN_SERIES_PATH", "SHOOTDOWN_PYTHON", "SHOOTDOWN_UNIT_DIRECTORY",
};

bool resume_unit_is_foreign(void)
{
	const char *directory = getenv("SHOOTDOWN_UNIT_DIRECTORY");

	return directory && *directory;
}

static const char *unit_directory(void)
{
	return resume_unit_is_foreign() ? getenv("SHOOTDOWN_UNIT_DIRECTORY") : SYSTEM_UNITS;
}

/* systemd.syntax(7): quotes and backslashes as in C; a percent sign is doubled, in commands a dollar as well. */
static void write_value(FILE *out, const char *text, const char *special, const char *doubled)
{
	for (; *text; text++) {
		if (*text == '\n') {
			fputs("\\n", out);
			continue;
		}
		if (strchr(special, *text))
			fputc('\\', out);
		if (strchr(doubled, *text))
			fputc(*text, out);
		fputc(*text, out);
	}
}

static void write_quoted(FILE *out, const char *text, const char *doubled)
{
	fputc('"', out);
	write_value(out, text, "\"\\", doubled);
	fputc('"', out);
}

char *resume_unit_text(const char *const *argv, const char *directory, const char *needs)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	fprintf(out, "# Made by shootdown, which removes it when the campaign has ended; so does 'shootdown restore'.\n"
		"[Unit]\nDescription=shootdown: the campaign goes on after a reboot\nAfter=" WANTED_BY "\nRequiresMountsFor=");
	write_quoted(out, needs, "%");
	fprintf(out, "\n\n[Service]\nType=exec\nWorkingDirectory=");
	write_value(out, directory, "", "%");
	fputc('\n', out);
	for (size_t i = 0; i < sizeof(kept_environment) / sizeof(kept_environment[0]); i++) {
		const char *value = getenv(kept_environment[i]);

		if (!value)
			continue;
		fprintf(out, "Environment=\"%s=", kept_environment[i]);
		write_value(out, value, "\"\\", "%");
		fputs("\"\n", out);
	}
	fputs("ExecStart=", out);
	for (const char *const *word = argv; *word; word++) {
		fputs(word == argv ? "" : " ", out);
		write_quoted(out, *word, "%$");
	}
	fprintf(out, "\nKillMode=mixed\nTimeoutStopSec=60\n\n[Install]\nWantedBy=" WANTED_BY "\n");
	if (fclose(out))
		abort();
	return text;
}

/* What `systemctl enable` would make. */
static int make_link(const char *directory)
{
	char *wants = text_format("%s/" WANTED_BY ".wants", directory), *link = text_format("%s/" RESUME_UNIT, wants);
	int error = make_directories(wants);

	if (!error && symlink("../" RESUME_UNIT, link) && errno != EEXIST)
		error = -errno;
	free(link);
	free(wants);
	return error;
}

int resume_unit_install(const char *text, char *reason, size_t reason_size)
{
	const char *directory = unit_directory();
	char *path = text_format("%s/" RESUME_UNIT, directory);
	bool removed;
	int error;

	if (!resume_unit_is_foreign() && !file_exists("/run/systemd/system")) {
		snprintf(reason, reason_size, "this machine's init is not systemd, which would go on with the campaign; reboot by hand");
		free(path);
		return -ENOSYS;
	}
	error = make_directories(directory);
	if (!error)
		error = write_file(path, text, strlen(text));
	if (!error)
		error = make_link(directory);
	if (error) {
		snprintf(reason, reason_size, "%s cannot be written: %s", path, strerror(-error));
		resume_unit_remove(&removed);
	}
	free(path);
	return error;
}

/* As the unit names the campaign: a word of its command. Caller frees. */
static char *quoted_word(const char *word)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	write_quoted(out, word, "%$");
	if (fclose(out))
		abort();
	return text;
}

bool resume_unit_is_of_another(const char *directory)
{
	char *path = text_format("%s/" RESUME_UNIT, unit_directory()), *word = quoted_word(directory), *text = NULL;
	bool another = !read_file(path, UNIT_LIMIT, &text, NULL) && !strstr(text, word);

	free(text);
	free(word);
	free(path);
	return another;
}

int resume_unit_remove(bool *removed)
{
	static const char *const below[] = { WANTED_BY ".wants/" RESUME_UNIT, RESUME_UNIT };
	int error = 0;

	*removed = false;
	for (size_t i = 0; i < 2; i++) {
		char *path = text_format("%s/%s", unit_directory(), below[i]);

		if (!unlink(path))
			*removed = true;
		else if (errno != ENOENT && errno != ENOTDIR && !error)
			error = -errno;
		free(path);
	}
	return error;
}
