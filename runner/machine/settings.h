/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings of the machine that a suite asks for: changed, recorded, and put
 * back on every way out. Before each change the old value goes to a journal
 * ($XDG_STATE_HOME/shootdown/settings.json), from which `shootdown restore`
 * puts back what a killed process or a power loss left.
 */
#ifndef SHOOTDOWN_SETTINGS_H
#define SHOOTDOWN_SETTINGS_H

#include <stddef.h>

struct settings;

/*
 * Texts are "sysctl NAME=VALUE" and "file PATH=VALUE"; paths must lie in
 * /proc/sys or /sys. On failure nothing stays changed. -EINVAL for a text
 * that is wrong, -EBUSY when settings of another process are in force,
 * else the errno of the file; the reason says which. What a killed process left is put back first.
 */
int settings_apply(char *const *texts, struct settings **applied, char *reason, size_t reason_size);
/* Puts back in reverse order; frees. The first -errno; the journal keeps what could not be put back. */
int settings_restore(struct settings *applied);
/* What a journal says is put back. *count settings were. -EBUSY when the process that changed them still runs. */
int settings_restore_journal(unsigned int *count, char *reason, size_t reason_size);
/* Path of the file that a text sets, NULL when it is not a setting; caller frees. *value points into the text. */
char *settings_path(const char *text, const char **value);

#endif
