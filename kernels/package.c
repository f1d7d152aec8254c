// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../runner/common/files.h"
#include "../runner/common/nearest.h"
#include "../runner/common/paths.h"
#include "error.h"
#include "package.h"
#include "toolchain.h"

#define OUTPUT_LIMIT (8U << 20)
#define DOWNLOAD_TIMEOUT_MS (30 * 60 * 1000)

static const char *const environment[] = { "LC_ALL=C", "LANGUAGE", "DEBIAN_FRONTEND=noninteractive", NULL };

/* Standard output of a program that ended well; NULL otherwise. Caller frees. */
static char *ask(const char *const *argv)
{
	const struct spawn_options options = { .environment = environment, .input = -1, .output = -1, .error = -1 };
	char *output;
	int status;

	if (run_capture(argv, &options, 60000, OUTPUT_LIMIT, &output, &status))
		return NULL;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return output;
	free(output);
	return NULL;
}

char *package_installed(const char *package)
{
	const char *argv[] = { "dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", package, NULL };
	char *output = ask(argv), *version = NULL;

	if (output && !strncmp(output, "installed ", 10))
		version = strdup(output + 10);
	free(output);
	return version;
}

/* What apt would install; NULL when it knows nothing of that name. */
static char *candidate(const char *package)
{
	const char *argv[] = { "apt-cache", "policy", package, NULL };
	char *output = ask(argv), *line = output ? strstr(output, "Candidate: ") : NULL, *version = NULL;

	if (line) {
		line += strlen("Candidate: ");
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "(none)"))
			version = strdup(line);
	}
	free(output);
	return version;
}

static int unknown_package(const char *package, const char *prefix, const char *spec, struct kernel_error *error)
{
	char *pattern = text_format("^%s", prefix);
	const char *argv[] = { "apt-cache", "search", "--names-only", pattern, NULL };
	char *output = ask(argv), hint[160];
	const char *names[257] = { NULL };
	/* deb:6.12 leaves the prefix out, deb-image: names the whole package. */
	size_t count = 0, length = strlen(prefix), skip = strncmp(spec, "deb:", 4) ? 0 : length;

	for (char *line = output; line && *line && count < 256;) {
		char *next = strchr(line, '\n');

		if (next)
			*next++ = '\0';
		line[strcspn(line, " ")] = '\0';
		if (!strncmp(line, prefix, length))
			names[count++] = line + skip;
		line = next;
	}
	free(pattern);
	nearest_hint(package + skip, names, hint, sizeof(hint));
	if (!count)
		kernel_fail(error, EXIT_ENVIRONMENT, "%s: apt knows no package %s* here; run 'apt-get update', or use tar: or git:",
			    spec, prefix);
	else
		kernel_fail(error, EXIT_USAGE, "%s: apt knows no package %s%s", spec, package,
			    *hint ? hint : "; 'apt-cache search ^linux-' lists them");
	free(output);
	return -EINVAL;
}

