// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../runner/common/files.h"
#include "../runner/common/nearest.h"
#include "../runner/common/paths.h"
#include "error.h"
#include "fragments.h"
#include "kconfig.h"

#define FRAGMENT_LIMIT (1U << 20)
#define NEEDS "# needs:"

static int load_named(const char *name, const char *architecture, struct fragments *fragments,
		      struct kernel_error *error);

static bool is_file_name(const char *name)
{
	size_t length = strlen(name);

	return strchr(name, '/') || (length > 7 && !strcmp(name + length - 7, ".config"));
}

static int unknown_name(const char *name, struct kernel_error *error)
{
	char *directory = path_data("configs/kconfig");
	char **names = path_names(directory, ".config");
	char hint[96];
	int code;

	nearest_hint(name, (const char *const *)names, hint, sizeof(hint));
	code = kernel_fail(error, EXIT_USAGE, "there is no config fragment '%s'%s%s%s", name, hint,
			   *hint ? "" : "; name a file, or one of those in ", *hint ? "" : directory);
	names_free(names);
	free(directory);
	return code;
}

static bool loaded(const struct fragments *fragments, const char *path)
{
	for (size_t i = 0; i < fragments->count; i++)
		if (!strcmp(fragments->items[i].path, path))
			return true;
	return false;
}

/* The fragments that this one builds on come before it. */
static int load_needs(const char *text, const char *architecture, struct fragments *fragments,
		      struct kernel_error *error)
{
	for (const char *line = text; *line == '#' || *line == '\n'; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *word = line + strlen(NEEDS);

		if (strncmp(line, NEEDS, strlen(NEEDS)))
			continue;
		for (word += strspn(word, " "); *word && *word != '\n'; word += strspn(word, " ")) {
			size_t length = strcspn(word, " \n");
			char *name = strndup(word, length);
			int code = load_named(name, architecture, fragments, error);

			free(name);
			if (code)
				return code;
			word += length;
		}
	}
	return 0;
}

static int load_file(const char *name, const char *path, const char *architecture, struct fragments *fragments,
		     struct kernel_error *error)
{
	struct fragment *fragment;
	struct hash *hash;
	char *text, reason[256];
	size_t size;
	int code = read_file(path, FRAGMENT_LIMIT, &text, &size);

	if (code)
		return kernel_fail(error, EXIT_USAGE, "config fragment %s cannot be read: %s", path, strerror(-code));
	if (fragments->depth >= FRAGMENTS_MAXIMUM)
		code = kernel_fail(error, EXIT_USAGE, "config fragment %s needs itself; mend its line '" NEEDS "'", path);
	fragments->depth++;
	if (!code)
		code = load_needs(text, architecture, fragments, error);
	fragments->depth--;
	if (!code && fragments->count == FRAGMENTS_MAXIMUM)
		code = kernel_fail(error, EXIT_USAGE, "more than %d config fragments at %s; put some into one file",
				   FRAGMENTS_MAXIMUM, path);
	if (!code && kconfig_parse(text, fragments->symbols, reason, sizeof(reason)))
		code = kernel_fail(error, EXIT_USAGE, "config fragment %s: %s", path, reason);
	if (!code) {
		fragment = &fragments->items[fragments->count++];
		fragment->name = strdup(name);
		fragment->path = strdup(path);
		hash = hash_new();
		hash_add(hash, text, size);
		hash_finish(hash, fragment->hash);
		if (is_file_name(name))
			(void)!kconfig_parse(text, fragments->strict, reason, sizeof(reason));
	}
	free(text);
	return code;
}

/* The same path with ".ARCHITECTURE" before ".config". */
static char *companion_path(const char *path, const char *architecture)
{
	size_t length = strlen(path);

	if (length < 7 || strcmp(path + length - 7, ".config"))
		return text_format("%s.%s", path, architecture);
	return text_format("%.*s.%s.config", (int)(length - 7), path, architecture);
}

static int load_named(const char *name, const char *architecture, struct fragments *fragments,
		      struct kernel_error *error)
{
	char *directory = path_data("configs/kconfig");
	char *path = is_file_name(name) ? strdup(name) : text_format("%s/%s.config", directory, name);
	char *companion = companion_path(path, architecture);
	char *companion_name = text_format("%s.%s", name, architecture);
	int code = 0;

	if (!file_exists(path))
		code = is_file_name(name) ? kernel_fail(error, EXIT_USAGE, "there is no config fragment %s", path)
					  : unknown_name(name, error);
	else if (!loaded(fragments, path))
		code = load_file(name, path, architecture, fragments, error);
	if (!code && file_exists(companion) && !loaded(fragments, companion))
		code = load_file(companion_name, companion, architecture, fragments, error);
	free(companion_name);
	free(companion);
	free(path);
	free(directory);
	return code;
}

int fragments_load(const char *const *names, const char *architecture, struct fragments *fragments,
		   struct kernel_error *error)
{
	static const char *const usual[] = { "fast", NULL };
	struct hash *hash = hash_new();
	int code = 0;

	memset(fragments, 0, sizeof(*fragments));
	fragments->symbols = json_object();
	fragments->strict = json_object();
	if (!names || !names[0])
		names = usual;
	for (; !code && *names; names++)
		code = load_named(*names, architecture, fragments, error);
	for (size_t i = 0; i < fragments->count; i++)
		hash_add_text(hash, fragments->items[i].hash);
	hash_finish(hash, fragments->hash);
	if (code)
		fragments_free(fragments);
	return code;
}

void fragments_free(struct fragments *fragments)
{
	for (size_t i = 0; i < fragments->count; i++) {
		free(fragments->items[i].name);
		free(fragments->items[i].path);
	}
	json_decref(fragments->symbols);
	json_decref(fragments->strict);
	memset(fragments, 0, sizeof(*fragments));
}
