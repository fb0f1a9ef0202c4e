// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sampler: sets adopted, time charged, snapshots published. Caps are
 * test_sampler_caps', random scripts test_sampler_prop's.
 */
#include <errno.h>

#include "tests/unit/sampler_rig.h"
#include "tests/unit/unit.h"

/* What an epoch brings: of one VCPU, and of the paper's link. */
#define SHARE_CPU RESOS(100000)
#define POOL	  RESOS(1048576)

static void use_cpu(struct sampler_rig *g, uint32_t domid, uint64_t ns)
{
	fake_dom(&g->host, domid)->dom.cpu_ns += ns;
}

/* --- adopt ----------------------------------------------------------------- */

WITH_RIG(adopt__guest_joins_late__gets_the_rest_of_the_epoch_on_top)
{
	struct sampler_rig *g = *state;
	const struct account *a = rig_account(g, 3);

	rig_tick(g, 250 * MS);
	rig_join(g, 3, 7);
	rig_publish(g);
	rig_tick(g, 250 * MS);
	assert_int_equal(a->allocated.m, (SHARE_CPU + POOL) / 2);
	assert_true(a->flags & ACCOUNT_LATE);
	assert_int_equal(g->s.ledger.overcommit.m, a->allocated.m);
	rig_next_epoch(g);
	assert_int_equal(a->allocated.m, SHARE_CPU + POOL);
	assert_false(a->flags & ACCOUNT_LATE);
	assert_int_equal(g->s.ledger.overcommit.m, 0);
}

/* A set that leaves out a ring comes up to some ms after the last look at it. */
WITH_RIG(adopt__rested_ring_worked_before__is_charged_once)
{
	struct sampler_rig *g = *state;
	uint64_t before, charged;

	rig_settled(g, 3, 7);
	g->scan[3].add = (struct usage){ .mtus_sent = 2, .backlog = 4 };
	rig_tick(g, MS);
	before = slot_total(&g->s.slot[3]).mtus_sent;
	charged = (uint64_t)rig_account(g, 3)->charged_io.m;
	for (uint64_t i = 1; i <= 3; i++) {
		g->scan[3].rested_mtus = 500;
		rig_publish(g);
		rig_tick(g, MS);
		assert_int_equal(g->s.in.guest[0].usage.mtus_sent, 2 + 500);
		assert_int_equal(g->s.in.guest[0].usage.backlog, 4);
		assert_int_equal(g->s.in.guest[0].usage.queues, 1);
		assert_int_equal(g->s.in.guest[0].usage.link, 0);
		rig_tick(g, MS);
		assert_int_equal(slot_total(&g->s.slot[3]).mtus_sent, before + 504 * i);
	}
	assert_true((uint64_t)rig_account(g, 3)->charged_io.m > charged);
}

WITH_RIG(adopt__guest_leaves__its_account_ends)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	rig_leave(g, 7);
	rig_publish(g);
	rig_tick(g, MS);
	assert_null(g->s.slot[3].guest);
	assert_int_equal(rig_account(g, 3)->flags, 0);
	assert_int_equal(g->s.ledger.retired.m, SHARE_CPU + POOL);
	assert_int_equal(resos_check(&g->s.ledger), 0);
}

WITH_RIG(adopt__slot_taken_by_another_in_one_swap__nothing_is_inherited)
{
	struct sampler_rig *g = *state;
	struct rig_block *each = g->policy->guests;

	rig_settled(g, 3, 7);
	rig_wish(g)->cap[3] = CAP_PERCENT(20);
	g->scan[3].add.mtus_sent = 100;
	use_cpu(g, 7, 5 * MS);
	rig_tick(g, MS);
	rig_actor(g);
	rig_tick(g, MS);
	assert_int_equal(g->s.slot[3].cap_changes, 1);
	rig_leave(g, 7);
	rig_join(g, 3, 8);
	use_cpu(g, 8, 900 * MS); /* from before it was seen */
	rig_wish(g)->cap[3] = CAP_NONE;
	g->scan[3].add.mtus_sent = 0;
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(g->s.slot[3].guest->key.domid, 8);
	assert_int_equal(rig_account(g, 3)->spent.m, 0);
	assert_int_equal(slot_total(&g->s.slot[3]).mtus_sent, 0);
	assert_int_equal(g->s.slot[3].cap_changes, 0);
	assert_false(g->s.slot[3].applied.limited);
	assert_false(g->s.slot[3].pending);
	assert_int_equal(each[3].decisions, 1);
	assert_int_equal(resos_check(&g->s.ledger), 0);
}

