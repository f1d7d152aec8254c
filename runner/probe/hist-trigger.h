/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A histogram trigger of ftrace, in a tracefs instance of our own. */
#ifndef SHOOTDOWN_PROBE_HIST_TRIGGER_H
#define SHOOTDOWN_PROBE_HIST_TRIGGER_H

#include "probe.h"
#include "tally.h"

struct hist_trigger;

/* keys: one or two fields, "reason,pages". NULL and the reason why not. */
struct hist_trigger *hist_open(const struct probe_environment *environment, const char *system, const char *event,
			       const char *keys, char *reason, size_t reason_size);
void hist_begin(struct hist_trigger *trigger);
void hist_end(struct hist_trigger *trigger);
/* What was counted between the two. -errno and the reason, also when events were dropped. */
int hist_read(struct hist_trigger *trigger, struct tally *tally, char *reason, size_t reason_size);
void hist_close(struct hist_trigger *trigger);

/* Parses the text of a hist file. -EINVAL: not such a text; -EOVERFLOW: it says that events were dropped. */
int hist_parse(const char *text, struct tally *tally);

#endif
