/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PID 1 of the guest: sets the system up, runs the cases of /job.json, sends
 * what they say to the host, powers off. Formats: CONTRIBUTING.md, "Channel
 * between guest and host". Nothing here ends the process: a trouble is sent to
 * the host, which knows what to do.
 */
#ifndef SHOOTDOWN_GUEST_H
#define SHOOTDOWN_GUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts.h"

/* The workload writes its frames to this descriptor; the host puts the number into its arguments. */
#define GUEST_FRAMES_FD 3

/* --- mounts.c --- */
void mount_everything(void);
/* Paths that nothing may write to from now on. */
void make_read_only(const json_t *paths);
void bring_loopback_up(void);

/* --- modules.c: paths in the order in which they must be loaded. -errno of the first that failed, *failed names it. --- */
int load_modules(const json_t *paths, const char **failed);

/* --- sender.c --- */
/* Opens virtio-serial, else a second serial port, else the console; `wait` when devices may still be on their way. */
void sender_open(bool wait);
const char *sender_kind(void);	/* "virtio-serial", "serial", "console" */
void send_message(json_t *message);	/* steals the reference */
/* A line that a workload wrote, passed on as it is. */
void send_frame(unsigned int case_index, const char *line, size_t size);
/* {"init": "output"}: what a command printed, as it was. */
void send_output(unsigned int case_index, int stream, const char *data, size_t size);
/* A file in parts; a file that cannot be read is sent as {"init": "file", "name": ..., "error": ...}. */
void send_file(const char *name);
void sender_drain(void);

/* --- settings.c --- */
struct saved_setting {
	char *path, *value;
	struct saved_setting *next;
};
/* Applies "sysctl NAME=VALUE" and "file PATH=VALUE". -errno, *failed is the one; what was applied before stays on the list. */
int settings_apply(const json_t *settings, struct saved_setting **saved, const char **failed);
void settings_restore(struct saved_setting **saved);

/* --- work.c --- */
/* Runs one case to its end and sends case-start, frames, output and case-end. */
void run_case(unsigned int case_index, const json_t *description, bool terminal);

#endif
