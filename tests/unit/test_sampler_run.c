// SPDX-License-Identifier: GPL-2.0-or-later
/* sampler: queues it cannot read, what it shows to control, and the loop that ticks. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "policies/policies.h"
#include "tests/unit/sampler_rig.h"
#include "tests/unit/unit.h"

#define SHARE (RESOS(100000) + RESOS(1048576)) /* of one guest alone */

/* --- queues that cannot be read ----------------------------------------------------- */

/* Also when nothing else is found: then little is done for a guest. */
WITH_RIG(account__queue_that_cannot_be_read__is_charged_at_its_rate)
{
	struct sampler_rig *g = *state;
	struct set_guest *e = rig_settled(g, 3, 7);

	e->unreadable = 1;
	e->unreadable_mtus_s = 1000000;
	rig_publish(g);
	for (int i = 1; i <= 3; i++) {
		rig_tick(g, MS);
		assert_int_equal(rig_account(g, 3)->charged_io.m, RESOS(1000) * i);
	}
}

/* --- what control sees ------------------------------------------------------------ */

static const struct snapshot *newest(struct sampler_rig *g)
{
	while (g->s.period.ticks % SAMPLER_SNAP_TICKS)
		rig_tick(g, MS);
	return snap_latest(&g->ho);
}

WITH_RIG(snapshot__is_made_in_each_tenth_tick_and_in_no_other)
{
	struct sampler_rig *g = *state;

	newest(g);
	for (uint32_t i = 1; i <= 3 * SAMPLER_SNAP_TICKS; i++) {
		rig_tick(g, MS);
		assert_int_equal(snap_latest(&g->ho)->ticks,
				 g->s.period.ticks - i % SAMPLER_SNAP_TICKS);
	}
}

WITH_RIG(snapshot__shows_accounts_use_plan_and_cap)
{
	struct sampler_rig *g = *state;
	const struct snapshot *sn;
	const struct snap_guest *s;

	rig_settled(g, 3, 7);
	rig_wish(g)->cap[3] = CAP_PERCENT(40);
	g->scan[3].add.mtus_sent = 5;
	rig_tick(g, MS);
	rig_actor(g);
	rig_tick(g, MS);
	sn = newest(g);
	s = &sn->guest[0];
	assert_int_equal(sn->guests, 1);
	assert_int_equal(sn->ticks, g->s.period.ticks);
	assert_int_equal(sn->time.ns, g->now.ns);
	assert_int_equal(sn->epoch, 1);
	assert_int_equal(sn->set_serial, g->serial);
	assert_ptr_equal(sn->policy, &rig_wishing);
	assert_int_equal(sn->supply.m, SHARE);
	assert_int_equal(s->key.domid, 7);
	assert_int_equal(s->slot, 3);
	assert_int_equal(s->applied.mpct, 40000);
	assert_int_equal(s->plan.cap.mpct, 40000);
	assert_int_equal(s->cap_changes, 1);
	assert_int_equal(s->account.spent.m, rig_account(g, 3)->spent.m);
	assert_int_equal(s->epoch_usage.mtus_sent, g->s.slot[3].epoch_usage.mtus_sent);
	assert_true(s->epoch_usage.mtus_sent >= 10);
}

WITH_RIG(snapshot__is_made_each_tenth_tick)
{
	struct sampler_rig *g = *state;
	uint64_t was = newest(g)->ticks;

	for (int i = 1; i < SAMPLER_SNAP_TICKS; i++) {
		rig_tick(g, MS);
		assert_int_equal(snap_latest(&g->ho)->ticks, was);
	}
	rig_tick(g, MS);
	assert_int_equal(snap_latest(&g->ho)->ticks, was + SAMPLER_SNAP_TICKS);
}

WITH_RIG(snapshot__long_intervals__is_made_each_tick)
{
	struct sampler_rig *g = *state;

	g->s.period.interval_ns = 500 * MS;
	for (int i = 0; i < 3; i++) {
		rig_tick(g, 500 * MS);
		assert_int_equal(snap_latest(&g->ho)->time.ns, g->now.ns);
	}
}

WITH_RIG(life_sign__one_more_each_tick)
{
	struct sampler_rig *g = *state;
	uint32_t was = atomic_load(&g->ho.alive);

	for (int i = 0; i < 3; i++)
		rig_tick(g, MS);
	assert_int_equal(atomic_load(&g->ho.alive), was + 3);
}

