#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fetch-root.sh DIR [PACKAGE,...]: unpack (not configure) Debian packages: those that the VMs are made
# of, or the named ones. From the machine's own apt sources; about 25 s and 600 MB. Done anew when
# the list changes.
set -euo pipefail
root=$1
packages=linux-image-amd64,xen-hypervisor-4.17-amd64,xen-utils-4.17,libxenmisc4.17,xenstore-utils
packages+=,rdma-core,ibverbs-utils,ibverbs-providers,perftest,librdmacm1,libibverbs1
packages+=,iproute2,busybox-static,kmod
packages=${2:-$packages}

mkdir -p "$(dirname "$root")"
exec 9>"$root.lock"
flock 9 # two scenarios may begin at once
[ "$(cat "$root/.complete" 2>/dev/null)" = "$packages" ] && exit 0

# Debian's own sources as apt knows them, whichever files they stand in; not those of others.
sources() {
	# shellcheck disable=SC2016
	apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
		awk '$3 ~ /^bookworm(-updates|-security)?$/ && $4 == "main"'
}
sources=$(sources)
[ -n "$sources" ] || { apt-get update -qq && sources=$(sources); } # it has no lists yet
[ -n "$sources" ] || { echo "apt has no source of Debian bookworm: add one to /etc/apt/sources.list"; exit 1; }

mode=unshare
[ "$(id -u)" = 0 ] && mode=root
rm -rf "$root"
mmdebstrap --quiet --mode=$mode --variant=extract --include="$packages" \
	--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
	--dpkgopt='path-exclude=/usr/share/man/*' bookworm "$root" - <<<"$sources"
printf '%s' "$packages" >"$root/.complete"
