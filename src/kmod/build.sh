#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh OUT [VERSION]: build the module resex_loadmon for this version of the kernel, as uname -r
# gives it (default: the one that runs), in OUT/VERSION. Prints the module's path.
# As root it installs the headers of exactly that version. Exit 77: they are not to be had.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && realpath "$1")/${2:-$(uname -r)}
version=${out##*/}
headers=/lib/modules/$version/build

missing() {
	echo "kmod: the headers of Linux $version are missing: $1" >&2
	exit 77
}

if [ ! -e "$headers/Makefile" ]; then
	package=linux-headers-$version
	[ "$(id -u)" = 0 ] || missing "as root, apt-get install $package"
	export DEBIAN_FRONTEND=noninteractive
	# The lists of an image may be older than what the archive still has.
	apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [0-9]' || apt-get update -qq >&2 || true
	apt-get install -y -qq --no-install-recommends "$package" make >/dev/null ||
		missing "apt-get has no $package"
fi
# Kbuild writes beside the sources, so it gets a copy of them.
mkdir -p "$out/include/resex"
cp "$here/loadmon.c" "$here/Kbuild" "$out"
cp "$here"/../../include/resex/{region,load,loadmon}_abi.h "$out/include/resex"
make -C "$headers" M="$out" W=1 KCFLAGS=-Werror modules >"$out/make.out" 2>&1 || { cat "$out/make.out" >&2; exit 1; }
echo "$out/resex_loadmon.ko"
