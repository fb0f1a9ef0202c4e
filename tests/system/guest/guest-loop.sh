#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# guest-loop.sh: a line "N COMMAND" on the console is run; its output stands on the
# console between "### BEGIN N" and "### END N rc=CODE".
while read -r n command; do
	case $n in
	[0-9]*)
		echo "### BEGIN $n"
		(eval "$command") </dev/null
		echo "### END $n rc=$?"
		;;
	esac
done
