#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# check-unit-file.sh: systemd understands our units, and our programs the options in them.
#
#	tests/check-unit-file.sh [BUILD]	each etc/*.service; BUILD (or .) holds the programs
#	tests/check-unit-file.sh --self-test [BUILD]	plant errors, prove they are caught
#
# Exit: 0 clean, 1 an error, 77 systemd-analyze is not installed (1 when CI=true).
set -eu
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)

command -v systemd-analyze >/dev/null || {
	echo "check-unit-file: systemd-analyze was not found; on Debian: apt-get install systemd" >&2
	[ "${CI-}" = true ] && exit 1
	exit 77
}

# verify UNIT: systemd's word on it. Programs must be where it says, so $tmp/sbin stands for sbindir.
verify() {
	said=$(systemd-analyze verify --man=no "$1" 2>&1) && [ -z "$said" ] || { echo "$said"; return 1; }
}

# accepted UNIT: each command line of it is taken by its program, with --version behind to end it.
accepted() {
	local rc=0 line
	while read -r line; do
		# shellcheck disable=SC2086
		$line --version >/dev/null 2>"$tmp/err" || { echo "${1##*/}: $line: $(cat "$tmp/err")"; rc=1; }
	done < <(sed -n 's/^Exec[A-Za-z]*=[-+@!:]*//p' "$1")
	return $rc
}

check() { # FILE: a unit before its paths are known
	local unit=$tmp/${1##*/}
	sed "s|@sbindir@|$tmp/sbin|g" "$1" >"$unit"
	verify "$unit" && accepted "$unit"
}

plant() { # WHAT SED-SCRIPT: the daemon's unit, so spoilt, is refused, and what is wrong is named
	sed "$2" "$top/etc/resexd.service" >"$tmp/planted/resexd.service"
	cmp -s "$top/etc/resexd.service" "$tmp/planted/resexd.service" && { echo "self-test: nothing to spoil: $2"; return 1; }
	said=$(check "$tmp/planted/resexd.service") && { echo "self-test: not caught: $2"; return 1; }
	case $said in
	*"$1"*) return 0 ;;
	esac
	echo "self-test: $2: \"$1\" was expected in: $said"
	return 1
}

self_test() {
	local missed=0
	mkdir "$tmp/planted"
	plant WatchdogSecs 's/^WatchdogSec=/WatchdogSecs=/' || missed=$((missed + 1))
	plant 'sec value' 's/^RestartSec=.*/RestartSec=soon/' || missed=$((missed + 1))
	plant not-resexd 's|/resexd$|/not-resexd|' || missed=$((missed + 1))
	plant Servce 's/^\[Service\]/[Servce]/' || missed=$((missed + 1))
	plant '--chek' 's|^\(ExecStart=.*\)|\1 --chek|' || missed=$((missed + 1))
	plant '--restore' 's/--restore-caps/--restore-hats/' || missed=$((missed + 1))
	echo "check-unit-file: self-test: 6 plants, $missed missed"
	[ "$missed" -eq 0 ]
}

self=
[ "${1-}" != --self-test ] || { self=1; shift; }
build=$(cd "${1:-.}" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/sbin"
for program in resexd resex-agent resex-cached; do
	[ ! -x "$build/$program" ] || ln -s "$build/$program" "$tmp/sbin/"
done
if [ -n "$self" ]; then
	self_test
	exit
fi
n=0 wrong=0
for file in "$top"/etc/*.service; do
	# Built without Xen there is no agent.
	[ -x "$build/$(basename "$file" .service)" ] || continue
	n=$((n + 1))
	check "$file" || wrong=$((wrong + 1))
done
echo "check-unit-file: $n units, $wrong wrong"
[ "$n" -gt 0 ] && [ "$wrong" -eq 0 ]
