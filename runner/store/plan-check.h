/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan that was read from a file: whether it has what resuming it relies on. */
#ifndef SHOOTDOWN_PLAN_CHECK_H
#define SHOOTDOWN_PLAN_CHECK_H

#include <jansson.h>
#include <stddef.h>

/* 0, or -EBADMSG with the place and what is wrong there: "boots[3].cases[0]: there is no case '1f2e'". */
int plan_check(const json_t *plan, char *reason, size_t reason_size);

#endif
