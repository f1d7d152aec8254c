/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of the kernel that runs; linked into init and into the runner (host lane). */
#ifndef SHOOTDOWN_GUEST_FACTS_H
#define SHOOTDOWN_GUEST_FACTS_H

#include <jansson.h>
#include <stddef.h>

json_t *collect_facts(void);

/* --- text.c: small files of /proc and /sys --- */
/* NUL-terminated, trailing newline removed; NULL and errno when it cannot be read; caller frees. */
char *read_text(const char *path);
char *read_whole(const char *path, size_t *size);
int write_text(const char *path, const char *text);
/* "always [madvise] never" -> "madvise", in place; other text stays. */
char *chosen_word(char *text);

#endif
