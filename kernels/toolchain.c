// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../runner/common/files.h"
#include "../runner/common/nearest.h"
#include "../runner/common/paths.h"
#include "../runner/common/spawn.h"
#include "error.h"
#include "toolchain.h"

static const struct {
	const char *name, *kernel_name, *cross_prefix, *cross_packages, *image_target, *image_path;
} architectures[] = {
	{ "x86-64", "x86", "x86_64-linux-gnu-", "gcc-x86-64-linux-gnu", "bzImage", "arch/x86/boot/bzImage" },
	{ "arm64", "arm64", "aarch64-linux-gnu-", "gcc-aarch64-linux-gnu", "Image", "arch/arm64/boot/Image" },
};
#define ARCHITECTURES (sizeof(architectures) / sizeof(architectures[0]))

/* Debian's names; other distributions have much the same. */
static const struct {
	const char *program, *header, *package;
} needed[] = {
	{ "make", NULL, "make" }, { "gcc", NULL, "gcc" }, { "ld", NULL, "binutils" }, { "flex", NULL, "flex" },
	{ "bison", NULL, "bison" }, { "bc", NULL, "bc" }, { "perl", NULL, "perl" }, { "git", NULL, "git" },
	{ NULL, "/usr/include/gelf.h", "libelf-dev" }, { NULL, "/usr/include/openssl/evp.h", "libssl-dev" },
};

bool program_exists(const char *name)
{
	const char *path = getenv("PATH");

	for (const char *p = path ? path : "/usr/bin:/bin"; *p; p += strcspn(p, ":"), p += *p == ':') {
		char *file = text_format("%.*s/%s", (int)strcspn(p, ":"), p, name);
		bool found = access(file, X_OK) == 0;

		free(file);
		if (found)
			return true;
	}
	return false;
}

/* First line of PROGRAM --version; NULL when it cannot be run. */
static char *version_line(const char *prefix, const char *program)
{
	static const char *const environment[] = { "LC_ALL=C", NULL };
	const struct spawn_options options = { .environment = environment, .input = -1, .output = -1, .error = -1 };
	char *name = text_format("%s%s", prefix, program), *output;
	const char *argv[] = { name, "--version", NULL };
	int status, error = run_capture(argv, &options, 10000, 1 << 16, &output, &status);

	free(name);
	if (error)
		return NULL;
	output[strcspn(output, "\n")] = '\0';
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && *output)
		return output;
	free(output);
	return NULL;
}

static int unknown_architecture(const char *name, struct kernel_error *error)
{
	const char *names[ARCHITECTURES + 1] = { NULL };
	char hint[64];

	for (size_t i = 0; i < ARCHITECTURES; i++)
		names[i] = architectures[i].name;
	nearest_hint(name, names, hint, sizeof(hint));
	return kernel_fail(error, EXIT_USAGE, "architecture '%s' is not known%s", name,
			   *hint ? hint : "; there are x86-64 and arm64");
}

int toolchain_find(const char *architecture, struct toolchain *toolchain, struct kernel_error *error)
{
	size_t i = 0;
	bool native;

	memset(toolchain, 0, sizeof(*toolchain));
	while (i < ARCHITECTURES && strcmp(architectures[i].name, architecture))
		i++;
	if (i == ARCHITECTURES)
		return unknown_architecture(architecture, error);
	native = !strcmp(architecture, host_architecture());
	toolchain->architecture = architectures[i].name;
	toolchain->kernel_architecture = architectures[i].kernel_name;
	toolchain->prefix = native ? "" : architectures[i].cross_prefix;
	toolchain->image_target = architectures[i].image_target;
	toolchain->image_path = architectures[i].image_path;
	toolchain->ccache = program_exists("ccache");
	toolchain->compiler = version_line(toolchain->prefix, "gcc");
	toolchain->linker = version_line(toolchain->prefix, "ld");
	if (toolchain->compiler && toolchain->linker)
		return 0;
	toolchain_free(toolchain);
	return kernel_fail(error, EXIT_ENVIRONMENT, "no compiler for %s kernels here; install it: apt-get install %s",
			   architecture, native ? "gcc binutils" : architectures[i].cross_packages);
}

int toolchain_check(const struct toolchain *toolchain, struct kernel_error *error)
{
	char missing[256] = "";

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		size_t used = strlen(missing);

		if (needed[i].program ? !program_exists(needed[i].program) : !file_exists(needed[i].header))
			snprintf(missing + used, sizeof(missing) - used, " %s", needed[i].package);
	}
	if (!*missing)
		return 0;
	return kernel_fail(error, EXIT_ENVIRONMENT, "a kernel build for %s needs programs that are missing here; install them: "
			   "apt-get install%s", toolchain->architecture, missing);
}

void toolchain_free(struct toolchain *toolchain)
{
	free(toolchain->compiler);
	free(toolchain->linker);
	toolchain->compiler = toolchain->linker = NULL;
}
