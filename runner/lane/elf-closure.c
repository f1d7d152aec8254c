// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf-closure.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY_LIMIT 512	/* far beyond any real program: a bound on hostile input */

/* What one ELF file says about itself. */
struct elf_facts {
	int machine, elf_class;
	char *interpreter;
	char *run_path;			/* DT_RUNPATH, else DT_RPATH; NULL: none */
	char *needed[LIBRARY_LIMIT];
	size_t needed_count;
};

struct search {
	struct elf_closure closure;
	int machine, elf_class;
	char **directories;		/* of the system, in order */
	size_t directory_count;
	char *reason;
	size_t reason_size;
};

static void facts_free(struct elf_facts *facts)
{
	free(facts->interpreter);
	free(facts->run_path);
	for (size_t i = 0; i < facts->needed_count; i++)
		free(facts->needed[i]);
}

static int replace_text(char **text, const char *value)
{
	free(*text);
	*text = value ? strdup(value) : NULL;
	return *text ? 0 : -ENOMEM;
}

static int read_dynamic(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct elf_facts *facts)
{
	Elf_Data *data = elf_getdata(section, NULL);
	bool have_runpath = false;
	GElf_Dyn entry;
	int error = 0;

	for (int i = 0; data && !error && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		const char *text;

		if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH)
			continue;
		text = elf_strptr(elf, header->sh_link, entry.d_un.d_val);
		if (!text)
			return -ENOEXEC;
		if (entry.d_tag == DT_NEEDED) {
			if (facts->needed_count == LIBRARY_LIMIT)
				return -E2BIG;
			error = replace_text(&facts->needed[facts->needed_count], text);
			facts->needed_count += !error;
		} else if (entry.d_tag == DT_RUNPATH || !have_runpath) {
			have_runpath |= entry.d_tag == DT_RUNPATH;
			error = replace_text(&facts->run_path, text);
		}
	}
	return error;
}

static int read_interpreter(Elf *elf, struct elf_facts *facts)
{
	size_t count, size;
	const char *image = elf_rawfile(elf, &size);

	if (!image || elf_getphdrnum(elf, &count))
		return -ENOEXEC;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_INTERP)
			continue;
		if (header.p_offset >= size || header.p_filesz > size - header.p_offset || !header.p_filesz ||
		    image[header.p_offset + header.p_filesz - 1])
			return -ENOEXEC;
		return replace_text(&facts->interpreter, image + header.p_offset);
	}
	return 0;
}

static int read_elf(Elf *elf, struct elf_facts *facts)
{
	Elf_Scn *section = NULL;
	GElf_Ehdr header;
	int error;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return -ENOEXEC;
	facts->machine = header.e_machine;
	facts->elf_class = header.e_ident[EI_CLASS];
	error = read_interpreter(elf, facts);
	while (!error && (section = elf_nextscn(elf, section))) {
		GElf_Shdr section_header;

		if (gelf_getshdr(section, &section_header) && section_header.sh_type == SHT_DYNAMIC)
			error = read_dynamic(elf, section, &section_header, facts);
	}
	return error;
}

static int read_facts(const char *path, struct elf_facts *facts)
{
	int fd, error;
	Elf *elf;

	memset(facts, 0, sizeof(*facts));
	elf_version(EV_CURRENT);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	error = elf ? read_elf(elf, facts) : -ENOEXEC;
	elf_end(elf);
	close(fd);
	if (error)
		facts_free(facts);
	return error;
}

/* Only a library for the same processor counts: a directory may hold several kinds. */
static bool fits(const struct search *search, const char *path)
{
	bool result = false;
	GElf_Ehdr header;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	if (fd < 0)
		return false;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header))
		result = header.e_machine == search->machine && header.e_ident[EI_CLASS] == search->elf_class;
	elf_end(elf);
	close(fd);
	return result;
}

static int add_directory(struct search *search, const char *directory)
{
	char **grown = realloc(search->directories, (search->directory_count + 1) * sizeof(*grown));
	char *copy = strdup(directory);

	if (grown)
		search->directories = grown;
	if (!grown || !copy) {
		free(copy);
		return -ENOMEM;
	}
	search->directories[search->directory_count++] = copy;
	return 0;
}

