#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# dom0-loop.sh: run what the host asks for. A line "N" on the console means: run
# /h/cmd/N.sh, its output to N.out, then its exit code to N.rc. Commands run beside
# each other. "leave" unmounts the shares, so that QEMU can save the VM; "rejoin"
# mounts them in the VM that is restored.
run() {
	sh "/h/cmd/$1.sh" </dev/null >"/h/cmd/$1.out" 2>&1
	echo $? >"/h/cmd/$1.tmp"
	mv "/h/cmd/$1.tmp" "/h/cmd/$1.rc"
}

while read -r n; do
	case $n in
	leave) /t/shares.sh leave ;;
	rejoin) /t/shares.sh join ;;
	[0-9]*) run "$n" & ;;
	esac
done
