#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A service in the guest of test_reboot_systemd.py: what it saw at each boot goes to /disk/trace, and the machine goes off when
# neither the user's command nor the unit that goes on for it runs. A boot of the next kernel ends this service before that.
trace() { echo "$@" >> /disk/trace; /bin/busybox sync; }
result() { systemctl show "$1" --property Result --value; }
status() { systemctl show "$1" --property ExecMainStatus --value; }

trace "boot $(/bin/busybox od -An -v -tx1 /sys/kernel/notes | /bin/busybox tr -d ' \n') $(/bin/busybox cat /proc/sys/kernel/random/boot_id)"
trace "init $(/bin/busybox cat /proc/1/comm)"
idle=0
while [ $idle -lt 5 ]; do
	/bin/busybox sleep 1
	case "$(systemctl is-active first.service shootdown-resume.service; systemctl list-jobs)" in
	active* | *"
active"* | *activating* | *start* | *stop*) idle=0 ;;
	*) idle=$((idle + 1)) ;;
	esac
done
trace "first $(result first.service) $(status first.service)"
trace "resumed $(result shootdown-resume.service) $(status shootdown-resume.service)"
trace "failed $(systemctl list-units --failed --plain --no-legend | /bin/busybox tr '\n' ' ')"
systemctl poweroff
