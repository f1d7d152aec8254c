/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The next kernel, started by this one. Loading changes nothing that runs; starting ends it. */
#ifndef SHOOTDOWN_KEXEC_H
#define SHOOTDOWN_KEXEC_H

#include <stdbool.h>
#include <stddef.h>

/* 0 when this process may load a kernel here and start it so; else -errno and why not, with what to do. Changes nothing. */
int kexec_check(bool directly, char *reason, size_t reason_size);
/* initrd NULL: none. -errno and a reason. */
int kexec_load(const char *image, const char *initrd, const char *command_line, char *reason, size_t reason_size);
/* Forgets what was loaded. */
void kexec_unload(void);
/*
 * Starts what was loaded. By systemd, which stops its services first: returns
 * 0 while that goes on. `directly`: at once, after the file systems are
 * written; returns only when it failed.
 */
int kexec_start(bool directly, char *reason, size_t reason_size);

#endif
