// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sampler and actor: which caps are sent, when again, what an answer means;
 * and FreeMarket through the whole chain, with the paper's figures.
 */
#include <errno.h>

#include "src/core/caps.h"
#include "tests/unit/sampler_rig.h"
#include "tests/unit/unit.h"

static uint32_t percent_of(struct sampler_rig *g, uint32_t domid)
{
	return cap_to_percent(fake_dom(&g->host, domid)->params.cap);
}

static uint64_t mail(struct sampler_rig *g, uint32_t slot)
{
	return atomic_load(&g->ho.mail[slot].want);
}

/* One guest, slot 3, domain 7, seen by a first tick. */
static struct set_guest *open_one(struct sampler_rig *g)
{
	struct set_guest *e = rig_join(g, 3, 7);

	rig_publish(g);
	rig_tick(g, MS);
	return e;
}

static void set_flags(struct sampler_rig *g, uint32_t flags)
{
	g->guest[0].flags = flags;
	rig_publish(g);
	rig_tick(g, MS);
}

/* --- sending ------------------------------------------------------------------ */

static void set_own(struct set_guest *e, struct cap own)
{
	e->own = e->bounds.ceiling = own;
}

WITH_RIG(act__no_cap_wanted__nothing_is_sent)
{
	struct sampler_rig *g = *state;

	open_one(g);
	for (int i = 0; i < 100; i++)
		rig_tick(g, MS);
	rig_actor(g);
	assert_int_equal(g->host.calls, 0);
	assert_false(rig_readable(g->ho.actor_fd));
}

WITH_RIG(act__cap_wanted__one_mail_and_the_actor_is_woken)
{
	struct sampler_rig *g = *state;
	uint64_t w;

	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS);
	w = mail(g, 3);
	assert_int_equal(mail_domid(w), 7);
	assert_int_equal(mail_percent(w), 30);
	assert_int_equal(atomic_load(&g->ho.dirty[0]), 1u << 3);
	assert_true(rig_readable(g->ho.actor_fd));
}

/* A write costs a system call and perhaps an interrupt of another CPU. */
WITH_RIG(tick__all_guests_are_capped_and_told_of__wakes_each_thread_with_one_write)
{
	struct sampler_rig *g = *state;
	uint64_t n;

	for (uint32_t i = 0; i < 20; i++)
		rig_join(g, i, i + 7);
	rig_publish(g);
	rig_tick(g, MS);
	(void)!read(g->ho.control_fd, &n, sizeof(n));
	for (uint32_t i = 0; i < 20; i++) {
		rig_wish(g)->cap[i] = CAP_PERCENT(30);
		g->scan[i].res = (struct scan_result){ .refresh = true, .faults = 2 };
	}
	rig_tick(g, MS);
	assert_int_equal(read(g->ho.actor_fd, &n, sizeof(n)), sizeof(n));
	assert_int_equal(n, 1);
	assert_int_equal(read(g->ho.control_fd, &n, sizeof(n)), sizeof(n));
	assert_int_equal(n, 1);
}

WITH_RIG(act__same_cap_wanted_again__is_written_once)
{
	struct sampler_rig *g = *state;

	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	for (int i = 0; i < 200; i++) {
		rig_tick(g, MS);
		rig_actor(g);
	}
	assert_int_equal(g->host.calls, 1);
	assert_int_equal(percent_of(g, 7), 30);
	assert_int_equal(g->s.slot[3].cap_changes, 1);
	assert_int_equal(rig_events(g, EVENT_CAP), 1);
}

WITH_RIG(act__caps_that_are_the_same_percent__are_written_once)
{
	static const uint32_t mpct[] = { 29500, 30000, 30499, 29501, 30001 };
	struct sampler_rig *g = *state;

	open_one(g);
	for (size_t i = 0; i < 5; i++) {
		rig_wish(g)->cap[3] = (struct cap){ 1, mpct[i] };
		rig_tick(g, MS);
		rig_actor(g);
	}
	assert_int_equal(g->host.calls, 1);
}

