#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# check-size.sh: functions, files and lines stay small, and are formatted.
#
#	tests/check-size.sh [TOP]		sizes; also prints the median function length
#	tests/check-size.sh format [TOP]	.clang-format is followed
#	tests/check-size.sh --self-test [TOP]	plant one violation of each kind, prove it is caught
#
# Exit: 0 clean, 1 violations (one line each), 2 used wrongly, 77 a tool is not
# installed (an error, 1, when CI=true).
set -eu
here=$(cd "$(dirname "$0")" && pwd)

FUNCTION_MAX=100
FILE_MAX=800
COLUMNS_MAX=100

need() {
	"$@" >/dev/null 2>&1 && return
	echo "check-size: $1 was not found; on Debian: apt-get install ${1#universal-}" >&2
	[ "${CI-}" = true ] && exit 1
	exit 77
}

need_ctags() {
	need ctags --version
	ctags --version | grep -q 'Universal Ctags' && return
	echo "check-size: ctags is not Universal Ctags; on Debian: apt-get install universal-ctags" >&2
	[ "${CI-}" = true ] && exit 1
	exit 77
}

# Tracked files of the given kinds; all of them where there is no git.
files() {
	if [ -z "$plain" ] && git -C "$top" rev-parse --is-inside-work-tree >/dev/null 2>&1 &&
	   [ -n "$(git -C "$top" ls-files | head -n 1)" ]; then
		git -C "$top" ls-files -- "$@"
	else
		for kind in "$@"; do
			(cd "$top" && find ./* \( -name 'build*' -o -name _build \) -prune -o -name "$kind" ! -name config.h \
				-type f -print | sed 's|^\./||')
		done
	fi | sort
}

check_functions() {
	# shellcheck disable=SC2016
	files '*.c' '*.h' | (cd "$top" && ctags --languages=C --langmap=C:.c.h --kinds-C=f -x \
		--_xformat='%{input} %{line} %{end} %{name}' -L - -f -) |
		awk -v max=$FUNCTION_MAX '{
			if ($3 == "") { print $1 ":" $2 ": " $4 ": its end was not found"; next }
			n = $3 - $2 + 1
			if (n > max)
				print $1 ":" $2 ": " $4 " has " n " lines; the limit is " max
			if ($1 !~ /^tests\//)
				print n > "'"$tmp"'/lengths"
		}'
}

check_files() {
	files '*.c' '*.h' '*.sh' '*.awk' '*.py' | (cd "$top" && xargs -r wc -l /dev/null) | awk -v max=$FILE_MAX '
		$1 > max && $2 != "total" { print $2 ": has " $1 " lines; the limit is " max }'
}

check_lines() {
	files '*.c' '*.h' | (cd "$top" && xargs -r awk -v max=$COLUMNS_MAX '{
		n = 0
		for (rest = $0; i = index(rest, "\t"); rest = substr(rest, i + 1)) {
			n += i
			n += (8 - n % 8) % 8
		}
		n += length(rest)
		if (n > max)
			print FILENAME ":" FNR ": line has " n " columns; the limit is " max
	}')
}

check_sizes() {
	: >"$tmp/lengths"
	{ check_functions; check_files; check_lines; } >"$tmp/report"
	cat "$tmp/report"
	[ ! -s "$tmp/report" ]
}

check_format() {
	files '*.c' '*.h' >"$tmp/cfiles"
	[ -s "$tmp/cfiles" ] || return 0
	(cd "$top" && xargs clang-format --dry-run -Werror --style=file --ferror-limit=3) \
		<"$tmp/cfiles" >"$tmp/report" 2>&1 || true
	grep -E '(error|warning):' "$tmp/report" || ! [ -s "$tmp/report" ] || cat "$tmp/report"
	[ ! -s "$tmp/report" ]
}

median() {
	sort -n "$tmp/lengths" | awk '{ a[NR] = $1 } END {
		if (NR) printf "%d functions, median %d lines, longest %d", NR, a[int((NR + 1) / 2)], a[NR]
		else printf "no function yet"
	}'
}

# plant WANT CHECK FILE: the file, read from standard input, must make CHECK say WANT.
plant() {
	n=$((n + 1))
	mkdir -p "$top/$(dirname "$3")"
	cat >"$top/$3"
	out=$($2) && out="(clean) $out"
	case $out in
	*"$3:"*"$1"*) ;;
	*)	echo "self-test: $3 was not caught ($1); reported: $out"
		missed=$((missed + 1)) ;;
	esac
	rm "$top/$3"
}

# innocent CHECK FILE: at the limits, not beyond.
innocent() {
	n=$((n + 1))
	mkdir -p "$top/$(dirname "$2")"
	cat >"$top/$2"
	out=$($1) || { echo "self-test: $2 was reported: $out"; missed=$((missed + 1)); }
	rm "$top/$2"
}

repeat() {
	awk -v n="$1" -v s="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s", s }'
}

self_test() {
	mkdir "$tmp/top"
	cp "$top/.clang-format" "$tmp/top/"
	top=$tmp/top plain=1 n=0 missed=0
	long=$(repeat 98 '	f();
')
	plant 'has 101 lines; the limit is 100' check_sizes src/core/a.c <<END
int g(void)
{
$long
}
END
	innocent check_sizes src/core/a.c <<END
int g(void)
{
$(echo "$long" | tail -n +2)
}
END
	plant 'g has 101 lines; the limit is 100' check_sizes src/core/a.h <<END
static inline int
g(int a,
  int b) {
$long
}
END
	plant 'has 801 lines; the limit is 800' check_sizes ibmon/b.c <<END
$(repeat 801 '/* x */
')
END
	innocent check_sizes ibmon/b.c <<END
$(repeat 800 '/* x */
')
END
	plant 'line has 101 columns' check_sizes src/c.h <<END
	/* $(repeat 87 x) */
END
	innocent check_sizes src/c.h <<END
	/* $(repeat 86 x) */
END
	if command -v clang-format >/dev/null; then
		plant 'code should be clang-formatted' check_format src/d.c <<END
int f(int x) {
    return x;
}
END
		innocent check_format src/d.c <<END
int f(int x)
{
	return x;
}
END
	fi
	echo "check-size: self-test: $n plants, $missed missed"
	[ "$missed" -eq 0 ]
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
plain=
case ${1-} in
--self-test)
	need_ctags
	top=$(cd "${2-$here/..}" && pwd)
	self_test ;;
format)
	need clang-format --version
	top=$(cd "${2-$here/..}" && pwd)
	check_format && echo "check-size: $(wc -l <"$tmp/cfiles") files follow .clang-format" ;;
-*)
	echo "usage: $0 [format | --self-test] [TOP]" >&2
	exit 2 ;;
*)
	need_ctags
	top=$(cd "${1-$here/..}" && pwd)
	check_sizes && echo "check-size: $(median); no file over $FILE_MAX lines" ;;
esac
