/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A lane is where a case executes. One file defines one `const struct lane`;
 * lanes are found through the linker section that LANE_REGISTER fills, so a
 * new lane touches its own file only.
 */
#ifndef SHOOTDOWN_LANE_H
#define SHOOTDOWN_LANE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../kernels/kernel.h"

enum boot_outcome {
	BOOT_OK,
	BOOT_PANIC, BOOT_OOPS, BOOT_WARN, BOOT_HANG, BOOT_OUT_OF_MEMORY,
	BOOT_EARLY_EXIT,	/* the guest went away before it said that it was done */
	BOOT_LOST,		/* a frame was lost or damaged in the channel */
	BOOT_WORKLOAD_FAILED,	/* the workload said that it failed, or exited non-zero */
	BOOT_UNSUPPORTED,	/* the workload cannot run on this kernel: with reason */
	BOOT_HOST_ERROR,	/* QEMU could not start, disk full, ...: not the kernel's fault */
	BOOT_INTERRUPTED,	/* Ctrl-C */
};

/* Less than this boots nothing; a number that lacks its unit is far below. */
#define GUEST_MEMORY_MINIMUM (64ULL << 20)

const char *boot_outcome_name(enum boot_outcome outcome);	/* "ok", "panic", "out-of-memory", ... */

/* One case to run in a boot: an argument vector and what must be set before it. */
struct boot_case {
	const char *id;			/* hash of the resolved case */
	const char *name;
	const char *workload;		/* NULL for exec */
	char *const *arguments;		/* options only; the lane adds path of the executable and --frames */
	char *const *settings;		/* "sysctl NAME=VALUE" or "file PATH=VALUE"; NULL-terminated */
	char *const *helpers;		/* names of helper programs to ship; NULL-terminated */
	const char *tree;		/* a source tree that it builds: name or directory (workload.h); NULL: none */
	unsigned int timeout_seconds;	/* of the case, in the lane's wall clock */
	char *const *command;		/* exec: the user's command; else NULL */
	char *const *files;		/* exec: files to ship */
};

struct boot_request {
	const struct kernel *kernel;	/* NULL: host */
	const char *architecture;
	unsigned int index, block, order;
	int phase;			/* exact lane; -1 otherwise */
	unsigned int phases;
	unsigned int cpus, nodes;
	uint64_t memory_bytes;
	const char *boot_parameters;	/* the lane's and the suite's, beside the kernel's own */
	unsigned int slice_microseconds;	/* exact lane; 0: none */
	const struct boot_case *cases;
	size_t case_count;
	const char *raw_directory;	/* where console.log and raw outputs of this boot go; exists */
	bool keep_console;
};

/*
 * Receives what happens in a boot, in order. Every callback returns 0 or
 * -errno; a failure (disk full) ends the boot with BOOT_HOST_ERROR.
 * `frame` is one JSON object as the workload wrote it (see CONTRIBUTING.md, "Frames"); borrowed.
 */
struct boot_sink {
	void *context;
	int (*facts)(void *context, const json_t *facts);	/* once: what the lane and the guest are */
	int (*case_start)(void *context, size_t case_index);
	int (*frame)(void *context, size_t case_index, const json_t *frame);
	int (*case_end)(void *context, size_t case_index, enum boot_outcome outcome, const char *detail);
};

struct boot_result {
	enum boot_outcome outcome;
	char detail[512];		/* "Oops: general protection fault in foo+0x12; console line 812" */
	double seconds_to_workload;	/* QEMU start to first workload start, wall; NAN when not reached */
	double seconds;			/* whole boot, wall */
	bool emulator_suspect;		/* what ended it is known of the emulator as well: worth another boot before the kernel is blamed */
};

/* How often a boot with an emulator_suspect end is repeated; when the last one ends so too, it is the kernel's. */
#define BOOT_REPEATS 2

/* Fills *result for a boot that never started: the host's error, not the kernel's. The reason, else the errno's text. */
void boot_not_started(struct boot_result *result, const char *reason, int error);

struct lane_facts {
	char reason[512];	/* why the lane cannot run here, with what to do */
	json_t *facts;		/* accelerator ("kvm" or "tcg"), how it was proved, QEMU version, cpu model, plugin API, PMU, ... */
};

struct lane {
	const char *name, *summary;
	unsigned int cpus_maximum;	/* 0: none of its own */
	/* 0 when the lane can run on this machine for this architecture; -errno and a reason otherwise. Changes nothing. */
	int (*probe)(const char *architecture, struct lane_facts *facts);
	/* Once per campaign: builds what all boots share (initramfs base). Its files live in `directory`. */
	int (*prepare)(const char *directory, const char *architecture, void **session, char *reason, size_t reason_size);
	/*
	 * Optional: which of these kernels the lane can run before somebody boots another one. Fills `now`; -errno and a
	 * reason when that cannot be told. NULL: the lane boots any kernel itself.
	 */
	int (*runs_now)(void *session, const struct kernel *kernels, size_t count, bool *now, char *reason, size_t reason_size);
	/* One boot. Returns 0 when *result is filled (whatever the outcome), -errno on internal trouble. */
	int (*run)(void *session, const struct boot_request *request, const struct boot_sink *sink, struct boot_result *result);
	void (*cleanup)(void *session);
};

#define LANE_REGISTER(lane_struct) \
	static const struct lane *const lane_entry __attribute__((used, section("shootdown_lanes"))) = &(lane_struct)

const struct lane *lane_find(const char *name);		/* NULL: none of that name */
/* For a name that is none: "; did you mean 'vm'?" or ""; returns text. */
char *lane_hint(const char *name, char *text, size_t text_size);
/* Iterates: lane_next(NULL) is the first. */
const struct lane *const *lane_next(const struct lane *const *previous);

/* Lanes poll `interrupted` in every wait and end with BOOT_INTERRUPTED. */
#include "../common/interrupt.h"

#endif
