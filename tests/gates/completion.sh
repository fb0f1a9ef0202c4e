#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: bash completion offers each verb of the program just built, and guests as they are named.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
# shellcheck source=/dev/null
. "$top/etc/bash-completion/resex"
program=$PWD/resex
[ -x "$program" ] || { echo "completion: resex is not built in $PWD"; exit 77; }

# The daemon is not running: its answers are given here.
resex() {
	case $1 in
	--help) "$program" --help ;;
	list) printf '%s\n' 'NAME ID' 'web 1' 'bulk$(touch${IFS}hit) 2' ;;
	policy-list) printf '%s\n' 'NAME IN-FORCE' 'null no' 'freemarket yes' ;;
	*) echo "resex: unexpected $*" >&2; return 2 ;;
	esac
}

# expect WANTED WORD...: what is offered for the last word of "resex WORD..."
expect() {
	local wanted=$1
	shift
	COMP_WORDS=(resex "$@") COMP_CWORD=$#
	_resex
	[ "${COMPREPLY[*]}" = "$wanted" ] && return
	echo "completion: for '$*' offers '${COMPREPLY[*]}', not '$wanted'"
	exit 1
}

expect 'policy-list policy-show policy-set policy-check' policy-
expect 'web' why w
expect 'web bulk\$\(touch\$\{IFS\}hit\)' -j -s /run/sock guest-show ''
[ ! -e hit ]
expect '--undo' cap-release --
expect 'freemarket' policy-set free
expect '' events -n ''
# Every verb that the program has, and no other word.
COMP_WORDS=(resex '') COMP_CWORD=1
_resex
for verb in "${COMPREPLY[@]}"; do
	case $verb in --*) continue ;; esac
	"$program" -s /nonexistent/socket "$verb" x x x >/dev/null 2>said || true # no daemon
	! grep -q 'there is no' said || { echo "completion: offers $verb, which resex does not know"; exit 1; }
done
rm -f said
[ "${#COMPREPLY[@]}" -ge 10 ]
