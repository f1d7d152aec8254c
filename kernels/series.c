// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../runner/common/files.h"
#include "../runner/common/nearest.h"
#include "../runner/common/paths.h"
#include "../runner/common/yaml.h"
#include "error.h"
#include "series.h"

static const struct shape published_keys[] = {
	{ .name = "title", .type = SHAPE_TEXT, .required = true },
	{ .name = "date", .type = SHAPE_TEXT },
	{ .name = "message-id", .type = SHAPE_TEXT },
	{ .name = NULL },
};

static const struct shape variant_keys[] = {
	{ .name = "name", .type = SHAPE_TEXT, .required = true },
	{ .name = "summary", .type = SHAPE_TEXT },
	{ .name = "patches", .type = SHAPE_LIST, .required = true, .item = SHAPE_TEXT },
	{ .name = "config", .type = SHAPE_MAP, .item = SHAPE_SCALAR },
	{ .name = "boot-parameters", .type = SHAPE_TEXT },
	{ .name = NULL },
};

static const struct shape expect_keys[] = {
	{ .name = "of", .type = SHAPE_TEXT, .required = true },
	{ .name = "at-least", .type = SHAPE_NUMBER, .minimum = LLONG_MIN },
	{ .name = "at-most", .type = SHAPE_NUMBER, .minimum = LLONG_MIN },
	{ .name = NULL },
};

static const struct shape claim_keys[] = {
	{ .name = "name", .type = SHAPE_TEXT, .required = true },
	{ .name = "published", .type = SHAPE_TEXT, .required = true },
	{ .name = "source", .type = SHAPE_TEXT },
	{ .name = "baseline", .type = SHAPE_TEXT, .required = true },
	{ .name = "candidate", .type = SHAPE_TEXT, .required = true },
	{ .name = "case", .type = SHAPE_TEXT, .required = true },
	{ .name = "cpus", .type = SHAPE_INTEGER, .minimum = 1 },
	{ .name = "metric", .type = SHAPE_TEXT, .required = true },
	{ .name = "lanes", .type = SHAPE_LIST, .item = SHAPE_TEXT },
	{ .name = "direction", .type = SHAPE_TEXT },
	{ .name = "published-change-percent", .type = SHAPE_NUMBER, .minimum = -1000000, .maximum = 1000000 },
	{ .name = "expect", .type = SHAPE_MAP, .keys = expect_keys },
	{ .name = "note", .type = SHAPE_TEXT },
	{ .name = NULL },
};

static const struct shape series_keys[] = {
	{ .name = "series", .type = SHAPE_TEXT, .required = true },
	{ .name = "title", .type = SHAPE_TEXT, .required = true },
	{ .name = "summary", .type = SHAPE_TEXT },
	{ .name = "published", .type = SHAPE_LIST, .keys = published_keys },
	{ .name = "base", .type = SHAPE_TEXT, .required = true },
	{ .name = "architectures", .type = SHAPE_LIST, .required = true, .item = SHAPE_TEXT },
	{ .name = "baseline", .type = SHAPE_TEXT, .required = true },
	{ .name = "options", .type = SHAPE_LIST, .item = SHAPE_TEXT },
	{ .name = "variants", .type = SHAPE_LIST, .required = true, .keys = variant_keys },
	{ .name = "claims", .type = SHAPE_LIST, .keys = claim_keys },
	{ .name = NULL },
};

/* The folders that hold series: the project's own, then those of $SHOOTDOWN_SERIES_PATH. NULL-terminated. */
static char **series_folders(void)
{
	const char *more = getenv("SHOOTDOWN_SERIES_PATH");
	size_t count = 1, room = 2;
	char **folders;

	for (const char *p = more; p && *p; p++)
		room += *p == ':';
	folders = calloc(room + 1, sizeof(*folders));
	if (!folders)
		abort();
	folders[0] = path_data("kernels/series");
	for (const char *p = more; p && *p; p += strcspn(p, ":"), p += *p == ':')
		if (*p != ':')
			folders[count++] = strndup(p, strcspn(p, ":"));
	return folders;
}

/* Calls found for every folder with a series.yaml until it returns other than 0. */
static int each_series(int (*found)(void *context, const char *name, const char *folder), void *context)
{
	char **folders = series_folders();
	int code = 0;

	for (size_t i = 0; !code && folders[i]; i++) {
		char **names = path_names(folders[i], "");

		for (size_t j = 0; !code && names && names[j]; j++) {
			char *folder = text_format("%s/%s", folders[i], names[j]);
			char *file = text_format("%s/series.yaml", folder);

			if (file_exists(file))
				code = found(context, names[j], folder);
			free(file);
			free(folder);
		}
		names_free(names);
	}
	names_free(folders);
	return code;
}

