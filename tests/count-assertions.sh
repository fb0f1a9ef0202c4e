#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# count-assertions.sh: how much the tests assert, to compare two commits.
#
#	tests/count-assertions.sh [TOP]			what the sources under TOP hold
#	tests/count-assertions.sh --run BUILD [TOP]	what the unit tests in BUILD execute
#
# The first counts places: calls of cmocka's assertions, checks in Python and in shell, planted
# bugs and broken rules. A table of rows under one assertion is one place, so places may become
# fewer when tests become tables. The second counts what is executed, where a row counts as much
# as the lines that it replaced: a line a program with its test functions and its assertions,
# random tests with seed 1. A program without random times executes the same number each time.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

list() { # PATHSPEC...: files under TOP, tracked ones where there is git
	if git -C "$top" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git -C "$top" ls-files -- "$@" | sed "s|^|$top/|"
	else
		for spec in "$@"; do find "$top/${spec%%/\**}" -name "${spec##*/}"; done
	fi | grep -v '/count-assertions\.' || true
}

places() { # NAME EXPRESSION FILE...: matches, not lines
	name=$1 expression=$2
	shift 2
	printf '%6d  %s\n' "$( (cat -- "$@" | grep -oE "$expression" || true) | wc -l)" "$name"
}

rows() { # NAME: lines of standard input
	printf '%6d  %s\n' "$(grep -c . || true)" "$1"
}

table() { # FILE FUNCTION: the lines of its here-document
	[ -f "$top/$1" ] || return 0
	sed -n "/^$2() {/,/^END\$/p" "$top/$1" | sed '1,2d;$d'
}

count_places() {
	# shellcheck disable=SC2046
	set -- $(list 'tests/*.c' 'tests/*.h')
	places "cmocka: assert_*, fail" '\b(assert_[a-z_]+|fail_msg|fail)\(' "$@"
	places "fuzzers and searches: FUZZ_REQUIRE, history_fail" '\b(FUZZ_REQUIRE|history_fail)\(' "$@"
	# shellcheck disable=SC2046
	set -- $(list 'tests/*.py')
	places "Python: check, expect, need, claim, assert, raise" \
		'\b(check|expect|need|claim|fails)\(|^\s*assert |\braise (Broken|Failed)' "$@"
	# shellcheck disable=SC2046
	set -- $(list 'tests/*.sh')
	places "shell: good, json, fails, that, expect" '^\s*(good|json|fails|that|expect) ' "$@"
	table tests/check-layers.sh plants | rows "planted violations of layers"
	places "planted violations of sizes" '^\s*(plant|innocent) ' "$top/tests/check-size.sh"
	table tests/fuzz/run.sh targets | rows "fuzzers, a planted bug each"
	table tests/model/run.sh table | awk -F ' *[|] *' '$4 ~ /^-/' | rows "models searched whole"
	table tests/model/run.sh table | awk -F ' *[|] *' '$4 !~ /^-/' | rows "models with a broken rule"
	cat "$top/tests/shared/rules.txt" "$top"/src/*/broken.h 2>/dev/null |
		grep -E '^([A-Z_]+ \||	X\([A-Z_]+,)' | rows "broken rules of the protocol"
	places "errors planted in policies' second implementation" '^    "[a-z_-]+": ' "$top/tests/policy/plants.py"
	grep -hE '^[^#]* @ .* @ ' "$top"/tests/mutants/*.rows "$top/tests/transport/mutants.sh" | rows "mutants"
}

count_run() {
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	${CC:-cc} -shared -fPIC -O1 -o "$tmp/count.so" "$here/count-assertions.c"
	cd "$build"
	for program in tests/unit/test_*; do
		[ -x "$program" ] && [ -f "$program" ] || continue
		nm -D "$program" 2>/dev/null | grep -q _cmocka_run_group_tests || continue
		RESEX_SEED=1 srcdir=$top COUNT_ASSERTIONS=$tmp/counts LD_PRELOAD=$tmp/count.so \
			"$program" >"$tmp/out" 2>&1 || echo "$program failed"
	done
	sort "$tmp/counts" | awk '{ print; t += $2; a += $3 } END { print NR " programs", t " tests", a " assertions" }'
}

case ${1-} in
--run)
	[ $# -ge 2 ] || { echo "usage: $0 --run BUILD [TOP]" >&2; exit 2; }
	build=$(cd "$2" && pwd)
	top=$(cd "${3-$here/..}" && pwd)
	count_run ;;
-*)
	echo "usage: $0 [TOP] | --run BUILD [TOP]" >&2
	exit 2 ;;
*)
	top=$(cd "${1-$here/..}" && pwd)
	count_places ;;
esac
