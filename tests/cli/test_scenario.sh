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

# --- plug-ins ------------------------------------------------------------------------

# A policy that caps all guests at 30 %, and misbehaves from its call 100 on, in 1000. Guests have
# their own caps within an epoch of 50 calls.
cc=${CC:-cc}
mkdir -m 755 "$dir/plugins" "$dir/open"
$cc -std=gnu11 -w -O1 -I"$top/include" -I"$top" -shared -fPIC -fvisibility=hidden -o "$dir/plugins/rogue.so" \
	"$top/tests/fakes/fake_rogue.c" || bad 'the plug-in was not built'
chmod 644 "$dir/plugins/rogue.so"
rows='0:behaves 1:hangs 2:reads-null 13:writes-an-odd-cap 24:writes-a-static-variable' harm=1 ends='decide() did not return'
# The thread sanitizer keeps the timer's signal back: tests/unit/timers.h.
if grep -q ThreadSanitizer "$build/resexd"; then rows=${rows/1:hangs/} harm=2 ends='it crashed (SIGSEGV'; fi
for row in $rows; do
	row=${row/:/ }
	cat >"$dir/rogue.json" <<-END
		{ "duration": "1s", "host": { "epoch": "50ms" }, "policy": { "policy": "rogue", "params": { "how": ${row% *}, "from": 100 } },
		  "guests": [{ "name": "a", "apps": [{ "kind": "server" }] },
		             { "name": "b", "cap": 80, "apps": [{ "kind": "sender", "size": "2MiB" }] }] }
	END
	run "a plug-in that ${row#* }" 0 sim -S "$dir/rogue.json" -P "$dir/plugins"
	if [ "${row% *}" = 0 ]; then
		holds 'its caps last' 'g["a"]["cap"]["last"] == 30 and g["b"]["cap"]["last"] == 30'
	else
		grep -q 'rogue: .*; null is in force' "$dir/err" || bad 'the log does not say that it was stopped'
		holds 'it capped all' 'all(x["cap"]["lowest"] == 30 for x in o["guests"])'
		holds 'caps of before are back' '[x["cap"]["last"] for x in o["guests"]] == [None, 80] and g["a"]["cap"]["uncapped"] > 0.85'
	fi
done
fails 5 'or a plug-in in .*/open' --hv sim -S "$dir/rogue.json" -P "$dir/open"
cp "$dir/plugins/rogue.so" "$dir/open"
chmod 646 "$dir/open/rogue.so"
fails 5 'can write it .mode 646.: take that away' --hv sim -S "$dir/rogue.json" --policy-dir "$dir/open"
fails 5 'can write it .mode 646.' --hv sim --check -S "$paper" -P "$dir/open" -p rogue
# One that would leak cannot be loaded, and a running resexd goes on as it is.
$cc -std=gnu11 -w -O1 -I"$top/include" -I"$top" -shared -fPIC -fvisibility=hidden -DROGUE_CALLS=malloc -o "$dir/plugins/leaky.so" \
	"$top/tests/fakes/fake_rogue.c" || bad 'the plug-in was not built'
cp "$dir/plugins/rogue.so" "$dir/plugins/null.so"
chmod 644 "$dir/plugins"/*.so
printf '{ "duration": "3600s", "clock": "real", "policy": "ratio", "guests": [{ "name": "a", "apps": [{ "kind": "server" }] },
	{ "name": "b", "cap": 80, "apps": [{ "kind": "idle" }] }] }\n' >"$dir/live.json"
"$build/resexd" --hv sim -S "$dir/live.json" -P "$dir/plugins" -s "$dir/sock" -o "$dir/live" 2>"$dir/log" &
job=$!
resex() { "$build/resex" -s "$dir/sock" "$@"; }
# caps A B: of the two guests, "None": no cap.
caps() { [ "$(resex -j list | python3 -c 'import json, sys
print(*[g["cap"] for g in json.load(sys.stdin)["guests"]])')" = "$*" ]; }
info_says() { resex info | tr -s '\n ' ' ' | grep -qF "$1"; }
run 'resexd on the real clock has plug-ins' 0 until_true resex ring-list b
run 'policy-list shows them' 0 resex policy-list
grep -q 'refused: it needs malloc' "$dir/out" || bad 'leaky is not refused'
grep -q 'refused: a built-in policy has this name' "$dir/out" || bad 'null.so is not refused'
grep -q '^rogue ' "$dir/out" || bad 'rogue is not shown'
run 'one that would leak is not put in force' 5 resex policy-set leaky
run 'the policy in force stays' 0 resex policy-show
grep -q ratio "$dir/out" || bad 'it is another one'
run 'one that misbehaves later is put in force' 0 resex policy-set rogue how=$harm from=1000000
run 'and caps all' 0 until_true caps 30 30
run 'it misbehaves' 0 resex policy-set rogue how=$harm from=0
run 'guests have their own caps' 0 until_true caps None 80
run 'and info says why' 0 until_true info_says "policy rogue was stopped, and caps no guest: $ends"
run 'so does its log' 0 grep -qF "rogue: $ends" "$dir/log"
run 'a fresh instance of it decides' 0 resex policy-set rogue how=0
run 'and caps all again' 0 until_true caps 30 30
run 'what it does wrong is refused' 4 resex policy-set rogue how=99
kill -TERM $job
wait $job
run 'SIGTERM ends it with 0' $? true
job=
fails 2 'write policy_dir in resexd.json' -P "$dir/open"
fails 2 '--policy-dir needs a value' --hv sim --policy-dir

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
