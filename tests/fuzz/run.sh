#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh: build and run the fuzzers, JOBS (2) targets at a time.
#
#	tests/fuzz/run.sh [SECONDS-EACH] [TARGET]...	(default 30, all)
#	tests/fuzz/run.sh --build			build all that does not change from run to run
#	tests/fuzz/run.sh --list			the names of all targets
#	tests/fuzz/run.sh --sources TARGET		the files that a target is linked from
#	tests/fuzz/run.sh --libs			the libraries
#
# Each target must do three things:
# - find nothing in its time, in which it first repeats all seeds and all of its corpus;
# - cover the lines of its parser, at least its floor; when its time is too short for that, it gets
#   up to 180 s;
# - find a bug that is planted into a copy of its parser, in at most 120 s. This proves that
#   the fuzzer can fail.
# Corpora are kept in build-fuzz/corpus, and grow from run to run. Objects are kept, too; each source
# is compiled once for all targets.
#
# Exit: 0, 1 on a finding, a missed plant or too little coverage, 77 when
# clang's fuzzer is not installed (1 when CI=true).
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
out=${FUZZ_OUT:-$top/build-fuzz}
CC=${FUZZ_CC:-clang}
flags="-std=gnu11 -D_GNU_SOURCE= -Werror=implicit-function-declaration -g1 -O1 -fno-omit-frame-pointer -DFUZZING"
san="-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all"
cov="-fprofile-instr-generate -fcoverage-mapping"
libs="-ljansson -luuid -lisal -lnettle"
define="-DRESEX_RUNDIR='\"/run\"' -DRESEX_STATEDIR='\"/var\"' -DRESEX_CONFDIR='\"/etc\"' -DRESEX_PLUGINDIR='\"/usr/lib/resex/policies\"'"

