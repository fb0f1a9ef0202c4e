#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test_scenario.sh: resexd --scenario as people use it.
#
#	tests/cli/test_scenario.sh [BUILD]
#
# The examples, the summary and where it goes, signals, both clocks, and each
# error: its exit status and that it is one line on stderr.
# Exit: 0, 1 when something was not as it should be, 77 when python3 is missing.
set -u
top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
build=$(cd "${1:-.}" && pwd)
dir=$(mktemp -d /tmp/resex-scenario-XXXXXX)
export TMPDIR=$dir/tmp
mkdir "$TMPDIR"
checks=0 wrong=0
job=

command -v python3 >/dev/null || { echo "test_scenario: python3 was not found; on Debian: apt-get install python3" >&2; exit 77; }

cleanup() {
	[ -z "$job" ] || kill -KILL "$job" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT

sim() { "$build/resexd" --hv sim "$@"; }

bad() {
	wrong=$((wrong + 1))
	echo "not ok: $name: $1"
	sed 's/^/	out: /' "$dir/out" | cut -c1-300
	sed 's/^/	err: /' "$dir/err"
}

# run NAME CODE COMMAND...: leaves the files out and err.
run() {
	local wanted=$2
	name=$1
	shift 2
	checks=$((checks + 1))
	"$@" >"$dir/out" 2>"$dir/err" </dev/null
	code=$?
	[ "$code" -eq "$wanted" ] || { bad "exit status $code, not $wanted"; return 1; }
}

# fails CODE PATTERN ARGUMENT...: one line on stderr, nothing on stdout.
fails() {
	local wanted=$1 pattern=$2
	shift 2
	run "resexd $*" "$wanted" "$build/resexd" "$@" || return
	if [ "$(wc -l <"$dir/err")" -ne 1 ] || ! grep -q '^resexd: ' "$dir/err"; then bad "not one line"
	elif [ -s "$dir/out" ]; then bad "it spoke on stdout"
	elif ! grep -Eq -- "$pattern" "$dir/err"; then bad "no $pattern"
	fi
}

# holds NAME EXPRESSION [FILE]: of the summary o, true in python.
holds() {
	name=$1
	checks=$((checks + 1))
	python3 -c 'import json, sys
o = json.load(open(sys.argv[2]))
g = {x["name"]: x for x in o["guests"]}
sys.exit(not eval(sys.argv[1]))' "$2" "${3:-$dir/out}" || bad "not so: $2"
}

# until_true COMMAND...: at most 10 s
until_true() {
	for _ in $(seq 200); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	return 1
}

# --- examples ---------------------------------------------------------------------

for file in "$top"/etc/scenarios/*.json; do
	run "--check ${file##*/}" 0 sim --check --scenario "$file"
	grep -q ': good: policy ' "$dir/out" || bad 'it does not say that it is good'
done
paper=$top/etc/scenarios/paper.json
run 'paper under null' 0 sim -S "$paper" -p null
[ -s "$dir/err" ] && bad 'it spoke on stderr'
holds 'null caps nobody' 'o["policy"] == "null" and not any(x["cap"]["changes"] for x in o["guests"])'
cp "$dir/out" "$dir/null"
run 'paper under null again' 0 sim -S "$paper" -p null
cmp -s "$dir/out" "$dir/null" || bad 'another summary'
run 'paper under freemarket' 0 sim -S "$paper" --policy freemarket
holds 'freemarket caps the sender' 'g["bulk"]["cap"]["lowest"] == 1 and g["server"]["cap"]["lowest"] is None'
run 'paper under ioshares' 0 sim -S "$paper"
holds 'its own policy is used' 'o["policy"] == "ioshares"'
run 'churn' 0 sim -S "$top/etc/scenarios/churn.json"
holds 'all that happens in churn can happen' 'len(o["events"]) == 8 and not any(e["error"] for e in o["events"])'

run 'a summary in a file' 0 sim -S "$paper" -p null --summary "$dir/summary"
[ -s "$dir/out" ] && bad 'it spoke on stdout, too'
cmp -s "$dir/summary" "$dir/null" || bad 'another summary'
run 'observing' 0 sim -S "$paper" -p freemarket --observe
holds 'observing caps nobody' 'o["observe"] and g["bulk"]["cap"]["changes"] == 0'

# --- signals and the real clock -----------------------------------------------------

printf '{ "duration": "3600s", "guests": [{ "name": "a", "apps": [{ "kind": "server" }] }] }\n' >"$dir/hour.json"
"$build/resexd" --hv sim -S "$dir/hour.json" -o "$dir/hour" 2>"$dir/err" &
job=$!
sleep 0.5
kill -TERM $job
wait $job
run 'SIGTERM ends a simulated run with 0' $? true
holds 'and the summary says so' 'not o["complete"] and 0 < o["duration_s"] < 3600' "$dir/hour"

