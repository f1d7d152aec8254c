// SPDX-License-Identifier: GPL-2.0-or-later
/* From a request to a kernel in the cache: kernel_build() and kernel_spec_check() of kernel.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../runner/common/files.h"
#include "../runner/common/paths.h"
#include "cache.h"
#include "configure.h"
#include "error.h"
#include "ready.h"

/* Part of every key: counted up when the same inputs would give another image than before. */
#define RECIPE 1

#define CONFIG_LIMIT (4U << 20)

/* Everything that one request needs until it is a kernel. */
struct job {
	const struct kernel_request *request;
	struct watcher watcher;
	struct kernel_spec spec;
	struct layer layers[SPEC_LAYERS_MAXIMUM];
	size_t layer_count;
	struct base base;
	struct fragments fragments;
	struct toolchain toolchain;
	struct patched patched;
	json_t *inputs;			/* what the key is the hash of */
	char key[HASH_TEXT];
	struct kernel_error *error;
};

static int find_layers(struct job *job, const char *architecture)
{
	for (size_t i = 0; i < job->spec.layer_count; i++) {
		int code = layer_find(&job->spec.layers[i], architecture, &job->layers[i], job->error);

		if (code)
			return code;
		job->layer_count++;
	}
	return 0;
}

static void job_free(struct job *job)
{
	spec_free(&job->spec);
	for (size_t i = 0; i < job->layer_count; i++)
		layer_free(&job->layers[i]);
	base_free(&job->base);
	fragments_free(&job->fragments);
	toolchain_free(&job->toolchain);
	free(job->patched.tree);
	json_decref(job->inputs);
}

static json_t *layer_inputs(const struct layer *layer)
{
	json_t *patches = json_array();

	for (size_t i = 0; i < layer->patch_count; i++)
		json_array_append_new(patches, json_pack("{ss ss}", "name", layer->patches[i].name, "sha256", layer->patches[i].hash));
	return json_pack("{ss so sO?}", "layer", layer->name, "patches", patches, "config", layer_config(layer));
}

/* The hash is over what makes the image, not over what people call it: names are left out. */
static void make_key(struct job *job)
{
	json_t *patches = json_array(), *fragments = json_array(), *configs = json_array(), *essence;

	for (size_t i = 0; i < job->layer_count; i++) {
		const struct layer *layer = &job->layers[i];

		for (size_t j = 0; j < layer->patch_count; j++)
			json_array_append_new(patches, json_string(layer->patches[j].hash));
		if (json_object_size(layer_config(layer)))
			json_array_append(configs, (json_t *)layer_config(layer));
	}
	for (size_t i = 0; i < job->fragments.count; i++)
		json_array_append_new(fragments, json_string(job->fragments.items[i].hash));
	essence = json_pack("{si ss ss so so so ss ss}", "recipe", RECIPE, "architecture", job->toolchain.architecture, "base",
			    job->base.tree, "patches", patches, "fragments", fragments, "configs", configs, "compiler",
			    job->toolchain.compiler, "linker", job->toolchain.linker);
	hash_json(essence, job->key);
	json_decref(essence);
}

static void describe_inputs(struct job *job)
{
	json_t *layers = json_array(), *fragments = json_array();

	for (size_t i = 0; i < job->layer_count; i++)
		json_array_append_new(layers, layer_inputs(&job->layers[i]));
	for (size_t i = 0; i < job->fragments.count; i++)
		json_array_append_new(fragments, json_pack("{ss ss}", "name", job->fragments.items[i].name, "sha256",
							   job->fragments.items[i].hash));
	job->inputs = json_pack("{ss ss ss s{ss ss? ss ss} so so ss ss si}", "schema", "shootdown-kernel-1", "key", job->key,
				"architecture", job->toolchain.architecture, "base", "source", job->base.resolved, "version",
				job->base.version, "release", job->base.release, "hash", job->base.tree, "layers", layers, "kconfig",
				fragments, "compiler", job->toolchain.compiler, "linker", job->toolchain.linker, "recipe", RECIPE);
}

/* Everything that is known before anything is built, cheap when the base was imported once. */
static int gather(struct job *job)
{
	const struct kernel_request *request = job->request;
	int code = toolchain_find(request->architecture, &job->toolchain, job->error);

	if (!code)
		code = find_layers(job, request->architecture);
	if (!code)
		code = fragments_load(request->kconfig, request->architecture, &job->fragments, job->error);
	if (!code)
		code = base_find(&job->spec, &job->watcher, &job->base, job->error);
	for (size_t i = 0; !code && i < job->layer_count; i++)
		code = layer_read_patches(&job->layers[i], job->base.release, job->error);
	if (code)
		return code;
	make_key(job);
	describe_inputs(job);
	return 0;
}

