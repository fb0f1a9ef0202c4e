#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test_benchex.sh: benchex on the command line, as far as no RDMA device is needed.
#
#	tests/cli/test_benchex.sh [BUILD]
#
# Exit: 0, 1 when something was not as it should be, 77 without benchex or python3.
set -u
top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
build=$(cd "${1:-.}" && pwd)
benchex=$build/benchex
[ -x "$benchex" ] || { echo "test_benchex: benchex is not built in $build" >&2; exit 77; }
command -v python3 >/dev/null || { echo "test_benchex: python3 was not found; on Debian: apt-get install python3" >&2; exit 77; }
dir=$(mktemp -d /tmp/resex-benchex-XXXXXX)
trap 'rm -rf "$dir"' EXIT
checks=0 wrong=0

bad() {
	wrong=$((wrong + 1))
	echo "not ok: $name: $1"
	sed 's/^/	out: /' "$dir/out"
	sed 's/^/	err: /' "$dir/err"
}

run() {
	name=$*
	checks=$((checks + 1))
	"$@" >"$dir/out" 2>"$dir/err" </dev/null
	code=$?
}

# good PATTERN COMMAND...: ends with 0, says nothing on stderr, and the pattern on stdout.
good() {
	local pattern=$1
	shift
	run "$@"
	if [ "$code" -ne 0 ]; then bad "exit status $code"
	elif [ -s "$dir/err" ]; then bad "it spoke on stderr"
	elif ! grep -Eq -- "$pattern" "$dir/out"; then bad "no $pattern in its output"
	fi
}

# fails CODE PATTERN COMMAND...: that exit status, nothing on stdout, one line that says it.
fails() {
	local want=$1 pattern=$2
	shift 2
	run "$@"
	if [ "$code" -ne "$want" ]; then bad "exit status $code, not $want"
	elif [ -s "$dir/out" ]; then bad "it spoke on stdout"
	elif [ "$(wc -l <"$dir/err")" -ne 1 ]; then bad "its error is not one line"
	elif ! grep -q '^benchex: ' "$dir/err"; then bad "its error does not begin with benchex:"
	elif ! grep -Eq -- "$pattern" "$dir/err"; then bad "no $pattern in its error"
	fi
}

good 'benchex merge' "$benchex" --help
good '^benchex [0-9]' "$benchex" -V
good '-c, --clients N' "$benchex" client --help
good '^  bulk    --size 8 --qps 64' "$benchex" profiles
good '^\[\{"name":"bandwidth"' "$benchex" profiles --json
good '^Usage: benchex merge' "$benchex" merge --help
good '^Usage: benchex profiles' "$benchex" profiles --help
for option in --help --version 'server --help' 'profiles -j' 'merge --help'; do
	fails 1 'output: No space left' bash -c "'$benchex' $option >/dev/full"
done

fails 2 'a command is missing: give server' "$benchex"
fails 2 'unknown command "serve": give server' "$benchex" serve
fails 2 'depth 0: give a whole number from 1 to 1024' "$benchex" bulk h -D 0
fails 2 '--qps is for bulk, not for server: see benchex server --help' "$benchex" server --qps 1
fails 2 '--size: the trace says it: leave out' "$benchex" client h -t f -s 8
printf '%s\n' '# two' '1 trade 1' >"$dir/trace"
fails 1 'trace:2: 1: 3 words: write four' "$benchex" client h --trace "$dir/trace"
fails 1 '/: is not a regular file' "$benchex" client h --trace /
fails 1 'none: cannot be read' "$benchex" client h --trace "$dir/none"
echo 'client of 10.0.0.1' >"$dir/text"
fails 4 'text:1: not JSON' "$benchex" merge "$dir/text"
fails 1 'cannot be read' "$benchex" merge "$dir/none"

# A message is one write(), which a socket of packets keeps apart from the next.
one_write() {
	python3 - "$@" <<'END'
import socket, subprocess, sys
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
subprocess.run(sys.argv[1:], stderr=theirs)
theirs.close()
writes = []
while packet := ours.recv(65536):
    writes.append(packet)
print(*writes)
sys.exit(not (len(writes) == 1 and writes[0].startswith(b"benchex: ") and writes[0].endswith(b"\n")))
END
}
for words in 'bulk h -D 0' "merge $dir/text" "client h --trace $dir/none"; do
	# shellcheck disable=SC2086
	good '^' one_write "$benchex" $words
done

# Every option that the manual page names is one, and every option stands there.
man=$top/man/benchex.1
for role in server client bulk; do
	"$benchex" $role --help | sed -n 's/^  -., --\([a-z-]*\).*/\1/p'
done | sort -u >"$dir/options"
sed -n '/Ss Options of server, client and bulk/,/Ss Options of merge/s/^\.It Fl . , Fl Fl \([a-z-]*\).*/\1/p' "$man" |
	sort -u >"$dir/page"
checks=$((checks + 1))
diff "$dir/options" "$dir/page" >"$dir/out" || { name=options; bad "the page has others than the program"; }
for profile in $("$benchex" profiles | sed -n 's/^\([a-z-]*\):.*/\1/p'); do
	good . grep "^\.It $profile Ta" "$man"
done

# Results of two runs, as one.
cat >"$dir/result" <<'END'
{"role":"bulk","peer":"10.0.0.1","ended":"time","elapsed_s":2.5,"cpu_s":1,"cpu_percent":40,"requests":5,"requests_s":2,"bytes":10000000,"MB_s":4.0,"late":0,"lost":0,"control_rounds":0,"reported":0,"report_dropped":0,"seed":1,"latency":{},"qps":[{"qpn":17,"peer_qpn":18,"path_mtu":1024,"cq_entries":64,"completed":{"write":5},"errors":0,"outstanding":0,"bytes_sent":10000000,"bytes_recv":0,"mtus_sent":9766,"mtus_recv":0}],"conf":{}}
END
good '^bulk, to or from 10.0.0.1: 10 messages in 5.000 s, ended by time' "$benchex" merge "$dir/result" "$dir/result"
good '^2.0 messages/s, 4.000 MB/s, CPU 40.0 %' "$benchex" merge "$dir/result"
good '"merged":2' bash -c "cat '$dir/result' '$dir/result' | '$benchex' merge -j - | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(json.dumps(r, separators=(\",\", \":\")))
sys.exit(r[\"requests\"] != 10 or r[\"elapsed_s\"] != 5 or len(r[\"qps\"]) != 2)'"

echo "test_benchex: $((checks - wrong)) passed, $wrong failed"
[ "$wrong" -eq 0 ]