WITH_RIG(act__each_change__is_written)
{
	static const uint32_t percent[] = { 90, 81, 73, 100, 1 };
	struct sampler_rig *g = *state;

	open_one(g);
	for (size_t i = 0; i < 5; i++) {
		rig_wish(g)->cap[3] = CAP_PERCENT(percent[i]);
		rig_tick(g, MS);
		rig_actor(g);
		assert_int_equal(percent_of(g, 7), percent[i]);
	}
	rig_wish(g)->cap[3] = CAP_NONE;
	rig_tick(g, MS);
	rig_actor(g);
	assert_int_equal(percent_of(g, 7), 0);
	assert_int_equal(g->host.calls, 6);
}

WITH_RIG(act__changed_before_the_actor_came__only_the_newest_is_written)
{
	struct sampler_rig *g = *state;

	open_one(g);
	for (uint32_t p = 90; p > 80; p--) {
		rig_wish(g)->cap[3] = CAP_PERCENT(p);
		rig_tick(g, MS);
	}
	rig_actor(g);
	rig_tick(g, MS);
	assert_int_equal(g->host.calls, 1);
	assert_int_equal(percent_of(g, 7), 81);
	assert_int_equal(g->s.slot[3].applied.mpct, 81000);
	assert_int_equal(g->s.slot[3].cap_changes, 1);
}

WITH_RIG(act__wanted_beyond_the_bounds__is_written_within_them)
{
	struct sampler_rig *g = *state;
	struct set_guest *e = rig_join(g, 3, 7);

	e->bounds = (struct cap_bounds){ CAP_PERCENT(60), 10000, 1 };
	rig_publish(g);
	rig_tick(g, MS);
	rig_wish(g)->cap[3] = CAP_PERCENT(2);
	rig_tick(g, MS);
	rig_actor(g);
	assert_int_equal(percent_of(g, 7), 10);
	rig_wish(g)->cap[3] = CAP_PERCENT(99);
	rig_tick(g, MS);
	rig_actor(g);
	assert_int_equal(percent_of(g, 7), 60);
}

WITH_RIG(act__cap_of_more_percent_than_16_bits_hold__the_largest_is_written)
{
	struct sampler_rig *g = *state;
	struct set_guest *e = rig_join(g, 3, 7);

	e->vcpus = e->bounds.vcpus = 4096;
	rig_publish(g);
	rig_tick(g, MS);
	rig_wish(g)->cap[3] = CAP_PERCENT(65536 + 10);
	for (int i = 0; i < 3; i++) {
		rig_tick(g, MS);
		rig_actor(g);
	}
	assert_int_equal(percent_of(g, 7), 65534);
	assert_int_equal(g->host.calls, 1);
}

WITH_RIG(act__guests_in_several_words_of_the_dirty_mask__each_gets_its_own)
{
	static const uint32_t slots[] = { 0, 63, 64, 127, 200, FLOW_GUESTS_MAX - 1 };
	struct sampler_rig *g = *state;

	for (uint32_t i = 0; i < 6; i++) {
		rig_join(g, slots[i], 100 - i);
		rig_wish(g)->cap[slots[i]] = CAP_PERCENT(10 + i);
	}
	rig_publish(g);
	rig_tick(g, MS);
	rig_actor(g);
	rig_tick(g, MS);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(percent_of(g, 100 - i), 10 + i);
		assert_int_equal(g->s.slot[slots[i]].applied.mpct, (10 + i) * 1000);
	}
	assert_int_equal(g->host.calls, 6);
}

WITH_RIG(serial__wraps__zero_is_never_one)
{
	struct sampler_rig *g = *state;

	open_one(g);
	g->s.slot[3].serial = UINT32_MAX;
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS);
	assert_int_equal(mail_serial(mail(g, 3)), 1);
	rig_actor(g);
	rig_tick(g, MS);
	assert_int_equal(g->s.slot[3].applied.mpct, 30000);
}

/* --- who is not capped ------------------------------------------------------------ */

WITH_RIG(act__exempt__is_never_written)
{
	struct sampler_rig *g = *state;

	open_one(g);
	set_flags(g, POLICY_CAPPABLE | POLICY_EXEMPT);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	for (int i = 0; i < 200; i++) {
		rig_tick(g, MS);
		rig_actor(g);
	}
	assert_int_equal(g->host.calls, 0);
}

WITH_RIG(act__old_cap_not_saved__is_never_written)
{
	struct sampler_rig *g = *state;

	open_one(g);
	set_flags(g, 0);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	for (int i = 0; i < 200; i++) {
		rig_tick(g, MS);
		rig_actor(g);
	}
	assert_int_equal(g->host.calls, 0);
	set_flags(g, POLICY_CAPPABLE); /* it was saved meanwhile */
	rig_actor(g);
	assert_int_equal(percent_of(g, 7), 30);
}

