/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of .config files and fragments as {"CONFIG_X": value}; "n" is what "# CONFIG_X is not set" says. */
#ifndef SHOOTDOWN_KERNEL_KCONFIG_H
#define SHOOTDOWN_KERNEL_KCONFIG_H

#include <jansson.h>
#include <stddef.h>

/* Adds to symbols; later lines win. -EINVAL with a reason that names the line. */
int kconfig_parse(const char *text, json_t *symbols, char *reason, size_t reason_size);
/* Puts more at the end of symbols, over what they said of the same. */
void kconfig_merge(json_t *symbols, const json_t *more);
/* Caller frees. */
char *kconfig_text(const json_t *symbols);
/* Value of a symbol; one that is absent is "n". */
const char *kconfig_value(const json_t *symbols, const char *symbol);

#endif