# NAME | SOURCES | FILES WHOSE LINES COUNT | FLOOR % | FILE TO PLANT IN | SED
targets() {
	cat <<'END'
api | src/cached/api_body.c src/cached/tag.c src/util/conf.c src/util/conf_place.c src/util/conf_value.c src/util/file.c src/util/utf8.c | src/cached/api_body.c | 95 | src/cached/api_body.c | s/json_array_size(v) > max)/json_array_size(v) > 2 * max)/
cache | src/cache/home.c src/cache/home_ack.c src/cache/home_request.c src/cache/fill.c src/cache/fresh.c src/shared/lease.c | src/cache/home.c src/cache/home_ack.c src/cache/home_request.c src/cache/fill.c src/cache/fresh.c | 85 | src/cache/home.c | s/m->tags <= UPDATE_TAGS_MAX \&\&/m->tags <= UPDATE_TAGS_MAX + 1 \&\&/
btf | src/load/btf.c | src/load/btf.c | 95 | src/load/btf.c | s/h.strings_length > len - h.strings)/0)/
haproxy | src/reconf/haproxy_text.c | src/reconf/haproxy_text.c | 95 | src/reconf/haproxy_text.c | s/v <= (most - digit) \/ 10/v <= most/
claim | src/load/agree.c src/load/claim.c src/load/index.c src/shared/record.c | src/load/agree.c src/load/claim.c | 95 | src/load/claim.c | s/r->busy_ns < was->busy_ns ||//
replay | src/lab/replay.c src/lab/replay_load.c src/lab/replay_read.c src/lab/replay_diff.c src/trace/format.c src/trace/frame.c src/tick/tape.c src/tick/tape_encode.c src/tick/tape_state.c src/tick/tick.c src/tick/apart.c src/tick/stages.c src/tick/sampler.c src/tick/still.c src/tick/unread.c src/tick/loads.c src/tick/domains.c src/tick/handover.c src/tick/handover_open.c src/core/resos.c src/core/period.c src/core/caps.c src/core/window.c src/core/stats.c src/util/clock.c src/conf/policy.c src/conf/policy_pages.c src/conf/plugin.c src/conf/plugin_table.c src/util/plugin_elf.c src/util/plugin_file.c src/util/plugin_seal.c src/util/guard.c src/util/guard_open.c src/util/conf.c src/util/conf_place.c src/util/conf_value.c src/util/file.c src/util/utf8.c policies/policies.c policies/check.c policies/null.c policies/freemarket.c policies/ratio.c policies/slo.c policies/slo_level.c policies/ioshares.c policies/ioshares_blame.c policies/ioshares_rate.c policies/ioshares_window.c policies/state.c | src/lab/replay.c src/lab/replay_load.c src/lab/replay_read.c src/trace/format.c policies/state.c | 88 | src/lab/replay_load.c | s/return g->slot < FLOW_GUESTS_MAX && /return /
history | src/cluster/history_line.c | src/cluster/history_line.c | 95 | src/cluster/history_line.c | s/json_string_length(v) >= k->size/json_string_length(v) > k->size/
hello | src/transport/front/hello.c | src/transport/front/hello.c | 90 | src/transport/front/hello.c | s/message + len - MAC, MAC);/message + len - MAC, 8);/
http | src/cacheload/http.c | src/cacheload/http.c | 95 | src/cacheload/http.c | s/size_t n = r->len - r->at < r->rest ? r->len - r->at : (size_t)r->rest/size_t n = (size_t)r->rest/
httplog | src/lab/load_log.c src/util/file.c | src/lab/load_log.c | 85 | src/lab/load_log.c | s/if (w->end - s <= DATE + 1)/if (w->end - s <= DATE)/
tcp | src/transport/front/hello.c src/transport/tcp/call.c src/transport/tcp/conn.c src/transport/tcp/serve.c src/transport/tcp/wire.c src/transport/front/address.c | src/transport/tcp/serve.c src/transport/tcp/wire.c | 90 | src/transport/tcp/serve.c | s/op->offset + op->len > r->bytes/op->offset > r->bytes/
proc | src/load/proc_text.c | src/load/proc_text.c | 95 | src/load/proc_text.c | s/if (\*v > (most - digit) \/ 10)/if (*v > most)/
queues | ibmon/agent/procs.c ibmon/agent/queue_entry.c ibmon/agent/queue_tables.c src/util/log.c src/util/notify.c | ibmon/agent/queue_entry.c ibmon/agent/queue_tables.c | 90 | ibmon/agent/queue_entry.c | s/ pages > PAGES_MAX)/ 0)/
record | src/shared/record.c src/shared/region.c src/util/utf8.c | src/shared/record.c src/shared/region.c | 90 | src/shared/region.c | s/t->stride <= bytes - t->offset/t->stride <= bytes/
registry | ibmon/registry.c ibmon/latency.c src/core/stats.c src/core/window.c ibmon/ring/open.c ibmon/ring/plug.c ibmon/ring/ring.c ibmon/ring/mlx_cq.c ibmon/ring/mlx_sq.c ibmon/ring/mlx4.c ibmon/ring/mlx4_cq.c ibmon/ring/mlx4_wqe.c ibmon/ring/mlx5.c ibmon/ring/mlx5_cq.c ibmon/ring/mlx5_wqe.c ibmon/ring/rxe.c ibmon/ring/rxe_cq.c ibmon/ring/rxe_psn.c ibmon/ring/rxe_run.c ibmon/ring/mtu.c | ibmon/registry.c ibmon/latency.c | 93 | ibmon/registry.c | s/g->frames > frames - g->first_frame)/g->first_frame > frames)/
ring | ibmon/ring/open.c ibmon/ring/plug.c ibmon/ring/ring.c ibmon/ring/mlx_cq.c ibmon/ring/mlx_sq.c ibmon/ring/mlx4.c ibmon/ring/mlx4_cq.c ibmon/ring/mlx4_wqe.c ibmon/ring/mlx5.c ibmon/ring/mlx5_cq.c ibmon/ring/mlx5_wqe.c ibmon/ring/rxe.c ibmon/ring/rxe_cq.c ibmon/ring/rxe_psn.c ibmon/ring/rxe_run.c ibmon/ring/mtu.c | ibmon/ring/ring.c ibmon/ring/rxe.c ibmon/ring/rxe_cq.c ibmon/ring/rxe_psn.c ibmon/ring/rxe_run.c | 90 | ibmon/ring/rxe_psn.c | s/e->opcode >= RING_RXE_OPCODES || //
conf | src/util/conf.c src/util/conf_place.c src/util/conf_value.c src/util/file.c | src/util/conf.c src/util/conf_place.c src/util/conf_value.c | 85 | src/util/conf_value.c | s/if (!s || n < k->min || n > k->max)/if (!s || n < k->min)/
control | src/control/proto.c src/util/utf8.c | src/control/proto.c | 85 | src/control/proto.c | s/ || strlen(r->method) > 64)/)/
methods | src/load/index.c src/control/methods.c src/control/balance.c src/control/hosts.c src/control/nodes.c src/control/override.c src/control/reload.c src/conf/cluster.c src/conf/cluster_agree.c src/conf/cluster_balance.c src/conf/cluster_cached.c src/conf/cluster_change.c src/conf/cluster_find.c src/conf/cluster_nodes.c src/conf/cluster_reconf.c src/conf/cluster_same.c src/shared/lease.c tests/fakes/fake_cluster.c src/control/policy.c src/control/put.c src/control/reconf.c src/control/set.c src/control/show.c src/control/trace.c src/control/why.c src/control/proto.c src/guests/guests.c src/guests/conf.c src/guests/crosscheck.c src/guests/event_log.c src/guests/events.c src/guests/give_back.c src/guests/guest.c src/guests/operator.c src/guests/own.c src/guests/place.c src/guests/rings.c src/guests/set.c src/guests/stopped.c src/guests/unheard.c src/guests/view.c src/guests/journal.c src/guests/restore.c src/guests/restore_file.c src/util/kept_file.c src/conf/settings.c src/conf/guest.c src/conf/policy.c src/conf/policy_pages.c src/conf/plugin.c src/conf/plugin_table.c src/util/plugin_elf.c src/util/plugin_file.c src/util/plugin_seal.c src/util/clock.c src/util/guard.c src/util/guard_open.c src/tick/handover.c src/tick/handover_open.c src/counters/counters.c src/counters/port.c src/counters/vf.c src/counters/vif.c src/util/netlink.c src/core/crosscheck.c ibmon/guest.c ibmon/guest_back.c ibmon/guest_kept.c ibmon/guest_latency.c ibmon/guest_load.c ibmon/guest_map.c ibmon/guest_missed.c ibmon/guest_show.c ibmon/latency.c ibmon/registry.c ibmon/ring/open.c ibmon/ring/plug.c ibmon/ring/ring.c ibmon/ring/mlx_cq.c ibmon/ring/mlx_sq.c ibmon/ring/mlx4.c ibmon/ring/mlx4_cq.c ibmon/ring/mlx4_wqe.c ibmon/ring/mlx5.c ibmon/ring/mlx5_cq.c ibmon/ring/mlx5_wqe.c ibmon/ring/rxe.c ibmon/ring/rxe_cq.c ibmon/ring/rxe_psn.c ibmon/ring/rxe_run.c ibmon/totals.c ibmon/ring/mtu.c policies/policies.c policies/check.c policies/null.c policies/freemarket.c policies/ratio.c policies/slo.c policies/slo_level.c policies/ioshares.c policies/ioshares_blame.c policies/ioshares_rate.c policies/ioshares_window.c src/core/caps.c src/core/stats.c src/core/window.c src/util/conf.c src/util/conf_place.c src/util/conf_value.c src/util/file.c src/util/log.c src/util/notify.c src/util/utf8.c tests/fakes/fake_host.c tests/fakes/fake_guest.c | src/control/methods.c src/control/balance.c src/control/hosts.c src/control/nodes.c src/control/override.c src/control/reload.c src/control/policy.c src/control/put.c src/control/reconf.c src/control/set.c src/control/show.c src/control/trace.c src/control/why.c src/conf/guest.c | 90 | src/control/methods.c | s/m->modifies && !c->root/m->modifies \&\& !c->guests/
mlx4 | ibmon/ring/open.c ibmon/ring/plug.c ibmon/ring/ring.c ibmon/ring/mlx_cq.c ibmon/ring/mlx_sq.c ibmon/ring/mlx4.c ibmon/ring/mlx4_cq.c ibmon/ring/mlx4_wqe.c ibmon/ring/mlx5.c ibmon/ring/mlx5_cq.c ibmon/ring/mlx5_wqe.c ibmon/ring/rxe.c ibmon/ring/rxe_cq.c ibmon/ring/rxe_psn.c ibmon/ring/rxe_run.c ibmon/ring/mtu.c | ibmon/ring/mlx_cq.c ibmon/ring/mlx_cq_sample.h ibmon/ring/mlx_sq.c ibmon/ring/mlx_sq.h ibmon/ring/mlx4.c ibmon/ring/mlx4_cq.c ibmon/ring/mlx4_wqe.c | 95 | ibmon/ring/mlx4_wqe.c | s/if (!segments || segments \* RING_MLX4_SEGMENT > r->d->elem_size)/if (!segments)/
mlx5 | ibmon/ring/open.c ibmon/ring/plug.c ibmon/ring/ring.c ibmon/ring/mlx_cq.c ibmon/ring/mlx_sq.c ibmon/ring/mlx4.c ibmon/ring/mlx4_cq.c ibmon/ring/mlx4_wqe.c ibmon/ring/mlx5.c ibmon/ring/mlx5_cq.c ibmon/ring/mlx5_wqe.c ibmon/ring/rxe.c ibmon/ring/rxe_cq.c ibmon/ring/rxe_psn.c ibmon/ring/rxe_run.c ibmon/ring/mtu.c | ibmon/ring/mlx_cq.c ibmon/ring/mlx_cq_sample.h ibmon/ring/mlx_sq.c ibmon/ring/mlx_sq.h ibmon/ring/mlx5.c ibmon/ring/mlx5_cq.c ibmon/ring/mlx5_wqe.c | 95 | ibmon/ring/mlx5_wqe.c | s/(from & (end - 1)) + offset/from + offset/
nodes | src/shared/nodes_file.c src/shared/record.c src/util/file.c | src/shared/nodes_file.c | 70 | src/shared/nodes_file.c | s/|| count == 0)/)/
scenario | src/lab/scenario.c src/lab/scenario_event.c src/lab/scenario_find.c src/lab/scenario_guest.c src/conf/settings.c src/conf/guest.c src/counters/counters.c src/counters/port.c src/counters/vf.c src/counters/vif.c src/util/netlink.c src/conf/policy.c src/conf/policy_pages.c src/conf/plugin.c src/conf/plugin_table.c src/util/plugin_elf.c src/util/plugin_file.c src/util/plugin_seal.c src/util/clock.c src/util/guard.c src/util/guard_open.c policies/freemarket.c policies/ioshares.c policies/ioshares_blame.c policies/ioshares_rate.c policies/ioshares_window.c policies/null.c policies/policies.c policies/ratio.c policies/slo.c policies/slo_level.c src/sim/agent.c src/sim/client.c src/sim/conf.c src/sim/cpu.c src/sim/credit.c src/sim/credit2.c src/sim/demo.c src/sim/dom.c src/sim/draw.c src/sim/host.c src/sim/hyp.c src/sim/life.c src/sim/link.c src/sim/mem.c src/sim/ring.c src/sim/sender.c src/sim/server.c src/sim/task.c src/sim/timer.c src/sim/watch.c src/core/caps.c src/core/stats.c src/core/window.c src/util/conf.c src/util/conf_place.c src/util/conf_value.c src/util/file.c | src/lab/scenario.c src/lab/scenario_event.c src/lab/scenario_guest.c | 90 | src/lab/scenario_event.c | s/uint32_t k = i; k \&\& /uint32_t k = i; k > 1 \&\& /
cached | src/cached/conf.c src/conf/cluster.c src/conf/cluster_balance.c src/conf/cluster_cached.c src/conf/cluster_file.c src/conf/cluster_find.c src/conf/cluster_agree.c src/conf/cluster_nodes.c src/conf/cluster_reconf.c src/shared/lease.c src/util/conf.c src/util/conf_place.c src/util/conf_value.c src/util/file.c | src/cached/conf.c | 85 | src/cached/conf.c | s/if (c->ring_slots % 64 == 0)/if (c->ring_slots % 64 != 1)/
caps | src/guests/restore_file.c src/util/kept_file.c src/guests/restore.c src/guests/journal.c src/core/caps.c src/util/conf.c src/util/conf_place.c src/util/conf_value.c | src/guests/restore_file.c | 90 | src/guests/restore_file.c | s/ || last >= WRITTEN_PERCENTS)/)/
cluster | src/conf/cluster.c src/conf/cluster_agree.c src/conf/cluster_balance.c src/conf/cluster_cached.c src/conf/cluster_change.c src/conf/cluster_find.c src/conf/cluster_nodes.c src/conf/cluster_reconf.c src/conf/cluster_same.c src/shared/lease.c src/util/conf.c src/util/conf_place.c src/util/conf_value.c src/util/file.c | src/conf/cluster.c src/conf/cluster_balance.c src/conf/cluster_cached.c src/conf/cluster_nodes.c src/conf/cluster_reconf.c | 90 | src/conf/cluster.c | s/if (n->number == other->number)/if (n->number == other->number \&\& strlen(n->name) < 4)/
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

