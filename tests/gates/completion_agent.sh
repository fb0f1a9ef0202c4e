#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: bash completion offers each option of the resex-agent just built.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
# shellcheck source=/dev/null
. "$top/etc/bash-completion/resex-agent"
program=$PWD/resex-agent
[ -x "$program" ] || { echo "completion: resex-agent is not built in $PWD"; exit 77; }
# shellcheck disable=SC2317 # the completion calls it
resex-agent() { "$program" "$@"; }

# expect WANTED WORD...: what is offered for the last word of "resex-agent WORD..."
expect() {
	local wanted=$1
	shift
	COMP_WORDS=(resex-agent "$@") COMP_CWORD=$#
	_resex_agent
	[ "${COMPREPLY[*]}" = "$wanted" ] && return
	echo "completion: for '$*' offers '${COMPREPLY[*]}', not '$wanted'"
	exit 1
}

expect '--foreground --scan-ms --load-period --no-grant --no-xen --socket --hook --once --json --verbose --help --version' ''
expect '--no-grant --no-xen' --once --no
expect '' --scan-ms ''
expect '' -s ''
expect off --load-period ''
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
: >"$dir/a socket"
expect "$dir/a socket" -S "$dir/a"
expect "$dir/a socket" --no-xen = "$dir/a"
