#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# init.sh: /init of every VM and guest. Finds out its role, starts what the role
# needs, then does as it is told: dom0 and a plain VM by files on a share of the
# host (dom0-loop.sh), a guest of Xen by its console (guest-loop.sh).
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:/t HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
exec </dev/console >/dev/console 2>&1
role=plain
[ "$(cat /sys/hypervisor/type 2>/dev/null)" = xen ] && role=domU
if [ $role = domU ]; then
	modprobe xenfs
	mount -t xenfs xenfs /proc/xen
	grep -q control_d /proc/xen/capabilities 2>/dev/null && role=dom0
fi
export ROLE=$role
hostname $role
ip link set lo up
echo 1 >/proc/sys/kernel/printk
stty -echo 2>/dev/null

if [ $role != domU ]; then
	modprobe virtio_pci
	modprobe 9pnet_virtio
	modprobe 9p
	mkdir -p /h /img
fi
if [ $role = domU ]; then
	for m in xen-gntalloc xen-gntdev; do modprobe $m; done
fi
if [ $role = dom0 ]; then
	for m in xen-evtchn xen-privcmd xen-gntdev xen-gntalloc; do modprobe $m; done
	mkdir -p /run/xen /run/xenstored /var/lib/xenstored /var/log/xen /run/lock
	xenstored --pid-file /run/xenstored.pid || echo "### xenstored FAILED"
	i=0
	until xenstore-read -s / >/dev/null 2>&1 || [ $i -ge 50 ]; do
		i=$((i + 1))
		usleep 100000
	done
	xen-init-dom0 >/dev/null || echo "### xen-init-dom0 FAILED"
fi
[ $role = domU ] || /t/shares.sh join
read -r up _ </proc/uptime
echo "### READY role=$role uptime=$up"
if [ $role = domU ]; then
	for word in $(cat /proc/cmdline); do
		case $word in run=*) exec "${word#run=}" ;; esac
	done
	exec /t/guest-loop.sh
fi
exec /t/dom0-loop.sh
