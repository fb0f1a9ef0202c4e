#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: bash completion offers each option of the benchex just built, and takes none for a value.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
# shellcheck source=/dev/null
. "$top/etc/bash-completion/benchex"
program=$PWD/benchex
[ -x "$program" ] || { echo "completion: benchex is not built in $PWD"; exit 77; }
# shellcheck disable=SC2317 # the completion calls it
benchex() { "$program" "$@"; }

# expect WANTED WORD...: what is offered for the last word of "benchex WORD..."
expect() {
	local wanted=$1
	shift
	COMP_WORDS=(benchex "$@") COMP_CWORD=$#
	_benchex
	[ "${COMPREPLY[*]}" = "$wanted" ] && return
	echo "completion: for '$*' offers '${COMPREPLY[*]}', not '$wanted'"
	exit 1
}

expect 'server client bulk merge profiles --help --version' ''
expect 'client' cl
expect '--profile --progress' client 10.0.0.1 --pro
expect '--qps' bulk h --q
expect '' server --q
expect 'small' bulk h --profile sm
expect 'bandwidth small many-qp control' bulk h -P ''
expect 'read' bulk h -m re
expect '' client h --depth ''
expect '' client h -D ''
expect '--json' client h -e --js
expect '--json --help' profiles ''
expect 'small' bulk h --profile = sm
expect 'bandwidth small many-qp control' bulk h --profile =
: >'a trace'
expect 'a trace' client h -t 'a t'
expect 'a trace' client h --trace = 'a t'
expect 'a trace' merge 'a t'
expect '--parallel' merge --p
rm -f 'a trace'

# Every option offered is one that the role takes.
for role in server client bulk; do
	COMP_WORDS=(benchex "$role" h --) COMP_CWORD=3
	_benchex
	[ "${#COMPREPLY[@]}" -ge 12 ]
	for option in "${COMPREPLY[@]}"; do
		! "$program" "$role" "$option" x x x 2>&1 | grep -q 'unknown option\| is for ' ||
			{ echo "completion: $role is offered $option, which it does not take"; exit 1; }
	done
done
