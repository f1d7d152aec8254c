// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../runner/common/files.h"
#include "../runner/common/nearest.h"
#include "error.h"
#include "spec.h"

static const struct {
	const char *word;
	enum kernel_source source;
	char version_mark;	/* what sets off the version; 0: there is none */
} sources[] = {
	{ "deb", KERNEL_DEB, '=' },
	{ "git", KERNEL_GIT, '@' },
	{ "tree", KERNEL_TREE, 0 },
	{ "tar", KERNEL_TAR, 0 },
	{ "image", KERNEL_IMAGE, 0 },
	{ "deb-image", KERNEL_DEB_IMAGE, '=' },
	{ "host", KERNEL_HOST, 0 },
};
#define SOURCES (sizeof(sources) / sizeof(sources[0]))

static bool is_name(const char *text, size_t size)
{
	if (!size || !isalnum((unsigned char)text[0]))
		return false;
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("-._", text[i]))
			return false;
	return true;
}

/* NAME/NAME and nothing else. */
static bool is_variant(const char *text)
{
	const char *slash = strchr(text, '/');

	return slash && is_name(text, (size_t)(slash - text)) && is_name(slash + 1, strlen(slash + 1));
}

static bool is_path_source(const char *text)
{
	return !strncmp(text, "tree:", 5) || !strncmp(text, "tar:", 4) || !strncmp(text, "git:", 4) ||
	       !strncmp(text, "image:", 6);
}

/* A path may hold a '+' itself: what exists as a whole is a path. */
static bool exists_whole(const char *text)
{
	return is_path_source(text) && file_exists(strchr(text, ':') + 1);
}

static int add_layer(struct kernel_spec *spec, const char *text, struct kernel_error *error)
{
	struct spec_layer *layer = &spec->layers[spec->layer_count];

	if (spec->layer_count == SPEC_LAYERS_MAXIMUM)
		return kernel_fail(error, EXIT_USAGE, "spec with more than %d layers; put the patches into one series",
				   SPEC_LAYERS_MAXIMUM);
	if (!strncmp(text, "mbox:", 5)) {
		layer->mbox = strdup(text + 5);
	} else {
		const char *slash = strchr(text, '/');

		layer->series = strndup(text, (size_t)(slash - text));
		layer->variant = strdup(slash + 1);
	}
	spec->layer_count++;
	return 0;
}

static void reverse_layers(struct kernel_spec *spec)
{
	for (size_t i = 0, j = spec->layer_count; i + 1 < j; i++) {
		struct spec_layer kept = spec->layers[i];

		j--;
		spec->layers[i] = spec->layers[j];
		spec->layers[j] = kept;
	}
}

/* Takes the layers off the end of text, last one first. */
static int take_layers(char *text, struct kernel_spec *spec, struct kernel_error *error)
{
	char *end = text + strlen(text);
	int code = 0;

	while (!code && end > text && !exists_whole(text)) {
		while (end > text && *end != '+')
			end--;
		if (end == text)
			break;
		if (!strncmp(end + 1, "mbox:", 5) || is_variant(end + 1)) {
			code = add_layer(spec, end + 1, error);
			*end = '\0';
			end = text + strlen(text);
		} else {
			end--;
		}
	}
	reverse_layers(spec);
	return code;
}

static int unknown_source(const char *text, const char *word, struct kernel_error *error)
{
	const char *names[SOURCES + 1] = { NULL };
	char hint[96];

	for (size_t i = 0; i < SOURCES; i++)
		names[i] = sources[i].word;
	if (!strchr(text, ':') && text[0] && isdigit((unsigned char)text[0]))
		return kernel_fail(error, EXIT_USAGE, "kernel spec '%s' names no source; did you mean 'deb:%s'?", text, text);
	nearest_hint(word, names, hint, sizeof(hint));
	return kernel_fail(error, EXIT_USAGE, "kernel spec '%s': unknown source '%s'%s", text, word,
			   *hint ? hint : "; sources are deb: git: tree: tar: image: deb-image: host");
}

