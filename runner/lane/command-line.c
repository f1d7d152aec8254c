// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's command line in a guest. */
#include "guest-boot.h"

#include <stdlib.h>

#include "../common/files.h"
#include "host-tsc.h"

/* What a guest is told of a clock that runs with the host's. Caller frees. */
static char *host_clock_text(const struct qemu_machine *machine)
{
	unsigned int khz = machine->counter_rate_parameter ? host_tsc_khz() : 0;

	return khz ? text_format("%s%s%u", machine->host_clock_parameters, machine->counter_rate_parameter, khz) :
		     text_format("%s", machine->host_clock_parameters);
}

char *guest_command_line(const struct qemu_machine *machine, const struct kernel *kernel, bool host_clock, const char *more)
{
	const char *own = kernel && kernel->boot_parameters ? kernel->boot_parameters : "";
	char *clock = host_clock ? host_clock_text(machine) : NULL, *line;

	/* A kernel that has oopsed measures nothing any more: it ends at once, and QEMU with it. */
	line = text_format("%s%s panic=-1 oops=panic%s%s%s%s", machine->boot_parameters, clock ? clock : "", *own ? " " : "", own,
			   more && *more ? " " : "", more ? more : "");
	free(clock);
	return line;
}
