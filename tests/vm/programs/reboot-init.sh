#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# PID 1 of the guest in test_reboot.py: starts a campaign at the first boot, and afterwards does what systemd would do with
# the unit that it finds on the disk. What it saw goes to /disk/trace.
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mkdir -p /disk /tmp
/bin/busybox mount -t tmpfs tmp /tmp
for module in /modules/*.ko; do
	[ -e "$module" ] && /bin/busybox insmod "$module"
done
/bin/busybox mount -t ext4 /dev/vda /disk
/bin/busybox ip link set lo up

export PATH=/usr/local/bin:/bin HOME=/disk/home XDG_CACHE_HOME=/disk/cache XDG_STATE_HOME=/disk/state
export SHOOTDOWN_UNIT_DIRECTORY=/disk/units
trace() { echo "$@" >> /disk/trace; /bin/busybox sync; }

trace "boot $(/bin/busybox od -An -v -tx1 /sys/kernel/notes | /bin/busybox tr -d ' \n') $(/bin/busybox cat /proc/sys/kernel/random/boot_id)"
trace "line $(/bin/busybox cat /proc/cmdline)"
unit=/disk/units/multi-user.target.wants/shootdown-resume.service
if [ -e $unit ]; then
	cd "$(/bin/busybox sed -n 's/^WorkingDirectory=//p' $unit)" || trace "no directory"
	eval "export $(/bin/busybox sed -n 's/^Environment=//p' $unit | /bin/busybox tr '\n' ' ')"
	eval "$(/bin/busybox sed -n 's/^ExecStart=//p' $unit)" >> /disk/output 2>&1
elif [ ! -e /disk/output ]; then
	cd /disk || trace "no disk"
	/bin/busybox sh /disk/first >> /disk/output 2>&1
fi
# A command that leaves for another kernel does not come back.
trace "end $?"
/bin/busybox umount /disk
/bin/busybox poweroff -f
