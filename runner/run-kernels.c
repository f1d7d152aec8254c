// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "../kernels/kernel.h"
#include "common/files.h"
#include "common/json-text.h"
#include "common/message.h"
#include "run.h"

static void show_progress(void *context, const char *phase, const char *detail, double fraction)
{
	char *text = text_format("%s: %s%s%s", (const char *)context, phase, detail && *detail ? " " : "", detail ? detail : "");

	/* A phase that cannot say how far it is gives a negative fraction. */
	progress_step(fraction > 0 ? (unsigned int)(fraction * 100) : 0, text);
	free(text);
}

/* What a plan can say of a kernel that is not built: --dry-run. */
static struct kernel unbuilt_kernel(const char *spec, size_t index)
{
	const char *plus = strrchr(spec, '+'), *slash = plus ? strchr(plus, '/') : NULL;

	return (struct kernel){
		.spec = strdup(spec), .label = strdup(spec), .id = text_format("unbuilt-%zu", index),
		.series = slash ? strndup(plus + 1, (size_t)(slash - plus) - 1) : NULL,
		.variant = slash ? strdup(slash + 1) : NULL,
	};
}

static int build_one(const char *spec, const char *const *kconfig, const char *architecture, bool check_only, size_t index,
		     struct kernel *kernel)
{
	struct kernel_request request = { .spec = spec, .kconfig = kconfig, .architecture = architecture };
	struct kernel_error error = { .exit_status = EXIT_INTERNAL };
	int failed = kernel_spec_check(spec, architecture, &error);

	if (!failed && check_only) {
		*kernel = unbuilt_kernel(spec, index);
		return EXIT_DONE;
	}
	if (!failed) {
		progress_start("kernel", 100);
		failed = kernel_build(&request, show_progress, (void *)spec, kernel, &error);
		progress_end();
	}
	return failed ? report(error.exit_status, "kernel %s: %s", spec, error.text) : EXIT_DONE;
}

int run_build_kernels(const char *const *specs, const char *const *kconfig, const char *architecture, bool check_only,
		      struct kernel **kernels, size_t *count)
{
	int status = EXIT_DONE;

	*kernels = NULL;
	*count = 0;
	for (; *specs && status == EXIT_DONE; specs++) {
		struct kernel_error error = { .exit_status = EXIT_INTERNAL };
		char **expanded = NULL;

		if (kernel_spec_expand(*specs, &expanded, &error)) {
			status = report(error.exit_status, "kernel %s: %s", *specs, error.text);
			break;
		}
		for (char **spec = expanded; *spec && status == EXIT_DONE; spec++) {
			struct kernel *larger = realloc(*kernels, (*count + 1) * sizeof(**kernels));

			if (!larger)
				abort();
			*kernels = larger;
			memset(&larger[*count], 0, sizeof(*larger));
			status = build_one(*spec, kconfig, architecture, check_only, *count, &larger[*count]);
			if (status == EXIT_DONE)
				(*count)++;
		}
		kernel_specs_free(expanded);
	}
	if (status != EXIT_DONE) {
		run_kernels_free(*kernels, *count);
		*kernels = NULL;
		*count = 0;
	}
	return status;
}

bool run_recall_kernels(const char *campaign_directory, struct kernel **kernels, size_t *count)
{
	char *plan_path = text_format("%s/plan.json", campaign_directory), reason[256];
	json_t *plan = NULL, *entry;
	const json_t *entries;
	size_t index;
	bool found = !read_json(plan_path, &plan, reason, sizeof(reason));

	entries = json_object_get(plan, "kernels");
	*count = 0;
	*kernels = calloc(json_array_size(entries) + 1, sizeof(**kernels));
	if (!*kernels)
		abort();
	json_array_foreach(entries, index, entry) {
		char *path = text_format("%s/kernels/%s.json", campaign_directory, text_of(entry, "id"));
		struct kernel_error error;
		json_t *identity = NULL;

		found = found && !read_json(path, &identity, reason, sizeof(reason)) && !kernel_recall(identity, &(*kernels)[index], &error);
		*count += found;
		json_decref(identity);
		free(path);
	}
	found = found && *count;
	if (!found) {
		run_kernels_free(*kernels, *count);
		*kernels = NULL;
		*count = 0;
	}
	json_decref(plan);
	free(plan_path);
	return found;
}

void run_kernels_free(struct kernel *kernels, size_t count)
{
	for (size_t i = 0; i < count; i++)
		kernel_free(&kernels[i]);
	free(kernels);
}
