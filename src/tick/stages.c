// SPDX-License-Identifier: GPL-2.0-or-later
/* stages: answers, observe, account, decide, act: called by tick() in this order. See sampler.h. */
#include "src/tick/apart.h"
#include "src/tick/still.h"

#include <errno.h>
#include <string.h>

#include "ibmon/ring/mtu.h"

/* The rest of the newest list of domains. */
struct doms {
	const struct hv_dom *at, *end;
};

/* A guest's domain. Guests and list are in ascending id: at only grows. */
static inline const struct hv_dom *dom_of(const struct set_guest *g, struct doms *d)
{
	while (d->at < d->end && d->at->domid < g->key.domid)
		d->at++;
	if (d->at == d->end || d->at->domid != g->key.domid)
		return NULL;
	if (memcmp(d->at->uuid, g->key.uuid, sizeof(g->key.uuid)) != 0)
		return NULL; /* another domain has the id now */
	return d->at;
}

/*
 * The first reading has nothing before it to be compared with, and a lower one than before
 * cannot be a time used: both count 0.
 */
static uint64_t cpu_delta(struct slot *sl, const struct hv_dom *d)
{
	uint64_t delta = 0;

	if (sl->cpu_known && d->cpu_ns > sl->cpu_prev)
		delta = d->cpu_ns - sl->cpu_prev;
	sl->cpu_prev = d->cpu_ns;
	sl->cpu_known = true;
	return delta;
}

/*
 * A fault counts as delivered only when its event fitted into the ring. The scan shows the
 * others again at the next tick, eight at a time.
 */
static void report_scan(struct sampler *s, struct slot *sl, struct mono now,
			const struct scan_result *res)
{
	for (uint32_t i = 0; i < res->faults && i < 8; i++)
		if (sampler_event(s, EVENT_RING_FAULT, sl, now, res->fault_id[i], res->fault_why[i],
				  0))
			scan_fault_delivered(sl->guest->scan, res->fault_id[i]);
	if (res->refresh && !sl->rings_reported) {
		sl->rings_reported = true;
		sampler_event(s, EVENT_REFRESH, sl, now, 0, 0, 0);
	}
}

/* Show the last whole second: a second that has just begun has few samples. */
static void end_second(struct sampler *s, struct slot *sl, struct mono now)
{
	struct slot_latencies *all = &s->latencies[sl->guest->slot];
	struct snap_latency *l = &sl->latency;
	struct window *w = &all->second;

	l->seconds++;
	l->second_n = w->n;
	l->mean_ns = window_mean(w);
	l->dev_ns = window_deviation(w);
	l->p99_ns = window_quantile(w, 990);
	if (s->keep_reports)
		window_merge(&all->reports, w);
	if (w->n)
		window_reset(w);
	sl->second_began = now;
}

/* What a scan found, beside work. */
static void report_found(struct sampler *s, struct slot *sl, struct mono now,
			 const struct report *rep, const struct scan_result *res)
{
	sl->latency.n += rep->n;
	sl->latency.lost = sat_add(sl->latency.lost, res->latencies_lost);
	report_scan(s, sl, now, res);
}

static void clear_seat(struct slot *sl)
{
	struct policy_guest *p = sl->seat;

	p->usage = (struct usage){ .slot = p->slot, .link = p->link };
	p->report = (struct report){ .slot = p->slot };
	sl->worked = false;
}

/*
 * For loads.c. The flags came with the CPU times: this costs no call. A look speaks of a few
 * intervals at most: when the host held the sampler up, a guest may have slept most of the time,
 * and would seem to have waited for a CPU.
 */
static inline void count_runnable(struct sampler *s, struct slot *sl, const struct hv_dom *d,
				  int64_t elapsed_ns)
{
	int64_t most_ns = SAMPLER_LOOK_INTERVALS * s->period.interval_ns;

	sl->vcpus = d && !(d->flags & HV_DOM_DYING) ? d->vcpus : 0;
	sl->dom_flags = d ? d->flags : 0;
	if (d && !(d->flags & HV_DOM_RESTS))
		sl->runnable_ns += (uint64_t)(elapsed_ns < most_ns ? elapsed_ns : most_ns);
}