/* The directories that /etc/ld.so.conf and its usual include name; absent files are no trouble. */
static int add_configured(struct search *search)
{
	glob_t files = { 0 };
	char line[512];
	int error = 0;

	glob("/etc/ld.so.conf", 0, NULL, &files);
	glob("/etc/ld.so.conf.d/*.conf", GLOB_APPEND, NULL, &files);
	for (size_t i = 0; i < files.gl_pathc && !error; i++) {
		FILE *file = fopen(files.gl_pathv[i], "re");

		while (file && !error && fgets(line, sizeof(line), file)) {
			line[strcspn(line, " \t\n#")] = '\0';
			if (line[0] == '/')
				error = add_directory(search, line);
		}
		if (file)
			fclose(file);
	}
	globfree(&files);
	return error;
}

static int add_standard(struct search *search)
{
	static const char *const x86[] = { "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", NULL };
	static const char *const arm[] = { "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
					   "/usr/aarch64-linux-gnu/lib", NULL };
	static const char *const plain[] = { "/lib64", "/usr/lib64", "/lib", "/usr/lib", NULL };
	const char *const *sets[] = { search->machine == EM_AARCH64 ? arm : x86, plain };
	int error = add_configured(search);

	for (size_t set = 0; set < 2; set++)
		for (const char *const *directory = sets[set]; *directory && !error; directory++)
			error = add_directory(search, *directory);
	return error;
}

static char *candidate(const struct search *search, const char *directory, size_t size, const char *name)
{
	char *path;

	if (asprintf(&path, "%.*s/%s", (int)size, directory, name) < 0)
		return NULL;
	if (fits(search, path))
		return path;
	free(path);
	return NULL;
}

/* A run path entry, with $ORIGIN replaced by the directory of the file that has it. */
static char *in_run_path(const struct search *search, const char *run_path, const char *user, const char *name)
{
	static const char origin[] = "$ORIGIN";

	while (run_path && *run_path) {
		size_t size = strcspn(run_path, ":");
		char *directory, *found = NULL;

		if (size >= sizeof(origin) - 1 && !strncmp(run_path, origin, sizeof(origin) - 1)) {
			const char *slash = strrchr(user, '/');
			int head = slash ? (int)(slash - user) : 1;

			if (asprintf(&directory, "%.*s%.*s", head, slash ? user : ".",
				     (int)(size - sizeof(origin) + 1), run_path + sizeof(origin) - 1) < 0)
				return NULL;
		} else {
			directory = strndup(run_path, size);
		}
		if (directory && *directory)
			found = candidate(search, directory, strlen(directory), name);
		free(directory);
		if (found)
			return found;
		run_path += size + (run_path[size] == ':');
	}
	return NULL;
}

