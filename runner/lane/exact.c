// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The exact lane: one vCPU at a time under TCG, a clock that counts
 * instructions, and a plugin that counts what the kernel executes inside the
 * region of interest. One case a boot.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/paths.h"
#include "accelerator.h"
#include "exact-counts.h"
#include "exact-machine.h"
#include "exact-symbols.h"
#include "guest-boot.h"
#include "initramfs.h"
#include "job.h"
#include "kernel-image.h"

/* Wall seconds until the first case starts; CPUs take their turns. */
#define BOOT_SECONDS 700
#define BOOT_SECONDS_PER_CPU 10
/* So that QEMU ends in order and with it the counts file. */
#define POWER_OFF_SECONDS 30
#define PHASE_TEXT 32

struct exact_session {
	const struct qemu_machine *machine;
	char qemu_version[32];
	char *plugin;
	char *directory;		/* ours: removed at the end */
	char *base_path;		/* base.cpio */
	struct initramfs *base;
	/* Of the kernel that ran last: boots of one kernel often follow each other, and a reader is quick. */
	char *symbols_of;
	struct exact_symbols symbols;
	char *symbols_file;		/* kallsyms that its guest sent, below the campaign; NULL: System.map */
};

/* One boot in flight: what the wrapping sink needs. */
struct exact_boot {
	struct exact_session *session;
	const struct boot_request *request;
	const struct boot_sink *sink;
	char *counts;			/* written by the plugin */
	char *kept;			/* compressed, in the raw directory; NULL without one */
	bool failed;			/* the counts, not the guest */
	enum boot_outcome outcome;
	char detail[400];
};

static int find_parts(const char *architecture, struct exact_session *session, char *reason, size_t reason_size)
{
	struct accelerator accelerator;
	int error = accelerator_find_qemu(architecture, &accelerator, reason, reason_size);

	if (error)
		return error;
	if (!exact_cpu_model(architecture)) {
		snprintf(reason, reason_size, "the exact lane knows no CPU model for %s", architecture);
		return -EOPNOTSUPP;
	}
	session->machine = accelerator.machine;
	snprintf(session->qemu_version, sizeof(session->qemu_version), "%s", accelerator.qemu_version);
	session->plugin = path_program(NULL, "exact/plugin.so");
	if (!file_exists(session->plugin)) {
		snprintf(reason, reason_size, "%s is not there; build it with 'make'", session->plugin);
		return -ENOENT;
	}
	return exact_plugin_probe(session->machine, session->qemu_version, session->plugin, reason, reason_size);
}

static json_t *lane_facts(const struct exact_session *session)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:{}}", "accelerator", "tcg", "accelerator_option", "tcg,thread=single",
			 "qemu_version", session->qemu_version, "cpu_model", exact_cpu_model(session->machine->architecture),
			 "machine_type", session->machine->machine, "plugin_interface", 1, "missing");
}

static int exact_probe(const char *architecture, struct lane_facts *facts)
{
	struct exact_session session = { 0 };
	int error = find_parts(architecture, &session, facts->reason, sizeof(facts->reason));

	if (!error) {
		facts->reason[0] = '\0';
		facts->facts = lane_facts(&session);
	}
	free(session.plugin);
	return error;
}

static void forget_symbols(struct exact_session *session)
{
	exact_symbols_free(&session->symbols);
	free(session->symbols_of);
	free(session->symbols_file);
	session->symbols_of = session->symbols_file = NULL;
}

static void exact_cleanup(void *opaque)
{
	struct exact_session *session = opaque;

	if (!session)
		return;
	if (session->directory)
		remove_tree(session->directory);
	initramfs_free(session->base);
	forget_symbols(session);
	free(session->base_path);
	free(session->directory);
	free(session->plugin);
	free(session);
}

static int exact_prepare(const char *directory, const char *architecture, void **opaque, char *reason, size_t reason_size)
{
	struct exact_session *session = calloc(1, sizeof(*session));
	int error;

	if (!session)
		return -ENOMEM;
	error = find_parts(architecture, session, reason, reason_size);
	if (!error)
		error = guest_base_make(architecture, &session->base, reason, reason_size);
	if (error) {
		exact_cleanup(session);
		return error;
	}
	session->directory = text_format("%s/exact-%ld", directory, (long)getpid());
	session->base_path = text_format("%s/base.cpio", session->directory);
	error = make_directories(session->directory);
	if (!error)
		error = initramfs_write(session->base, NULL, session->base_path);
	if (error) {
		snprintf(reason, reason_size, "%s: %s", session->base_path, strerror(-error));
		exact_cleanup(session);
		return error;
	}
	*opaque = session;
	return 0;
}

