// SPDX-License-Identifier: GPL-2.0-or-later
#include "qemu.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/spawn.h"

#define MIB ((uint64_t)1 << 20)
#define NODE_MEMORY_UNIT (2 * MIB)

static const struct qemu_machine machines[] = {
	{
		.architecture = "x86-64",
		.binary = "qemu-system-x86_64",
		.package = "qemu-system-x86",
		.machine = "pc",
		/* Five-level tables would come and go with the way the kernel is entered. */
		.tcg_cpu = "max,la57=off",
		.console = "ttyS0",
		.second_port = "isa-serial",
		.virtio_serial = "virtio-serial-pci",
		/* An unpacked kernel is entered behind its own KASLR: so that every kernel has the same layout, none has it. */
		.boot_parameters = "console=ttyS0 nokaslr",
		/* The kernel tells a broken timer from ticks that do not come in time. On a busy host that is a panic about nothing. */
		.host_clock_parameters = " no_timer_check",
		/* QEMU hands out the host's counter. A guest that is not run while it measures the rate finds a clock many times too fast. */
		.counter_rate_parameter = " tsc_early_khz=",
	},
	{
		.architecture = "arm64",
		.binary = "qemu-system-aarch64",
		.package = "qemu-system-arm",
		.machine = "virt,gic-version=3",
		.tcg_cpu = "neoverse-n1",
		.console = "ttyAMA0",
		.second_port = NULL,
		.virtio_serial = "virtio-serial-pci",
		.boot_parameters = "console=ttyAMA0 nokaslr",
		.host_clock_parameters = "",
	},
};

const struct qemu_machine *qemu_machine_find(const char *architecture)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (!strcmp(machines[i].architecture, architecture))
			return &machines[i];
	return NULL;
}

/*
 * A socket must not span nodes: the scheduler warns about a last-level cache
 * shared between nodes, and a warning is an outcome.
 */
void qemu_topology(unsigned int cpus, unsigned int nodes, struct qemu_topology *topology)
{
	topology->sockets = cpus % nodes ? cpus : nodes;
	topology->cores = cpus / topology->sockets;
}

unsigned int qemu_node_first_cpu(unsigned int cpus, unsigned int nodes, unsigned int node)
{
	return (unsigned int)((uint64_t)cpus * node / nodes);
}

uint64_t qemu_node_memory(uint64_t memory, unsigned int nodes, unsigned int node)
{
	uint64_t part = memory / nodes / NODE_MEMORY_UNIT * NODE_MEMORY_UNIT;

	return node + 1 < nodes ? part : memory - part * (nodes - 1);
}

/* A growing argument vector; running out of memory is remembered and reported once. */
struct arguments {
	char **values;
	size_t count, room;
	bool failed;
};

__attribute__((format(printf, 2, 3))) static void add(struct arguments *arguments, const char *format, ...)
{
	va_list list;
	char *text;

	if (arguments->count + 2 > arguments->room) {
		size_t room = arguments->room ? arguments->room * 2 : 64;
		char **values = realloc(arguments->values, room * sizeof(*values));

		if (!values) {
			arguments->failed = true;
			return;
		}
		arguments->values = values;
		arguments->room = room;
	}
	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	va_end(list);
	if (!text) {
		arguments->failed = true;
		return;
	}
	arguments->values[arguments->count++] = text;
	arguments->values[arguments->count] = NULL;
}

static void add_machine(struct arguments *arguments, const struct qemu_options *options)
{
	const struct qemu_machine *machine = options->machine;
	struct qemu_topology topology;

	qemu_topology(options->cpus, options->nodes, &topology);
	add(arguments, "%s", machine->binary);
	add(arguments, "-nodefaults");
	add(arguments, "-no-user-config");
	add(arguments, "-machine");
	add(arguments, "%s%s", machine->machine, options->machine_options ? options->machine_options : "");
	add(arguments, "-accel");
	add(arguments, "%s", options->accelerator);
	add(arguments, "-cpu");
	add(arguments, "%s", options->cpu_model ? options->cpu_model : machine->tcg_cpu);
	add(arguments, "-smp");
	add(arguments, "%u,sockets=%u,cores=%u,threads=1", options->cpus, topology.sockets, topology.cores);
	add(arguments, "-m");
	add(arguments, "%lluM", (unsigned long long)(options->memory_bytes / MIB));
}

