// SPDX-License-Identifier: GPL-2.0-or-later
#include "build-id.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

#define NOTES "/sys/kernel/notes"
#define NOTES_LIMIT (1u << 20)
#define LEAST 8		/* bytes of an ID; a sha1 has 20 */
#define MOST 64

static size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

const char *build_id_note(const char *notes, size_t size, size_t *note_size)
{
	size_t offset = 0;

	while (size - offset >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr header;
		size_t whole;

		memcpy(&header, notes + offset, sizeof(header));
		if (header.n_namesz > size || header.n_descsz > size)
			return NULL;
		whole = sizeof(header) + padded(header.n_namesz) + padded(header.n_descsz);
		if (whole > size - offset)
			return NULL;
		if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && header.n_descsz >= LEAST && header.n_descsz <= MOST &&
		    !memcmp(notes + offset + sizeof(header), "GNU", 4)) {
			*note_size = whole;
			return notes + offset;
		}
		offset += whole;
	}
	return NULL;
}

int build_id_running(char **note, size_t *note_size)
{
	const char *found;
	char *notes;
	size_t size;
	int error = read_file(NOTES, NOTES_LIMIT, &notes, &size);

	if (error)
		return error;
	found = build_id_note(notes, size, note_size);
	if (!found) {
		free(notes);
		return -ENODATA;
	}
	memmove(notes, found, *note_size);
	*note = notes;
	return 0;
}

int build_id_running_text(char text[BUILD_ID_TEXT])
{
	const unsigned char *id;
	Elf64_Nhdr header;
	size_t size;
	char *note;
	int error = build_id_running(&note, &size);

	if (error)
		return error;
	memcpy(&header, note, sizeof(header));
	id = (unsigned char *)note + sizeof(header) + padded(header.n_namesz);
	for (size_t i = 0; i < header.n_descsz; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	free(note);
	return 0;
}
