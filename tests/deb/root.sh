# SPDX-License-Identifier: GPL-2.0-or-later
# root.sh: a Debian 12 of its own with systemd, in $root or OUT/root, for the tests of the packages
# in OUT (build.sh). Sourced by them, with "out" set. As root, on Debian 12, whose archive is asked for
# OUT/base once.
# shellcheck shell=bash disable=SC2154 # out

base=$out/base root=${root:-$out/root}
passed=0 failed=0
# What README and the pages call, beside what the packages depend on. A database that ran would change files.
tools="curl haproxy jq make man-db openssl pkg-config postgresql python3 socat sudo"

die() { echo "${0##*/}: $*" >&2; exit 1; }

# check WHAT COMMAND...: count it. What it prints is shown when it fails.
check() {
	local what=$1
	shift
	if "$@" >"$out/log" 2>&1; then
		echo "pass $what"
		passed=$((passed + 1))
	else
		tail -n 40 "$out/log"
		echo "FAIL $what"
		failed=$((failed + 1))
	fi
}

debs() { find "$out" -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*'; }

packages() {
	for deb in $(debs); do
		dpkg-deb -f "$deb" Package
	done
}

# The packages that ours depend on, the first of alternatives.
dependencies() {
	for deb in $(debs); do
		dpkg-deb -f "$deb" Pre-Depends Depends
	done | sed 's/^[A-Za-z-]*: //' | tr ',' '\n' | sed -e 's/|.*//' -e 's/(.*//' -e 's/:any//' -e 's/ //g' |
		grep -v '^$' | LC_ALL=C sort -u | grep -vxF "$(packages)"
}

# Where this machine's apt gets Debian from.
sources() {
	# shellcheck disable=SC2016 # apt-get expands these
	apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN) $(CREATED_BY)' |
		awk '$6 ~ /^Packages/ && $5 == "Debian" && $3 ~ /^bookworm/ && $4 == "main" { print $1, $2, $3, $4 }' |
		LC_ALL=C sort -u
}

# make_base: Debian, once, and all dependencies, again when the list of them is another.
make_base() {
	local wanted mirror
	# shellcheck disable=SC2086
	wanted=$({ dependencies && printf '%s\n' $tools; } | LC_ALL=C sort -u)
	[ "$(cat "$out/base.has" 2>/dev/null)" != "$wanted" ] || return 0
	rm -f "$out/base.has"
	if [ ! -e "$out/base.is" ]; then
		rm -rf "$base"
		mirror=$(sources | awk '$3 == "bookworm" { print $2; exit }')
		[ "$mirror" ] || die "apt knows no archive of Debian 12: see apt-get indextargets"
		debootstrap --variant=minbase --include=systemd,dbus,gcc,libc6-dev bookworm "$base" "$mirror" \
			>"$out/base.log" 2>&1 || { tail "$out/base.log"; return 1; }
		sources >"$base/etc/apt/sources.list"
		apt-config dump | grep '^Acquire::https*::Proxy' >"$base/etc/apt/apt.conf.d/proxy" || true
		cp /etc/resolv.conf "$base/etc/resolv.conf"
		touch "$out/base.is"
	fi
	echo force-unsafe-io >"$base/etc/dpkg/dpkg.cfg.d/fast" # it is made anew if the machine crashes
	printf '#!/bin/sh\nexit 101\n' >"$base/usr/sbin/policy-rc.d" # now nothing may start
	chmod +x "$base/usr/sbin/policy-rc.d"
	# shellcheck disable=SC2086
	chroot "$base" sh -c "export DEBIAN_FRONTEND=noninteractive
		apt-get update -qq && apt-get install -y -qq --no-install-recommends $(echo $wanted) && apt-get clean &&
		systemctl -q disable postgresql" \
		>>"$out/base.log" 2>&1 || { tail "$out/base.log"; return 1; }
	rm "$base/usr/sbin/policy-rc.d"
	echo "$wanted" >"$out/base.has"
}

# Runs as the first process of its namespaces: what systemd needs, and systemd.
boot='
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
for dir in sys run dev; do mount -t tmpfs -o mode=755 tmpfs "$1/$dir"; done
mkdir -p "$1/dev/shm" "$1/dev/pts" "$1/dev/xen" "$1/sys/fs/cgroup"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$1/dev/pts"
ln -s pts/ptmx "$1/dev/ptmx"
for d in null zero full random urandom tty; do touch "$1/dev/$d"; mount --bind "/dev/$d" "$1/dev/$d"; done
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
else
	mount -t tmpfs -o mode=755 tmpfs "$1/sys/fs/cgroup"
	mkdir "$1/sys/fs/cgroup/systemd"
	mount -t cgroup -o none,name=systemd,xattr cgroup "$1/sys/fs/cgroup/systemd"
fi
exec chroot "$1" /usr/bin/env -i container=resex PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system \
	--log-target=journal --show-status=0 --unit=multi-user.target'

# in_root COMMAND...: there, with its environment.
in_root() {
	nsenter -t "$init" -a --root --wd env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C \
		"$@" </dev/null
}

# until_true COMMAND...: for a minute.
until_true() {
	for _ in $(seq 600); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	echo "not within a minute: $*"
	return 1
}

start_root() {
	rm -rf "$root"
	cp -a --reflink=auto "$base" "$root"
	echo "${hostname:-resex-test}" >"$root/etc/hostname"
	: >"$root/etc/machine-id"
	unshare --fork --pid --mount --uts --ipc --net --cgroup sh -c "$boot" boot "$root" </dev/null >"$out/systemd.log" 2>&1 &
	unshared=$!
	trap stop_root EXIT
	until_true pgrep -P "$unshared"
	init=$(pgrep -P "$unshared")
	until_true in_root systemctl list-units
}

stop_root() {
	[ -z "${init-}" ] || kill -9 "$init" 2>/dev/null || true
	wait "$unshared" 2>/dev/null || true
}
