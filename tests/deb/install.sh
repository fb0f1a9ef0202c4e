#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# install.sh OUT: the packages in OUT (build.sh) are installed, upgraded, downgraded, removed and
# purged in a Debian 12 of their own, in OUT/root, while a guest is capped. As root, on Debian 12,
# whose archive is asked for OUT/base once.
#
# systemd runs there, in namespaces; Xen is fake_xen.c, which keeps the caps and a log of them. For
# an upgrade the packages are given another version.
# shellcheck disable=SC2154 # root.sh sets it
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(cd "${1:?usage: install.sh OUT}" && pwd)
services="resexd resex-agent resex-cached"
own=80 # the cap that the operator has set for the guest
# shellcheck source=tests/deb/root.sh
. "$here/root.sh"

# versioned VERSION: the packages with another version, in OUT/VERSION.
versioned() {
	local deb tmp=$out/reversion old
	rm -rf "${out:?}/$1"
	mkdir "$out/$1"
	for deb in $(debs); do
		old=$(dpkg-deb -f "$deb" Version)
		rm -rf "$tmp"
		dpkg-deb -R "$deb" "$tmp"
		sed -i -e "s/^Version: .*/Version: $1/" -e "s/(= $old)/(= $1)/g" "$tmp/DEBIAN/control"
		dpkg-deb --root-owner-group -Zgzip -z1 -b "$tmp" "$out/$1" >/dev/null
	done
	rm -rf "$tmp" "$root/debs/$1"
	mkdir -p "$root/debs"
	cp -r "$out/$1" "$root/debs/$1"
}

# What stands on the disk: kind, mode, owner, place; and the content of what is in /etc. Left out:
# what any run of dpkg or systemd changes.
listed() {
	(
		cd "$root"
		find . -xdev \( -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache -o -path ./debs -o -path ./tmp \
			-o -path ./var/tmp -o -path './var/lib/systemd/*.stamp' -o -path ./var/lib/systemd/catalog \
			-o -path ./var/lib/systemd/random-seed \) -prune -o -printf '%y %m %U:%G %p %l\n'
		find ./etc -type f ! -name 'passwd*' ! -name 'group*' ! -name 'shadow*' ! -name 'gshadow*' ! -name ld.so.cache \
			-exec md5sum {} +
	) | LC_ALL=C sort
}

# accounts: the lines of users and groups.
accounts() { sort "$root"/etc/passwd "$root"/etc/group; }

installs() { # VERSION
	in_root sh -c "dpkg -i /debs/$1/*.deb"
}

is_version() { # VERSION
	[ "$(in_root dpkg-query -W -f '${Version} ${db:Status-Status}\n' resexd)" = "$1 installed" ]
}

not_started() {
	local s
	for s in $services; do
		[ "$(in_root systemctl is-enabled "$s")" = disabled ] || { echo "$s is enabled"; return 1; }
		! in_root systemctl is-active -q "$s" || { echo "$s runs"; return 1; }
	done
}

programs_run() {
	local p
	for p in resex resex-lab resex-peek resexd resex-agent resex-cached benchex resex-auction resex-cacheload; do
		in_root "$p" --version || return
	done
}

# Its own libraries alone: a guest has no libxenctrl.
agent_needs_no_libxenctrl() {
	! dpkg-deb -f "$out"/resex-agent_*.deb Depends | grep -E 'libxenmisc|libxenctrl' &&
		! in_root ldd /usr/sbin/resex-agent | grep libxenctrl
}

# By its name alone, from where the loader looks.
rings_library_loads() {
	in_root env RESEX_RINGS=mlx6 LD_PRELOAD=libresex-rings.so resex-agent --version 2>&1 |
		grep 'libresex-rings: .* has "mlx6": it takes mlx5'
}

varnish_takes_the_module() {
	in_root sh -c 'printf "vcl 4.1;\nimport resex;\nbackend default none;\n" >/tmp/t.vcl && varnishd -C -n /tmp/v -f /tmp/t.vcl'
}

examples_compile() {
	in_root cc -o /tmp/report /usr/share/doc/resex/examples/report.c -lresex-report &&
		in_root cc -o /tmp/cache /usr/share/doc/resex/examples/cache.c -lresex-cache -lcurl -ljansson
}

