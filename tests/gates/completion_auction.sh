#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: bash completion offers each option of the resex-auction and resex-cacheload just built.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
build=$PWD
# shellcheck source=/dev/null
. "$top/etc/bash-completion/resex-auction"
# shellcheck source=/dev/null
. "$top/etc/bash-completion/resex-cacheload"
[ -x "$build/resex-auction" ] || { echo "completion: resex-auction is not built in $PWD"; exit 77; }
# shellcheck disable=SC2317 # the completions call them
resex-auction() { "$build/resex-auction" "$@"; }
# shellcheck disable=SC2317
resex-cacheload() { "$build/resex-cacheload" "$@"; }

# expect WANTED PROGRAM WORD...: what is offered for the last word
expect() {
	local wanted=$1 program=$2
	shift 2
	COMP_WORDS=("$program" "$@") COMP_CWORD=$#
	"_${program//-/_}"
	[ "${COMPREPLY[*]}" = "$wanted" ] && return
	echo "completion: for '$program $*' offers '${COMPREPLY[*]}', not '$wanted'"
	exit 1
}

expect '--db --listen --cache --no-cache --threads --updaters --work --cpu --list --depends --init --schema --guard --items --users --categories --verbose --help --version' resex-auction ''
expect '--cache --cpu --categories' resex-auction --no-cache --c
expect 'sqlite: host=' resex-auction --db ''
expect 'sqlite:' resex-auction -d = s
expect '' resex-auction --work ''
expect '--proxy --app --readers --updaters --trace --pages --alpha --updates --rate --keep-share --requests --seconds --timeout --update-timeout --seed --log --check --json --help --version' resex-cacheload ''
expect '1 2 3 4 5 6' resex-cacheload --trace ''
expect '--updaters --updates --update-timeout' resex-cacheload -j --u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
: >"$dir/a file"
expect "$dir/a file" resex-cacheload --check "$dir/a"
expect "$dir/a file" resex-auction --schema = "$dir/a"

# After an option that takes a value no option is offered.
for program in resex-auction resex-cacheload; do
	for option in $("$build/$program" --help | sed -n 's/^  \(-.\), \(--[a-z-]*\) [A-Z].*/\1 \2/p'); do
		expect '' "$program" "$option" --
	done
done
