// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sampler: random scripts of guests that come, go, change and misbehave, of
 * late ticks and clocks that go back, of an actor that is slow and refused.
 */
#include <errno.h>

#include "src/core/caps.h"
#include "tests/unit/sampler_rig.h"
#include "tests/unit/unit.h"

enum { SCRIPTS = 12, STEPS = 1500, SLOTS = 12, DOMIDS = 24 };

struct script {
	struct prop p;
	struct sampler_rig *g;
	uint64_t step, acked;
	bool own_set;			/* in this step */
	uint64_t want[FLOW_GUESTS_MAX]; /* mail as of the last tick */
};

static bool slot_used(const struct sampler_rig *g, uint32_t slot)
{
	for (uint32_t i = 0; i < g->guests; i++)
		if (g->guest[i].slot == slot)
			return true;
	return false;
}

static bool domid_used(const struct sampler_rig *g, uint32_t domid)
{
	for (uint32_t i = 0; i < g->guests; i++)
		if (g->guest[i].key.domid == domid)
			return true;
	return false;
}

/*
 * An operator sets another own cap, or the guest may be capped from now on: control reads the own
 * cap, and publishes it before the next tick.
 */
static void set_own(struct script *c, struct set_guest *e, struct cap own, bool cappable)
{
	struct fake_dom *d = fake_dom(&c->g->host, e->key.domid);

	if (cappable && cap_to_percent(own) == cap_to_percent(e->own))
		return;
	rig_actor(c->g);
	e->own = own;
	if (d)
		d->params.cap = own;
	c->own_set = true;
}

static void random_settings(struct script *c, struct set_guest *e, bool cappable)
{
	struct prop *p = &c->p;
	struct cap own = prop_one_in(p, 3) ? CAP_PERCENT(prop_range(p, 1, 400)) : CAP_NONE;

	e->vcpus = (uint32_t)prop_range(p, 1, prop_one_in(p, 10) ? 4096 : 8);
	e->weight = (uint32_t)prop_range(p, 1, prop_one_in(p, 10) ? 65535 : 512);
	e->flags = (uint32_t)prop_range(p, 0, 3); /* EXEMPT and CAPPABLE */
	e->bounds.vcpus = e->vcpus;
	e->bounds.min_mpct = (uint32_t)prop_range(p, 1, 100) * 1000;
	e->bounds.ceiling = prop_one_in(p, 3) ? CAP_PERCENT(prop_range(p, 1, 100)) : own;
	set_own(c, e, own, cappable);
}

static void one_joins(struct script *c)
{
	uint32_t slot = (uint32_t)prop_range(&c->p, 0, SLOTS - 1) * 21;
	uint32_t domid = (uint32_t)prop_range(&c->p, 1, DOMIDS);

	if (slot_used(c->g, slot) || domid_used(c->g, domid))
		return;
	random_settings(c, rig_join(c->g, slot, domid), false);
}

static void one_leaves(struct script *c)
{
	uint32_t domid;

	if (!c->g->guests)
		return;
	domid = c->g->guest[prop_range(&c->p, 0, c->g->guests - 1)].key.domid;
	rig_leave(c->g, domid);
	if (fake_dom(&c->g->host, domid) && prop_one_in(&c->p, 2))
		fake_dom_remove(&c->g->host, domid);
}

static void one_changes(struct script *c)
{
	struct set_guest *e;

	if (!c->g->guests)
		return;
	e = &c->g->guest[prop_range(&c->p, 0, c->g->guests - 1)];
	if (c->g->s.slot[e->slot].pending)
		return; /* the answer would tell of an own cap before this one */
	random_settings(c, e, e->flags & POLICY_CAPPABLE);
}

/* A domain dies, is replaced under its id, or uses CPU; its counter may go back. */
static void one_domain(struct script *c)
{
	struct fake_dom *d = &c->g->host.dom[prop_range(&c->p, 0, c->g->host.doms - 1)];

	if (!d->dom.domid)
		return;
	switch (prop_range(&c->p, 0, 7)) {
	case 0:
		d->dom.flags ^= HV_DOM_DYING;
		break;
	case 1:
		d->dom.uuid[3] ^= 1;
		break;
	case 2:
		d->dom.cpu_ns = prop_hostile(&c->p);
		break;
	case 3:
		d->set_rc = prop_one_in(&c->p, 2) ? -EBUSY : 0;
		break;
	default:
		d->dom.cpu_ns += prop_range(&c->p, 0, 20 * (uint64_t)MS);
	}
}