/* A scan with rings; its one allocation is the set's to free. */
static void give_rings(struct sampler_rig *g, struct guest_set *set, struct ring *ring, uint32_t n)
{
	struct scan_guest *sg = calloc(1, sizeof(*sg) + n * sizeof(sg->ring[0]));

	assert_non_null(sg);
	*sg = *set->guest[0].scan;
	sg->rings = n;
	for (uint32_t i = 0; i < n; i++)
		sg->ring[i] = (struct scan_ring){ .ring = &ring[i], .id = 50 + i };
	free(set->guest[0].scan);
	set->guest[0].scan = sg;
	(void)g;
}

WITH_RIG(rings_asked_for__totals_are_set_aside_at_the_next_tick_once)
{
	struct sampler_rig *g = *state;
	struct ring ring[2] = { { .totals.wrs = 11 }, { .totals = { .wrs = 22, .qpn = 5 } } };

	rig_join(g, 3, 7);
	give_rings(g, rig_publish(g), ring, 2);
	rig_tick(g, MS);
	assert_int_equal(ring[0].shown.wrs, 0);
	atomic_store(&g->ho.rings_asked, 1);
	rig_tick(g, MS);
	assert_int_equal(atomic_load(&g->ho.rings_shown), 1);
	assert_int_equal(ring[0].shown.wrs, 11);
	assert_int_equal(ring[1].shown.wrs, 22);
	assert_int_equal(ring[1].shown.qpn, 5);
	ring[0].totals.wrs = 12; /* nobody asked again: somebody may be reading */
	rig_tick(g, MS);
	assert_int_equal(ring[0].shown.wrs, 11);
}

WITH_RIG(rings_asked_for__no_guest__is_answered)
{
	struct sampler_rig *g = *state;

	atomic_store(&g->ho.rings_asked, 7);
	rig_tick(g, MS);
	assert_int_equal(atomic_load(&g->ho.rings_shown), 7);
}

/* --- the loop ------------------------------------------------------------------------ */

/* A clock whose sleeps are overslept as scripted; the loop ends with the script. */
struct overslept {
	struct handover *ho;
	const int64_t *by; /* ns beyond the time asked for; SLEPT_NOT: interrupted */
	size_t n, at;
	struct mono asked[16];
};
#define SLEPT_NOT INT64_MIN

static struct overslept *script; /* sleep_until has no argument of its own */

static int oversleep(struct clock *c, struct mono t)
{
	int64_t by = script->by[script->at];

	script->asked[script->at++] = t;
	if (script->at == script->n)
		atomic_store(&script->ho->stop, 1);
	if (by == SLEPT_NOT)
		return -EINTR;
	c->sim_ns = t.ns + by;
	return 0;
}

static void run_script(struct sampler_rig *g, struct overslept *o, const int64_t *by, size_t n)
{
	*o = (struct overslept){ .ho = &g->ho, .by = by, .n = n };
	script = o;
	g->s.clock.sleep_until = oversleep;
	sampler_run(&g->s);
	rig_drain(g);
}

