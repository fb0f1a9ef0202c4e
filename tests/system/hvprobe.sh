#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# hvprobe.sh: in dom0 of a test host, prove src/hv against a guest.
#
#	hvprobe.sh HVPROBE CONFIG LOG [OTHER-CONFIG OTHER-LOG]
#
# CONFIG is the xl configuration of a guest that is not running yet and runs
# hvguest on its console; LOG is where xenconsoled writes that console. With
# a second guest, another guest's frames are tried too (PV only). Ends with
# exit status 0 when all checks passed. Both guests are gone afterwards.

# shellcheck disable=SC2086 # frames are words
set -u
probe=$1 config=$2 log=$3
type=$(sed -n 's/^type="\(.*\)"/\1/p' "$config")
failed=0

try() {
	"$probe" "$@" || { echo "hvprobe.sh: $1 failed" >&2; failed=1; }
}

# The line of hvguest in a log: the grant, then the frames.
guest_line() {
	i=0
	until line=$(sed -n 's/.*HVGUEST \([0-9 ]*\) END.*/\1/p' "$1" 2>/dev/null) && [ "$line" ]; do
		i=$((i + 1))
		[ $i -gt 1200 ] && { echo "hvprobe.sh: no line of hvguest in $1" >&2; exit 1; }
		usleep 100000
	done
	echo "$line"
}

guest_name() {
	sed -n 's/^name="\(.*\)"/\1/p' "$1"
}

name=$(guest_name "$config")
try events 0 "xl create -q $config"
line=$(guest_line "$log") || exit 1
id=$(xl domid "$name") ref=${line%% *} frames=${line#* }
scheduler=credit2 command=sched-credit2
xl info | grep -q 'scheduler *: credit$' && scheduler=credit command=sched-credit

try list "$id" "$type"
xl $command -d "$name" -w 512
try caps "$id" $scheduler 512
try race "$id" $scheduler
try map "$id" "$type" $frames
try grant "$id" "$ref"
try watch "$id" "$name" "$ref"
if [ "$type" = pv ]; then try hostile "$id" pv $frames; else try balloon "$id" pvh $frames; fi
if [ $# -ge 5 ] && [ "$type" = pv ]; then
	xl create -q "$4"
	other=$(guest_line "$5") || exit 1
	try frames "$id" "$(xl domid "$(guest_name "$4")")" ${other#* }
	xl destroy "$(guest_name "$4")"
fi

set -- $frames
try zombie "$id" "$ref" "xl destroy $name" "$1" "$2" "$3"
try many 0 -
exit $failed
