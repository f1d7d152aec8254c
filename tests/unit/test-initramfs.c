// SPDX-License-Identifier: GPL-2.0-or-later
/* The initramfs: the same entries make the same bytes, foreign paths are refused, programs bring what they need. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runner/common/files.h"
#include "runner/lane/elf-closure.h"
#include "runner/lane/initramfs.h"

static char directory[] = "/tmp/test-initramfs-XXXXXX";

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	return remove_tree(directory);
}

static char *in_directory(const char *name)
{
	return text_format("%s/%s", directory, name);
}

static void write_archive(bool other_order, const char *name)
{
	struct initramfs *initramfs;
	char *path = in_directory(name);

	assert_int_equal(initramfs_new(NULL, &initramfs), 0);
	for (int i = 0; i < 3; i++) {
		switch (other_order ? 2 - i : i) {
		case 0:
			assert_int_equal(initramfs_add_data(initramfs, "/a/deep/er/file", "content", 7, 0644), 0);
			break;
		case 1:
			assert_int_equal(initramfs_add_character_device(initramfs, "/dev/console", 5, 1), 0);
			break;
		case 2:
			assert_int_equal(initramfs_add_link(initramfs, "/a/link", "deep/er/file"), 0);
			break;
		}
	}
	assert_int_equal(initramfs_write(initramfs, NULL, path), 0);
	initramfs_free(initramfs);
	free(path);
}

static void the_same_bytes(void **state)
{
	char *one, *two, *path;
	size_t one_size, two_size;

	(void)state;
	write_archive(false, "one");
	sleep(1);	/* another second: no time may be in it */
	write_archive(true, "two");
	path = in_directory("one");
	assert_int_equal(read_file(path, 1 << 20, &one, &one_size), 0);
	free(path);
	path = in_directory("two");
	assert_int_equal(read_file(path, 1 << 20, &two, &two_size), 0);
	free(path);
	assert_int_equal(one_size, two_size);
	assert_memory_equal(one, two, one_size);
	free(one);
	free(two);
}

static void what_is_in_it(void **state)
{
	static const char *const expected[] = { "a", "a/deep", "a/deep/er", "a/deep/er/file", "a/link", "dev", "dev/console" };
	struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	char *path = in_directory("one");
	size_t count = 0;

	(void)state;
	archive_read_support_format_cpio(archive);
	assert_int_equal(archive_read_open_filename(archive, path, 65536), ARCHIVE_OK);
	while (archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
		assert_true(count < 7);
		assert_string_equal(archive_entry_pathname(entry), expected[count]);
		assert_int_equal(archive_entry_uid(entry), 0);
		assert_int_equal(archive_entry_mtime(entry), 0);
		if (count == 4)
			assert_string_equal(archive_entry_symlink(entry), "deep/er/file");
		if (count == 6) {
			assert_int_equal(archive_entry_rdevmajor(entry), 5);
			assert_int_equal(archive_entry_rdevminor(entry), 1);
		}
		count++;
	}
	assert_int_equal(count, 7);
	archive_read_free(archive);
	free(path);
}

