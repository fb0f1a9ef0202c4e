#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# plant.sh RULE OUT.o COMPILE...: the files of src/cache and tests/cache/vt that name RULE, compiled
# with -DBROKEN_RULE (src/cache/broken.h), as one object file. COMPILE is the compiler and its options.
# A program linked with OUT.o before the libraries has the broken rule. A name that no file has is an
# error.
set -eu
top=$(cd "$(dirname "$0")/../../.." && pwd)
rule=$1 out=$2
shift 2
dir=${out%.o}
rm -rf "$dir"
mkdir -p "$dir"
files=$(cd "$top" && grep -lE "(IS_BROKEN\(|BROKEN_)$rule([^A-Z_]|\$)" src/cache/*.c tests/cache/vt/*.c) ||
	{ echo "plant.sh: no file has IS_BROKEN($rule)" >&2; exit 1; }
for file in $files; do
	"$@" -w "-DBROKEN_$rule" -c -o "$dir/$(basename "$file" .c).o" "$top/$file"
done
ld -r -o "$out" "$dir"/*.o