static int take_source(const char *text, struct kernel_spec *spec, struct kernel_error *error)
{
	size_t length = strcspn(text, ":");
	char *word = strndup(text, length);
	const char *rest = text[length] ? text + length + 1 : "";
	size_t i = 0;
	int code = 0;

	while (i < SOURCES && strcmp(word, sources[i].word))
		i++;
	if (i == SOURCES) {
		code = unknown_source(text, word, error);
	} else if ((sources[i].source == KERNEL_HOST) != !*rest) {
		code = kernel_fail(error, EXIT_USAGE, "kernel spec '%s': %s", text,
				   *rest ? "'host' takes no argument" : "nothing after the colon");
	} else {
		const char *mark = sources[i].version_mark ? strrchr(rest, sources[i].version_mark) : NULL;

		spec->source = sources[i].source;
		spec->name = mark ? strndup(rest, (size_t)(mark - rest)) : strdup(rest);
		spec->version = mark ? strdup(mark + 1) : NULL;
	}
	free(word);
	return code;
}

static bool clean_word(const char *text)
{
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("-._+~:", *text))
			return false;
	return true;
}

static int check_parts(const char *text, const struct kernel_spec *spec, struct kernel_error *error)
{
	bool package = spec->source == KERNEL_DEB || spec->source == KERNEL_DEB_IMAGE;
	bool ready = spec->source == KERNEL_IMAGE || spec->source == KERNEL_DEB_IMAGE || spec->source == KERNEL_HOST;

	if (spec->version && !*spec->version)
		return kernel_fail(error, EXIT_USAGE, "kernel spec '%s': no version after '='%s", text,
				   spec->source == KERNEL_GIT ? " or '@'" : "");
	if (spec->source != KERNEL_HOST && !*spec->name)
		return kernel_fail(error, EXIT_USAGE, "kernel spec '%s': the source has no name", text);
	/* These become words of apt-get: no option and no path may hide in them. */
	if (package && (strchr(spec->name, '+') || !clean_word(spec->name) || !isalnum((unsigned char)spec->name[0]) ||
			(spec->version && (!clean_word(spec->version) || spec->version[0] == '-'))))
		return kernel_fail(error, EXIT_USAGE, "kernel spec '%s': no package is called that; a layer is +SERIES/VARIANT "
				   "or +mbox:FILE", text);
	if (ready && spec->layer_count)
		return kernel_fail(error, EXIT_USAGE, "kernel spec '%s': a ready image cannot be patched; "
				   "name a source (deb: git: tree: tar:)", text);
	for (size_t i = 0; i < spec->layer_count; i++)
		if (spec->layers[i].mbox && !file_exists(spec->layers[i].mbox))
			return kernel_fail(error, EXIT_USAGE, "kernel spec '%s': there is no file %s", text,
					   spec->layers[i].mbox);
	return 0;
}

int spec_parse(const char *text, struct kernel_spec *spec, struct kernel_error *error)
{
	char *copy = strdup(text);
	int code;

	memset(spec, 0, sizeof(*spec));
	code = take_layers(copy, spec, error);
	if (!code)
		code = take_source(copy, spec, error);
	if (!code)
		code = check_parts(text, spec, error);
	free(copy);
	if (code)
		spec_free(spec);
	return code;
}

void spec_free(struct kernel_spec *spec)
{
	free(spec->name);
	free(spec->version);
	for (size_t i = 0; i < spec->layer_count; i++) {
		free(spec->layers[i].series);
		free(spec->layers[i].variant);
		free(spec->layers[i].mbox);
	}
	memset(spec, 0, sizeof(*spec));
}

char *spec_layers_text(const struct kernel_spec *spec)
{
	char *text = strdup("");

	for (size_t i = 0; i < spec->layer_count; i++) {
		const struct spec_layer *layer = &spec->layers[i];
		char *longer = layer->mbox ? text_format("%s+mbox:%s", text, layer->mbox)
					   : text_format("%s+%s/%s", text, layer->series, layer->variant);

		free(text);
		text = longer;
	}
	return text;
}
