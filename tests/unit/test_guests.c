// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guests: guests that come, go and change, and the sets made of them. Their
 * caps are test_guests_caps', rings and registries test_guests_rings'.
 */
#include "tests/unit/guests_rig.h"
#include "tests/unit/unit.h"

static const struct saved_cap *on_disk(struct guests_rig *g, uint32_t domid, uint8_t uuid)
{
	static struct restore r;
	struct conf_error e;
	uint8_t u[16];

	memset(u, uuid, sizeof(u));
	assert_int_equal(restore_load(&r, g->dir.path, "fake", &e), 0);
	return restore_find(&r, domid, u);
}

/* --- noticed ------------------------------------------------------------------- */

WITH_RIG(guest__there_already__is_published_at_once)
{
	struct guests_rig *g = *state;
	const struct set_guest *e;

	fake_dom_add(&g->host, 5, 1)->dom.vcpus = 3;
	rig_work(g, MS);
	assert_true(rig_ack(g));
	e = rig_in_set(g, 5);
	assert_non_null(e);
	assert_int_equal(e->flags, POLICY_CAPPABLE);
	assert_int_equal(e->vcpus, 3);
	assert_int_equal(e->bounds.vcpus, 3);
	assert_int_equal(e->weight, 256);
	assert_int_equal(e->link, 0);
	assert_int_equal(e->bounds.min_mpct, 1000);
	assert_false(e->bounds.ceiling.limited);
	assert_int_equal(e->scan->slot, e->slot);
	assert_int_equal(e->scan->rings, 0);
	assert_null(e->scan->registry);
	assert_ptr_equal(g->set->policy, g->gs->policy);
	assert_non_null(rig_event(g, "guest-new"));
	assert_true(fake_dom(&g->host, 5)->watched);
}

WITH_RIG(domain__dom0_dying_or_shut_down__is_no_guest)
{
	struct guests_rig *g = *state;

	fake_dom_add(&g->host, 5, 1)->dom.flags = HV_DOM_DYING;
	fake_dom_add(&g->host, 6, 2)->dom.flags = HV_DOM_SHUTDOWN;
	fake_dom_add(&g->host, 8, 3)->dom.flags = HV_DOM_PAUSED; /* may go on: is one */
	rig_settle(g);
	assert_int_equal(g->set->guests, 1);
	assert_non_null(rig_in_set(g, 8));
}

WITH_RIG(guests__in_any_order__stand_in_the_set_by_domain_id)
{
	struct guests_rig *g = *state;

	for (uint32_t id = 30; id > 20; id--) {
		rig_create(g, id, (uint8_t)id);
		rig_settle(g);
	}
	assert_int_equal(g->set->guests, 10);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(g->set->guest[i].key.domid, 21 + i);
}

WITH_RIG(guest__named_in_the_configuration__has_its_settings)
{
	struct guests_rig *g = *state;
	const struct set_guest *e;

	rig_settings(g, "\"web\": {\"weight\": 9, \"exempt\": true, \"min_cap\": 20,"
			" \"link\": \"ib1\"}, \"05050505-0505-0505-0505-050505050505\":"
			" {\"weight\": 5}");
	strcpy(fake_dom_add(&g->host, 4, 4)->name, "web");
	fake_dom_add(&g->host, 5, 5);
	rig_settle(g);
	e = rig_in_set(g, 4);
	assert_int_equal(e->weight, 9);
	assert_int_equal(e->link, 1);
	assert_int_equal(e->bounds.min_mpct, 20000);
	assert_int_equal(e->flags, POLICY_CAPPABLE | POLICY_EXEMPT);
	assert_int_equal(rig_in_set(g, 5)->weight, 5);
}

