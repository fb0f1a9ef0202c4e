#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test_two_hosts.sh: etc/examples/two-hosts/run does what it says, with the commands that it prints.
#
#	tests/cli/test_two_hosts.sh [BUILD]
#
# Exit: 0, 1 when something was not as it should be.
set -u
top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
build=$(cd "${1:-.}" && pwd)
dir=$(mktemp -d /tmp/resex-trial-XXXXXX)
# shellcheck source=tests/cli/checks.sh
. "$top/tests/cli/checks.sh"
run=$top/etc/examples/two-hosts/run
trial=
export COLUMNS=200 TMPDIR=$dir/tmp
mkdir "$TMPDIR"

cleanup() {
	[ -z "$trial" ] || { kill -TERM "$trial" && wait "$trial"; } 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT

nothing_left() { [ -z "$(ls -A "$TMPDIR")" ] && ! pgrep -f "$TMPDIR/"; }

good 'a verb' '^xen2 +bulk +2 +1 +256 ' "$run" -b "$build" list --all-hosts
good 'what is simulated says so' '^xen2: SIMULATED: ' "$run" -b "$build" host-list
fails 2 resex 'there is no service "wbe": see resex ' "$run" -b "$build" move n2 wbe
that 'nothing is left' nothing_left
that 'a build that is not there is refused' not "$run" -b "$dir/nowhere" host-list

# ^C comes to the script, too, when this test runs under nohup or in the background.
env --default-signal=INT "$run" -b "$build" >"$dir/said" 2>"$dir/said.err" &
trial=$!
that 'it says how to end it' until_says '^.C ends both' cat "$dir/said"
eval "$(sed -n 's/^ *alias r1="\(.*\)"$/r1() { \1 "$@"; }/p' "$dir/said")"
pid=$(sed -n 's/^ *kill -STOP \([0-9]*\) .*/\1/p' "$dir/said")

# printed PATTERN COMMAND...: the command is among those printed, and its output has the pattern.
printed() {
	local pattern=$1
	shift
	that "\"$*\" is printed" grep -q "^  $* " "$dir/said"
	good "$*" "$pattern" "$@"
}

printed '^xen2 +server ' r1 list --all-hosts
printed '^node n2 serves mail$' r1 move n2 mail
that 'FENCE has grown' until_says '^mail +2 +xen1 +free +- +[0-9]+\.[1-9]' r1 lock-list
printed '^web +1 +xen1 +free +- +[0-9]+\.[1-9]' r1 lock-list
printed ' n2 +web +mail +order +moved ' r1 history
kill -STOP "$pid"
that 'xen2 hangs' until_says '^xen2 +2 +silent .* no heartbeat for ' r1 host-list
printed '^xen2 +2 +silent ' r1 host-list
kill -INT "$trial"
wait "$trial"
code=$?
trial=
that '^C ends it' test "$code" -eq 130
that 'also while a host is stopped nothing is left' nothing_left

echo "test_two_hosts: $checks checks, $wrong wrong"
[ "$wrong" -eq 0 ]
