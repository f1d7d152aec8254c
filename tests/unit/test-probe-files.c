// SPDX-License-Identifier: GPL-2.0-or-later
/* The probes that read /proc and /sys, against captured trees of several machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/probe/interrupts.h"
#include "runner/probe/probe.h"
#include "runner/probe/stat.h"
#include "runner/probe/vmstat.h"

#define MACHINES "tests/fixtures/machines/"

static char *reading(const char *machine, const char *when, const char *path)
{
	char root[256], *text;

	snprintf(root, sizeof(root), MACHINES "%s/%s", machine, when);
	probe_root = root;
	assert_int_equal(probe_read_file(path, &text), 0);
	probe_root = "";
	return text;
}

static long long integer(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("no integer %s", key);
	return json_integer_value(value);
}

static json_t *interrupts_of(const char *machine, const char *when)
{
	char *text = reading(machine, when, "/proc/interrupts");
	json_t *rows = interrupts_parse(text);

	free(text);
	assert_non_null(rows);
	return rows;
}

struct objects {
	json_t *counts, *per_cpu, *missing;
};

static struct objects objects_new(void)
{
	return (struct objects){ json_object(), json_object(), json_object() };
}

static void objects_free(struct objects *objects)
{
	json_decref(objects->counts);
	json_decref(objects->per_cpu);
	json_decref(objects->missing);
}

static void known_shootdowns_with_a_cpu_offline(void **state)
{
	json_t *before = interrupts_of("x86-guest-4cpu-one-offline", "before");
	json_t *after = interrupts_of("x86-guest-4cpu-one-offline", "after"), *each;
	struct objects objects = objects_new();

	(void)state;
	interrupts_difference(before, after, objects.counts, objects.per_cpu, objects.missing);
	assert_int_equal(json_object_size(objects.counts), 4);
	assert_int_equal(integer(objects.counts, "interrupts.TLB:TLB_shootdowns"), 2002);
	assert_int_equal(integer(objects.counts, "interrupts.CAL:Function_call_interrupts"), 4 + 1006 + 1015);
	each = json_object_get(objects.per_cpu, "interrupts.TLB:TLB_shootdowns");
	assert_int_equal(json_object_size(each), 3);
	assert_int_equal(integer(each, "3"), 1001);
	assert_null(json_object_get(each, "2"));
	assert_int_equal(json_object_size(objects.missing), 0);
	objects_free(&objects);
	json_decref(before);
	json_decref(after);
}

static void arm64_rows_by_name(void **state)
{
	json_t *before = interrupts_of("arm64-4cpu", "before"), *after = interrupts_of("arm64-4cpu", "after");
	struct objects objects = objects_new();

	(void)state;
	interrupts_difference(before, after, objects.counts, objects.per_cpu, objects.missing);
	assert_int_equal(json_object_size(objects.counts), 6);
	assert_int_equal(integer(objects.counts, "interrupts.IPI0:Rescheduling_interrupts"), 5);
	assert_int_equal(integer(objects.counts, "interrupts.IPI1:Function_call_interrupts"), 10);
	/* It has no TLB row to miss. */
	assert_int_equal(json_object_size(objects.missing), 0);
	objects_free(&objects);
	json_decref(before);
	json_decref(after);
}

/* A label is matched whole, and a row is read only when it has a number for each CPU. */
static void strange_rows(void **state)
{
	json_t *rows = interrupts_parse("           CPU0       CPU1\n"
					" TLBX:          1          2   Not the row\n"
					"XTLB:          1          2   Not either\n"
					" TLB:          3              TLB shootdowns\n"
					" CAL:          3          4   Function call interrupts  \n"
					" RES: 5 6\n"
					" LOC:          7         99x  Local timer interrupts\n"
					" ERR:          0\n"
					"no colon\n:\n");

	(void)state;
	assert_int_equal(json_object_size(rows), 2);
	assert_int_equal(integer(json_object_get(rows, "interrupts.CAL:Function_call_interrupts"), "1"), 4);
	assert_int_equal(integer(json_object_get(rows, "interrupts.RES:"), "0"), 5);
	json_decref(rows);
	assert_null(interrupts_parse(""));
	assert_null(interrupts_parse("\n\n"));
	assert_null(interrupts_parse(" TLB: 1 2 TLB shootdowns\n"));
}

