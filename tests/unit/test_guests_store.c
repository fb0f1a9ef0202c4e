// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guests: a store that answers later or never, as src/hv/store.c does for xenstored. What a
 * guest is called and where its registry is comes some turns after the guest.
 */
#include "tests/unit/guests_rig.h"
#include "tests/unit/unit.h"

enum {
	MANY = 250,
	TURN_CALLS = 3 * MANY, /* of the store in one turn: name, watch and read of each guest */
};

static const char *cap_note(struct guests_rig *g, const char *who)
{
	return guest_view(g->gs, rig_guest(g, who)).cap_note;
}

static void answer(struct guests_rig *g)
{
	fake_store_answer(&g->host);
	rig_work(g, MS);
	rig_ack(g);
}

WITH_RIG(store__never_answers__guest_is_not_capped_and_control_goes_on)
{
	struct guests_rig *g = *state;

	rig_settings(g, "\"web\": {\"exempt\": true}");
	g->host.store_later = true;
	strcpy(rig_create(g, 4, 4)->name, "web");
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 4)->flags, 0);
	assert_string_equal(cap_note(g, "domain-4"), "its name is not known yet");
	assert_int_equal(rig_events(g, "guest-new"), 0);
	for (int i = 0; i < 5; i++)
		rig_second(g);
	rig_ack(g);
	assert_int_equal(rig_in_set(g, 4)->flags, 0);
	assert_string_equal(rig_event(g, "guest-new")->guest, "domain-4");
	assert_int_equal(rig_events(g, "guest-new"), 1);
	assert_int_equal(rig_events(g, "registry"), 0);
	assert_int_equal(g->host.store_calls, 3); /* nothing is asked again before its answer */
	assert_int_equal(fake_calls(&g->host, 4), 0);
	/* The list needs no store. */
	fake_dom_remove(&g->host, 4);
	rig_second(g);
	rig_settle(g);
	assert_null(rig_in_set(g, 4));
	assert_int_equal(rig_events(g, "guest-gone"), 1);
	assert_int_equal(guests_restore(g->gs), 0);
}

WITH_RIG(store__answers_later__guest_gets_name_settings_watch_and_registry_at_once)
{
	struct guests_rig *g = *state;
	int64_t wait;

	rig_settings(g, "\"web\": {\"exempt\": true, \"weight\": 9}");
	g->host.store_later = true;
	strcpy(rig_create_vm(g, 2)->name, "web");
	assert_int_equal(rig_in_set(g, VM)->scan->rings, 0);
	wait = rig_work(g, MS);
	assert_int_equal(wait, NS_PER_S); /* waits for the answer, and does not poll for it */
	answer(g);
	assert_non_null(rig_guest(g, "web"));
	assert_string_equal(cap_note(g, "web"), "");
	assert_int_equal(rig_in_set(g, VM)->flags, POLICY_CAPPABLE | POLICY_EXEMPT);
	assert_int_equal(rig_in_set(g, VM)->weight, 9);
	assert_true(fake_dom(&g->host, VM)->watched);
	assert_string_equal(rig_event(g, "guest-new")->guest, "web");
	assert_int_equal(rig_events(g, "guest-new"), 1);
	rig_settle(g);
	assert_int_equal(rig_in_set(g, VM)->scan->rings, 2);
	assert_int_equal(rig_events(g, "registry"), 1);
}

/* The answer is older than the change: the newest value counts. */
WITH_RIG(node__changes_while_an_answer_is_under_way__is_read_again)
{
	struct guests_rig *g = *state;
	struct fake_dom *d;

	g->host.store_later = true;
	d = rig_create_vm(g, 2);
	strcpy(d->node, "2 frame 99");
	fake_host_event(&g->host, HV_EVENT_NODE, VM);
	assert_int_equal(rig_work(g, 200 * MS), NS_PER_S); /* nothing to do before the answer */
	fake_store_answer(&g->host);
	snprintf(d->node, sizeof(d->node), "2 frame %d", FAKE_FRAME_REGISTRY);
	fake_host_event(&g->host, HV_EVENT_NODE, VM);
	rig_work(g, MS);
	rig_settle(g); /* more than NODE_MIN_MS: it is asked again */
	assert_int_equal(rig_in_set(g, VM)->scan->rings, 0);
	answer(g);
	rig_settle(g);
	assert_int_equal(rig_in_set(g, VM)->scan->rings, 2);
}

WITH_RIG(name__changes__is_found_with_the_next_answer)
{
	struct guests_rig *g = *state;

	g->host.store_later = true;
	rig_create(g, 4, 4);
	rig_settle(g);
	answer(g);
	assert_non_null(rig_guest(g, "guest-4"));
	strcpy(fake_dom(&g->host, 4)->name, "other");
	rig_second(g);
	assert_non_null(rig_guest(g, "guest-4"));
	assert_true(rig_in_set(g, 4)->flags & POLICY_CAPPABLE);
	answer(g);
	assert_non_null(rig_guest(g, "other"));
}

/* Domain ids are used again: answers to the former guest's requests are not the new one's. */
WITH_RIG(guest__replaced_while_it_waits__starts_anew)
{
	struct guests_rig *g = *state;

	g->host.store_later = true;
	rig_create(g, 4, 4);
	rig_settle(g);
	fake_dom_remove(&g->host, 4);
	strcpy(rig_create(g, 4, 5)->name, "next");
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 4)->flags, 0);
	answer(g);
	assert_non_null(rig_guest(g, "next"));
	assert_int_equal(rig_in_set(g, 4)->flags, POLICY_CAPPABLE);
}

WITH_RIG(guests__250_at_once__are_named_and_saved_in_bounded_turns)
{
	struct guests_rig *g = *state;
	uint32_t calls;

	g->host.store_later = true;
	for (uint32_t id = 1; id <= MANY; id++)
		fake_dom_add(&g->host, id, (uint8_t)id);
	fake_host_event(&g->host, HV_EVENT_DOMAINS, 0);
	for (int turn = 0; turn < 3; turn++) {
		calls = g->host.store_calls;
		rig_work(g, MS);
		rig_ack(g);
		assert_in_range(g->host.store_calls - calls, 0, TURN_CALLS);
	}
	assert_int_equal(g->set->guests, MANY);
	calls = g->host.store_calls;
	answer(g);
	assert_in_range(g->host.store_calls - calls, 0, TURN_CALLS);
	assert_int_equal(g->set->guests, MANY);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(g->set->guest[i].flags, POLICY_CAPPABLE);
	assert_int_equal(rig_events(g, "guest-new"), MANY);
	for (uint32_t id = 1; id <= MANY; id++)
		assert_true(fake_dom(&g->host, id)->watched);
}

/* Each registry that is tried makes an event: these guests have no memory. */
WITH_RIG(guests__250_at_once__are_attached_in_bounded_turns)
{
	struct guests_rig *g = *state;
	uint32_t turns = 0, told = 0;

	g->host.store_later = true;
	for (uint32_t id = 100; id < 100 + MANY; id++)
		strcpy(fake_dom_add(&g->host, id, (uint8_t)id)->node, "2 frame 1");
	rig_work(g, MS);
	fake_store_answer(&g->host);
	while (told < MANY) {
		uint32_t before = told;
		int64_t wait = rig_work(g, MS);

		rig_ack(g);
		told = rig_events(g, "registry");
		assert_in_range(told - before, 1, TURN_GUESTS);
		assert_true(told == MANY || wait <= 10 * MS);
		turns++;
	}
	assert_int_equal(turns, (MANY + TURN_GUESTS - 1) / TURN_GUESTS);
}
