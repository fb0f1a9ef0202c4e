#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# tiny.sh: /init of a guest that has only busybox. It uses some CPU time always, so that
# a policy charges it each interval, and takes commands as the other guests do.
export PATH=/bin:/sbin
mount -t proc proc /proc
exec </dev/console >/dev/console 2>&1
stty -echo 2>/dev/null
while :; do usleep 5000; done &
read -r up _ </proc/uptime
echo "### READY role=domU uptime=$up"
exec /t/guest-loop.sh
