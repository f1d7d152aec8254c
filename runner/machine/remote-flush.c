// SPDX-License-Identifier: GPL-2.0-or-later
#include "remote-flush.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#include "../plan/workload-program.h"

#define TRIED "500"
#define TLB_ROW "interrupts.TLB:TLB_shootdowns"

int remote_flush_try(unsigned long long *flushes, unsigned long long *interrupts, char *reason, size_t reason_size)
{
	static const char *const arguments[] = {
		"--flushes", TRIED, "--siblings", "1", "--warmup", "0", "--iterations", "1", "--json", NULL,
	};
	const json_t *iteration, *count;
	json_t *answer = NULL;
	int error = workload_ask("known-flush", arguments, &answer, reason, reason_size);

	if (error)
		return error;
	iteration = json_array_get(json_object_get(answer, "iterations"), 0);
	count = json_object_get(json_object_get(iteration, "counts"), TLB_ROW);
	if (json_is_integer(count)) {
		*flushes = (unsigned long long)json_integer_value(json_object_get(iteration, "operations"));
		*interrupts = (unsigned long long)json_integer_value(count);
	} else {
		snprintf(reason, reason_size, "/proc/interrupts of this kernel has no row TLB");
		error = -EOPNOTSUPP;
	}
	json_decref(answer);
	return error;
}
