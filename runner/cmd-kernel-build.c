// SPDX-License-Identifier: GPL-2.0-or-later
/* kernel build SPEC... and kernel list. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../kernels/kernel.h"
#include "cmd-kernel.h"
#include "common/files.h"
#include "common/message.h"
#include "common/paths.h"
#include "common/units.h"

#define STEPS 100		/* of the progress: per cent */
#define PLAIN_INTERVAL 15	/* seconds between two lines where there is no terminal */

/* What is shown of one build while it runs. */
struct display {
	const char *spec;
	char phase[16];
	bool terminal, started;
	time_t shown;
};

static void start_phase(struct display *display, const char *phase)
{
	snprintf(display->phase, sizeof(display->phase), "%s", phase);
	progress_end();
	/* Each phase has its own clock: the time left of a build says nothing about an import. */
	progress_start(display->spec, STEPS);
	display->started = true;
	display->shown = 0;
}

static void show(void *context, const char *phase, const char *detail, double fraction)
{
	struct display *display = context;
	time_t now = time(NULL);
	bool fresh;
	char text[256];

	if (!strcmp(phase, "note")) {
		note("%s: config: %s", display->spec, detail);
		return;
	}
	fresh = strcmp(phase, display->phase) != 0;
	if (fresh)
		start_phase(display, phase);
	if (!display->terminal && !fresh && now - display->shown < PLAIN_INTERVAL)
		return;
	display->shown = now;
	snprintf(text, sizeof(text), "%s%s%.*s", phase, *detail ? " " : "", 160, detail);
	if (!display->terminal && fraction < 0)
		note("%s: %s", display->spec, text);
	else
		progress_step(fraction > 0 ? (unsigned int)(fraction * STEPS) : 0, text);
}

static json_t *kernel_json(const struct kernel *kernel)
{
	return json_pack("{ss ss ss ss ss ss? ss? ss? ss? ss? sb sf sO}", "label", kernel->label, "id", kernel->id, "spec", kernel->spec,
			 "architecture", kernel->architecture, "release", kernel->release, "image", kernel->image, "vmlinux",
			 kernel->vmlinux, "system_map", kernel->system_map, "config", kernel->config, "modules", kernel->modules,
			 "built", kernel->built, "seconds", kernel->seconds, "identity", kernel->identity);
}

static void print_kernel(const struct kernel *kernel)
{
	char seconds[32];

	format_duration((uint64_t)(kernel->seconds * 1e9), seconds, sizeof(seconds));
	printf("%s\n  id %s  release %s  %s in %s\n  %s\n", kernel->label, kernel->id, kernel->release,
	       kernel->built ? "built" : "from the cache", seconds, kernel->image ? kernel->image : "(no image that can be read)");
	fflush(stdout);
}

/* One kernel. list collects for --json; NULL prints at once. */
static int build_one(const struct command_arguments *arguments, const char *spec, json_t *list)
{
	const char *architecture = argument_option(arguments, "arch");
	struct display display = { .spec = spec, .terminal = isatty(2) };
	const struct kernel_request request = {
		.spec = spec,
		.kconfig = argument_options(arguments, "kconfig"),
		.architecture = architecture ? architecture : host_architecture(),
	};
	struct kernel_error error;
	struct kernel kernel;
	int code = kernel_build(&request, show, &display, &kernel, &error);

	if (display.started)
		progress_end();
	if (code)
		return report(error.exit_status, "%s", error.text);
	if (list)
		json_array_append_new(list, kernel_json(&kernel));
	else
		print_kernel(&kernel);
	kernel_free(&kernel);
	return EXIT_DONE;
}

/* All specs are looked at before the first is built: a slip of the pen is not to be told after half an hour. */
static int check_specs(const struct command_arguments *arguments)
{
	const char *architecture = argument_option(arguments, "arch");
	struct kernel_error error;

	for (int i = 1; i < arguments->count; i++)
		if (kernel_spec_check(arguments->values[i], architecture ? architecture : host_architecture(), &error))
			return report(error.exit_status, "%s", error.text);
	return EXIT_DONE;
}

static int build_expanded(const struct command_arguments *arguments, const char *spec, json_t *list)
{
	struct kernel_error error;
	char **specs;
	int status = EXIT_DONE;

	if (kernel_spec_expand(spec, &specs, &error))
		return report(error.exit_status, "%s", error.text);
	for (char **one = specs; *one && status == EXIT_DONE; one++)
		status = build_one(arguments, *one, list);
	kernel_specs_free(specs);
	return status;
}

int kernel_build_command(const struct command_arguments *arguments)
{
	json_t *list = argument_option(arguments, "json") ? json_array() : NULL;
	int status = arguments->count < 2 ? report(EXIT_USAGE, "kernel build: no SPEC; for instance deb:6.12") : check_specs(arguments);

	for (int i = 1; i < arguments->count && status == EXIT_DONE; i++)
		status = build_expanded(arguments, arguments->values[i], list);
	if (list && (status == EXIT_DONE || json_array_size(list))) {
		json_dumpf(list, stdout, JSON_INDENT(1) | JSON_SORT_KEYS);
		putchar('\n');
	}
	json_decref(list);
	return status;
}

static void print_listed(const json_t *kernel)
{
	const char *directory = json_string_value(json_object_get(kernel, "directory"));
	const json_t *base = json_object_get(kernel, "base"), *layer;
	char *image = text_format("%s/image", directory), size[32] = "?";
	struct stat status;
	size_t i;

	if (!stat(image, &status))
		format_size((uint64_t)status.st_size, size, sizeof(size));
	printf("%.16s  %-7s %-20s %10s  %s", json_string_value(json_object_get(kernel, "key")),
	       json_string_value(json_object_get(kernel, "architecture")), json_string_value(json_object_get(kernel, "release")), size,
	       json_string_value(json_object_get(base, "source")));
	json_array_foreach(json_object_get(kernel, "layers"), i, layer)
		printf("+%s", json_string_value(json_object_get(layer, "layer")));
	json_array_foreach(json_object_get(kernel, "kconfig"), i, layer)
		printf("%s%s", i ? "," : "  ", json_string_value(json_object_get(layer, "name")));
	putchar('\n');
	free(image);
}

int kernel_list_command(const struct command_arguments *arguments)
{
	struct kernel_error error;
	json_t *kernels, *kernel;
	size_t i;

	if (arguments->count > 1)
		return report(EXIT_USAGE, "kernel list: takes no argument, not '%s'", arguments->values[1]);
	if (kernel_list(&kernels, &error))
		return report(error.exit_status, "%s", error.text);
	if (argument_option(arguments, "json")) {
		json_dumpf(kernels, stdout, JSON_INDENT(1) | JSON_SORT_KEYS);
		putchar('\n');
	} else {
		json_array_foreach(kernels, i, kernel)
			print_listed(kernel);
	}
	json_decref(kernels);
	return EXIT_DONE;
}
