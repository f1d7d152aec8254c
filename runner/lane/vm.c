// SPDX-License-Identifier: GPL-2.0-or-later
/* The vm lane: a kernel in QEMU, under KVM where that is proved to work, else under multi-threaded TCG. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/files.h"
#include "accelerator.h"
#include "guest-boot.h"
#include "initramfs.h"
#include "job.h"
#include "kernel-image.h"

/* Until the first case starts. Generous: on a busy host a TCG guest with many CPUs takes its time. */
#define BOOT_SECONDS 90
#define BOOT_SECONDS_PER_CPU 4
#define POWER_OFF_SECONDS 0
#define VM_CPUS_MAXIMUM 255	/* what QEMU's x86 machine takes without an IOMMU */

struct vm_session {
	struct accelerator accelerator;
	char *directory;		/* ours: removed at the end */
	char *base_path;		/* base.cpio */
	struct initramfs *base;
	json_t *facts;
};

static int vm_probe(const char *architecture, struct lane_facts *facts)
{
	struct accelerator accelerator;
	int error = accelerator_choose(architecture, &accelerator, facts->reason, sizeof(facts->reason));

	if (error)
		return error;
	facts->reason[0] = '\0';
	facts->facts = accelerator_facts(&accelerator);
	return facts->facts ? 0 : -ENOMEM;
}

static void vm_cleanup(void *opaque)
{
	struct vm_session *session = opaque;

	if (!session)
		return;
	if (session->directory)
		remove_tree(session->directory);
	initramfs_free(session->base);
	json_decref(session->facts);
	free(session->base_path);
	free(session->directory);
	free(session);
}

static int vm_prepare(const char *directory, const char *architecture, void **opaque, char *reason, size_t reason_size)
{
	struct vm_session *session = calloc(1, sizeof(*session));
	int error;

	if (!session)
		return -ENOMEM;
	error = accelerator_choose(architecture, &session->accelerator, reason, reason_size);
	if (!error)
		error = guest_base_make(architecture, &session->base, reason, reason_size);
	if (error) {
		vm_cleanup(session);
		return error;
	}
	session->facts = accelerator_facts(&session->accelerator);
	session->directory = text_format("%s/vm-%ld", directory, (long)getpid());
	session->base_path = text_format("%s/base.cpio", session->directory);
	error = make_directories(session->directory);
	if (!error)
		error = initramfs_write(session->base, NULL, session->base_path);
	if (error) {
		snprintf(reason, reason_size, "%s: %s", session->base_path, strerror(-error));
		vm_cleanup(session);
		return error;
	}
	*opaque = session;
	return 0;
}

/* The archive of one boot: the base, and the job behind it. */
static int write_initramfs(const struct vm_session *session, const struct boot_request *request, const char *path,
			   char *reason, size_t reason_size)
{
	struct guest_job job = {
		.architecture = request->architecture,
		.kernel = request->kernel,
		.cases = request->cases,
		.case_count = request->case_count,
	};
	struct initramfs *initramfs;
	int error = initramfs_new(session->base, &initramfs);

	if (error)
		return error;
	error = guest_job_add(initramfs, &job, reason, reason_size);
	if (!error) {
		error = initramfs_write(initramfs, session->base_path, path);
		if (error)
			snprintf(reason, reason_size, "%s: %s", path, strerror(-error));
	}
	initramfs_free(initramfs);
	return error;
}

static int keep_file(void *context, const char *name, const void *data, size_t size)
{
	const struct boot_request *request = context;
	char *path = text_format("%s/%s", request->raw_directory, name);
	int error = write_file(path, data, size);

	free(path);
	return error;
}

static int boot(const struct vm_session *session, const struct boot_request *request, const char *kernel,
		const char *initramfs, const struct boot_sink *sink, struct boot_result *result)
{
	char *command_line = guest_command_line(session->accelerator.machine, request->kernel, true, request->boot_parameters);
	unsigned int *limits = calloc(request->case_count + 1, sizeof(*limits));
	struct guest_boot options = {
		.qemu = {
			.machine = session->accelerator.machine,
			.accelerator = session->accelerator.option,
			.cpu_model = session->accelerator.cpu_model,
			.cpus = request->cpus,
			.nodes = request->nodes,
			.memory_bytes = request->memory_bytes,
			.kernel = kernel,
			.initrd = initramfs,
			.append = command_line,
		},
		.virtio_channel = true,
		.second_port = true,
		.case_count = request->case_count,
		.case_seconds = limits,
		.boot_seconds = BOOT_SECONDS + BOOT_SECONDS_PER_CPU * request->cpus,
		.power_off_seconds = POWER_OFF_SECONDS,
		.raw_directory = request->raw_directory,
		.facts = session->facts,
		.sink = sink,
		.hooks = { .context = (void *)request, .file = request->raw_directory ? keep_file : NULL },
		.terminal_input = -1,
		.terminal_output = -1,
	};
	int error = -ENOMEM;

	if (limits) {
		for (size_t i = 0; i < request->case_count; i++)
			limits[i] = request->cases[i].timeout_seconds;
		error = guest_boot_run(&options, result);
	}
	free(limits);
	free(command_line);
	return error;
}

static int vm_run(void *opaque, const struct boot_request *request, const struct boot_sink *sink, struct boot_result *result)
{
	const struct vm_session *session = opaque;
	char *initramfs = text_format("%s/boot-%04u.cpio", session->directory, request->index);
	char reason[sizeof(result->detail)] = "", *kernel = NULL;
	int error = -EINVAL;

	if (request->kernel && request->kernel->image)
		error = kernel_image_for_boot(request->kernel, session->directory, &kernel);
	if (error == -EINVAL)
		snprintf(reason, sizeof(reason), "the host's own kernel is no image to boot; use --lane host or another kernel");
	else if (error)
		snprintf(reason, sizeof(reason), "kernel %s: %s", request->kernel->image, strerror(-error));
	else
		error = write_initramfs(session, request, initramfs, reason, sizeof(reason));
	if (!error) {
		error = boot(session, request, kernel, initramfs, sink, result);
	} else {
		boot_not_started(result, reason, error);
		error = 0;
	}
	unlink(initramfs);
	free(initramfs);
	free(kernel);
	return error;
}

static const struct lane vm_lane = {
	.name = "vm",
	.summary = "boots the kernel in QEMU: KVM where it is proved to work, else multi-threaded TCG",
	.cpus_maximum = VM_CPUS_MAXIMUM,
	.probe = vm_probe,
	.prepare = vm_prepare,
	.run = vm_run,
	.cleanup = vm_cleanup,
};
LANE_REGISTER(vm_lane);
