/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a guest runs on here: the machine, QEMU's version, KVM where it is proved to work, else TCG. */
#ifndef SHOOTDOWN_ACCELERATOR_H
#define SHOOTDOWN_ACCELERATOR_H

#include <jansson.h>

#include "kvm.h"
#include "qemu.h"

struct accelerator {
	const struct qemu_machine *machine;
	char qemu_version[32];
	struct kvm_answer kvm;
	const char *option;		/* for -accel */
	const char *cpu_model;		/* for -cpu */
};

/* Fills all but kvm, option and cpu_model. -errno, and a reason with what to do. */
int accelerator_find_qemu(const char *architecture, struct accelerator *accelerator, char *reason, size_t reason_size);
/* All of it; takes seconds when KVM has to be proved. */
int accelerator_choose(const char *architecture, struct accelerator *accelerator, char *reason, size_t reason_size);
/* What of it goes into the facts of a record. */
json_t *accelerator_facts(const struct accelerator *accelerator);

#endif
