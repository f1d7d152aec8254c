// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In the guest of test_reboot_systemd.py: what systemd-shutdown asks kexec for
 * as its last step, "kexec -e". The package kexec-tools itself would load a
 * kernel of its own at each shutdown of the machine that runs the tests.
 */
#include <linux/reboot.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **words)
{
	if (count != 2 || strcmp(words[1], "-e"))
		return 1;
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	return 1;
}