static void a_cpu_that_leaves_makes_the_row_missing(void **state)
{
	json_t *before = interrupts_parse("   CPU0 CPU1\n TLB: 1 2 TLB shootdowns\n CAL: 9 9 Function call interrupts\n");
	json_t *after = interrupts_parse("   CPU0\n TLB: 5 TLB shootdowns\n CAL: 8 Function call interrupts\n");
	struct objects objects = objects_new();

	(void)state;
	interrupts_difference(before, after, objects.counts, objects.per_cpu, objects.missing);
	assert_int_equal(json_object_size(objects.counts), 0);
	assert_int_equal(json_object_size(objects.per_cpu), 0);
	assert_non_null(json_object_get(objects.missing, "interrupts.TLB:TLB_shootdowns"));
	assert_non_null(json_object_get(objects.missing, "interrupts.RES"));
	objects_free(&objects);
	json_decref(before);
	json_decref(after);
}

static void vmstat_of_known_shootdowns(void **state)
{
	char *before = reading("x86-guest-4cpu-one-offline", "before", "/proc/vmstat");
	char *after = reading("x86-guest-4cpu-one-offline", "after", "/proc/vmstat");
	json_t *counts = json_object(), *missing = json_object();

	(void)state;
	vmstat_difference(before, after, counts, missing);
	assert_int_equal(integer(counts, "proc-vmstat.nr_tlb_remote_flush"), 1012);
	assert_int_equal(integer(counts, "proc-vmstat.nr_tlb_remote_flush_received"), 2002);
	assert_true(integer(counts, "proc-vmstat.pgfault") > 1000);
	assert_int_equal(json_object_size(missing), 0);
	assert_null(json_object_get(counts, "proc-vmstat.nr_free_pages"));
	assert_null(json_object_get(counts, "proc-vmstat.nr_anon_pages"));
	assert_null(json_object_get(counts, "proc-vmstat.nr_dirty_threshold"));
	assert_null(json_object_get(counts, "proc-vmstat.workingset_nodes"));
	json_decref(counts);
	json_decref(missing);
	free(before);
	free(after);
}

static void a_kernel_without_tlb_counters_says_so(void **state)
{
	char *text = reading("x86-kvm-2cpu", "before", "/proc/vmstat");
	json_t *counts = json_object(), *missing = json_object();

	(void)state;
	vmstat_difference(text, text, counts, missing);
	assert_null(json_object_get(counts, "proc-vmstat.nr_tlb_remote_flush"));
	assert_non_null(json_object_get(missing, "proc-vmstat.nr_tlb_remote_flush"));
	assert_int_equal(json_object_size(missing), 4);
	assert_int_equal(integer(counts, "proc-vmstat.pgfault"), 0);
	json_decref(counts);
	json_decref(missing);
	free(text);
}

static void what_is_no_count_is_no_count(void **state)
{
	json_t *counts = json_object(), *missing = json_object();

	(void)state;
	vmstat_difference("pgfault 10\nfell 5\n", "pgfault 12\nfell 4\nnew 7\nbad x\nalone\nnr_free_pages 3\n", counts, missing);
	assert_int_equal(json_object_size(counts), 1);
	assert_int_equal(integer(counts, "proc-vmstat.pgfault"), 2);
	assert_non_null(json_object_get(missing, "proc-vmstat.fell"));
	assert_non_null(json_object_get(missing, "proc-vmstat.new"));
	json_decref(counts);
	json_decref(missing);
}

static void times_and_switches(void **state)
{
	const char *before = "cpu  10 0 20 300 0 1 2 3 0 0\ncpu0 10 0 20 300 0 1 2 3 0 0\nintr 5\nctxt 1000\nbtime 1\n";
	const char *after = "cpu  60 0 45 299 0 1 2 53 0 0\ncpu0 60 0 45 299 0 1 2 53 0 0\nintr 9\nctxt 1234\nbtime 1\n";
	struct objects objects = objects_new();

	(void)state;
	assert_int_equal(stat_context_switches(before, after, objects.counts), 0);
	assert_int_equal(integer(objects.counts, "sched.context_switches"), 234);
	assert_int_equal(stat_times(before, after, 100, objects.counts, objects.per_cpu), 0);
	assert_true(json_real_value(json_object_get(objects.counts, "machine.steal_time")) == 0.5);
	assert_true(json_real_value(json_object_get(objects.counts, "machine.system_time")) == 0.25);
	assert_true(json_real_value(json_object_get(json_object_get(objects.per_cpu, "machine.user_time"), "0")) == 0.5);
	assert_int_equal(stat_context_switches("", after, objects.counts), -ENOENT);
	assert_int_equal(stat_times("cpu 1 2\n", after, 100, objects.counts, objects.per_cpu), -ENOENT);
	objects_free(&objects);
}