WITH_RIG(adopt__guest_restarted_in_its_slot__only_the_policys_state_is_kept)
{
	struct sampler_rig *g = *state;
	struct rig_block *each = g->policy->guests;
	uint64_t decided;

	rig_settled(g, 3, 7);
	use_cpu(g, 7, 5 * MS);
	rig_tick(g, MS);
	decided = each[3].decisions;
	rig_leave(g, 7);
	rig_publish(g);
	rig_tick(g, MS);
	rig_join(g, 3, 8)->kept = true;
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(each[3].decisions, decided + 1);
	assert_int_equal(g->s.in.guest[0].flags, POLICY_CAPPABLE | POLICY_NEW);
	assert_int_equal(rig_account(g, 3)->spent.m, 0);
}

WITH_RIG(adopt__same_guest_again__keeps_account_and_policy_state)
{
	struct sampler_rig *g = *state;
	struct rig_block *each = g->policy->guests;
	uint64_t decided;

	rig_settled(g, 3, 7);
	use_cpu(g, 7, 5 * MS);
	rig_tick(g, MS);
	decided = each[3].decisions;
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(rig_account(g, 3)->spent.m, RESOS(500));
	assert_int_equal(each[3].decisions, decided + 1);
	assert_int_equal(slot_total(&g->s.slot[3]).cpu_ns, 5 * MS);
}

WITH_RIG(adopt__vcpus_and_weight_changed__count_from_the_next_epoch)
{
	struct sampler_rig *g = *state;
	struct set_guest *e;

	rig_settled(g, 3, 7);
	rig_join(g, 4, 8);
	rig_publish(g);
	rig_tick(g, MS);
	e = &g->guest[0];
	e->vcpus = 4;
	e->weight = 3 * 256;
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(rig_account(g, 3)->allocated.m, SHARE_CPU + POOL);
	rig_next_epoch(g);
	assert_int_equal(rig_account(g, 3)->allocated.m, 4 * SHARE_CPU + POOL / 4 * 3);
	assert_int_equal(rig_account(g, 4)->allocated.m, SHARE_CPU + POOL / 4);
	e->vcpus = 2; /* one of both alone counts, too */
	rig_publish(g);
	rig_next_epoch(g);
	assert_int_equal(rig_account(g, 3)->allocated.m, 2 * SHARE_CPU + POOL / 4 * 3);
	e->weight = 256;
	rig_publish(g);
	rig_next_epoch(g);
	assert_int_equal(rig_account(g, 3)->allocated.m, 2 * SHARE_CPU + POOL / 2);
}

/* Its name, and so its settings, may come after the guest itself. */
WITH_RIG(adopt__link_changed__account_begins_anew_on_the_new_link)
{
	struct sampler_rig *g = *state;
	struct link_conf links[2] = { { .bytes_s = 1u << 30, .mtu = 1024 },
				      { .bytes_s = 1u << 30, .mtu = 1024 } };

	assert_int_equal(resos_init(&g->s.ledger, S, links, 2), 0);
	rig_settled(g, 3, 7);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	g->scan[3].add.mtus_sent = 10;
	rig_tick(g, MS);
	rig_actor(g);
	rig_tick(g, MS);
	g->guest[0].link = 1;
	rig_wish(g)->cap[3] = CAP_NONE;
	g->scan[3].add.mtus_sent = 0;
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(rig_account(g, 3)->link, 1);
	assert_int_equal(rig_account(g, 3)->spent.m, 0);
	assert_int_equal(resos_check(&g->s.ledger), 0);
	rig_actor(g); /* and its cap is not forgotten over it */
	assert_false(fake_dom(&g->host, 7)->params.cap.limited);
}