static char *slot_name(const struct job *job)
{
	char hash[HASH_TEXT];
	struct hash *state = hash_new();

	hash_add_text(state, job->base.lineage);
	hash_add_text(state, job->fragments.hash);
	hash_add_text(state, job->toolchain.compiler);
	hash_finish(state, hash);
	/* A variant that changes what everybody includes would spoil the objects of all the others. */
	return text_format("%s-%.16s%s", job->toolchain.architecture, hash, job->patched.common_headers ? "-headers" : "");
}

static int keep_file(const struct build_tree *tree, const char *from, const char *folder, const char *to,
		     struct kernel_error *error)
{
	char *source = tree_path(tree, from), *target = text_format("%s/%s", folder, to);
	int code = copy_file(source, target);

	if (code)
		code = kernel_fail_code(error, code, "%s to %s", source, target);
	free(target);
	free(source);
	return code;
}

static char *read_word(const struct build_tree *tree, const char *below)
{
	char *path = tree_path(tree, below), *text = NULL;

	if (read_file(path, 4096, &text, NULL))
		text = strdup("");
	text[strcspn(text, "\n")] = '\0';
	free(path);
	return text;
}

static int add_results(struct job *job, const struct build_tree *tree, const char *folder, json_t *identity)
{
	char *release = read_word(tree, "include/config/kernel.release"), hash[HASH_TEXT];
	static const char *const files[][2] = { { "image", "image_hash" }, { "config", "config_hash" },
						{ "vmlinux", "vmlinux_hash" } };
	int code = 0;

	for (size_t i = 0; !code && i < 3; i++) {
		char *path = text_format("%s/%s", folder, files[i][0]);

		code = hash_file(path, hash);
		if (code)
			code = kernel_fail_code(job->error, code, "%s", path);
		else
			json_object_set_new(identity, files[i][1], json_string(hash));
		free(path);
	}
	json_object_set_new(identity, "release", json_string(release));
	json_object_set_new(identity, "source_hash", json_string(job->patched.tree));
	free(release);
	return code;
}

/* Modules, where the configuration has any. */
static int build_modules(struct build_tree *tree, const char *folder, struct kernel_error *error)
{
	char *path = tree_path(tree, ".config"), *text, *where;
	int code = read_file(path, CONFIG_LIMIT, &text, NULL);
	bool wanted = !code && strstr(text, "=m\n");

	free(path);
	if (code)
		return kernel_fail_code(error, code, "%s/.config", tree->source);
	free(text);
	if (!wanted)
		return 0;
	where = text_format("INSTALL_MOD_PATH=%s", folder);
	const char *build[] = { "modules", NULL }, *install[] = { "modules_install", where, "INSTALL_MOD_STRIP=1", NULL };

	code = tree_make(tree, "build", build, false, error);
	if (!code)
		code = tree_make(tree, "pack", install, false, error);
	free(where);
	return code;
}

static int pack(struct job *job, struct build_tree *tree)
{
	char *folder = cache_begin(job->key, job->error), *log;
	json_t *identity;
	int code;

	if (!folder)
		return -EIO;
	watch(&job->watcher, "pack", job->toolchain.image_path, -1);
	code = keep_file(tree, job->toolchain.image_path, folder, "image", job->error);
	if (!code)
		code = keep_file(tree, "vmlinux", folder, "vmlinux", job->error);
	if (!code)
		code = keep_file(tree, "System.map", folder, "System.map", job->error);
	if (!code)
		code = keep_file(tree, ".config", folder, "config", job->error);
	if (!code)
		code = build_modules(tree, folder, job->error);
	identity = json_copy(job->inputs);
	if (!code)
		code = add_results(job, tree, folder, identity);
	if (!code) {
		log = text_format("%s/build.log", folder);
		if (copy_file(tree->log, log) == 0)
			unlink(tree->log);
		free(log);
		code = cache_commit(job->key, folder, identity, job->error);
	}
	json_decref(identity);
	free(folder);
	return code;
}

static int patch_base(struct job *job, const char *repository)
{
	int lock, code = cache_lock("patches", &job->watcher, &lock, job->error);

	if (code)
		return code;
	watch(&job->watcher, "patch", job->base.resolved, -1);
	code = layers_apply(repository, &job->base, job->layers, job->layer_count, &job->patched, job->error);
	unlock_file(lock);
	return code;
}

static int build_in_tree(struct job *job, struct build_tree *tree)
{
	const struct configuration configuration = {
		.base = &job->base, .fragments = &job->fragments, .layers = job->layers, .layer_count = job->layer_count,
		.patched = &job->patched,
	};
	const char *targets[] = { job->toolchain.image_target, "vmlinux", NULL };
	int code;

	/* Whoever had the tree before us may have built the same. */
	if (cache_holds(job->key))
		return 0;
	unlink(tree->log);
	code = tree_configure(tree, &configuration, job->error);
	if (!code)
		code = tree_make(tree, "build", targets, true, job->error);
	return code ? code : pack(job, tree);
}

