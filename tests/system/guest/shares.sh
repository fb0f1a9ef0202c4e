#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shares.sh join|leave: mount or unmount what the host shares. In dom0, also start
# or stop xenconsoled, which writes the guests' consoles there.
cd / || exit 1
pid=/run/xenconsoled.pid
case $1 in
join)
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 host /h || echo "### NO SHARE"
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,ro,cache=loose img /img
	[ "$ROLE" != dom0 ] || xenconsoled --pid-file=$pid --log=guest --log-dir=/h/console
	;;
leave)
	if [ "$ROLE" = dom0 ]; then
		kill "$(cat $pid)"
		while kill -0 "$(cat $pid)" 2>/dev/null; do usleep 20000; done
	fi
	umount /img && umount /h || echo "### SHARES IN USE"
	;;
esac
echo "### READY $1"
