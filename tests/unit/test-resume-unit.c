// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/common/files.h"
#include "runner/common/paths.h"
#include "runner/common/spawn.h"
#include "runner/machine/resume-unit.h"

static char units[] = "/tmp/shootdown-test-XXXXXX";

static int make_units(void **unused)
{
	(void)unused;
	return mkdtemp(units) && !setenv("SHOOTDOWN_UNIT_DIRECTORY", units, 1) ? 0 : -1;
}

static int drop_units(void **unused)
{
	(void)unused;
	return remove_tree(units);
}

static void words_are_quoted(void **unused)
{
	const char *argv[] = { "/bin/a b", "50%", "$HOME", "say \"so\"", "back\\slash", NULL };
	char *text = resume_unit_text(argv, "/some/100% dir", "/a \"b\"");

	(void)unused;
	assert_non_null(strstr(text, "\nExecStart=\"/bin/a b\" \"50%%\" \"$$HOME\" \"say \\\"so\\\"\" \"back\\\\slash\"\n"));
	assert_non_null(strstr(text, "\nWorkingDirectory=/some/100%% dir\n"));
	assert_non_null(strstr(text, "\nRequiresMountsFor=\"/a \\\"b\\\"\"\n"));
	assert_non_null(strstr(text, "\nEnvironment=\"PATH="));
	free(text);
}

static void installed_and_removed(void **unused)
{
	char *path = text_format("%s/" RESUME_UNIT, units), *link = text_format("%s/multi-user.target.wants/" RESUME_UNIT, units);
	char reason[256], *content;
	bool removed;

	(void)unused;
	assert_int_equal(resume_unit_remove(&removed), 0);
	assert_false(removed);
	for (int again = 0; again < 2; again++)
		assert_int_equal(resume_unit_install("[Unit]\n", reason, sizeof(reason)), 0);
	assert_int_equal(read_file(link, 100, &content, NULL), 0);
	assert_string_equal(content, "[Unit]\n");
	free(content);
	assert_int_equal(resume_unit_remove(&removed), 0);
	assert_true(removed);
	assert_false(file_exists(path));
	assert_int_not_equal(access(link, F_OK), 0);
	free(link);
	free(path);
}

static void of_which_campaign(void **unused)
{
	const char *argv[] = { "/bin/shootdown", "run", "--resume", "-o", "/results/a \"b\"", NULL };
	char *text = resume_unit_text(argv, "/", "/results"), reason[256];
	bool removed;

	(void)unused;
	assert_false(resume_unit_is_of_another("/results/other"));
	assert_int_equal(resume_unit_install(text, reason, sizeof(reason)), 0);
	assert_false(resume_unit_is_of_another("/results/a \"b\""));
	assert_true(resume_unit_is_of_another("/results/a"));
	assert_true(resume_unit_is_of_another("/results/other"));
	assert_int_equal(resume_unit_remove(&removed), 0);
	free(text);
}

/* What systemd itself says to it. */
static void systemd_takes_it(void **unused)
{
	const char *argv[] = { "/bin/true", "a b", "50%", "$HOME", NULL };
	char *tool = path_find_program("systemd-analyze"), *path = text_format("%s/" RESUME_UNIT, units), *output = NULL;
	const char *verify[] = { "systemd-analyze", "verify", path, NULL };
	const struct spawn_options options = { .input = -1, .error = SPAWN_INHERIT };
	char *text, reason[256];
	bool removed;
	int status = -1;

	(void)unused;
	if (!tool)
		skip();
	text = resume_unit_text(argv, units, units);
	assert_int_equal(resume_unit_install(text, reason, sizeof(reason)), 0);
	assert_int_equal(run_capture(verify, &options, 60000, 1 << 16, &output, &status), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(resume_unit_remove(&removed), 0);
	free(output);
	free(text);
	free(path);
	free(tool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_quoted), cmocka_unit_test(installed_and_removed), cmocka_unit_test(of_which_campaign), cmocka_unit_test(systemd_takes_it),
	};

	return cmocka_run_group_tests(tests, make_units, drop_units);
}
