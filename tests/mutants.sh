#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mutants.sh: break the code on purpose, one small way at a time, and demand
# that the unit tests notice. Run on demand (about a minute); not in check.
#
#	tests/mutants.sh [-v] [PATTERN]	mutants whose file or change match PATTERN
#
# Exit: 0 when every mutant was killed, 1 when one lived (the tests miss it) or
# could not be made (the code changed: adapt the list) or tried (its test is red).
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
verbose=
[ "${1-}" != -v ] || { verbose=1; shift; }
pattern=${1-.}
CC=${CC:-gcc}
RESEX_SEED=${RESEX_SEED:-1}
export RESEX_SEED

# FILE @ TESTS @ SED-EXPRESSION: the change, and which tests must see it.
mutants() {
	cat <<'END'
src/core/period.c @ period @ s/now.ns < p->last.ns/now.ns <= p->last.ns/
src/core/period.c @ period @ s/t.late_ns >= p->interval_ns/t.late_ns > p->interval_ns/
src/core/period.c @ period @ s/mono_add(p->epoch_start, .*);/now;/
src/core/period.c @ period @ s/return gone < p->epoch_ns ? \(.*\) : 0;/return p->epoch_ns - gone;/
src/core/period.c @ period @ s/epoch_ns % interval_ns ||//
src/core/period.c @ period @ s/t.elapsed_ns = mono_sub(now, p->last);/t.elapsed_ns = p->interval_ns;/
src/core/resos.c @ resos resos_prop @ s/ + \*rem;/;/
src/core/resos.c @ resos resos_prop @ s/part \* rate.q16/part * RATE_SCALE/
src/core/resos.c @ resos resos_prop @ s|share = (int64_t)(pool \* (w + a->weight) / total\[a->link\] -|share = (int64_t)(pool * a->weight / total[a->link] - 0 *|
src/core/resos.c @ resos resos_prop @ s/l->retired.m += a->allocated.m;//
src/core/resos.c @ resos resos_prop @ s/l->overcommit.m += share;//
src/core/resos.c @ resos resos_prop @ s|(wide)cpu_share(l, a) \* left / epoch|(wide)cpu_share(l, a)|
src/core/resos.c @ resos resos_prop @ s/if (charge > room)/if (0)/
src/core/resos.c @ resos resos_prop @ s/a->overdraft.m = 0;//
src/core/resos.c @ resos resos_prop @ s/(wide)u->mtus_sent + u->mtus_recv/u->mtus_sent + u->mtus_recv/
src/core/resos.c @ resos resos_prop @ s/(wide)u->mtus_sent + u->mtus_recv/(wide)u->mtus_sent/
src/core/resos.c @ resos resos_prop @ s/rate.q16 < RATE_SCALE ? RATE_ONE : rate/rate/
src/core/resos.c @ resos @ s/issued = (wide)l->retired.m;/issued = 0;/
src/core/resos.c @ resos @ s/if (!account_holds(&l->acc\[i\]))/if (0)/
src/core/resos.c @ resos resos_prop @ s/l->dropped.m += a->balance.m;//
src/core/resos.c @ resos @ s/c->bytes_s > LINK_BYTES_S_MAX ||//
src/core/resos.c @ resos resos_prop @ s/if (whole > INT64_MAX)/if (0)/;s/return rated > INT64_MAX ? INT64_MAX : (int64_t)rated;/return (int64_t)rated;/
src/core/window.c @ window @ s/(n \* n);/(n * (n - 1));/
src/core/window.c @ window @ s/permille + 999) /permille) /
src/core/window.c @ window @ s/+ SUB + 1) << shift) - 1/+ SUB) << shift)/
src/core/window.c @ window @ s/if (v >= root + bit)/if (v > root + bit)/
src/core/window.c @ window @ s/w->sumsq_hi += w->sumsq_lo < square;//
src/core/window.c @ window @ s/ns > LATENCY_MAX ? LATENCY_MAX : //
src/core/window.c @ window @ s/!w->n || v < w->min/v < w->min/
src/core/caps.c @ caps @ s|MPCT_PER_PERCENT / 2) / |0) / |
src/core/caps.c @ caps @ s/if (mpct > high)/if (mpct > high \&\& high >= low)/
src/core/caps.c @ caps @ s/percent ? (uint32_t)percent : 1/(uint32_t)percent/
src/core/caps.c @ caps @ s|(uint64_t)from.mpct \* keep / PERMILLE|((uint64_t)from.mpct * keep + PERMILLE - 1) / PERMILLE|
src/core/caps.c @ caps @ s/saturate32((uint64_t)percent \* MPCT_PER_PERCENT)/percent * MPCT_PER_PERCENT/
src/core/caps.c @ caps @ s/return b->ceiling;/return CAP_NONE;/
policies/freemarket.c @ freemarket @ s/times(g->balance.m, 1000) </times(g->balance.m, 1000) <=/
policies/freemarket.c @ freemarket @ s/times(remaining, 1000) >/times(remaining, 1000) >=/
policies/freemarket.c @ freemarket @ s/>= (int64_t)p->step/> (int64_t)p->step/
policies/freemarket.c @ freemarket @ s/s->seen != in->epoch + 1/!s->seen/
policies/freemarket.c @ freemarket @ s/ && g->allocated.m > 0//
policies/freemarket.c @ freemarket null @ s/g->flags & POLICY_EXEMPT/0/
policies/freemarket.c @ freemarket null @ s/!(g->flags & POLICY_CAPPABLE)/0/
policies/freemarket.c @ freemarket @ s/own.min_mpct < p->min_cap/0/
policies/freemarket.c @ freemarket @ s/s->last = in->now;//
policies/null.c @ null @ s/\.rate = RATE_ONE/.rate = in->guest[i].rate/
src/util/conf.c @ conf @ s/JSON_REJECT_DUPLICATES/0/
src/util/conf.c @ conf @ s/if (nul) {/if (0) {/
src/util/conf.c @ conf @ s/if (deep < len) {/if (0) {/
src/util/conf.c @ conf @ s/if (len > CONF_BYTES_MAX)/if (0)/
src/util/log.c @ log @ s/if (is_control(prev, b, next))/if (0)/
src/util/log.c @ log @ s/if (level > l->level)/if (0)/
src/util/clock.c @ clock @ s/if (t\.ns > c->sim_ns)//
ibmon/mtu.c @ mtu @ s/(bytes % mtu != 0)/0/
ibmon/mtu.c @ mtu @ s/return 1;/return 0;/
ibmon/mtu.c @ mtu @ s/a > UINT64_MAX - b ? UINT64_MAX : a + b/a + b/
ibmon/mtu.c @ mtu @ s/s->flags & SAMPLE_UNCHARGED/0/
ibmon/mtu.c @ mtu @ s/if (s->msg_bytes > u->msg_bytes)//
ibmon/mtu.c @ mtu @ s/SAMPLE_WRS_BOUNDED | //
ibmon/scan.c @ scan ring_hostile @ s/ && sr->old//
ibmon/scan.c @ scan ring_hostile @ s/ring_desc(sr->ring)->kind != RING_SQ/0/
ibmon/scan.c @ scan ring_hostile @ s/ring_fault_tell(sr->ring);//
ibmon/scan.c @ scan ring_hostile @ s/res->refresh = .*/res->refresh = false;/
ibmon/registry.c @ registry @ s/generation_of(page) == generation ? rc : -EAGAIN/rc/
ibmon/registry.c @ registry @ s/if (generation & 1)/if (0)/
ibmon/registry.c @ registry @ s/g->frames > frames - g->first_frame)/0)/
ibmon/registry.c @ registry @ s/r->directories > GUEST_DIRECTORIES_MAX ||//
ibmon/registry.c @ registry @ s/in\[i\] >= 0x20 \&\& in\[i\] < 0x7f ? in\[i\] : '?'/in[i]/
ibmon/registry.c @ registry @ s/w->out->rings >= limit ||//
ibmon/registry.c @ registry @ s/ || g->frames > w->lim->pages - w->pages//
ibmon/registry.c @ registry @ s/dir->magic != GUEST_DIRECTORY_MAGIC ||//
ibmon/registry.c @ registry @ s/ || dir->rings > GUEST_RINGS_PER_DIRECTORY//
ibmon/registry.c @ registry @ s/digit > 9 ||//
ibmon/registry.c @ registry @ s/digit > 9 || v > (UINT64_MAX - digit) \/ 10/digit > 9/
ibmon/registry.c @ registry @ s/ && r.ref <= UINT32_MAX//
ibmon/ring.c @ ring_fault ring_rxe ring_hostile @ s/if (r->fault)/if (0)/
ibmon/ring.c @ ring_fault ring_rxe ring_hostile @ s/if (s->flags & SAMPLE_LAPPED)/if (0)/
ibmon/ring_rxe.c @ ring_fault ring_rxe ring_hostile @ s/if (!ring_rxe_header_same(w->d, w->m))/if (0)/
ibmon/ring_rxe.c @ ring_fault ring_rxe ring_hostile @ s/w->cons > w->mask ||//
ibmon/ring_rxe.c @ ring_fault ring_rxe ring_hostile @ s/w->beyond > w->jump_max/0/
ibmon/ring_rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/e->opcode >= RING_RXE_OPCODES ||//
ibmon/ring_rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/ || e->length > LENGTH_MAX//
ibmon/ring_rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/if (e->status) {/if (0) {/
ibmon/ring_rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/if (kind == OP_LOCAL)/if (0)/
ibmon/ring_rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/q->ud = kind == OP_SEND \&\& addressed/q->ud = 0/
ibmon/ring_rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/if (opcode == RING_RXE_READ)/if (0)/
ibmon/ring_rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/w->excess > w->jump_max/0/
ibmon/ring_rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/return (newer - older) & RING_RXE_PSN_MASK/return newer - older/
ibmon/ring_rxe_cq.c @ ring_fault ring_rxe ring_hostile @ s/if (producer > mask)/if (0)/
ibmon/ring_rxe_cq.c @ ring_fault ring_rxe ring_hostile @ s/if (!cq_plausible(&e))/if (0)/
ibmon/ring_rxe_cq.c @ ring_fault ring_rxe ring_hostile @ s/if (bytes > m->len || /if (/
END
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/tree" "$tmp/obj"
(cd "$top" && tar cf - include src/core src/util src/hv policies ibmon tests/unit tests/fakes) | (cd "$tmp/tree" && tar xf -)
cd "$tmp/tree"

# build TEST: from the tree as it is now; objects there already are kept.
build() {
	set -- "$1" src/core/*.c policies/*.c src/util/*.c ibmon/*.c tests/fakes/fake_guest.c \
		tests/fakes/fake_ring.c
	test=$1
	shift
	objs=
	for f in "$@" "tests/unit/test_$test.c"; do
		o=$tmp/obj/$(echo "$f" | tr / _).o
		[ -f "$o" ] ||
			$CC -std=gnu11 -D_GNU_SOURCE -O1 -w -I. -Iinclude -c -o "$o" "$f" || return 1
		objs="$objs $o"
	done
	# shellcheck disable=SC2086
	$CC -o "$tmp/test_$test" $objs -lcmocka -ljansson -lpthread
}

# run_tests TESTS: 0 when all pass.
run_tests() {
	for t in $1; do
		build "$t" >"$tmp/out" 2>&1 || return 2
		(cd "$tmp" && timeout 60 "./test_$t") >"$tmp/out" 2>&1 || return 1
	done
}

mutants | grep -e "$pattern" >"$tmp/list" || { echo "mutants: none match '$pattern'"; exit 1; }
red=
for t in $(awk -F ' @ ' '{ print $2 }' "$tmp/list" | tr ' ' '\n' | sort -u); do
	run_tests "$t" || { echo "$t fails on the code as it is, and cannot kill anything"; red="$red $t "; }
done

n=0 bad=0
while IFS= read -r line; do
	file=${line%% @ *}
	rest=${line#* @ }
	tests=
	for t in ${rest%% @ *}; do
		case $red in *" $t "*) ;; *) tests="$tests $t" ;; esac
	done
	change=${rest#* @ }
	n=$((n + 1))
	[ -n "$tests" ] || { echo "not tried: $file: $change"; bad=$((bad + 1)); continue; }
	cp "$file" "$tmp/saved"
	sed "$change" "$tmp/saved" >"$file"
	if cmp -s "$file" "$tmp/saved"; then
		echo "cannot be made: $file: $change"
		bad=$((bad + 1))
	else
		rm -f "$tmp/obj/$(echo "$file" | tr / _).o"
		rc=0
		run_tests "$tests" || rc=$?
		case $rc in
		0)	echo "LIVES: $file: $change (by$tests)"
			bad=$((bad + 1)) ;;
		1)	[ -z "$verbose" ] || echo "killed: $file: $change: $(grep -m 1 -o 'test_[a-z_]*\.c:[0-9]*' "$tmp/out" || echo by a signal or in time)" ;;
		2)	echo "does not compile: $file: $change"
			cat "$tmp/out"
			bad=$((bad + 1)) ;;
		esac
	fi
	cp "$tmp/saved" "$file"
	rm -f "$tmp/obj/$(echo "$file" | tr / _).o"
done <"$tmp/list"
echo "mutants: $((n - bad)) of $n killed"
[ "$bad" -eq 0 ]