WITH_RIG(adopt__two_sets_before_a_tick__only_the_newest_is_taken)
{
	struct sampler_rig *g = *state;

	rig_join(g, 3, 7);
	rig_publish(g);
	rig_leave(g, 7);
	rig_join(g, 3, 8);
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(g->s.slot[3].guest->key.domid, 8);
	assert_int_equal(atomic_load(&g->ho.acked), g->serial);
}

/* A scan reads ahead: it must not reach a guest that is in the set no more, and may be freed. */
WITH_RIG(adopt__each_scan_goes_on_with_the_next_guest_of_the_set)
{
	struct sampler_rig *g = *state;

	for (uint32_t i = 1; i <= 3; i++)
		rig_join(g, i, 6 + i);
	for (int left = 0; left < 2; left++) {
		const struct guest_set *set;

		rig_publish(g);
		rig_tick(g, MS);
		set = g->s.set;
		assert_int_equal(set->guests, 3 - left);
		for (uint32_t i = 0; i + 1 < set->guests; i++)
			assert_ptr_equal(set->guest[i].scan->after, set->guest[i + 1].scan);
		assert_null(set->guest[set->guests - 1].scan->after);
		if (!left)
			rig_leave(g, 9);
	}
}

WITH_RIG(adopt__acknowledges_the_set_it_reads_and_wakes_control)
{
	struct sampler_rig *g = *state;
	uint64_t n;

	assert_int_equal(atomic_load(&g->ho.acked), 1); /* the first set */
	assert_false(rig_readable(g->ho.control_fd));
	rig_publish(g);
	assert_int_equal(atomic_load(&g->ho.acked), 1);
	rig_tick(g, MS);
	assert_int_equal(atomic_load(&g->ho.acked), 2);
	assert_int_equal(read(g->ho.control_fd, &n, sizeof(n)), sizeof(n));
	rig_tick(g, MS);
	assert_int_equal(atomic_load(&g->ho.acked), 2);
	assert_false(rig_readable(g->ho.control_fd));
}

WITH_RIG(adopt__another_policy__decides_with_its_own_state_from_then_on)
{
	struct sampler_rig *g = *state;
	struct policy_inst *old = g->policy, *fresh = rig_policy(&rig_wishing);
	const struct rig_block *was = old->global, *is = fresh->global;
	uint64_t decided;

	rig_settled(g, 3, 7);
	use_cpu(g, 7, MS);
	rig_tick(g, MS);
	decided = was->decisions;
	g->policy = fresh;
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(was->decisions, decided);
	assert_int_equal(is->decisions, 1);
	assert_int_equal(rig_account(g, 3)->spent.m, RESOS(100)); /* the ledger stays */
	rig_policy_free(old);
	rig_tick(g, MS);
}

WITH_RIG(adopt__figures_the_ledger_refuses__the_others_go_on)
{
	struct sampler_rig *g = *state;

	rig_join(g, 3, 7)->vcpus = 0; /* control would never */
	rig_join(g, 4, 8);
	rig_publish(g);
	rig_tick(g, MS);
	rig_tick(g, MS);
	assert_null(g->s.slot[3].guest);
	assert_int_equal(g->scan[3].calls, 0);
	assert_int_equal(g->scan[4].calls, 2);
	assert_int_equal(resos_check(&g->s.ledger), 0);
}

/* --- observe ---------------------------------------------------------------- */

WITH_RIG(observe__cpu_time_before_the_guest_was_seen__is_not_charged)
{
	struct sampler_rig *g = *state;

	rig_join(g, 3, 7);
	use_cpu(g, 7, 3600 * S);
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(rig_account(g, 3)->charged_cpu.m, 0);
	use_cpu(g, 7, 700 * NS_PER_US);
	rig_tick(g, MS);
	assert_int_equal(rig_account(g, 3)->charged_cpu.m, RESOS(70));
}

