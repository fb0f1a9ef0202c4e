#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# plant.sh RULE OUT.o COMPILE...: the files of src/reconf that break RULE, as one object file.
#
# rules.txt has the changes. They are made on copies, in the folder OUT; COMPILE is the compiler
# and its options. A program linked with OUT.o before libreconf.a has the broken rule. A change
# that changes nothing is an error.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
rule=$1 out=$2
shift 2
dir=${out%.o}
rm -rf "$dir"
mkdir -p "$dir"

awk -v rule="$rule" '/^[A-Z]/ { found = $1 == rule } found && sub(/^\t/, "")' \
	"$here/rules.txt" >"$dir/changes"
[ -s "$dir/changes" ] || { echo "plant.sh: rules.txt has no rule $rule" >&2; exit 1; }
while IFS= read -r line; do
	file=$dir/${line%% | *}
	[ -f "$file" ] || cat "$here/../../src/reconf/${file##*/}" >"$file"
	sed -e "${line#* | }" "$file" >"$dir/changed"
	! cmp -s "$file" "$dir/changed" || { echo "plant.sh: $rule: changes nothing: $line" >&2; exit 1; }
	mv "$dir/changed" "$file"
done <"$dir/changes"
for file in "$dir"/*.c; do
	"$@" -w -c -o "${file%.c}.o" "$file"
done
ld -r -o "$out" "$dir"/*.o
