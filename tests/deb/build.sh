#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh BUILD OUT: Debian packages of this tree, in OUT. BUILD is configured: "make dist" makes the
# tarball there, and packages are built from what is in it and in debian/, in a folder of its own.
# Then lintian must find nothing, but that no ITP is closed.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: build.sh BUILD OUT}" && pwd)
mkdir -p "${2:?usage: build.sh BUILD OUT}"
out=$(cd "$2" && pwd)
version=$(sed -n 's|^AC_INIT(\[resex\],\[\([^]]*\)\]).*|\1|p' "$top/configure.ac")
packaged=$(dpkg-parsechangelog -l "$top/debian/changelog" -S Version)
passed=0 failed=0

say() { printf '== %s\n' "$*"; }

# part NAME COMMAND...: its output is shown when it fails.
part() {
	local name=$1 began=$SECONDS
	shift
	if "$@" >"$out/log" 2>&1; then
		echo "pass $name ($((SECONDS - began)) s)"
		passed=$((passed + 1))
	else
		tail -n 60 "$out/log"
		echo "FAIL $name"
		failed=$((failed + 1))
	fi
}

done_with() {
	echo "packages: $passed passed, $failed failed"
	[ "$failed" = 0 ]
}

same_version() {
	[ "${packaged%-*}" = "$version" ] && [ "$version" = "$(sed -n 's|^## \[\([0-9.]*\)\].*|\1|p' "$top/CHANGELOG.md" | head -n 1)" ] ||
		{ echo "configure.ac says $version, debian/changelog $packaged, CHANGELOG.md: see its first section"; return 1; }
}

tarball() {
	make -C "$build" -s dist && cp "$build/resex-$version.tar.gz" "$out/resex_$version.orig.tar.gz" &&
		tar -C "$out" -xf "$out/resex_$version.orig.tar.gz" || return
	! [ -e "$out/resex-$version/debian" ] || { echo "debian is in the tarball"; return 1; }
	(cd "$top" && git ls-files -z -co --exclude-standard debian | xargs -0 cp -a --parents -t "$out/resex-$version")
}

packages() {
	(cd "$out/resex-$version" && DEB_BUILD_OPTIONS="parallel=${JOBS:-$(nproc)}" dpkg-buildpackage -us -uc)
}

clean_for_lintian() {
	lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs \
		"$out"/resex_"$packaged"_*.changes
}

rm -rf "$out"/resex[-_]* "$out"/*.deb "$out"/*.changes "$out"/*.buildinfo
part "one version" same_version
part "tarball, without debian/" tarball
[ "$failed" = 0 ] || { done_with; exit 1; }
part "packages" packages
[ "$failed" = 0 ] || { done_with; exit 1; }
part "lintian" clean_for_lintian
for deb in "$out"/*.deb; do
	case $deb in *-dbgsym_*) ;; *) say "${deb##*/}: $(dpkg-deb -f "$deb" Depends)" ;; esac
done
done_with
