/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What guest-boot.c (processes, sockets, time) and guest-messages.c (what the guest says) share. */
#ifndef SHOOTDOWN_GUEST_STATE_H
#define SHOOTDOWN_GUEST_STATE_H

#include "../common/spawn.h"
#include "channel.h"
#include "console.h"
#include "guest-boot.h"

#define NO_CASE ((size_t)-1)
#define DETAIL_SIZE 512
/* A file that a guest sends (kallsyms of a big kernel is 15 MB). */
#define GUEST_FILE_LIMIT ((size_t)256 << 20)

/* From QEMU, on sockets or a pipe; -1 when closed. */
enum guest_stream { STREAM_CONSOLE, STREAM_SECOND_PORT, STREAM_CHANNEL, STREAM_ERRORS, STREAM_COUNT };

struct guest_state {
	const struct guest_boot *options;
	struct child child;
	int streams[STREAM_COUNT];
	struct channel channels[STREAM_ERRORS];	/* of the first three */
	struct console console;
	char errors[1024];		/* end of what QEMU printed */
	size_t errors_used;
	double started, first_case;	/* seconds of CLOCK_MONOTONIC; first_case NAN until it comes */
	double deadline;
	const char *waiting_for;	/* what the deadline is for, as the end of "no ... within N s" */
	unsigned int limit_seconds;
	size_t current;			/* case that runs, or NO_CASE */
	size_t next_case;
	bool booted, done, qemu_ended;
	int qemu_signal;		/* that killed QEMU, not us: the host's doing; 0: none */
	int host_error;			/* of a sink, a hook or the log; ends the boot */
	const char *host_what;
	uint64_t losses_before;		/* of the channel when the case started */
	bool frame_end;			/* the workload's end frame came */
	char frame_status[32], frame_error[DETAIL_SIZE];
	char trouble[DETAIL_SIZE];	/* what init could not do */
	enum boot_outcome worst_case;	/* first case outcome that was not ok */
	char worst_detail[DETAIL_SIZE];
	char *file_name, *file_data;	/* being received */
	size_t file_size, file_parts;
	int terminal_input;
	bool left;			/* the person at the console went away */
};

double guest_now(void);
/* Like snprintf; what does not fit is cut: a detail is for reading. */
void guest_text(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
void guest_set_deadline(struct guest_state *state, unsigned int seconds, const char *waiting_for);
uint64_t guest_losses(const struct guest_state *state);
/* Reads what the console has, so that a warning is known before the case that caused it is judged. */
void guest_read_console(struct guest_state *state);
/* channel_handler: context is the guest_state. Returns other than 0 when the boot must end. */
int guest_message(void *context, const json_t *message);
/* Ends the current case, if there is one, with an outcome of the boot. */
void guest_abandon_case(struct guest_state *state, enum boot_outcome outcome, const char *detail);

#endif