# Objects of a target, below out/obj.
objects() {
	for f in "tests/fuzz/fuzz_$1.c" $(row "$1" 2); do echo "obj/${f%.c}.o"; done
}

# plant NAME: a copy of the target's file with the bug
plant() {
	file=$(row "$1" 5)
	copy=$out/plant/$1.tree/$file
	mkdir -p "${copy%/*}"
	sed "$(row "$1" 6)" "$top/$file" >"$copy"
	! cmp -s "$copy" "$top/$file" ||
		{ echo "fuzz: $1: the bug cannot be planted: $file changed; adapt run.sh"; return 1; }
}

# Rules for all targets named: NAME as it is, and with the bug in one of its objects.
rules() {
	cat <<-END
	.RECIPEPREFIX = >
	compile = $CC $flags $define $san $cov -I$top -I$top/include -c -MMD -MP
	bind = $CC $san $cov -fuse-ld=lld
	obj/%.o: $top/%.c
	> @mkdir -p \$(@D)
	> \$(compile) -o \$@ \$<
	END
	all=
	for name in "$@"; do
		files=$(objects "$name" | tr '\n' ' ')
		file=$(row "$name" 5)
		all="$all $files"
		bug=plant/$name.tree/${file%.c}.o
		cat <<-END
		real/$name: $files
		> \$(bind) -o \$@ \$^ $libs
		$bug: plant/$name.tree/$file
		> \$(compile) -o \$@ \$<
		plant/$name: $(echo "$files" | sed "s|obj/${file%.c}.o|$bug|")
		> \$(bind) -o \$@ \$^ $libs
		END
	done
	# shellcheck disable=SC2086
	printf '%s\n' $all | sort -u | sed 's|\(.*\)\.o$|\1.o: Makefile\n-include \1.d|'
}

