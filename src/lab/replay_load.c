// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * replay_load: records of inputs -> what the sampler reads: sets, policies, its state, a tick's
 * inputs. Each value that the sampler's code trusts, because control or the hypervisor checked it,
 * is checked here. See replay.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "policies/state.h"
#include "src/hv/hv.h"
#include "src/lab/replay.h"

enum { PERCENT_MAX = SLOT_RESEND - 1, VCPUS_MAX = 4096, DOMID_MAX = 0x7fff };

static bool time_good(struct mono t)
{
	return t.ns >= 0 && t.ns < TAPE_TIME_MAX;
}

static bool cap_good(struct cap c)
{
	return c.limited ? c.limited == 1 && c.mpct >= 1 && c.mpct <= PERCENT_MAX * 1000u : !c.mpct;
}

bool replay_load_conf(struct replay *r, struct trace_in *in)
{
	const struct tape_conf *c = &r->conf;

	if (r->has_conf)
		return false;
	tape_get_conf(in, &r->conf);
	for (uint32_t i = 0; i < c->links && !in->bad; i++)
		if (!c->link[i].bytes_s || c->link[i].bytes_s > 1ull << 40)
			return false;
	r->has_conf = true;
	return trace_in_ended(in) && c->links >= 1;
}

/* --- policies ------------------------------------------------------------------------ */

static const struct policy_ops *get_ops(struct trace_in *in, char why[REPLAY_TEXT])
{
	char name[FLOW_NAME_MAX] = "";
	const struct policy_ops *ops;

	trace_get_bytes(in, name, (size_t)trace_get(in, sizeof(name) - 1));
	ops = in->bad ? NULL : policy_find(name);
	if (!in->bad && !ops)
		snprintf(why, REPLAY_TEXT,
			 "its policy \"%.63s\" is not one of this resex-lab: replay it where that "
			 "policy is",
			 name);
	return ops;
}

/* A parameter that is out of its range was never in force. */
static bool params_good(const struct policy_inst *pi)
{
	for (const struct policy_param *p = pi->ops->params; p && p->name; p++) {
		uint64_t v = policy_param_get(pi, p);

		if (v < p->min || v > p->max)
			return false;
	}
	return true;
}

bool replay_load_policy(struct replay *r, struct trace_in *in, char why[REPLAY_TEXT])
{
	const struct policy_ops *ops = get_ops(in, why);
	struct policy_inst *pi = NULL;

	if (!ops || r->set_new || policy_new(&pi, ops, false))
		return false;
	policy_free(r->policy_new);
	r->policy_new = pi;
	if (trace_get(in, UINT64_MAX) != ops->params_size)
		return false;
	trace_get_bytes(in, pi->params, ops->params_size);
	if (trace_get(in, UINT64_MAX) != ops->global_size)
		return false;
	trace_get_bytes(in, pi->global, ops->global_size);
	return trace_in_ended(in) && params_good(pi);
}

bool replay_load_block(struct replay *r, struct trace_in *in)
{
	const struct policy_inst *pi = r->policy_new;
	size_t slot = (size_t)trace_get(in, FLOW_GUESTS_MAX - 1), n;

	if (!pi || r->set_new || in->bad)
		return false;
	n = pi->ops->guest_size;
	trace_get_bytes(in, (uint8_t *)pi->guests + slot * n, n);
	return trace_in_ended(in);
}

/* --- sets ----------------------------------------------------------------------------- */

static bool guest_good(const struct replay *r, const struct set_guest *g)
{
	const struct cap_bounds *b = &g->bounds;

	return g->slot < FLOW_GUESTS_MAX && g->key.domid >= 1 && g->key.domid <= DOMID_MAX &&
	       g->key.created && !(g->flags & ~(uint32_t)(POLICY_EXEMPT | POLICY_CAPPABLE)) &&
	       g->vcpus >= 1 && g->vcpus <= VCPUS_MAX && g->weight >= 1 && g->weight <= 65535 &&
	       g->link < r->conf.links && cap_good(g->own) && cap_good(b->ceiling) &&
	       b->min_mpct >= 1000 && b->min_mpct <= VCPUS_MAX * 100000u && b->vcpus >= 1 &&
	       b->vcpus <= VCPUS_MAX && g->sla.base_ns < 1ull << 34 &&
	       g->sla.base_io_ns < 1ull << 34 && g->sla.base_dev_ns < 1ull << 34 &&
	       g->sla.tolerance <= 1000000 && g->unreadable_mtus_s <= 1ull << 40;
}

static bool set_good(const struct replay *r, const struct guest_set *set)
{
	bool used[FLOW_GUESTS_MAX] = { 0 };

	for (uint32_t i = 0; i < set->guests; i++) {
		const struct set_guest *g = &set->guest[i];

		if (!guest_good(r, g) || used[g->slot] ||
		    (i && g->key.domid <= set->guest[i - 1].key.domid))
			return false;
		used[g->slot] = true;
	}
	return true;
}

