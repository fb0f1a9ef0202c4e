#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: bash completion offers each option of the resex-cached just built.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
# shellcheck source=/dev/null
. "$top/etc/bash-completion/resex-cached"
program=$PWD/resex-cached
[ -x "$program" ] || { echo "completion: resex-cached is not built in $PWD"; exit 77; }
# shellcheck disable=SC2317 # the completion calls it
resex-cached() { "$program" "$@"; }

# expect WANTED WORD...: what is offered for the last word of "resex-cached WORD..."
expect() {
	local wanted=$1
	shift
	COMP_WORDS=(resex-cached "$@") COMP_CWORD=$#
	_resex_cached
	[ "${COMPREPLY[*]}" = "$wanted" ] && return
	echo "completion: for '$*' offers '${COMPREPLY[*]}', not '$wanted'"
	exit 1
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
: >"$dir/a file"

expect '--config --host --check --schema --verbose --help --version' -
expect '--check' --ch
expect "$dir/a file" -c "$dir/a"
expect "$dir/a file" --config = "$dir/a"
expect '' -H ''