/* xl makes the domain first and writes its name afterwards. */
WITH_RIG(guest__seen_before_its_name__gets_its_settings_with_the_name)
{
	struct guests_rig *g = *state;

	rig_settings(g, "\"backup\": {\"exempt\": true, \"weight\": 9, \"link\": \"ib1\"}");
	rig_create(g, 4, 4)->name_rc = -ENOENT;
	rig_settle(g);
	assert_string_equal(rig_guest(g, "4")->name, "domain-4");
	assert_int_equal(rig_in_set(g, 4)->flags, POLICY_CAPPABLE);
	fake_dom(&g->host, 4)->name_rc = 0;
	strcpy(fake_dom(&g->host, 4)->name, "backup");
	rig_second(g);
	rig_settle(g);
	assert_non_null(rig_guest(g, "backup"));
	assert_int_equal(rig_in_set(g, 4)->flags, POLICY_CAPPABLE | POLICY_EXEMPT);
	assert_int_equal(rig_in_set(g, 4)->weight, 9);
	assert_int_equal(rig_in_set(g, 4)->link, 1);
}

WITH_RIG(guest__renamed__is_found_by_its_new_name)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4);
	rig_settle(g);
	strcpy(fake_dom(&g->host, 4)->name, "other");
	rig_second(g);
	assert_non_null(guests_find(g->gs, "other"));
	assert_null(guests_find(g->gs, "guest-4"));
}

WITH_RIG(guest__name_with_bytes_that_cannot_be_printed__they_are_replaced)
{
	struct guests_rig *g = *state;

	strcpy(fake_dom_add(&g->host, 4, 4)->name, "a\x1b[2Jb\n\xff\x7f");
	rig_settle(g);
	assert_string_equal(rig_guest(g, "4")->name, "a?[2Jb???");
}

WITH_RIG(guest__vcpus_change__are_published)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4);
	rig_settle(g);
	fake_dom(&g->host, 4)->dom.vcpus = 8;
	rig_second(g);
	rig_ack(g);
	assert_int_equal(rig_in_set(g, 4)->vcpus, 8);
	assert_int_equal(rig_in_set(g, 4)->bounds.vcpus, 8);
	fake_dom(&g->host, 4)->dom.vcpus = 0; /* none online: not a figure to work with */
	rig_second(g);
	rig_ack(g);
	assert_int_equal(rig_in_set(g, 4)->vcpus, 8);
}

WITH_RIG(list__fails__what_is_known_stays_and_it_is_tried_again)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4);
	rig_settle(g);
	rig_create(g, 5, 5);
	g->host.list_rc = -EIO;
	rig_settle(g);
	assert_int_equal(g->set->guests, 1);
	g->host.list_rc = 0;
	rig_settle(g);
	assert_int_equal(g->set->guests, 2);
}

WITH_RIG(guests__more_than_slots__the_rest_waits_for_a_slot)
{
	struct guests_rig *g = *state;

	for (uint32_t i = 0; i <= FLOW_GUESTS_MAX; i++)
		fake_dom_add(&g->host, i + 1, (uint8_t)i);
	rig_settle(g);
	assert_int_equal(g->set->guests, FLOW_GUESTS_MAX);
	assert_null(rig_in_set(g, FLOW_GUESTS_MAX + 1));
	rig_destroy(g, 3);
	rig_settle(g);
	rig_second(g);
	rig_settle(g);
	assert_int_equal(g->set->guests, FLOW_GUESTS_MAX);
	assert_non_null(rig_in_set(g, FLOW_GUESTS_MAX + 1));
}

/* --- gone ------------------------------------------------------------------------ */

WITH_RIG(guest__gone__leaves_the_set_and_its_slot_only_after_the_ack)
{
	struct guests_rig *g = *state;
	uint32_t slot;

	rig_create(g, 4, 4);
	rig_settle(g);
	slot = rig_in_set(g, 4)->slot;
	rig_destroy(g, 4);
	rig_create(g, 5, 5);
	rig_work(g, MS);
	assert_null(guests_find(g->gs, "4"));
	assert_non_null(g->gs->guest[slot]); /* the sampler may still read it */
	rig_work(g, MS);
	assert_non_null(g->gs->guest[slot]);
	assert_true(rig_ack(g));
	assert_null(rig_in_set(g, 4));
	assert_int_not_equal(rig_in_set(g, 5)->slot, slot);
	rig_work(g, MS);
	assert_null(g->gs->guest[slot]);
	assert_non_null(rig_event(g, "guest-gone"));
}