WITH_RIG(run__on_time__sleeps_until_whole_intervals)
{
	static const int64_t by[] = { 0, 90000, 10, 0 };
	struct sampler_rig *g = *state;
	struct overslept o;

	run_script(g, &o, by, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(o.asked[i].ns, g->now.ns + (i + 1) * MS);
	assert_int_equal(g->s.period.ticks, 4);
	assert_int_equal(g->s.late_max_ns, 90000);
	assert_int_equal(rig_events(g, EVENT_LATE), 0);
}

WITH_RIG(run__overslept_by_several_intervals__one_longer_tick_and_no_burst)
{
	static const int64_t by[] = { 0, 5300 * NS_PER_US, 0, 0 };
	struct sampler_rig *g = *state;
	struct overslept o;

	run_script(g, &o, by, 4);
	assert_int_equal(g->s.period.ticks, 4);
	assert_int_equal(o.asked[1].ns, g->now.ns + 2 * MS);
	assert_int_equal(o.asked[2].ns, g->now.ns + 8 * MS);
	assert_int_equal(o.asked[3].ns, g->now.ns + 9 * MS);
	assert_int_equal(g->s.late_max_ns, 5300 * NS_PER_US);
	assert_int_equal(g->s.period.late, 1);
}

/* A machine that was suspended. */
WITH_RIG(run__overslept_by_ten_hours__goes_on_a_millisecond_later)
{
	static const int64_t by[] = { 0, 36000 * S, 0, 0 };
	struct sampler_rig *g = *state;
	struct overslept o;

	run_script(g, &o, by, 4);
	assert_int_equal(g->s.period.ticks, 4);
	assert_int_equal(g->s.period.late, 1);
	assert_int_equal(o.asked[2].ns, g->now.ns + 36000 * S + 3 * MS);
	assert_int_equal(o.asked[3].ns, g->now.ns + 36000 * S + 4 * MS);
	assert_int_equal(rig_events(g, EVENT_LATE), 1);
	assert_int_equal(rig_event(g, EVENT_LATE, 0)->a, 36000 * S);
}

WITH_RIG(run__late_again_and_again__is_told_at_most_once_a_second)
{
	static const int64_t by[] = { 2 * MS, 2 * MS, 2 * MS, S, 3 * MS, 4 * MS };
	struct sampler_rig *g = *state;
	struct overslept o;

	run_script(g, &o, by, 6);
	assert_int_equal(rig_events(g, EVENT_LATE), 2);
	assert_int_equal(rig_event(g, EVENT_LATE, 0)->a, 2 * MS);
	assert_int_equal(rig_event(g, EVENT_LATE, 1)->a, S);
}

WITH_RIG(run__sleep_interrupted__no_tick_until_the_next)
{
	static const int64_t by[] = { 0, SLEPT_NOT, 0 };
	struct sampler_rig *g = *state;
	struct overslept o;

	run_script(g, &o, by, 3);
	assert_int_equal(g->s.period.ticks, 2);
}

WITH_RIG(run__stopped_before_it_began__does_not_tick)
{
	struct sampler_rig *g = *state;

	atomic_store(&g->ho.stop, 1);
	sampler_run(&g->s);
	assert_int_equal(g->s.period.ticks, 0);
}

/* --- an operator, the actor and the sampler at once ---------------------------------- */

enum { OPERATOR_CAPS = 200, OURS_MAX = 50 }; /* caps of the operator are above ours */

struct crowd {
	struct sampler_rig *g;
	struct actor actor;
	_Atomic uint32_t found; /* what control was told last */
	_Atomic bool end;
	uint32_t lost;
};

static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;

static int locked_list(struct hv_sched *s, struct hv_dom *doms, size_t max)
{
	int n;

	pthread_mutex_lock(&host_lock);
	n = fake_sched_ops.list(s, doms, max);
	pthread_mutex_unlock(&host_lock);
	return n;
}

static int locked_get(struct hv_sched *s, uint32_t domid, struct hv_sched_params *p)
{
	int rc;

	pthread_mutex_lock(&host_lock);
	rc = fake_sched_ops.get(s, domid, p);
	pthread_mutex_unlock(&host_lock);
	return rc;
}

static int locked_set_cap(struct hv_sched *s, uint32_t domid, struct cap was, struct cap cap,
			  struct hv_sched_params *found)
{
	int rc;

	pthread_mutex_lock(&host_lock);
	s->host->calls = 0; /* there are more than it can note */
	rc = fake_sched_ops.set_cap(s, domid, was, cap, found);
	pthread_mutex_unlock(&host_lock);
	return rc;
}

static const struct hv_sched_ops locked_ops = {
	.list = locked_list,
	.get = locked_get,
	.set_cap = locked_set_cap,
};

static void *act_until_stopped(void *arg)
{
	actor_run(&((struct crowd *)arg)->actor);
	return NULL;
}

/* Each cap must be told before the next is set: two at once are one. */
static void *operate(void *arg)
{
	struct crowd *c = arg;
	uint32_t random = 1;

	for (uint32_t i = 0; i < OPERATOR_CAPS && !c->lost; i++) {
		uint32_t cap = OURS_MAX + 1 + i % 50, waits = 0;

		random = random * 1664525 + 1013904223;
		usleep(random >> 22); /* up to a millisecond */
		pthread_mutex_lock(&host_lock);
		fake_dom(&c->g->host, 7)->params.cap = CAP_PERCENT(cap);
		pthread_mutex_unlock(&host_lock);
		while (atomic_load(&c->found) != cap && waits++ < 20000)
			usleep(50);
		c->lost += atomic_load(&c->found) != cap;
	}
	atomic_store(&c->end, true);
	return NULL;
}

static void take_found(struct crowd *c, const struct set_guest *e)
{
	if (!rig_take_foreign(c->g))
		return;
	rig_publish(c->g);
	atomic_store(&c->found, cap_to_percent(e->own));
}

/* The caps move in each tick. */
WITH_RIG(caps_of_an_operator__at_any_moment__none_is_lost)
{
	struct sampler_rig *g = *state;
	struct crowd c = { .g = g,
			   .actor = { .ho = &g->ho, .ops = &locked_ops, .hv = &g->host.sched } };
	struct set_guest *e = rig_settled(g, 3, 7);
	pthread_t actor, operator;
	uint64_t changes;

	clock_real(&c.actor.clock);
	g->s.ops = &locked_ops;
	assert_int_equal(pthread_create(&actor, NULL, act_until_stopped, &c), 0);
	assert_int_equal(pthread_create(&operator, NULL, operate, &c), 0);
	for (uint32_t i = 0; !atomic_load(&c.end); i++) {
		rig_wish(g)->cap[3] = CAP_PERCENT(1 + i % OURS_MAX);
		rig_tick(g, MS);
		take_found(&c, e);
		usleep(20);
	}
	changes = g->s.slot[3].cap_changes;
	atomic_store(&g->ho.stop, 1);
	handover_wake(g->ho.actor_fd);
	pthread_join(actor, NULL);
	pthread_join(operator, NULL);
	assert_int_equal(c.lost, 0);
	assert_true(changes > OPERATOR_CAPS); /* ours were set between them */
}

/* What a policy knew is hours old then: it holds nobody for it. */
TEST(gap_of_ten_hours__under_each_policy__caps_from_before_it_go)
{
	uint32_t capped = 0;

	for (size_t i = 0; policies_builtin[i]; i++) {
		struct sampler_rig *g = malloc(sizeof(*g));
		const struct plan_guest *plan;
		void *of_it = g;

		assert_non_null(g);
		rig_open_with(g, policies_builtin[i]);
		plan = &g->s.plan.guest[3];
		rig_join(g, 4, 8);
		rig_settled(g, 3, 7);
		g->scan[3].add = (struct usage){ .mtus_sent = 2000, .msg_bytes = 2 << 20 };
		g->scan[4].add = (struct usage){ .mtus_sent = 10, .msg_bytes = 64 << 10 };
		for (int k = 0; k < 800; k++) {
			rig_tick(g, MS);
			rig_actor(g);
		}
		capped += plan->cap.limited;
		g->scan[3].add = g->scan[4].add = (struct usage){ 0 };
		rig_tick(g, 36000 * S);
		for (int k = 0; k < 3; k++) {
			rig_actor(g);
			rig_tick(g, MS);
		}
		assert_false(plan->cap.limited);
		assert_int_equal(plan->rate.q16, RATE_ONE.q16);
		assert_int_equal(resos_check(&g->s.ledger), 0);
		rig_teardown(&of_it);
	}
	assert_true(capped >= 2); /* FreeMarket and ratio */
}

WITH_RIG(init__figures_out_of_range__are_refused)
{
	struct sampler_rig *g = *state;
	struct link_conf link = { .bytes_s = 1u << 30, .mtu = 1024 };
	struct sampler_conf c = {
		.interval_ns = MS, .epoch_ns = S, .link = &link, .links = 1, .clock = g->s.clock
	};

	assert_int_equal(sampler_init(&g->s, &g->ho, &c, g->set[0]), 0);
	c.links = 0;
	assert_int_equal(sampler_init(&g->s, &g->ho, &c, g->set[0]), -EINVAL);
	c.links = 1;
	c.epoch_ns = S + 1;
	assert_int_equal(sampler_init(&g->s, &g->ho, &c, g->set[0]), -EINVAL);
	c.epoch_ns = S;
	link.mtu = 1000;
	assert_int_equal(sampler_init(&g->s, &g->ho, &c, g->set[0]), -EINVAL);
}
