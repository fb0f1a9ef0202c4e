#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# check-tidy.sh: clang-tidy finds nothing in the product's files.
#
#	tests/check-tidy.sh [--deep] CONFIGURED [FILE]...	all files of the product, or those named
#	tests/check-tidy.sh --self-test CONFIGURED		prove that it can fail, and what it keeps
#
# CONFIGURED is a build directory, for its config.h. A file that was found clean is not searched
# again until its preprocessed text, .clang-tidy or clang-tidy changes; comments do not count.
# Hashes of clean texts are kept in TIDY_CACHE (~/.cache/resex/tidy) until nobody has asked for
# them for 30 days. Nearly all of the time goes to clang's analyzer, which walks each function
# up to a number of states: a third of its default here; --deep searches all files, with the
# default, and keeps nothing.
#
# Exit: 0 clean, 1 findings, 2 used wrongly.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
keep=${TIDY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/resex/tidy}

if [ "${1:-}" = --one ]; then # FILE, from TOP
	file=$2
	flags=(-std=gnu11 -I. -Iinclude "-I$TIDY_CONFIGURED" -DHAVE_CONFIG_H '-DRESEX_CONFDIR=""'
		'-DRESEX_STATEDIR=""' '-DRESEX_RUNDIR=""' '-DRESEX_POLICYDIR=""' '-DRESEX_PLUGINDIR=""' -I/usr/include/postgresql)
	case $file in # the headers of Varnish, and those that its programs make of ours
	src/vmod/*) flags+=("-isystem$(pkg-config --variable=pkgincludedir varnishapi)" "-I$TIDY_CONFIGURED/src/vmod") ;;
	esac
	states=()
	[ -n "$TIDY_DEEP" ] || for word in -analyzer-config max-nodes=75000; do
		states+=(--extra-arg=-Xclang "--extra-arg=$word")
	done
	if [ -z "$TIDY_DEEP" ]; then
		# The text as the compiler sees it, with macros; and what tells clang-tidy to be silent.
		text=$(mktemp)
		trap 'rm -f "$text"' EXIT
		{
			echo "$TIDY_VERSION"
			cat .clang-tidy
			echo "${flags[*]:1:1} ${flags[*]:4} ${states[*]}"
			clang -E -P -dD "${flags[@]}" "$file" 2>/dev/null | awk '{ $1 = $1 } NF' ||
				echo "it cannot be preprocessed: $RANDOM"
			grep -A 1 NOLINT "$file" || true
		} >"$text"
		hash=$(sha256sum <"$text")
		clean=$keep/${hash:0:2}/${hash:2:62}
		if [ -e "$clean" ]; then
			touch "$clean"
			exit 0
		fi
	fi
	echo "$file" >>"$TIDY_SEARCHED"
	# One file a process: clang-tidy 14 carries what it knows of va_list from file to file.
	if out=$(clang-tidy --quiet --warnings-as-errors='*' "${states[@]}" "$file" -- "${flags[@]}" 2>&1); then
		if [ -z "$TIDY_DEEP" ]; then
			mkdir -p "${clean%/*}"
			touch "$clean"
		fi
		exit 0
	fi
	sed -E '/^[0-9]+ warnings? (generated|treated)/d; /^Suppressed /d' <<<"$out"
	exit 1
fi

tidy() { # [FILE]...: from TOP; the number of files that were searched in $tmp/searched
	: >"$tmp/searched"
	# Files left over from long ago, and from other commits.
	[ ! -d "$keep" ] || find "$keep" -type f -mtime +30 -delete
	if [ $# -gt 0 ]; then printf '%s\n' "$@"; else git ls-files 'src/*.c' 'policies/*.c' 'ibmon/*.c' ':!src/kmod/*'; fi |
		TIDY_SEARCHED=$tmp/searched xargs -P "${JOBS:-$(nproc)}" -n 1 "$here/check-tidy.sh" --one
}

missed=0
expect() { # WHAT WANTED-RC WANTED-SEARCHED PATTERN
	local rc=0 out
	out=$(tidy plant.c) || rc=1
	[ "$rc $(wc -l <"$tmp/searched")" = "$2 $3" ] && grep -q -- "$4" <<<"$out" && return
	echo "self-test: $1: rc $rc, $(wc -l <"$tmp/searched") searched, not $2, $3 and \"$4\": $out"
	missed=$((missed + 1))
}

self_test() {
	keep=$tmp/keep
	export TIDY_CACHE=$keep
	cp .clang-tidy "$tmp/"
	cd "$tmp"
	echo 'int f(int *p); int f(int *p) { return p ? 0 : *p; }' >plant.c
	expect 'a null pointer is read' 1 1 'core.NullDereference'
	expect 'a finding is not kept' 1 1 'core.NullDereference'
	echo 'int f(int *p); int f(int *p) { return p ? *p : 0; }' >plant.c
	expect 'clean' 0 1 ''
	expect 'clean, and known' 0 0 ''
	echo '/* a comment */ int f(int *p); int f(int *p) { return p ? *p : 0; }' >plant.c
	expect 'a comment changes nothing' 0 0 ''
	echo 'int f(int *p); int f(int *p) { return p ? *p : f(0); }' >plant.c
	expect 'a change is searched' 0 1 ''
	echo 'int f(int *p); int f(int *p) { return p ? *p : *p; }' >plant.c
	expect 'and what it brings is found' 1 1 'core.NullDereference'
	printf '#define MORE(x) (1 + x * x)\nint f(int *p); int f(int *p) { return p ? *p : 0; }\n' >plant.c
	expect 'a macro is part of the text' 1 1 'bugprone-macro-parentheses'
	echo "check-tidy: self-test: 8 plants, $missed missed"
	[ "$missed" = 0 ]
}

deep=
case ${1:-} in
--deep) deep=1 mode=tidy && shift ;;
--self-test) mode=self && shift ;;
*) mode=tidy ;;
esac
[ $# -ge 1 ] && [ -f "$1/config.h" ] || { sed -n 's/^#\t/\t/p' "$0" >&2; exit 2; }
TIDY_CONFIGURED=$(cd "$1" && pwd)
TIDY_VERSION=$(clang-tidy --version)
export TIDY_CONFIGURED TIDY_VERSION TIDY_DEEP=$deep
shift
cd "$here/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ "$mode" = self ]; then
	self_test
else
	rc=0
	tidy "$@" || rc=1
	echo "check-tidy: $(wc -l <"$tmp/searched") files searched, the others are known to be clean"
	exit $rc
fi
