/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler_rig: sampler and actor on a fake host and simulated time, without
 * threads. What rings say is scripted a slot; the policy wants what the test
 * wishes. Sets are freed as soon as the sampler acknowledged a later one, so
 * that reading an old one is seen by the address sanitizer.
 */
#ifndef RESEX_TESTS_SAMPLER_RIG_H
#define RESEX_TESTS_SAMPLER_RIG_H

#include <poll.h>
#include <string.h>

#include "src/conf/policy.h"
#include "src/tick/actor.h"
#include "src/tick/sampler.h"
#include "tests/fakes/fake_host.h"
#include "tests/unit/prop.h"

#define MS	 NS_PER_MS
#define S	 NS_PER_S
#define RESOS(n) ((int64_t)(n)*RESO_MILLI)

enum { RIG_SETS_MAX = 8, RIG_EVENTS_MAX = 4096 };

/* What scan_guest finds at the next ticks. */
struct rig_scan {
	struct usage add;
	struct report report;
	uint64_t latency_ns; /* each of the report's samples */
	struct scan_result res;
	uint32_t calls, told;
	uint64_t rested_mtus; /* what scan_rested finds once */
	int64_t elapsed_ns;   /* as the sampler said */
};

/* The wishing policy's parameters and state. */
struct rig_wish {
	struct cap cap[FLOW_GUESTS_MAX];
	struct rate rate[FLOW_GUESTS_MAX];
	struct resos stands[FLOW_GUESTS_MAX];
};
struct rig_block {
	uint64_t decisions;
};

struct sampler_rig {
	struct handover ho;
	struct sampler s;
	struct actor a;
	struct fake_host host;
	struct mono now;
	struct policy_inst *policy;
	struct rig_scan scan[FLOW_GUESTS_MAX];
	uint32_t guests; /* entries of guest[]: the next set */
	struct set_guest guest[FLOW_GUESTS_MAX];
	uint64_t serial, created;
	struct guest_set *set[RIG_SETS_MAX]; /* not freed yet */
	uint32_t events;
	struct event event[RIG_EVENTS_MAX]; /* drained by rig_tick */
};

/* --- ibmon, as scripted -------------------------------------------------- */

struct ring {
	struct ring_totals totals, shown;
};

void scan_guest(struct scan_guest *g, int64_t elapsed_ns, struct usage *u, struct report *rep,
		struct window *whole, struct scan_result *res)
{
	static const struct usage none;
	struct rig_scan *sc = (struct rig_scan *)(uintptr_t)g->registry;
	struct usage work = sc->add;

	sc->calls++;
	sc->elapsed_ns = elapsed_ns;
	u->flags |= sc->add.flags;
	u->msg_bytes = sc->add.msg_bytes;
	u->mtus_sent += sc->add.mtus_sent;
	u->mtus_recv += sc->add.mtus_recv;
	u->bytes_sent += sc->add.bytes_sent;
	u->bytes_recv += sc->add.bytes_recv;
	u->wrs += sc->add.wrs;
	u->lost += sc->add.lost;
	u->backlog += sc->add.backlog;
	u->queues += sc->add.queues ? sc->add.queues : sc->add.backlog > 0;
	*rep = sc->report;
	rep->slot = u->slot;
	for (uint64_t i = 0; whole && i < rep->n; i++) /* who reports has a window */
		window_add(whole, sc->latency_ns);
	*res = sc->res;
	work.backlog = work.queues = 0;
	res->found = memcmp(&work, &none, sizeof(work)) || rep->n || rep->flags || res->refresh ||
		     res->faults || res->latencies_lost;
}

void scan_rested(struct scan_guest *g, struct usage *u)
{
	struct rig_scan *sc = (struct rig_scan *)(uintptr_t)g->registry;

	if (!sc) /* a replay's */
		return;
	u->mtus_sent += sc->rested_mtus;
	u->backlog += sc->rested_mtus;
	u->queues += sc->rested_mtus > 0;
	sc->rested_mtus = 0;
}

void scan_before(struct scan_guest *g, const struct scan_guest *after)
{
	g->after = after;
}

void scan_prefetch(const struct scan_guest *g, int64_t elapsed_ns)
{
	(void)g;
	(void)elapsed_ns;
}

void scan_fault_delivered(const struct scan_guest *g, uint32_t id)
{
	struct rig_scan *sc = (struct rig_scan *)(uintptr_t)g->registry;

	for (uint32_t i = 0; i < sc->res.faults && i < 8; i++)
		sc->told += sc->res.fault_id[i] == id;
}

void ring_show(struct ring *r)
{
	r->shown = r->totals;
}

/* --- the wishing policy --------------------------------------------------- */

