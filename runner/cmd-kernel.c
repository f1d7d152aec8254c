// SPDX-License-Identifier: GPL-2.0-or-later
/* kernel build | boot | list: the verb is the first argument. */
#include <stdio.h>
#include <string.h>

#include "cmd-kernel.h"
#include "common/message.h"
#include "common/nearest.h"

static const struct command_option options[] = {
	{ "kconfig", 0, "NAME|FILE", true, "config fragments over the tree's tinyconfig (default fast)" },
	{ "arch", 0, "ARCHITECTURE", false, "x86-64 or arm64 (default: this machine's)" },
	{ "json", 0, NULL, false, "build, list: print JSON" },
	KERNEL_BOOT_OPTIONS,
	{ NULL, 0, NULL, false, NULL },
};

static const struct {
	const char *name;
	int (*run)(const struct command_arguments *arguments);
} verbs[] = {
	{ "build", kernel_build_command },
	{ "boot", kernel_boot_command },
	{ "list", kernel_list_command },
};
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static int run(const struct command_arguments *arguments)
{
	const char *names[VERBS + 1] = { NULL };
	char hint[64];

	for (size_t i = 0; i < VERBS; i++) {
		if (!strcmp(arguments->values[0], verbs[i].name))
			return verbs[i].run(arguments);
		names[i] = verbs[i].name;
	}
	nearest_hint(arguments->values[0], names, hint, sizeof(hint));
	return report(EXIT_USAGE, "kernel: there is no verb '%s'%s; there are build, boot and list", arguments->values[0], hint);
}

static const struct command command = {
	.name = "kernel",
	.usage = "build SPEC... | boot SPEC [-- COMMAND...] | list",
	.summary = "Builds kernels, boots one, lists those that were built",
	.help = "SPEC = BASE[+SERIES/VARIANT | +mbox:FILE]...\n"
		"BASE = deb:6.12[=VERSION]   Debian's linux-source package\n"
		"       git:PATH[@REF]       a commit; git:PATH@A..B is a kernel a commit (build)\n"
		"       tree:PATH            a source directory as it stands\n"
		"       tar:FILE             a source archive\n"
		"       image:FILE           a ready bzImage or arm64 Image\n"
		"       deb-image:PACKAGE    a ready Debian kernel with its modules\n"
		"       host                 the running kernel\n"
		"A build runs the makefiles of the source, patches included: build only what you would run.\n"
		"Exit status: 0 done, 1 a kernel does not build, 129 usage, 130 something is missing here;\n"
		"boot: that of COMMAND.",
	.options = options,
	.minimum = 1,
	.maximum = -1,
	.run = run,
};
COMMAND_REGISTER(command);
