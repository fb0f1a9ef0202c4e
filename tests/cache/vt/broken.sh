#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# broken.sh [RULE...]: break one rule of src/cache/cache.h at a time; vt must find the violation that the
# rule prevents. Without an argument: all rules of rules.txt.
#
# The sound program must violate nothing. Of the schedules that it is tried with, FLOOR or more must reach each rule: their
# histories are other ones without it. Fewer say that the schedules do not try the rule. Each
# IS_BROKEN in src/cache must have a row, and each rule its place in tests/model/README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
unset MAKEFLAGS MAKELEVEL # those of the make that runs the tests
FLOOR=10
TRIED=2000 # SCHEDULES of vt.c

row() { # RULE COLUMN
	awk -F ' [|] ' -v name="$1" -v n="$2" '$1 == name { print $n }' "$here/rules.txt"
}

named=$(cd "$top" && sed -n 's/.*IS_BROKEN(\([A-Z_]*\)).*/\1/p; s/^#if.*BROKEN_\([A-Z_]*\)$/\1/p' src/cache/*.c | sort -u)
unlisted=
for rule in $named; do
	[ -n "$(row "$rule" 1)" ] || grep -q "^$rule: " "$here/unreached.txt" || unlisted="$unlisted $rule"
done
[ -z "$unlisted" ] || { echo "rules.txt has no row of$unlisted"; exit 1; }

# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(awk -F ' [|] ' 'NF == 4 && /^[A-Z]/ { print $1 }' "$here/rules.txt")
programs=
for rule in "$@"; do
	programs="$programs tests/cache/vt/planted/vt-$rule"
done
# shellcheck disable=SC2086
make -s $programs

kept=$(mktemp)
trap 'rm -f "$kept"' EXIT
tests/cache/vt/vt --seed 1 --schedules "$TRIED" --keep "$kept"

found=0
for rule in "$@"; do
	program=tests/cache/vt/planted/vt-$rule
	seed=$(row "$rule" 3)
	[ -z "${RESEX_DEEP-}" ] || seed=1
	echo "$rule ($(row "$rule" 4)):"
	if ! grep -q "[| ,]${rule}[ :,]" "$top/tests/model/README.md"; then
		echo "tests/model/README.md must say where it is in the code and in the models"
	elif ! "$program" --against "$kept" --until "$FLOOR" --seed 1 --schedules "$TRIED"; then
		echo "fewer than $FLOOR: tests/cache/vt must make what the rule is for more often"
	elif "$program" --expect "$(row "$rule" 2)" --seed "$seed" --schedules "${RESEX_SCHEDULES:-60000}"; then
		found=$((found + 1))
	fi
done
echo "$found of $# broken rules were found"
[ "$found" = $# ]
