/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of some kernels is the one that runs. A name is not enough: two
 * variants of one base have one release, so the build ID that the kernel shows
 * must stand in the vmlinux or the image, and the words of the variant on the
 * command line.
 */
#ifndef SHOOTDOWN_RUNNING_KERNEL_H
#define SHOOTDOWN_RUNNING_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "../../kernels/kernel.h"

/* Whether each word of `words` is one of `command_line`; *count is how many there are. */
bool has_parameters(const char *command_line, const char *words, size_t *count);

/*
 * Fills running[i]. Of kernels that differ in their boot parameters alone it is
 * the one with most of them. -errno and a reason when a kernel that bears the
 * release of the running one cannot be told from it.
 */
int running_kernels(const struct kernel *kernels, size_t count, bool *running, char *reason, size_t reason_size);

#endif
