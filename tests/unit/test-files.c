// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/common/files.h"
#include "runner/common/hash.h"
#include "runner/common/paths.h"

static char directory[] = "/tmp/shootdown-test-XXXXXX";

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int drop_directory(void **state)
{
	(void)state;
	return remove_tree(directory);
}

static void whole_files(void **state)
{
	char *path = text_format("%s/deep/er/file", directory), *folder = text_format("%s/deep/er", directory), *data, **names;
	size_t size;

	(void)state;
	assert_int_equal(write_file(path, "x", 1), -ENOENT);
	assert_int_equal(make_directories(folder), 0);
	assert_int_equal(write_file(path, "hello", 5), 0);
	assert_int_equal(read_file(path, 100, &data, &size), 0);
	assert_int_equal(size, 5);
	assert_string_equal(data, "hello");
	free(data);
	assert_int_equal(read_file(path, 4, &data, &size), -EFBIG);
	names = path_names(folder, "");
	/* Nothing but the file: no temporary is left. */
	assert_string_equal(names[0], "file");
	assert_null(names[1]);
	names_free(names);
	free(folder);
	free(path);
}

static void full_disk_keeps_the_old_file(void **state)
{
	char *data, *path = text_format("%s/kept", directory);

	(void)state;
	assert_int_equal(write_file("/dev/full/x", "y", 1), -ENOTDIR);
	assert_int_equal(write_file(path, "old", 3), 0);
	assert_int_equal(read_file(path, 10, &data, NULL), 0);
	assert_string_equal(data, "old");
	free(data);
	free(path);
}

static void tree_is_removed_without_following_links(void **state)
{
	char *outside = text_format("%s/outside", directory), *tree = text_format("%s/tree", directory);
	char *link = text_format("%s/tree/link", directory);

	(void)state;
	assert_int_equal(make_directories(tree), 0);
	assert_int_equal(write_file(outside, "z", 1), 0);
	assert_int_equal(symlink(directory, link), 0);
	assert_int_equal(remove_tree(tree), 0);
	assert_false(file_exists(tree));
	assert_true(file_exists(outside));
	assert_int_equal(remove_tree(tree), 0);
	free(outside);
	free(tree);
	free(link);
}

static void locks_name_their_holder(void **state)
{
	char *path = text_format("%s/lock", directory), holder[64] = "";
	int first, second;

	(void)state;
	assert_int_equal(lock_file(path, "somebody", false, &first, holder, sizeof(holder)), 0);
	assert_int_equal(lock_file(path, "another", false, &second, holder, sizeof(holder)), -EAGAIN);
	assert_string_equal(holder, "somebody");
	unlock_file(first);
	assert_int_equal(lock_file(path, "another", false, &second, holder, sizeof(holder)), 0);
	unlock_file(second);
	free(path);
}

static void hashes(void **state)
{
	char text[HASH_TEXT], same[HASH_TEXT];
	struct hash *hash = hash_new();
	json_t *one = json_pack("{s:i, s:i}", "a", 1, "b", 2), *two = json_pack("{s:i, s:i}", "b", 2, "a", 1);

	(void)state;
	/* SHA-256 of "abc", FIPS 180-2 appendix B.1. */
	hash_add(hash, "abc", 3);
	hash_finish(hash, text);
	assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	hash_json(one, text);
	hash_json(two, same);
	assert_string_equal(text, same);
	json_decref(one);
	json_decref(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_files), cmocka_unit_test(full_disk_keeps_the_old_file),
		cmocka_unit_test(tree_is_removed_without_following_links), cmocka_unit_test(locks_name_their_holder),
		cmocka_unit_test(hashes),
	};

	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
