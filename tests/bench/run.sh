#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What ./dev bench runs: all but verbs, or the named: report, tick, transport, onesided, verbs.
# Figures are ratios against a peer in the same run; nothing is judged.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
[ $# -gt 0 ] || set -- report tick transport onesided

# In a VM, since it takes a device: soft-RoCE. Some minutes; not in what runs by default.
verbs() {
	local work=${RESEX_TESTBED_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/resex-testbed}

	tests/system/run.sh transport-bench && cat "$work/logs/verbs/bench.txt"
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

for what in "$@"; do
	case $what in
	report) "$build/resex-bench-report" ;;
	tick) "$build/resex-bench" ;;
	transport) "$build/resex-bench-transport" latency ;;
	onesided) onesided ;;
	verbs) verbs ;;
	*) echo "bench: there is no \"$what\": report, tick, transport, onesided, verbs" >&2; exit 2 ;;
	esac
	echo
done
