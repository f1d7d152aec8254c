/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shootdown-resume.service: the unit that goes on with a campaign after the
 * machine has booted its next kernel. It stands in /etc/systemd/system for as
 * long as the campaign reboots the machine, or in $SHOOTDOWN_UNIT_DIRECTORY
 * where another init reads it.
 */
#ifndef SHOOTDOWN_RESUME_UNIT_H
#define SHOOTDOWN_RESUME_UNIT_H

#include <stdbool.h>
#include <stddef.h>

#define RESUME_UNIT "shootdown-resume.service"

/* The unit that runs argv in `directory` once what `needs` stands on is mounted. Caller frees. */
char *resume_unit_text(const char *const *argv, const char *directory, const char *needs);
/* Writes it and has it started at the next boot. -errno and a reason; nothing is left then. */
int resume_unit_install(const char *text, char *reason, size_t reason_size);
/* *removed: there was one. -errno of the first file that could not be removed. */
int resume_unit_remove(bool *removed);
/* A unit is there that goes on with another campaign than the one in `directory` (absolute). */
bool resume_unit_is_of_another(const char *directory);
/* Another init than systemd reads the unit: $SHOOTDOWN_UNIT_DIRECTORY is set. */
bool resume_unit_is_foreign(void);

#endif