/* Changes whenever what apt or dpkg know may have changed. */
static char *apt_state(const char *package)
{
	static const char *const files[] = { "/var/lib/dpkg/status", "/var/lib/apt/lists", "/etc/apt/preferences.d",
					     "/etc/apt/sources.list.d" };
	char *text = strdup(package);

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct stat status = { 0 };
		char *longer;

		(void)!stat(files[i], &status);
		longer = text_format("%s %lld.%09ld", text, (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
		free(text);
		text = longer;
	}
	return text;
}

int package_resolve(const char *package, const char *prefix, bool installed_first, const char *spec, char **version,
		    struct kernel_error *error)
{
	char *directory = path_cache("packages"), *path = text_format("%s/%s.json", directory, package);
	char *state = apt_state(package), reason[128];
	json_t *record = NULL;

	*version = NULL;
	/* apt-cache takes half a second: its answer is kept as long as it cannot have changed. */
	if (!read_json(path, &record, reason, sizeof(reason))) {
		const char *kept = json_string_value(json_object_get(record, "state"));
		const char *answer = json_string_value(json_object_get(record, "version"));

		if (kept && answer && !strcmp(kept, state))
			*version = strdup(answer);
		json_decref(record);
	}
	if (!*version) {
		*version = installed_first ? package_installed(package) : NULL;
		if (!*version)
			*version = candidate(package);
		if (*version && !make_directories(directory)) {
			record = json_pack("{ss ss}", "state", state, "version", *version);
			(void)!write_json(path, record);
			json_decref(record);
		}
	}
	free(state);
	free(path);
	free(directory);
	if (*version)
		return 0;
	if (!program_exists("apt-cache"))
		return kernel_fail(error, EXIT_ENVIRONMENT, "%s: there is no apt here; use tar:, git: or tree:", spec);
	return unknown_package(package, prefix, spec, error);
}

/* Runs a program whose complaint goes into the error. */
static int must(const char *const *argv, const char *directory, const char *what, struct kernel_error *error)
{
	int complaint = memfd_create("complaint", MFD_CLOEXEC), status = 0, code;
	const struct spawn_options options = {
		.directory = directory, .environment = environment, .input = -1, .output = -1, .error = complaint,
	};
	char text[512] = "", *line;
	struct child child;
	ssize_t size;

	code = spawn(argv, &options, &child);
	if (!code) {
		code = child_wait(&child, DOWNLOAD_TIMEOUT_MS, &status);
		if (code)
			child_end(&child, 1000);
	}
	size = pread(complaint, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	close(complaint);
	if (code)
		return kernel_fail_code(error, code, "%s: %s", what, argv[0]);
	if (!status)
		return 0;
	line = strstr(text, "E: ");
	line = line ? line + 3 : text;
	line[strcspn(line, "\n")] = '\0';
	return kernel_fail(error, EXIT_ENVIRONMENT, "%s: %s %s failed: %s; check the network and 'apt-get update'", what, argv[0],
			   argv[1], *line ? line : "no reason given");
}

/* The versions that apt can get, "6.1-2, 6.1-1"; "" for none. Caller frees. */
static char *versions_known(const char *package)
{
	const char *argv[] = { "apt-cache", "madison", package, NULL };
	char *output = ask(argv), *list = strdup("");

	for (char *line = output; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char *bar = memchr(line, '|', strcspn(line, "\n")), *version, *longer;

		if (!bar)
			continue;
		version = bar + 1 + strspn(bar + 1, " ");
		/* A source package is listed beside the binary ones. */
		if (memmem(version, strcspn(version, "\n"), " Sources", 8))
			continue;
		longer = text_format("%s%s%.*s", list, *list ? ", " : "", (int)strcspn(version, " |\n"), version);
		free(list);
		list = longer;
	}
	free(output);
	return list;
}

/* Downloading is the last that can tell a wrong version from a missing network. */
static int explain_download(const char *package, const char *version, int code, struct kernel_error *error)
{
	char *known = versions_known(package);

	if (*known && !strstr(known, version))
		code = kernel_fail(error, EXIT_USAGE, "apt knows no version %s of %s; it knows %s", version, package, known);
	free(known);
	return code;
}

static int unpack(const char *directory, const char *what, const struct watcher *watcher, struct kernel_error *error)
{
	char *pattern = text_format("%s/*.deb", directory);
	glob_t found = { .gl_pathc = 0 };
	int code;

	if (glob(pattern, 0, NULL, &found) || found.gl_pathc != 1) {
		code = kernel_fail(error, EXIT_ENVIRONMENT, "%s: apt-get download left no package in %s", what, directory);
	} else {
		const char *argv[] = { "dpkg-deb", "-x", found.gl_pathv[0], directory, NULL };

		watch(watcher, "unpack", what, -1);
		code = must(argv, NULL, what, error);
		unlink(found.gl_pathv[0]);
	}
	globfree(&found);
	free(pattern);
	return code;
}

int package_unpack(const char *package, const char *version, const char *directory, const struct watcher *watcher,
		   struct kernel_error *error)
{
	char *what = text_format("%s=%s", package, version);
	const char *argv[] = { "apt-get", "download", "-q", what, NULL };
	int code = remove_tree(directory);

	if (!code)
		code = make_directories(directory);
	if (code) {
		code = kernel_fail_code(error, code, "%s", directory);
	} else {
		watch(watcher, "download", what, -1);
		code = must(argv, directory, what, error);
		if (code && code != -EINTR)
			code = explain_download(package, version, code, error);
	}
	if (!code)
		code = unpack(directory, what, watcher, error);
	free(what);
	return code;
}