static void one_slots_rings(struct script *c)
{
	struct rig_scan *sc = &c->g->scan[prop_range(&c->p, 0, SLOTS - 1) * 21];

	sc->add.mtus_sent = prop_one_in(&c->p, 20) ? prop_hostile(&c->p)
						   : prop_range(&c->p, 0, 5000);
	sc->add.mtus_recv = prop_one_in(&c->p, 20) ? prop_hostile(&c->p) : 0;
	sc->res.faults = prop_one_in(&c->p, 30) ? (uint32_t)prop_hostile(&c->p) : 0;
	sc->res.refresh = prop_one_in(&c->p, 10);
}

static void one_wish(struct script *c)
{
	uint32_t slot = (uint32_t)prop_range(&c->p, 0, SLOTS - 1) * 21;
	struct rig_wish *w = rig_wish(c->g);

	w->cap[slot] = prop_one_in(&c->p, 3) ? CAP_NONE
					     : (struct cap){ 1, (uint32_t)prop_hostile(&c->p) };
	w->rate[slot].q16 = prop_one_in(&c->p, 2) ? 65536 : (uint32_t)prop_hostile(&c->p);
}

static int64_t random_time(struct script *c)
{
	switch (prop_range(&c->p, 0, 19)) {
	case 0:
		return -(int64_t)prop_range(&c->p, 0, 5 * (uint64_t)MS);
	case 1:
		return (int64_t)prop_range(&c->p, 0, 3 * (uint64_t)S);
	case 2:
		return 0;
	case 3:
	case 4:
		return (int64_t)prop_range(&c->p, 0, 100 * (uint64_t)MS);
	default:
		return MS;
	}
}

/* The guest a slot belongs to by the set in use, or NULL. */
static const struct set_guest *holder(const struct sampler_rig *g, uint32_t slot)
{
	for (uint32_t i = 0; i < g->s.set->guests; i++)
		if (g->s.set->guest[i].slot == slot)
			return &g->s.set->guest[i];
	return NULL;
}

/* As it was clamped; mail has no room for more than 65534 percent. */
static bool percent_allowed(const struct set_guest *e, uint16_t percent)
{
	const struct cap c = cap_clamp(cap_from_percent(percent), &e->bounds);
	const struct cap own = cap_clamp(CAP_NONE, &e->bounds);

	return cap_to_percent(c) == percent || cap_to_percent(own) == percent ||
	       (percent == 65534 && e->vcpus > 655);
}

static void check_mail(struct script *c)
{
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		uint64_t w = atomic_load(&c->g->ho.mail[i].want);
		const struct set_guest *e = holder(c->g, i);

		if (w == c->want[i])
			continue;
		c->want[i] = w;
		prop_assert(&c->p, c->step, e); /* no mail for a guest that is not in the set */
		prop_assert(&c->p, c->step, e->flags & POLICY_CAPPABLE);
		prop_assert(&c->p, c->step, mail_domid(w) == e->key.domid);
		prop_assert(&c->p, c->step, mail_serial(w) != 0);
		prop_assert(&c->p, c->step, percent_allowed(e, mail_percent(w)));
		if (e->flags & POLICY_EXEMPT)
			prop_assert(&c->p, c->step,
				    mail_percent(w) ==
					    cap_to_percent(cap_clamp(CAP_NONE, &e->bounds)));
	}
}

static void check_slots(struct script *c)
{
	const struct sampler *s = &c->g->s;

	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		const struct set_guest *e = holder(c->g, i);
		const struct account *a = &s->ledger.acc[i];

		prop_assert(&c->p, c->step, !!s->slot[i].guest == !!e);
		prop_assert(&c->p, c->step, !!(a->flags & ACCOUNT_ACTIVE) == !!e);
		if (!e)
			continue;
		prop_assert(&c->p, c->step, s->slot[i].guest == e);
		prop_assert(&c->p, c->step, a->rate.q16 >= 65536);
	}
}

