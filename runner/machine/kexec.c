// SPDX-License-Identifier: GPL-2.0-or-later
#include "kexec.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/interrupt.h"
#include "../common/paths.h"
#include "../common/spawn.h"

#define PROGRAM_MS 120000
#define NO_FILE (-1)

static long load_files(int image, int initrd, const char *command_line, unsigned long flags)
{
	return syscall(SYS_kexec_file_load, image, initrd, command_line ? strlen(command_line) + 1 : 0UL, command_line, flags);
}

/* A flag that does not exist is refused behind the check of rights, and before anything is done. */
static bool has_file_load(void)
{
	return load_files(NO_FILE, NO_FILE, NULL, ~0UL) && errno != ENOSYS;
}

static bool first_line_is(const char *path, const char *wanted)
{
	char *text;
	bool is;

	if (read_file(path, 4096, &text, NULL))
		return false;
	is = strstr(text, wanted);
	free(text);
	return is;
}

/* systemd looks for it where root's PATH need not lead. */
static bool has_tool(void)
{
	static const char *const names[] = { "kexec", "/sbin/kexec", "/usr/sbin/kexec" };
	bool found = false;

	for (size_t i = 0; !found && i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = path_find_program(names[i]);

		found = path;
		free(path);
	}
	return found;
}

int kexec_check(bool directly, char *reason, size_t reason_size)
{
	if (geteuid()) {
		snprintf(reason, reason_size, "only root may load a kernel; run as root");
		return -EPERM;
	}
	if (first_line_is("/sys/kernel/security/lockdown", "[integrity]") || first_line_is("/sys/kernel/security/lockdown", "[confidentiality]")) {
		snprintf(reason, reason_size, "the kernel is locked down (/sys/kernel/security/lockdown); reboot by hand");
		return -EPERM;
	}
	if (first_line_is("/proc/sys/kernel/kexec_load_disabled", "1")) {
		snprintf(reason, reason_size, "kernel.kexec_load_disabled is 1 until the next reboot; reboot by hand");
		return -EPERM;
	}
	/* Up to its last step: without it systemd reboots into the default kernel, loaded or not. */
	if (!directly && !has_tool()) {
		snprintf(reason, reason_size, "systemd starts a loaded kernel by the program kexec; install kexec-tools");
		return -ENOENT;
	}
	if (has_file_load())
		return 0;
	if (!file_exists("/sys/kernel/kexec_loaded")) {
		snprintf(reason, reason_size, "the running kernel has no kexec (CONFIG_KEXEC_FILE or CONFIG_KEXEC); reboot by hand");
		return -ENOSYS;
	}
	if (!has_tool()) {
		snprintf(reason, reason_size, "the running kernel has no kexec_file_load; install kexec-tools");
		return -ENOSYS;
	}
	return 0;
}

/* Runs a program whose output is its reason when it fails. */
static int run_program(const char *const *argv, char *reason, size_t reason_size)
{
	const struct spawn_options options = { .input = -1, .error = SPAWN_INHERIT };
	char *output = NULL;
	int status = 0, error = run_capture(argv, &options, PROGRAM_MS, 4096, &output, &status);

	free(output);
	if (!error && (!WIFEXITED(status) || WEXITSTATUS(status)))
		error = -EIO;
	if (error)
		snprintf(reason, reason_size, "%s failed: %s", argv[0], error == -EIO ? "see its message above" : strerror(-error));
	return error;
}

static int load_by_tool(const char *image, const char *initrd, const char *command_line, char *reason, size_t reason_size)
{
	char *initrd_word = initrd ? text_format("--initrd=%s", initrd) : NULL;
	char *line_word = text_format("--command-line=%s", command_line);
	const char *argv[] = { "kexec", "-c", "-l", image, line_word, initrd_word, NULL };
	int error = run_program(argv, reason, reason_size);

	free(line_word);
	free(initrd_word);
	return error;
}

static const char *load_error(int error)
{
	switch (-error) {
	case EKEYREJECTED:
	case ENOKEY:
	case EBADMSG:
		return "the running kernel wants it signed";
	case ENOEXEC:
		return "no image that can be started so (a bzImage needs CONFIG_RELOCATABLE)";
	default:
		return strerror(-error);
	}
}

int kexec_load(const char *image, const char *initrd, const char *command_line, char *reason, size_t reason_size)
{
	int image_fd, initrd_fd = NO_FILE, error = 0;

	if (!has_file_load())
		return load_by_tool(image, initrd, command_line, reason, reason_size);
	image_fd = open(image, O_RDONLY | O_CLOEXEC);
	if (image_fd < 0) {
		error = -errno;
		snprintf(reason, reason_size, "%s: %s", image, strerror(-error));
		return error;
	}
	if (initrd)
		initrd_fd = open(initrd, O_RDONLY | O_CLOEXEC);
	if (initrd && initrd_fd < 0) {
		error = -errno;
		snprintf(reason, reason_size, "%s: %s", initrd, strerror(-error));
	} else if (load_files(image_fd, initrd_fd, command_line, initrd ? 0 : KEXEC_FILE_NO_INITRAMFS)) {
		error = -errno;
		snprintf(reason, reason_size, "%s cannot be loaded: %s", image, load_error(error));
	}
	if (initrd_fd >= 0)
		close(initrd_fd);
	close(image_fd);
	return error;
}

void kexec_unload(void)
{
	static const char *const argv[] = { "kexec", "-u", NULL };
	char reason[256];

	if (has_file_load())
		load_files(NO_FILE, NO_FILE, NULL, KEXEC_FILE_UNLOAD);
	else
		run_program(argv, reason, sizeof(reason));
}

/*
 * From the moment that systemd knows, it ends this command, too, with SIGTERM:
 * that is no interruption, and must not take back what was loaded. At the end
 * of a login session systemctl itself is ended so.
 */
static int ask_systemd(char *reason, size_t reason_size)
{
	static const char *const argv[] = { "systemctl", "kexec", NULL };
	const struct spawn_options options = { .input = -1, .output = -1, .error = SPAWN_INHERIT };
	struct child child;
	int status = 0, error = interrupted ? -EINTR : spawn(argv, &options, &child), ready = 0;

	if (!error) {
		struct pollfd ended = { .fd = child.pidfd, .events = POLLIN };

		do
			ready = poll(&ended, 1, PROGRAM_MS);
		while (ready < 0 && errno == EINTR);
		if (ready > 0)
			error = child_wait_ended(&child, &status);
		else
			child_end(&child, 200);
		if (!error && ready <= 0)
			error = -ETIMEDOUT;
	}
	if (!error && !(WIFEXITED(status) ? !WEXITSTATUS(status) : WTERMSIG(status) == SIGTERM))
		error = -EIO;
	if (error)
		snprintf(reason, reason_size, "systemctl kexec failed: %s", error == -EIO ? "see its message above" : strerror(-error));
	return error;
}

int kexec_start(bool directly, char *reason, size_t reason_size)
{
	int error;

	if (!directly)
		return ask_systemd(reason, reason_size);
	sync();
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	error = -errno;
	snprintf(reason, reason_size, "the loaded kernel did not start: %s", strerror(-error));
	return error;
}
