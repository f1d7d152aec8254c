/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHOOTDOWN_RUN_RESUME_H
#define SHOOTDOWN_RUN_RESUME_H

#include "run.h"

/*
 * Goes on with the campaign in a directory, by the words that its plan
 * recorded; refuses when anything that identifies it has changed, by name.
 * Of the words given now, those count that are not part of a plan.
 */
int run_resume(const char *campaign_directory, const struct run_words *given, char **directory);

#endif
