/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `shootdown kernel VERB`: cmd-kernel.c finds the verb, cmd-kernel-VERB.c does it. */
#ifndef SHOOTDOWN_CMD_KERNEL_H
#define SHOOTDOWN_CMD_KERNEL_H

#include "common/command.h"

/* arguments->values[0] is the verb. Each returns the exit status of the command. */
int kernel_build_command(const struct command_arguments *arguments);
int kernel_boot_command(const struct command_arguments *arguments);
int kernel_list_command(const struct command_arguments *arguments);

/* Rows that `kernel boot` reads, for the option table of `kernel`. */
#define KERNEL_BOOT_OPTIONS \
	{ "cpus", 0, "N", false, "boot: virtual CPUs (default 2)" }, \
	{ "nodes", 0, "N", false, "boot: NUMA nodes (default 1)" }, \
	{ "memory", 0, "SIZE", false, "boot: memory of the guest (default 1 GiB)" }, \
	{ "boot-parameters", 0, "TEXT", false, "boot: further words for the kernel command line" }, \
	{ "timeout", 0, "DURATION", false, "boot: limit for COMMAND (default 10min)" }, \
	{ "file", 0, "FILE", true, "boot: file or directory that COMMAND needs in the guest" }

#endif
