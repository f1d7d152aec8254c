/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The toolchain of guests that build something: the files of Debian packages
 * that are installed here, in an archive that is unpacked behind the initramfs.
 *
 * An archive and no disk with a file system: it needs no driver, so every
 * kernel can have it as it was built, ready images and older fragments too; and
 * the exact lane can, where a disk that is answered by a thread of the host
 * would make no two boots alike.
 */
#ifndef SHOOTDOWN_TOOLCHAIN_H
#define SHOOTDOWN_TOOLCHAIN_H

#include "../common/hash.h"

/* The same text: the same packages in the same versions. -errno and a reason that says what to do. */
int toolchain_identity(const char *architecture, char identity[HASH_TEXT], char *reason, size_t reason_size);
/* The archive, made when the cache has none of this identity. *path is the caller's to free. */
int toolchain_archive(const char *architecture, char **path, char *reason, size_t reason_size);

/* Where its programs stand: the guest's init makes it read-only. */
#define TOOLCHAIN_DIRECTORY "/usr"

#endif
