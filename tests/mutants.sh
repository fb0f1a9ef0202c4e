#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mutants.sh: break the code on purpose, one small way at a time, and demand
# that the unit tests notice. Run on demand (about ten minutes); check only tries whether the rows
# still apply (check-mutants.sh).
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
src/core/resos.c @ resos @ s/if (!account_adds_up(&l->acc\[i\]))/if (0)/
src/core/resos.c @ resos resos_prop @ s/l->dropped.m += a->balance.m;//
src/core/resos.c @ resos @ s/c->bytes_s > LINK_BYTES_S_MAX ||//
src/core/resos.c @ resos resos_prop @ s/if (whole > INT64_MAX)/if (0)/;s/return rated > INT64_MAX ? INT64_MAX : (int64_t)rated;/return (int64_t)rated;/
src/core/stats.c @ window @ s/((wide)n \* n)/((wide)n * (n - 1))/
src/core/stats.c @ window @ s/permille + 999) /permille) /
src/core/stats.c @ window @ s/ + 1) << shift) - 1/) << shift)/
src/core/stats.c @ window @ s/if (v >= root + bit)/if (v > root + bit)/
src/core/window.c @ window @ s/w->sumsq_hi += w->sumsq_lo < square;//
src/core/window.c @ window @ s/ns > LATENCY_MAX ? LATENCY_MAX : //
src/core/stats.c @ window @ s/!n || low < \*min/low < *min/
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
policies/ioshares_window.c @ ioshares ioshares_rate @ s/r->n > IOS_SAMPLES_MAX || //
policies/ioshares_window.c @ ioshares ioshares_rate @ s/ || r->io_sum_ns > r->sum_ns//
policies/ioshares_window.c @ ioshares ioshares_rate @ s/r->sum_ns > r->n << IOS_SUM_BITS/0/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/wide128(r->io_sumsq_hi, r->io_sumsq_lo) > (ios_wide)r->n << IOS_SQUARE_BITS/0/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/<= (int64_t)t->p->stale;$/< (int64_t)t->p->stale;/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/s->verdict = IOS_NONE;//
policies/ioshares_window.c @ ioshares ioshares_rate @ s/t->link\[g->link\].reports = true;//
policies/ioshares_window.c @ ioshares ioshares_rate @ s/!ios_may_cap(g) || cap_to/cap_to/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/cap_clamp(s->wanted, &g->bounds)/s->wanted/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/return mono_sub(t->in->now, s->wait_since) <= .*/return true;/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/l->waits = true;/l->waits = false;/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/l->quiet = later(l->quiet, .*/;/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/, (int64_t)t->p->bite)/, 0)/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/mono_sub(r->w.start, l->quiet) < 0/0/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/if (mono_sub(t->in->now, l->quiet) >= 0)//
policies/ioshares_window.c @ ioshares ioshares_rate @ s/w->snap_raw\[slot\] = .*//
policies/ioshares_window.c @ ioshares ioshares_rate @ s/w->snap_w\[slot\] = .*//
policies/ioshares_window.c @ ioshares ioshares_rate @ s/w->self_capped = 0;//
policies/ioshares_window.c @ ioshares ioshares_rate @ s/ = w->cpu_ns = 0;/ = 0;/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/cap_to_percent(cap_full(&g->bounds))/100/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/g->cap.limited && cap_to/cap_to/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/if (!n || w->n + n > IOS_SAMPLES_MAX)/if (!n)/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/if (!n || w->n + n > IOS_SAMPLES_MAX)/if (w->n + n > IOS_SAMPLES_MAX)/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/ + (w->io_sumsq_lo < r->io_sumsq_lo)//
src/core/stats.c @ ioshares ioshares_rate @ s/squares > square ? \(.*\) : 0;/\1;/
src/core/stats.c @ ioshares ioshares_rate @ s/variance > UINT64_MAX ? UINT64_MAX : //
policies/ioshares_window.c @ ioshares ioshares_rate @ s/return now >= then ? now - then : now;/return now - then;/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/uint64_t mtu = l->mtu ? l->mtu : 1;/uint64_t mtu = l->mtu;/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/return mtus ? mtus : 1;/return mtus;/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/if (o->link == g->link)/if (1)/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/o == g || o->link != g->link ||/o == g ||/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/ || !ios_may_cap(o))/)/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/(r->rest_until\[o->slot\], t->in->now) > 0/(r->rest_until[o->slot], t->in->now) >= 0/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/raw <= sent->most_raw/raw < sent->most_raw/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/raw = raw_of(t, r, o);/raw = weighted_of(t, r, o);/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/base - (base - figure) \/ 8/base/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/base + (figure - base) \/ 8/figure/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/(sent->all_raw - sent->own_raw) \* 1000 >=/sent->all_raw * 1000 >=/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/\* 1000 >= p->learn_share/* 1000 > p->learn_share * 2/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/if (r->w.self_capped || !r->w.cpu_ns)$/if (!r->w.cpu_ns)/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/if (w->self_capped || !w->cpu_ns)$/if (!w->cpu_ns)/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/if (w->self_capped || !w->cpu_ns)$/if (w->self_capped)/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/if (r->w.self_capped || !r->w.cpu_ns)$/if (r->w.self_capped)/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/if (!r->has_base) {$/if (1) {/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/return figure > base ? figure - base : 0;/return figure - base;/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/p->sigma_over ? floor : base->mean/base->mean/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/base->dev > p->sigma_floor ? base->dev : p->sigma_floor/base->dev/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/f > UINT32_MAX ? UINT32_MAX : f/f/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/rise.mean > rise.dev ? rise.mean : rise.dev/rise.mean/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/rise.mean > rise.dev ? rise.mean : rise.dev/rise.dev/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/rise->mean \* 1000 > tolerance/rise->mean * 1000 >= tolerance/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/rise->dev \* 1000000 > /rise->dev * 1000000 >= /
policies/ioshares_window.c @ ioshares ioshares_rate @ s/rise->mean \* 1000 > tolerance \* IOS_ONE ||/0 ||/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/(ios_wide)tolerance \* p->dev_tolerance/(ios_wide)tolerance * 1000/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/w > (ios_wide)p->blame_ratio/w >= (ios_wide)p->blame_ratio/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/w >= p->blame_floor/w > p->blame_floor/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/ && !r->first_intf\[sent->most\]//
policies/ioshares_window.c @ ioshares ioshares_rate @ s/if (raise && !r/if (!r/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/if (raise > t->raise/if (raise >= t->raise/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/if (raise > t->raise\[sent->most\])/if (1)/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/sla->tolerance ? sla->tolerance : //
policies/ioshares_window.c @ ioshares ioshares_rate @ s/sla->tolerance ? sla->tolerance : p->tolerance/sla->tolerance/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/return sent->found ? IOS_OVER : IOS_NOBODY;/return IOS_OVER;/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/is_to_blame(t->p, sent, weighted_of(t, r, o))/is_to_blame(t->p, sent, raw)/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/base = r->base;//
policies/ioshares_window.c @ ioshares ioshares_rate @ s/>= (int64_t)t->p->window/> (int64_t)t->p->window/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/w->n >= t->p->min_samples/w->n > t->p->min_samples/
policies/ioshares_window.c @ ioshares ioshares_rate @ s/add_report(g, &r->w);/if (t->in->now.ns - r->w.start.ns < (int64_t)t->p->window) add_report(g, \&r->w);/
policies/ioshares_rate.c @ ioshares_rate @ s/if (s->rate > max)/if (0)/
policies/ioshares_rate.c @ ioshares_rate @ s/s->has_accuser = 1;//
policies/ioshares_rate.c @ ioshares_rate @ s/raised\[g->link\] = true;//
policies/ioshares_rate.c @ ioshares_rate @ s/if (raised\[t->in->guest\[i\].link\])//
policies/ioshares_rate.c @ ioshares_rate @ s/g->link == link && //
policies/ioshares_rate.c @ ioshares_rate @ s/(1000 - t->p->back_off) \/ 1000/1/
policies/ioshares_rate.c @ ioshares_rate @ s/>= t->p->lift \* full/> t->p->lift * full/
policies/ioshares_rate.c @ ioshares_rate @ s/if (l->over) {/if (0) {/
policies/ioshares_rate.c @ ioshares_rate @ s/g->calm = 0;//
policies/ioshares_rate.c @ ioshares_rate @ s/mono_sub(now, g->calm_time) < (int64_t)t->p->window || //
policies/ioshares_rate.c @ ioshares_rate @ s/(l->reports && !l->complete) ||/0 ||/
policies/ioshares_rate.c @ ioshares_rate @ s/(l->reports && !l->complete)/!l->complete/
policies/ioshares_rate.c @ ioshares_rate @ s/ ||$/ || 0 \&\&/
policies/ioshares_rate.c @ ioshares_rate @ s/if (g->calm < t->p->calm)/if (g->calm <= t->p->calm)/
policies/ioshares_rate.c @ ioshares_rate @ s/if (t->in->guest\[i\].link == link)//
policies/ioshares_rate.c @ ioshares_rate @ s/ || r->blamed != slot//
policies/ioshares_rate.c @ ioshares_rate @ s/!t->guest\[s->accuser\] || //
policies/ioshares_rate.c @ ioshares_rate @ s/r->verdict != IOS_OVER || //
policies/ioshares_rate.c @ ioshares_rate @ s/r->intf \* 1000 > r->first/r->intf * 1000 >= r->first/
policies/ioshares_rate.c @ ioshares_rate @ s/!t->p->futile || //
policies/ioshares_rate.c @ ioshares_rate @ s/s->at_floor = 0;//
policies/ioshares_rate.c @ ioshares_rate @ s/(now, s->floor_since) < (int64_t)/(now, s->floor_since) <= (int64_t)/
policies/ioshares_rate.c @ ioshares_rate @ s/r->rest_until\[g->slot\] = mono_add.*//
policies/ioshares.c @ ioshares ioshares_rate @ s/s->has_accuser = 0;$/;/
policies/ioshares_rate.c @ ioshares ioshares_rate @ s/s->has_accuser = 0;$/;/
policies/ioshares_rate.c @ ioshares ioshares_rate @ s/first_intf\[slot\] = 0;/first_intf[slot] += 0;/
policies/ioshares.c @ ioshares ioshares_rate @ s/s->w.snap_raw\[slot\] = 0;//
policies/ioshares.c @ ioshares ioshares_rate @ s/s->rest_until\[slot\] = (struct mono){ 0 };//
policies/ioshares.c @ ioshares ioshares_rate @ s/if (s->accuser == slot)/if (0)/
policies/ioshares_rate.c @ ioshares ioshares_rate @ s/b.min_mpct < p->min_cap/0/
policies/ioshares_rate.c @ ioshares ioshares_rate @ s/return max > IOS_ONE ? max : IOS_ONE;/return max;/
policies/ioshares.c @ ioshares ioshares_rate @ s/if (s->rate > IOS_ONE && !ios_may_cap(g))/if (0)/
policies/ioshares.c @ ioshares ioshares_rate @ s/if (s->rate > max)$/if (0)/
policies/ioshares.c @ ioshares ioshares_rate @ s/(ios_wide)u->mtus_sent + u->mtus_recv/(ios_wide)u->mtus_sent/
policies/ioshares.c @ ioshares ioshares_rate @ s/m > UINT32_MAX ? UINT32_MAX : //
policies/ioshares.c @ ioshares ioshares_rate @ s/m \* g->rate.q16 \/ IOS_ONE/m/
policies/ioshares.c @ ioshares ioshares_rate @ s/return p->on_empty && /return /
policies/ioshares.c @ ioshares ioshares_rate @ s/ && g->allocated.m > 0//
policies/ioshares.c @ ioshares ioshares_rate @ s/if (is_empty(t->p, g))$/if (0)/
policies/ioshares.c @ ioshares ioshares_rate @ s/ || !t->guest\[s->accuser\]//
policies/ioshares.c @ ioshares ioshares_rate @ s/ || !r->reports)/)/
policies/ioshares.c @ ioshares ioshares_rate @ s/if (left <= 0)/if (left < 0)/
policies/ioshares.c @ ioshares ioshares_rate @ s/mono_sub(t->state\[slot\].rest_last, t->in->now) > 0/0/
policies/ratio.c @ ratio @ s/size >= s->size/size > s->size/
policies/ratio.c @ ratio @ s/ > (int64_t)hold/ >= (int64_t)hold/
policies/ratio.c @ ratio @ s/s->seen = now;//
policies/ratio.c @ ratio @ s/s->size > p->victim_bytes/s->size >= p->victim_bytes/
policies/ratio.c @ ratio @ s/all = { .vcpus = b.vcpus }/all = b/
policies/ratio.c @ ratio @ s/b.min_mpct < p->min_cap/0/
policies/ratio.c @ ratio @ s/b.min_mpct < p->min_cap/1/
policies/ratio.c @ ratio null @ s/g->flags & POLICY_EXEMPT/0/
policies/ratio.c @ ratio null @ s/!(g->flags & POLICY_CAPPABLE)/0/
policies/null.c @ null @ s/\.rate = RATE_ONE/.rate = in->guest[i].rate/
src/util/conf.c @ conf @ s/JSON_REJECT_DUPLICATES/0/
src/util/conf.c @ conf @ s/if (nul) {/if (0) {/
src/util/conf.c @ conf @ s/if (deep < len) {/if (0) {/
src/util/conf.c @ conf @ s/if (len > CONF_BYTES_MAX)/if (0)/
src/util/conf.c @ conf @ s/ || n < l->min//
src/util/conf.c @ conf @ s/ || n > l->max//
src/util/conf.c @ conf @ s/if (!list \&\& !l->min)/if (!list)/
src/util/conf.c @ conf @ s/error_at_path(d, at ? at : path/error_at_path(d, path/
src/util/log.c @ log @ s/if (is_control(prev, b, next))/if (0)/
src/util/log.c @ log @ s/if (level > l->level)/if (0)/
src/util/clock.c @ clock @ s/if (t\.ns > c->sim_ns)//
src/util/file.c @ file @ s/S_ISREG(st.st_mode)/1/
src/util/file.c @ file @ s/unlink(tmp);//
src/util/file.c @ file @ s/\*len == space/!*len/
src/util/netlink.c @ netlink @ s/ || h.nla_len > \*left//
src/util/netlink.c @ netlink @ s/h.nla_len < sizeof(h) || //
src/util/netlink.c @ netlink @ s/ || h.nlmsg_len > \*left//
src/util/netlink.c @ netlink @ s/if (skip > \*left)/if (0)/
src/util/netlink.c @ netlink @ s/error <= -ERRNO_END/error < -ERRNO_END/
src/util/netlink.c @ netlink @ s/ & (uint32_t)NLA_TYPE_MASK//
ibmon/ring/mtu.c @ mtu @ s/(bytes % mtu != 0)/0/
ibmon/ring/mtu.c @ mtu @ s/return 1;/return 0;/
src/core/units.h @ mtu @ s/a > UINT64_MAX - b ? UINT64_MAX : a + b/a + b/
ibmon/ring/mtu.c @ mtu @ s/s->flags & SAMPLE_UNCHARGED/0/
ibmon/ring/mtu.c @ mtu @ s/if (s->msg_bytes > u->msg_bytes)//
ibmon/ring/mtu.c @ mtu @ s/SAMPLE_WRS_BOUNDED | //
ibmon/scan.c @ scan ring_hostile @ s/ && sr->old//
ibmon/scan.c @ scan ring_hostile @ s/ring_desc(sr->ring)->kind != RING_SQ/0/
ibmon/scan.c @ scan ring_hostile @ s/ring_fault_set_delivered(g->ring\[i\].ring);/;/
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
ibmon/ring/ring.c @ ring_fault ring_rxe ring_hostile @ s/if (r->fault)/if (0)/
ibmon/ring/ring.c @ ring_fault ring_rxe ring_hostile @ s/if (s->flags & SAMPLE_LAPPED)/if (0)/
ibmon/ring/rxe.c @ ring_fault ring_rxe ring_hostile @ s/if (!ring_rxe_header_same(r->d, r->m))/if (0)/
ibmon/ring/rxe.c @ ring_fault ring_rxe ring_hostile @ s/s.cons > r->mask ||//
ibmon/ring/rxe.c @ ring_fault ring_rxe ring_hostile @ s/if (is_new_ring(r, s))/if (0)/
ibmon/ring/rxe.c @ ring_rxe @ s/if (q->owed_ns >= OWED_MAX_NS)/if (0)/
ibmon/ring/rxe_psn.c @ ring_rxe @ s/ \&\& !d->reset \&\& !r->out->errors/ \&\& !r->out->errors/
ibmon/ring/rxe.c @ ring_fault ring_rxe ring_hostile @ s/c.beyond > r->jump_max/0/
ibmon/ring/rxe.c @ ring_rxe @ s/if (c.n > r->mask \&\& q->opened .*/if (0) {/
ibmon/ring/rxe.c @ ring_rxe @ s/ || c->less_than_lap//
ibmon/ring/rxe_psn.c @ ring_rxe @ s/if (rxe_entry_blank(\&previous) || /if (/
ibmon/ring/rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/e->opcode >= RING_RXE_OPCODES ||//
ibmon/ring/rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/ || e->length > LENGTH_MAX//
ibmon/ring/rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/if (e->status) {/if (0) {/
ibmon/ring/rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/if (kind == OP_LOCAL)/if (0)/
ibmon/ring/rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/q->ud = kind == OP_SEND \&\& addressed/q->ud = 0/
ibmon/ring/rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/if (c->newer.opcode == RING_RXE_READ)/if (0)/
ibmon/ring/rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/c->excess > r->jump_max/0/
ibmon/ring/rxe_psn.c @ ring_fault ring_rxe ring_hostile @ s/return (newer - older) & RING_RXE_PSN_MASK/return newer - older/
ibmon/ring/rxe_cq.c @ ring_fault ring_rxe ring_hostile @ s/if (producer > mask)/if (0)/
ibmon/ring/rxe_cq.c @ ring_fault ring_rxe ring_hostile @ s/if (!cq_plausible(&e))/if (0)/
ibmon/ring/rxe_cq.c @ ring_fault ring_rxe ring_hostile @ s/if (bytes > m->len || /if (/
src/tick/sampler.c @ sampler_caps @ s/sl->serial = mail_serial(mail);//
src/tick/sampler.c @ sampler_caps @ s/if (mail && mail_domid(mail) == g->key.domid)/if (0)/
src/tick/sampler.c @ sampler @ s/ && is->link == was->link//
src/tick/sampler.c @ sampler @ s/is->key.created == was->key.created/1/
src/tick/sampler.c @ sampler_caps @ s/else if (slot_percent(g->own) != slot_percent(sl->guest->own) &&/else if (0 \&\&/
src/tick/sampler.c @ sampler_caps @ s/if (g->flags & ~sl->guest->flags & POLICY_CAPPABLE)/if (0)/
src/tick/sampler.c @ sampler_caps @ s/sl->known_serial = sl->serial + 1;//
src/tick/sampler.c @ sampler @ s/if (g->vcpus != sl->guest->vcpus || /if (/
src/tick/sampler.c @ sampler @ s/ || g->weight != sl->guest->weight)/)/
src/tick/sampler.c @ sampler @ s/if (pi->ops->guest_size)/if (0)/
src/tick/sampler.c @ sampler @ s/sl->rings_reported = false;//
src/tick/run.c @ sampler_run @ s/mono_sub(now, s->late_reported) < NS_PER_S/0/
src/tick/run.c @ sampler_run @ s/if (mono_sub(end, due) > s->period.interval_ns)/if (0)/
src/tick/sampler.c @ sampler_run @ s/^\tif (asked == atomic_load.*$/\tif (1)/
src/tick/sampler.c @ sampler_caps @ s/if (s->wake_actor)/if (0)/
src/tick/stages.c @ sampler @ s/if (memcmp(s->dom\[\*at\].uuid, g->key.uuid, sizeof(g->key.uuid)) != 0)/if (0)/
src/tick/stages.c @ sampler @ s/sl->cpu_known && d->cpu_ns > sl->cpu_prev/sl->cpu_known/
src/tick/stages.c @ sampler @ s/sl->cpu_known && d->cpu_ns > sl->cpu_prev/d->cpu_ns > sl->cpu_prev/
src/tick/stages.c @ sampler @ s/if (d && (d->flags & HV_DOM_DYING))/if (0)/
src/tick/stages.c @ sampler @ s/else if (s->doms >= 0)/else/
src/tick/stages.c @ sampler @ s/ && !sl->rings_reported//
src/tick/stages.c @ sampler @ s/ && !sl->empty_reported//
src/tick/stages.c @ sampler @ s/ && a->allocated.m > 0//
src/tick/stages.c @ sampler @ s/if (t->new_epochs)$/if (0)/
src/tick/stages.c @ sampler @ s/sl->fresh = false;//
src/tick/stages.c @ sampler_caps @ s/return mail_serial(a) == sl->serial;/return true;/
src/tick/stages.c @ sampler_caps @ s/if (mail_errno(a) == ECANCELED)$/if (0)/
src/tick/stages.c @ sampler_caps @ s/if (mail_errno(a) == ECANCELED) {/if (0) {/
src/tick/stages.c @ sampler_caps @ s/if (must_wait(sl, c, percent))/if (0)/
src/tick/stages.c @ sampler_caps @ s/sl->guest->own_generation == sl->generation/0/
src/tick/stages.c @ sampler_caps @ s/return !wanted.limited || /return /
src/tick/stages.c @ sampler_caps @ s/percent >= slot_percent(sl->applied)/slot_percent(wanted) >= slot_percent(sl->applied)/
src/tick/stages.c @ sampler_caps @ s/if (sl->foreign && !sl->foreign_reported)/if (sl->foreign)/
src/tick/stages.c @ sampler_caps @ s/sl->foreign_reported = sampler_event(/sl->foreign_reported = true; sampler_event(/
src/tick/actor.c @ sampler_caps @ s/c->generation != mail_generation(expect)/0/
src/tick/actor.c @ sampler_caps @ s/learn(c, mail_domid(w), expect);$/learn(c, mail_domid(w), expect); else c->percent = mail_percent(expect);/
src/tick/actor.c @ sampler_caps @ s/c->other != c->percent && cap_to_percent(found.cap) == c->other/0/
src/tick/actor.c @ sampler_caps @ s/if (c->foreign)/if (0)/
src/tick/actor.c @ sampler_caps @ s/weight_only(c, &found))/0)/
src/tick/actor.c @ sampler_caps @ s/ || found->weight == c->weight//
src/tick/actor.c @ sampler_caps @ s/c->recent\[i\] = c->percent;/c->recent[i] = 0xffff;/
src/sim/hyp.c @ hv_sim @ s/if (was == SIM_CAP_ANY || d->wanted == was)/if (1)/
src/hv/sim.c @ hv_sim @ s/if (!rc || rc == -ECANCELED)/if (!rc)/
src/tick/actor.c @ sampler_run @ s/rc = set_over(a, c, c->percent, percent, &found);/rc = hv_put_cap(a->ops, a->hv, c->domid, cap_from_percent(percent));/
src/tick/actor.c @ sampler_caps @ s/c->domid == domid && !c->foreign;/true;/
src/tick/actor.c @ sampler_caps @ s/rc == -ECANCELED ? c->found : mail_percent(w)/mail_percent(w)/
src/tick/stages.c @ sampler_caps @ s/if (sl->cap_errno != mail_errno(a))//
src/tick/stages.c @ sampler_caps @ s/sl->cap_errno = 0;//
src/tick/stages.c @ sampler_caps @ s/sl->serial + 1 ? sl->serial + 1 : 1/sl->serial + 1/
src/tick/stages.c @ sampler_caps @ s/>= SAMPLER_RETRY_NS/> SAMPLER_RETRY_NS/
src/tick/stages.c @ sampler_caps @ s/if (!sl->pending && !sl->cap_errno)/if (!sl->pending)/
src/tick/stages.c @ sampler_caps @ s/else if (!sl->pending && !sl->cap_errno)/else if (!sl->pending)/
src/tick/stages.c @ sampler_caps @ s/ || !(sl->guest->flags & POLICY_CAPPABLE)//
src/tick/stages.c @ sampler_caps @ s/exempt ? CAP_NONE : p->cap/p->cap/
src/tick/stages.c @ sampler_caps @ s/exempt ? RATE_ONE : p->rate/p->rate/
src/tick/stages.c @ sampler_caps @ s/if (s->ho->observe)/if (0)/
src/tick/stages.c @ sampler_caps @ s/slot_percent(cap_clamp(c, &sl->guest->bounds))/slot_percent(c)/
src/tick/actor.c @ sampler_caps @ s/rc < 0 ? -rc : 0/0/
src/tick/actor.c @ sampler_caps @ s/i \* 64 + b/b/
src/tick/handover.c @ handover @ s/if (head - tail >= EVENTS_MAX)/if (head - tail > EVENTS_MAX)/
src/tick/handover.c @ handover @ s/if (mid & SNAP_DIRTY)/if (1)/
src/tick/handover.c @ handover @ s/ho->snaps.back | SNAP_DIRTY/ho->snaps.back/
src/guests/restore_file.c @ restore @ /else a later save/{n;s/r->entries = r->gones = 0;/;/}
src/util/file.c @ restore @ s/ | O_NOFOLLOW//
src/guests/restore_file.c @ restore @ s/strcmp(in.hv, r->hv) != 0/false/
src/guests/restore_file.c @ restore @ s/"hv", r->hv, "boot"/"hv", "xen", "boot"/
src/guests/give_back.c @ restore @ s/return dom\[i\].flags & HV_DOM_DYING ? NULL : &dom\[i\];/return \&dom[i];/
src/guests/give_back.c @ restore @ s/^\t\telse if (rc)$/\t\telse if (0)/
src/guests/restore.c @ restore @ s/if (i == FLOW_GUESTS_MAX)/if (r->entries == FLOW_GUESTS_MAX)/
src/guests/give_back.c @ restore @ s/ && !memcmp(dom\[i\].uuid, c->uuid, 16)//
src/conf/settings.c @ settings @ s/c->epoch_ns % c->interval_ns || //
src/conf/settings.c @ settings @ s/if (in.mtu & (in.mtu - 1))/if (0)/
src/conf/settings.c @ settings @ s/c->guest\[c->guests\] = c->guest_default;//
src/conf/settings.c @ settings @ s/strcasecmp/strcmp/
src/conf/policy.c @ policy_load @ s/e->exit = RESEX_NO_POLICY;//
src/conf/policy.c @ policy_load @ s/if (value < p->min || value > p->max)/if (value < p->min)/
src/guests/guests.c @ guests @ s/!g->leaving && g->key.domid == d->domid/g->key.domid == d->domid/
src/guests/guests.c @ guests @ s/HV_DOM_PRIVILEGED | HV_DOM_DYING | HV_DOM_SHUTDOWN/HV_DOM_PRIVILEGED/
src/guests/guests.c @ guests @ s/i < 256 && gs->hv/i < 10 \&\& gs->hv/;s/if (gs->rescan_due)/if (0)/
src/guests/view.c @ guests @ s/\*word < '0' || \*word > '9' || \*end/*end/
src/guests/set.c @ guests @ s/handover_wake(gs->ho->control_fd);//
src/guests/events.c @ guests_rings @ s/g->reap_serial = 0;//
src/guests/events.c @ guests @ s/g->key.created == ev->created/1/
src/tick/sampler.c @ sampler_caps @ s/if (g->flags & ~sl->guest->flags & POLICY_CAPPABLE)/if (0)/
src/guests/own.c @ guests_caps @ s/^\tif (g->dom_flags & HV_DOM_UNRUN) {/\tif (0) {/
src/hv/store.c @ store @ s/ && call->life == r->life//
src/hv/store.c @ store @ s/lost = drain_events(s, h);/lost = 0;/
src/hv/store.c @ store @ s/r->watched \&\& !r->wanted/0/
src/hv/store.c @ store @ s/s->left_behind = !ended;//;s/^\tif (!ended)$/\tif (0)/
src/hv/store.c @ store @ s/r->ask\[ASK_WATCH\].state = ASKED;//
src/hv/store.c @ store @ s/rc = s->opened ? s->open_rc : -ETIMEDOUT;/rc = s->open_rc;/
src/hv/store.c @ store @ s/s->next_call = (s->next_call + 1) % STORE_DOMS_MAX;/s->next_call = n;/
src/guests/guests_priv.h @ guests_store @ s/return g->cappable \&\& g->name_known;/return g->cappable;/
src/guests/guest.c @ guests_store @ s/^\tif (g->answered \&\& g->name_asked)$/\tif (0)/
src/guests/guest.c @ guests_store @ s/^\tif (g->answered \&\& g->watch_asked)$/\tif (0)/
src/guests/guest.c @ guests_store @ s/g->node_asked = rc == -EAGAIN;/g->node_asked = rc == -EAGAIN; g->node_due = false;/
src/guests/guest.c @ guests_store @ s/^\tif (g->node_asked)$/\tif (0)/
src/guests/guests.c @ guests_store @ s/ \&\& mapped < TURN_GUESTS//
src/guests/guest.c @ guests_store @ s/ g->answered || / /
src/guests/guest.c @ guests_store @ s/(g->node_due \&\& !g->node_asked)/g->node_due/
src/guests/own.c @ guests_log @ s/if (rc || !empty)$/if (1)/
src/guests/own.c @ own @ s/if (gs->observe || v != OWN_OURS)/if (v != OWN_OURS)/
src/guests/own.c @ own @ s/note_same_guest(gs, g);$//
src/guests/own.c @ own @ s/drop_written(gs, g, g->own.cap);//
src/guests/own.c @ own @ s/} else if (journal_rc) {/} else if (0 \&\& journal_rc) {/
src/guests/guest.c @ own @ /g->leaving = true;/{n;s/own_note(gs, g);//}
src/guests/give_back.c @ restore @ s/i < 3 \&\& rc == -ECANCELED/i < 1/
src/guests/restore.c @ own @ s/if (dom_flags & HV_DOM_UNRUN)/if (0)/
src/guests/restore.c @ own @ s/percents_has(&was->written, percent) ? OWN_OURS : OWN_OPERATOR/OWN_OPERATOR/
src/guests/restore.c @ own @ s/if (!l->known)/if (1)/
src/guests/restore.c @ own @ s/if (!memcmp(uuid, none, 16))/if (0)/
src/guests/give_back.c @ own @ s/failed += give_back_to_successor(r, &dom\[i\], ops, s, out) != 0/(void)give_back_to_successor/
src/guests/restore_file.c @ own @ s/if (r->boot\[0\] && boot\[0\] && strcmp(r->boot, boot) != 0)/if (0)/
src/guests/restore_file.c @ own @ s/rc = load(r, ".bak", &other) ? rc : 1;//
src/guests/restore_file.c @ own @ s/^\tjournal_read(r);$//
src/guests/own.c @ guests_caps @ s/g->own = c.params;//
src/guests/guest.c @ guests_caps @ s/gs->publish_due |= g->cappable;//
src/guests/operator.c @ guests_caps @ s/mail_serial(want) != mail_serial(answer) ||/0 ||/
src/guests/operator.c @ guests_caps @ s/if (known || !g->cappable)/if (0)/
src/guests/operator.c @ guests_caps @ s/g->own_generation = generation;//
src/guests/operator.c @ guests_caps @ s/owns_save(gs);//
src/guests/operator.c @ guests_caps @ s/restore_drop(&gs->restore, g->key.domid, g->key.uuid);//
src/guests/place.c @ guests_caps @ s/g->own_pool != pool || //
src/guests/events.c @ guests_caps @ s/if (ev->b == EOPNOTSUPP)/if (0)/
src/guests/operator.c @ guests_caps @ s/if (rc == -EOPNOTSUPP)$/if (0)/
src/guests/operator.c @ guests_caps @ s/else if (p.weight != g->own.weight)/else if (0)/
src/guests/operator.c @ guests_caps @ s/mail_errno(answer) && mail_errno(answer) != ECANCELED/mail_errno(answer)/
src/guests/operator.c @ guests_caps @ s/want && mail_domid(want) == g->key.domid ? mail_percent(answer)/want ? mail_percent(answer)/
src/guests/own.c @ own @ s/if (!c || gs->observe)/if (!c)/
src/guests/own.c @ guests_caps @ s/gs->save_due = rc != 0;/gs->save_due = false;/
src/guests/own.c @ guests_caps @ s/^\tgs->save_due = true;//
src/guests/guest.c @ guests_rings @ s/if (silent == g->agent_silent)/if (0)/
src/guests/guest.c @ guests_rings @ s/st.attached \&\& mono_sub(now, st.heartbeat_time)/mono_sub(now, st.heartbeat_time)/
src/guests/guest.c @ guests_rings @ s/if (!g->watched \&\& !g->watch_asked) {/if (0) {/
src/guests/guests.c @ guests guests_caps @ s/gs->save_due |= gs->restore.entries != had;//
src/guests/event_log.c @ guests @ s/is_routine(kind) ? &gs->routine : &gs->rare/\&gs->rare/
src/tick/stages.c @ sampler @ s/scan_fault_delivered(sl->guest->scan, res->fault_id\[i\]);/;/
src/guests/guest.c @ guests @ s/g->conf = \*settings_guest(gs->conf, g->name, g->uuid);$//
src/guests/guest.c @ guests_rings @ s/mono_sub(now, g->node_time) < NODE_MIN_MS \* NS_PER_MS/0/
src/guests/guest.c @ guests_rings @ s/if (g->node_rc == -EAGAIN || g->node_rc == -ENOMEM)/if (0)/
src/guests/guest.c @ guests_rings @ s/return !g->leaving && !g->reap_serial && !guest_reap_pending(g->mon);/return true;/
src/guests/set.c @ guests_rings @ s/ || g->reap_serial > acked//
src/guests/set.c @ guests @ s/gs->sets\[i\]->serial < acked/0/
src/guests/set.c @ guests @ s/if (back) {/if (0) {/
src/guests/set.c @ guests @ s/ && gs->policy_serial <= acked//
src/util/cmdline.c @ cmdline @ s/if (c->stop)/if (0)/
src/util/cmdline.c @ cmdline @ s/optind = 0;.*/optind = 1;/
src/util/cmdline.c @ cmdline @ s/optopt ? letter : word/word/
src/util/cmdline.c @ cmdline @ s/->has_arg || \*optarg/->has_arg || optarg/
src/util/cmdline.c @ cmdline @ s/if (optarg == word)/if (0)/
src/control/proto.c @ control_proto @ s/JSON_REJECT_DUPLICATES/0/
src/control/proto.c @ control_proto @ s/ || strlen(r->method) > 64//
src/control/methods.c @ control_cmds @ s/if (m->modifies && !c->root)/if (0)/
src/guests/guest.c @ control_cmds @ s/ \&\& sn->guest\[i\].key.created == g->key.created//
src/control/policy.c @ control_cmds @ s/!name == !text || //
src/control/policy.c @ control_cmds @ s/c->policy.number == guests_view(c->guests).policy_number/true/
src/guests/guests.c @ control_cmds @ s/gs->policy_taken_up >= a->number/true/
src/control/server.c @ control @ s/if (waits_for_policy(k))/if (false)/
src/control/server.c @ control @ s/if (k->caps.waits)/if (false)/
src/guests/guests.c @ control @ s/!a->serial || sn->set_serial < a->serial/false/
src/guests/guests.c @ control_set @ s/s \&\& !gs->observe \&\& entry_cappable(g)/false/
src/guests/guests.c @ control_set @ s/ \&\& !s->cap_errno//
src/control/show.c @ control_cmds @ s/sn->ticks ? \(.*\) : 0)/\1)/
src/control/server.c @ control @ s/if (c->conns >= CONTROL_CONNS_MAX)/if (0)/
src/control/server.c @ control @ s/!root \&\& own >= CONNS_OF_ONE/0/
src/control/server.c @ control @ s/!root \&\& others >= CONTROL_CONNS_MAX - CONTROL_CONNS_ROOT/0/
src/control/server.c @ control @ s/S_ISSOCK(st.st_mode)/1/
src/control/server.c @ control @ s/bool full = .*/bool full = false;/
src/control/server.c @ control @ s/bufferevent_disable(k->bev, EV_READ);$/;/
src/control/server.c @ control @ s/if (!(what & BEV_EVENT_EOF)) {/if (1) {/
src/control/server.c @ control @ s/> PROTO_LINE_MAX)$/> 4 * PROTO_LINE_MAX)/
src/core/window.c @ window @ s/(to->sumsq_lo < from->sumsq_lo)/0/
src/core/window.c @ window @ s/!from->n || from->n > SAMPLES_MAX - to->n/!from->n/
src/core/window.c @ window @ s/&to->max, to->n, /\&to->max, 1, /
src/util/conf_value.c @ conf @ s/{ "kB", 1000, 1 }/{ "kB", 1024, 1 }/
src/tick/stages.c @ scenario_run @ s/spending_add(&sl->past, a);//
src/tick/stages.c @ scenario_run @ s/window_merge(&sl->reports, w);//
src/engine/engine.c @ scenario_run @ s/e->c.sim ? 1 : 0/0/
src/engine/simulated.c @ scenario_run @ s/actor_once(&e->a);//
src/engine/simulated.c @ scenario_run @ s/ || poll(&p, 1, 0) > 0//
src/engine/simulated.c @ scenario_run @ s/e->signalled = sigtimedwait(stop, NULL, &at_once) > 0;//
src/lab/scenario.c @ scenario @ s/if (in.series > in.duration)/if (0)/
src/lab/scenario.c @ scenario @ s/if (l->bytes_s < 1u << 20)/if (0)/
src/lab/scenario.c @ scenario @ s/sc->sim.swapped\[0\] == sc->sim.swapped\[1\]/0/
src/lab/scenario.c @ scenario @ s/in.epoch >= in.interval && in.epoch % in.interval == 0/1/
src/lab/scenario.c @ scenario @ s/json_array_size(many) != 1/0/
src/lab/scenario.c @ scenario @ s/return conf_fail(d, at, e, "%s cannot be simulated.*/return 0;/
src/lab/scenario_guest.c @ scenario @ s/in->stop && in->stop <= in->start/in->stop \&\& in->stop < 1/
src/lab/scenario_guest.c @ scenario @ s/!(only\[i\].kinds & 1u << in->kind)/0/
src/lab/scenario_guest.c @ scenario @ s/if (in->mtu > link_mtu)/if (0)/
src/lab/scenario_guest.c @ scenario @ s/if (in->cap > 100 \* in->vcpus)/if (0)/
src/lab/scenario_guest.c @ scenario @ s/if (!is_name(in->name))/if (0)/
src/lab/scenario_guest.c @ scenario @ s/sg->link = g->link;//
src/lab/scenario_guest.c @ scenario @ s/if (room <= ROOM_MAX)/if (1)/
src/lab/scenario_event.c @ scenario @ s/if (there == wanted)/if (there || !wanted)/
src/lab/scenario_event.c @ scenario @ s/if (in->at > sc->duration_ns)/if (0)/
src/lab/scenario_event.c @ scenario @ s/at_ns < sc->event\[k - 1\].at_ns/at_ns <= sc->event[k - 1].at_ns/
src/lab/scenario_event.c @ scenario @ s/sc->event\[k\].what <= SCENARIO_REBOOT/0/
src/lab/scenario_event.c @ scenario @ s/was = &sc->event\[k\].conf;/;/
src/lab/record.c @ scenario_run @ s/usage_add(&g->usage_before, &g->usage);//
src/lab/record.c @ scenario_run @ s/g->uncapped_ns += ns;/;/
src/lab/record.c @ scenario_run @ s/sn->epoch != r->epoch)/false)/
src/lab/record.c @ scenario_run @ s/g->step_n = g->step_sum = 0;//
src/core/crosscheck.c @ crosscheck @ s/now->counter != was->counter ||//
src/core/crosscheck.c @ crosscheck @ s/now->sent < was->sent ||//
src/core/crosscheck.c @ crosscheck @ s/b->bytes_sent < a->bytes_sent ||//;s/b->mtus_sent < a->mtus_sent ||//;s/b->wrs < a->wrs ||//
src/core/crosscheck.c @ crosscheck @ s/if (bytes > sat_mul(mtus, 4096))/if (0)/
src/core/crosscheck.c @ crosscheck @ s/if (now->lost > was->lost/if (0/
src/core/crosscheck.c @ crosscheck @ s/sat_add(mtus, wrs), CROSS_HEADERS/wrs, CROSS_HEADERS/
src/core/crosscheck.c @ crosscheck @ s/now->packets_recv - was->packets_recv, CROSS_ACK/0, CROSS_ACK/
src/core/crosscheck.c @ crosscheck @ s/sat_add(w->explained, now->served - was->served)/w->explained/
src/core/crosscheck.c @ crosscheck @ s/conf->tolerance, 1000/conf->tolerance, 100/
src/core/crosscheck.c @ crosscheck @ s/c->debt > paid ? c->debt - paid : 0/c->debt - paid/
src/core/crosscheck.c @ crosscheck @ s/c->debt > w->flight/1/
src/core/crosscheck.c @ crosscheck @ s/^\t\tc->debt = 0;$//
src/core/crosscheck.c @ crosscheck @ s/c->over < CROSS_OVER ||/c->over < 1 ||/
src/core/crosscheck.c @ crosscheck @ s/clean ? c->clean + 1 : 0/c->clean + clean/
src/core/crosscheck.c @ crosscheck @ s/if (now->wrs == was->wrs)/if (0)/
src/core/crosscheck.c @ crosscheck @ s/least(seen > unseen ? seen : unseen, most)/seen > unseen ? seen : unseen/
src/core/crosscheck.c @ crosscheck @ s/^\tc->missing = 0;//
src/core/crosscheck.c @ crosscheck @ s/return floor < 65536 ? 65536 : floor/return floor/
src/counters/counters.c @ counters @ s/s\[0\] != '.' && //
src/counters/counters.c @ counters @ s/if (buf\[0\] < '0' || buf\[0\] > '9')/if (0)/
src/counters/counters.c @ counters @ s/errno || (\*end && strcmp(end, "\\n") != 0)/errno/
src/counters/counters.c @ counters @ s/len > longest ||//
src/counters/vif.c @ counters @ s/(sum.which ^ index)/sum.which/
src/counters/vif.c @ counters @ s/return rc == -ENOENT ? -EAGAIN : rc;/break;/
src/counters/vif.c @ counters @ s/{ "rx_bytes", &v->bytes_sent }/{ "tx_bytes", \&v->bytes_sent }/
src/counters/port.c @ counters @ s/WORD = 4/WORD = 1/
src/counters/vf.c @ counters @ s/nl_u32(&a) == number/true/
src/counters/vf.c @ counters @ s/a->round != c->round ||//
src/counters/vf.c @ counters @ s/|| strcmp(a->dev, n->dev) != 0//
src/guests/crosscheck.c @ guests_cross @ s/if (mono_sub(sn->time, gs->cross_time) < 0)/if (0)/
src/guests/crosscheck.c @ guests_cross @ s/increase(k->read, link->read)/link->read/
src/guests/crosscheck.c @ guests_cross @ s/k->rc == was ||//
src/guests/crosscheck.c @ guests_cross @ s/k->ops \&\& counter_same(&k->name, name)/k->ops/
src/guests/crosscheck.c @ guests_cross @ s/c->floor ? c->floor : //
src/guests/crosscheck.c @ guests_cross @ s/if (!gs->cross_waits && mono_sub(now, gs->cross_due) >= 0)/if (!gs->cross_waits)/
src/lab/record.c @ scenario_run @ s/to->wrs += t->wrs;//
src/lab/run.c @ scenario_run @ s/ev->what == SCENARIO_POLICY && guests_view(gs).policy_changing/0/
src/lab/run.c @ scenario_run @ s/r->rec.guest\[ev->guest\].before = before;//
src/lab/run.c @ scenario_run @ s/sim_create(r->host, ev->guest)/sim_reboot(r->host, ev->guest)/
src/lab/run.c @ scenario_run @ s/at_ns <= at)/at_ns < at)/
src/lab/run.c @ scenario_run @ s/rmdir(r->dir);//
src/util/hist.c @ hist @ s/hist_top(i) < h->max ? hist_top(i) : h->max/hist_top(i)/
src/core/stats.c @ hist @ s/shift--;/;/
src/util/hist.c @ hist @ s/if (variance >= 0x1p64L)/if (0)/
src/util/hist.c @ hist @ s/&to->max, to->n, /\&to->max, 1, /
src/util/hist.c @ hist @ s/to->sumsq += from->sumsq;//
src/core/stats.c @ hist @ s/if (high > \*max)/if (0)/
src/core/stats.c @ hist @ s/permille + 999) /permille) /
src/lab/stat.c @ scenario_run @ s/if (have >= want)/if (have > want)/
src/lab/stat.c @ scenario_run @ s/if (ns <= 0)/if (0)/
src/benchex/hello.c @ benchex_hello @ s/got.options > from->options_max/0/
src/benchex/hello.c @ benchex_hello @ s/h->options_max > conf->options_max/0/
src/benchex/hello.c @ benchex_hello @ s/h->role == BX_BULK ? 0 : BX_OPTIONS_MAX/BX_OPTIONS_MAX/
src/benchex/number.c @ benchex_options benchex_trace @ s/return n && n == len ? within/return n ? within/
src/benchex/number.c @ benchex_options @ s/__builtin_mul_overflow(v, times, &v))/(v *= times, 0))/
src/benchex/number.c @ benchex_options benchex_trace @ s/if (!m || m > 9)/if (!m)/
src/benchex/number.c @ benchex_options benchex_trace @ s/part \* unit_ns % ten || //
src/benchex/number.c @ benchex_options benchex_trace @ s/v < b.min || v > b.max/v < b.min/
src/benchex/number.c @ benchex_options benchex_trace @ s/v < b.min || v > b.max/v > b.max/
src/benchex/options.c @ benchex_options @ s/ || min > max)/)/
src/benchex/options.c @ benchex_options @ s/ && !weight\[i\]) {/) {/
src/benchex/options.c @ benchex_options @ s/if (p->conf->profile)/if (0)/
src/benchex/options.c @ benchex_options @ s/ && !is_given(p, "requests"))/)/
src/benchex/options.c @ benchex_options @ s/if (is_given(p, "burst") && !c->rate)/if (0)/
src/benchex/options.c @ benchex_options @ s/if (c->burst > posted)/if (c->burst > posted + 1)/
src/benchex/options.c @ benchex_options @ s/if (only_atomics(c) && /if (/
src/benchex/options.c @ benchex_options @ s/if (optind + 1 < argc)/if (0)/
src/benchex/options.c @ benchex_options @ s/if (!(r->roles & (1u << p->conf->role)))/if (0)/
src/benchex/profile.c @ benchex_options @ s/c->options = 0;//
src/benchex/profile.c @ benchex_options @ s/c->weight\[BX_WRITE\] = 1;//
src/benchex/price.c @ benchex_price @ s/normal_cdf(p.d1) - p.strike_now \* normal_cdf(p.d2)/normal_cdf(p.d2) - p.strike_now * normal_cdf(p.d2)/
src/benchex/price.c @ benchex_price @ s/return price > 0 ? price : 0;/return price;/
src/benchex/price.c @ benchex_price @ s/-t->rate \* t->years/t->rate * t->years/
src/benchex/price.c @ benchex_price @ s/bx_price_call(&t) + bx_price_put(&t)/bx_price_call(\&t)/
src/benchex/trace.c @ benchex_trace @ s/q->kind == BX_FEED && options/0/
src/benchex/trace.c @ benchex_trace @ s/if (r->t.n == REQUESTS_MAX)/if (0)/
src/benchex/trace.c @ benchex_trace @ s/ || c == '\\r'//
src/benchex/trace.c @ benchex_trace @ s/if (n > FIELDS)/if (0)/
src/benchex/trace.c @ benchex_trace @ s/file_load(file, FILE_BYTES_MAX,/file_load(file, 2 * FILE_BYTES_MAX,/
src/benchex/trace.c @ benchex_trace @ s/!rc && !r.t.n/0/
src/benchex/result.c @ benchex_result @ s/return json_real(isfinite(v) ? v : 0);/return json_real(v);/;s/return b > 0 ? a \/ b : 0;/return a \/ b;/
src/benchex/result.c @ benchex_result @ s/v > INT64_MAX ? INT64_MAX : //
src/benchex/result.c @ benchex_result @ s/utf8_mend(peer);//
src/benchex/result.c @ benchex_result @ s/ | JSON_REAL_PRECISION(15)//
src/benchex/merge.c @ benchex_result @ s/if (!k->name)$/if (0)/
src/benchex/merge.c @ benchex_result @ s/rc = check_type(at, k, v);/rc = 0;/
src/benchex/merge.c @ benchex_result @ s/else if (k->kind != KEY_MERGED)/else if (0)/
src/benchex/merge.c @ benchex_result @ s/JSON_REJECT_DUPLICATES/0/
src/benchex/merge.c @ benchex_result @ s/ || (i && b == last)//;s/(i && b == last))/0)/
src/benchex/merge.c @ benchex_result @ s/return seen == h->n ? check/return seen <= h->n ? check/
src/benchex/merge.c @ benchex_result @ s/!falls_into(h->min, first) || //
src/benchex/merge.c @ benchex_result @ s/ || !falls_into(h->max, last)//
src/benchex/merge.c @ benchex_result @ s/h->sum < least || //
src/benchex/merge.c @ benchex_result @ s/ || h->sum > most//
src/benchex/merge.c @ benchex_result @ s/h->sumsq \* n < sum \* sum \* 0.999999L ||/0 ||/
src/benchex/merge.c @ benchex_result @ s/m->merged && role != (int)m->conf.role/0/
src/benchex/merge.c @ benchex_result @ s/if (!m->total || !m->parts)/if (1)/
src/benchex/merge.c @ benchex_result @ s/> INT64_MAX - \*count_of(sum, k)/> UINT64_MAX - *count_of(sum, k)/
src/benchex/merge.c @ benchex_result @ s/json_string_length(v) >= sizeof(r->peer)/0/
src/benchex/merge.c @ benchex_result @ s/sum->qps += one->qps;//
src/benchex/merge.c @ benchex_result @ s/else if (one->elapsed_ns > sum->elapsed_ns)/else if (0)/
src/benchex/merge.c @ benchex_result @ s/m->merged += m->one_merged;/m->merged++;/
src/benchex/merge.c @ benchex_result @ s/!json_equal(m->asked, conf)/0/
src/benchex/merge.c @ benchex_result @ s/m->seed_differs = true;/;/
src/shared/record.c @ record @ s/return ~crc_add(crc/return crc_add(crc/
src/shared/record.c @ record @ s/head.crc = 0;//
src/shared/record.c @ record @ s/old.seq == UINT32_MAX ? 1 : //
src/shared/record.c @ record @ s/head.kind && head.kind != kind/head.kind != kind/
src/shared/record.c @ record @ s/head.bytes && head.bytes != /head.bytes != /
src/shared/record.c @ record @ s/head.crc == record_crc(copy, size) ?/head.crc ?/
src/shared/record.c @ record @ s/uint32_t i = 2; i < size/uint32_t i = 3; i < size/
src/shared/region.c @ region @ s/uint32_t i = n; i < r->n\[which\]/uint32_t i = n; i < n/
src/shared/region.c @ region @ s/h->beat = ++r->beat;/h->beat = r->beat++;/
src/shared/region.c @ region @ s/generation << 32/generation << 31/
src/shared/region.c @ region @ s/t->offset % 64 == 0/t->offset % 8 == 0/
src/shared/region.c @ region @ s/t->stride % 64 == 0/t->stride % 8 == 0/
src/shared/region.c @ region @ s/t->stride >= s->size/t->stride > 0/
src/shared/region.c @ region @ s/t->stride <= REGION_STRIDE_MAX/t->stride <= 4096/
src/shared/region.c @ region @ s/t->offset >= sizeof(struct region_header)/1/
src/shared/region.c @ region @ s/t->offset <= bytes/1/
src/shared/region.c @ region @ s/<= bytes - t->offset/<= bytes/
src/shared/region.c @ region @ s/t->count <= s->max/t->count <= s->max + 1/
src/shared/region.c @ region @ s/ && bytes <= TRANSPORT_PART_MAX//
src/shared/region.c @ region @ s/h.words_bytes < REGION_WORDS_BYTES/0/
src/shared/region.c @ region @ s/if (h.generation != generation)/if (0)/
src/shared/region.c @ region @ s/if (h.generation != p->generation)/if (0)/
src/shared/region.c @ region @ s/if (h.host != host)/if (0)/
src/shared/region.c @ region @ s/n > t->count - first/n > t->count/
src/shared/region.c @ region @ s/h.services > p->table\[REGION_T_SERVICES\].count/0/
src/shared/region.c @ region @ s/utf8_tame(s);//
src/shared/region.c @ region @ s/utf8_mend(s);//
src/shared/peers.c @ peers @ s/TRIES = 5/TRIES = 4/
src/shared/peers.c @ peers @ s/if (h->new_guest\[i\].name\[0\])//
src/shared/peers.c @ peers @ s/i >= h->new_record.guests)/0)/
src/shared/peers.c @ peers @ s/r->beat != h->beat || r->generation != h->beat_generation/r->beat != h->beat/
src/shared/peers.c @ peers @ s/if (r->beat != h->beat || .*/if (1)/
src/shared/peers.c @ peers @ s/h->read = h->began;/h->read = h->moved;/
src/shared/peers.c @ peers @ s/if (h->generation != ev->generation)/if (0)/
src/shared/peers.c @ peers @ s/if (h->generation != ev->generation)/if (1)/
src/shared/peers.c @ peers @ s/if (taken < n \&\& why != -EAGAIN)/if (taken < n)/
src/shared/peers.c @ peers @ s/if (taken < n \&\& why != -EAGAIN)/if (0)/
src/shared/peers.c @ peers @ s/ev->tag >> 16 != p->serial || //
src/shared/peers.c @ peers @ s/ || j->state != JOB_POSTED//
src/shared/peers.c @ peers @ s/ \&\& ev->len == j->read.len//
src/shared/peers.c @ peers @ s/h->record.generation == h->generation/1/
src/shared/peers.c @ peers @ s/h->link = 0;//
src/shared/peers.c @ peers @ s/mono_sub(now, h->began) > p->timeout_ns/0/
src/shared/member.c @ member @ s/m->was_returned = true;//
src/shared/member_corosync.c @ member @ s/(c->hosts >> h \& 1) && c->node\[h\] == nodes/c->node[h] == nodes/
src/shared/member_corosync.c @ member @ s/if (same_ring(ring, m->ring))/if (0)/
src/shared/member_corosync.c @ member @ s/if (same_ring(ring, m->ring))/if (1)/
src/shared/member_corosync.c @ member @ s/m->view.quorate = quorate \&\& .*/m->view.quorate = quorate;/
src/shared/member_corosync.c @ member @ s/else if (a->type != QUORUM_SET)/else if (0)/
src/shared/member_corosync.c @ member @ s/!m->connected \&\& mono_sub(now, m->retry) >= 0/!m->connected/
src/shared/member_corosync.c @ member @ s/return m->attempt ? m->attempt->done : m->fd/return m->fd/
src/shared/member_corosync.c @ member @ s/if (m \&\& m->attempt)/if (0)/
src/shared/member_corosync.c @ member @ s/, m->conf.connect_ms);/, -1);/
src/shared/member_corosync.c @ member @ s/	a->open = false;//
src/shared/member_corosync.c @ member @ s/!m->any || //
src/shared/member_corosync.c @ member @ s/if (c->node\[h\] == 0)/if (0)/
src/cluster/cluster.c @ cluster @ s/host.members = c->view.members;//
src/cluster/cluster.c @ cluster @ s/region_publish_guests(&c->region, c->guest, n);//
src/cluster/cluster.c @ cluster @ s/\*due = mono_add(now, period);//
src/cluster/cluster.c @ cluster @ s/due = mono_earlier(due, busy);//
src/cluster/cluster.c @ cluster @ s/2 \* (conf->heartbeat_ns + conf->scan_ns) + conf->timeout_ns/conf->heartbeat_ns/
src/cluster/cluster.c @ cluster @ s/mono_sub(now, p->moved) > heartbeat_gap_max/mono_sub(now, p->read) > heartbeat_gap_max/
src/cluster/cluster.c @ cluster @ s/if (!p->link)/if (0)/
src/cluster/notices.c @ cluster @ s/add_event(n, wall_ns, "alarm", host, text);//
src/cluster/cluster.c @ cluster_locks @ s/region_words(words, generation)/0/
src/cluster/locks.c @ cluster_locks @ s/l->reading || !home/!home/
src/cluster/locks.c @ cluster_locks @ s/l->reading = false;//
src/cluster/locks.c @ cluster_locks @ s/ || s->word != word || s->home != home//
src/cluster/locks.c @ cluster_locks @ s/ev->outcome == TRANSPORT_UNKNOWN ? -EIO : -ENOTCONN/-EIO/
src/cluster/locks.c @ cluster_locks @ s/ev->old != b->word/0/
src/cluster/locks.c @ cluster_locks @ s/.compare = s->word/.compare = 0/
src/cluster/locks.c @ cluster_locks @ s/region_word_id(word) \&\& region_word_id(word) != REGION_LOCK_BROKEN/region_word_id(word)/
src/cluster/locks.c @ cluster_locks @ s/ || s->home != home)$/)/
src/cluster/locks.c @ cluster_locks @ s/!force \&\& //
src/cluster/locks.c @ cluster_locks @ s/< cluster_break_ns(conf)/< conf->hold_ns/
src/cluster/locks.c @ cluster_locks @ s/ticket \&\& ticket == b->ticket/ticket/
src/guests/view.c @ cluster @ s/gs->paused || g->paused/g->paused/
src/guests/view.c @ cluster @ s/gs->guest\[i\] \&\& !gs->guest\[i\]->leaving/gs->guest[i]/
src/cluster/publish.c @ cluster @ s/out\[i\].balancers = s->balancers;//
src/cluster/publish.c @ cluster @ s/s ? s->applied : v->own.cap;/v->own.cap;/
src/guests/event_log.c @ guests @ s/if (!strcmp(kind, "alarm") || !strcmp(kind, "host"))/if (0)/
src/guests/event_log.c @ guests @ s/ || !strcmp(kind, "host")//
src/cluster/notices.c @ cluster @ s/if (h->events == HOST_EVENTS_MAX)/if (0)/
src/cluster/cluster.c @ cluster @ s/^\t\tnotice_links(c, now, wall_ns);//
src/conf/cluster_agree.c @ cluster_conf @ s/add_word(&ctx, c->membership);//
src/conf/cluster_agree.c @ cluster_conf @ s/add_word(&ctx, (uint64_t)c->hold_ns);//
src/conf/cluster_agree.c @ cluster_conf @ s/add_word(&ctx, (uint64_t)c->timeout_ns);//
src/conf/cluster_agree.c @ cluster_conf @ s/add_word(&ctx, c->drift);//
src/conf/cluster_agree.c @ cluster_conf @ s/add_hosts(&ctx, c);//
src/conf/cluster_agree.c @ cluster_conf @ s/add_services(&ctx, c);//
src/conf/cluster_agree.c @ cluster_conf @ s/add_word(ctx, h->number);//
src/conf/cluster_agree.c @ cluster_conf @ s/== CLUSTER_COROSYNC ? h->corosync_node : 0/== CLUSTER_COROSYNC ? 0 : 0/
src/conf/cluster_agree.c @ cluster_conf @ s/== CLUSTER_COROSYNC ? h->corosync_node : 0/>= 0 ? h->corosync_node : 0/
src/conf/cluster_agree.c @ cluster_conf @ s/add_word(ctx, s->minimum);//
src/conf/cluster_agree.c @ cluster_conf @ s/add_word(ctx, s->balancers);//
src/conf/cluster_agree.c @ cluster_conf @ s/const uint8_t \*)s->name/const uint8_t *)label/
src/conf/cluster_agree.c @ cluster_conf @ s/if (c->service\[i\].number == n)/if (n == 1)/
src/cluster/cluster.c @ cluster cluster_locks @ s/\.agreement = cluster_agreement(&c->conf),/.agreement = 0,/
src/transport/front/hello.c @ hello_self @ s/if (!rc \&\& !agreed(h))/if (0)/
src/transport/front/hello.c @ hello_self @ s/h->stage == WANT_KEYS \&\& !agreed(h)/!agreed(h)/
src/transport/front/hello.c @ hello @ s/ ||$/ || 0 \&\&/
src/transport/front/link.c @ transport_links @ s/peer->start != t->conf.start/0/
src/transport/front/link.c @ transport_links @ s/peer->start != newest->start)$/0)/
src/transport/front/link.c @ transport_links @ s/is_wrong_start(why) || why == -EBADE;$/is_wrong_start(why);/
src/transport/front/link.c @ transport_links @ s/sin6_addr, sizeof(struct in6_addr))/sin6_addr, 8)/
src/transport/front/link.c @ transport_links @ s/sin6_addr, sizeof(struct in6_addr))/sin6_addr, 15)/
src/transport/front/link.c @ transport_links @ s/if (of->ss_family != from->sa_family)/if (0)/
src/transport/front/link.c @ transport_links @ s/%.24s/%s/
src/transport/front/events.c @ transport_links @ s/if (r->hidden)$/if (0)/
src/conf/cluster_file.c @ cluster_conf @ s/(size_t)n) < KEY_BYTES_MIN/(size_t)n) < 1/
src/cluster/cluster_priv.h @ cluster_member @ s/char member_note\[MEMBER_NOTE_MAX\]/char member_note[128]/
src/cluster/cluster.c @ cluster_member @ s/c->view.quorate ? locks_home(c->view.members) : 0/locks_home(c->view.members)/
src/cluster/cluster.c @ cluster_member @ s/int rc = c->view.quorate /int rc = true /
src/cluster/cluster.c @ cluster_member @ s/if (\*note || c->view.quorate)/if (1)/
src/cluster/cluster.c @ cluster_member @ s/s.ops\[TRANSPORT_CAS64\] + s/s/
src/shared/member_corosync.c @ cluster_member @ s/if (!quorate)$/if (0)/
src/guests/guest.c @ guests_rings @ s/rc == 1 || before != after/rc == 1/
src/guests/guest.c @ guests_rings @ s/wait = guest_wait(g->mon, now);/wait = INT64_MAX;/
src/guests/guest.c @ guests_rings @ s/wait > interval ? interval : wait/wait > SOON_NS ? SOON_NS : wait/
ibmon/guest.c @ guests_rings @ s/changed = !g->rest_waits \&\& /changed = /
ibmon/guest.c @ guest_missed @ s/missed_hold(.*);/;/
ibmon/guest.c @ guest_missed @ s/budget_spend(&g->walk_budget, now, .*/;/
ibmon/agent/qpns.c @ agent_qpns @ s/out\[n++\].done = !user;/out[n++].done = false;/
ibmon/agent/qpns.c @ agent_qpns @ s/count -= !find.*/;/
ibmon/agent/qpns.c @ agent_qpns @ s/was ? was->done : !q->listed/was ? was->done : false/
ibmon/agent/track.c @ agent_track @ s/if (scan_users(t, 0, now)) {/if (scan_users(t, 0, now) \&\& 0) {/
ibmon/agent/track.c @ agent_track @ s/lost |= had_rings(.*/lost = false;/
ibmon/agent/track.c @ agent_track @ s/ \&\& give_way(t, refused)/ \&\& 0/
ibmon/agent/track.c @ agent_track @ s/t->sink->unpublished(t->ctx, unpublished);/{}/
src/guests/guest.c @ guests_rings @ s/report_unpublished(gs, g, st.unpublished, now, wall_ns);//
src/guests/guest.c @ guests_rings @ s/(n != 0) == g->unpublished/!n/
ibmon/agent/pagemap.c @ agent_pagemap @ s/pread(p->fd, p->entry, sizeof(p->entry), /pread(p->fd, p->entry, sizeof(p->entry[0]), /
ibmon/agent/pagemap.c @ agent_pagemap @ s/page - first < p->n ? 0 : -EFAULT/0/
ibmon/agent/pagemap.c @ agent_pagemap @ s/	p->n = 0;$//
ibmon/agent/pagemap.c @ agent_pagemap @ s/if (page - p->first >= p->n)/if (!p->n)/
ibmon/guest_back.c @ guest_back @ s/s->due = mono_add(now, s->wait_ns);//
ibmon/guest_back.c @ guest_back @ s/else if (mono_sub(now, s->since) >= .*)/else/
ibmon/guest_back.c @ guest_back @ s/ring_skip_history(s->ring);//
src/tick/unread.c @ unread @ s/if (w->mtus > w->rate)/if (0)/
src/tick/unread.c @ unread @ s/if (!runs)/if (0)/
src/tick/unread.c @ unread @ s/w->ahead = sat_add(w->ahead, counted);//
src/guests/set.c @ guests_rings @ s/e->unreadable = guest_unreadable(g->mon);//
src/conf/guest.c @ settings @ s/u->mode = UNREADABLE_RATE;//
ibmon/guest_missed.c @ guest_missed @ s/published - added/published/
ibmon/guest_missed.c @ guest_missed @ s/if (first) { .*/if (false) {/
ibmon/guest_missed.c @ guest_missed @ s/if (m->ring\[i\].read)/if (true)/
ibmon/guest.c @ guest_missed @ s/if (ring_was_read(s->ring))/if (false)/
ibmon/registry.c @ guest_missed @ s/out->sqs_published = .*/;/
src/guests/guest.c @ guests_rings @ s/mono_sub(now, g->missed_at) < MISSED_EVENTS_NS/false/
src/cluster/notices.c @ cluster_member @ s/ || (!\*note \&\& !v->quorate))/)/
END
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/tree" "$tmp/obj"
(cd "$top" && tar cf - include src policies ibmon man etc tests/unit tests/fakes) | (cd "$tmp/tree" && tar xf -)
cd "$tmp/tree"
echo '#define HAVE_COROSYNC 1' >config.h # a fake one; without verbs

. "$top/tests/mutants-build.sh"
mutants | grep -e "$pattern" >"$tmp/list" || { echo "mutants: none match '$pattern'"; exit 1; }
red=
for t in $(awk -F ' @ ' '{ print $2 }' "$tmp/list" | tr ' ' '\n' | sort -u); do
	run_tests "$t" || { echo "$t fails on the code as it is, and cannot kill anything"; tail -3 "$tmp/out"; red="$red $t "; }
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
		forget "$file"
		rc=0
		run_tests "$tests" || rc=$?
		case $rc in
		0)	echo "LIVES: $file: $change (by$tests)"
			bad=$((bad + 1)) ;;
		1)	by=$(sed -n '/^\[  FAILED  \] /{s///p;q;}' "$tmp/out")
			[ -z "$verbose" ] || echo "killed: $file: $change: ${by:-by a signal or in time}" ;;
		2)	echo "does not compile: $file: $change"
			cat "$tmp/out"
			bad=$((bad + 1)) ;;
		esac
	fi
	cp "$tmp/saved" "$file"
	forget "$file"
done <"$tmp/list"
echo "mutants: $((n - bad)) of $n killed"
[ "$bad" -eq 0 ]