static json_t *variant_find(const json_t *series, const char *name)
{
	json_t *variant;
	size_t i;

	json_array_foreach(json_object_get(series, "variants"), i, variant)
		if (!strcmp(json_string_value(json_object_get(variant, "name")), name))
			return variant;
	return NULL;
}

static bool list_holds(const json_t *list, const char *text)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		if (!strcmp(json_string_value(item), text))
			return true;
	return false;
}

/* What the rows of shape_check() cannot say: that names mean something. Writes the fault. */
static bool series_fault(const json_t *series, const char *name, char *fault, size_t fault_size)
{
	const char *own = json_string_value(json_object_get(series, "series"));
	const char *baseline = json_string_value(json_object_get(series, "baseline"));
	static const char *const ends[] = { "baseline", "candidate" };
	json_t *item, *value;
	const char *symbol;
	size_t i;

	if (strcmp(own, name))
		return snprintf(fault, fault_size, "series: '%s' stands in the folder '%s'", own, name);
	if (!variant_find(series, baseline))
		return snprintf(fault, fault_size, "baseline: there is no variant '%s'", baseline);
	json_array_foreach(json_object_get(series, "variants"), i, item)
		json_object_foreach(json_object_get(item, "config"), symbol, value)
			if (!list_holds(json_object_get(series, "options"), symbol))
				return snprintf(fault, fault_size, "variants[%zu]: config changes %s, which 'options' does not "
						"name", i, symbol);
	json_array_foreach(json_object_get(series, "claims"), i, item)
		for (size_t j = 0; j < 2; j++) {
			const char *end = json_string_value(json_object_get(item, ends[j]));

			if (!variant_find(series, end))
				return snprintf(fault, fault_size, "claims[%zu]: %s: there is no variant '%s'", i, ends[j], end);
		}
	return false;
}

static int read_series(const char *name, const char *folder, json_t **series, struct kernel_error *error)
{
	char *path = text_format("%s/series.yaml", folder), reason[512];
	int code = read_yaml(path, series, reason, sizeof(reason));

	if (!code) {
		code = shape_check(*series, series_keys, "", reason, sizeof(reason));
		if (!code && series_fault(*series, name, reason, sizeof(reason)))
			code = -EINVAL;
		if (code)
			json_decref(*series);
	}
	if (code)
		code = kernel_fail(error, EXIT_USAGE, "series '%s' cannot be read (%s): %s", name, path, reason);
	free(path);
	return code;
}

struct search {
	const char *wanted;
	char *folder;
	const char *names[128];
	size_t count;
};

static int note_series(void *context, const char *name, const char *folder)
{
	struct search *search = context;

	if (!strcmp(name, search->wanted) && !search->folder)
		search->folder = strdup(folder);
	if (search->count + 1 < sizeof(search->names) / sizeof(search->names[0]))
		search->names[search->count++] = strdup(name);
	return 0;
}

/* The folder of a series; NULL with *error filled. */
static char *find_folder(const char *name, struct kernel_error *error)
{
	struct search search = { .wanted = name };
	char hint[96];

	each_series(note_series, &search);
	if (!search.folder) {
		nearest_hint(name, search.names, hint, sizeof(hint));
		kernel_fail(error, EXIT_USAGE, "there is no series '%s'%s", name,
			    *hint ? hint : "; 'shootdown list series' shows them");
	}
	for (size_t i = 0; i < search.count; i++)
		free((char *)search.names[i]);
	return search.folder;
}

static int find_variant(struct layer *layer, struct kernel_error *error)
{
	const json_t *variants = json_object_get(layer->series, "variants");
	const char *names[65] = { NULL };
	char hint[96];

	layer->variant = variant_find(layer->series, layer->spec->variant);
	if (layer->variant)
		return 0;
	for (size_t i = 0; i < json_array_size(variants) && i < 64; i++)
		names[i] = json_string_value(json_object_get(json_array_get(variants, i), "name"));
	nearest_hint(layer->spec->variant, names, hint, sizeof(hint));
	return kernel_fail(error, EXIT_USAGE, "series '%s' has no variant '%s'%s", layer->spec->series,
			   layer->spec->variant, *hint ? hint : "; 'shootdown list series' shows them");
}

int layer_find(const struct spec_layer *spec, const char *architecture, struct layer *layer, struct kernel_error *error)
{
	char *folder;
	int code;

	memset(layer, 0, sizeof(*layer));
	layer->spec = spec;
	if (spec->mbox) {
		layer->name = text_format("mbox:%s", spec->mbox);
		return 0;
	}
	folder = find_folder(spec->series, error);
	if (!folder)
		return -EINVAL;
	code = read_series(spec->series, folder, &layer->series, error);
	free(folder);
	if (code) {
		layer->series = NULL;
		return code;
	}
	layer->name = text_format("%s/%s", spec->series, spec->variant);
	code = find_variant(layer, error);
	if (!code && !list_holds(json_object_get(layer->series, "architectures"), architecture))
		code = kernel_fail(error, EXIT_USAGE, "series '%s' is not for %s; its series.yaml lists the architectures",
				   spec->series, architecture);
	if (code)
		layer_free(layer);
	return code;
}

