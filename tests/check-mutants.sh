#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# check-mutants.sh: each row of tests/mutants, tests/transport/mutants.sh and tests/fuzz/run.sh
# still changes its file, and names tests that exist. A row that does not is a rule that nobody
# tries any more. Each row of tests/mutants is in the file that has the name of its folder.
# Nothing is compiled: whether the tests notice the change is for those scripts.
#
# Exit: 0, or 1 when a row must be adapted to the code.
set -eu
cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# list SCRIPT: the lines of its table.
list() {
	sed -n "/^\tcat <<'\(END\|LIST\)'$/,/^\(END\|LIST\)$/p" "$1" | sed '1d;$d'
}

# All tables as FILE @ TESTS @ SED-EXPRESSION. The transport's tests are patterns; they are left
# out, and tests/transport/mutants.sh fails when one matches no test. A fuzzer has no tests.
rows() {
	cat tests/mutants/*.rows
	list tests/transport/mutants.sh | sed -E 's|^([^@]*) @ [^@]* @ [^@]* @ |src/transport/\1 @ @ |'
	list tests/fuzz/run.sh | awk -F ' [|] ' '{ print $5, "@ @", $6 }'
}

# misplaced DIRECTORY: the rows of its files that belong in another one.
misplaced() {
	for file in "$1"/*.rows; do
		folder=$(basename "$file" .rows)
		grep -vE "^(src/)?$folder/" "$file" | sed "s|^|$file: of another folder: |" || true
	done
}

# apply: try the rows on stdin; n counts them, bad those that do not apply, and each is said.
apply() {
	n=0 bad=0
	while IFS= read -r row; do
		n=$((n + 1))
		file=${row%% @ *}
		rest=${row#* @ }
		wrong=
		for test in ${rest%%@*}; do
			[ -f "tests/unit/test_$test.c" ] || wrong="there is no test $test"
		done
		if [ ! -f "$file" ]; then
			wrong="there is no such file"
		elif ! sed -e "${rest#*@ }" "$file" >"$tmp/changed"; then
			wrong="sed does not accept it"
		elif cmp -s "$file" "$tmp/changed"; then
			wrong="it changes nothing"
		fi
		[ -z "$wrong" ] || { echo "$row: $wrong"; bad=$((bad + 1)); }
	done
}

cat >"$tmp/planted" <<'END'
src/core/caps.c @ caps @ s/there is no such line/ /
src/core/there-is-no-such-file.c @ caps @ s/a/b/
src/core/caps.c @ there-is-no-such-test @ s/a/b/
src/core/caps.c @ caps @ s/a/b
=======
END
apply <"$tmp/planted" >"$tmp/said" 2>&1
[ "$bad" = 5 ] || { cat "$tmp/said"; echo "check-mutants: only $bad of 5 planted rows were refused"; exit 1; }

for script in tests/transport/mutants.sh tests/fuzz/run.sh; do
	[ -n "$(list "$script")" ] || { echo "check-mutants: no table was found in $script"; exit 1; }
done
mkdir "$tmp/planted.d"
echo 'src/core/caps.c @ caps @ s/a/b/' >"$tmp/planted.d/core.rows"
echo 'src/core/caps.c @ caps @ s/a/b/' >"$tmp/planted.d/conf.rows"
[ "$(misplaced "$tmp/planted.d" | wc -l)" = 1 ] || { echo "check-mutants: a planted row in the wrong file is not noticed"; exit 1; }
misplaced tests/mutants >"$tmp/misplaced"
cat "$tmp/misplaced"

rows >"$tmp/rows"
apply <"$tmp/rows"
echo "check-mutants: $((n - bad)) of $n rows apply"
[ "$bad" = 0 ] && [ ! -s "$tmp/misplaced" ]