WITH_RIG(act__observing_only__decides_and_never_writes)
{
	struct sampler_rig *g = *state;

	g->ho.observe = 1;
	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_wish(g)->rate[3].q16 = 3 * 65536;
	for (int i = 0; i < 200; i++) {
		rig_tick(g, MS);
		rig_actor(g);
	}
	assert_int_equal(g->host.calls, 0);
	assert_int_equal(mail(g, 3), 0);
	assert_int_equal(g->s.plan.guest[3].cap.mpct, 30000);
	assert_int_equal(rig_account(g, 3)->rate.q16, 65536);
}

WITH_RIG(act__released_while_capped__its_own_cap_is_written_once)
{
	struct sampler_rig *g = *state;

	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS);
	rig_actor(g);
	rig_tick(g, MS);
	set_flags(g, POLICY_CAPPABLE | POLICY_EXEMPT);
	for (int i = 0; i < 100; i++) {
		rig_actor(g);
		rig_tick(g, MS);
	}
	assert_int_equal(percent_of(g, 7), 0);
	assert_int_equal(g->host.calls, 2);
	set_flags(g, POLICY_CAPPABLE); /* and taken back in */
	rig_actor(g);
	assert_int_equal(percent_of(g, 7), 30);
}

WITH_RIG(act__operator_had_a_cap__lifting_means_that_cap)
{
	struct sampler_rig *g = *state;

	set_own(rig_join(g, 3, 7), CAP_PERCENT(40));
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(g->s.slot[3].applied.mpct, 40000);
	rig_actor(g);
	assert_int_equal(g->host.calls, 0); /* it has that cap already */
	rig_wish(g)->cap[3] = CAP_PERCENT(20);
	rig_tick(g, MS);
	rig_actor(g);
	rig_wish(g)->cap[3] = CAP_NONE;
	rig_tick(g, MS);
	rig_actor(g);
	assert_int_equal(percent_of(g, 7), 40);
	assert_int_equal(g->host.calls, 2);
}

/* A ceiling of our own, below what its operator gave it: in force under every policy. */
WITH_RIG(act__ceiling_below_its_own_cap__is_written_though_no_cap_is_wanted)
{
	struct sampler_rig *g = *state;

	set_own(rig_join(g, 3, 7), CAP_PERCENT(40));
	g->guest[0].bounds.ceiling = CAP_PERCENT(25);
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(g->s.slot[3].applied.mpct, 40000); /* still */
	rig_actor(g);
	assert_int_equal(percent_of(g, 7), 25);
	rig_tick(g, MS);
	assert_int_equal(g->s.slot[3].applied.mpct, 25000);
	g->guest[0].bounds.ceiling = CAP_PERCENT(40); /* lifted */
	rig_publish(g);
	rig_tick(g, MS);
	rig_actor(g);
	assert_int_equal(percent_of(g, 7), 40);
	assert_int_equal(g->host.calls, 2);
}

WITH_RIG(adopt__own_cap_changed__what_is_wanted_is_sent_again)
{
	struct sampler_rig *g = *state;

	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS);
	rig_actor(g);
	rig_tick(g, MS);
	fake_dom(&g->host, 7)->params.cap = CAP_PERCENT(70); /* somebody else did */
	set_own(&g->guest[0], CAP_PERCENT(70));
	rig_publish(g);
	rig_tick(g, MS);
	rig_actor(g);
	assert_int_equal(percent_of(g, 7), 30);
	assert_int_equal(g->host.calls, 2);
	for (int i = 0; i < 100; i++) {
		rig_tick(g, MS);
		rig_actor(g);
	}
	assert_int_equal(g->host.calls, 2);
}

/* --- retries --------------------------------------------------------------------------- */

WITH_RIG(act__not_answered__is_sent_again_after_50_ms_and_not_before)
{
	struct sampler_rig *g = *state;
	uint64_t first;

	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS);
	first = mail(g, 3);
	for (int i = 0; i < 49; i++) {
		rig_tick(g, MS);
		assert_int_equal(mail(g, 3), first);
	}
	rig_tick(g, MS);
	assert_int_equal(mail_serial(mail(g, 3)), mail_serial(first) + 1);
	assert_int_equal(mail_percent(mail(g, 3)), 30);
}