configuration_is_right() {
	in_root resexd --hv sim --check && in_root dpkg-query -W -f '${Conffiles}' resexd | grep -q /etc/resex/resexd.json
}

accounts_are_made() {
	in_root getent group resex && in_root getent passwd resex-cached
}

# fake_xen: the operator's cap of the guest 2 is 80. resexd.service gets that Xen.
fake_xen() {
	gcc -shared -fPIC -O1 -Wall -Wextra -Werror -o "$root/usr/local/lib/fake_xen.so" "$here/fake_xen.c" || return
	mkdir -p "$root/etc/systemd/system/resexd.service.d"
	cat >"$root/etc/systemd/system/resexd.service.d/fake.conf" <<-'EOT'
		[Unit]
		ConditionPathExists=
		[Service]
		Environment=LD_PRELOAD=/usr/local/lib/fake_xen.so
	EOT
	in_root sh -c 'cd /dev/xen && printf xen >type && printf 0x00000800 >features && : >privcmd && : >log &&
		printf "\000\000\000\000\120\000\000\001\000\001\000\001" >caps && systemctl daemon-reload'
}

cap() { in_root od -A n -t u2 -j 4 -N 2 /dev/xen/caps | tr -d ' '; }
capped() { [ "$(cap)" != $own ] && [ "$(cap)" != 0 ]; }
uncapped() { [ "$(cap)" = $own ] || { echo "the guest's cap is $(cap), not $own"; return 1; }; }
# The policy caps the guest in each epoch, and lets it go at its end.
gets_capped() { until_true capped; }

# runs: it does; if not, its journal is shown.
runs() {
	in_root systemctl is-active resexd && return
	in_root journalctl -o short-monotonic -n 30 --no-pager -u resexd
	return 1
}

daemon() { in_root systemctl show -P MainPID resexd; }

# The caps of guest 2 that process PID set, in order.
set_by() { in_root awk -v pid="$1" '$1 == pid && $2 == 2 { print $3 }' /dev/xen/log; }

starts() {
	in_root systemctl start resexd && gets_capped
}

group_may_ask() {
	[ "$(in_root stat -c %G:%a /run/resex/resexd.sock)" = resex:660 ] || { in_root stat /run/resex/resexd.sock; return 1; }
	in_root setpriv --reuid nobody --regid resex --clear-groups resex list | grep bulk
}

knows_own_cap() {
	in_root resex -j cap-list >"$out/caps.json" || return
	python3 - "$out/caps.json" $own <<-'EOT'
		import json, sys
		said = json.load(open(sys.argv[1]))
		row = next(r for r in said["guests"] if r["name"] == "bulk")
		print(row)
		sys.exit(row["old_cap"] != int(sys.argv[2]))
	EOT
}

# replaced VERSION: the daemon of before gave the guest its own cap as the last thing that it did to
# it; the one of after runs, and knows that cap.
replaced() {
	local before
	before=$(daemon)
	installs "$1" && is_version "$1" && runs || return
	[ "$(daemon)" != "$before" ] || { echo "the same daemon runs"; return 1; }
	[ "$(set_by "$before" | tail -n 1)" = $own ] || { echo "its last caps were"; set_by "$before" | tail -n 5; return 1; }
	[ "$(in_root systemctl is-enabled resexd)" = disabled ] || { echo "it is enabled now"; return 1; }
	gets_capped && knows_own_cap
}

# has_failed: it does not run, and systemd does not try again.
has_failed() {
	in_root systemctl is-failed resexd && [ "$(in_root systemctl show -P NRestarts resexd)" = 0 ]
}

# A configuration that a new version would not take.
replaced_but_does_not_start() {
	local rc=1
	in_root sed -i.good 's/"links"/"lines"/' /etc/resex/resexd.json
	installs "$1" && is_version "$1" && has_failed && uncapped && rc=0
	in_root mv /etc/resex/resexd.json.good /etc/resex/resexd.json
	return $rc
}

# A daemon that crashed and was not started by systemd leaves a cap: the package restores it.
by_hand() {
	in_root systemctl stop resexd && uncapped || return
	in_root sh -c 'LD_PRELOAD=/usr/local/lib/fake_xen.so setsid resexd >/tmp/by-hand 2>&1 &' && gets_capped
}

