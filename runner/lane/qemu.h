/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU as a program: what is special to a machine, the command line, the version. */
#ifndef SHOOTDOWN_QEMU_H
#define SHOOTDOWN_QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_CHANNEL_NAME "org.shootdown.channel"

/* One row an architecture: everything that differs between machines. */
struct qemu_machine {
	const char *architecture;
	const char *binary;
	const char *package;		/* of Debian: for "what to do" */
	const char *machine;		/* -machine */
	const char *tcg_cpu;		/* default CPU model under TCG */
	const char *console;		/* the guest's name of the first serial port */
	const char *second_port;	/* device name for -device, NULL: the machine has but one serial port */
	const char *virtio_serial;	/* device name for -device */
	const char *boot_parameters;	/* what every boot on it gets */
	const char *host_clock_parameters;	/* and one whose timers follow the host's clock */
	const char *counter_rate_parameter;	/* " NAME=", for the rate of the host's counter in kHz; NULL: the guest reads it */
};

const struct qemu_machine *qemu_machine_find(const char *architecture);	/* NULL: not known */

/* How CPUs, memory and sockets are split over the nodes. */
struct qemu_topology {
	unsigned int sockets, cores;	/* sockets x cores = CPUs */
};

void qemu_topology(unsigned int cpus, unsigned int nodes, struct qemu_topology *topology);
/* First CPU of a node, for node = 0 .. nodes (the end). */
unsigned int qemu_node_first_cpu(unsigned int cpus, unsigned int nodes, unsigned int node);
/* Memory of one node: equal parts in whole 2 MiB, the rest in the last one. */
uint64_t qemu_node_memory(uint64_t memory, unsigned int nodes, unsigned int node);

struct qemu_options {
	const struct qemu_machine *machine;
	const char *accelerator;	/* value of -accel: "tcg,thread=multi", "kvm" */
	const char *cpu_model;		/* value of -cpu; NULL: the machine's for TCG */
	const char *machine_options;	/* appended to -machine: ",dtb-randomness=off"; NULL: none */
	unsigned int cpus, nodes;
	uint64_t memory_bytes;
	const char *kernel, *initrd;
	const char *append;		/* the whole kernel command line */
	int console;			/* socket that QEMU inherits; -1: none */
	int second_port;		/* the same for the second serial port; -1: no such port */
	int channel;			/* the same for the virtio-serial channel; -1: no such device */
	bool pipes;			/* the three are pipes that QEMU only writes to, not sockets */
	const char *const *extra;	/* further arguments, NULL-terminated; NULL: none */
};

/* Makes the argument vector. -EINVAL for CPUs or memory that do not fit the nodes. Freed by qemu_argv_free(). */
int qemu_argv(const struct qemu_options *options, char ***argv);
void qemu_argv_free(char **argv);

/* "7.2.22" from the binary's --version. -ENOENT: not installed; -EPROTO: it said something else. */
int qemu_version(const struct qemu_machine *machine, char *version, size_t version_size);

#endif
