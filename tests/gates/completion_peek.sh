#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: bash completion offers each option of the resex-peek just built, and the names in its file.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
# shellcheck source=/dev/null
. "$top/etc/bash-completion/resex-peek"
program=$PWD/resex-peek
[ -x "$program" ] || { echo "completion: resex-peek is not built in $PWD"; exit 77; }
# shellcheck disable=SC2317 # the completion calls it
resex-peek() { "$program" "$@"; }

# expect WANTED WORD...: what is offered for the last word of "resex-peek WORD..."
expect() {
	local wanted=$1
	shift
	COMP_WORDS=(resex-peek "$@") COMP_CWORD=$#
	_resex_peek
	[ "${COMPREPLY[*]}" = "$wanted" ] && return
	echo "completion: for '$*' offers '${COMPREPLY[*]}', not '$wanted'"
	exit 1
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/a file" <<END
{ "cluster": "c", "hosts": [ { "name": "xen1", "number": 1, "address": "10.0.0.1" },
 { "number": 2, "name": "xen2",
   "address": "10.0.0.2" }, { "name": "peek", "number": 3, "role": "client" } ],
 "services": [ { "name": "web", "number": 1, "balancers": ["xen1"] } ] }
END

expect '--cluster --as --within --json --help --version' -
expect '--cluster' --c
expect "$dir/a file" -c "$dir/a"
expect "$dir/a file" --cluster = "$dir/a"
expect 'xen1 xen2' -c "$dir/a file" ''
expect 'xen2' --cluster = "$dir/a file" xen2
expect 'peek' -c "$dir/a file" --as ''
expect '' -c "$dir/none" ''

# After an option that takes a value no option is offered.
for option in $("$program" --help | sed -n 's/^  \(-.\), \(--[a-z-]*\) [A-Z].*/\1 \2/p'); do
	expect '' "$option" --
done
