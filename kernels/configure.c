// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../runner/common/files.h"
#include "../runner/common/hash.h"
#include "../runner/common/nearest.h"
#include "../runner/common/paths.h"
#include "configure.h"
#include "error.h"
#include "kconfig.h"

#define CONFIG_LIMIT (4U << 20)
#define LIST_LIMIT 8

/* The symbols of the tree's .config; NULL with *error filled. */
static json_t *read_config(const char *path, struct kernel_error *error)
{
	json_t *symbols = json_object();
	char *text, reason[256];
	int code = read_file(path, CONFIG_LIMIT, &text, NULL);

	if (!code) {
		code = kconfig_parse(text, symbols, reason, sizeof(reason));
		free(text);
		if (code)
			kernel_fail(error, EXIT_INTERNAL, "%s: %s", path, reason);
	} else {
		kernel_fail_code(error, code, "%s", path);
	}
	if (!code)
		return symbols;
	json_decref(symbols);
	return NULL;
}

/* Writes only what differs: make looks at the time stamp. */
static int write_config(const char *path, const char *text, struct kernel_error *error)
{
	char *old = NULL;
	int code = 0;

	if (read_file(path, CONFIG_LIMIT, &old, NULL) || strcmp(old, text))
		code = write_file(path, text, strlen(text));
	free(old);
	return code ? kernel_fail_code(error, code, "%s", path) : 0;
}

static int run_kconfig(struct build_tree *tree, const char *target, struct kernel_error *error)
{
	const char *targets[] = { target, NULL };

	return tree_make(tree, "configure", targets, false, error);
}

/*
 * Where the source defines the symbols of a pattern "A|B": lines
 * "TREE:path:config A", "" when nowhere. Caller frees.
 */
static char *definitions(const struct build_tree *tree, const char *object, const char *pattern)
{
	const struct git git = { .directory = tree->repository };
	char *expression = text_format("^[[:space:]]*(menu)?config[[:space:]]+(%s)[[:space:]]*$", pattern), *output = NULL;
	int code = git_run(&git, &output, NULL, "grep", "-E", "-e", expression, object, "--", "*Kconfig*", NULL);

	free(expression);
	if (code >= 0 && code <= 1 && output)
		return output;
	free(output);
	return strdup("");
}

enum definition { NOWHERE, OTHER_ARCHITECTURE, HERE };

/* symbol without CONFIG_. */
static enum definition defined(const char *listing, const char *symbol, const char *architecture)
{
	enum definition best = NOWHERE;
	size_t length = strlen(symbol), architecture_length = strlen(architecture);

	for (const char *line = listing; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *path = memchr(line, ':', strcspn(line, "\n")), *word;

		if (!path)
			continue;
		word = memchr(path + 1, ':', strcspn(path + 1, "\n"));
		word = word ? strstr(word, "config") : NULL;
		if (!word)
			continue;
		word += strlen("config");
		word += strspn(word, " \t");
		if (strncmp(word, symbol, length) || !strchr(" \t\n", word[length]))
			continue;
		if (!strncmp(path + 1, "arch/", 5) && strncmp(path + 1, "arch/Kconfig", 12) &&
		    (strncmp(path + 6, architecture, architecture_length) || path[6 + architecture_length] != '/'))
			best = best == HERE ? HERE : OTHER_ARCHITECTURE;
		else
			best = HERE;
	}
	return best;
}

/* The symbols of asked that effective does not have so: {"CONFIG_X": what it is}. */
static json_t *missing_symbols(const json_t *asked, const json_t *effective)
{
	json_t *missing = json_object(), *value;
	const char *symbol;

	json_object_foreach((json_t *)asked, symbol, value)
		if (strcmp(json_string_value(value), kconfig_value(effective, symbol)))
			json_object_set_new(missing, symbol, json_string(kconfig_value(effective, symbol)));
	return missing;
}

static char *joined_names(const json_t *symbols)
{
	char *text = strdup("");
	const char *symbol;
	json_t *value;

	json_object_foreach((json_t *)symbols, symbol, value) {
		char *longer = text_format("%s%s%s", text, *text ? "|" : "", symbol + strlen("CONFIG_"));

		free(text);
		text = longer;
	}
	return text;
}

