/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHOOTDOWN_MACHINE_FACTS_H
#define SHOOTDOWN_MACHINE_FACTS_H

#include <jansson.h>

#include "../common/hash.h"

/*
 * Facts of this machine: {"identity": {...}, "state": {...}, "missing": {...}}.
 * identity is what stays from run to run (its hash says "same machine");
 * state is what was so at this moment. What cannot be had is in missing.
 */
json_t *host_facts(void);
void machine_hash(const json_t *facts, char text[HASH_TEXT]);

#endif