static void rig_wish_decide(const struct policy_in *in, const void *params, void *global,
			    void *guests, struct plan *plan)
{
	const struct rig_wish *w = params;
	struct rig_block *all = global, *each = guests;

	all->decisions++;
	for (uint32_t i = 0; i < in->guests; i++) {
		uint32_t slot = in->guest[i].slot;

		each[slot].decisions++;
		plan->guest[slot] = (struct plan_guest){
			.cap = w->cap[slot],
			.rate = w->rate[slot].q16 ? w->rate[slot] : RATE_ONE,
			.reason = w->cap[slot].limited,
			.stands = w->stands[slot],
		};
	}
}

static const struct policy_ops rig_wishing = {
	.abi = POLICY_ABI,
	.name = "wish",
	.text = "Wants what the test wishes.",
	.params_size = sizeof(struct rig_wish),
	.global_size = sizeof(struct rig_block),
	.guest_size = sizeof(struct rig_block),
	.decide = rig_wish_decide,
};

static inline struct policy_inst *rig_policy(const struct policy_ops *ops)
{
	struct policy_inst *pi = calloc(1, sizeof(*pi));

	assert_non_null(pi);
	pi->ops = ops;
	pi->params = calloc(1, ops->params_size + 8);
	pi->global = calloc(1, ops->global_size + 8);
	pi->guests = calloc(FLOW_GUESTS_MAX, ops->guest_size + 8);
	assert_true(pi->params && pi->global && pi->guests);
	for (const struct policy_param *p = ops->params; p && p->name; p++)
		memcpy((uint8_t *)pi->params + p->offset, &p->def, sizeof(p->def));
	return pi;
}

static inline void rig_policy_free(struct policy_inst *pi)
{
	free(pi->params);
	free(pi->global);
	free(pi->guests);
	free(pi);
}

static inline struct rig_wish *rig_wish(struct sampler_rig *g)
{
	return g->policy->params;
}

/* --- sets ------------------------------------------------------------------ */

static inline void rig_set_free(struct guest_set *set)
{
	for (uint32_t i = 0; set && i < set->guests; i++)
		free(set->guest[i].scan);
	free(set);
}

static inline struct scan_guest *rig_scan_new(struct sampler_rig *g, uint32_t slot)
{
	struct scan_guest *sg = calloc(1, sizeof(*sg));

	assert_non_null(sg);
	sg->slot = slot;
	sg->registry = &g->scan[slot];
	return sg;
}

static inline struct guest_set *rig_set_new(struct sampler_rig *g)
{
	struct guest_set *set = calloc(1, sizeof(*set) + g->guests * sizeof(set->guest[0]));
	uint32_t i = 0;

	assert_non_null(set);
	set->serial = ++g->serial;
	set->policy = g->policy;
	set->guests = g->guests;
	memcpy(set->guest, g->guest, g->guests * sizeof(set->guest[0]));
	for (uint32_t k = 0; k < set->guests; k++)
		set->guest[k].scan = rig_scan_new(g, set->guest[k].slot);
	while (i < RIG_SETS_MAX && g->set[i])
		i++;
	assert_true(i < RIG_SETS_MAX);
	return g->set[i] = set;
}

static inline void rig_drop(struct sampler_rig *g, const struct guest_set *set)
{
	for (uint32_t i = 0; i < RIG_SETS_MAX; i++)
		if (set && g->set[i] == set) {
			rig_set_free(g->set[i]);
			g->set[i] = NULL;
		}
}

/* What guest[] says goes to the sampler's next tick; a set never taken comes back. */
static inline struct guest_set *rig_publish(struct sampler_rig *g)
{
	struct guest_set *set = rig_set_new(g);

	rig_drop(g, atomic_exchange(&g->ho.next, set));
	return set;
}

/* A guest of the next set, and its domain, unless that is there. */
static inline struct set_guest *rig_join(struct sampler_rig *g, uint32_t slot, uint32_t domid)
{
	struct fake_dom *d = fake_dom(&g->host, domid);
	uint32_t at = 0;
	struct set_guest *e;

	if (!d)
		d = fake_dom_add(&g->host, domid, (uint8_t)(domid * 31 + g->created));
	while (at < g->guests && g->guest[at].key.domid < domid)
		at++;
	e = &g->guest[at];
	memmove(e + 1, e, (g->guests++ - at) * sizeof(*e));
	*e = (struct set_guest){
		.key = { .domid = domid, .created = ++g->created },
		.slot = slot,
		.flags = POLICY_CAPPABLE,
		.vcpus = 1,
		.weight = 256,
		.bounds = { .ceiling = CAP_NONE, .min_mpct = 1000, .vcpus = 1 },
	};
	memcpy(e->key.uuid, d->dom.uuid, sizeof(e->key.uuid));
	return e;
}