/* Read what the guest did into its seat. False: it did nothing but use CPU time. */
static inline bool read_guest(struct sampler *s, struct slot *sl, struct mono now,
			      int64_t elapsed_ns, const struct hv_dom *d)
{
	const struct set_guest *g = sl->guest;
	struct usage *u = &sl->seat->usage;
	struct report *rep = &sl->seat->report;
	uint64_t backlog = u->backlog, queues = u->queues;
	struct scan_result res;

	if (sl->worked)
		clear_seat(sl);
	u->backlog = u->queues = 0;
	/*
	 * The domain is gone: do not read its memory. Without a list (doms < 0) nothing says so:
	 * its rings are still read, and its CPU time is counted at the next list.
	 */
	if ((!d && s->doms >= 0) || (d && (d->flags & HV_DOM_DYING)))
		return true;
	if (sl->looked) {
		usage_add(u, &sl->last_look);
		u->backlog = u->queues = 0; /* the scan counts them */
		sl->looked = false;
		sl->worked = true;
	}
	if (!s->script) {
		scan_guest(g->scan, elapsed_ns, u, rep, &s->latencies[g->slot].second, &res);
	} else {
		u->backlog = backlog;
		u->queues = queues;
		s->script->scan(s->script, g->slot, u, rep, &res);
	}
	if (s->tape && (res.found | sl->worked | (u->backlog != backlog) | (u->queues != queues)))
		tape_scan(s->tape, u, rep, res.found);
	sl->worked |= res.found | (g->unreadable > 0);
	if (sl->worked)
		unread_charge(sl, u, elapsed_ns, !d || !(d->flags & HV_DOM_PAUSED));
	else
		unread_measure(&sl->unread, 0, elapsed_ns);
	if (res.found)
		report_found(s, sl, now, rep, &res);
	if (mono_sub(now, sl->second_began) >= NS_PER_S)
		end_second(s, sl, now);
	return sl->worked || u->backlog != backlog || u->queues != queues;
}

/* All that is read of a domain's flags, but for loads. */
static inline enum tape_state tape_state_of(const struct hv_dom *d)
{
	if (!d)
		return TAPE_ABSENT;
	if (d->flags & HV_DOM_DYING)
		return TAPE_DYING;
	return d->flags & HV_DOM_PAUSED ? TAPE_PAUSED : TAPE_RUNS;
}

/* Not 0: the low half of its CPU time does not say all that is recorded of it. */
static inline uint64_t odd_bits(const struct hv_dom *d, uint64_t cpu_prev)
{
	return (d->cpu_ns - cpu_prev) >> 32 | (d->flags & (HV_DOM_DYING | HV_DOM_PAUSED));
}

/* None, when they could not be listed. */
static struct doms all_doms(const struct sampler *s)
{
	return (struct doms){ s->dom, s->dom + (s->doms > 0 ? s->doms : 0) };
}

static void tape_domains(struct sampler *s, const struct tape_words *words)
{
	struct doms doms = all_doms(s);

	if (!words->low || !tape_is_wide(s->tape, words))
		return;
	for (uint32_t i = 0; i < s->guests; i++) {
		const struct hv_dom *d = dom_of(s->turn[i]->guest, &doms);

		tape_word(s->tape, tape_state_of(d), d ? d->cpu_ns : 0);
	}
}

/* Of a guest that stays still only the CPU time is noted; all others are due in this tick. */
static inline void observe_one(struct sampler *s, struct slot *sl, struct mono now,
			       int64_t elapsed_ns, struct doms *doms, struct tape_words *words,
			       bool all)
{
	const struct hv_dom *d = dom_of(sl->guest, doms);
	uint64_t cpu_prev = sl->cpu_prev, cpu_ns = d ? cpu_delta(sl, d) : 0;
	bool still = sl->still && cpu_ns <= sl->cpu_left;

	if (words->low)
		tape_domain(words, d ? d->cpu_ns : 0, d ? odd_bits(d, cpu_prev) : 1);
	if (s->ho->loads.period_ns)
		count_runnable(s, sl, d, elapsed_ns);
	if (!read_guest(s, sl, now, elapsed_ns, d) && still && !all) {
		still_keep(s, sl, cpu_ns);
		return;
	}
	sl->seat->usage.cpu_ns = cpu_ns;
	s->due[s->dues++] = sl;
}

