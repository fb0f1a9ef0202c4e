#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# broken.sh [RULE...]: break one rule of the protocol at a time; vt must find the violation that the
# rule prevents. Without an argument: all rules of rules.txt.
#
# The sound program must violate nothing. Of the schedules that it is tried with, FLOOR or more must reach each rule: their
# histories are other ones without it. Fewer say that the schedules do not try the rule.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
unset MAKEFLAGS MAKELEVEL # those of the make that runs the tests
FLOOR=10
TRIED=20000 # SCHEDULES of vt.c
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(sed -n 's/^\([A-Z_]*\) | .*/\1/p' "$here/rules.txt")

# test_recovery has tests of these two; without cmocka it is not built.
in_recovery() {
	[ -x tests/unit/test_recovery ] || return 1
	case $1 in NO_BREAK_DRIFT | RELEASE_BLIND) return 0 ;; *) return 1 ;; esac
}

# The search for a rare violation begins shortly before a schedule that had it; with RESEX_DEEP=1 at
# the first. When the schedules have changed since, it only takes longer.
first_seed() {
	[ -z "${RESEX_DEEP-}" ] || { echo 1; return; }
	case $1 in
	SWEPT_BY_ANY) echo 13760 ;;
	ADOPT_UNSWEPT) echo 5510 ;;
	ADOPT_COUNTED) echo 3510 ;;
	SAVE_FAILED) echo 2960 ;;
	FIRST_IN_VAIN) echo 2780 ;;
	*) echo 1 ;;
	esac
}

programs=
for rule in "$@"; do
	programs="$programs tests/shared/planted/vt-$rule"
	! in_recovery "$rule" || programs="$programs tests/shared/planted/recovery-$rule"
done
# shellcheck disable=SC2086
make -s $programs

kept=$(mktemp)
trap 'rm -f "$kept"' EXIT
tests/shared/vt --seed 1 --schedules "$TRIED" --keep "$kept"

found=0
for rule in "$@"; do
	row=$(grep "^$rule | " "$here/rules.txt")
	text=${row##* | } expected=${row#* | }
	options=
	# No transport answers a READ on an old link; the rule says not to rely on that.
	[ "$rule" != RESOLVE_ON_OLD_LINK ] || options=--asides
	echo "$rule ($text):"
	if ! grep -q "| ${rule}[ :]" "$here/../model/README.md"; then
		echo "tests/model/README.md must say where it is in the code and in the models"
		continue
	fi
	if ! "tests/shared/planted/vt-$rule" --against "$kept" --until "$FLOOR" --seed 1 \
		--schedules "$TRIED"; then
		echo "fewer than $FLOOR: schedule.c must make what the rule is for more often"
		continue
	fi
	if "tests/shared/planted/vt-$rule" --expect "${expected% | *}" $options --seed "$(first_seed "$rule")" \
		--schedules "${RESEX_SCHEDULES:-60000}"; then
		if ! in_recovery "$rule" || RESEX_BROKEN=$rule "tests/shared/planted/recovery-$rule"; then
			found=$((found + 1))
		fi
	fi
done
echo "$found of $# broken rules were found"
[ "$found" = $# ]
