/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the builder's functions fail: they fill the one line that the command prints, and return -errno. */
#ifndef SHOOTDOWN_KERNEL_ERROR_H
#define SHOOTDOWN_KERNEL_ERROR_H

#include "../runner/common/message.h"
#include "kernel.h"

/* status as in message.h, or 1 for a build that failed. Keeps the log of an earlier call. */
int kernel_fail(struct kernel_error *error, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A system call or a library of ours failed with code (-errno): sorts out a full disk, an interrupt, missing rights. */
int kernel_fail_code(struct kernel_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
