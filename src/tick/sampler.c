// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sampler: the first and the last stage of tick(): adopt sets of guests, publish snapshots.
 * See sampler.h.
 */
#include "src/tick/sampler.h"

#include <errno.h>
#include <string.h>

int sampler_init(struct sampler *s, struct handover *ho, const struct sampler_conf *c,
		 struct guest_set *set)
{
	int rc;

	memset(s, 0, sizeof(*s));
	s->ho = ho;
	s->ops = c->ops;
	s->hv = c->hv;
	s->clock = c->clock;
	s->set = set;
	s->snap_ticks = c->snap_ticks ? c->snap_ticks : SAMPLER_SNAP_TICKS;
	s->snap_at = s->snap_ticks;
	s->keep_reports = c->keep_reports;
	s->policy_budget_ns = c->policy_budget_ns;
	s->in.links = c->links;
	for (uint32_t i = 0; i < c->links && i < FLOW_LINKS_MAX; i++)
		s->in.link[i] = (struct policy_link){ c->link[i].bytes_s, c->link[i].mtu, 0 };
	rc = resos_init(&s->ledger, c->epoch_ns, c->link, c->links);
	if (rc)
		return rc;
	rc = period_init(&s->period, c->interval_ns, c->epoch_ns, s->clock.now(&s->clock));
	if (rc)
		return rc;
	/* The first set is in use from the start: no tick has to adopt it. */
	atomic_store(&ho->acked, set->serial);
	return 0;
}

/* Control is woken also when its ring is full: only it can make room. */
bool sampler_event(struct sampler *s, enum event_type type, const struct slot *sl, struct mono now,
		   int64_t a, int64_t b, int64_t c)
{
	struct event ev = { .type = type, .time = now, .a = a, .b = b, .c = c };

	if (sl) {
		ev.slot = sl->guest->slot;
		ev.created = sl->guest->key.created;
	}
	s->wake_control = true;
	return event_put(s->ho, &ev);
}

/*
 * Another than the actor says which cap is in force. No mail is sent until a policy wants
 * another percent than that.
 */
void slot_learn(struct slot *sl, struct cap in_force)
{
	sl->generation++;
	sl->known_serial = sl->serial + 1;
	sl->pending = false;
	sl->cap_errno = 0;
	sl->applied = in_force;
	sl->wanted = slot_percent(in_force);
	sl->foreign = false;
	sl->settled = false;
}

/* A cap is applied by another thread, maybe before the end of what was counted last. */
void slot_count_capped(struct slot *sl, struct mono at)
{
	const struct cap own = sl->guest->own;

	if (mono_sub(at, sl->capped_from) > 0) {
		if (sl->capped)
			sl->capped_ns += mono_sub(at, sl->capped_from);
		sl->capped_from = at;
	}
	sl->capped = sl->applied.limited && (!own.limited || sl->applied.mpct < own.mpct);
}

/* The mailbox stays as it is: the actor may be reading it, and slot_join() looks at it. */
static void slot_leave(struct sampler *s, uint32_t i)
{
	resos_leave(&s->ledger, i);
	slot_bit_clear(&s->used, i);
	memset(&s->slot[i], 0, sizeof(s->slot[i]));
	memset(&s->latencies[i], 0, sizeof(s->latencies[i]));
	memset(&s->second[i], 0, sizeof(s->second[i]));
}

static void slot_join(struct sampler *s, const struct set_guest *g, struct mono now)
{
	struct slot *sl = &s->slot[g->slot];
	const struct policy_inst *pi = s->set->policy;
	const struct mailbox *m = &s->ho->mail[g->slot];
	uint64_t mail = atomic_load(&m->want);
	int rc;

	memset(sl, 0, sizeof(*sl));
	memset(&s->latencies[g->slot], 0, sizeof(s->latencies[0]));
	memset(&s->second[g->slot], 0, sizeof(s->second[0]));
	rc = resos_join(&s->ledger, g->slot, g->link, g->vcpus, g->weight);
	if (rc) /* cannot happen: control hands over checked figures */
		return;
	sl->guest = g;
	slot_bit_set(&s->used, g->slot);
	sl->fresh = true;
	sl->second_began = now;
	sl->rate_wanted = RATE_ONE;
	sl->serial = mail_serial(mail);
	sl->generation = mail_generation(atomic_load(&m->expect));
	slot_learn(sl, g->own);
	slot_count_capped(sl, now);
	/*
	 * The mailbox may still hold mail of the slot's former guest. If its
	 * domain had the same id, that cap may reach this guest: send again.
	 */
	if (mail && mail_domid(mail) == g->key.domid)
		sl->wanted = SLOT_RESEND;
	/* The policy's state of the slot's former guest must not price the new one. */
	if (pi->ops->guest_size && !g->kept)
		memset((uint8_t *)pi->guests + (size_t)g->slot * pi->ops->guest_size, 0,
		       pi->ops->guest_size);
}

