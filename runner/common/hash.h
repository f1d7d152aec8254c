/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256 (libcrypto). Text is 64 hex digits and NUL. */
#ifndef SHOOTDOWN_HASH_H
#define SHOOTDOWN_HASH_H

#include <jansson.h>
#include <stddef.h>

#define HASH_TEXT 65

struct hash;
struct hash *hash_new(void);		/* aborts on lack of memory */
void hash_add(struct hash *hash, const void *data, size_t size);
void hash_add_text(struct hash *hash, const char *text);	/* with its NUL: "a","b" differs from "ab","" */
int hash_add_file(struct hash *hash, const char *path);
void hash_finish(struct hash *hash, char text[HASH_TEXT]);	/* frees */
int hash_file(const char *path, char text[HASH_TEXT]);
void hash_json(const json_t *value, char text[HASH_TEXT]);	/* canonical: sorted keys, compact */

#endif
