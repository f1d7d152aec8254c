/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An x86 bzImage unpacks itself, which takes an emulated CPU seconds. The
 * kernel inside can be unpacked here and entered directly (PVH) when it was
 * built with CONFIG_PVH.
 */
#ifndef SHOOTDOWN_KERNEL_IMAGE_H
#define SHOOTDOWN_KERNEL_IMAGE_H

#include <stddef.h>

#include "../../kernels/kernel.h"

/*
 * What runs when the image has started: the kernel that a bzImage packs, else
 * the file as it stands. 0 or -errno, -ENOEXEC for a bzImage that is not
 * whole; the caller frees *data.
 */
int kernel_image_contents(const char *image, char **data, size_t *size);

/*
 * Writes the ELF kernel that is inside `image` to `output`.
 * 0; -ENOEXEC: no bzImage, compressed in a way that is not known here, or
 * without PVH entry: boot the image itself; other -errno of reading or writing.
 */
int kernel_image_unpack(const char *image, const char *output);

/*
 * What QEMU is to load: the unpacked kernel, kept in `directory` for the next
 * boot, or the image itself where that is not possible. Caller frees *path.
 */
int kernel_image_for_boot(const struct kernel *kernel, const char *directory, char **path);

#endif