/* The archive of one boot: the base, and the job behind it. `send` NULL: the case, marked, at its phase. */
static int write_initramfs(const struct exact_session *session, const struct boot_request *request, const char *const *send,
			   const char *path, char *reason, size_t reason_size)
{
	char phase[PHASE_TEXT];
	const char *const marks[] = { "--roi-marks", "--phase", phase, NULL };
	struct guest_job job = {
		.architecture = request->architecture, .kernel = request->kernel,
		.cases = request->cases, .case_count = send ? 0 : request->case_count,
		.extra_arguments = marks, .send = send,
	};
	struct initramfs *initramfs;
	int error = initramfs_new(session->base, &initramfs);

	if (error)
		return error;
	snprintf(phase, sizeof(phase), "%d/%u", request->phase > 0 ? request->phase : 0, request->phases ? request->phases : 1);
	error = guest_job_add(initramfs, &job, reason, reason_size);
	if (!error) {
		error = initramfs_write(initramfs, session->base_path, path);
		if (error)
			snprintf(reason, reason_size, "%s: %s", path, strerror(-error));
	}
	initramfs_free(initramfs);
	return error;
}

static void fail(struct exact_boot *boot, enum boot_outcome outcome, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void fail(struct exact_boot *boot, enum boot_outcome outcome, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(boot->detail, sizeof(boot->detail), format, arguments);
	va_end(arguments);
	boot->outcome = outcome;
	boot->failed = true;
}

/* After a case that ended well: are its counts what they must be? */
static void judge_counts(struct exact_boot *boot)
{
	const struct kernel *kernel = boot->request->kernel;
	struct exact_summary summary;
	int error = exact_counts_check(boot->counts, &boot->session->symbols, &summary);

	if (error)
		fail(boot, BOOT_HOST_ERROR, "counts file: %s", error == -EBADMSG ? "damaged" : strerror(-error));
	else if (summary.fault[0])
		fail(boot, BOOT_WORKLOAD_FAILED, "%s; mark the region of interest once an iteration", summary.fault);
	else if (!summary.regions)
		fail(boot, BOOT_WORKLOAD_FAILED, "the region of interest was never reached; the workload must mark it, and measure at least one iteration");
	else if (exact_symbols_are_foreign(&summary))
		fail(boot, BOOT_HOST_ERROR, "%s does not belong to %s: %zu of %zu called addresses are no function; give the System.map of that very build",
		     kernel->system_map ? kernel->system_map : "kallsyms", kernel->image, summary.strange_targets, summary.targets);
}

/* Where the record finds a file: below the campaign, as raw/BOOT/NAME. */
static char *below_campaign(const char *path)
{
	const char *at = path + strlen(path);

	for (int slashes = 0; at > path; at--)
		if (at[-1] == '/' && ++slashes == 3)
			break;
	return text_format("%s", at);
}

/* The record learns where the counts are. */
static int send_place(struct exact_boot *boot, size_t index)
{
	char *file = below_campaign(boot->kept);
	json_t *frame = json_pack("{s:s, s:s, s:s*}", "frame", "exact", "file", file, "symbols", boot->session->symbols_file);
	int error = frame && boot->sink->frame ? boot->sink->frame(boot->sink->context, index, frame) : -ENOMEM;

	json_decref(frame);
	free(file);
	return error;
}

static int on_facts(void *context, const json_t *facts)
{
	struct exact_boot *boot = context;

	return boot->sink->facts ? boot->sink->facts(boot->sink->context, facts) : 0;
}

static int on_case_start(void *context, size_t index)
{
	struct exact_boot *boot = context;

	return boot->sink->case_start ? boot->sink->case_start(boot->sink->context, index) : 0;
}

static int on_frame(void *context, size_t index, const json_t *frame)
{
	struct exact_boot *boot = context;

	return boot->sink->frame ? boot->sink->frame(boot->sink->context, index, frame) : 0;
}

static int on_case_end(void *context, size_t index, enum boot_outcome outcome, const char *detail)
{
	struct exact_boot *boot = context;
	int error = 0;

	/* A warning of the kernel does not make its counts worse; what a case counted before it failed is kept, too. */
	if (outcome == BOOT_OK || outcome == BOOT_WARN)
		judge_counts(boot);
	if (boot->kept && !(boot->failed && boot->outcome == BOOT_HOST_ERROR))
		error = exact_counts_compress(boot->counts, boot->kept);
	if (!error && boot->kept && file_exists(boot->kept) && boot->sink->frame)
		error = send_place(boot, index);
	if (error)
		return error;
	if (boot->failed) {
		outcome = boot->outcome;
		detail = boot->detail;
	}
	return boot->sink->case_end ? boot->sink->case_end(boot->sink->context, index, outcome, detail) : 0;
}

static int run_guest(const struct exact_session *session, const struct boot_request *request, struct guest_boot *options,
		     const char *counts, const char *places, struct boot_result *result)
{
	struct exact_machine machine;
	json_t *facts = lane_facts(session);
	int error = exact_machine_make(request, session->plugin, counts, places, &machine);

	if (!error && facts) {
		char *command_line = guest_command_line(session->machine, request->kernel, false, machine.append);

		exact_machine_facts(&machine, request, facts);
		options->qemu.machine = session->machine;
		options->qemu.accelerator = "tcg,thread=single";
		options->qemu.cpu_model = machine.cpu_model;
		options->qemu.machine_options = machine.machine_options;
		options->qemu.cpus = request->cpus;
		options->qemu.nodes = request->nodes;
		options->qemu.memory_bytes = request->memory_bytes;
		options->qemu.append = command_line;
		options->qemu.extra = (const char *const *)machine.extra;
		options->virtio_channel = options->second_port = options->never_waits = true;
		options->boot_seconds = BOOT_SECONDS + BOOT_SECONDS_PER_CPU * request->cpus;
		options->power_off_seconds = POWER_OFF_SECONDS;
		options->facts = facts;
		options->terminal_input = options->terminal_output = -1;
		error = guest_boot_run(options, result);
		free(command_line);
	}
	exact_machine_free(&machine);
	json_decref(facts);
	return error;
}

static int keep_kallsyms(void *context, const char *name, const void *data, size_t size)
{
	return strcmp(name, "kallsyms") ? 0 : write_file(context, data, size);
}

/* A ready image has no System.map: a boot of its own asks the guest, so that sending them disturbs no counts. */
static int ask_guest_for_symbols(struct exact_session *session, const struct boot_request *request, const char *image,
				 const char *path, char *reason, size_t reason_size)
{
	static const char *const send[] = { "kallsyms", NULL };
	char *initramfs = text_format("%s/symbols.cpio", session->directory), *counts = text_format("%s/symbols.counts", session->directory);
	struct boot_sink sink = { 0 };
	unsigned int no_limits = 0;
	struct guest_boot options = {
		.qemu = { .kernel = image, .initrd = initramfs }, .case_seconds = &no_limits, .sink = &sink,
		.hooks = { .context = (void *)path, .file = keep_kallsyms },
	};
	struct boot_result result = { 0 };
	int error = write_initramfs(session, request, send, initramfs, reason, reason_size);

	if (!error)
		error = run_guest(session, request, &options, counts, NULL, &result);
	if (!error && !file_exists(path)) {
		snprintf(reason, reason_size, "the kernel has no System.map and its guest sent no kallsyms (%.300s)",
			 result.detail[0] ? result.detail : "built without CONFIG_KALLSYMS?");
		error = -ENOENT;
	}
	unlink(initramfs);
	unlink(counts);
	free(initramfs);
	free(counts);
	return error;
}

/* Makes session->symbols those of the request's kernel. */
static int find_symbols(struct exact_session *session, const struct boot_request *request, const char *image, char *reason, size_t reason_size)
{
	const struct kernel *kernel = request->kernel;
	const char *path = kernel->system_map;
	char *sent = NULL;
	int error = 0;

	if (session->symbols_of && !strcmp(session->symbols_of, kernel->id ? kernel->id : kernel->image))
		return 0;
	forget_symbols(session);
	if (!path) {
		path = sent = text_format("%s/kallsyms", request->raw_directory ? request->raw_directory : session->directory);
		error = ask_guest_for_symbols(session, request, image, path, reason, reason_size);
	}
	if (!error) {
		error = exact_symbols_read(path, &session->symbols);
		if (error)
			snprintf(reason, reason_size, "%s: %s", path, error == -EINVAL ? "holds no kernel symbols" : strerror(-error));
	}
	if (!error) {
		session->symbols_of = text_format("%s", kernel->id ? kernel->id : kernel->image);
		session->symbols_file = sent && request->raw_directory ? below_campaign(sent) : NULL;
	}
	free(sent);
	return error;
}

static int boot_case(struct exact_boot *boot, const char *kernel, const char *initramfs, const char *places, struct boot_result *result)
{
	const struct boot_sink sink = {
		.context = boot, .facts = on_facts, .case_start = on_case_start, .frame = on_frame, .case_end = on_case_end,
	};
	struct guest_boot options = {
		.qemu = { .kernel = kernel, .initrd = initramfs },
		.case_count = 1, .case_seconds = &boot->request->cases[0].timeout_seconds,
		.raw_directory = boot->request->raw_directory, .sink = &sink,
	};
	int error = run_guest(boot->session, boot->request, &options, boot->counts, places, result);

	if (!error && boot->failed && (result->outcome == BOOT_OK || result->outcome == BOOT_WARN)) {
		result->outcome = boot->outcome;
		snprintf(result->detail, sizeof(result->detail), "%s", boot->detail);
	}
	/* Once more: now its end is in it. */
	if (!error && boot->kept && file_exists(boot->kept))
		error = exact_counts_compress(boot->counts, boot->kept);
	return error;
}

static int check_request(const struct boot_request *request, char *reason, size_t reason_size)
{
	if (request->case_count != 1)
		snprintf(reason, reason_size, "the exact lane runs one case a boot, not %zu", request->case_count);
	else if (request->cpus > EXACT_CPUS_MAXIMUM)
		snprintf(reason, reason_size, "%u CPUs: an emulated CPU has no x2APIC, so %u are the most; give fewer", request->cpus, EXACT_CPUS_MAXIMUM);
	else
		return 0;
	return -EINVAL;
}

static int exact_run(void *opaque, const struct boot_request *request, const struct boot_sink *sink, struct boot_result *result)
{
	struct exact_session *session = opaque;
	struct exact_boot boot = { .session = session, .request = request, .sink = sink };
	char *initramfs = text_format("%s/boot-%04u.cpio", session->directory, request->index);
	char *places = text_format("%s/places-%04u", session->directory, request->index);
	char reason[sizeof(result->detail)] = "", *kernel = NULL;
	int error = check_request(request, reason, sizeof(reason));

	boot.counts = text_format("%s/counts-%04u", session->directory, request->index);
	if (!error && request->raw_directory)
		boot.kept = text_format("%s/exact-%s.counts.gz", request->raw_directory, request->cases[0].id);
	if (!error) {
		error = kernel_image_for_boot(request->kernel, session->directory, &kernel);
		if (error)
			snprintf(reason, sizeof(reason), "kernel %s: %s", request->kernel->image, strerror(-error));
	}
	if (!error)
		error = find_symbols(session, request, kernel, reason, sizeof(reason));
	if (!error)
		error = exact_places_write(&session->symbols, request->architecture, places);
	if (!error)
		error = write_initramfs(session, request, NULL, initramfs, reason, sizeof(reason));
	if (!error) {
		error = boot_case(&boot, kernel, initramfs, places, result);
	} else {
		boot_not_started(result, reason, error);
		error = 0;
	}
	unlink(boot.counts);
	unlink(initramfs);
	unlink(places);
	free(boot.counts);
	free(boot.kept);
	free(initramfs);
	free(places);
	free(kernel);
	return error;
}

static const struct lane exact_lane = {
	.name = "exact",
	.summary = "emulates the machine and counts each kernel instruction: the same counts on every host",
	.cpus_maximum = EXACT_CPUS_MAXIMUM,
	.probe = exact_probe,
	.prepare = exact_prepare,
	.run = exact_run,
	.cleanup = exact_cleanup,
};
LANE_REGISTER(exact_lane);
