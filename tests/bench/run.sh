#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What ./dev bench runs: all but verbs, or the named: report, tick, transport, onesided, lock,
# recovery, verbs. Figures are ratios against a peer in the same run; no time is judged.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
[ $# -gt 0 ] || set -- report tick transport onesided lock recovery

# In a VM, since it takes a device: soft-RoCE. Some minutes; not in what runs by default.
verbs() {
	local work=${RESEX_TESTBED_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/resex-testbed}

	tests/system/run.sh transport-bench && cat "$work/logs/transport-bench/bench.txt"
}

onesided() {
	"$build/resex-bench-transport" onesided "$build/bench-onesided.dat"
	if command -v gnuplot >/dev/null; then
		gnuplot -e "data=\"$build/bench-onesided.dat\"; out=\"$build/bench-onesided.svg\"" \
			tests/bench/onesided.gp
		echo "The plot: $build/bench-onesided.svg"
	else
		echo "There is no plot: gnuplot was not found; on Debian: apt-get install gnuplot-nox"
	fi
}

# plot NAME SETTINGS: NAME.gp, with these of its variables set.
plot() {
	if command -v gnuplot >/dev/null; then
		gnuplot -e "$2; out=\"$build/bench-$1.svg\"" "tests/bench/$1.gp"
		echo "The plot: $build/bench-$1.svg"
	else
		echo "There is no plot: gnuplot was not found; on Debian: apt-get install gnuplot-nox"
	fi
}

lock() {
	"$build/resex-bench-lock" "$build/bench-lock.dat"
	plot lock "data=\"$build/bench-lock.dat\""
}

recovery() {
	local data=$build/bench-recovery

	"$build/resex-bench-recovery" real 1000 "$data-real.dat"
	echo
	"$build/resex-bench-recovery" virtual 1000 "$data-virtual.dat"
	plot recovery "real=\"$data-real.dat\"; virtual=\"$data-virtual.dat\""
}

for what in "$@"; do
	case $what in
	report) "$build/resex-bench-report" ;;
	tick) "$build/resex-bench" ;;
	transport) "$build/resex-bench-transport" latency ;;
	onesided) onesided ;;
	lock) lock ;;
	recovery) recovery ;;
	verbs) verbs ;;
	*)
		echo "bench: there is no \"$what\": report, tick, transport, onesided, lock," \
			"recovery, verbs" >&2
		exit 2
		;;
	esac
	echo
done