WITH_RIG(act__refused__is_tried_again_each_50_ms_and_told_once)
{
	struct sampler_rig *g = *state;
	const struct event *ev;

	open_one(g);
	fake_dom(&g->host, 7)->set_rc = -EBUSY;
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	for (int i = 0; i < 201; i++) {
		rig_tick(g, MS);
		rig_actor(g);
	}
	assert_int_equal(g->host.calls, 5); /* at 0, 50, 100, 150 and 200 ms */
	assert_int_equal(rig_events(g, EVENT_CAP_FAILED), 1);
	assert_int_equal(rig_events(g, EVENT_CAP), 0);
	ev = rig_event(g, EVENT_CAP_FAILED, 0);
	assert_int_equal(ev->slot, 3);
	assert_int_equal(ev->a, 30);
	assert_int_equal(ev->b, EBUSY);
	assert_int_equal(g->s.slot[3].cap_errno, EBUSY);
	assert_false(g->s.slot[3].applied.limited);
}

WITH_RIG(act__refused_for_another_reason__is_told_again)
{
	struct sampler_rig *g = *state;

	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	for (int i = 0; i < 101; i++) {
		fake_dom(&g->host, 7)->set_rc = i < 50 ? -EBUSY : -EINVAL;
		rig_tick(g, MS);
		rig_actor(g);
	}
	rig_tick(g, MS);
	assert_int_equal(rig_events(g, EVENT_CAP_FAILED), 2);
	assert_int_equal(rig_event(g, EVENT_CAP_FAILED, 1)->b, EINVAL);
}

WITH_RIG(act__refused_and_then_taken__is_in_force_and_quiet)
{
	struct sampler_rig *g = *state;

	open_one(g);
	fake_dom(&g->host, 7)->set_rc = -EBUSY;
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS);
	rig_actor(g);
	fake_dom(&g->host, 7)->set_rc = 0;
	for (int i = 0; i < 200; i++) {
		rig_tick(g, MS);
		rig_actor(g);
	}
	assert_int_equal(g->host.calls, 2);
	assert_int_equal(g->s.slot[3].cap_errno, 0);
	assert_int_equal(g->s.slot[3].applied.mpct, 30000);
}

WITH_RIG(act__refused_and_no_longer_wanted__the_old_one_is_written)
{
	struct sampler_rig *g = *state;

	open_one(g);
	fake_dom(&g->host, 7)->set_rc = -EBUSY;
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS);
	rig_actor(g);
	fake_dom(&g->host, 7)->set_rc = 0;
	rig_wish(g)->cap[3] = CAP_NONE; /* a refused cap may still have been set */
	rig_tick(g, MS);
	rig_actor(g);
	assert_int_equal(fake_last_call(&g->host, 7)->percent, 0);
}

/* --- answers ------------------------------------------------------------------------------ */

WITH_RIG(answer__is_in_force_with_the_time_the_actor_gave)
{
	struct sampler_rig *g = *state;
	struct mono set_at;
	const struct event *ev;

	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS);
	g->a.clock.sim_ns += 400 * NS_PER_US;
	set_at.ns = g->a.clock.sim_ns;
	rig_actor(g);
	rig_tick(g, 2 * MS);
	assert_int_equal(g->s.slot[3].cap_time.ns, set_at.ns);
	ev = rig_event(g, EVENT_CAP, 0);
	assert_int_equal(ev->time.ns, set_at.ns);
	assert_int_equal(ev->a, 30);
	assert_int_equal(ev->b, 1); /* the wishing policy's reason */
	assert_int_equal(ev->c, 0);
	rig_wish(g)->cap[3] = CAP_PERCENT(20);
	rig_tick(g, MS);
	rig_actor(g);
	rig_tick(g, MS);
	assert_int_equal(rig_event(g, EVENT_CAP, 1)->c, 30);
}