static inline void rig_leave(struct sampler_rig *g, uint32_t domid)
{
	for (uint32_t i = 0; i < g->guests; i++)
		if (g->guest[i].key.domid == domid) {
			memmove(&g->guest[i], &g->guest[i + 1],
				(--g->guests - i) * sizeof(g->guest[0]));
			return;
		}
	fail_msg("domain %u is not in the set", domid);
}

/* --- time -------------------------------------------------------------------- */

static inline void rig_drain(struct sampler_rig *g)
{
	while (g->events < RIG_EVENTS_MAX && event_get(&g->ho, &g->event[g->events]))
		g->events++;
}

static inline void rig_tick(struct sampler_rig *g, int64_t ns)
{
	uint64_t acked;

	g->now.ns += ns;
	g->a.clock.sim_ns = g->now.ns;
	tick(&g->s, g->now);
	acked = atomic_load(&g->ho.acked);
	for (uint32_t i = 0; i < RIG_SETS_MAX; i++)
		if (g->set[i] && g->set[i]->serial < acked)
			rig_drop(g, g->set[i]);
	rig_drain(g);
}

/* The actor carries out what is waiting; the next tick sees the answers. */
static inline void rig_actor(struct sampler_rig *g)
{
	actor_once(&g->a);
}

/* To the first tick of the next epoch, in which all guests of the set have a whole share. */
static inline void rig_next_epoch(struct sampler_rig *g)
{
	rig_tick(g, g->s.period.epoch_start.ns + g->s.period.epoch_ns - g->now.ns);
}

/* A guest that has been there since the epoch began. */
static inline struct set_guest *rig_settled(struct sampler_rig *g, uint32_t slot, uint32_t domid)
{
	struct set_guest *e = rig_join(g, slot, domid);

	rig_publish(g);
	rig_tick(g, MS);
	rig_next_epoch(g);
	return e;
}

static inline const struct event *rig_event(const struct sampler_rig *g, enum event_type type,
					    uint32_t nth)
{
	for (uint32_t i = 0; i < g->events; i++)
		if (g->event[i].type == type && nth-- == 0)
			return &g->event[i];
	return NULL;
}

static inline uint32_t rig_events(const struct sampler_rig *g, enum event_type type)
{
	uint32_t n = 0;

	while (rig_event(g, type, n))
		n++;
	return n;
}

static inline struct account *rig_account(struct sampler_rig *g, uint32_t slot)
{
	return &g->s.ledger.acc[slot];
}

/*
 * As control does: a cap of another program that the events drained so far name is the guest's
 * own in the next set. Returns how many it took. No event is left.
 */
static inline uint32_t rig_take_foreign(struct sampler_rig *g)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < g->events; i++) {
		const struct event *ev = &g->event[i];

		for (uint32_t k = 0; ev->type == EVENT_CAP_FOREIGN && k < g->guests; k++) {
			struct set_guest *e = &g->guest[k];

			if (e->slot != ev->slot || e->key.created != ev->created)
				continue;
			e->own = e->bounds.ceiling = cap_from_percent((uint32_t)ev->a);
			e->own_generation = (uint32_t)ev->c;
			taken++;
		}
	}
	g->events = 0;
	return taken;
}

static inline bool rig_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* --- a rig a test -------------------------------------------------------------- */

static inline void rig_open_with(struct sampler_rig *g, const struct policy_ops *ops)
{
	static const struct link_conf link = {
		.name = "ib0", .bytes_s = 1u << 30, .mtu = 1024, .profile = PRICE_PAPER_2011
	};
	struct sampler_conf c = {
		.interval_ns = MS,
		.epoch_ns = S,
		.link = &link,
		.links = 1,
		.ops = &fake_sched_ops,
		.hv = &g->host.sched,
		.keep_reports = true,
	};

	memset(g, 0, sizeof(*g));
	fake_host_open(&g->host);
	assert_int_equal(handover_open(&g->ho), 0);
	g->policy = rig_policy(ops);
	g->now.ns = 5 * S;
	clock_sim(&c.clock, g->now);
	assert_int_equal(sampler_init(&g->s, &g->ho, &c, rig_set_new(g)), 0);
	g->a = (struct actor){
		.ho = &g->ho, .ops = &fake_sched_ops, .hv = &g->host.sched, .clock = c.clock
	};
}

static inline int rig_setup(void **state)
{
	struct sampler_rig *g = malloc(sizeof(*g));

	if (!g)
		return -1;
	rig_open_with(g, &rig_wishing);
	*state = g;
	return 0;
}

static inline int rig_teardown(void **state)
{
	struct sampler_rig *g = *state;

	for (uint32_t i = 0; i < RIG_SETS_MAX; i++)
		rig_set_free(g->set[i]);
	rig_policy_free(g->policy);
	handover_close(&g->ho);
	free(g);
	return 0;
}

#define WITH_RIG(name) TEST_WITH(name, rig_setup, rig_teardown)

#endif
