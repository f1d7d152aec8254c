/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels that need no build: image:, deb-image:, host. */
#ifndef SHOOTDOWN_KERNEL_READY_H
#define SHOOTDOWN_KERNEL_READY_H

#include "base.h"

/* Fills the parts, spec, id, release, architecture and identity of *kernel. *built: it was not in the cache yet. */
int ready_kernel(const struct kernel_spec *spec, const char *architecture, const struct watcher *watcher,
		 struct kernel *kernel, bool *built, struct kernel_error *error);

/* What the head of an image says. architecture NULL: none that is known. Caller frees release (may be ""). */
int image_inspect(const char *path, const char **architecture, char **release);

#endif
