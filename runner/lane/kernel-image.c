// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel-image.h"

#include <archive.h>
#include <archive_entry.h>
#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../common/files.h"

#define IMAGE_LIMIT ((size_t)256 << 20)
#define KERNEL_LIMIT ((size_t)512 << 20)

/* Offsets in the boot header (Documentation/arch/x86/boot.rst); payload fields came with version 2.08. */
#define SETUP_SECTORS 0x1f1
#define HEADER_MAGIC 0x202
#define HEADER_VERSION 0x206
#define PAYLOAD_OFFSET 0x248
#define PAYLOAD_LENGTH 0x24c
#define HEADER_END 0x250
#define SECTOR 512

#define PVH_ENTRY_NOTE 18	/* XEN_ELFNOTE_PHYS32_ENTRY */

static uint32_t number_at(const char *data, size_t offset)
{
	uint32_t value;

	memcpy(&value, data + offset, sizeof(value));
	return le32toh(value);
}

/* Where the compressed kernel stands in the image. */
static bool find_payload(const char *image, size_t size, const char **payload, size_t *payload_size)
{
	size_t sectors, start, length;

	if (size < HEADER_END || memcmp(image + HEADER_MAGIC, "HdrS", 4) ||
	    (number_at(image, HEADER_VERSION) & 0xffff) < 0x208)
		return false;
	sectors = (unsigned char)image[SETUP_SECTORS];
	start = ((sectors ? sectors : 4) + 1) * SECTOR + number_at(image, PAYLOAD_OFFSET);
	length = number_at(image, PAYLOAD_LENGTH);
	if (length < 5 || start > size || length > size - start)
		return false;
	*payload = image + start;
	/* The last four bytes are the unpacked size, for the kernel's own unpacker; gzip ends with it by itself. */
	*payload_size = memcmp(*payload, "\x1f\x8b", 2) ? length - 4 : length;
	return true;
}

static int unpack(const char *payload, size_t payload_size, char **kernel, size_t *kernel_size)
{
	struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	size_t used = 0, room = 0;
	char *data = NULL;
	la_ssize_t got = 1;

	archive_read_support_filter_all(archive);
	archive_read_support_format_raw(archive);
	if (archive_read_open_memory(archive, payload, payload_size) != ARCHIVE_OK ||
	    archive_read_next_header(archive, &entry) != ARCHIVE_OK)
		got = -1;
	while (got > 0) {
		if (room - used < (1u << 20)) {
			char *grown;

			room = room ? room * 2 : 32u << 20;
			grown = room <= KERNEL_LIMIT ? realloc(data, room) : NULL;
			if (!grown)
				break;
			data = grown;
		}
		got = archive_read_data(archive, data + used, room - used);
		used += got > 0 ? (size_t)got : 0;
	}
	archive_read_free(archive);
	/* Some builds have bytes behind the compressed stream: an ELF that is whole is checked next and counts. */
	if (!used || (got > 0)) {
		free(data);
		return got > 0 ? -ENOMEM : -ENOEXEC;
	}
	*kernel = data;
	*kernel_size = used;
	return 0;
}

static bool has_pvh_note(Elf_Data *notes)
{
	size_t offset = 0, name, description;
	GElf_Nhdr note;

	while (notes && (offset = gelf_getnote(notes, offset, &note, &name, &description)) > 0)
		if (note.n_type == PVH_ENTRY_NOTE && note.n_namesz == 4 && !memcmp((char *)notes->d_buf + name, "Xen", 4))
			return true;
	return false;
}

static bool bootable(char *kernel, size_t size)
{
	bool result = false;
	size_t headers;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory(kernel, size);
	if (elf && elf_kind(elf) == ELF_K_ELF && !elf_getphdrnum(elf, &headers)) {
		for (size_t i = 0; i < headers && !result; i++) {
			GElf_Phdr header;

			if (!gelf_getphdr(elf, (int)i, &header))
				break;
			if (header.p_type == PT_LOAD && (header.p_offset > size || header.p_filesz > size - header.p_offset))
				break;	/* cut short */
			if (header.p_type == PT_NOTE)
				result = has_pvh_note(elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz,
									   ELF_T_NHDR));
		}
	}
	elf_end(elf);
	return result;
}

int kernel_image_contents(const char *image, char **data, size_t *size)
{
	const char *payload;
	char *kernel = NULL;
	size_t payload_size, kernel_size;
	int error = read_file(image, IMAGE_LIMIT, data, size);

	if (error)
		return error;
	if (!find_payload(*data, *size, &payload, &payload_size)) {
		bool cut_short = *size >= HEADER_END && !memcmp(*data + HEADER_MAGIC, "HdrS", 4);

		if (cut_short)
			free(*data);
		return cut_short ? -ENOEXEC : 0;
	}
	error = unpack(payload, payload_size, &kernel, &kernel_size);
	free(*data);
	if (error)
		return error;
	*data = kernel;
	*size = kernel_size;
	return 0;
}

int kernel_image_unpack(const char *image, const char *output)
{
	char *data, *kernel = NULL;
	const char *payload;
	size_t size, payload_size, kernel_size;
	int error = read_file(image, IMAGE_LIMIT, &data, &size);

	if (error)
		return error;
	error = find_payload(data, size, &payload, &payload_size) ? 0 : -ENOEXEC;
	if (!error)
		error = unpack(payload, payload_size, &kernel, &kernel_size);
	if (!error && !bootable(kernel, kernel_size))
		error = -ENOEXEC;
	if (!error)
		error = write_file(output, kernel, kernel_size);
	free(kernel);
	free(data);
	return error;
}

int kernel_image_for_boot(const struct kernel *kernel, const char *directory, char **path)
{
	char *unpacked = text_format("%s/kernel-%s.elf", directory, kernel->id ? kernel->id : "image");
	int error = 0;

	if (!file_exists(unpacked))
		error = strcmp(kernel->architecture, "x86-64") ? -ENOEXEC : kernel_image_unpack(kernel->image, unpacked);
	if (!error) {
		*path = unpacked;
		return 0;
	}
	free(unpacked);
	if (error != -ENOEXEC)
		return error;
	*path = strdup(kernel->image);
	return *path ? 0 : -ENOMEM;
}
