/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The build ID of a kernel: what the linker made of its contents, and the running one shows in /sys/kernel/notes. */
#ifndef SHOOTDOWN_BUILD_ID_H
#define SHOOTDOWN_BUILD_ID_H

#include <stddef.h>

#define BUILD_ID_TEXT 129

/* The note of the build ID among ELF notes, as it stands in a kernel's file, with its size. NULL: there is none. Borrowed. */
const char *build_id_note(const char *notes, size_t size, size_t *note_size);
/* That of the running kernel; caller frees. -errno, -ENODATA when it has none. */
int build_id_running(char **note, size_t *note_size);
/* Its hexadecimal digits. -errno as above. */
int build_id_running_text(char text[BUILD_ID_TEXT]);

#endif
