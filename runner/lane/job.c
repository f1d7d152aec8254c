// SPDX-License-Identifier: GPL-2.0-or-later
#include "job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/paths.h"
#include "elf-closure.h"
#include "toolchain.h"

/* Where --file puts relative paths, and where the command starts. */
#define FILES_DIRECTORY "/files"
/* init gives the workload this descriptor for its frames (guest.h). */
#define FRAMES_FD "3"

/* Drivers of what the lanes' machines have; those that a kernel has built in are no modules and are left out. */
static const char *const driver_modules[] = { "virtio_pci", "virtio_mmio", "virtio_console", NULL };

int guest_base_make(const char *architecture, struct initramfs **base, char *reason, size_t reason_size)
{
	char *init = path_program(architecture, "guest/init");
	struct initramfs *made = NULL;
	int error;

	if (!file_exists(init)) {
		snprintf(reason, reason_size, "%s is not there; build it with 'make%s'", init,
			 strcmp(architecture, host_architecture()) ? " ARCH=arm64" : "");
		free(init);
		return -ENOENT;
	}
	error = initramfs_new(NULL, &made);
	if (!error)
		error = initramfs_add_program(made, "/init", init, reason, reason_size);
	/* The kernel opens it for init before anything is mounted. */
	if (!error)
		error = initramfs_add_character_device(made, "/dev/console", 5, 1);
	if (!error)
		error = initramfs_add_character_device(made, "/dev/null", 1, 3);
	if (!error)
		error = initramfs_add_directory(made, "/tmp", 01777);
	free(init);
	if (error)
		initramfs_free(made);
	else
		*base = made;
	return error;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Adds the program that `name` leads to here as /exec/NAME; *inside is the caller's to free, also on failure. */
static int add_found_program(struct initramfs *initramfs, const struct guest_job *job, const char *name, char **inside,
			     char *reason, size_t reason_size)
{
	char *outside = path_find_program(name);
	const char *architecture = outside ? elf_architecture(outside) : NULL;
	int error = 0;

	*inside = text_format("/exec/%s", base_name(name));
	if (!outside) {
		snprintf(reason, reason_size, "program '%s' was not found; give its path or install it", name);
		error = -ENOENT;
	} else if (architecture && strcmp(architecture, job->architecture)) {
		snprintf(reason, reason_size, "program %s is for %s, the guest is %s; give one that was built for it",
			 outside, architecture, job->architecture);
		error = -ENOEXEC;
	} else if (!initramfs_has(initramfs, *inside)) {
		error = initramfs_add_program(initramfs, *inside, outside, reason, reason_size);
	}
	free(outside);
	return error;
}

static int add_helper(struct initramfs *initramfs, const struct guest_job *job, const char *name,
		      char *reason, size_t reason_size)
{
	char *below = text_format("workloads/helpers/%s", name);
	char *outside = path_program(job->architecture, below);
	char *inside = text_format("/%s", below);
	int error;

	/* Helpers that are not ours (memcached) are installed programs. */
	if (file_exists(outside)) {
		error = initramfs_has(initramfs, inside) ? 0 :
			initramfs_add_program(initramfs, inside, outside, reason, reason_size);
	} else {
		char *found = NULL;

		error = add_found_program(initramfs, job, name, &found, reason, reason_size);
		free(found);
	}
	free(below);
	free(outside);
	free(inside);
	return error;
}

static int add_workload(struct initramfs *initramfs, const struct guest_job *job, const struct boot_case *boot_case,
			char **inside, char *reason, size_t reason_size)
{
	char *below = text_format("workloads/%s", boot_case->workload ? boot_case->workload : "exec");
	char *outside = path_program(job->architecture, below);
	int error = 0;

	*inside = text_format("/%s", below);
	if (!file_exists(outside)) {
		snprintf(reason, reason_size, "%s is not there; build it with 'make'", outside);
		error = -ENOENT;
	} else if (!initramfs_has(initramfs, *inside)) {
		error = initramfs_add_program(initramfs, *inside, outside, reason, reason_size);
	}
	free(below);
	free(outside);
	return error;
}

/* A program among the files brings its libraries: a script's tools travel by --file. */
static bool is_program(const struct guest_job *job, const char *path)
{
	const char *architecture = elf_architecture(path);

	return architecture && !strcmp(architecture, job->architecture) && !access(path, X_OK);
}

/* An absolute path stays what it is; a relative one stands below the directory in which the command starts. */
static int add_user_file(struct initramfs *initramfs, const struct guest_job *job, const char *path, char *reason, size_t reason_size)
{
	const char *relative = path;
	char *inside;
	int error;

	while (!strncmp(relative, "./", 2))
		relative += 2;
	inside = path[0] == '/' ? strdup(path) : text_format("%s/%s", FILES_DIRECTORY, relative);
	while (inside && strlen(inside) > 1 && inside[strlen(inside) - 1] == '/')
		inside[strlen(inside) - 1] = '\0';
	if (inside && is_program(job, path))
		error = initramfs_add_program(initramfs, inside, path, reason, reason_size);
	else
		error = inside ? initramfs_add_tree(initramfs, inside, path) : -ENOMEM;
	if (error == -EINVAL)
		snprintf(reason, reason_size, "file '%s' cannot travel into the guest: give plain files or directories by a path without '..'", path);
	else if (error && !reason[0])
		snprintf(reason, reason_size, "file '%s': %s", path, strerror(-error));
	free(inside);
	return error;
}

static void start_in_files(struct initramfs *initramfs, json_t *description, int *error)
{
	if (!*error)
		*error = initramfs_add_directory(initramfs, FILES_DIRECTORY, 0755);
	json_object_set_new(description, "directory", json_string(FILES_DIRECTORY));
}

/* A tree that is ours stands beside the workload, as here; a user's where the argument says. */
static int add_source_tree(struct initramfs *initramfs, const struct guest_job *job, const char *tree, json_t *description,
			   char *reason, size_t reason_size)
{
	char *below = text_format("workloads/trees/%s", tree), *inside = text_format("/%s", below);
	char *outside = strchr(tree, '/') ? NULL : path_program(job->architecture, below), *toolchain = NULL;
	int error;

	if (outside && file_exists(outside)) {
		error = initramfs_has(initramfs, inside) ? 0 : initramfs_add_tree(initramfs, inside, outside);
	} else {
		error = add_user_file(initramfs, job, tree, reason, reason_size);
		if (tree[0] != '/')
			start_in_files(initramfs, description, &error);
	}
	if (!error)
		error = toolchain_archive(job->architecture, &toolchain, reason, reason_size);
	if (!error)
		error = initramfs_set_behind(initramfs, toolchain);
	free(toolchain);
	free(outside);
	free(inside);
	free(below);
	return error;
}

static void append(json_t *array, const char *text)
{
	json_array_append_new(array, json_string(text));
}

static void append_all(json_t *array, const char *const *texts)
{
	for (; texts && *texts; texts++)
		append(array, *texts);
}

/* PATH [OPTION]... --frames 3 [-- COMMAND]..., or the command alone. */
static int make_arguments(struct initramfs *initramfs, const struct guest_job *job, const struct boot_case *boot_case,
			  json_t *arguments, char *reason, size_t reason_size)
{
	char *inside = NULL;
	int error = 0;

	if (!job->plain_commands) {
		error = add_workload(initramfs, job, boot_case, &inside, reason, reason_size);
		append(arguments, inside);
		append_all(arguments, (const char *const *)boot_case->arguments);
		append_all(arguments, job->extra_arguments);
		append(arguments, "--frames");
		append(arguments, FRAMES_FD);
		if (boot_case->command)
			append(arguments, "--");
		free(inside);
		inside = NULL;
	}
	if (!error && boot_case->command) {
		error = add_found_program(initramfs, job, boot_case->command[0], &inside, reason, reason_size);
		if (!error) {
			append(arguments, inside);
			append_all(arguments, (const char *const *)boot_case->command + 1);
		}
		free(inside);
	}
	return error;
}

static int add_case(struct initramfs *initramfs, const struct guest_job *job, const struct boot_case *boot_case,
		    json_t *cases, char *reason, size_t reason_size)
{
	json_t *description = json_pack("{s:[], s:[], s:[]}", "arguments", "settings", "environment");
	unsigned int factor = job->timeout_factor ? job->timeout_factor : 1;
	int error;

	if (!description)
		return -ENOMEM;
	json_array_append_new(cases, description);
	append_all(json_object_get(description, "settings"), (const char *const *)boot_case->settings);
	append_all(json_object_get(description, "environment"), job->environment);
	json_object_set_new(description, "timeout_seconds", json_integer((json_int_t)boot_case->timeout_seconds * factor));
	if (job->forward_output)
		json_object_set_new(description, "forward_output", json_true());
	error = make_arguments(initramfs, job, boot_case, json_object_get(description, "arguments"), reason, reason_size);
	for (char *const *helper = boot_case->helpers; helper && *helper && !error; helper++)
		error = add_helper(initramfs, job, *helper, reason, reason_size);
	for (char *const *file = boot_case->files; file && *file && !error; file++)
		error = add_user_file(initramfs, job, *file, reason, reason_size);
	if (!error && boot_case->files && boot_case->files[0])
		start_in_files(initramfs, description, &error);
	if (!error && boot_case->tree)
		error = add_source_tree(initramfs, job, boot_case->tree, description, reason, reason_size);
	return error;
}

static int add_description(struct initramfs *initramfs, const json_t *description)
{
	char *text = json_dumps(description, JSON_COMPACT | JSON_SORT_KEYS);
	int error = text ? initramfs_add_data(initramfs, "/job.json", text, strlen(text), 0644) : -ENOMEM;

	free(text);
	return error;
}

int guest_job_add(struct initramfs *initramfs, const struct guest_job *job, char *reason, size_t reason_size)
{
	json_t *description = json_pack("{s:[], s:[], s:[], s:b}", "cases", "send", "modules", "interactive", job->interactive);
	int error = description ? 0 : -ENOMEM;

	reason[0] = '\0';
	for (size_t i = 0; i < job->case_count && !error; i++)
		error = add_case(initramfs, job, &job->cases[i], json_object_get(description, "cases"), reason, reason_size);
	append_all(json_object_get(description, "send"), job->send);
	for (size_t i = 0; i < job->case_count; i++)
		if (job->cases[i].tree)
			json_object_set_new(description, "read_only", json_pack("[s]", TOOLCHAIN_DIRECTORY));
	if (!error && job->kernel->modules)
		error = guest_modules_add(initramfs, job->kernel->modules, driver_modules,
					  json_object_get(description, "modules"), reason, reason_size);
	if (!error)
		error = add_description(initramfs, description);
	json_decref(description);
	if (error && !reason[0])
		snprintf(reason, reason_size, "initramfs: %s", strerror(-error));
	return error;
}