WITH_RIG(answer__to_a_former_guest_of_the_slot__is_not_the_new_ones)
{
	struct sampler_rig *g = *state;

	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS); /* sent for domain 7 */
	rig_leave(g, 7);
	rig_join(g, 3, 8);
	rig_wish(g)->cap[3] = CAP_NONE;
	rig_publish(g);
	rig_tick(g, MS);
	rig_actor(g); /* carried out for domain 7, late */
	rig_tick(g, MS);
	assert_int_equal(percent_of(g, 7), 30);
	assert_int_equal(fake_calls(&g->host, 8), 0);
	assert_false(g->s.slot[3].applied.limited);
	assert_int_equal(g->s.slot[3].cap_changes, 0);
	assert_int_equal(rig_events(g, EVENT_CAP), 0);
}

WITH_RIG(answer__to_a_former_guest__does_not_pass_for_the_new_ones_first_mail)
{
	struct sampler_rig *g = *state;

	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS);
	rig_actor(g); /* answered, not looked at yet */
	rig_leave(g, 7);
	rig_join(g, 3, 8);
	rig_publish(g);
	rig_tick(g, MS); /* domain 8 wants 30 % too */
	rig_tick(g, MS);
	assert_true(g->s.slot[3].pending);
	assert_false(g->s.slot[3].applied.limited);
	rig_actor(g);
	rig_tick(g, MS);
	assert_int_equal(percent_of(g, 8), 30);
	assert_int_equal(g->s.slot[3].applied.mpct, 30000);
}

WITH_RIG(adopt__slot_and_domain_id_of_a_former_guest__its_late_mail_is_undone)
{
	struct sampler_rig *g = *state;

	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS); /* sent, not carried out */
	rig_leave(g, 7);
	fake_dom_remove(&g->host, 7);
	rig_join(g, 3, 7);
	rig_wish(g)->cap[3] = CAP_NONE;
	rig_publish(g);
	rig_actor(g); /* meant for the former one */
	assert_int_equal(percent_of(g, 7), 30);
	rig_tick(g, MS);
	rig_actor(g);
	assert_int_equal(percent_of(g, 7), 0);
}

/* The actor had begun with the older one when the newer was sent. */
WITH_RIG(answer__to_an_older_mail_of_the_guest__the_newer_is_still_awaited)
{
	struct sampler_rig *g = *state;
	uint64_t older;

	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS);
	older = mail(g, 3);
	rig_wish(g)->cap[3] = CAP_PERCENT(20);
	rig_tick(g, MS);
	atomic_store(&g->ho.mail[3].answer, mail_pack(mail_serial(older), 0, 30));
	rig_tick(g, MS);
	assert_true(g->s.slot[3].pending);
	assert_int_equal(g->s.slot[3].cap_changes, 0);
	rig_actor(g);
	rig_tick(g, MS);
	assert_int_equal(percent_of(g, 7), 20);
	assert_int_equal(g->s.slot[3].applied.mpct, 20000);
}

/* --- rates ----------------------------------------------------------------------------------- */

WITH_RIG(rate__with_a_new_cap__is_charged_only_once_the_cap_is_in_force)
{
	struct sampler_rig *g = *state;
	const struct account *a = rig_account(g, 3);

	open_one(g);
	g->scan[3].add.mtus_sent = 10;
	rig_wish(g)->cap[3] = CAP_PERCENT(50);
	rig_wish(g)->rate[3].q16 = 2 * 65536;
	rig_tick(g, MS); /* sent */
	rig_tick(g, MS);
	rig_tick(g, MS); /* not answered */
	assert_int_equal(a->charged_io.m, RESOS(30));
	rig_actor(g);
	rig_tick(g, MS);
	assert_int_equal(a->charged_io.m, RESOS(30 + 20));
}

WITH_RIG(rate__cap_refused__stays_as_it_was)
{
	struct sampler_rig *g = *state;

	open_one(g);
	fake_dom(&g->host, 7)->set_rc = -EBUSY;
	rig_wish(g)->cap[3] = CAP_PERCENT(50);
	rig_wish(g)->rate[3].q16 = 2 * 65536;
	for (int i = 0; i < 30; i++) {
		rig_tick(g, MS);
		rig_actor(g);
		assert_int_equal(rig_account(g, 3)->rate.q16, 65536);
	}
}

WITH_RIG(rate__without_a_new_cap__is_in_force_at_once)
{
	struct sampler_rig *g = *state;

	open_one(g);
	rig_wish(g)->rate[3].q16 = 65536 + 100;
	rig_tick(g, MS);
	assert_int_equal(rig_account(g, 3)->rate.q16, 65536 + 100);
	assert_int_equal(g->host.calls, 0);
}

