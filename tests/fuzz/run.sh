#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh: build and run the fuzzers, JOBS (2) targets at a time.
#
#	tests/fuzz/run.sh [SECONDS-EACH] [TARGET]...	(default 30, all)
#	tests/fuzz/run.sh --list			the names of all targets
#
# For each target, three things: no finding in its time; line coverage of the
# parser it is about, at least its floor; and a bug planted into a copy of that
# parser found within the same time, so that we know the fuzzer can fail.
# Corpora are kept in build-fuzz/corpus and grow from run to run.
#
# Exit: 0, 1 on a finding, a missed plant or too little coverage, 77 when
# clang's fuzzer is not installed (1 when CI=true).
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
out=${FUZZ_OUT:-$top/build-fuzz}
CC=${FUZZ_CC:-clang}
flags="-std=gnu11 -g -O1 -fno-omit-frame-pointer -DFUZZING"
san="-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all"

# NAME | SOURCES | FILES WHOSE LINES COUNT | FLOOR % | FILE TO PLANT IN | SED
targets() {
	cat <<'END'
hello | src/transport/front/hello.c | src/transport/front/hello.c | 90 | src/transport/front/hello.c | s/message + len - MAC, MAC);/message + len - MAC, 8);/
tcp | src/transport/front/hello.c src/transport/tcp/call.c src/transport/tcp/conn.c src/transport/tcp/serve.c src/transport/tcp/wire.c src/transport/front/address.c | src/transport/tcp/serve.c src/transport/tcp/wire.c | 90 | src/transport/tcp/serve.c | s/op->offset + op->len > r->bytes/op->offset > r->bytes/
record | src/shared/record.c src/shared/region.c src/util/utf8.c | src/shared/record.c src/shared/region.c | 90 | src/shared/region.c | s/t->stride <= bytes - t->offset/t->stride <= bytes/
registry | ibmon/registry.c ibmon/latency.c src/core/stats.c src/core/window.c ibmon/ring/ring.c ibmon/ring/rxe.c ibmon/ring/rxe_cq.c ibmon/ring/rxe_psn.c ibmon/ring/mtu.c | ibmon/registry.c ibmon/latency.c | 93 | ibmon/registry.c | s/g->frames > frames - g->first_frame)/g->first_frame > frames)/
ring | ibmon/ring/ring.c ibmon/ring/rxe.c ibmon/ring/rxe_cq.c ibmon/ring/rxe_psn.c ibmon/ring/mtu.c | ibmon/ring/ring.c ibmon/ring/rxe.c ibmon/ring/rxe_cq.c ibmon/ring/rxe_psn.c | 90 | ibmon/ring/rxe_psn.c | s/e->opcode >= RING_RXE_OPCODES || //
conf | src/util/conf.c src/util/conf_place.c src/util/conf_value.c src/util/file.c | src/util/conf.c src/util/conf_place.c src/util/conf_value.c | 85 | src/util/conf_value.c | s/if (!s || n < k->min || n > k->max)/if (!s || n < k->min)/
control | src/control/proto.c src/util/utf8.c | src/control/proto.c | 85 | src/control/proto.c | s/ || strlen(r->method) > 64)/)/
methods | src/control/methods.c src/control/hosts.c src/conf/cluster.c src/conf/cluster_agree.c src/reconf/lock.c tests/fakes/fake_cluster.c src/control/policy.c src/control/put.c src/control/set.c src/control/show.c src/control/why.c src/control/proto.c src/guests/guests.c src/guests/conf.c src/guests/crosscheck.c src/guests/events.c src/guests/guest.c src/guests/rings.c src/guests/set.c src/guests/view.c src/guests/restore.c src/conf/settings.c src/conf/guest.c src/conf/policy.c src/tick/handover.c src/counters/counters.c src/counters/counter_port.c src/counters/counter_vf.c src/counters/counter_vif.c src/util/netlink.c src/core/crosscheck.c ibmon/guest.c ibmon/guest_latency.c ibmon/guest_map.c ibmon/guest_show.c ibmon/latency.c ibmon/registry.c ibmon/ring/ring.c ibmon/ring/rxe.c ibmon/ring/rxe_cq.c ibmon/ring/rxe_psn.c ibmon/totals.c ibmon/ring/mtu.c policies/policies.c policies/null.c policies/freemarket.c policies/ratio.c policies/ioshares.c policies/ioshares_rate.c policies/ioshares_window.c src/core/caps.c src/core/stats.c src/core/window.c src/util/conf.c src/util/conf_place.c src/util/conf_value.c src/util/file.c src/util/log.c src/util/utf8.c tests/fakes/fake_host.c tests/fakes/fake_guest.c | src/control/methods.c src/control/hosts.c src/control/policy.c src/control/put.c src/control/set.c src/control/show.c src/control/why.c src/conf/guest.c | 90 | src/control/methods.c | s/m->modifies && !c->root/m->modifies \&\& !c->guests/
scenario | src/lab/scenario.c src/lab/scenario_event.c src/lab/scenario_guest.c src/conf/settings.c src/conf/guest.c src/counters/counters.c src/counters/counter_port.c src/counters/counter_vf.c src/counters/counter_vif.c src/util/netlink.c src/conf/policy.c policies/freemarket.c policies/ioshares.c policies/ioshares_rate.c policies/ioshares_window.c policies/null.c policies/policies.c policies/ratio.c src/sim/agent.c src/sim/conf.c src/sim/cpu.c src/sim/credit.c src/sim/credit2.c src/sim/demo.c src/sim/dom.c src/sim/host.c src/sim/hyp.c src/sim/link.c src/sim/mem.c src/sim/ring.c src/sim/sender.c src/sim/server.c src/sim/task.c src/sim/timer.c src/core/caps.c src/core/stats.c src/core/window.c src/util/conf.c src/util/conf_place.c src/util/conf_value.c src/util/file.c | src/lab/scenario.c src/lab/scenario_event.c src/lab/scenario_guest.c | 90 | src/lab/scenario_event.c | s/uint32_t k = i; k \&\& /uint32_t k = i; k > 1 \&\& /
cluster | src/conf/cluster.c src/conf/cluster_agree.c src/reconf/lock.c src/util/conf.c src/util/conf_place.c src/util/conf_value.c src/util/file.c | src/conf/cluster.c | 85 | src/conf/cluster.c | s/if (n->number == other->number)/if (n->number == other->number \&\& strlen(n->name) < 4)/
trace | src/benchex/trace.c src/benchex/number.c src/util/file.c src/util/utf8.c | src/benchex/trace.c src/benchex/number.c | 65 | src/benchex/trace.c | s/n <= FIELDS)/n <= FIELDS + 1)/
END
}