static char *find_library(const struct search *search, const char *run_path, const char *user, const char *name)
{
	char *path;

	if (strchr(name, '/'))
		return fits(search, name) ? strdup(name) : NULL;
	path = in_run_path(search, run_path, user, name);
	if (!path)
		path = in_run_path(search, getenv("LD_LIBRARY_PATH"), user, name);
	for (size_t i = 0; !path && i < search->directory_count; i++)
		path = candidate(search, search->directories[i], strlen(search->directories[i]), name);
	return path;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool known(const struct search *search, const char *name)
{
	const char *interpreter = search->closure.interpreter;

	/* The interpreter is a library too (libc needs it) and stands at its own path. */
	if (interpreter && !strcmp(base_name(interpreter), name))
		return true;
	for (size_t i = 0; i < search->closure.count; i++)
		if (!strcmp(search->closure.libraries[i].name, name))
			return true;
	return false;
}

static int add_library(struct search *search, const char *name, char *path)
{
	struct elf_closure *closure = &search->closure;
	struct elf_file *grown;
	char *copy;

	if (closure->count == LIBRARY_LIMIT)
		return -E2BIG;
	grown = realloc(closure->libraries, (closure->count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	closure->libraries = grown;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	closure->libraries[closure->count++] = (struct elf_file){ .name = copy, .path = path };
	return 0;
}

static int add_needed(struct search *search, const struct elf_facts *facts, const char *user)
{
	for (size_t i = 0; i < facts->needed_count; i++) {
		char *path;
		int error;

		if (known(search, facts->needed[i]))
			continue;
		path = find_library(search, facts->run_path, user, facts->needed[i]);
		if (!path) {
			snprintf(search->reason, search->reason_size, "library %s, which %s needs, is not installed",
				 facts->needed[i], user);
			return -ENOENT;
		}
		error = add_library(search, facts->needed[i], path);
		if (error) {
			free(path);
			return error;
		}
	}
	return 0;
}

static int find_interpreter(struct search *search, struct elf_facts *facts, const char *program)
{
	struct elf_closure *closure = &search->closure;

	if (!facts->interpreter)
		return 0;
	closure->interpreter = facts->interpreter;
	facts->interpreter = NULL;
	if (fits(search, closure->interpreter))
		closure->interpreter_path = strdup(closure->interpreter);
	else
		closure->interpreter_path = find_library(search, NULL, program, base_name(closure->interpreter));
	if (closure->interpreter_path)
		return 0;
	snprintf(search->reason, search->reason_size, "%s, the interpreter of %s, is not installed",
		 closure->interpreter, program);
	return -ENOENT;
}

/*
 * glibc loads this one by name when a thread is cancelled or exits, and ends
 * the program when it cannot: it is nobody's DT_NEEDED, but it has to travel.
 */
static int add_thread_exit_library(struct search *search, const char *program)
{
	static const char name[] = "libgcc_s.so.1";
	char *path;
	int error;

	if (!known(search, "libc.so.6") || known(search, name))
		return 0;
	path = find_library(search, NULL, program, name);
	if (!path)
		return 0;
	error = add_library(search, name, path);
	if (error)
		free(path);
	return error;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct elf_file *)left)->name, ((const struct elf_file *)right)->name);
}

static int close_over(struct search *search, const char *program, struct elf_facts *facts)
{
	int error = add_standard(search);

	if (!error)
		error = find_interpreter(search, facts, program);
	if (!error)
		error = add_needed(search, facts, program);
	if (!error)
		error = add_thread_exit_library(search, program);
	/* The list grows while it is walked. */
	for (size_t i = 0; !error && i < search->closure.count; i++) {
		struct elf_facts library;

		error = read_facts(search->closure.libraries[i].path, &library);
		if (error)
			break;
		error = add_needed(search, &library, search->closure.libraries[i].path);
		facts_free(&library);
	}
	return error;
}

int elf_closure(const char *program, struct elf_closure *closure, char *reason, size_t reason_size)
{
	struct search search = { .reason = reason, .reason_size = reason_size };
	struct elf_facts *facts = malloc(sizeof(*facts));
	int error;

	if (!facts)
		return -ENOMEM;
	error = read_facts(program, facts);
	if (!error) {
		search.machine = facts->machine;
		search.elf_class = facts->elf_class;
		error = close_over(&search, program, facts);
		facts_free(facts);
	}
	free(facts);
	for (size_t i = 0; i < search.directory_count; i++)
		free(search.directories[i]);
	free(search.directories);
	if (error) {
		elf_closure_free(&search.closure);
		return error;
	}
	if (search.closure.count)
		qsort(search.closure.libraries, search.closure.count, sizeof(struct elf_file), by_name);
	*closure = search.closure;
	return 0;
}

void elf_closure_free(struct elf_closure *closure)
{
	for (size_t i = 0; i < closure->count; i++) {
		free(closure->libraries[i].name);
		free(closure->libraries[i].path);
	}
	free(closure->libraries);
	free(closure->interpreter);
	free(closure->interpreter_path);
	memset(closure, 0, sizeof(*closure));
}

const char *elf_architecture(const char *path)
{
	struct elf_facts *facts = malloc(sizeof(*facts));
	const char *name = NULL;

	if (facts && !read_facts(path, facts)) {
		name = facts->machine == EM_X86_64 ? "x86-64" : facts->machine == EM_AARCH64 ? "arm64" : "other";
		facts_free(facts);
	}
	free(facts);
	return name;
}