/* Folder with the patches for that release: exact, then major.minor, then what the series names as its base. */
static char *patch_folder(const struct layer *layer, const char *release, const char *folder)
{
	const char *base = json_string_value(json_object_get(layer->series, "base"));
	const char *own = strchr(base, ':') ? strchr(base, ':') + 1 : base;
	const char *minor = strchr(release, '.');
	size_t length = minor ? (size_t)(minor + 1 - release) + strcspn(minor + 1, ".-+") : strlen(release);
	char *exact = text_format("%s/%s", folder, release);
	char *version = text_format("%s/%.*s", folder, (int)length, release);

	if (file_exists(exact)) {
		free(version);
		return exact;
	}
	free(exact);
	if (file_exists(version))
		return version;
	free(version);
	return text_format("%s/%.*s", folder, (int)strcspn(own, "="), own);
}

static int read_patch(struct patch *patch, const char *layer_name, struct kernel_error *error)
{
	int code = hash_file(patch->path, patch->hash);

	return code ? kernel_fail(error, EXIT_USAGE, "%s: patch %s cannot be read: %s", layer_name, patch->path,
				  strerror(-code)) : 0;
}

static int read_mbox(struct layer *layer, struct kernel_error *error)
{
	const char *slash = strrchr(layer->spec->mbox, '/');

	layer->patches = calloc(1, sizeof(*layer->patches));
	layer->patch_count = 1;
	layer->patches[0].name = strdup(slash ? slash + 1 : layer->spec->mbox);
	/* git works elsewhere: the path must not depend on the directory. */
	layer->patches[0].path = realpath(layer->spec->mbox, NULL);
	if (!layer->patches[0].path)
		return kernel_fail(error, EXIT_USAGE, "%s cannot be read: %s", layer->name, strerror(errno));
	return read_patch(&layer->patches[0], layer->name, error);
}

int layer_read_patches(struct layer *layer, const char *release, struct kernel_error *error)
{
	const json_t *names = json_object_get(layer->variant, "patches");
	char *folder, *patches;
	int code = 0;

	if (layer->spec->mbox)
		return read_mbox(layer, error);
	folder = find_folder(layer->spec->series, error);
	if (!folder)
		return -EINVAL;
	patches = patch_folder(layer, release, folder);
	layer->patches = calloc(json_array_size(names) + 1, sizeof(*layer->patches));
	for (size_t i = 0; !code && i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		struct patch *patch = &layer->patches[layer->patch_count++];

		patch->name = strdup(name);
		patch->path = text_format("%s/%s", patches, name);
		code = strchr(name, '/') ? kernel_fail(error, EXIT_USAGE, "%s: patch '%s' must be a name in %s",
						       layer->name, name, patches)
					 : read_patch(patch, layer->name, error);
	}
	free(patches);
	free(folder);
	return code;
}

void layer_free(struct layer *layer)
{
	free(layer->name);
	json_decref(layer->series);
	for (size_t i = 0; i < layer->patch_count; i++) {
		free(layer->patches[i].name);
		free(layer->patches[i].path);
	}
	free(layer->patches);
	memset(layer, 0, sizeof(*layer));
}

const char *layer_boot_parameters(const struct layer *layer)
{
	const char *text = json_string_value(json_object_get(layer->variant, "boot-parameters"));

	return text ? text : "";
}

const json_t *layer_config(const struct layer *layer)
{
	return json_object_get(layer->variant, "config");
}

const json_t *layer_options(const struct layer *layer)
{
	return json_object_get(layer->series, "options");
}

struct collection {
	json_t *series;
	struct kernel_error *error;
};

static int collect(void *context, const char *name, const char *folder)
{
	struct collection *collection = context;
	json_t *series;
	int code;

	if (json_object_get(collection->series, name))
		return 0;	/* the project's own comes first and wins */
	code = read_series(name, folder, &series, collection->error);
	if (!code)
		json_object_set_new(collection->series, name, series);
	return code;
}

int kernel_series_load(json_t **series, struct kernel_error *error)
{
	struct collection collection = { .series = json_object(), .error = error };
	int code;

	memset(error, 0, sizeof(*error));
	code = each_series(collect, &collection);
	if (code)
		json_decref(collection.series);
	else
		*series = collection.series;
	return code;
}