/* Domain domid comes with this UUID. True: it has its former slot, and the state there. */
static bool is_kept(struct guests_rig *g, uint32_t domid, uint8_t uuid, uint32_t former)
{
	rig_create(g, domid, uuid);
	rig_settle(g);
	assert_non_null(rig_in_set(g, domid));
	if (rig_in_set(g, domid)->kept)
		assert_int_equal(rig_in_set(g, domid)->slot, former);
	return rig_in_set(g, domid)->kept;
}

WITH_RIG(guest__restarted__gets_its_former_slot_with_the_policys_state)
{
	struct guests_rig *g = *state;
	uint32_t slot;

	rig_create(g, 3, 3);
	assert_false(is_kept(g, 4, 4, 0));
	slot = rig_in_set(g, 4)->slot;
	rig_destroy(g, 4);
	rig_create(g, 5, 4); /* its successor is there before the sampler is done with the slot */
	rig_work(g, MS);
	rig_work(g, MS);
	assert_null(guests_find(g->gs, "5"));
	assert_true(rig_ack(g));
	assert_null(rig_in_set(g, 4));
	rig_settle(g);
	assert_true(rig_in_set(g, 5)->kept);
	assert_int_equal(rig_in_set(g, 5)->slot, slot);
	rig_destroy(g, 5);
	rig_settle(g);
	assert_false(is_kept(g, 6, 6, 0)); /* another guest leaves the slot alone */
	assert_int_not_equal(rig_in_set(g, 6)->slot, slot);
	assert_true(is_kept(g, 7, 4, slot));
	assert_false(is_kept(g, 8, 4, 0)); /* the same UUID twice: this one was never gone */
}

WITH_RIG(guest__restarted_late_or_in_a_slot_that_another_had__begins_anew)
{
	struct guests_rig *g = *state;
	uint32_t slot;

	assert_false(is_kept(g, 4, 4, 0));
	rig_destroy(g, 4);
	rig_settle(g); /* 300 ms, it leaves in the first */
	g->now.ns += POLICY_KEPT_NS - 299 * MS;
	assert_false(is_kept(g, 5, 4, 0)); /* seen after another millisecond */
	slot = rig_in_set(g, 5)->slot;
	rig_destroy(g, 5);
	rig_settle(g);
	g->now.ns += POLICY_KEPT_NS - 300 * MS;
	assert_true(is_kept(g, 6, 4, slot));
	rig_destroy(g, 6);
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		fake_dom_add(&g->host, 1000 + i, (uint8_t)(i == 4 ? 99 : i));
	rig_settle(g);
	assert_int_equal(g->set->guests, FLOW_GUESTS_MAX);
	rig_destroy(g, 1000);
	rig_settle(g);
	assert_false(is_kept(g, 2000, 4, 0));
}

WITH_RIG(guest__shuts_down_or_dies__leaves_like_one_that_is_gone)
{
	static const uint32_t flags[] = { HV_DOM_SHUTDOWN, HV_DOM_DYING };
	struct guests_rig *g = *state;

	for (uint32_t i = 0; i < 2; i++) {
		rig_create(g, 4 + i, 4);
		rig_settle(g);
		assert_non_null(rig_in_set(g, 4 + i));
		fake_dom(&g->host, 4 + i)->dom.flags = flags[i];
		rig_second(g);
		rig_settle(g);
		assert_null(rig_in_set(g, 4 + i));
		fake_dom(&g->host, 4 + i)->dom.flags = HV_DOM_DYING;
		rig_second(g);
		assert_null(on_disk(g, 4 + i, 4));
	}
}

WITH_RIG(domain_id__given_to_another_guest__is_a_guest_of_its_own)
{
	struct guests_rig *g = *state;
	uint64_t created;

	rig_create(g, 4, 1)->params.cap = CAP_PERCENT(30);
	rig_settle(g);
	created = rig_in_set(g, 4)->key.created;
	fake_dom_remove(&g->host, 4);
	rig_create(g, 4, 2)->params.cap = CAP_PERCENT(60);
	rig_settle(g);
	assert_int_equal(g->set->guests, 1);
	assert_int_not_equal(rig_in_set(g, 4)->key.created, created);
	assert_int_equal(rig_in_set(g, 4)->key.uuid[0], 2);
	assert_int_equal(rig_in_set(g, 4)->bounds.ceiling.mpct, 60000);
	assert_null(on_disk(g, 4, 1));
	assert_int_equal(on_disk(g, 4, 2)->params.cap.mpct, 60000);
	assert_int_equal(rig_events(g, "guest-gone"), 1);
	assert_int_equal(rig_events(g, "guest-new"), 2);
	assert_true(fake_dom(&g->host, 4)->watched);
}

