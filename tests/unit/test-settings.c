// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/common/files.h"
#include "runner/machine/settings.h"


static char state[] = "/tmp/shootdown-test-XXXXXX";

static int make_state(void **unused)
{
	(void)unused;
	return mkdtemp(state) && !setenv("XDG_STATE_HOME", state, 1) ? 0 : -1;
}

static int drop_state(void **unused)
{
	(void)unused;
	return remove_tree(state);
}

static const char *writable_sysctl(void)
{
	static const char *const names[] = { "kernel.hung_task_warnings", "kernel.printk_ratelimit_burst", "vm.stat_interval", NULL };

	for (const char *const *name = names; *name; name++) {
		const char *value;
		char *text = text_format("sysctl %s=7", *name), *path = settings_path(text, &value);
		int usable = !access(path, W_OK);

		free(path);
		free(text);
		if (usable)
			return *name;
	}
	return NULL;
}

static char *current(const char *name)
{
	const char *value;
	char *text = text_format("sysctl %s=0", name), *path = settings_path(text, &value), *content;

	assert_int_equal(read_file(path, 4096, &content, NULL), 0);
	free(path);
	free(text);
	return content;
}

static void paths(void **unused)
{
	const char *value;
	char *path = settings_path("sysctl kernel.numa_balancing=1", &value);

	(void)unused;
	assert_string_equal(path, "/proc/sys/kernel/numa_balancing");
	assert_string_equal(value, "1");
	free(path);
	path = settings_path("file /sys/kernel/mm/transparent_hugepage/enabled=never", &value);
	assert_string_equal(path, "/sys/kernel/mm/transparent_hugepage/enabled");
	free(path);
	assert_null(settings_path("file /etc/passwd=x", &value));
	assert_null(settings_path("file /sys/../etc/passwd=x", &value));
	assert_null(settings_path("kernel.numa_balancing=1", &value));
	assert_null(settings_path("sysctl kernel.numa_balancing", &value));
}

static void put_back_when_done(void **unused)
{
	const char *name = writable_sysctl();
	char *texts[] = { NULL, NULL }, reason[256] = "", *before, *during, *after;
	struct settings *applied;

	(void)unused;
	if (!name)
		skip();
	before = current(name);
	texts[0] = text_format("sysctl %s=7", name);
	assert_int_equal(settings_apply(texts, &applied, reason, sizeof(reason)), 0);
	during = current(name);
	assert_string_equal(during, "7\n");
	assert_int_equal(settings_restore(applied), 0);
	after = current(name);
	assert_string_equal(after, before);
	free(before);
	free(during);
	free(after);
	free(texts[0]);
}

/* One wrong text among good ones: nothing stays changed. */
static void all_or_nothing(void **unused)
{
	const char *name = writable_sysctl();
	char *texts[] = { NULL, "sysctl kernel.no_such_thing=1", NULL }, reason[256] = "", *before, *after;
	struct settings *applied;

	(void)unused;
	if (!name)
		skip();
	before = current(name);
	texts[0] = text_format("sysctl %s=7", name);
	assert_int_equal(settings_apply(texts, &applied, reason, sizeof(reason)), -ENOENT);
	assert_non_null(strstr(reason, "no_such_thing"));
	after = current(name);
	assert_string_equal(after, before);
	free(before);
	free(after);
	free(texts[0]);
}

/* A process that dies without a chance leaves a journal from which the value comes back. */
static void journal_after_a_kill(void **unused)
{
	const char *name = writable_sysctl();
	char *texts[] = { NULL, NULL }, reason[256] = "", *before, *after;
	struct settings *applied;
	unsigned int count;
	pid_t pid;

	(void)unused;
	if (!name)
		skip();
	before = current(name);
	texts[0] = text_format("sysctl %s=7", name);
	pid = fork();
	if (!pid)
		_exit(settings_apply(texts, &applied, reason, sizeof(reason)) ? 1 : 0);
	waitpid(pid, NULL, 0);
	after = current(name);
	assert_string_equal(after, "7\n");
	free(after);
	assert_int_equal(settings_restore_journal(&count, reason, sizeof(reason)), 0);
	assert_int_equal(count, 1);
	after = current(name);
	assert_string_equal(after, before);
	free(after);
	/* Killed again: the next run must not take 7 for the old value. */
	pid = fork();
	if (!pid)
		_exit(settings_apply(texts, &applied, reason, sizeof(reason)) ? 1 : 0);
	waitpid(pid, NULL, 0);
	assert_int_equal(settings_apply(texts, &applied, reason, sizeof(reason)), 0);
	assert_int_equal(settings_restore(applied), 0);
	after = current(name);
	assert_string_equal(after, before);
	free(before);
	free(after);
	free(texts[0]);
}

/* While somebody's settings are in force nobody else gets any, and nobody puts them back. */
static void one_at_a_time(void **unused)
{
	const char *name = writable_sysctl();
	char *texts[] = { NULL, NULL }, reason[256] = "";
	struct settings *applied, *other;
	unsigned int count;
	int status;
	pid_t pid;

	(void)unused;
	if (!name)
		skip();
	texts[0] = text_format("sysctl %s=7", name);
	assert_int_equal(settings_apply(texts, &applied, reason, sizeof(reason)), 0);
	pid = fork();
	if (!pid)
		_exit(settings_apply(texts, &other, reason, sizeof(reason)) == -EBUSY &&
		      settings_restore_journal(&count, reason, sizeof(reason)) == -EBUSY && strstr(reason, "process ") ? 0 : 1);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(settings_restore(applied), 0);
	assert_int_equal(settings_restore_journal(&count, reason, sizeof(reason)), 0);
	assert_int_equal(count, 0);
	free(texts[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths), cmocka_unit_test(put_back_when_done), cmocka_unit_test(all_or_nothing),
		cmocka_unit_test(journal_after_a_kill), cmocka_unit_test(one_at_a_time),
	};

	return cmocka_run_group_tests(tests, make_state, drop_state);
}