void sampler_observe(struct sampler *s, struct mono now, const struct period_tick *t)
{
	const bool all = t->new_epochs || sampler_shows(s);
	struct tape_words words = { NULL, 0 };
	struct doms doms;

	s->dues = 0;
	if (s->guests) {
		still_begin(s);
		/* Scans bring into the cache what those after them read: here the first's. */
		scan_prefetch(s->turn[0]->guest->scan, t->elapsed_ns);
	}
	sampler_list_domains(s);
	if (s->tape)
		words = tape_listed(s);
	doms = all_doms(s);
	for (uint32_t i = 0; i < s->guests; i++)
		observe_one(s, s->turn[i], now, t->elapsed_ns, &doms, &words, all);
	if (s->tape) {
		tape_domains(s, &words);
		tape_observed(s->tape);
	}
}

static void report_empty(struct sampler *s, struct slot *sl, struct mono now,
			 const struct account *a)
{
	if (a->balance.m == 0 && a->allocated.m > 0 && !sl->empty_reported) {
		sl->empty_reported = true;
		sampler_event(s, EVENT_EMPTY, sl, now, a->allocated.m, 0, 0);
	}
}

/*
 * What was spent compares with what was allocated over whole epochs alone: a second is made of
 * them, and a longer epoch is one.
 */
static void end_rates_second(struct sampler *s, struct slot *sl, struct mono now)
{
	struct slot_second *w = &s->second[sl->guest->slot];
	uint64_t epochs = (uint64_t)((NS_PER_S + s->period.epoch_ns - 1) / s->period.epoch_ns);
	struct span sums;

	if (w->epoch && s->period.epoch - w->epoch < epochs)
		return;
	slot_count_capped(sl, now);
	sums = span_sums(now.ns, &sl->past_usage, &sl->past, sl->capped_ns);
	if (w->epoch)
		w->last = span_between(&w->begin, &sums);
	w->begin = sums;
	w->epoch = s->period.epoch;
}

static void end_epoch(struct sampler *s, struct slot *sl, struct mono now, const struct account *a)
{
	const struct usage *u = &sl->seat->usage;

	spending_add(&sl->past, a);
	usage_add(&sl->past_usage, &sl->epoch_usage);
	sl->epoch_usage = (struct usage){ .slot = u->slot, .link = u->link };
	sl->epoch_usage.backlog = u->backlog;
	sl->epoch_usage.queues = u->queues;
	sl->empty_reported = false;
	end_rates_second(s, sl, now);
}

void sampler_account(struct sampler *s, struct mono now, const struct period_tick *t)
{
	for (uint32_t i = 0; i < s->dues; i++) {
		struct slot *sl = s->due[i];
		const struct usage *u = &sl->seat->usage;
		const struct account *a = &s->ledger.acc[u->slot];

		still_charge(s, sl);
		/*
		 * Charge before the epoch changes: this usage belongs to the epoch that
		 * ends.
		 */
		resos_charge(&s->ledger, u->slot, u);
		if (sl->worked)
			usage_add(&sl->epoch_usage, u);
		else
			usage_add_idle(&sl->epoch_usage, u);
		report_empty(s, sl, now, a);
		if (t->new_epochs)
			end_epoch(s, sl, now, a);
	}
	if (t->new_epochs && s->tape)
		tape_accounts(s);
	if (t->new_epochs)
		resos_replenish(&s->ledger, s->period.epoch);
}

/* What changes from tick to tick. seat_guests() has the rest. */
static void decide_input(struct sampler *s, struct slot *sl)
{
	struct policy_guest *p = sl->seat;
	const struct account *a = &s->ledger.acc[p->slot];

	p->flags = sl->guest->flags | (sl->fresh ? POLICY_NEW : 0);
	p->cap = sl->applied;
	p->cap_time = sl->cap_time;
	p->rate = a->rate;
	p->allocated = a->allocated;
	p->balance = a->balance;
	sl->fresh = false;
}

