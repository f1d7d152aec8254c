/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One boot of a guest from start to end: starts QEMU, reads console and
 * channel, hands what comes to the sink, keeps every time limit, ends QEMU,
 * and says what the outcome was. Every guest lane uses it.
 */
#ifndef SHOOTDOWN_GUEST_BOOT_H
#define SHOOTDOWN_GUEST_BOOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lane.h"
#include "qemu.h"

/* What a lane or command wants beside the sink. Each may be NULL; each returns 0 or -errno, which ends the boot. */
struct guest_hooks {
	void *context;
	/* What a command printed (cases with forward_output). */
	int (*output)(void *context, size_t case_index, int stream, const void *data, size_t size);
	/* A file that the job asked for with "send", whole. */
	int (*file)(void *context, const char *name, const void *data, size_t size);
	/* Just before case_end: exit status (-1: ended by `signal`). */
	int (*exited)(void *context, size_t case_index, int status, int signal);
};

struct guest_boot {
	struct qemu_options qemu;	/* console, second_port and channel are set by guest_boot_run() */
	bool virtio_channel;		/* offer a virtio-serial channel */
	bool second_port;		/* offer a second serial port */
	bool never_waits;		/* QEMU must not wait for us, whose moment it would be is the host's: roomy pipes, no input */
	bool plain_commands;		/* the cases write no frames: only their exit status counts */
	size_t case_count;
	const unsigned int *case_seconds;	/* wall limit of each case; the guest's own limit should be shorter */
	unsigned int boot_seconds;	/* until the first case starts, and between two cases */
	unsigned int power_off_seconds;	/* after "done": QEMU is ended then; 0: at once */
	const char *raw_directory;	/* console.log goes there; NULL: nowhere */
	const json_t *facts;		/* the lane's own; the guest's are added */
	const struct boot_sink *sink;	/* members may be NULL */
	struct guest_hooks hooks;
	int terminal_input, terminal_output;	/* of a person at the console; -1: nobody */
};

/* 0 when *result is filled, whatever the outcome; -errno on internal trouble. Nothing is left running. */
int guest_boot_run(const struct guest_boot *options, struct boot_result *result);

/* "console=... panic=-1 oops=panic" + the kernel's + the lane's. host_clock: no virtual clock (-icount) runs its timers. Caller frees. */
char *guest_command_line(const struct qemu_machine *machine, const struct kernel *kernel, bool host_clock, const char *more);

#endif
