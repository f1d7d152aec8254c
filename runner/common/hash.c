// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hash.h"

struct hash {
	EVP_MD_CTX *context;
};

struct hash *hash_new(void)
{
	struct hash *hash = calloc(1, sizeof(*hash));

	if (!hash)
		abort();
	hash->context = EVP_MD_CTX_new();
	if (!hash->context || !EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL))
		abort();
	return hash;
}

void hash_add(struct hash *hash, const void *data, size_t size)
{
	if (!EVP_DigestUpdate(hash->context, data, size))
		abort();
}

void hash_add_text(struct hash *hash, const char *text)
{
	hash_add(hash, text, strlen(text) + 1);
}

int hash_add_file(struct hash *hash, const char *path)
{
	char buffer[65536];
	ssize_t got;
	int error = 0, fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while ((got = read(fd, buffer, sizeof(buffer))) != 0) {
		if (got < 0) {
			if (errno == EINTR)
				continue;
			error = -errno;
			break;
		}
		hash_add(hash, buffer, (size_t)got);
	}
	close(fd);
	return error;
}

void hash_finish(struct hash *hash, char text[HASH_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char value[EVP_MAX_MD_SIZE];
	unsigned int size = 0;

	if (!EVP_DigestFinal_ex(hash->context, value, &size))
		abort();
	for (unsigned int i = 0; i < size && 2 * i + 2 < HASH_TEXT; i++) {
		text[2 * i] = digits[value[i] >> 4];
		text[2 * i + 1] = digits[value[i] & 15];
	}
	text[HASH_TEXT - 1] = '\0';
	EVP_MD_CTX_free(hash->context);
	free(hash);
}

int hash_file(const char *path, char text[HASH_TEXT])
{
	struct hash *hash = hash_new();
	int error = hash_add_file(hash, path);
	char result[HASH_TEXT];

	hash_finish(hash, result);
	if (!error)
		memcpy(text, result, HASH_TEXT);
	return error;
}

void hash_json(const json_t *value, char text[HASH_TEXT])
{
	struct hash *hash = hash_new();
	char *dump = json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);

	if (!dump)
		abort();
	hash_add(hash, dump, strlen(dump));
	hash_finish(hash, text);
	free(dump);
}