WITH_RIG(rate__of_a_guest_that_is_not_capped__is_one)
{
	static const uint32_t flags[] = { 0, POLICY_EXEMPT, POLICY_EXEMPT | POLICY_CAPPABLE };
	struct sampler_rig *g = *state;

	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(50);
	rig_wish(g)->rate[3].q16 = 4 * 65536;
	for (size_t i = 0; i < 3; i++) {
		set_flags(g, flags[i]);
		rig_actor(g);
		rig_tick(g, MS);
		assert_int_equal(rig_account(g, 3)->rate.q16, 65536);
	}
}

/* --- FreeMarket, from MTUs to caps ------------------------------------------------------------ */

enum { SERVER_SLOT = 5, BULK_SLOT = 2, SERVER = 10, BULK = 11 };

/* 2^30 B/s are 1048 MTUs a ms: 811 the sender's, 237 the server's; both poll all the time. */
static void one_ms(struct sampler_rig *g)
{
	fake_dom(&g->host, SERVER)->dom.cpu_ns += MS;
	fake_dom(&g->host, BULK)->dom.cpu_ns += MS;
	rig_tick(g, MS);
	rig_actor(g);
}

static int open_freemarket(void **state)
{
	struct sampler_rig *g = malloc(sizeof(*g));

	if (!g)
		return -1;
	rig_open_with(g, &policy_freemarket);
	rig_join(g, SERVER_SLOT, SERVER);
	rig_join(g, BULK_SLOT, BULK);
	rig_publish(g);
	rig_tick(g, MS);
	rig_next_epoch(g);
	g->scan[SERVER_SLOT].add.mtus_sent = 237;
	g->scan[BULK_SLOT].add.mtus_sent = 811;
	*state = g;
	return 0;
}

TEST_WITH(freemarket__paper_pair__bulk_is_first_cut_at_617_ms_and_the_server_never, open_freemarket,
	  rig_teardown)
{
	struct sampler_rig *g = *state;
	int first = 0;

	assert_int_equal(rig_account(g, BULK_SLOT)->allocated.m, RESOS(624288));
	for (int ms = 1; ms < 1000; ms++) {
		one_ms(g);
		if (!first && percent_of(g, BULK))
			first = ms;
	}
	assert_int_equal(first, 617);
	assert_int_equal(fake_calls(&g->host, SERVER), 0);
	assert_int_equal(rig_account(g, SERVER_SLOT)->balance.m, RESOS(624288 - 999 * 337));
}

TEST_WITH(freemarket__caps_written__a_tenth_less_each_10_ms_then_1_until_the_epoch, open_freemarket,
	  rig_teardown)
{
	/* 90 % of 90 % of ..., in milli-percent rounded down, written to the nearest percent */
	static const uint32_t steps[] = { 90, 81, 73, 66, 59, 53, 48 };
	struct sampler_rig *g = *state;

	for (int ms = 1; ms < 1000; ms++)
		one_ms(g);
	assert_int_equal(g->host.calls, 8);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(g->host.call[i].percent, steps[i]);
	assert_int_equal(g->host.call[7].percent, 1); /* 624,288 / 911: empty after 685 ms */
	assert_int_equal(percent_of(g, BULK), 1);
	assert_int_equal(rig_events(g, EVENT_EMPTY), 1);
	one_ms(g); /* the next epoch */
	assert_int_equal(percent_of(g, BULK), 0);
	assert_int_equal(rig_account(g, BULK_SLOT)->balance.m, RESOS(624288));
}

TEST_WITH(freemarket__late_ticks__burn_the_same_and_cut_at_the_next_tick, open_freemarket,
	  rig_teardown)
{
	struct sampler_rig *g = *state;
	int first = 0;

	g->scan[SERVER_SLOT].add.mtus_sent = 237 * 7;
	g->scan[BULK_SLOT].add.mtus_sent = 811 * 7;
	for (int ms = 7; ms < 700; ms += 7) {
		fake_dom(&g->host, BULK)->dom.cpu_ns += 7 * MS;
		rig_tick(g, 7 * MS);
		rig_actor(g);
		if (!first && percent_of(g, BULK))
			first = ms;
	}
	assert_int_equal(first, 623); /* the first multiple of 7 that is not below 617 */
}