/* --- policies, releases, sets ------------------------------------------------------------ */

WITH_RIG(set_policy__old_one_is_kept_until_the_sampler_has_left_it)
{
	struct guests_rig *g = *state;
	struct policy_inst *pi = NULL, *more = NULL, *old = g->gs->policy;

	assert_int_equal(policy_new(&pi, &policy_null, false), 0);
	assert_int_equal(policy_new(&more, &policy_null, false), 0);
	assert_int_equal(guests_set_policy(g->gs, pi, WALL), 0);
	assert_int_equal(guests_set_policy(g->gs, more, WALL), -EBUSY);
	rig_work(g, MS);
	assert_ptr_equal(g->gs->policy_old, old);
	assert_int_equal(guests_set_policy(g->gs, more, WALL), -EBUSY);
	assert_true(rig_ack(g));
	assert_ptr_equal(g->set->policy, pi);
	rig_work(g, MS);
	assert_null(g->gs->policy_old);
	assert_int_equal(guests_set_policy(g->gs, more, WALL), 0);
	assert_string_equal(rig_event(g, "policy")->text, "null");
}

static bool control_woken(struct guests_rig *g)
{
	uint64_t n;

	return read(g->ho.control_fd, &n, sizeof(n)) == sizeof(n);
}

/* The loop may be asleep for a second. */
WITH_RIG(commands__wake_the_loop_so_that_a_set_is_published_at_once)
{
	struct guests_rig *g = *state;
	struct policy_inst *pi = NULL;

	rig_create(g, 4, 4);
	rig_settle(g);
	assert_false(control_woken(g));
	guests_release(g->gs, rig_guest(g, "4"), true, WALL);
	assert_true(control_woken(g));
	assert_int_equal(policy_new(&pi, &policy_null, false), 0);
	assert_int_equal(guests_set_policy(g->gs, pi, WALL), 0);
	assert_true(control_woken(g));
}

WITH_RIG(release__guest_is_exempt_until_undone)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4);
	rig_settle(g);
	guests_release(g->gs, rig_guest(g, "4"), true, WALL);
	rig_work(g, MS);
	assert_true(rig_ack(g));
	assert_int_equal(rig_in_set(g, 4)->flags, POLICY_CAPPABLE | POLICY_EXEMPT);
	guests_release(g->gs, rig_guest(g, "4"), true, WALL);
	rig_work(g, MS);
	assert_false(rig_ack(g)); /* it was already */
	guests_release(g->gs, rig_guest(g, "4"), false, WALL);
	rig_work(g, MS);
	assert_true(rig_ack(g));
	assert_int_equal(rig_in_set(g, 4)->flags, POLICY_CAPPABLE);
	assert_int_equal(rig_events(g, "release"), 2);
}

WITH_RIG(sets__sampler_stands_still__stay_bounded_and_the_newest_comes_through)
{
	struct guests_rig *g = *state;
	uint32_t held = 0;

	for (uint32_t i = 0; i < 500; i++) {
		rig_create(g, 10 + i % 3, (uint8_t)i);
		rig_work(g, MS);
		rig_destroy(g, 10 + i % 3);
		rig_work(g, MS);
	}
	for (size_t i = 0; i < sizeof(g->gs->sets) / sizeof(g->gs->sets[0]); i++)
		held += !!g->gs->sets[i];
	assert_true(held <= 2); /* the one it reads, and the next */
	rig_create(g, 77, 7);
	rig_settle(g);
	rig_second(g); /* slots were free only after the first ack */
	rig_settle(g);
	assert_int_equal(g->set->guests, 1);
	assert_non_null(rig_in_set(g, 77));
	for (uint32_t i = 0, n = 0; i < FLOW_GUESTS_MAX; i++) {
		n += !!g->gs->guest[i];
		assert_true(n <= 1);
	}
}

