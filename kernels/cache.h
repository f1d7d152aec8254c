/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernels/KEY in the cache: image, vmlinux, System.map, config, build.log,
 * lib/modules and kernel.json, which is written last. The folder appears whole
 * or not at all.
 */
#ifndef SHOOTDOWN_KERNEL_CACHE_H
#define SHOOTDOWN_KERNEL_CACHE_H

#include "../runner/common/hash.h"
#include "kernel.h"

/* kernels/KEY; caller frees. */
char *cache_directory(const char *key);
bool cache_holds(const char *key);
/* An empty folder to fill: the same for the same key, so that what a killed build left is swept away. Caller frees. NULL with *error. */
char *cache_begin(const char *key, struct kernel_error *error);
/* Writes kernel.json into the folder and gives it its name. */
int cache_commit(const char *key, const char *folder, json_t *identity, struct kernel_error *error);
/*
 * Fills what stands in the folder: paths of the parts, release, architecture
 * and identity. Strings that say how it was asked for are the caller's to set.
 */
int cache_load(const char *key, struct kernel *kernel, struct kernel_error *error);

#endif
