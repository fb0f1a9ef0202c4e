#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What ./dev bench runs: all, or the named: report, tick, transport, onesided. Figures are ratios
# against a peer in the same run; nothing is judged.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
[ $# -gt 0 ] || set -- report tick transport onesided

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

for what in "$@"; do
	case $what in
	report) "$build/resex-bench-report" ;;
	tick) "$build/resex-bench" ;;
	transport) "$build/resex-bench-transport" latency ;;
	onesided) onesided ;;
	*) echo "bench: there is no \"$what\": report, tick, transport, onesided" >&2; exit 2 ;;
	esac
	echo
done
