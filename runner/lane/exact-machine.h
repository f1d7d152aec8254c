/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine of the exact lane: everything on QEMU's command line that makes two runs the same. */
#ifndef SHOOTDOWN_EXACT_MACHINE_H
#define SHOOTDOWN_EXACT_MACHINE_H

#include <jansson.h>
#include <stddef.h>

#include "lane.h"
#include "qemu.h"

#define EXACT_CPUS_MAXIMUM 255	/* TCG has no x2APIC: an APIC identity is one byte */

struct exact_machine {
	const char *cpu_model, *machine_options;
	const char *boot_parameters;	/* before the suite's */
	unsigned int shift;		/* one instruction takes 2^shift ns of guest time */
	char rtc[64];			/* value of -rtc */
	char date[32];			/* on which the guest's clock starts */
	char *extra[32];		/* further arguments of QEMU, NULL-terminated, owned */
	char *append;			/* owned */
};

/* `counts` and `options` are the plugin's files; `options` may be NULL. Freed by exact_machine_free(). */
int exact_machine_make(const struct boot_request *request, const char *plugin, const char *counts, const char *options,
		       struct exact_machine *machine);
void exact_machine_free(struct exact_machine *machine);
const char *exact_cpu_model(const char *architecture);
/* What of it is part of a record's facts. */
void exact_machine_facts(const struct exact_machine *machine, const struct boot_request *request, json_t *facts);

/* Asks QEMU to load the plugin. 0, or -EOPNOTSUPP with the reason. */
int exact_plugin_probe(const struct qemu_machine *machine, const char *version, const char *plugin, char *reason, size_t reason_size);

#endif
