/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of a run, as the plan records them and --resume recalls them. */
#ifndef SHOOTDOWN_RUN_WORDS_H
#define SHOOTDOWN_RUN_WORDS_H

#include <jansson.h>

#include "run.h"

/* The command line that repeats the run (without -o): ["shootdown", "run", ...]. */
json_t *run_words_record(const struct run_words *words);
/* Fills words from it. Texts are borrowed from `command`; the list members must be allocated, NULL-terminated lists. */
void run_words_recall(const json_t *command, struct run_words *words);

#endif