void sampler_decide(struct sampler *s, struct mono now)
{
	const struct policy_inst *pi = s->set->policy;
	struct policy_in *in = &s->in;

	in->now = now;
	in->epoch_start = s->period.epoch_start;
	in->epoch_ns = s->period.epoch_ns;
	in->interval_ns = s->period.interval_ns;
	in->epoch = s->period.epoch;
	for (uint32_t i = 0; i < s->dues; i++)
		decide_input(s, s->due[i]);
	if (!s->dues && s->guests)
		return;
	if (pi->apart)
		sampler_decide_apart(s);
	else
		pi->ops->decide(in, pi->params, pi->global, pi->guests, &s->plan);
}

/*
 * The guest pays the new rate from here on, not from the decision: the cap that goes with
 * that rate was not in force before.
 */
static void cap_applied(struct sampler *s, struct slot *sl, struct mono at, uint16_t percent)
{
	uint32_t before = cap_to_percent(sl->applied);

	sl->applied = cap_from_percent(percent);
	sl->cap_time = at;
	sl->cap_changes++;
	sl->cap_errno = 0;
	slot_count_capped(sl, at);
	resos_set_rate(&s->ledger, sl->guest->slot, sl->rate_wanted);
	sampler_event(s, EVENT_CAP, sl, at, percent, s->plan.guest[sl->guest->slot].reason, before);
}

/*
 * An answer to older mail says nothing about the cap that is wanted now. That another program
 * set a cap is true of all mail of its generation.
 */
static bool answer_counts(const struct slot *sl, uint64_t a)
{
	if (mail_errno(a) == ECANCELED)
		return mail_serial(a) - sl->known_serial <= sl->serial - sl->known_serial;
	return mail_serial(a) == sl->serial;
}

/*
 * Control learns the cap from the event and publishes it as the guest's own. When control
 * is behind, the event is lost: send it again in the next tick.
 */
static void report_foreign(struct sampler *s, struct slot *sl, struct mono now)
{
	if (sl->foreign && !sl->foreign_reported)
		sl->foreign_reported = sampler_event(s, EVENT_CAP_FOREIGN, sl, now,
						     slot_percent(sl->applied), 0, sl->generation);
}

static void cap_foreign(struct slot *sl, struct mono at, uint16_t percent)
{
	slot_learn(sl, cap_from_percent(percent));
	slot_count_capped(sl, at);
	sl->cap_time = at;
	sl->foreign = true;
	sl->foreign_reported = false;
}

static void take_answer(struct sampler *s, struct slot *sl, struct mono now)
{
	struct mailbox *m = &s->ho->mail[sl->guest->slot];
	struct mono answered;
	uint64_t a;

	report_foreign(s, sl, now);
	if (!sl->pending)
		return;
	a = atomic_load_explicit(&m->answer, memory_order_acquire);
	if (!answer_counts(sl, a))
		return;
	answered.ns = atomic_load(&m->answered);
	if (s->tape)
		tape_answer(s->tape, sl->guest->slot, a, answered);
	if (mail_errno(a) == ECANCELED) {
		cap_foreign(sl, answered, mail_percent(a));
		report_foreign(s, sl, now);
		return;
	}
	sl->pending = false;
	if (!mail_errno(a)) {
		cap_applied(s, sl, answered, mail_percent(a));
		return;
	}
	if (sl->cap_errno != mail_errno(a))
		sampler_event(s, EVENT_CAP_FAILED, sl, now, mail_percent(a), mail_errno(a), 0);
	sl->cap_errno = mail_errno(a);
}

/* Only slots to which mail was sent: cap_foreign() is called for no other. */
void sampler_answers(struct sampler *s, struct mono now)
{
	for (uint32_t i = slot_bit_next(&s->asked, 0); i < FLOW_GUESTS_MAX;
	     i = slot_bit_next(&s->asked, i + 1)) {
		struct slot *sl = &s->slot[i];

		if (sl->guest)
			take_answer(s, sl, now);
		if (!sl->guest || (!sl->pending && (!sl->foreign || sl->foreign_reported)))
			slot_bit_clear(&s->asked, i);
	}
}