WITH_RIG(observe__cpu_time_goes_back__is_no_use)
{
	struct sampler_rig *g = *state;

	rig_join(g, 3, 7);
	use_cpu(g, 7, 100 * MS);
	rig_publish(g);
	rig_tick(g, MS);
	fake_dom(&g->host, 7)->dom.cpu_ns = 10 * MS;
	rig_tick(g, MS);
	assert_int_equal(rig_account(g, 3)->charged_cpu.m, 0);
	use_cpu(g, 7, MS);
	rig_tick(g, MS);
	assert_int_equal(rig_account(g, 3)->charged_cpu.m, RESOS(100));
}

WITH_RIG(observe__mtus_sent_and_received__are_charged_and_summed)
{
	struct sampler_rig *g = *state;
	const struct slot *sl = &g->s.slot[3];

	rig_settled(g, 3, 7);
	g->scan[3].add = (struct usage){ .mtus_sent = 30,
					 .mtus_recv = 12,
					 .bytes_sent = 30000,
					 .bytes_recv = 12000,
					 .wrs = 5,
					 .lost = 1,
					 .msg_bytes = 4096,
					 .flags = USAGE_LOST,
					 .backlog = 9 };
	rig_tick(g, MS);
	g->scan[3].add.msg_bytes = 1024;
	g->scan[3].add.flags = USAGE_ESTIMATED;
	g->scan[3].add.backlog = 2;
	rig_tick(g, MS);
	assert_int_equal(rig_account(g, 3)->charged_io.m, RESOS(2 * 42));
	assert_int_equal(slot_total(sl).mtus_sent, 60);
	assert_int_equal(slot_total(sl).mtus_recv, 24);
	assert_int_equal(slot_total(sl).bytes_sent, 60000);
	assert_int_equal(slot_total(sl).bytes_recv, 24000);
	assert_int_equal(slot_total(sl).wrs, 10);
	assert_int_equal(slot_total(sl).lost, 2);
	assert_int_equal(slot_total(sl).msg_bytes, 4096);
	assert_int_equal(slot_total(sl).flags, USAGE_LOST | USAGE_ESTIMATED);
	assert_int_equal(slot_total(sl).backlog, 2);
}

WITH_RIG(observe__domain_gone_from_the_list__its_rings_are_not_read)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	g->scan[3].calls = 0;
	g->scan[3].add.mtus_sent = 10;
	fake_dom_remove(&g->host, 7);
	rig_tick(g, MS);
	assert_int_equal(g->scan[3].calls, 0);
	assert_int_equal(rig_account(g, 3)->spent.m, 0);
}

WITH_RIG(observe__domain_id_of_another_now__neither_rings_nor_cpu_are_its)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	g->scan[3].calls = 0;
	fake_dom_remove(&g->host, 7);
	fake_dom_add(&g->host, 7, 0xee)->dom.cpu_ns = 9 * S;
	rig_tick(g, MS);
	assert_int_equal(g->scan[3].calls, 0);
	assert_int_equal(rig_account(g, 3)->spent.m, 0);
}

WITH_RIG(observe__domain_is_dying__its_rings_are_not_read)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	g->scan[3].calls = 0;
	fake_dom(&g->host, 7)->dom.flags = HV_DOM_DYING;
	rig_tick(g, MS);
	assert_int_equal(g->scan[3].calls, 0);
}

WITH_RIG(observe__list_fails__rings_are_read_and_cpu_is_made_up_for)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	g->scan[3].calls = 0;
	g->host.list_rc = -EIO;
	use_cpu(g, 7, MS);
	rig_tick(g, MS);
	assert_int_equal(g->scan[3].calls, 1);
	assert_int_equal(rig_account(g, 3)->charged_cpu.m, 0);
	g->host.list_rc = 0;
	use_cpu(g, 7, MS);
	rig_tick(g, MS);
	assert_int_equal(rig_account(g, 3)->charged_cpu.m, RESOS(200));
}

