/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel symbols by address, from the text of /proc/kallsyms. */
#ifndef SHOOTDOWN_PROBE_SYMBOLS_H
#define SHOOTDOWN_PROBE_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct symbols;

/* Text symbols only. -EACCES: the addresses are hidden (all 0); -EINVAL: no symbols at all; -ENOMEM. Takes over text. */
int symbols_parse(char *text, struct symbols **symbols);
/* Of several at one address the one that a person knows: global before local, then without leading underscores. */
const char *symbols_find(const struct symbols *symbols, uint64_t address);	/* NULL: below the first */
void symbols_free(struct symbols *symbols);

#endif