static void foreign_paths_are_refused(void **state)
{
	static const char *const paths[] = { "relative", "/", "", "/../etc", "/a/../b", "/a/..", "/a//b", "/a/", "/./a", "/a/." };
	struct initramfs *initramfs;

	(void)state;
	assert_int_equal(initramfs_new(NULL, &initramfs), 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_int_equal(initramfs_add_data(initramfs, paths[i], "x", 1, 0644), -EINVAL);
	/* Dots that are part of a name are no trouble. */
	assert_int_equal(initramfs_add_data(initramfs, "/a/..b", "x", 1, 0644), 0);
	initramfs_free(initramfs);
}

static void one_path_has_one_content(void **state)
{
	struct initramfs *base, *initramfs;

	(void)state;
	assert_int_equal(initramfs_new(NULL, &base), 0);
	assert_int_equal(initramfs_add_data(base, "/lib/x", "1", 1, 0644), 0);
	assert_int_equal(initramfs_new(base, &initramfs), 0);
	assert_int_equal(initramfs_add_data(initramfs, "/lib/x", "1", 1, 0644), 0);
	assert_int_equal(initramfs_add_data(initramfs, "/lib/x", "2", 1, 0644), -EEXIST);
	assert_int_equal(initramfs_add_data(initramfs, "/lib/x/y", "2", 1, 0644), -EEXIST);
	assert_true(initramfs_has(initramfs, "/lib/x"));
	assert_false(initramfs_has(initramfs, "/lib/y"));
	initramfs_free(initramfs);
	initramfs_free(base);
}

static void a_program_brings_its_libraries(void **state)
{
	struct initramfs *initramfs;
	struct elf_closure closure;
	char reason[512];

	(void)state;
	/* This test itself: it needs cmocka, jansson and many more. */
	assert_int_equal(elf_closure("/proc/self/exe", &closure, reason, sizeof(reason)), 0);
	assert_non_null(closure.interpreter);
	assert_true(closure.count >= 3);
	for (size_t i = 0; i < closure.count; i++) {
		assert_true(closure.libraries[i].path[0] == '/');
		if (i)
			assert_true(strcmp(closure.libraries[i - 1].name, closure.libraries[i].name) < 0);
	}
	assert_int_equal(initramfs_new(NULL, &initramfs), 0);
	assert_int_equal(initramfs_add_program(initramfs, "/workloads/self", "/proc/self/exe", reason, sizeof(reason)), 0);
	assert_true(initramfs_has(initramfs, closure.interpreter));
	assert_true(initramfs_has(initramfs, "/lib/libc.so.6"));
	assert_true(initramfs_has(initramfs, "/lib/libcmocka.so.0"));
	initramfs_free(initramfs);
	elf_closure_free(&closure);
}

static void what_is_no_program(void **state)
{
	struct initramfs *initramfs;
	struct elf_closure closure;
	char reason[512], *path = in_directory("text"), *script = in_directory("script");
	static const char cut[] = "\x7f" "ELF\2\1\1\0\0\0\0\0\0\0\0\0";

	(void)state;
	assert_int_equal(write_file(path, "hello\n", 6), 0);
	assert_int_equal(write_file(script, "#!/bin/sh -e\nexit 0\n", 20), 0);
	assert_int_equal(elf_closure(path, &closure, reason, sizeof(reason)), -ENOEXEC);
	assert_int_equal(elf_closure("/nowhere", &closure, reason, sizeof(reason)), -ENOENT);
	assert_int_equal(initramfs_new(NULL, &initramfs), 0);
	assert_int_equal(initramfs_add_program(initramfs, "/exec/text", path, reason, sizeof(reason)), -ENOEXEC);
	assert_non_null(strstr(reason, "names its interpreter"));
	assert_int_equal(initramfs_add_program(initramfs, "/exec/script", script, reason, sizeof(reason)), 0);
	assert_true(initramfs_has(initramfs, "/bin/sh"));
	assert_int_equal(write_file(path, cut, sizeof(cut)), 0);
	assert_int_equal(elf_closure(path, &closure, reason, sizeof(reason)), -ENOEXEC);
	assert_null(elf_architecture(path));
	initramfs_free(initramfs);
	free(path);
	free(script);
}

static void an_archive_follows(void **state)
{
	static const char *const expected[] = { "a", "a/deep", "a/deep/er", "a/deep/er/file", "a/link", "dev", "dev/console", "own" };
	struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	struct initramfs *initramfs;
	char *behind = in_directory("one"), *path = in_directory("both"), *first, *both;
	size_t first_size, both_size, behind_size;

	(void)state;
	assert_int_equal(initramfs_new(NULL, &initramfs), 0);
	assert_int_equal(initramfs_add_data(initramfs, "/own", "mine", 4, 0600), 0);
	assert_int_equal(initramfs_write(initramfs, NULL, path), 0);
	assert_int_equal(read_file(path, 1 << 20, &first, &first_size), 0);
	assert_int_equal(initramfs_set_behind(initramfs, behind), 0);
	assert_int_equal(initramfs_write(initramfs, NULL, path), 0);
	initramfs_free(initramfs);
	assert_int_equal(read_file(path, 1 << 20, &both, &both_size), 0);
	assert_memory_equal(both, first, first_size);
	free(first);
	assert_int_equal(read_file(behind, 1 << 20, &first, &behind_size), 0);
	assert_int_equal(both_size, first_size + behind_size);
	assert_memory_equal(both + first_size, first, behind_size);
	/* The kernel looks for the next archive at a multiple of four. */
	assert_int_equal(first_size % 4, 0);
	archive_read_support_format_cpio(archive);
	assert_int_equal(archive_read_open_memory(archive, both + first_size, behind_size), ARCHIVE_OK);
	for (size_t i = 0; archive_read_next_header(archive, &entry) == ARCHIVE_OK; i++)
		assert_string_equal(archive_entry_pathname(entry), expected[i]);
	archive_read_free(archive);
	free(first);
	free(both);
	free(behind);
	free(path);
}

static void a_full_disk_leaves_nothing(void **state)
{
	struct initramfs *initramfs;
	char *path = in_directory("missing/archive");

	(void)state;
	assert_int_equal(initramfs_new(NULL, &initramfs), 0);
	assert_int_equal(initramfs_write(initramfs, NULL, path), -ENOENT);
	free(path);
	path = in_directory("archive");
	assert_int_equal(initramfs_write(initramfs, "/nowhere", path), -ENOENT);
	assert_false(file_exists(path));
	initramfs_free(initramfs);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_bytes),
		cmocka_unit_test(what_is_in_it),
		cmocka_unit_test(foreign_paths_are_refused),
		cmocka_unit_test(one_path_has_one_content),
		cmocka_unit_test(a_program_brings_its_libraries),
		cmocka_unit_test(what_is_no_program),
		cmocka_unit_test(an_archive_follows),
		cmocka_unit_test(a_full_disk_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