static void append(char *list, size_t size, unsigned int *count, const char *symbol, const char *wanted, const char *got)
{
	size_t used = strlen(list);

	if (++*count <= LIST_LIMIT)
		snprintf(list + used, size - used, "%s%s=%s (is %s)", used ? ", " : "", symbol, wanted, got);
}

/*
 * Each symbol asked for must have survived. One that only another architecture
 * has, or that this version of the kernel does not know, is worth a note where a
 * fragment of ours asks: those serve several architectures and versions.
 */
static int check_asked(struct build_tree *tree, const char *object, const json_t *asked, const json_t *strict,
		       const json_t *effective, struct kernel_error *error)
{
	json_t *missing = missing_symbols(asked, effective), *value;
	char *names, *listing, wrong[600] = "", notes[400] = "";
	unsigned int wrong_count = 0, note_count = 0;
	const char *symbol;

	if (!json_object_size(missing)) {
		json_decref(missing);
		return 0;
	}
	names = joined_names(missing);
	listing = definitions(tree, object, names);
	json_object_foreach(missing, symbol, value) {
		enum definition where = defined(listing, symbol + strlen("CONFIG_"), tree->toolchain->kernel_architecture);
		const char *wanted = kconfig_value(asked, symbol), *got = json_string_value(value);

		if (where == HERE || (where == NOWHERE && json_object_get(strict, symbol)))
			append(wrong, sizeof(wrong), &wrong_count, symbol, wanted, where == HERE ? got : "unknown");
		else
			append(notes, sizeof(notes), &note_count, symbol, wanted, where == NOWHERE ? "unknown" : "of another architecture");
	}
	if (note_count)
		watch(tree->watcher, "note", notes, -1);
	free(listing);
	free(names);
	json_decref(missing);
	if (!wrong_count)
		return 0;
	return kernel_fail(error, EXIT_REGRESSED, "config for %s: %u option%s did not come out as asked: %s%s; Kconfig drops what "
			   "lacks a dependency: add that to the fragment", tree->watcher->spec, wrong_count,
			   wrong_count == 1 ? "" : "s", wrong, wrong_count > LIST_LIMIT ? ", ..." : "");
}

static char *base_config_path(const struct configuration *configuration, const struct toolchain *toolchain)
{
	char hash[HASH_TEXT], *directory = path_cache("configs"), *path;
	struct hash *state = hash_new();

	hash_add_text(state, configuration->base->tree);
	hash_add_text(state, configuration->fragments->hash);
	hash_add_text(state, toolchain->architecture);
	hash_add_text(state, toolchain->compiler);
	hash_add_text(state, toolchain->linker);
	hash_finish(state, hash);
	path = text_format("%s/%.32s.config", directory, hash);
	(void)!make_directories(directory);
	free(directory);
	return path;
}

/* tinyconfig, the fragments over it, olddefconfig. */
static int configure_base(struct build_tree *tree, const struct configuration *configuration, const char *kept,
			  struct kernel_error *error)
{
	char *path = tree_path(tree, ".config"), *text;
	json_t *symbols = NULL;
	int code = tree_checkout(tree, configuration->base->tree, error);

	if (!code)
		code = run_kconfig(tree, "tinyconfig", error);
	if (!code) {
		symbols = read_config(path, error);
		code = symbols ? 0 : -EIO;
	}
	if (!code) {
		kconfig_merge(symbols, configuration->fragments->symbols);
		text = kconfig_text(symbols);
		code = write_config(path, text, error);
		free(text);
		json_decref(symbols);
		symbols = NULL;
	}
	if (!code)
		code = run_kconfig(tree, "olddefconfig", error);
	if (!code) {
		symbols = read_config(path, error);
		code = symbols ? check_asked(tree, configuration->base->tree, configuration->fragments->symbols,
					     configuration->fragments->strict, symbols, error) : -EIO;
	}
	if (!code) {
		code = copy_file(path, kept);
		if (code)
			code = kernel_fail_code(error, code, "%s", kept);
	}
	json_decref(symbols);
	free(path);
	return code;
}

