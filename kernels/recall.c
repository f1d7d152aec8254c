// SPDX-License-Identifier: GPL-2.0-or-later
/* A kernel found again by the identity that a campaign recorded: no toolchain, no source and no network are asked. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../runner/common/files.h"
#include "../runner/common/json-text.h"
#include "cache.h"
#include "error.h"

static char *text_or_null(const json_t *identity, const char *key)
{
	const char *text = json_string_value(json_object_get(identity, key));

	return text ? strdup(text) : NULL;
}

static void describe(const json_t *identity, struct kernel *kernel)
{
	kernel->spec = text_or_null(identity, "spec");
	kernel->label = text_or_null(identity, "label");
	kernel->id = text_or_null(identity, "id");
	kernel->series = text_or_null(identity, "series");
	kernel->variant = text_or_null(identity, "variant");
	kernel->boot_parameters = strdup(text_of(identity, "boot_parameters"));
}

/* The kernel that ran: its parts are where a distribution has them. */
static void find_host_parts(const json_t *identity, struct kernel *kernel)
{
	char *image;

	kernel->architecture = strdup(text_of(identity, "architecture"));
	kernel->release = strdup(text_of(identity, "release"));
	image = text_format("/boot/vmlinuz-%s", kernel->release);
	if (file_exists(image))
		kernel->image = image;
	else
		free(image);
}

int kernel_recall(const json_t *identity, struct kernel *kernel, struct kernel_error *error)
{
	const char *key = text_of(identity, "key");
	int code = 0;

	memset(error, 0, sizeof(*error));
	memset(kernel, 0, sizeof(*kernel));
	if (strlen(key) != HASH_TEXT - 1 || strspn(key, "0123456789abcdef") != strlen(key) || !*text_of(identity, "id"))
		return kernel_fail(error, EXIT_ENVIRONMENT, "the campaign does not say which kernel it is");
	describe(identity, kernel);
	if (!strcmp(text_of(json_object_get(identity, "base"), "source"), "host"))
		find_host_parts(identity, kernel);
	else if (!cache_holds(key))
		code = -ENOENT;
	else
		code = cache_load(key, kernel, error);
	if (code) {
		if (code == -ENOENT)
			kernel_fail(error, EXIT_ENVIRONMENT, "%s is no longer in the cache", kernel->label);
		kernel_free(kernel);
		return code;
	}
	json_decref(kernel->identity);
	kernel->identity = json_deep_copy(identity);
	return 0;
}
