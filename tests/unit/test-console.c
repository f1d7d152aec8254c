// SPDX-License-Identifier: GPL-2.0-or-later
/* The console watcher: what kernels say in trouble is recognised, what they say otherwise is not; the log stays small. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "runner/lane/console.h"

static const struct {
	const char *line;
	enum boot_outcome outcome;
} lines[] = {
	{ "[    1.234567] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)", BOOT_PANIC },
	{ "[    1.234567][    T1] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000009", BOOT_PANIC },
	{ "Kernel panic - not syncing: sysrq triggered crash", BOOT_PANIC },
	{ "[    9.000000] Kernel panic - not syncing: System is deadlocked on memory", BOOT_OUT_OF_MEMORY },
	{ "[   12.000001] BUG: kernel NULL pointer dereference, address: 0000000000000000", BOOT_OOPS },
	{ "[   12.000001] BUG: unable to handle page fault for address: ffffc900001d4000", BOOT_OOPS },
	{ "[   12.000001] Oops: general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP", BOOT_OOPS },
	{ "[   12.000001] Oops: 0002 [#1] PREEMPT SMP", BOOT_OOPS },
	{ "[   12.000001] general protection fault: 0000 [#1] SMP", BOOT_OOPS },
	{ "[   12.000001] kernel BUG at mm/rmap.c:1234!", BOOT_OOPS },
	{ "[   12.000001] Unable to handle kernel paging request at virtual address ffff800080000000", BOOT_OOPS },
	{ "[   12.000001] Internal error: Oops: 0000000096000045 [#1] SMP", BOOT_OOPS },
	{ "[   12.000001] BUG: Bad page state in process cc  pfn:12345", BOOT_OOPS },
	{ "[   12.000001] WARNING: CPU: 1 PID: 77 at mm/rmap.c:612 try_to_unmap_flush+0x12/0x30", BOOT_WARN },
	{ "[   12.000001] WARNING: mm/rmap.c:612 at try_to_unmap_flush+0x12/0x30, CPU#1: cc/77", BOOT_WARN },
	{ "[   12.000001] WARNING: possible circular locking dependency detected", BOOT_WARN },
	{ "[   12.000001] UBSAN: array-index-out-of-bounds in mm/slub.c:12:3", BOOT_WARN },
	{ "[   60.000001] watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [cc:123]", BOOT_HANG },
	{ "[   60.000001] rcu: INFO: rcu_sched self-detected stall on CPU", BOOT_HANG },
	{ "[   60.000001] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", BOOT_HANG },
	{ "[  240.000001] INFO: task cc:12 blocked for more than 120 seconds.", BOOT_HANG },
	{ "[   60.000001] watchdog: CPU0: Watchdog detected hard LOCKUP on cpu 0", BOOT_HANG },
	{ "[   12.000001] Out of memory: Killed process 88 (tail) total-vm:903648kB, anon-rss:901456kB", BOOT_OUT_OF_MEMORY },
	{ "[   12.000001] Memory cgroup out of memory: Killed process 88 (tail) total-vm:903648kB", BOOT_OUT_OF_MEMORY },
	/* Not trouble. */
	{ "[    0.000000] Linux version 6.12.0", BOOT_OK },
	{ "[    0.000000] Kernel command line: console=ttyS0 panic=-1 oops=panic", BOOT_OK },
	{ "[    0.000000] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on", BOOT_OK },
	{ "[    0.000000] Warning: unable to open an initial console.", BOOT_OK },
	{ "[    0.000000] rcu: \tRCU restricting CPUs from NR_CPUS=256 to nr_cpu_ids=2.", BOOT_OK },
	{ "[    0.000000] rcu: RCU calculated value of scheduler-enlistment delay is 10 jiffies.", BOOT_OK },
	{ "[    0.000000] traps: cc[77] general protection fault ip:401000 sp:7ffe error:0 in cc", BOOT_OK },
	{ "[    0.000000] oom_reaper: reaped process 88 (tail), now anon-rss:0kB", BOOT_OK },
	{ "a workload talks of a Kernel panic - not syncing", BOOT_OK },
	{ "", BOOT_OK },
	{ "[", BOOT_OK },
	{ "[   1.0", BOOT_OK },
};

static void lines_are_told_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		enum boot_outcome outcome = console_classify(lines[i].line, strlen(lines[i].line));

		if (outcome != lines[i].outcome)
			fail_msg("'%s' is %s, not %s", lines[i].line, boot_outcome_name(lines[i].outcome), boot_outcome_name(outcome));
	}
}

static enum boot_outcome worst_of(const char *text)
{
	struct console console;
	enum boot_outcome outcome;

	assert_int_equal(console_init(&console, -1), 0);
	assert_int_equal(console_feed(&console, text, strlen(text)), 0);
	assert_int_equal(console_finish(&console), 0);
	outcome = console.event.outcome;
	console_free(&console);
	return outcome;
}

static bool suspect(const char *text)
{
	struct console console;
	bool is;

	assert_int_equal(console_init(&console, -1), 0);
	assert_int_equal(console_feed(&console, text, strlen(text)), 0);
	assert_int_equal(console_finish(&console), 0);
	is = console_event_is_stale_breakpoint(&console.event);
	console_free(&console);
	return is;
}