WITH_RIG(observe__guests_in_any_slots__each_gets_its_own_domains_time)
{
	struct sampler_rig *g = *state;
	static const uint32_t slots[] = { 200, 3, 77, 0 };

	for (uint32_t i = 0; i < 4; i++)
		rig_join(g, slots[i], 10 + 5 * i);
	fake_dom_add(&g->host, 12, 1); /* not in the set */
	rig_publish(g);
	rig_tick(g, MS);
	for (uint32_t i = 0; i < 4; i++)
		use_cpu(g, 10 + 5 * i, (i + 1) * 100 * NS_PER_US);
	use_cpu(g, 12, 50 * MS);
	rig_tick(g, MS);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(rig_account(g, slots[i])->charged_cpu.m, RESOS(10 * (i + 1)));
}

WITH_RIG(observe__one_list_a_tick)
{
	struct sampler_rig *g = *state;
	uint64_t lists;

	rig_join(g, 3, 7);
	rig_join(g, 4, 8);
	rig_publish(g);
	lists = g->host.lists;
	for (int i = 0; i < 5; i++)
		rig_tick(g, MS);
	assert_int_equal(g->host.lists, lists + 5);
}

WITH_RIG(observe__rings_at_fault__are_told_with_guest_id_and_reason)
{
	struct sampler_rig *g = *state;
	const struct event *ev;

	rig_settled(g, 3, 7);
	g->scan[3].res = (struct scan_result){ .faults = 2,
					       .fault_id = { 40, 41 },
					       .fault_why = { RING_FAULT_ENTRY, RING_FAULT_JUMP } };
	rig_tick(g, MS);
	assert_int_equal(rig_events(g, EVENT_RING_FAULT), 2);
	ev = rig_event(g, EVENT_RING_FAULT, 1);
	assert_int_equal(ev->slot, 3);
	assert_int_equal(ev->created, g->guest[0].key.created);
	assert_int_equal(ev->a, 41);
	assert_int_equal(ev->b, RING_FAULT_JUMP);
	assert_int_equal(ev->time.ns, g->now.ns);
	assert_int_equal(g->scan[3].told, 2);
}

WITH_RIG(adopt__several_at_once__none_takes_the_pool_before_the_others)
{
	struct sampler_rig *g = *state;

	for (uint32_t i = 3; i < 7; i++)
		rig_join(g, i, i + 4);
	rig_publish(g);
	rig_tick(g, MS);
	for (uint32_t i = 4; i < 7; i++)
		assert_int_equal(g->s.ledger.acc[i].allocated.m, g->s.ledger.acc[3].allocated.m);
	assert_true(g->s.ledger.acc[3].allocated.m > 0);
	assert_int_equal(resos_check(&g->s.ledger), 0);
}

/* Nobody would ever let the ring go if its fault counted as told. */
WITH_RIG(observe__fault_while_the_queue_is_full__is_told_when_there_is_room)
{
	struct sampler_rig *g = *state;
	struct event other = { .type = EVENT_LATE };

	rig_settled(g, 3, 7);
	while (event_put(&g->ho, &other))
		;
	g->scan[3].res = (struct scan_result){ .faults = 1, .fault_id = { 40 } };
	g->now.ns += MS;
	tick(&g->s, g->now);
	assert_int_equal(g->scan[3].told, 0);
	while (event_get(&g->ho, &other))
		;
	g->now.ns += MS;
	tick(&g->s, g->now);
	assert_int_equal(g->scan[3].told, 1);
	assert_true(event_get(&g->ho, &other));
	assert_int_equal(other.a, 40);
}

WITH_RIG(observe__more_faults_than_a_result_holds__no_more_are_told)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	g->scan[3].res.faults = 100;
	rig_tick(g, MS);
	assert_int_equal(rig_events(g, EVENT_RING_FAULT), 8);
}

WITH_RIG(observe__registry_moved__is_told_once_a_set)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	g->scan[3].res.refresh = true;
	for (int i = 0; i < 5; i++)
		rig_tick(g, MS);
	assert_int_equal(rig_events(g, EVENT_REFRESH), 1);
	rig_publish(g);
	for (int i = 0; i < 5; i++)
		rig_tick(g, MS);
	assert_int_equal(rig_events(g, EVENT_REFRESH), 2);
}

