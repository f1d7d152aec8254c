/* SPDX-License-Identifier: GPL-2.0-or-later */
/* KVM is believed only after a guest has run under it: a device node that opens proves nothing. */
#ifndef SHOOTDOWN_KVM_H
#define SHOOTDOWN_KVM_H

#include <stdbool.h>
#include <stddef.h>

#include "qemu.h"

struct kvm_answer {
	bool works;
	char cpu_model[32];	/* with which the proof ran; "" when it does not work */
	char reason[256];	/* "a guest ran under it" or why not */
};

/*
 * Proves it by a boot of a few instructions (BIOS, protected mode, paging, long
 * mode) under a time limit of seconds. The answer is kept in the cache for as
 * long as host boot, host kernel and QEMU version are the same. Always fills *answer.
 */
void kvm_prove(const struct qemu_machine *machine, const char *qemu_version, struct kvm_answer *answer);

#endif
