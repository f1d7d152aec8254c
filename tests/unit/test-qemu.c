// SPDX-License-Identifier: GPL-2.0-or-later
/* The QEMU command line: CPUs, memory and nodes add up, and nothing of the host is in it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runner/lane/guest-boot.h"
#include "runner/lane/host-tsc.h"
#include "runner/lane/kernel-image.h"
#include "runner/lane/qemu.h"

static struct qemu_options guest(unsigned int cpus, unsigned int nodes, uint64_t memory)
{
	return (struct qemu_options){
		.machine = qemu_machine_find("x86-64"), .accelerator = "tcg,thread=multi", .cpus = cpus, .nodes = nodes,
		.memory_bytes = memory, .kernel = "kernel", .initrd = "initrd", .append = "a b,c", .console = 5, .second_port = 6,
		.channel = 7,
	};
}

static bool has(char **argv, const char *text)
{
	for (; *argv; argv++)
		if (!strcmp(*argv, text))
			return true;
	return false;
}

static void splits_add_up(void **state)
{
	(void)state;
	for (unsigned int nodes = 1; nodes <= 8; nodes++) {
		for (unsigned int cpus = nodes; cpus <= 64; cpus++) {
			uint64_t memory = ((uint64_t)768 + cpus) << 20, sum = 0;
			struct qemu_topology topology;

			for (unsigned int node = 0; node < nodes; node++) {
				assert_true(qemu_node_first_cpu(cpus, nodes, node) < qemu_node_first_cpu(cpus, nodes, node + 1));
				assert_int_equal(qemu_node_memory(memory, nodes, node) % ((uint64_t)1 << 20), 0);
				sum += qemu_node_memory(memory, nodes, node);
			}
			assert_int_equal(qemu_node_first_cpu(cpus, nodes, nodes), cpus);
			assert_true(sum == memory);
			qemu_topology(cpus, nodes, &topology);
			assert_int_equal(topology.sockets * topology.cores, cpus);
			/* No socket on two nodes. */
			assert_true(topology.sockets == nodes || topology.cores == 1);
		}
	}
}

static void a_guest_with_nodes(void **state)
{
	struct qemu_options options = guest(4, 2, (uint64_t)512 << 20);
	char **argv;

	(void)state;
	assert_int_equal(qemu_argv(&options, &argv), 0);
	assert_string_equal(argv[0], "qemu-system-x86_64");
	assert_true(has(argv, "-nodefaults"));
	assert_true(has(argv, "-no-user-config"));
	assert_true(has(argv, "-no-reboot"));
	assert_true(has(argv, "4,sockets=2,cores=2,threads=1"));
	assert_true(has(argv, "memory-backend-ram,id=memory0,size=256M"));
	assert_true(has(argv, "node,nodeid=0,memdev=memory0,cpus=0-1"));
	assert_true(has(argv, "node,nodeid=1,memdev=memory1,cpus=2-3"));
	assert_true(has(argv, "socket,id=channel,fd=7"));
	assert_true(has(argv, "a b,c"));
	qemu_argv_free(argv);
}

static void a_guest_without_devices(void **state)
{
	struct qemu_options options = guest(1, 1, (uint64_t)128 << 20);
	static const char *const extra[] = { "-icount", "shift=1,sleep=off", NULL };
	char **argv;

	(void)state;
	options.console = options.second_port = options.channel = -1;
	options.initrd = NULL;
	options.extra = extra;
	assert_int_equal(qemu_argv(&options, &argv), 0);
	assert_false(has(argv, "-chardev"));
	assert_false(has(argv, "-numa"));
	assert_false(has(argv, "-initrd"));
	assert_true(has(argv, "shift=1,sleep=off"));
	qemu_argv_free(argv);
}

static void impossible_guests(void **state)
{
	struct qemu_options options[] = {
		guest(0, 1, (uint64_t)512 << 20), guest(1, 0, (uint64_t)512 << 20), guest(1, 2, (uint64_t)512 << 20),
		guest(4, 4, (uint64_t)4 << 20), guest(1, 1, ((uint64_t)512 << 20) + 1),
	};
	char **argv;

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		assert_int_equal(qemu_argv(&options[i], &argv), -EINVAL);
	assert_null(qemu_machine_find("vax"));
}

static void the_command_line_of_the_kernel(void **state)
{
	struct kernel kernel = { .boot_parameters = "mitigations=off" };
	const struct qemu_machine *machine = qemu_machine_find("x86-64");
	char *line = guest_command_line(machine, &kernel, false, "numa_balancing=1"), expected[128];

	(void)state;
	assert_string_equal(line, "console=ttyS0 nokaslr panic=-1 oops=panic mitigations=off numa_balancing=1");
	free(line);
	line = guest_command_line(machine, NULL, true, NULL);
	/* Where this machine has no such counter, the guest is left to measure it. */
	if (host_tsc_khz())
		snprintf(expected, sizeof(expected), "console=ttyS0 nokaslr no_timer_check tsc_early_khz=%u panic=-1 oops=panic", host_tsc_khz());
	else
		snprintf(expected, sizeof(expected), "console=ttyS0 nokaslr no_timer_check panic=-1 oops=panic");
	assert_string_equal(line, expected);
	free(line);
	line = guest_command_line(qemu_machine_find("arm64"), NULL, true, NULL);
	assert_string_equal(line, "console=ttyAMA0 nokaslr panic=-1 oops=panic");
	free(line);
}

static void what_is_no_kernel(void **state)
{
	(void)state;
	assert_int_equal(kernel_image_unpack("/proc/self/exe", "/nowhere/kernel"), -ENOEXEC);
	assert_int_equal(kernel_image_unpack("/dev/null", "/nowhere/kernel"), -ENOEXEC);
	assert_int_equal(kernel_image_unpack("/nowhere", "/nowhere/kernel"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits_add_up),
		cmocka_unit_test(a_guest_with_nodes),
		cmocka_unit_test(a_guest_without_devices),
		cmocka_unit_test(impossible_guests),
		cmocka_unit_test(the_command_line_of_the_kernel),
		cmocka_unit_test(what_is_no_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
