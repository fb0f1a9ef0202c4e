#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# move_hosts.sh: processes move nodes, with faults (move_hosts.py). Then the same with a broken rule,
# which a host must notice.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
unset MAKEFLAGS MAKELEVEL # those of the make that runs the tests
make -s move_hosts tests/shared/planted/move_hosts-MINIMUM_IGNORED
python3 "$here/move_hosts.py" ./move_hosts
rc=0
python3 "$here/move_hosts.py" tests/shared/planted/move_hosts-MINIMUM_IGNORED --violation || rc=$?
[ $rc = 3 ] || { echo "no host noticed the broken rule"; exit 1; }
