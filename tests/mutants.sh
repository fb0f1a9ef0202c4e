#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mutants.sh: break the code on purpose, one small way at a time, and demand
# that the unit tests notice. Run on demand (about ten minutes); check only tries whether the rows
# still apply (check-mutants.sh).
#
#	tests/mutants.sh [-v] [PATTERN]	mutants whose file or change match PATTERN
#
# The mutants are the lines of tests/mutants/FOLDER.rows, with FOLDER as in src/FOLDER, ibmon and
# policies:
#	FILE @ TESTS @ SED-EXPRESSION	the change, and the tests that must fail
#
# Exit: 0 when every mutant was killed, 1 when one lived (the tests miss it) or
# could not be made (the code changed: adapt the row) or tried (its test is red).
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
verbose=
[ "${1-}" != -v ] || { verbose=1; shift; }
pattern=${1-.}
CC=${CC:-gcc}
RESEX_SEED=${RESEX_SEED:-1}
export RESEX_SEED

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/tree" "$tmp/obj"
(cd "$top" && tar cf - include src policies ibmon man etc tests/unit tests/fakes tests/fakeverbs tests/cache) | (cd "$tmp/tree" && tar xf -)
cd "$tmp/tree"
[ ! -x "$top/build/resex" ] || cp "$top/build/resex" . # test_engine runs it
printf '#define HAVE_%s 1\n' COROSYNC POSTGRESQL SQLITE >config.h # a fake corosync; without verbs

. "$top/tests/mutants-build.sh"
cat "$top"/tests/mutants/*.rows | grep -e "$pattern" >"$tmp/list" || { echo "mutants: none match '$pattern'"; exit 1; }
red=
for t in $(awk -F ' @ ' '{ print $2 }' "$tmp/list" | tr ' ' '\n' | sort -u); do
	run_tests "$t" || { echo "$t fails on the code as it is, and cannot kill anything"; tail -3 "$tmp/out"; red="$red $t "; }
done

n=0 bad=0
while IFS= read -r line; do
	file=${line%% @ *}
	rest=${line#* @ }
	tests=
	for t in ${rest%% @ *}; do
		case $red in *" $t "*) ;; *) tests="$tests $t" ;; esac
	done
	change=${rest#* @ }
	n=$((n + 1))
	[ -n "$tests" ] || { echo "not tried: $file: $change"; bad=$((bad + 1)); continue; }
	cp "$file" "$tmp/saved"
	sed "$change" "$tmp/saved" >"$file"
	if cmp -s "$file" "$tmp/saved"; then
		echo "cannot be made: $file: $change"
		bad=$((bad + 1))
	else
		forget "$file"
		rc=0
		run_tests "$tests" || rc=$?
		case $rc in
		0)	echo "LIVES: $file: $change (by$tests)"
			bad=$((bad + 1)) ;;
		1)	by=$(sed -n '/^\[  FAILED  \] /{s///p;q;}' "$tmp/out")
			[ -z "$verbose" ] || echo "killed: $file: $change: ${by:-by a signal or in time}" ;;
		2)	echo "does not compile: $file: $change"
			cat "$tmp/out"
			bad=$((bad + 1)) ;;
		esac
	fi
	cp "$tmp/saved" "$file"
	forget "$file"
done <"$tmp/list"
echo "mutants: $((n - bad)) of $n killed"
[ "$bad" -eq 0 ]
