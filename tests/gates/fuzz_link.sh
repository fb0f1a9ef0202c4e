#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: each fuzzer's list of sources in tests/fuzz/run.sh is complete, after a proof that a missing
# file is noticed. Links the objects that were built here: no fuzzer is compiled as such.
set -eu
top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
run=$top/tests/fuzz/run.sh
libs=$("$run" --libs)
[ -f src/conf/cluster.o ] || { echo "fuzz_link: nothing is built in $PWD"; exit 77; }
[ "$(nm -u src/conf/cluster.o | grep -c __asan)" = 0 ] || { echo "fuzz_link: built with a sanitizer: not looked at"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat >"$tmp/main.c" <<'E2'
int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size);
int main(void) { return LLVMFuzzerTestOneInput((const unsigned char *)"", 0); }
E2
# The folders are those that run.sh names for a fuzzer.
compile() { # FILE
	gcc -std=gnu11 -I"$top" -I"$top/include" -DRESEX_RUNDIR='"/run"' -DRESEX_STATEDIR='"/var"' \
		-DRESEX_CONFDIR='"/etc"' -c -o "$tmp/$(basename "$1" .c).o" "$1"
}
compile "$tmp/main.c"

# binds NAME FILE...: whether the fuzzer links from these sources
binds() {
	compile "$top/tests/fuzz/fuzz_$1.c"
	objects="$tmp/main.o $tmp/fuzz_$1.o"
	shift
	for file in "$@"; do
		object=${file%.c}.o
		if [ ! -f "$object" ]; then
			object=$tmp/$(basename "$object")
			[ -f "$object" ] || compile "$top/$file"
		fi
		objects="$objects $object"
	done
	# shellcheck disable=SC2086
	gcc -o "$tmp/bound" $objects $libs 2>"$tmp/errors"
}

# shellcheck disable=SC2046
! binds conf $("$run" --sources conf | sed 's/[^ ]* *//') ||
	{ echo "fuzz_link: a missing file was not noticed"; exit 1; }
bad=0
for name in $("$run" --list); do
	# shellcheck disable=SC2046
	binds "$name" $("$run" --sources "$name") && continue
	echo "fuzz_link: $name: add the missing file to its row in tests/fuzz/run.sh:"
	sed -n 's/.*\(undefined reference to\)/  \1/p' "$tmp/errors" | sort -u
	bad=1
done
exit $bad