# fuzz NAME KIND SECONDS: its exit code in out/KIND/NAME.rc
fuzz() {
	name=$1 kind=$2
	dict=
	[ ! -f "$top/tests/fuzz/$name.dict" ] || dict=-dict=$top/tests/fuzz/$name.dict
	corpus=$out/corpus/$name
	[ "$kind" != plant ] || corpus=$out/plant/$name.corpus # it is not kept
	mkdir -p "$corpus"
	rc=0
	# shellcheck disable=SC2086
	LLVM_PROFILE_FILE=$out/$kind/$name.profraw "$out/$kind/$name" -max_total_time="$3" -timeout=10 -rss_limit_mb=2048 -max_len="$(max_len "$name")" \
		-print_final_stats=1 -verbosity=1 -artifact_prefix="$out/$kind/$name." $dict \
		"$corpus" "$out/seeds/$name" >"$out/$kind/$name.log" 2>&1 || rc=$?
	echo $rc >"$out/$kind/$name.rc"
}

max_len() {
	case $1 in
	haproxy) echo 9100 ;; # more than a line may have
	registry) echo 8032 ;; # all of its longest seed
	*) echo 4096 ;;
	esac
}

# Lines of the parser's files that the run reached: "PERCENT covered/all"
coverage() {
	(cd "$out/real" && llvm-profdata merge -sparse "$1.profraw" -o "$1.profdata") || return 1
	# shellcheck disable=SC2046
	llvm-cov export -summary-only -instr-profile="$out/real/$1.profdata" "$out/real/$1" |
		python3 -c 'import json, os, sys
wanted = [os.path.realpath(os.path.join(sys.argv[1], f)) for f in sys.argv[2:]]
t = [f["summary"]["lines"] for f in json.load(sys.stdin)["data"][0]["files"]
     if os.path.realpath(f["filename"]) in wanted]
assert len(t) == len(wanted)
n, all = sum(f["covered"] for f in t), sum(f["count"] for f in t)
print("%d %d/%d" % (100 * n // all, n, all))' "$top" $(row "$1" 3)
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
	if [ -n "$got" ]; then
		floor=$(row "$name" 4)
		echo "fuzz: $name: $runs runs, no finding; lines ${got#* } = ${got% *} % after $spent s (floor $floor %)"
		[ "${got% *}" -ge "$floor" ] || { echo "fuzz: $name: too little coverage"; failed=1; }
	else
		echo "fuzz: $name: $runs runs, no finding; coverage could not be measured"
		failed=1
	fi
	runs=$(awk '/stat::number_of_executed_units/ { print $2 }' "$out/plant/$name.log")
	if [ "$(cat "$out/plant/$name.rc")" = 0 ]; then
		echo "fuzz: $name: the planted bug was NOT found in $patience s"
		failed=1
	else
		echo "fuzz: $name: the planted bug was found after ${runs:-?} runs: $(grep -E -m 1 -o 'broken promise.*|AddressSanitizer: [a-z-]*|runtime error.*' "$out/plant/$name.log")"
	fi
	return $failed
}

# search NAME SECONDS: its seconds, and while its coverage is too small then, some more: what a
# run has learned, the next one begins with.
search() {
	spent=0 round=$2
	while :; do
		fuzz "$1" real "$round"
		spent=$((spent + round)) round=10
		[ "$(cat "$out/real/$1.rc")" = 0 ] || return 0
		got=$(coverage "$1") || got=
		[ -n "$got" ] && [ "${got% *}" -lt "$(row "$1" 4)" ] && [ $spent -lt 180 ] || return 0
	done
}

# one NAME SECONDS: all of a target, and what came of it
one() {
	patience=$2
	[ "$patience" -ge 120 ] || patience=120
	if [ ! -x "$out/real/$1" ] || [ ! -x "$out/plant/$1" ]; then
		echo "fuzz: $1: could not be built; see build-fuzz/build.log"
	elif search "$1" "$2" && fuzz "$1" plant "$patience" && report "$1"; then
		touch "$out/good/$1"
	fi
}

if [ "${1-}" = --list ]; then
	targets | awk -F ' [|] ' '{ print $1 }'
	exit 0
fi
if [ "${1-}" = --libs ]; then
	echo "$libs"
	exit 0
fi
if [ "${1-}" = --sources ]; then
	row "$2" 2
	exit 0
fi
if [ "${1-}" = --one ]; then
	one "$2" "$3" 2>&1
	exit 0
fi
build=
[ "${1-}" != --build ] || build=1
seconds=${1:-30}
[ $# -eq 0 ] || shift
names=${*:-$(targets | awk -F ' [|] ' '{ print $1 }')}
for name in $names; do
	[ -n "$(row "$name" 1)" ] || { echo "fuzz: there is no target $name: see ./dev fuzz --list" >&2; exit 1; }
done
mkdir -p "$out/real" "$out/plant" "$out/corpus"
command -v "$CC" >/dev/null || skip "$CC was not found; on Debian: apt-get install clang"
command -v llvm-cov >/dev/null || skip "llvm-cov was not found; on Debian: apt-get install llvm"
command -v ld.lld >/dev/null || skip "ld.lld was not found; on Debian: apt-get install lld"
have_fuzzer || skip "$CC has no libFuzzer; on Debian: apt-get install libclang-rt-14-dev"
rm -rf "$out/seeds" "$out/good" "$out"/real/* "$out"/plant/*
mkdir "$out/good"
python3 "$top/tests/fuzz/seeds.py" "$out/seeds"

wanted=
for name in $names; do
	! plant "$name" || wanted="$wanted real/$name plant/$name"
done
# shellcheck disable=SC2086
rules $names >"$out/Makefile.new"
cmp -s "$out/Makefile.new" "$out/Makefile" || mv "$out/Makefile.new" "$out/Makefile"
if [ -n "$build" ]; then
	rc=0
	# shellcheck disable=SC2046
	make -C "$out" -k -j "${JOBS:-2}" $(for name in $names; do objects "$name"; done | sort -u) >"$out/build.log" 2>&1 || rc=1
	echo "build fuzz: $((!rc)) passed, $rc failed"
	exit $rc
fi
# shellcheck disable=SC2086
make -C "$out" -k -j "${JOBS:-2}" $wanted >"$out/build.log" 2>&1 ||
	grep -E -m 10 'error: |undefined reference|No rule' "$out/build.log" || tail -n 10 "$out/build.log"
# shellcheck disable=SC2086
printf '%s\n' $names | FUZZ_OUT=$out xargs -P "${JOBS:-2}" -I NAME "$0" --one NAME "$seconds"
good=0 bad=0
for name in $names; do
	if [ -e "$out/good/$name" ]; then good=$((good + 1)); else bad=$((bad + 1)); fi
done
echo "fuzz: $good passed, $bad failed"
[ "$bad" -eq 0 ]
