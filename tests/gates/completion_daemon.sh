#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: bash completion offers each option of the resexd just built, and its policies.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
# shellcheck source=/dev/null
. "$top/etc/bash-completion/resexd"
program=$PWD/resexd
[ -x "$program" ] || { echo "completion: resexd is not built in $PWD"; exit 77; }
# shellcheck disable=SC2317 # the completion calls it
resexd() { "$program" "$@"; }

# expect WANTED WORD...: what is offered for the last word of "resexd WORD..."
expect() {
	local wanted=$1
	shift
	COMP_WORDS=(resexd "$@") COMP_CWORD=$#
	_resexd
	[ "${COMPREPLY[*]}" = "$wanted" ] && return
	echo "completion: for '$*' offers '${COMPREPLY[*]}', not '$wanted'"
	exit 1
}

all='--config --check --observe --restore-caps --hv --scenario --policy --policy-dir --summary --socket --schema --foreground --verbose'
expect "$all --help --version" ''
expect '--scenario --summary --socket --schema' --hv sim --s
expect 'policy' --schema p
expect 'sim' --hv s
expect 'xen sim' -H ''
expect 'sim' --hv = s
expect 'freemarket' -p free
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
: >"$dir/a file"
mkdir "$dir/b folder"
expect "$dir/b folder" --policy-dir "$dir/"
for option in -c --config -S --scenario -o --summary -s --socket; do
	expect "$dir/a file" $option "$dir/a"
done
expect "$dir/a file" --config = "$dir/a"

# After an option that takes a value no option is offered: each such option has its own words.
for option in $("$program" --help | sed -n 's/^  \(-.\), \(--[a-z-]*\) [A-Z].*/\1 \2/p'); do
	expect '' "$option" --
done

# The schemas and the policies are those that resexd names when it is given a wrong one.
refused=$("$program" --schema none 2>&1) || true
schemas=${refused##*: use }
expect "${schemas//,/}" -j ''
refused=$("$program" --hv sim -S "$top/etc/scenarios/paper.json" --check -p none 2>&1) || true
policies=${refused##*: use }
policies=${policies%, or a plug-in in *}
expect "${policies//,/}" --policy ''
