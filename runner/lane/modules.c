// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Modules for a ready image. What depends on what is read from the modules
 * themselves (.modinfo, "depends="): packages are unpacked without running
 * depmod, so that modules.dep may not be there.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <ftw.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/files.h"
#include "job.h"

#define MODULE_LIMIT ((size_t)64 << 20)
#define DEPENDENCY_DEPTH 16

struct module {
	char *name;	/* "virtio_pci": dashes are underscores */
	char *path;
};

/* nftw() has no context argument. */
static struct module *found;
static size_t found_count;
static bool found_failed;

/* "virtio-pci.ko.xz" -> "virtio_pci"; NULL: no module. */
static char *module_name(const char *file)
{
	const char *ending = strstr(file, ".ko");
	char *name;

	if (!ending || (ending[3] && ending[3] != '.'))
		return NULL;
	name = strndup(file, (size_t)(ending - file));
	for (char *c = name; c && *c; c++)
		*c = *c == '-' ? '_' : *c;
	return name;
}

static int visit(const char *path, const struct stat *status, int type, struct FTW *place)
{
	char *name = type == FTW_F ? module_name(path + place->base) : NULL;
	struct module *grown;

	(void)status;
	if (!name)
		return 0;
	grown = realloc(found, (found_count + 1) * sizeof(*grown));
	if (grown) {
		found = grown;
		found[found_count] = (struct module){ .name = name, .path = strdup(path) };
		if (found[found_count++].path)
			return 0;
	} else {
		free(name);
	}
	found_failed = true;
	return 1;
}

static const struct module *find_module(const char *name)
{
	for (size_t i = 0; i < found_count; i++)
		if (!strcmp(found[i].name, name))
			return &found[i];
	return NULL;
}

static void forget_modules(void)
{
	for (size_t i = 0; i < found_count; i++) {
		free(found[i].name);
		free(found[i].path);
	}
	free(found);
	found = NULL;
	found_count = 0;
	found_failed = false;
}

/* The module's bytes, decompressed; caller frees. */
static int read_module(const char *path, char **data, size_t *size)
{
	struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	la_ssize_t got = 1;
	int error = -EBADMSG;
	char *buffer = malloc(MODULE_LIMIT);

	*size = 0;
	if (archive && buffer) {
		archive_read_support_filter_all(archive);
		archive_read_support_format_raw(archive);
		if (archive_read_open_filename(archive, path, 65536) == ARCHIVE_OK &&
		    archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
			while (got > 0 && *size < MODULE_LIMIT) {
				got = archive_read_data(archive, buffer + *size, MODULE_LIMIT - *size);
				*size += got > 0 ? (size_t)got : 0;
			}
			error = got == 0 ? 0 : -EBADMSG;
		}
	}
	archive_read_free(archive);
	if (error)
		free(buffer);
	else
		*data = buffer;
	return error;
}

/* Value of "depends=" in .modinfo (NUL-separated "key=value" texts); "" when there is none. Caller frees. */
static char *find_depends(char *data, size_t size)
{
	static const char key[] = "depends=";
	Elf *elf = elf_memory(data, size);
	Elf_Scn *section = NULL;
	char *result = NULL;
	size_t names;

	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names)) {
		elf_end(elf);
		return NULL;
	}
	while (!result && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		Elf_Data *content;
		const char *name, *at, *end;

		if (!gelf_getshdr(section, &header) || !(name = elf_strptr(elf, names, header.sh_name)) ||
		    strcmp(name, ".modinfo") || !(content = elf_rawdata(section, NULL)) || !content->d_buf)
			continue;
		end = (const char *)content->d_buf + content->d_size;
		for (at = content->d_buf; at < end && !result; at += strnlen(at, (size_t)(end - at)) + 1)
			if ((size_t)(end - at) >= sizeof(key) && !strncmp(at, key, sizeof(key) - 1))
				result = strndup(at + sizeof(key) - 1, (size_t)(end - at) - sizeof(key) + 1);
	}
	elf_end(elf);
	return result ? result : strdup("");
}

struct loading {
	struct initramfs *initramfs;
	json_t *order;
	char *reason;
	size_t reason_size;
};

static bool ordered(const json_t *order, const char *path)
{
	json_t *value;
	size_t i;

	json_array_foreach(order, i, value) {
		if (!strcmp(json_string_value(value), path))
			return true;
	}
	return false;
}

static int add_module(const struct loading *loading, const char *name, int depth);

static int add_dependencies(const struct loading *loading, char *depends, int depth)
{
	char *rest = NULL;
	int error = 0;

	for (char *name = strtok_r(depends, ",", &rest); name && !error; name = strtok_r(NULL, ",", &rest)) {
		for (char *c = name; *c; c++)
			*c = *c == '-' ? '_' : *c;
		error = add_module(loading, name, depth - 1);
	}
	return error;
}

static int add_module(const struct loading *loading, const char *name, int depth)
{
	const struct module *module = find_module(name);
	char *inside, *data = NULL, *depends = NULL;
	size_t size;
	int error;

	if (!module)
		return 0;
	inside = text_format("/modules/%s.ko", name);
	if (ordered(loading->order, inside)) {
		free(inside);
		return 0;
	}
	error = depth ? read_module(module->path, &data, &size) : -ELOOP;
	if (!error) {
		depends = find_depends(data, size);
		error = depends ? add_dependencies(loading, depends, depth) : -ENOEXEC;
	}
	if (!error)
		error = initramfs_add_data(loading->initramfs, inside, data, size, 0644);
	if (!error)
		json_array_append_new(loading->order, json_string(inside));
	else if (!loading->reason[0])
		snprintf(loading->reason, loading->reason_size, "module %s: %s", module->path, strerror(-error));
	free(depends);
	free(data);
	free(inside);
	return error;
}

int guest_modules_add(struct initramfs *initramfs, const char *directory, const char *const *names,
		      json_t *order, char *reason, size_t reason_size)
{
	const struct loading loading = { initramfs, order, reason, reason_size };
	int error = 0;

	reason[0] = '\0';
	elf_version(EV_CURRENT);
	nftw(directory, visit, 16, FTW_PHYS);
	if (found_failed)
		error = -ENOMEM;
	for (; *names && !error; names++)
		error = add_module(&loading, *names, DEPENDENCY_DEPTH);
	forget_modules();
	return error;
}
