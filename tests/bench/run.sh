#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What ./dev bench runs: all, or the named: report, tick. Figures are ratios against a peer in
# the same run; nothing is judged.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
[ $# -gt 0 ] || set -- report tick
for what in "$@"; do
	case $what in
	report) "$build/resex-bench-report" ;;
	tick) "$build/resex-bench" ;;
	*) echo "bench: there is no \"$what\": report, tick" >&2; exit 2 ;;
	esac
	echo
done
