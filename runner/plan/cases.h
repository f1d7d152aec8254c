/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cases of a plan: options resolved, needs checked, programs hashed. */
#ifndef SHOOTDOWN_CASES_H
#define SHOOTDOWN_CASES_H

#include "plan.h"

int plan_add_cases(const struct plan_request *request, json_t *plan, const unsigned int *cpus, size_t cpus_count,
		   struct plan_error *error);

#endif