static void add_nodes(struct arguments *arguments, const struct qemu_options *options)
{
	for (unsigned int node = 0; node < options->nodes; node++) {
		unsigned int first = qemu_node_first_cpu(options->cpus, options->nodes, node);
		unsigned int end = qemu_node_first_cpu(options->cpus, options->nodes, node + 1);
		uint64_t size = qemu_node_memory(options->memory_bytes, options->nodes, node);

		add(arguments, "-object");
		add(arguments, "memory-backend-ram,id=memory%u,size=%lluM", node, (unsigned long long)(size / MIB));
		add(arguments, "-numa");
		add(arguments, "node,nodeid=%u,memdev=memory%u,cpus=%u-%u", node, node, first, end - 1);
	}
}

/* A descriptor that QEMU inherits, as a character device. */
static void add_stream(struct arguments *arguments, const char *id, int descriptor, bool pipe)
{
	if (pipe)
		add(arguments, "file,id=%s,path=/dev/fd/%d", id, descriptor);
	else
		add(arguments, "socket,id=%s,fd=%d", id, descriptor);
}

static void add_devices(struct arguments *arguments, const struct qemu_options *options)
{
	const struct qemu_machine *machine = options->machine;

	add(arguments, "-display");
	add(arguments, "none");
	add(arguments, "-nic");
	add(arguments, "none");
	add(arguments, "-monitor");
	add(arguments, "none");
	if (options->console >= 0) {
		add(arguments, "-chardev");
		add_stream(arguments, "console", options->console, options->pipes);
		add(arguments, "-serial");
		add(arguments, "chardev:console");
	}
	if (options->second_port >= 0 && machine->second_port) {
		add(arguments, "-chardev");
		add_stream(arguments, "second", options->second_port, options->pipes);
		add(arguments, "-device");
		add(arguments, "%s,chardev=second", machine->second_port);
	}
	if (options->channel >= 0) {
		add(arguments, "-chardev");
		add_stream(arguments, "channel", options->channel, options->pipes);
		add(arguments, "-device");
		add(arguments, "%s", machine->virtio_serial);
		add(arguments, "-device");
		add(arguments, "virtserialport,chardev=channel,name=%s", QEMU_CHANNEL_NAME);
	}
}

int qemu_argv(const struct qemu_options *options, char ***argv)
{
	struct arguments arguments = { 0 };

	if (!options->cpus || !options->nodes || options->nodes > options->cpus || options->memory_bytes % MIB ||
	    options->memory_bytes / options->nodes < NODE_MEMORY_UNIT)
		return -EINVAL;
	add_machine(&arguments, options);
	if (options->nodes > 1)
		add_nodes(&arguments, options);
	add_devices(&arguments, options);
	add(&arguments, "-no-reboot");
	if (options->kernel) {
		add(&arguments, "-kernel");
		add(&arguments, "%s", options->kernel);
	}
	if (options->initrd) {
		add(&arguments, "-initrd");
		add(&arguments, "%s", options->initrd);
	}
	if (options->append) {
		add(&arguments, "-append");
		add(&arguments, "%s", options->append);
	}
	for (const char *const *extra = options->extra; extra && *extra; extra++)
		add(&arguments, "%s", *extra);
	if (arguments.failed) {
		qemu_argv_free(arguments.values);
		return -ENOMEM;
	}
	*argv = arguments.values;
	return 0;
}

void qemu_argv_free(char **argv)
{
	for (char **value = argv; value && *value; value++)
		free(*value);
	free(argv);
}

int qemu_version(const struct qemu_machine *machine, char *version, size_t version_size)
{
	const char *argv[] = { machine->binary, "--version", NULL };
	struct spawn_options options = { .input = -1, .output = -1, .error = -1 };
	const char *word = "version ", *start;
	char *output;
	int status, error;
	size_t size;

	error = run_capture(argv, &options, 10000, 4096, &output, &status);
	if (error)
		return error;
	start = strstr(output, word);
	if (status || !start) {
		free(output);
		return -EPROTO;
	}
	start += strlen(word);
	size = strspn(start, "0123456789.");
	snprintf(version, version_size, "%.*s", (int)size, start);
	free(output);
	return size ? 0 : -EPROTO;
}
