// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <string.h>
#include <sys/utsname.h>

#include "kernels/kernel.h"
#include "runner/common/build-id.h"
#include "runner/common/files.h"
#include "runner/lane/running-kernel.h"

#define ID_SIZE 20

/* One note behind another; returns the new size. */
static size_t add_note(char *notes, size_t size, const char *name, unsigned int type, unsigned int length, char fill)
{
	Elf64_Nhdr header = { .n_namesz = (unsigned int)strlen(name) + 1, .n_descsz = length, .n_type = type };
	size_t name_room = (header.n_namesz + 3) & ~3u, room = (length + 3) & ~3u;

	memcpy(notes + size, &header, sizeof(header));
	memset(notes + size + sizeof(header), 0, name_room + room);
	memcpy(notes + size + sizeof(header), name, header.n_namesz);
	memset(notes + size + sizeof(header) + name_room, fill, length);
	return size + sizeof(header) + name_room + room;
}

static void the_build_id_among_others(void **unused)
{
	char notes[256];
	size_t start, size, found_size = 0;
	const char *found;

	(void)unused;
	start = add_note(notes, 0, "Xen", 18, 8, 'x');
	start = add_note(notes, start, "Linux", 3, 5, 'l');
	size = add_note(notes, start, "GNU", NT_GNU_BUILD_ID, ID_SIZE, 'b');
	size = add_note(notes, size, "Linux", 257, 1, 'l');
	found = build_id_note(notes, size, &found_size);
	assert_ptr_equal(found, notes + start);
	assert_int_equal(found_size, sizeof(Elf64_Nhdr) + 4 + ID_SIZE);
	assert_null(build_id_note(notes, start, &found_size));
	assert_null(build_id_note(notes, 0, &found_size));
}

static void notes_that_lie(void **unused)
{
	char notes[256];
	size_t size = add_note(notes, 0, "GNU", NT_GNU_BUILD_ID, ID_SIZE, 'b'), found_size;
	Elf64_Nhdr header;

	(void)unused;
	for (size_t cut = 0; cut < size; cut++)
		assert_null(build_id_note(notes, cut, &found_size));
	memcpy(&header, notes, sizeof(header));
	header.n_descsz = UINT32_MAX;
	memcpy(notes, &header, sizeof(header));
	assert_null(build_id_note(notes, size, &found_size));
	header.n_descsz = ID_SIZE;
	header.n_namesz = UINT32_MAX - 2;
	memcpy(notes, &header, sizeof(header));
	assert_null(build_id_note(notes, size, &found_size));
}

static void parameters(void **unused)
{
	size_t count;

	(void)unused;
	assert_true(has_parameters("quiet xpfo=sync panic=1\n", "xpfo=sync", &count));
	assert_int_equal(count, 1);
	assert_true(has_parameters("a b c", " c  a ", &count));
	assert_int_equal(count, 2);
	assert_true(has_parameters("a", "", &count));
	assert_int_equal(count, 0);
	assert_false(has_parameters("xpfo=synchronous", "xpfo=sync", &count));
	assert_false(has_parameters("", "a", &count));
}

/* The kernel that runs is told from one that bears its release and is another build. */
static void a_name_is_not_enough(void **unused)
{
	char build_id[BUILD_ID_TEXT], image[] = "/proc/self/exe", reason[256] = "";
	struct utsname name;
	struct kernel kernels[] = {
		{ .label = "host", .identity = json_pack("{s:{s:s, s:s}}", "base", "source", "host", "version", "other") },
		{ .label = "host", .identity = NULL },
		{ .label = "namesake", .image = image },
		{ .label = "stranger", .image = image, .release = (char *)"0.0.1-nobody" },
	};
	bool running[4];

	(void)unused;
	if (build_id_running_text(build_id))
		skip();
	assert_int_equal(uname(&name), 0);
	kernels[0].release = kernels[1].release = kernels[2].release = name.release;
	kernels[1].identity = json_pack("{s:{s:s, s:s}, s:s}", "base", "source", "host", "version", name.version, "build_id", build_id);
	assert_int_equal(running_kernels(kernels, 4, running, reason, sizeof(reason)), 0);
	assert_false(running[0]);
	assert_true(running[1]);
	assert_false(running[2]);
	assert_false(running[3]);
	json_object_set_new(kernels[1].identity, "build_id", json_string("0123"));
	assert_int_equal(running_kernels(kernels, 4, running, reason, sizeof(reason)), 0);
	assert_false(running[1]);
	json_decref(kernels[0].identity);
	json_decref(kernels[1].identity);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_build_id_among_others), cmocka_unit_test(notes_that_lie), cmocka_unit_test(parameters),
		cmocka_unit_test(a_name_is_not_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
