#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What ./dev bench runs: all but verbs, agent and cache, or the named: agent, cache, report, rings, tick, list, top,
# transport, onesided, lock, recovery, hosts, beats, verbs. Figures are ratios against a peer in the same run; no time is
# judged. Options are tick's: -g: measure only the sizes that show growth; -j, also of rings: one JSON object; -o PROGRAM: the
# resex-bench of another build takes turns; -r: ticks that are recorded take turns with ticks that are not;
# -s GUESTSxQUEUES[:LOAD]: only this size and load. What follows cache is given to cache.py.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
names=() tick_options=() rings_options=() cache_options=()
while [ $# -gt 0 ]; do
	case $1 in
	-g | -r) tick_options+=("$1") ;;
	-j)
		tick_options+=("$1")
		rings_options+=("$1")
		;;
	-o | -s)
		tick_options+=("$1" "${2:?bench: $1 needs an argument}")
		shift
		;;
	cache)
		names+=("$1")
		cache_options=("${@:2}")
		break
		;;
	*) names+=("$1") ;;
	esac
	shift
done
[ ${#names[@]} -gt 0 ] || names=(report rings tick list top transport onesided lock recovery hosts beats)

# In VMs, since it takes a device: soft-RoCE. Some minutes; not in what runs by default. The table beside
# perftest counts instructions, and says what that can show.
verbs() {
	local work=${RESEX_TESTBED_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/resex-testbed}

	tests/system/run.sh transport-bench transport-parts &&
		cat "$work/logs/transport-bench/bench.txt" "$work/logs/transport-parts/bench.txt"
}

# In a VM, too: beats of the agent beside 5,000 processes.
agent() {
	local work=${RESEX_TESTBED_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/resex-testbed}

	tests/system/run.sh agent-load && cat "$work/logs/agent-load/notes"
}

# A whole cache on this machine, some 20 minutes: only when named.
cache() {
	python3 tests/bench/cache.py "$build" "${cache_options[@]}"
}

# Ticks beside two resex top that ask ten times a second, and without them.
top() {
	python3 tests/bench/top.py "$build" 16
	echo
	python3 tests/bench/top.py "$build" 256
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

# A row of figures of a command, in us: the least and the median of 50 times.
timed() { # NAME COMMAND...
	local name=$1 began took times=()

	shift
	for _ in {1..50}; do
		began=${EPOCHREALTIME/[.,]/}
		"$@" >"$list_dir/out"
		took=$((${EPOCHREALTIME/[.,]/} - began))
		times+=("$took")
	done
	mapfile -t times < <(printf '%s\n' "${times[@]}" | sort -n)
	printf '%-22s %9d %9d %9d\n' "$name" "${times[0]}" "${times[25]}" "$(wc -c <"$list_dir/out")"
}

# late_ticks: of how many, as info says.
late_ticks() {
	"$build/resex" -s "$list_dir/sock" info | awk '/^ticks/ { n = $2 } /^late ticks/ { print $3 " of " n }'
}

# resex list of 256 guests that are simulated and nearly idle: from the start of the process to its
# end, beside a process that asks nothing, and one that asks for little. The simulator, and what else
# this machine does, are in the figures.
list() (
	guests="" daemon=""
	list_dir=$(mktemp -d)
	trap '[ -z "$daemon" ] || kill "$daemon"; wait; rm -r "$list_dir"' EXIT
	for i in {0..255}; do
		guests+="${guests:+, }{\"name\": \"g$i\", \"apps\": [{\"kind\": \"sender\", \"rate\": 10}]}"
	done
	echo "{\"duration\": \"3600s\", \"clock\": \"real\", \"policy\": \"null\", \"guests\": [$guests]}" \
		>"$list_dir/many.json"
	"$build/resexd" --hv sim -S "$list_dir/many.json" -s "$list_dir/sock" -o "$list_dir/summary" \
		2>"$list_dir/log" &
	daemon=$!
	until [ "$("$build/resex" -s "$list_dir/sock" list 2>/dev/null | grep -c managed)" = 256 ]; do
		kill -0 $daemon || return 1
		sleep 0.2
	done
	echo "resex list of 256 simulated guests, in us; late ticks $(late_ticks) at the beginning,"
	printf '%-22s %9s %9s %9s\n' '' least median bytes
	timed 'resex --version' "$build/resex" --version
	timed 'resex info' "$build/resex" -s "$list_dir/sock" info
	timed 'resex list' "$build/resex" -s "$list_dir/sock" list
	timed 'resex -j list' "$build/resex" -j -s "$list_dir/sock" list
	echo "late ticks $(late_ticks) at the end"
)

# Two resexd over shm on this machine that beat each 5 ms; a client reads the heartbeats of one, while
# the machine is idle, has more processes than CPUs, and while both daemons answer without a pause.
beats() (
	loads=() daemons=() seconds=20 cpus=$(nproc)
	dir=$(mktemp -d)
	trap 'kill "${loads[@]}" "${daemons[@]}" 2>/dev/null; wait; rm -r "$dir"' EXIT
	(umask 077; head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$dir/key")
	for host in a b reader; do
		cat >"$dir/$host.cluster" <<-END
		{ "cluster": "beats", "host": "$host", "transport": "shm", "key_file": "$dir/key",
		 "heartbeat": "5ms", "scan": "100ms",
		 "hosts": [ { "name": "a", "number": 1, "address": "$dir" }, { "name": "b", "number": 2, "address": "$dir" },
		  { "name": "reader", "number": 9, "role": "client" } ] }
		END
		[ "$host" != reader ] || continue
		mkdir -p "$dir/$host.state"
		cat >"$dir/$host.json" <<-END
		{ "links": [ { "name": "sim0", "rate": "1GiB/s" } ], "lock_memory": false, "socket": "$dir/$host.sock",
		 "state_dir": "$dir/$host.state", "lock_file": "$dir/$host.lock", "cluster_file": "$dir/$host.cluster" }
		END
		"$build/resexd" --hv sim -c "$dir/$host.json" 2>"$dir/$host.log" &
		daemons+=($!)
	done
	until "$build/resex" -s "$dir/a.sock" list >"$dir/out" 2>&1 && "$build/resex" -s "$dir/b.sock" list >"$dir/out" 2>&1; do
		kill -0 "${daemons[@]}" || { cat "$dir"/*.log; return 1; }
		sleep 0.1
	done
	echo "gaps between heartbeats of a resexd each 5 ms, beside a thread with nice 0 that wakes as often; ms, $seconds s a row"
	printf '%-24s %7s %7s %7s %7s %7s %7s %7s %7s\n' '' median 99.9% longest '>20ms' peer 99.9% longest '>20ms'
	row() { "$build/resex-bench-beats" "$dir/reader.cluster" reader a "$seconds" "$1"; }
	row idle
	for _ in $(seq "$cpus"); do
		(while :; do :; done) &
		loads+=($!)
	done
	row "$cpus busy processes"
	for _ in $(seq $((3 * cpus))); do
		(while :; do :; done) &
		loads+=($!)
	done
	row "$((4 * cpus)) busy processes"
	for host in a b; do
		(while :; do "$build/resex" -j -s "$dir/$host.sock" host-list; done >"$dir/out" 2>&1) &
		loads+=($!)
	done
	row "and resex without a pause"
)

for what in "${names[@]}"; do
	case $what in
	report) "$build/resex-bench-report" ;;
	rings) "$build/resex-bench-rings" "${rings_options[@]}" "$(realpath "$build/libresex-rings.so")" ;;
	tick) "$build/resex-bench" "${tick_options[@]}" ;;
	list) list ;;
	top) top ;;
	transport) "$build/resex-bench-transport" latency ;;
	onesided) onesided ;;
	lock) lock ;;
	recovery) recovery ;;
	hosts) "$build/resex-bench-hosts" ;;
	beats) beats ;;
	verbs) verbs ;;
	agent) agent ;;
	cache) cache ;;
	*)
		echo "bench: there is no \"$what\": agent, report, rings, tick, list, top, transport, onesided," \
			"lock, recovery, hosts, beats, verbs, cache" >&2
		exit 2
		;;
	esac
	echo
done
