#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh BUILD: test the membership with three real corosyncs on this machine: alone (cluster.py), and
# with resexds that use it (daemons.py). All processes end with this script, whatever happens.
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

[ $# -eq 1 ] || { echo "usage: $0 BUILD" >&2; exit 2; }
watch=$1/tests/member/watch
[ -x "$watch" ] || skip "$watch was not built; configure --with-corosync"
for tool in corosync ip nsenter python3; do
	command -v $tool >/dev/null || skip "$tool was not found; on Debian: apt-get install corosync iproute2 util-linux python3"
done
# apart COMMAND...: run COMMAND in mount, network and process namespaces of its own. All mounts are
# made private, so no mount made here shows outside. unshare would do that at "/", and fail in a
# chroot whose "/" is not a mount point; nsenter -m does it at the root of the mount namespace.
apart() {
	# shellcheck disable=SC2016
	unshare -m --propagation unchanged sh -c 'nsenter -t $$ -m mount --make-rprivate / && exec "$@"' sh \
		unshare -n -p --fork --kill-child --mount-proc --propagation unchanged "$@"
}

apart true 2>/dev/null ||
	skip "mount, network and process namespaces are not permitted here; run it as root, outside of a container"
rc=0
apart python3 "$here/cluster.py" "$watch" "$watch-planted" || rc=1
apart python3 "$here/daemons.py" "$1" || rc=1
exit $rc