static void slot_update(struct sampler *s, const struct set_guest *g, struct mono now)
{
	struct slot *sl = &s->slot[g->slot];

	if (g->vcpus != sl->guest->vcpus || g->weight != sl->guest->weight)
		resos_set_share(&s->ledger, g->slot, g->vcpus, g->weight);
	if (g->flags & ~sl->guest->flags & POLICY_CAPPABLE)
		slot_learn(sl, g->own); /* it was not known before, or set again */
	else if (slot_percent(g->own) != slot_percent(sl->guest->own) &&
		 slot_percent(g->own) != slot_percent(sl->applied))
		/* The operator set a cap meanwhile: the actor will find it. */
		sl->wanted = SLOT_RESEND;
	/* A ring that is not in this set may have worked since it was looked at. */
	if (sl->guest->scan != g->scan) {
		if (!sl->looked)
			sl->last_look = (struct usage){ .slot = g->slot, .link = g->link };
		scan_rested(sl->guest->scan, &sl->last_look);
		sl->looked = true;
	}
	sl->guest = g;
	slot_count_capped(sl, now); /* g->own may be another */
	sl->settled = false;
	/*
	 * This set has what the registry had when control built it: a later change is a new
	 * event.
	 */
	sl->rings_reported = false;
}

static const struct set_guest *set_by_slot(const struct guest_set *set, uint32_t slot)
{
	for (uint32_t i = 0; i < set->guests; i++)
		if (set->guest[i].slot == slot)
			return &set->guest[i];
	return NULL;
}

/* The same guest on the same link: an account belongs to a link. */
static bool same_account(const struct set_guest *was, const struct set_guest *is)
{
	return is && is->key.created == was->key.created && is->link == was->link;
}

/* Free slots of guests that are gone before any new guest joins. */
static void leave_all_gone(struct sampler *s, const struct guest_set *set)
{
	for (uint32_t i = slot_bit_next(&s->used, 0); i < FLOW_GUESTS_MAX;
	     i = slot_bit_next(&s->used, i + 1))
		if (!same_account(s->slot[i].guest, set_by_slot(set, i)))
			slot_leave(s, i);
}

/* What a set says of its guests is the same until the next one: only here it is copied. */
void sampler_seat(struct sampler *s)
{
	s->guests = 0;
	for (uint32_t i = 0; i < s->set->guests; i++)
		if (s->slot[s->set->guest[i].slot].guest)
			s->turn[s->guests++] = &s->slot[s->set->guest[i].slot];
	s->in.guests = 0;
	for (uint32_t i = slot_bit_next(&s->used, 0); i < FLOW_GUESTS_MAX;
	     i = slot_bit_next(&s->used, i + 1)) {
		struct slot *sl = &s->slot[i];
		const struct set_guest *g = sl->guest;

		sl->worked = sl->still = false;
		sl->seat = &s->in.guest[s->in.guests++];
		*sl->seat = (struct policy_guest){
			.slot = g->slot,
			.link = g->link,
			.weight = g->weight,
			.bounds = g->bounds,
			.usage = { .slot = g->slot, .link = g->link },
			.report = { .slot = g->slot },
			.sla = g->sla,
		};
	}
}

void sampler_adopt(struct sampler *s, struct mono now)
{
	struct guest_set *set;

	/* Load first: an exchange in each tick would take the cache line away from control. */
	if (!atomic_load_explicit(&s->ho->next, memory_order_relaxed))
		return;
	set = atomic_exchange_explicit(&s->ho->next, NULL, memory_order_acq_rel);
	if (!set)
		return;
	leave_all_gone(s, set);
	s->set = set;
	if (s->tape)
		tape_set(s);
	for (uint32_t i = set->guests; i > 0; i--)
		scan_before(set->guest[i - 1].scan, i < set->guests ? set->guest[i].scan : NULL);
	for (uint32_t i = 0; i < set->guests; i++) {
		const struct set_guest *g = &set->guest[i];

		if (s->slot[g->slot].guest)
			slot_update(s, g, now);
		else
			slot_join(s, g, now);
	}
	sampler_seat(s);
	/* After all have joined: guests that come together share the pool. */
	for (uint32_t i = 0; i < set->guests; i++)
		resos_issue(&s->ledger, set->guest[i].slot, period_remaining(&s->period, now));
	/* From here on no older set is read, nor its rings and policy. */
	atomic_store_explicit(&s->ho->acked, set->serial, memory_order_release);
	s->wake_control = true;
}