static void a_stale_breakpoint_is_the_emulators(void **state)
{
	(void)state;
	assert_true(suspect("[    1.199246] Oops: int3: 0000 [#1] SMP\n[    1.199702] RIP: 0010:sched_clock_cpu+0xe/0x190\n"));
	assert_true(suspect("[    1.199246] int3: 0000 [#1] SMP\n"));
	assert_false(suspect("[    1.199246] Oops: general protection fault: 0000 [#1] SMP\n[    1.2] Oops: int3: 0000 [#2] SMP\n"));
	assert_false(suspect("[    1.199246] int3: selftest passed\n"));
	assert_false(suspect("[ 1.0] WARNING: CPU: 0 PID: 1 at a.c:1 int3: 0000\n"));
}

static void the_cause_stays(void **state)
{
	(void)state;
	assert_int_equal(worst_of("[ 1.0] BUG: kernel NULL pointer dereference, address: 0\n"
				  "[ 1.1] Oops: 0000 [#1] SMP\n[ 1.2] Kernel panic - not syncing: Fatal exception\n"), BOOT_OOPS);
	assert_int_equal(worst_of("[ 1.0] WARNING: CPU: 0 PID: 1 at a.c:1 f+0x1/0x2\n[ 1.2] Kernel panic - not syncing: x\n"), BOOT_PANIC);
	assert_int_equal(worst_of("[ 1.0] Kernel panic - not syncing: x\n[ 1.2] WARNING: CPU: 0 PID: 1 at a.c:1 f+0x1/0x2\n"), BOOT_PANIC);
	assert_int_equal(worst_of("[ 1.0] Out of memory: Killed process 1 (x)\n"), BOOT_OUT_OF_MEMORY);
	/* The last line may lack its newline. */
	assert_int_equal(worst_of("[ 1.0] fine\n[ 1.0] Kernel panic - not syncing: x"), BOOT_PANIC);
}

static void lines_are_counted_and_named(void **state)
{
	static const char text[] = "one\r\ntwo\r\n[    1.5] WARNING: CPU: 0 PID: 1 at a.c:1 f+0x1/0x2\x1b[0m\r\nfour\r\n";
	struct console console;
	char detail[512];

	(void)state;
	assert_int_equal(console_init(&console, -1), 0);
	for (size_t i = 0; i < strlen(text); i++)
		assert_int_equal(console_feed(&console, text + i, 1), 0);
	console_event_text(&console.event, detail, sizeof(detail));
	assert_string_equal(detail, "WARNING: CPU: 0 PID: 1 at a.c:1 f+0x1/0x2?[0m; console line 3");
	assert_int_equal(console.since.outcome, BOOT_WARN);
	console_mark(&console);
	assert_int_equal(console.since.outcome, BOOT_OK);
	assert_int_equal(console.event.outcome, BOOT_WARN);
	console_free(&console);
}

static void a_flood_keeps_head_and_tail(void **state)
{
	int log = memfd_create("console", MFD_CLOEXEC);
	struct console console;
	char line[64], *text;
	off_t size;

	(void)state;
	assert_int_equal(console_init(&console, log), 0);
	for (int i = 0; i < 1000000; i++) {
		int length = snprintf(line, sizeof(line), "line %d of a flood, which is none of our business\n", i);

		assert_int_equal(console_feed(&console, line, (size_t)length), 0);
	}
	assert_int_equal(console_feed(&console, "Kernel panic - not syncing: x\n", 30), 0);
	assert_int_equal(console_finish(&console), 0);
	assert_int_equal(console.event.outcome, BOOT_PANIC);
	assert_int_equal(console.event.line, 1000001);
	size = lseek(log, 0, SEEK_END);
	assert_true(size < (off_t)(CONSOLE_HEAD_LIMIT + CONSOLE_TAIL_LIMIT + 200));
	text = calloc(1, (size_t)size + 1);
	assert_int_equal(pread(log, text, (size_t)size, 0), size);
	assert_true(!strncmp(text, "line 0 of", 9));
	assert_non_null(strstr(text, "bytes of the console were cut here]"));
	assert_non_null(strstr(text, "line 999999 of"));
	assert_true(!strcmp(text + size - 30, "Kernel panic - not syncing: x\n"));
	free(text);
	console_free(&console);
	close(log);
}

static void a_full_disk_is_told(void **state)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct console console;

	(void)state;
	if (full < 0)
		skip();
	assert_int_equal(console_init(&console, full), 0);
	assert_int_equal(console_feed(&console, "Kernel panic - not syncing: x\n", 30), -28);
	assert_int_equal(console.event.outcome, BOOT_PANIC);
	console_free(&console);
	close(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_told_apart),
		cmocka_unit_test(a_stale_breakpoint_is_the_emulators),
		cmocka_unit_test(the_cause_stays),
		cmocka_unit_test(lines_are_counted_and_named),
		cmocka_unit_test(a_flood_keeps_head_and_tail),
		cmocka_unit_test(a_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
