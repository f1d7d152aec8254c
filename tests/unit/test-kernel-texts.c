// SPDX-License-Identifier: GPL-2.0-or-later
/* What the builder reads out of texts that others wrote: configs, git's complaints, build logs, images. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/kconfig.h"
#include "kernels/patches.h"
#include "kernels/ready.h"
#include "kernels/tree.h"

static void config_lines(void **state)
{
	json_t *symbols = json_object();
	char reason[128], *text;

	(void)state;
	assert_int_equal(kconfig_parse("# a comment\n\nCONFIG_A=y\nCONFIG_B=\"x y\"\n# CONFIG_C is not set\nCONFIG_N=12  \n# CONFIG_D is odd\n"
				       "CONFIG_C=y\nCONFIG_A=m", symbols, reason, sizeof(reason)), 0);
	assert_string_equal(kconfig_value(symbols, "CONFIG_A"), "m");
	assert_string_equal(kconfig_value(symbols, "CONFIG_B"), "\"x y\"");
	assert_string_equal(kconfig_value(symbols, "CONFIG_N"), "12");
	assert_string_equal(kconfig_value(symbols, "CONFIG_D"), "n");
	text = kconfig_text(symbols);
	/* The order is that of the lines that count: a choice takes the last one. */
	assert_string_equal(text, "CONFIG_B=\"x y\"\nCONFIG_N=12\nCONFIG_C=y\nCONFIG_A=m\n");
	free(text);
	json_decref(symbols);
}

static void config_faults(void **state)
{
	static const char *const bad[] = { "CONFIG_A=y\nA=y\n", "\nCONFIG_A\n", "ok\nCONFIG_=y\n", "x\nCONFIG_A=\n", "y\nCONFIG_a-b=y\n" };
	char reason[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *symbols = json_object();

		assert_int_equal(kconfig_parse(bad[i], symbols, reason, sizeof(reason)), -EINVAL);
		assert_memory_equal(reason, "line ", 5);
		json_decref(symbols);
	}
}

static void place_of_a_failure(void **state)
{
	static const char patch[] =
		"--- a/mm/mmap.c\n+++ b/mm/mmap.c\n@@ -640,2 +640,2 @@ x\n-a\n+b\n"
		"--- a/mm/rmap.c\n+++ b/mm/rmap.c\n@@ -12,2 +12,2 @@\n-a\n+b\n@@ -640 +640,2 @@ y\n-a\n+b\n";
	char place[128];

	(void)state;
	patch_failure("error: patch failed: mm/rmap.c:640\nerror: mm/rmap.c: patch does not apply", patch, place, sizeof(place));
	assert_string_equal(place, "mm/rmap.c, hunk 2 (line 640)");
	patch_failure("error: patch failed: mm/rmap.c:641\n", patch, place, sizeof(place));
	assert_string_equal(place, "mm/rmap.c, line 641");
	patch_failure("error: mm/nothing.c: does not exist in index\n", patch, place, sizeof(place));
	assert_string_equal(place, "mm/nothing.c: does not exist in index");
	patch_failure("", patch, place, sizeof(place));
	assert_string_equal(place, "git gives no reason");
	patch_failure("error: patch failed: ", patch, place, sizeof(place));
	patch_failure("error: patch failed: mm/rmap.c:640\n", "", place, sizeof(place));
	assert_string_equal(place, "mm/rmap.c, line 640");
}

static void error_of_a_log(void **state)
{
	unsigned int count;
	char *line;

	(void)state;
	line = log_summary("  CC      mm/rmap.o\nmm/rmap.c:7:2: error: expected ';'\nmm/rmap.c:9:1: error: again\n"
			   "make[3]: *** [scripts/Makefile.build:1: mm/rmap.o] Error 1\n", &count);
	assert_string_equal(line, "mm/rmap.c:7:2: error: expected ';'");
	assert_int_equal(count, 2);
	free(line);
	line = log_summary("ld: mm/rmap.o: undefined reference to `nothing'\nmake: *** [Makefile:1: vmlinux] Error 1", &count);
	assert_non_null(strstr(line, "undefined reference"));
	assert_int_equal(count, 1);
	free(line);
	line = log_summary("make: *** No rule to make target 'bzImage'.  Stop.\n", &count);
	assert_string_equal(line, "make: *** No rule to make target 'bzImage'.  Stop.");
	free(line);
	assert_null(log_summary("nothing to see\n", &count));
	assert_int_equal(count, 0);
}

static int inspect(const char *data, size_t size, const char **architecture, char **release)
{
	char path[] = "/tmp/test-kernel-image.XXXXXX";
	int code, fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	close(fd);
	code = image_inspect(path, architecture, release);
	unlink(path);
	return code;
}

static void heads_of_images(void **state)
{
	static char data[8192];
	const char *architecture;
	char *release;

	(void)state;
	assert_int_equal(inspect(data, sizeof(data), &architecture, &release), 0);
	assert_null(architecture);
	memcpy(data + 0x202, "HdrS", 4);
	data[0x20e] = 0x10;
	data[0x20f] = 0x10;
	strcpy(data + 0x200 + 0x1010, "6.12.117 (shootdown@shootdown) #1");
	assert_int_equal(inspect(data, sizeof(data), &architecture, &release), 0);
	assert_string_equal(architecture, "x86-64");
	assert_string_equal(release, "6.12.117");
	free(release);
	/* An offset beyond the file is no release, and no read beyond it. */
	data[0x20f] = 0x7f;
	assert_int_equal(inspect(data, sizeof(data), &architecture, &release), 0);
	assert_string_equal(release, "");
	free(release);
	memset(data, 0, sizeof(data));
	memcpy(data + 0x38, "ARM\x64", 4);
	strcpy(data + 5000, "Linux version 6.12.117 (x)");
	assert_int_equal(inspect(data, sizeof(data), &architecture, &release), 0);
	assert_string_equal(architecture, "arm64");
	assert_string_equal(release, "6.12.117");
	free(release);
	assert_int_equal(inspect("x", 1, &architecture, &release), 0);
	assert_null(architecture);
	assert_int_equal(image_inspect("/nowhere", &architecture, &release), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(config_lines),
		cmocka_unit_test(config_faults),
		cmocka_unit_test(place_of_a_failure),
		cmocka_unit_test(error_of_a_log),
		cmocka_unit_test(heads_of_images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