WITH_RIG(work__says_when_it_wants_to_be_called_again)
{
	struct guests_rig *g = *state;

	assert_int_equal(rig_work(g, MS), NS_PER_S);
	rig_create(g, 4, 4);
	rig_settle(g);
	assert_int_equal(rig_work(g, MS), NS_PER_S);
	fake_host_event(&g->host, HV_EVENT_NODE, 4);
	g->gs->guest[rig_in_set(g, 4)->slot]->node_time = g->now; /* it was just read */
	assert_int_equal(rig_work(g, MS), 10 * MS);
}

/* --- finding -------------------------------------------------------------------------------- */

WITH_RIG(find__by_name_id_or_uuid_and_nothing_else)
{
	static const char *const not_there[] = { "",
						 "5",
						 "44",
						 "4 ",
						 "0x4",
						 "-4",
						 " 4",
						 "+4",
						 "guest-",
						 "GUEST-4",
						 "guest-4 ",
						 "4294967300",
						 "18446744073709551620" };
	struct guests_rig *g = *state;
	struct guest_entry *x;

	rig_create(g, 4, 0xab);
	rig_settle(g);
	x = guests_find(g->gs, "guest-4");
	assert_non_null(x);
	assert_ptr_equal(guests_find(g->gs, "4"), x);
	assert_ptr_equal(guests_find(g->gs, "abababab-abab-abab-abab-abababababab"), x);
	assert_ptr_equal(guests_find(g->gs, "ABABABAB-ABAB-ABAB-ABAB-ABABABABABAB"), x);
	for (size_t i = 0; i < sizeof(not_there) / sizeof(not_there[0]); i++)
		assert_null(guests_find(g->gs, not_there[i]));
}

/* --- events ---------------------------------------------------------------------------------- */

static void put_event(struct guests_rig *g, enum event_type type, int64_t a, int64_t b, int64_t c)
{
	const struct set_guest *e = rig_in_set(g, 4);
	const struct event ev = {
		.type = type, .slot = e->slot, .created = e->key.created, .a = a, .b = b, .c = c
	};

	assert_true(event_put(&g->ho, &ev));
	rig_work(g, MS);
}

WITH_RIG(events__of_the_sampler__become_sentences)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4);
	rig_settle(g);
	put_event(g, EVENT_CAP, 90, 1, 0);
	assert_string_equal(rig_event(g, "cap")->text, "capped at 90 % (was not capped)");
	put_event(g, EVENT_CAP, 0, 0, 48);
	assert_string_equal(rig_event(g, "cap")->text, "no cap (was 48 %)");
	put_event(g, EVENT_CAP_FAILED, 30, EBUSY, 0);
	assert_non_null(strstr(rig_event(g, "cap-failed")->text, strerror(EBUSY)));
	put_event(g, EVENT_EMPTY, 624288 * RESO_MILLI, 0, 0);
	assert_non_null(strstr(rig_event(g, "empty")->text, "624288"));
	put_event(g, EVENT_LATE, 2500 * NS_PER_US, 0, 0);
	assert_non_null(strstr(rig_event(g, "late")->text, "2500"));
	assert_string_equal(rig_event(g, "late")->guest, "");
	assert_string_equal(rig_event(g, "cap")->guest, "guest-4");
	assert_int_equal(rig_event(g, "cap")->wall_ns, WALL);
}

WITH_RIG(events__of_a_former_guest_of_the_slot__are_not_the_new_ones)
{
	struct guests_rig *g = *state;
	struct event ev = { .type = EVENT_CAP, .a = 5 };

	rig_create(g, 4, 4);
	rig_settle(g);
	ev.slot = rig_in_set(g, 4)->slot;
	ev.created = rig_in_set(g, 4)->key.created + 1;
	event_put(&g->ho, &ev);
	ev.slot = FLOW_GUESTS_MAX + 5;
	event_put(&g->ho, &ev);
	rig_work(g, MS);
	assert_null(rig_event(g, "cap"));
}