static const struct probe *probe_named(const char *name)
{
	for (const struct probe *const *probe = probe_next(NULL); probe; probe = probe_next(probe))
		if (!strcmp((*probe)->name, name))
			return *probe;
	fail_msg("no probe %s", name);
	return NULL;
}

static void size_of_mm_struct(void **state)
{
	const struct probe *memory = probe_named("memory");
	json_t *facts = json_object(), *missing = json_object();

	(void)state;
	probe_root = MACHINES "x86-guest-4cpu-one-offline/before";
	memory->facts(facts, missing);
	assert_int_equal(integer(facts, "memory.mm_struct_object_size"), 1280);
	json_object_clear(facts);
	/* Without the slab's folder in /sys, /proc/slabinfo tells. */
	probe_root = MACHINES "x86-kvm-2cpu/before";
	memory->facts(facts, missing);
	assert_int_equal(integer(facts, "memory.mm_struct_object_size"), 1600);
	assert_int_equal(json_object_size(missing), 0);
	json_object_clear(facts);
	probe_root = MACHINES "arm64-4cpu/before";
	memory->facts(facts, missing);
	probe_root = "";
	assert_int_equal(json_object_size(facts), 0);
	assert_non_null(json_object_get(missing, "memory.mm_struct_object_size"));
	json_decref(facts);
	json_decref(missing);
}

/* A file that cannot be read is missing with its reason, and nothing of it is counted. */
static void an_unreadable_file_is_missing(void **state)
{
	static const char *const names[] = { "default", NULL };
	const struct probe_environment environment = { 0 };
	const struct probe_usage usage = { 0 };
	struct objects objects = objects_new();
	struct probe_report report = {
		.counts = objects.counts, .per_cpu = objects.per_cpu, .missing = objects.missing, .workers = &usage,
	};
	struct probe_set *set;

	(void)state;
	probe_root = MACHINES "no-such-machine";
	set = probes_open(names, &environment);
	assert_non_null(set);
	probes_begin(set);
	probes_end(set);
	probes_report(set, &report);
	probes_close(set);
	probe_root = "";
	assert_non_null(json_object_get(objects.missing, "interrupts"));
	assert_non_null(json_object_get(objects.missing, "proc-vmstat"));
	assert_non_null(json_object_get(objects.missing, "sched.context_switches"));
	assert_int_equal(json_object_size(objects.per_cpu), 0);
	assert_null(json_object_get(objects.counts, "sched.context_switches"));
	assert_non_null(json_object_get(objects.counts, "time.elapsed_time"));
	objects_free(&objects);
}

static void names_of_probes(void **state)
{
	static const struct {
		const char *name, *says;
	} mistakes[] = {
		{ "interupts", "no probe is called 'interupts'; did you mean 'interrupts'?" },
		{ "perf", "'perf' wants an event: perf:EVENT" },
		{ "vmstat:x", "'vmstat:x': vmstat takes no argument" },
		{ "perf:cyles", "no event is called 'cyles'; did you mean 'cycles'?" },
	};
	static const char *const good[] = { "default", "interrupts", "perf:context-switches", "perf:cycles:k", NULL };
	char reason[256];

	(void)state;
	assert_int_equal(probes_check(good, reason, sizeof(reason)), 0);
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		const char *const names[] = { mistakes[i].name, NULL };

		assert_int_equal(probes_check(names, reason, sizeof(reason)), -EINVAL);
		assert_string_equal(reason, mistakes[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_shootdowns_with_a_cpu_offline),
		cmocka_unit_test(arm64_rows_by_name),
		cmocka_unit_test(strange_rows),
		cmocka_unit_test(a_cpu_that_leaves_makes_the_row_missing),
		cmocka_unit_test(vmstat_of_known_shootdowns),
		cmocka_unit_test(a_kernel_without_tlb_counters_says_so),
		cmocka_unit_test(what_is_no_count_is_no_count),
		cmocka_unit_test(times_and_switches),
		cmocka_unit_test(size_of_mm_struct),
		cmocka_unit_test(an_unreadable_file_is_missing),
		cmocka_unit_test(names_of_probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