static void set_free(struct guest_set *set)
{
	for (uint32_t i = 0; set && i < set->guests; i++)
		free(set->guest[i].scan);
	free(set);
}

bool replay_load_set(struct replay *r, struct trace_in *in)
{
	struct guest_set *set;

	if (!r->has_conf || r->set_new || (!r->policy && !r->policy_new))
		return false;
	set = calloc(1, sizeof(*set) + FLOW_GUESTS_MAX * sizeof(set->guest[0]));
	r->set_new = set;
	if (!set)
		return false;
	set->serial = trace_get(in, UINT64_MAX);
	set->guests = (uint32_t)trace_get(in, FLOW_GUESTS_MAX);
	for (uint32_t i = 0; i < set->guests; i++) {
		tape_get_set_guest(in, &set->guest[i]);
		set->guest[i].scan = calloc(1, sizeof(*set->guest[i].scan));
		if (!set->guest[i].scan)
			return false;
		set->guest[i].scan->slot = set->guest[i].slot;
	}
	memset(r->word, 0, sizeof(r->word));
	set->policy = r->other ? r->other : r->policy_new ? r->policy_new : r->policy;
	/* All blocks of a new policy came before its first set. */
	return trace_in_ended(in) && set_good(r, set) &&
	       (!r->policy_new || policy_state_good(r->policy_new));
}

/* The sampler uses the next set, and the policy that came with it. */
void replay_take_set(struct replay *r)
{
	set_free(r->set);
	r->set = r->set_new;
	r->set_new = NULL;
	if (!r->policy_new)
		return;
	policy_free(r->policy);
	r->policy = r->policy_new;
	r->policy_new = NULL;
}

/* --- start ------------------------------------------------------------------------------- */

static bool period_good(const struct period *p)
{
	return time_good(p->last) && time_good(p->epoch_start) && p->epoch_start.ns <= p->last.ns &&
	       p->last.ns - p->epoch_start.ns < p->epoch_ns && p->epoch < 1ull << 62;
}

static bool ledger_good(const struct ledger *l)
{
	const int64_t most = 1LL << 60;

	return l->supply.m >= 0 && l->supply.m < most && l->overcommit.m >= 0 &&
	       l->overcommit.m < most && l->retired.m >= 0 && l->retired.m < most;
}

static const uint32_t flags_of[] = {
	[TAPE_RUNS] = 0,
	[TAPE_PAUSED] = HV_DOM_PAUSED,
	[TAPE_DYING] = HV_DOM_DYING,
};

static int script_list(struct hv_sched *hv, struct hv_dom *doms, size_t max)
{
	const struct replay *r = (const struct replay *)hv;
	int n = 0;

	if (r->list_rc)
		return r->list_rc;
	for (uint32_t i = 0; i < r->s.set->guests && (size_t)n < max; i++) {
		const struct set_guest *g = &r->s.set->guest[i];
		const uint64_t state = r->word[i] & TAPE_STATE_MASK;

		if (state == TAPE_ABSENT)
			continue;
		doms[n] = (struct hv_dom){ .domid = g->key.domid,
					   .flags = flags_of[state],
					   .cpu_ns = r->word[i] >> TAPE_STATE_BITS,
					   .vcpus = g->vcpus };
		memcpy(doms[n++].uuid, g->key.uuid, sizeof(g->key.uuid));
	}
	return n;
}

static const struct hv_sched_ops script_ops = { .list = script_list };

static bool init_sampler(struct replay *r)
{
	struct sampler_conf c = { .interval_ns = r->conf.interval_ns,
				  .epoch_ns = r->conf.epoch_ns,
				  .link = r->conf.link,
				  .links = r->conf.links,
				  .ops = &script_ops,
				  .hv = (struct hv_sched *)r };
	struct guest_set *set = r->set_new;

	clock_sim(&c.clock, (struct mono){ 0 });
	if (sampler_init(&r->s, &r->ho, &c, set))
		return false;
	r->ho.observe = r->conf.observe;
	r->s.script = &r->script;
	for (uint32_t i = 0; i < set->guests; i++) {
		r->s.slot[set->guest[i].slot].guest = &set->guest[i];
		slot_bit_set(&r->s.used, set->guest[i].slot);
	}
	sampler_seat(&r->s);
	return true;
}

bool replay_load_start(struct replay *r, struct trace_in *in)
{
	if (r->began || !r->set_new || !init_sampler(r))
		return false;
	r->began = true;
	replay_take_set(r);
	r->slots = r->set->guests;
	tape_get_start(in, &r->s);
	return trace_in_ended(in) && period_good(&r->s.period) && ledger_good(&r->s.ledger);
}

