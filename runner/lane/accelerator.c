// SPDX-License-Identifier: GPL-2.0-or-later
#include "accelerator.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int accelerator_find_qemu(const char *architecture, struct accelerator *accelerator, char *reason, size_t reason_size)
{
	const struct qemu_machine *machine = qemu_machine_find(architecture);
	int error;

	if (!machine) {
		snprintf(reason, reason_size, "no machine is known for architecture %s; use x86-64 or arm64", architecture);
		return -EOPNOTSUPP;
	}
	accelerator->machine = machine;
	error = qemu_version(machine, accelerator->qemu_version, sizeof(accelerator->qemu_version));
	if (error == -ENOENT)
		snprintf(reason, reason_size, "%s is not installed; install package %s", machine->binary, machine->package);
	else if (error)
		snprintf(reason, reason_size, "%s --version: %s", machine->binary, strerror(-error));
	return error;
}

int accelerator_choose(const char *architecture, struct accelerator *accelerator, char *reason, size_t reason_size)
{
	int error = accelerator_find_qemu(architecture, accelerator, reason, reason_size);

	if (error)
		return error;
	kvm_prove(accelerator->machine, accelerator->qemu_version, &accelerator->kvm);
	accelerator->option = accelerator->kvm.works ? "kvm" : "tcg,thread=multi";
	accelerator->cpu_model = accelerator->kvm.works ? accelerator->kvm.cpu_model : accelerator->machine->tcg_cpu;
	return 0;
}

json_t *accelerator_facts(const struct accelerator *accelerator)
{
	bool kvm = accelerator->kvm.works;

	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:{}}",
			 "accelerator", kvm ? "kvm" : "tcg",
			 "accelerator_option", accelerator->option,
			 "kvm", kvm ? "works" : "does not work",
			 "kvm_reason", accelerator->kvm.reason,
			 "qemu_version", accelerator->qemu_version,
			 "cpu_model", accelerator->cpu_model,
			 "machine_type", accelerator->machine->machine,
			 "missing");
}
