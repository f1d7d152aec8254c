#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Before systemd in the guest of test_reboot_systemd.py: what outlives a kernel is on the disk, the units of the administrator too.
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t ext4 /dev/vda /disk
/bin/busybox mkdir -p /disk/units
/bin/busybox mount -o bind /disk/units /etc/systemd/system
/bin/busybox ip link set lo up
exec /lib/systemd/systemd
