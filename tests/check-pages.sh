#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# check-pages.sh: manual pages are right for mandoc and groff, and no line of them is wider than a terminal.
#
#	tests/check-pages.sh [TOP]		all pages, after a proof that each kind of fault is caught
#
# Exit: 0 clean, 1 faults (one line each), 77 a tool is not installed (an error, 1, when CI=true).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
COLUMNS_MAX=80
export LC_ALL=C.UTF-8 # columns are characters

# What man(1) shows on a terminal of 80 columns, without bold. groff's warnings are on standard error.
by_groff() { groff -ww -mandoc -t -Kutf8 -Tutf8 -rLL=${COLUMNS_MAX}n -rLT=${COLUMNS_MAX}n -P-cbou "$1"; }
by_mandoc() { mandoc -Tutf8 -Owidth=$COLUMNS_MAX "$1" | sed 's/.\x08//g'; } # bold is written twice, at one place

too_wide() { # PAGE RENDERER
	sed -nE "s#^(.{$((COLUMNS_MAX + 1)),})\$#$1: with $2 a line has more than $COLUMNS_MAX columns: \1#p"
}

# check PAGE...: print what is wrong.
check() {
	mandoc -T lint -W error "$@" || true
	for page in "$@"; do
		by_groff "$page" 2>"$tmp/said" | too_wide "$page" groff
		sed "s#^#$page: groff: #" "$tmp/said"
		by_mandoc "$page" | too_wide "$page" mandoc
	done
}

# plant WANT TEXT: a page with this text must be refused with WANT; no text: it is right.
plant() {
	printf '.Dd November 1, 2026\n.Dt PLANTED 1\n.Os\n.Sh NAME\n.Nm planted\n.Nd a page\n%s' "$2" >"$tmp/planted.1"
	check "$tmp/planted.1" >"$tmp/report" 2>&1
	if [ -n "$1" ]; then grep -q "$1" "$tmp/report" && return; else [ -s "$tmp/report" ] || return 0; fi
	echo "check-pages: of a planted page with \"$2\" it is not said \"$1\", but:"
	cat "$tmp/report"
	exit 1
}

for tool in mandoc groff; do
	command -v $tool >/dev/null && continue
	echo "check-pages: $tool was not found; on Debian: apt-get install mandoc groff-base" >&2
	[ "${CI-}" = true ] && exit 1
	exit 77
done
top=$(cd "${1-$here/..}" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
nl='
' text=$(printf %076d 0)
plant '' ".Bd -literal$nl${text%0}$nl.Ed$nl"
plant 'with groff a line has more' ".Bd -literal$nl$text$nl.Ed$nl"
plant 'with mandoc a line has more' ".Bd -literal$nl$text$nl.Ed$nl"
plant "groff: .*can't break line" ".Bl -column \"$text\" x$nl.It a Ta b${text}c$nl.El$nl"
plant 'ERROR: ' ".Bd -literal$nl.Op$nl.El$nl"
cd "$top"
check man/*.[1-8] >"$tmp/report" 2>&1
cat "$tmp/report"
[ ! -s "$tmp/report" ] && echo "check-pages: $(ls man/*.[1-8] | wc -l) pages, no line over $COLUMNS_MAX columns"