row() {
	targets | awk -F ' [|] ' -v name="$1" -v n="$2" '$1 == name { print $n }'
}

skip() {
	echo "fuzz: $1" >&2
	[ "${CI-}" = true ] && exit 1
	exit 77
}

have_fuzzer() {
	echo 'int LLVMFuzzerTestOneInput(const char *, unsigned long); int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return (int)(p && n) & 0; }' >"$out/probe.c"
	# shellcheck disable=SC2086
	$CC $san -o "$out/probe" "$out/probe.c" >/dev/null 2>&1
}

# compile NAME KIND FLAGS TREE FILE...: the files of this tree, into out/KIND/NAME.o
compile() {
	objects=$out/$2/$1.o
	how=$3
	tree=$4
	shift 4
	mkdir -p "$objects"
	for f in "$@"; do
		# shellcheck disable=SC2086
		$CC $flags -DRESEX_RUNDIR='"/run"' -DRESEX_STATEDIR='"/var"' -DRESEX_CONFDIR='"/etc"' $how \
			-I"$top" -I"$top/include" -c -o "$objects/$(echo "$f" | tr / -).o" "$tree/$f" || return 1
	done
}

# link NAME KIND FLAGS
link() {
	# shellcheck disable=SC2086
	$CC $3 -o "$out/$2/$1" "$out/$2/$1.o"/*.o -ljansson -lisal -lnettle
}

# build NAME KIND FLAGS: the target with its sources
build() {
	# shellcheck disable=SC2046
	compile "$1" "$2" "$3" "$top" "tests/fuzz/fuzz_$1.c" $(row "$1" 2) && link "$1" "$2" "$3"
}

# prepare NAME: the fuzzer as it is, with a planted bug, and one that measures coverage.
prepare() {
	file=$(row "$1" 5)
	planted=$out/plant/$1.tree
	mkdir -p "$planted/$(dirname "$file")"
	sed "$(row "$1" 6)" "$top/$file" >"$planted/$file"
	! cmp -s "$planted/$file" "$top/$file" ||
		{ echo "fuzz: $1: the bug cannot be planted: $file changed; adapt run.sh"; return 1; }
	build "$1" real "$san" || return 1
	cp -r "$out/real/$1.o" "$out/plant/" # all but one of its objects are the same
	compile "$1" plant "$san" "$planted" "$file" && link "$1" plant "$san" &&
		build "$1" cov "-fsanitize=fuzzer -fprofile-instr-generate -fcoverage-mapping"
}

# fuzz NAME KIND SECONDS: its exit code in out/KIND/NAME.rc
fuzz() {
	name=$1 kind=$2
	dict=
	[ ! -f "$top/tests/fuzz/$name.dict" ] || dict=-dict=$top/tests/fuzz/$name.dict
	corpus=$out/corpus/$name
	[ "$kind" != plant ] || corpus=$out/plant/$name.corpus # what it learns is not for keeps
	mkdir -p "$corpus"
	rc=0
	# shellcheck disable=SC2086
	"$out/$kind/$name" -max_total_time="$3" -timeout=10 -rss_limit_mb=2048 -max_len="$(max_len "$name")" \
		-print_final_stats=1 -verbosity=1 -artifact_prefix="$out/$kind/$name." $dict \
		"$corpus" "$out/seeds/$name" >"$out/$kind/$name.log" 2>&1 || rc=$?
	echo $rc >"$out/$kind/$name.rc"
}

max_len() {
	case $1 in
	registry) echo 6736 ;;
	*) echo 4096 ;;
	esac
}

# Lines of the parser's files that the corpus reaches: "PERCENT covered/all"
coverage() {
	files=
	for f in $(row "$1" 3); do files="$files $top/$f"; done
	(cd "$out/cov" && LLVM_PROFILE_FILE="$1.profraw" "./$1" -runs=0 "$out/corpus/$1" \
		"$out/seeds/$1" >"$1.log" 2>&1 &&
		llvm-profdata merge -sparse "$1.profraw" -o "$1.profdata") || return 1
	# shellcheck disable=SC2086
	llvm-cov export -summary-only -instr-profile="$out/cov/$1.profdata" "$out/cov/$1" $files |
		python3 -c 'import json, sys
t = json.load(sys.stdin)["data"][0]["totals"]["lines"]
print("%d %d/%d" % (100 * t["covered"] // t["count"], t["covered"], t["count"]))'
}

# report NAME: what came of it; false when anything is wrong.
report() {
	name=$1 failed=0
	runs=$(awk '/stat::number_of_executed_units/ { print $2 }' "$out/real/$name.log")
	if [ "$(cat "$out/real/$name.rc")" != 0 ]; then
		echo "fuzz: $name: FOUND something after ${runs:-?} runs; input: $(echo "$out/real/$name".*-*)"
		grep -E -m 3 'broken promise|ERROR: |runtime error' "$out/real/$name.log" || tail -5 "$out/real/$name.log"
		return 1
	fi
	if got=$(coverage "$name"); then
		floor=$(row "$name" 4)
		echo "fuzz: $name: $runs runs, no finding; lines ${got#* } = ${got% *} % (floor $floor %)"
		[ "${got% *}" -ge "$floor" ] || { echo "fuzz: $name: too little coverage"; failed=1; }
	else
		echo "fuzz: $name: $runs runs, no finding; coverage could not be measured"
		failed=1
	fi
	runs=$(awk '/stat::number_of_executed_units/ { print $2 }' "$out/plant/$name.log")
	if [ "$(cat "$out/plant/$name.rc")" = 0 ]; then
		echo "fuzz: $name: the planted bug was NOT found in $seconds s"
		failed=1
	else
		echo "fuzz: $name: the planted bug was found after ${runs:-?} runs: $(grep -E -m 1 -o 'broken promise.*|AddressSanitizer: [a-z-]*|runtime error.*' "$out/plant/$name.log")"
	fi
	return $failed
}

# one NAME SECONDS: all of a target, and what came of it
one() {
	seconds=$2
	rm -f "$out/real/$1" "$out/plant/$1" "$out/cov/$1"
	if ! prepare "$1"; then
		echo "fuzz: $1: could not be built"
	elif fuzz "$1" real "$seconds" && fuzz "$1" plant "$seconds" && report "$1"; then
		touch "$out/good/$1"
	fi
}

if [ "${1-}" = --list ]; then
	targets | awk -F ' [|] ' '{ print $1 }'
	exit 0
fi
if [ "${1-}" = --one ]; then
	one "$2" "$3" 2>&1
	exit 0
fi
seconds=${1:-30}
[ $# -eq 0 ] || shift
names=${*:-$(targets | awk -F ' [|] ' '{ print $1 }')}
mkdir -p "$out/real" "$out/plant" "$out/cov" "$out/corpus"
command -v "$CC" >/dev/null || skip "$CC was not found; on Debian: apt-get install clang"
command -v llvm-cov >/dev/null || skip "llvm-cov was not found; on Debian: apt-get install llvm"
have_fuzzer || skip "$CC has no libFuzzer; on Debian: apt-get install libclang-rt-14-dev"
rm -rf "$out/seeds" "$out/good" "$out"/real/*.* "$out"/plant/* "$out"/cov/*.*
mkdir "$out/good"
python3 "$top/tests/fuzz/seeds.py" "$out/seeds"

for name in $names; do
	[ -n "$(row "$name" 1)" ] || { echo "fuzz: there is no target $name" >&2; exit 1; }
done
# shellcheck disable=SC2086
printf '%s\n' $names | FUZZ_OUT=$out xargs -P "${JOBS:-2}" -I NAME "$0" --one NAME "$seconds"
good=0 bad=0
for name in $names; do
	if [ -e "$out/good/$name" ]; then good=$((good + 1)); else bad=$((bad + 1)); fi
done
echo "fuzz: $good passed, $bad failed"
[ "$bad" -eq 0 ]