/* --- time and epochs ----------------------------------------------------------- */

WITH_RIG(late_tick__charges_the_time_that_passed_not_one_interval)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	use_cpu(g, 7, 7 * MS);
	rig_tick(g, 7 * MS);
	assert_int_equal(g->scan[3].elapsed_ns, 7 * MS);
	assert_int_equal(rig_account(g, 3)->charged_cpu.m, RESOS(700));
	assert_int_equal(g->s.period.late, 1 + 1); /* settling was one as well */
}

WITH_RIG(clock_goes_back__is_no_time)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	rig_tick(g, 5 * MS);
	rig_tick(g, -3 * MS);
	assert_int_equal(g->scan[3].elapsed_ns, 0);
	rig_tick(g, 4 * MS);
	assert_int_equal(g->scan[3].elapsed_ns, MS);
	assert_int_equal(g->s.period.back, 1);
}

WITH_RIG(epoch_edge__use_up_to_it_is_charged_to_the_old_epoch)
{
	struct sampler_rig *g = *state;
	const struct account *a = rig_account(g, 3);

	rig_settled(g, 3, 7);
	rig_tick(g, 995 * MS);
	use_cpu(g, 7, 10 * MS);
	g->scan[3].add.mtus_sent = 8;
	rig_tick(g, 10 * MS); /* 5 ms into the next */
	assert_int_equal(a->spent.m, 0);
	assert_int_equal(a->balance.m, SHARE_CPU + POOL);
	assert_int_equal(g->s.ledger.dropped.m, SHARE_CPU + POOL - RESOS(1000 + 8));
	assert_int_equal(g->s.slot[3].epoch_usage.mtus_sent, 0);
	assert_int_equal(slot_total(&g->s.slot[3]).mtus_sent, 8);
	rig_tick(g, MS);
	assert_int_equal(a->spent.m, RESOS(8));
	assert_int_equal(g->s.slot[3].epoch_usage.mtus_sent, 8);
}

WITH_RIG(epoch_edge__exactly_on_it__is_the_next_epoch)
{
	struct sampler_rig *g = *state;
	uint64_t epoch;

	rig_settled(g, 3, 7);
	epoch = g->s.period.epoch;
	rig_tick(g, 999 * MS);
	use_cpu(g, 7, MS);
	assert_int_equal(g->s.period.epoch, epoch);
	rig_tick(g, MS);
	assert_int_equal(g->s.period.epoch, epoch + 1);
	assert_int_equal(rig_account(g, 3)->spent.m, 0);
	assert_int_equal(g->s.in.epoch, epoch + 1);
	assert_int_equal(g->s.in.epoch_start.ns, g->now.ns);
}

WITH_RIG(epochs_without_a_tick__are_skipped)
{
	struct sampler_rig *g = *state;
	uint64_t epoch;

	rig_settled(g, 3, 7);
	epoch = g->s.period.epoch;
	rig_tick(g, 3 * S + 400 * MS);
	assert_int_equal(g->s.period.epoch, epoch + 3);
	assert_int_equal(g->s.ledger.epoch, epoch + 3);
	assert_int_equal(rig_account(g, 3)->balance.m, SHARE_CPU + POOL);
	assert_int_equal(resos_check(&g->s.ledger), 0);
}