static int build(struct job *job)
{
	char *logs = path_cache("logs"), *log = text_format("%s/%.16s.log", logs, job->key), *repository, *slot = NULL;
	struct build_tree tree = { .lock = -1 };
	int code = toolchain_check(&job->toolchain, job->error);

	repository = code ? NULL : repository_open(job->error);
	if (!code)
		code = repository ? patch_base(job, repository) : -EIO;
	if (!code) {
		code = make_directories(logs);
		if (code)
			code = kernel_fail_code(job->error, code, "%s", logs);
	}
	if (!code) {
		slot = slot_name(job);
		code = tree_open(slot, repository, log, &job->toolchain, &job->watcher, &tree, job->error);
	}
	if (!code) {
		code = build_in_tree(job, &tree);
		tree_close(&tree);
	}
	free(slot);
	free(repository);
	free(log);
	free(logs);
	return code;
}

/* Boot parameters of all layers in order. Caller frees. */
static char *boot_parameters(const struct job *job)
{
	char *text = strdup("");

	for (size_t i = 0; i < job->layer_count; i++) {
		const char *more = layer_boot_parameters(&job->layers[i]);
		char *longer = text_format("%s%s%s", text, *text && *more ? " " : "", more);

		free(text);
		text = longer;
	}
	return text;
}

/* One image booted with other parameters is another kernel to whoever compares. */
static char *identity_of(const char *key, const char *parameters)
{
	char hash[HASH_TEXT];
	struct hash *state;

	if (!*parameters)
		return strndup(key, 16);
	state = hash_new();
	hash_add_text(state, key);
	hash_add_text(state, parameters);
	hash_finish(state, hash);
	return strndup(hash, 16);
}

/* What the request adds to what stands in the cache. */
static void describe_kernel(const struct job *job, struct kernel *kernel)
{
	char *layers = spec_layers_text(&job->spec);

	kernel->spec = text_format("%s%s", job->base.resolved, layers);
	free(layers);
	free(kernel->boot_parameters);
	kernel->boot_parameters = boot_parameters(job);
	kernel->id = identity_of(job->key, kernel->boot_parameters);
	for (size_t i = 0; i < job->layer_count; i++) {
		if (!job->layers[i].series)
			continue;
		free(kernel->series);
		free(kernel->variant);
		kernel->series = strdup(job->spec.layers[i].series);
		kernel->variant = strdup(job->spec.layers[i].variant);
	}
	/* The folder may have been made for a spec that meant the same by other words. */
	json_object_update(kernel->identity, job->inputs);
}

static int build_source(struct job *job, struct kernel *kernel)
{
	int code = gather(job);

	if (code)
		return code;
	kernel->built = !cache_holds(job->key);
	if (kernel->built)
		code = build(job);
	if (!code)
		code = cache_load(job->key, kernel, job->error);
	if (!code)
		describe_kernel(job, kernel);
	return code;
}

static void complete_identity(struct kernel *kernel)
{
	json_t *more = json_pack("{ss ss ss ss ss? ss?}", "id", kernel->id, "spec", kernel->spec, "label", kernel->label,
				 "boot_parameters", kernel->boot_parameters, "series", kernel->series, "variant", kernel->variant);

	json_object_update(kernel->identity, more);
	json_decref(more);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int kernel_build(const struct kernel_request *request, kernel_progress progress, void *context, struct kernel *kernel,
		 struct kernel_error *error)
{
	struct job job = {
		.request = request, .error = error,
		.watcher = { .progress = progress, .context = context, .spec = request->spec },
	};
	double start = now();
	int code;

	memset(error, 0, sizeof(*error));
	memset(kernel, 0, sizeof(*kernel));
	code = spec_parse(request->spec, &job.spec, error);
	if (code)
		return code;
	kernel->label = strdup(request->spec);
	kernel->boot_parameters = strdup("");
	if (job.spec.source == KERNEL_IMAGE || job.spec.source == KERNEL_DEB_IMAGE || job.spec.source == KERNEL_HOST)
		code = ready_kernel(&job.spec, request->architecture, &job.watcher, kernel, &kernel->built, error);
	else
		code = build_source(&job, kernel);
	job_free(&job);
	if (code) {
		kernel_free(kernel);
		return code;
	}
	complete_identity(kernel);
	kernel->seconds = now() - start;
	return 0;
}

int kernel_spec_check(const char *text, const char *architecture, struct kernel_error *error)
{
	struct job job = { .error = error };
	int code;

	memset(error, 0, sizeof(*error));
	code = spec_parse(text, &job.spec, error);
	if (!code)
		code = find_layers(&job, architecture);
	if (!code && (job.spec.source == KERNEL_TREE || job.spec.source == KERNEL_TAR || job.spec.source == KERNEL_IMAGE ||
		      job.spec.source == KERNEL_GIT) && !file_exists(job.spec.name))
		code = kernel_fail(error, EXIT_USAGE, "%s: there is no %s", text, job.spec.name);
	job_free(&job);
	return code;
}