/* Copying totals takes less time than reading the rings: one tick can do all. */
static void copy_ring_totals(struct sampler *s)
{
	uint64_t asked = atomic_load_explicit(&s->ho->rings_asked, memory_order_acquire);

	if (asked == atomic_load_explicit(&s->ho->rings_shown, memory_order_relaxed))
		return;
	for (uint32_t i = 0; i < s->guests; i++) {
		const struct scan_guest *g = s->turn[i]->guest->scan;

		for (uint32_t k = 0; k < g->rings; k++)
			ring_show(g->ring[k].ring);
	}
	atomic_store_explicit(&s->ho->rings_shown, asked, memory_order_release);
}

/* A window is large and most guests report nothing: copy only when there is something. */
static void snap_reports(const struct slot *sl, const struct slot_latencies *l, struct window *w)
{
	if (!sl->latency.n) {
		if (w->n) /* of an earlier guest in this entry */
			window_reset(w);
		return;
	}
	*w = l->reports;
	window_merge(w, &l->second);
}

/* past has the epochs that ended, the account the running one: total is their sum. */
static void snap_one(const struct sampler *s, const struct slot *sl, struct snap_guest *g)
{
	g->key = sl->guest->key;
	g->slot = sl->guest->slot;
	g->set_flags = sl->guest->flags;
	g->account = s->ledger.acc[g->slot];
	g->epoch_usage = sl->epoch_usage;
	g->total_usage = slot_total(sl);
	g->total = sl->past;
	spending_add(&g->total, &g->account);
	g->plan = s->plan.guest[g->slot];
	g->applied = sl->applied;
	g->cap_errno = sl->cap_errno;
	g->rings = sl->guest->scan->rings;
	g->cap_changes = sl->cap_changes;
	g->cap_time = sl->cap_time;
	g->unread_mtus = sl->unread.total;
	g->second = s->second[g->slot].last;
	g->latency = sl->latency;
	if (s->keep_reports)
		snap_reports(sl, &s->latencies[g->slot], &g->reports);
}

static void publish_snapshot(struct sampler *s, struct mono now)
{
	struct snapshot *sn = snap_begin(s->ho);

	sn->time = now;
	sn->epoch = s->period.epoch;
	sn->ticks = s->period.ticks;
	sn->late_ticks = s->period.late;
	sn->starved_ticks = s->period.starved;
	sn->back_ticks = s->period.back;
	sn->late_max_ns = s->late_max_ns;
	sn->late_p99_ns = window_quantile(&s->late, 990);
	sn->tick_ns_max = s->tick_ns_max;
	sn->tick_ns_sum = s->tick_ns_sum;
	sn->supply = s->ledger.supply;
	sn->overcommit = s->ledger.overcommit;
	sn->dropped = s->ledger.dropped;
	sn->set_serial = s->set->serial;
	sn->policy = policy_in_force(s->set->policy);
	sn->guests = s->guests;
	for (uint32_t i = 0; i < s->guests; i++)
		snap_one(s, s->turn[i], &sn->guest[i]);
	snap_publish(s->ho);
}

/* Wake each of the other threads at most once a tick. */
static void wake_others(struct sampler *s)
{
	if (s->wake_actor)
		handover_wake(s->ho->actor_fd);
	if (s->wake_control)
		handover_wake(s->ho->control_fd);
	s->wake_actor = s->wake_control = false;
}

void sampler_publish(struct sampler *s, struct mono now)
{
	/* No other thread writes it: no atomic addition, which is slow, is needed. */
	atomic_store_explicit(&s->ho->alive,
			      atomic_load_explicit(&s->ho->alive, memory_order_relaxed) + 1,
			      memory_order_release);
	copy_ring_totals(s);
	if (sampler_shows(s)) {
		publish_snapshot(s, now);
		s->snap_at = s->period.ticks + s->snap_ticks;
	}
	wake_others(s);
}
