#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh WATCH PLANT: membership by three real corosyncs on this machine (cluster.py), which
# end with this script, whatever happens.
#
# Exit: 0, 1 on a failure, 77 when namespaces are not permitted or something is not
# installed (1 when CI=true).
set -eu
here=$(cd "$(dirname "$0")" && pwd)

skip() {
	echo "member: $1" >&2
	[ "${CI-}" = true ] && exit 1
	exit 77
}

[ $# -eq 2 ] || { echo "usage: $0 WATCH PLANT" >&2; exit 2; }
[ -x "$1" ] || skip "$1 was not built; configure --with-corosync"
for tool in corosync ip nsenter python3; do
	command -v $tool >/dev/null || skip "$tool was not found; on Debian: apt-get install corosync iproute2 util-linux python3"
done
unshare -m -n -p --fork --kill-child --mount-proc true 2>/dev/null ||
	skip "mount, network and process namespaces are not permitted here; run it as root, outside of a container"
exec unshare -m -n -p --fork --kill-child --mount-proc python3 "$here/cluster.py" "$1" "$2"
