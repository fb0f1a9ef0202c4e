#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test_trace.sh: resexd on its simulated host and real time is recorded, and resex-lab replays it.
#
#	tests/cli/test_trace.sh [BUILD]
#
# Exit: 0, 1 when something was not as it should be, 77 when python3 is missing.
set -u
top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
build=$(cd "${1:-.}" && pwd)
dir=$(mktemp -d /tmp/resex-trace-XXXXXX)
daemon=
# shellcheck source=tests/cli/checks.sh
. "$top/tests/cli/checks.sh"

command -v python3 >/dev/null || { echo "test_trace: python3 was not found; on Debian: apt-get install python3" >&2; exit 77; }

cleanup() {
	[ -z "$daemon" ] || kill -KILL "$daemon" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT

resex() { "$build/resex" -s "$dir/sock" "$@"; }
lab() { "$build/resex-lab" "$@"; }
# shellcheck disable=SC2317 # fails() calls it
piped() { cat "$1" | lab replay -p ratio /dev/stdin; }

# start POLICY: the daemon, until both guests are charged.
start() {
	mkdir -p "$dir/state"
	cat >"$dir/c.json" <<-END
	{ "links": [ { "name": "sim0", "rate": "1GiB/s", "profile": "paper-2011" } ], "lock_memory": false,
	 "policy": "$1", "socket": "$dir/sock", "state_dir": "$dir/state", "lock_file": "$dir/lock" }
	END
	"$build/resexd" --hv sim -c "$dir/c.json" 2>"$dir/log" &
	daemon=$!
	for _ in $(seq 200); do
		[ "$(resex list --totals 2>/dev/null | grep -cE ' [1-9][0-9]* +(managed|exempt)$')" -ge 2 ] && return
		sleep 0.05
	done
	echo "not ok: resexd did not come up:"
	cat "$dir/log"
	exit 1
}

stop() {
	kill "$daemon"
	wait "$daemon" 2>/dev/null
	daemon=
}

start freemarket
fails 1 resex 'nothing is recorded: begin with resex trace-start FILE$' resex trace-stop
fails 2 resex 'exactly one new file is required' resex trace-start
good 'a recording begins' "^recording into $dir/free\$" resex trace-start "$dir/free"
fails 13 resex "a recording goes on, into $dir/free: end it with resex trace-stop\$" resex trace-start "$dir/b"
good 'info says so' "^recording +$dir/free: [0-9]+ ticks\$" resex info
sleep 2
# All that changes while it is recorded: settings, the policy, a guest that is left alone.
fails 2 resex "the file's name must be in UTF-8: see " resex trace-start "$dir/"$'\xff'
good 'other settings' . resex guest-set bulk weight=512
good 'another policy' . resex policy-set ratio
good 'and back' . resex policy-set freemarket low=20%
good 'a guest is left alone' . resex cap-release bulk
sleep 2
good 'a recording ends' "^$dir/free: [0-9]+ ticks, [0-9]+ bytes\$" resex trace-stop
fails 1 resex "nothing is recorded: $dir/free ended before \\(trace-stop\\): begin another with " resex trace-stop
good 'info says that, too' "^recording +$dir/free: [0-9]+ ticks, ended: trace-stop\$" resex info
good 'and events do' 'recording ended \(trace-stop\)' resex events
fails 1 resex "$dir/free exists: give the name of a new file\$" resex trace-start "$dir/free"
stop
start ioshares
good 'under another policy' . resex trace-start "$dir/io"
sleep 3
stop

good 'each decision is the same' "^$dir/free: as recorded: [0-9]+ ticks, .* each balance is the same\$" lab replay "$dir/free"
good 'also when resexd was stopped' "^$dir/io: as recorded: " lab replay "$dir/io"
good 'another policy' '^domain 2 may have behaved otherwise from ' lab replay -p ratio "$dir/io"
grep -v "^$dir" "$dir/out" >"$dir/table"
that 'no line is longer than 80 columns' not grep -E '.{81}' "$dir/table"
good 'the same policy, its defaults' ': policy ioshares as recorded, beside policy ioshares$' lab replay -s window=50ms "$dir/io"
fails 1 resex-lab "/no: No such file or directory: give a file of resex trace-start\$" lab replay /no
fails 2 resex-lab 'give one trace: see resex-lab replay --help$' lab replay
# says CONDITION: of the object d that was printed last.
says() { python3 -S -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$dir/json" "$1"; }
json 'the same for a program' lab replay -j "$dir/free"
cp "$dir/out" "$dir/json"
that 'it has each decision of whole epochs' says 'd["equal"] and d["whole"] and d["simulated"] and d["difference"] is None and d["ticks"] > 2000 and d["epochs"] >= 3 and d["policy"] == "freemarket" and "guests" not in d'
json 'another policy for a program' lab replay -j -p ratio "$dir/io"
cp "$dir/out" "$dir/json"
that 'it has each guest under both' says '(d["policy"], d["other"], d["equal"]) == ("ioshares", "ratio", True) and [g["domain"] for g in d["guests"]] == [1, 2] and 0 <= d["certain_s"] <= d["seconds"] and any(g["apart_s"] > 0 and g["apart_from_s"] == d["certain_s"] for g in d["guests"]) and all(g[k]["spent"] > 0 for g in d["guests"] for k in ("recorded", "other"))'
fails 5 resex-lab '--policy nul: there is no such policy: see resex policy-list$' lab replay -p nul "$dir/free"
fails 2 resex-lab '--set lo=1: policy freemarket has no such parameter: see ' lab replay -s lo=1 "$dir/free"
fails 2 resex-lab '--set low=2000%: ' lab replay -s low=2000% "$dir/free"
fails 2 resex-lab '--set low: give NAME=VALUE, such as step=10ms$' lab replay -s low "$dir/free"
fails 2 resex-lab '--set low: its value must be in UTF-8$' lab replay -s low=$'\xff' "$dir/free"
fails 1 resex-lab '/dev/stdin: two replays beside each other need a file: give one, not a pipe$' piped "$dir/free"
cp "$dir/free" "$dir/"$'\e[31m'
good 'no name speaks to the terminal' '/\\x1b\[31m: as recorded: ' lab replay "$dir/"$'\e[31m'
fails 2 resex-lab '--set \?: give NAME=VALUE' lab replay -s $'\e' "$dir/free"

# What is not as it was written.
python3 - "$dir" <<'END'
import sys
folder = sys.argv[1]
data = open(folder + "/free", "rb").read()

def crc32c(b):
    crc = 0xffffffff
    for byte in b:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff

def write(name, b):
    open(folder + "/" + name, "wb").write(b)

write("short", data[:len(data) // 2])
write("flipped", data[:9000] + bytes([data[9000] ^ 4]) + data[9001:])
head = data[:8] + (7).to_bytes(4, "little")
write("version", head + crc32c(head).to_bytes(4, "little") + data[16:])
write("text", b"this is no trace at all")
# The first record of accounts has another last number, "stands" of the last guest; the checksum is right.
at, number = 16, 0
while True:
    n = int.from_bytes(data[at:at + 4], "little")
    records, where = data[at + 12:at + 12 + n], 0
    while where < n and records[where] != 9:
        where += 5 + int.from_bytes(records[where + 1:where + 5], "little")
    if where < n:
        break
    at += 12 + n
end = at + 12 + where + 5 + int.from_bytes(records[where + 1:where + 5], "little")
block = bytearray(data[at:at + 12 + n])
block[end - at - 3] ^= 1
block[8:12] = crc32c(bytes(block[:8]) + bytes(block[12:])).to_bytes(4, "little")
write("other", data[:at] + bytes(block) + data[at + 12 + n:])
write("empty", b"")
write("begun", data[:100])
END
lab replay "$dir/short" 2>"$dir/said" >"$dir/found"
that 'a part of a trace is replayed as far as it goes' grep -q '/short: as recorded: ' "$dir/found"
that 'and it says so' grep -q 'short: the trace is not whole, since its recording did not end: ' "$dir/said"
fails 1 resex-lab "/flipped: its block [0-9]+ was changed: get the file again\$" lab replay "$dir/flipped"
fails 1 resex-lab '/version: it is a trace of version 7, and this resex-lab reads version 1: ' lab replay "$dir/version"
fails 1 resex-lab '/text: it is no trace: give a file of resex trace-start$' lab replay "$dir/text"
fails 1 resex-lab '/empty: it is no trace: give a file of resex trace-start$' lab replay "$dir/empty"
fails 1 resex-lab '/begun: it has no tick: record for longer$' lab replay "$dir/begun"
fails 1 resex-lab '/begun: it has no tick: record for longer$' lab replay -p ratio "$dir/begun"
lab replay "$dir/other" >"$dir/found"
that 'another account is told with its place' grep -Eq "/other: not as recorded: tick [0-9]+, [0-9.]+ s after the first: another account, of domain 2, stands: the trace has [0-9]+, the replay [0-9]+\$" "$dir/found"
lab replay -j "$dir/other" >"$dir/json"
that 'it ends with 1' [ $? = 1 ]
that 'a program is told the same' says '(not d["equal"]) and [d["difference"][k] for k in ("tick", "at_s", "record", "in", "domain")] == [d["ticks"], d["seconds"], "account", "both", 2] and d["difference"]["member"]["name"] == "stands" and abs(d["difference"]["member"]["trace"] - d["difference"]["member"]["replay"]) == 1 << 14'
lab replay -p nul "$dir/text" 2>"$dir/found"
that 'of two faults the first one counts' [ $? = 5 ]
that 'both are told' [ "$(cut -d: -f2-4 "$dir/found" | tr '\n' '|')" = " --policy nul: there is no such policy: see resex policy-list| $dir/text: it is no trace: give a file of resex trace-start|" ]
echo "test_trace: $checks checks, $wrong wrong"
[ "$wrong" -eq 0 ]
