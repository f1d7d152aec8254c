// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runner/common/spawn.h"

static const struct spawn_options quiet = { .input = -1, .output = -1, .error = -1 };

static void captures_output(void **state)
{
	const char *const argv[] = { "printf", "%s", "a b;$HOME", NULL };
	char *output;
	int status;

	(void)state;
	assert_int_equal(run_capture(argv, &quiet, 5000, 100, &output, &status), 0);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	assert_string_equal(output, "a b;$HOME");
	free(output);
}

static void names_what_cannot_start(void **state)
{
	const char *const argv[] = { "no-such-program-anywhere", NULL };
	struct child child;

	(void)state;
	assert_int_equal(spawn(argv, &quiet, &child), -ENOENT);
}

static void ends_a_stubborn_group(void **state)
{
	const char *const argv[] = { "sh", "-c", "trap '' TERM; sleep 100 & wait; sleep 100", NULL };
	struct timespec pause = { .tv_nsec = 200000000 };
	struct child child;
	pid_t group;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(spawn(argv, &quiet, &child), 0);
	group = child.pid;
	nanosleep(&pause, NULL);
	child_end(&child, 100);
	nanosleep(&pause, NULL);
	/* What the shell started has come to us; nobody of the group may be left once it is reaped. */
	for (int tries = 0; tries < 50 && !kill(-group, 0); tries++) {
		while (waitpid(-group, NULL, WNOHANG) > 0)
			;
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	assert_int_equal(kill(-group, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void limits_are_kept(void **state)
{
	const char *const loud[] = { "head", "-c", "100000", "/dev/zero", NULL };
	const char *const slow[] = { "sleep", "100", NULL };
	char *output;
	int status;

	(void)state;
	assert_int_equal(run_capture(loud, &quiet, 5000, 1000, &output, &status), -EFBIG);
	assert_int_equal(run_capture(slow, &quiet, 200, 1000, &output, &status), -ETIMEDOUT);
}

static void descriptors_do_not_leak(void **state)
{
	const char *const argv[] = { "sh", "-c", "ls /proc/self/fd | wc -l", NULL };
	int extra = open("/dev/null", O_RDONLY);
	char *output;
	int status;

	(void)state;
	assert_true(extra >= 0);
	assert_int_equal(run_capture(argv, &quiet, 5000, 1000, &output, &status), 0);
	/* 0, 1, 2 and the one that ls opens. */
	assert_int_equal(atoi(output), 4);
	free(output);
	close(extra);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captures_output), cmocka_unit_test(names_what_cannot_start), cmocka_unit_test(ends_a_stubborn_group),
		cmocka_unit_test(limits_are_kept), cmocka_unit_test(descriptors_do_not_leak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