static void send_cap(struct sampler *s, struct slot *sl, struct mono now, uint16_t percent)
{
	uint32_t i = sl->guest->slot;

	/* Serial 0 is left out when the number wraps: a mailbox of 0 has no mail. */
	sl->serial = sl->serial + 1 ? sl->serial + 1 : 1;
	sl->wanted = percent;
	sl->pending = true;
	sl->settled = false;
	slot_bit_set(&s->asked, i);
	sl->sent = now;
	if (s->tape)
		tape_sent(s->tape, i);
	atomic_store_explicit(&s->ho->mail[i].expect,
			      mail_pack(sl->serial, sl->generation, slot_percent(sl->applied)),
			      memory_order_release);
	atomic_store_explicit(&s->ho->mail[i].want,
			      mail_pack(sl->serial, (uint16_t)sl->guest->key.domid, percent),
			      memory_order_release);
	atomic_fetch_or_explicit(&s->ho->dirty[i / 64], 1ull << (i % 64), memory_order_release);
	s->wake_actor = true;
}

static bool cap_due(const struct slot *sl, struct mono now, uint16_t percent)
{
	if (percent != sl->wanted)
		return true;
	if (!sl->pending && !sl->cap_errno)
		return false; /* the wanted cap is in force */
	return mono_sub(now, sl->sent) >= SAMPLER_RETRY_NS;
}

/* Each request is met once. */
static bool send_again(struct sampler *s, uint32_t slot)
{
	bool asked = sampler_is_asked_again(s, slot);

	s->again[slot / 64] &= ~(1ull << (slot % 64));
	return asked;
}

/*
 * Another program set a cap, and control has not published it as the guest's own yet: the
 * bounds are those of the former one. Only a cap below the one found is sure to be right.
 */
static bool must_wait(const struct slot *sl, struct cap wanted, uint16_t percent)
{
	const struct cap *ceiling = &sl->guest->bounds.ceiling;

	if (!sl->foreign || sl->guest->own_generation == sl->generation)
		return false;
	return !wanted.limited || (ceiling->limited && wanted.mpct >= ceiling->mpct) ||
	       (sl->applied.limited && percent >= slot_percent(sl->applied));
}

/* The plan is the one that was found in force, and nothing that it depends on has changed. */
static bool is_settled(const struct sampler *s, const struct slot *sl, const struct plan_guest *p)
{
	return sl->settled && cap_equal(p->cap, sl->met) && p->rate.q16 == sl->rate_wanted.q16 &&
	       !sampler_is_asked_again(s, sl->seat->slot);
}

static void act_on(struct sampler *s, struct slot *sl, const struct plan_guest *p, struct mono now)
{
	bool exempt = sl->guest->flags & POLICY_EXEMPT;
	struct cap c = exempt ? CAP_NONE : p->cap;
	uint16_t percent;

	if (!(sl->guest->flags & POLICY_CAPPABLE))
		return;
	percent = slot_percent(cap_clamp(c, &sl->guest->bounds));
	if (must_wait(sl, c, percent))
		return;
	sl->rate_wanted = exempt ? RATE_ONE : p->rate;
	if (send_again(s, sl->guest->slot) || cap_due(sl, now, percent)) {
		send_cap(s, sl, now, percent);
	} else if (!sl->pending && !sl->cap_errno) {
		/* the cap is in force, so the new rate is too */
		resos_set_rate(&s->ledger, sl->guest->slot, sl->rate_wanted);
		sl->met = p->cap;
		sl->settled = true;
	}
}

void sampler_act(struct sampler *s, struct mono now)
{
	if (s->ho->observe)
		return;
	for (uint32_t i = 0; i < s->dues; i++) {
		struct slot *sl = s->due[i];
		const struct plan_guest *p = &s->plan.guest[sl->seat->slot];

		if (!is_settled(s, sl, p))
			act_on(s, sl, p, now);
	}
}