/* As after a suspend: guests may have used nothing, or all of the time. */
WITH_RIG(gap_of_ten_hours__is_charged_once_and_one_share_is_issued)
{
	struct sampler_rig *g = *state;
	const struct account *a = rig_account(g, 3);
	const int64_t gap = 36000 * S, use[] = { 0, 5 * MS, gap };

	rig_settled(g, 3, 7);
	for (size_t i = 0; i < sizeof(use) / sizeof(use[0]); i++) {
		uint64_t epoch = g->s.period.epoch, ticks = g->s.period.ticks;
		int64_t had = a->balance.m, cpu = use[i] / CPU_NS_PER_MILLI;

		use_cpu(g, 7, (uint64_t)use[i]);
		rig_tick(g, gap);
		assert_int_equal(g->scan[3].elapsed_ns, gap);
		assert_int_equal(g->s.period.ticks, ticks + 1);
		assert_int_equal(g->s.period.epoch, epoch + 36000);
		assert_int_equal(g->s.in.epoch_start.ns % S,
				 0); /* where it was within the second */
		assert_int_equal(a->balance.m, SHARE_CPU + POOL);
		assert_int_equal(g->s.ledger.dropped.m, cpu < had ? had - cpu : 0);
		assert_int_equal(g->s.slot[3].past.overdraft.m, cpu < had ? 0 : cpu - had);
		assert_int_equal(resos_check(&g->s.ledger), 0);
	}
	use_cpu(g, 7, MS);
	rig_tick(g, MS); /* and on as ever */
	assert_int_equal(g->scan[3].elapsed_ns, MS);
	assert_int_equal(a->charged_cpu.m, RESOS(100));
}

WITH_RIG(balance_empty__is_told_once_an_epoch)
{
	struct sampler_rig *g = *state;
	const struct account *a = rig_account(g, 3);
	const struct event *ev;

	rig_settled(g, 3, 7);
	g->scan[3].add.mtus_sent = 700000;
	rig_tick(g, MS);
	assert_int_equal(rig_events(g, EVENT_EMPTY), 0);
	rig_tick(g, MS);
	rig_tick(g, MS);
	assert_int_equal(rig_events(g, EVENT_EMPTY), 1);
	ev = rig_event(g, EVENT_EMPTY, 0);
	assert_int_equal(ev->slot, 3);
	assert_int_equal(ev->a, SHARE_CPU + POOL);
	assert_int_equal(a->overdraft.m, RESOS(3 * 700000) - (SHARE_CPU + POOL));
	g->scan[3].add.mtus_sent = 0;
	rig_next_epoch(g);
	rig_tick(g, MS);
	assert_int_equal(rig_events(g, EVENT_EMPTY), 1);
	g->scan[3].add.mtus_sent = 2000000;
	rig_tick(g, MS);
	assert_int_equal(rig_events(g, EVENT_EMPTY), 2);
}

WITH_RIG(nothing_was_issued__is_not_told_as_empty)
{
	struct sampler_rig *g = *state;

	rig_tick(g, S - MS);
	rig_join(g, 3, 7);
	rig_publish(g);
	rig_tick(g, MS); /* the very end of the epoch */
	assert_int_equal(rig_events(g, EVENT_EMPTY), 0);
}

WITH_RIG(decide__sees_this_intervals_use_and_new_guests_marked_once)
{
	struct sampler_rig *g = *state;
	const struct policy_guest *p = &g->s.in.guest[0];

	rig_join(g, 3, 7)->flags |= POLICY_EXEMPT;
	g->scan[3].add.mtus_sent = 6;
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(g->s.in.guests, 1);
	assert_int_equal(p->flags, POLICY_CAPPABLE | POLICY_EXEMPT | POLICY_NEW);
	assert_int_equal(p->usage.mtus_sent, 6);
	assert_int_equal(p->balance.m, rig_account(g, 3)->balance.m);
	g->scan[3].add.mtus_sent = 4;
	rig_tick(g, MS);
	assert_int_equal(p->flags, POLICY_CAPPABLE | POLICY_EXEMPT);
	assert_int_equal(p->usage.mtus_sent, 4);
}

WITH_RIG(decide__sees_links_promises_and_when_the_cap_in_force_was_applied)
{
	static const struct sla sla = { .base_ns = 230, .base_io_ns = 130, .tolerance = 30 };
	struct sampler_rig *g = *state;
	const struct policy_guest *p = &g->s.in.guest[0];

	rig_join(g, 3, 7)->sla = sla;
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(g->s.in.links, 1);
	assert_int_equal(g->s.in.link[0].bytes_s, 1u << 30);
	assert_int_equal(g->s.in.link[0].mtu, 1024);
	assert_memory_equal(&p->sla, &sla, sizeof(sla));
	assert_int_equal(p->cap_time.ns, 0);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS);
	g->a.clock.sim_ns += 250;
	rig_actor(g);
	rig_tick(g, MS);
	assert_int_equal(p->cap_time.ns, 5 * S + 2 * MS + 250);
	rig_leave(g, 7); /* of who comes after it none was applied */
	rig_join(g, 3, 8);
	rig_publish(g);
	rig_wish(g)->cap[3] = CAP_NONE;
	rig_tick(g, MS);
	assert_int_equal(p->cap_time.ns, 0);
	assert_int_equal(p->sla.base_ns, 0);
}