static void check(struct script *c)
{
	uint64_t acked = atomic_load(&c->g->ho.acked);

	prop_assert(&c->p, c->step, acked >= c->acked);
	prop_assert(&c->p, c->step, acked == c->g->s.set->serial);
	c->acked = acked;
	prop_assert(&c->p, c->step, resos_check(&c->g->s.ledger) == 0);
	check_mail(c);
	check_slots(c);
	(void)rig_take_foreign(c->g); /* the next set has it */
	if (c->g->host.calls > FAKE_CALLS_MAX - FLOW_GUESTS_MAX)
		c->g->host.calls = 0;
}

static void change_something(struct script *c)
{
	void (*const change[])(struct script *) = { one_joins,	one_leaves,	 one_changes,
						    one_domain, one_slots_rings, one_wish };
	const size_t n = sizeof(change) / sizeof(change[0]);

	c->own_set = false;
	for (uint64_t i = prop_range(&c->p, 0, 4); i > 0 && !c->own_set; i--)
		change[prop_range(&c->p, 0, n - 1)](c);
	c->g->host.list_rc = prop_one_in(&c->p, 50) ? -EIO : 0;
	if (prop_one_in(&c->p, 40))
		atomic_store(&c->g->ho.rings_asked, prop_hostile(&c->p));
}

static void run_one(struct script *c)
{
	for (c->step = 0; c->step < STEPS; c->step++) {
		int64_t ns = random_time(c);

		change_something(c);
		if (c->own_set || prop_one_in(&c->p, 3))
			rig_publish(c->g);
		if (c->g->now.ns + ns < 0)
			ns = 0;
		rig_tick(c->g, ns);
		check(c);
		if (!prop_one_in(&c->p, 3))
			rig_actor(c->g);
		(void)snap_latest(&c->g->ho);
	}
}

WITH_RIG(random_scripts__books_balance_and_only_guests_in_the_set_get_mail)
{
	struct script c = { .g = *state };

	prop_start(&c.p);
	for (int i = 0; i < SCRIPTS; i++) {
		memset(c.want, 0, sizeof(c.want));
		c.acked = 0;
		run_one(&c);
		rig_teardown((void **)&c.g);
		assert_int_equal(rig_setup((void **)&c.g), 0);
		*state = c.g;
	}
}

static uint32_t written(struct cap c)
{
	uint32_t percent = cap_to_percent(c);

	return percent > 65534 ? 65534 : percent;
}

static uint32_t percent_in_force(struct sampler_rig *g, const struct set_guest *e)
{
	return cap_to_percent(fake_dom(&g->host, e->key.domid)->params.cap);
}

/* When all is quiet, what is wanted is what the scheduler has. */
WITH_RIG(random_scripts__then_quiet__each_cap_is_as_wanted)
{
	struct script c = { .g = *state };
	struct sampler_rig *g = c.g;

	prop_start(&c.p);
	run_one(&c);
	g->host.list_rc = 0;
	rig_publish(g);
	for (uint32_t i = 0; i < g->host.doms; i++)
		g->host.dom[i].set_rc = 0;
	for (int i = 0; i < 120; i++) {
		if (rig_take_foreign(g))
			rig_publish(g);
		rig_tick(g, MS);
		rig_actor(g);
	}
	for (uint32_t i = 0; i < g->guests; i++) {
		const struct set_guest *e = &g->guest[i];
		const struct slot *sl = &g->s.slot[e->slot];
		const struct plan_guest *p = &g->s.plan.guest[e->slot];
		struct cap want = e->flags & POLICY_EXEMPT ? CAP_NONE : p->cap;

		if (!(e->flags & POLICY_CAPPABLE) || !fake_dom(&g->host, e->key.domid))
			continue;
		prop_assert(&c.p, c.step, !sl->pending && !sl->cap_errno);
		prop_assert(&c.p, c.step, sl->wanted == written(cap_clamp(want, &e->bounds)));
		prop_assert(&c.p, c.step, percent_in_force(g, e) == sl->wanted);
	}
}