static bool account_good(const struct sampler *s, uint32_t slot)
{
	const struct account *a = &s->ledger.acc[slot];
	const struct set_guest *g = s->slot[slot].guest;
	const unsigned known = ACCOUNT_ACTIVE | ACCOUNT_LATE | ACCOUNT_UNISSUED;

	return (a->flags & ACCOUNT_ACTIVE) && !(a->flags & ~known) && a->link == g->link &&
	       a->vcpus >= 1 && a->vcpus <= VCPUS_MAX && a->weight >= 1 && a->weight <= 65535 &&
	       a->rate.q16 >= RATE_ONE.q16 && a->allocated.m < 1LL << 60 &&
	       a->rem_io < s->ledger.link[a->link].price_den << 16 &&
	       a->rem_cpu < (uint64_t)CPU_NS_PER_MILLI << 16;
}

static bool report_good(const struct report *rep)
{
	const unsigned __int128 squares = (unsigned __int128)rep->io_sumsq_hi << 64 |
					  rep->io_sumsq_lo;

	return rep->n <= SCAN_LATENCIES_MAX && rep->sum_ns <= rep->n << 34 &&
	       rep->io_sum_ns <= rep->sum_ns && squares <= ((unsigned __int128)rep->n << 66);
}

static bool slot_good(const struct slot *sl)
{
	return cap_good(sl->met) && cap_good(sl->applied) && time_good(sl->cap_time) &&
	       time_good(sl->sent) && sl->unread.ns >= 0 && sl->unread.ns < NS_PER_S &&
	       sl->unread.part < (uint64_t)NS_PER_S && time_good(sl->seat->cap_time) &&
	       cap_good(sl->seat->cap) && sl->seat->rate.q16 >= RATE_ONE.q16 &&
	       sl->seat->balance.m >= 0 && sl->seat->allocated.m >= 0 &&
	       report_good(&sl->seat->report);
}

bool replay_load_slot(struct replay *r, struct trace_in *in)
{
	uint32_t slot = (uint32_t)trace_get(in, FLOW_GUESTS_MAX - 1);

	if (in->bad || !r->began || !r->slots || !r->s.slot[slot].guest ||
	    r->s.ledger.acc[slot].flags)
		return false;
	r->slots--;
	tape_get_slot(in, &r->s, slot);
	return trace_in_ended(in) && account_good(&r->s, slot) && slot_good(&r->s.slot[slot]) &&
	       cap_good(r->s.plan.guest[slot].cap) && r->s.plan.guest[slot].stands.m >= 0;
}

bool replay_load_whole(const struct replay *r)
{
	return r->began && !r->slots && !resos_check(&r->s.ledger);
}

/* --- a tick --------------------------------------------------------------------------------- */

/* Another policy's mail gets its own answers. */
static void get_answers(struct replay *r, struct trace_in *in)
{
	uint64_t slot;

	while ((slot = trace_get(in, FLOW_GUESTS_MAX)) != 0) {
		struct mailbox *m = &r->ho.mail[slot - 1];
		uint64_t answer = trace_get(in, UINT64_MAX);
		struct mono at = {
			(int64_t)trace_get_difference(in, (uint64_t)r->now.ns),
		};

		if (!time_good(at))
			in->bad = true;
		if (in->bad || r->other)
			continue;
		atomic_store(&m->answered, at.ns);
		atomic_store(&m->answer, answer);
	}
}

static void get_again(struct replay *r, struct trace_in *in)
{
	if (!trace_get(in, 1))
		return;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX / 64; i++)
		atomic_store(&r->ho.send_again[i], trace_get(in, UINT64_MAX));
}

/* In the order of the set. */
static void get_scans(struct replay *r, struct trace_in *in)
{
	uint64_t slot;

	while ((slot = trace_get(in, FLOW_GUESTS_MAX)) != 0) {
		struct usage u = { .slot = (uint32_t)slot - 1 };
		struct report rep = { .slot = u.slot };

		tape_get_scan(in, &r->in[u.slot].found, &u, &rep);
		if (!report_good(&rep) || r->in[u.slot].scanned)
			in->bad = true;
		if (in->bad)
			return;
		r->in[u.slot].scanned = true;
		r->in[u.slot].usage = u;
		r->in[u.slot].report = rep;
	}
}

bool replay_load_tick(struct replay *r, struct trace_in *in)
{
	r->now.ns = (int64_t)trace_get_difference(in, (uint64_t)r->now.ns);
	if (!time_good(r->now))
		return false;
	get_answers(r, in);
	get_again(r, in);
	r->list_rc = -(int)trace_get(in, 4095);
	if (!r->list_rc)
		tape_get_words(in, r->word, (r->set_new ? r->set_new : r->set)->guests);
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		r->in[i].scanned = false;
	get_scans(r, in);
	return trace_in_ended(in);
}

/* --- the life of a replay -------------------------------------------------------------- */

void replay_close(struct replay *r)
{
	if (!r)
		return;
	set_free(r->set);
	set_free(r->set_new);
	policy_free(r->policy);
	policy_free(r->policy_new);
	policy_free(r->other);
	handover_close(&r->ho);
	free(r->tape);
	free(r->theirs);
	free(r->mine);
	free(r);
}
