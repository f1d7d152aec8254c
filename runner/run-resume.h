/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHOOTDOWN_RUN_RESUME_H
#define SHOOTDOWN_RUN_RESUME_H

/*
 * Goes on with the campaign in a directory, by the words that its plan
 * recorded; refuses when anything that identifies it has changed, by name.
 */
int run_resume(const char *campaign_directory, char **directory);

#endif