WITH_RIG(events__more_than_are_kept__numbers_have_no_gaps)
{
	struct guests_rig *g = *state;

	for (int i = 0; i < 3 * GUESTS_EVENTS; i++)
		guests_event(g->gs, WALL, "x", "registry", "number %d", i);
	assert_int_equal(g->gs->events, 3 * GUESTS_EVENTS);
	for (uint64_t id = 2 * GUESTS_EVENTS; id < 3 * GUESTS_EVENTS; id++)
		assert_int_equal(guests_event_after(g->gs, id)->id, id + 1);
	assert_int_equal(guests_event_after(g->gs, 0)->id, 2 * GUESTS_EVENTS + 1);
	assert_null(guests_event_after(g->gs, 3 * GUESTS_EVENTS));
}

WITH_RIG(sets__acknowledged__make_room_for_as_many_more)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4);
	for (int i = 0; i < 200; i++) {
		g->gs->publish_due = true;
		rig_work(g, MS);
		assert_true(rig_ack(g));
	}
	assert_non_null(rig_in_set(g, 4));
}

WITH_RIG(guest__goes_on_before_its_leaving_was_acknowledged__is_in_the_set_after_that)
{
	struct guests_rig *g = *state;
	struct fake_dom *d = rig_create(g, 4, 4);
	uint32_t slot;

	rig_settle(g);
	slot = rig_in_set(g, 4)->slot;
	d->dom.flags |= HV_DOM_SHUTDOWN;
	fake_host_event(&g->host, HV_EVENT_DOMAINS, 0);
	rig_work(g, MS);
	d->dom.flags &= ~(uint32_t)HV_DOM_SHUTDOWN;
	fake_host_event(&g->host, HV_EVENT_DOMAINS, 0);
	rig_work(g, MS);
	rig_work(g, MS);
	assert_true(rig_ack(g));
	assert_null(rig_in_set(g, 4));
	rig_work(g, MS);
	rig_work(g, MS);
	assert_true(rig_ack(g));
	assert_true(rig_in_set(g, 4)->kept);
	assert_int_equal(rig_in_set(g, 4)->slot, slot);
}

WITH_RIG(events__that_come_all_the_time__do_not_drive_out_the_others)
{
	static const char *const routine[] = { "empty", "late" };
	struct guests_rig *g = *state;
	uint64_t id = 0;

	guests_event(g->gs, WALL, "x", "guest-new", "first");
	guests_event(g->gs, WALL, "x", "cap", "second");
	for (int i = 0; i < 3 * GUESTS_EVENTS; i++)
		guests_event(g->gs, WALL, "x", routine[i % 2], "number %d", i);
	guests_event(g->gs, WALL, "x", "guest-gone", "last");
	assert_string_equal(guests_event_after(g->gs, 0)->kind, "guest-new");
	assert_string_equal(guests_event_after(g->gs, 1)->kind, "cap");
	for (uint32_t n = 0; n < GUESTS_EVENTS + 3; n++) {
		const struct event_text *e = guests_event_after(g->gs, id);

		assert_true(e->id > id);
		id = e->id;
	}
	assert_int_equal(id, g->gs->events);
	for (int i = 0; i < GUESTS_EVENTS; i++)
		guests_event(g->gs, WALL, "x", "cap", "number %d", i);
	assert_string_equal(rig_event(g, "guest-gone")->text, "last");
}

/*
 * Any program that can send packets can cause alarms; a host that holds the key can come and go,
 * and publish other settings each time.
 */
WITH_RIG(events_of_hosts__by_the_thousand__drive_out_nothing_else)
{
	static const char *const of_hosts[] = { "alarm", "host", "agreement" };
	struct guests_rig *g = *state;

	guests_event(g->gs, WALL, "x", "guest-new", "first");
	guests_event(g->gs, WALL, "x", "cap", "second");
	for (int i = 0; i < 3 * GUESTS_EVENTS; i++)
		guests_event(g->gs, WALL, "", of_hosts[i % 3], "number %d", i);
	assert_string_equal(rig_event(g, "guest-new")->text, "first");
	assert_string_equal(rig_event(g, "cap")->text, "second");
	assert_int_equal(rig_events(g, "alarm") + rig_events(g, "host") +
				 rig_events(g, "agreement"),
			 GUESTS_EVENTS);
	assert_string_equal(rig_event(g, "agreement")->text, "number 3071");
}