/* --- latencies --------------------------------------------------------------------- */

WITH_RIG(decide__sees_what_was_reported_in_this_interval)
{
	struct sampler_rig *g = *state;
	const struct policy_guest *p = &g->s.in.guest[0];

	rig_join(g, 3, 7);
	g->scan[3].report = (struct report){ .n = 5, .sum_ns = 500, .io_sum_ns = 100 };
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(p->report.slot, 3);
	assert_int_equal(p->report.n, 5);
	assert_int_equal(p->report.sum_ns, 500);
	assert_int_equal(p->report.io_sum_ns, 100);
	g->scan[3].report = (struct report){ 0 };
	rig_tick(g, MS);
	assert_int_equal(p->report.n, 0);
}

WITH_RIG(decide__domain_is_gone__nothing_is_reported_of_it)
{
	struct sampler_rig *g = *state;

	rig_join(g, 3, 7);
	g->scan[3].report.n = 5;
	rig_publish(g);
	rig_tick(g, MS);
	fake_dom(&g->host, 7)->dom.flags |= HV_DOM_DYING;
	rig_tick(g, MS);
	assert_int_equal(g->s.in.guest[0].report.n, 0);
}

WITH_RIG(latencies__are_shown_of_the_last_whole_second)
{
	struct sampler_rig *g = *state;
	const struct snap_latency *l = &g->s.slot[3].latency;

	rig_join(g, 3, 7);
	rig_publish(g);
	rig_tick(g, MS);
	g->scan[3].report.n = 2;
	g->scan[3].latency_ns = 4000;
	g->scan[3].res.latencies_lost = 1;
	for (int i = 0; i < 500; i++)
		rig_tick(g, MS);
	assert_int_equal(l->n, 1000);
	assert_int_equal(l->lost, 500);
	assert_int_equal(l->second_n, 0); /* not over yet */
	g->scan[3].latency_ns = 6000;
	for (int i = 0; i < 500; i++)
		rig_tick(g, MS);
	assert_int_equal(l->second_n, 2000);
	assert_int_equal(l->mean_ns, 5000);
	assert_int_equal(l->dev_ns, 1000);
	assert_int_equal(l->p99_ns, 6000);
	g->scan[3].report.n = 0;
	for (int i = 0; i < 1000; i++)
		rig_tick(g, MS);
	assert_int_equal(l->second_n, 0); /* nothing old is shown as new */
	assert_int_equal(l->mean_ns, 0);
	assert_int_equal(l->n, 2000);
}

WITH_RIG(latencies__slot_taken_by_another__begin_anew)
{
	struct sampler_rig *g = *state;

	rig_join(g, 3, 7);
	g->scan[3].report.n = 2;
	rig_publish(g);
	for (int i = 0; i < 10; i++)
		rig_tick(g, MS);
	assert_int_equal(snap_latest(&g->ho)->guest[0].latency.n, 20);
	assert_int_equal(snap_latest(&g->ho)->guest[0].reports.n, 20);
	rig_leave(g, 7);
	rig_join(g, 3, 8);
	g->scan[3].report.n = 0;
	rig_publish(g);
	for (int i = 0; i < 40; i++) { /* each of the three snapshots was the former's */
		rig_tick(g, MS);
		if (g->s.period.ticks > 20)
			assert_int_equal(snap_latest(&g->ho)->guest[0].reports.n, 0);
	}
	assert_int_equal(g->s.slot[3].latency.n, 0);
	assert_int_equal(g->s.latencies[3].second.n, 0);
}
