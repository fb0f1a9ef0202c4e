#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: Makefile.am's lists THREADED and OPTIONAL name all tests that belong there, after a proof
# that it is noticed when one is missing. Looks at the programs built here, with all libraries.
set -eu
top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
make=${MAKE:-make}
[ -f tests/unit/test_engine ] || { echo "lists: no tests are built in $PWD"; exit 77; }
for have in XEN VERBS COROSYNC POSTGRESQL SQLITE NCURSES; do
	grep -q "^#define HAVE_$have 1" config.h || { echo "lists: built without HAVE_$have: not looked at"; exit 77; }
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

list() { # VARIABLE
	printf 'include Makefile\nlist-it:\n\t@echo $(%s)\n' "$1" |
		MAKEFLAGS='' MFLAGS='' $make -s --no-print-directory -f - list-it | tr ' ' '\n' | sort
}

programs=$(list UNITS)
[ -z "$(list SAN)" ] || { echo "lists: built with a sanitizer: not looked at"; exit 77; }

# Programs that can begin a thread. (With a thread sanitizer's runtime all can.)
threaded() {
	# shellcheck disable=SC2086
	nm -A -D -u $programs | sed -nE 's/^([^:]*):.* (pthread|thrd)_create(@.*)?$/\1/p'
}

# Programs with an object whose source asks for an optional library: found by a name that it
# defines; an object with main is a program's own.
optional() {
	# shellcheck disable=SC2086
	nm -A -g --defined-only $programs | awk '{ print $NF, $1 }' | sed 's/:.*//' >"$tmp/defined"
	(cd "$top" && grep -rlE '^#.*HAVE_(XEN|VERBS|COROSYNC|POSTGRESQL|SQLITE|NCURSES)' src ibmon policies tests --include='*.c') |
		sed 's/\.c$//' | while read -r source; do
		object=$(find "$(dirname "$source")" -name "${source##*/}.o" -o -name "*_a-${source##*/}.o" | head -n 1)
		[ -n "$object" ] || { echo "$source.c-is-not-built"; continue; }
		nm -g --defined-only "$object" | awk '{ print $NF }' >"$tmp/names"
		if grep -qx main "$tmp/names"; then
			echo "$source"
		else
			awk -v name="$(head -n 1 "$tmp/names")" '$1 == name { print $2 }' "$tmp/defined"
		fi
	done
}

missing=0
whole() { # NAME LIST FOUND: says what the list lacks
	lacks=$(sort -u "$3" | comm -13 "$2" -)
	[ -z "$lacks" ] && return
	[ -n "${planted-}" ] || echo "lists: add to $1 in Makefile.am:" $lacks
	missing=1
}

for name in THREADED OPTIONAL; do
	list $name >"$tmp/$name"
done
threaded | sort -u >"$tmp/threaded"
optional | sort -u >"$tmp/optional"
whole THREADED "$tmp/THREADED" "$tmp/threaded"
whole OPTIONAL "$tmp/OPTIONAL" "$tmp/optional"
[ $missing = 0 ] || exit 1

# The engine runs threads, and opens backends: without it, both lists are wrong.
planted=1
for name in THREADED OPTIONAL; do
	grep -v test_engine "$tmp/$name" >"$tmp/planted"
	missing=0
	whole $name "$tmp/planted" "$tmp/$(echo $name | tr A-Z a-z)"
	[ $missing = 1 ] || { echo "lists: $name without test_engine is not noticed"; exit 1; }
done
echo "lists: $(wc -l <"$tmp/threaded") programs have threads, $(wc -l <"$tmp/optional") depend on optional libraries; both lists hold them"