static bool may_change(const struct configuration *configuration, const char *symbol)
{
	for (size_t i = 0; i < configuration->layer_count; i++) {
		const json_t *options = layer_options(&configuration->layers[i]);
		json_t *option;
		size_t j;

		json_array_foreach((json_t *)options, j, option)
			if (!strcmp(json_string_value(option), symbol))
				return true;
	}
	return false;
}

/* A variant may change only the options that its series names. */
static int check_changes(struct build_tree *tree, const struct configuration *configuration, const json_t *before,
			 const json_t *after, struct kernel_error *error)
{
	const json_t *sides[] = { before, after };
	const char *symbol;
	json_t *value;

	for (size_t i = 0; i < 2; i++)
		json_object_foreach((json_t *)sides[i], symbol, value) {
			const char *was = kconfig_value(before, symbol), *is = kconfig_value(after, symbol);

			if (strcmp(was, is) && !may_change(configuration, symbol))
				return kernel_fail(error, EXIT_REGRESSED, "config for %s: %s changed from %s to %s, and no series of it "
						   "names that option; add it to 'options' in series.yaml, or mend the patch",
						   tree->watcher->spec, symbol, was, is);
		}
	return 0;
}

/* What the variants ask for, later layers win. */
static json_t *variant_symbols(const struct configuration *configuration)
{
	json_t *symbols = json_object();

	for (size_t i = 0; i < configuration->layer_count; i++) {
		const char *symbol;
		json_t *value;

		json_object_foreach((json_t *)layer_config(&configuration->layers[i]), symbol, value) {
			char *text = json_is_string(value) ? strdup(json_string_value(value))
				     : json_is_boolean(value) ? strdup(json_is_true(value) ? "y" : "n")
							      : json_dumps(value, JSON_ENCODE_ANY);

			json_object_set_new(symbols, symbol, json_string(text));
			free(text);
		}
	}
	return symbols;
}

static int configure_variant(struct build_tree *tree, const struct configuration *configuration, const char *kept,
			     const json_t *wanted, struct kernel_error *error)
{
	json_t *before = read_config(kept, error), *symbols, *after = NULL;
	char *path = tree_path(tree, ".config"), *text;
	int code = before ? 0 : -EIO;

	if (!code) {
		symbols = json_copy(before);
		kconfig_merge(symbols, wanted);
		text = kconfig_text(symbols);
		code = write_config(path, text, error);
		free(text);
		json_decref(symbols);
	}
	if (!code)
		code = run_kconfig(tree, "olddefconfig", error);
	if (!code) {
		after = read_config(path, error);
		code = after ? 0 : -EIO;
	}
	if (!code)
		code = check_asked(tree, configuration->patched->tree, wanted, wanted, after, error);
	if (!code)
		code = check_changes(tree, configuration, before, after, error);
	json_decref(before);
	json_decref(after);
	free(path);
	return code;
}

int tree_configure(struct build_tree *tree, const struct configuration *configuration, struct kernel_error *error)
{
	char *kept = base_config_path(configuration, tree->toolchain), *path = tree_path(tree, ".config"), *text = NULL;
	json_t *wanted = variant_symbols(configuration);
	int code = 0;

	watch(tree->watcher, "configure", configuration->base->resolved, -1);
	if (!file_exists(kept))
		code = configure_base(tree, configuration, kept, error);
	if (!code)
		code = tree_checkout(tree, configuration->patched->tree, error);
	if (!code && (json_object_size(wanted) || configuration->patched->kconfig)) {
		code = configure_variant(tree, configuration, kept, wanted, error);
	} else if (!code) {
		code = read_file(kept, CONFIG_LIMIT, &text, NULL);
		code = code ? kernel_fail_code(error, code, "%s", kept) : write_config(path, text, error);
	}
	free(text);
	json_decref(wanted);
	free(path);
	free(kept);
	return code;
}
