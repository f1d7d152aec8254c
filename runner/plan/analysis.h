/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way from the runner to the Python analysis: an argument vector, or one question as JSON. */
#ifndef SHOOTDOWN_ANALYSIS_H
#define SHOOTDOWN_ANALYSIS_H

#include <jansson.h>

#include "../common/command.h"

/* Runs `python3 -m analysis NAME` with the arguments as parsed; returns its exit status (it reports its own errors). */
int analysis_command(const char *name, const struct command_arguments *arguments, const struct command_option *options);
/* Likewise with a plain vector (NULL-terminated, without the command's name). */
int analysis_run(const char *name, const char *const *arguments);
/* One question, one answer. -errno with a reason. Caller frees *answer with json_decref(). */
int analysis_ask(const json_t *question, json_t **answer, char *reason, size_t reason_size);

#endif