sed 's/{ /{ "clock": "real", /' "$dir/hour.json" >"$dir/real.json"
"$build/resexd" --hv sim -S "$dir/real.json" -s "$dir/sock" -o "$dir/real" 2>"$dir/err" &
job=$!
run 'on the real clock resex is answered' 0 until_true "$build/resex" -s "$dir/sock" ring-list a
run 'and shows the guest' 0 "$build/resex" -s "$dir/sock" list
grep -q '^a ' "$dir/out" || bad 'no guest a'
"$build/resex" -s "$dir/sock" events -f >"$dir/followed" 2>"$dir/follower" &
follower=$!
run 'events -f prints events' 0 until_true grep -q guest-new "$dir/followed"
kill -INT $job
wait $job
run 'SIGINT ends it with 0' $? true
"$build/resexd" --hv sim -S "$dir/real.json" -s "$dir/sock" -p ioshares -o "$dir/real" 2>"$dir/started" &
job=$!
run 'its log says what ioshares waits for' 0 until_true grep -q 'no guest has reported a latency yet' "$dir/started"
run 'events -f goes on when resexd is started anew' 0 until_true grep -q 'started anew' "$dir/follower"
kill $follower
kill -INT $job
wait $job
job=
holds 'and the summary says so' 'not o["complete"] and o["clock"] == "real"' "$dir/real"
run 'its socket is gone' 1 test -e "$dir/sock"
run 'nothing is left in TMPDIR' 0 rmdir "$TMPDIR"
mkdir "$TMPDIR"

# Each sends 10 messages a second, so that a slow machine can simulate all of them.
python3 -c '
import json
apps = [{"kind": "sender", "size": "4KiB", "rate": 10}]
print(json.dumps({"duration": "3600s", "clock": "real", "policy": "null",
                  "guests": [{"name": "g%d" % i, "apps": apps} for i in range(256)]}))' >"$dir/many.json"
# A line for each guest that has counts.
all_counted() {
	[ "$("$build/resex" -j -s "$dir/sock" list | python3 -c '
import json, sys
print(sum(g.get("wrs", 0) > 0 for g in json.load(sys.stdin)["guests"]))')" = 256 ]
}
"$build/resexd" --hv sim -S "$dir/many.json" -s "$dir/sock" -o "$dir/many" 2>"$dir/err" &
job=$!
run 'list shows 256 guests, and what each sent' 0 until_true all_counted
kill -TERM $job
wait $job
run 'SIGTERM ends the run of 256 guests with 0' $? true
job=
holds 'and each of them was counted' 'len(o["guests"]) == 256 and all(0 < v["wrs"] <= v["true"]["wrs"] for v in o["guests"])' "$dir/many"

# --- errors ------------------------------------------------------------------------

fails 2 'for the simulated host alone: add --hv sim' --scenario "$paper"
fails 2 'for the simulated host alone: add --hv sim' --hv xen --scenario "$paper"
fails 2 'takes no --config' --hv sim -S "$paper" -c "$dir/c.json"
fails 2 'nothing to restore' --hv sim -S "$paper" --restore-caps
fails 2 'are for a --scenario' --hv sim --summary "$dir/x"
fails 2 'are for a --scenario' --hv sim --socket "$dir/x"
fails 2 'are for a --scenario' --hv sim --policy null
fails 2 "socket's path is too long" --hv sim -S "$paper" -s "/$(printf '%0200d' 0)"
fails 2 '--scenario needs a value' --hv sim --scenario
fails 4 "$dir/none.json: cannot be read" --hv sim -S "$dir/none.json"
fails 4 "$dir: is not a regular file" --hv sim -S "$dir"
printf '{ "guests": [\n { "name": "a", "apps": [{ "kind": "sender", "report": 5 }] } ] }\n' >"$dir/bad.json"
fails 4 "$dir/bad.json:2:56: report is for a server, and this is \"sender\": remove it" --hv sim -S "$dir/bad.json"
fails 4 "$dir/bad.json:2:56: " --hv sim --check -S "$dir/bad.json"
fails 5 'there is no policy "dear"' --hv sim -S "$paper" -p dear
printf '{ "policy": "dear" }\n' >"$dir/bad.json"
fails 5 "$dir/bad.json:1:13: there is no policy \"dear\"" --hv sim --check -S "$dir/bad.json"
fails 1 'cannot be written to /dev/full: No space' --hv sim -S "$paper" -o /dev/full
fails 1 'cannot be written to /nowhere/x: No such' --hv sim -S "$paper" -o /nowhere/x
TMPDIR=/nowhere fails 1 'no directory can be made in /nowhere' --hv sim -S "$paper"

run 'nothing is left in TMPDIR' 0 rmdir "$TMPDIR"
echo "test_scenario: $checks checks, $wrong wrong"
[ "$wrong" -eq 0 ]