not_removed_while_it_runs() {
	! in_root env LD_PRELOAD=/usr/local/lib/fake_xen.so dpkg -r resexd && in_root test -x /usr/sbin/resexd &&
		in_root resex list
}

# At the end of an epoch the guest has its own cap for a moment: stop the daemon while it has another.
stops_while_capped() {
	in_root sh -c 'kill -STOP $(cat /run/resex/resexd.lock)' && sleep 0.2 && capped && return
	in_root sh -c 'kill -CONT $(cat /run/resex/resexd.lock)'
	return 1
}

removal_restores_the_cap() {
	until_true stops_while_capped && in_root sh -c 'kill -9 $(cat /run/resex/resexd.lock)' && sleep 0.5 || return
	capped || { echo "no cap is left: nothing is shown"; return 1; }
	in_root env LD_PRELOAD=/usr/local/lib/fake_xen.so dpkg -r resexd && uncapped
}

edit_is_kept() {
	in_root sed -i 's/"10Gbit.s"/"25Gbit\/s"/' /etc/resex/resexd.json && installs "$1" &&
		in_root grep -q 25Gbit /etc/resex/resexd.json && ! in_root test -e /etc/resex/resexd.json.dpkg-dist
}

removed() {
	# shellcheck disable=SC2046
	in_root dpkg -r $(packages) && in_root test -e /etc/resex/resexd.json && ! in_root sh -c 'ls -d /run/resex*' && uncapped
}

purged() {
	# shellcheck disable=SC2046
	in_root dpkg -P $(packages)
}

operators_files_stay() {
	in_root test -e /etc/resex/cluster.json && rm -r "$root/etc/resex"
}

nothing_is_left() {
	rm -rf "$root/etc/systemd/system/resexd.service.d" "$root/usr/local/lib/fake_xen.so"
	listed | diff "$out/before" -
}

accounts_stay() {
	[ "$(accounts | comm -13 "$out/accounts" - | cut -d : -f 1 | sort -u | tr '\n' ' ')" = "resex resex-cached " ]
}

[ "$(id -u)" = 0 ] || die "run it as root: it makes a root of its own"
ls "$out"/resexd_*.deb >/dev/null 2>&1 || die "there are no packages in $out: run ./dev deb first"
make_base
start_root
first=$(dpkg-deb -f "$out"/resexd_*.deb Version) second=$first+upgrade
versioned "$first"
versioned "$second"
listed >"$out/before"
accounts >"$out/accounts"

check "installs" installs "$first"
check "starts and enables no unit" not_started
check "makes its group and its user" accounts_are_made
check "every program runs" programs_run
check "resex-agent needs no libxenctrl" agent_needs_no_libxenctrl
check "libresex-rings.so is loaded by its name" rings_library_loads
check "the configuration is a conffile, and right" configuration_is_right
check "varnishd takes the module" varnish_takes_the_module
check "examples compile with the libraries" examples_compile
check "a Xen with a guest" fake_xen
check "a started resexd caps the guest" starts
check "it reads its configuration again" in_root systemctl reload resexd
check "the group may ask it" group_may_ask
check "it knows the guest's own cap" knows_own_cap
check "an upgrade restores the cap, and caps again" replaced "$second"
check "a downgrade does so, too" replaced "$first"
check "if it does not start after an upgrade, no cap is left" replaced_but_does_not_start "$second"
check "an upgrade starts no resexd that was stopped" installs "$first"
check "(it is stopped)" not_started
check "a resexd started by hand caps the guest" by_hand
check "the package is not removed while it runs" not_removed_while_it_runs
check "after it crashed, removal restores the cap" removal_restores_the_cap
check "an upgrade keeps an edited configuration" edit_is_kept "$second"
check "caps again" starts
check "removal stops it, restores the cap and keeps files" removed
check "installs again" installs "$first"
in_root sh -c 'echo {} >/etc/resex/cluster.json'
check "purges" purged
check "the operator's files stay" operators_files_stay
check "nothing else is left" nothing_is_left
check "the group and the user stay" accounts_stay
echo "installed packages: $passed passed, $failed failed"
[ "$failed" = 0 ]
