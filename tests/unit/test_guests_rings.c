// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guests: registries and rings of a guest with memory. Whatever a guest
 * does, nothing is unmapped under the sampler, and nothing stays mapped that
 * no set needs: a mapping keeps a destroyed domain alive.
 */
#include "ibmon/scan.h"
#include "src/guests/guests_priv.h"
#include "tests/unit/guests_rig.h"
#include "tests/unit/steps.h"
#include "tests/unit/unit.h"

/* The sampler between taking a set and acknowledging it. */
static void take(struct guests_rig *g)
{
	struct guest_set *next = atomic_exchange(&g->ho.next, NULL);

	if (next)
		g->set = next;
}

static void ack(struct guests_rig *g)
{
	atomic_store(&g->ho.acked, g->set->serial);
}

/* Read all the set names, as a tick does: what is unmapped or freed ends the test. */
static void read_set(struct guests_rig *g, bool tell)
{
	for (uint32_t i = 0; i < g->set->guests; i++) {
		const struct set_guest *e = &g->set->guest[i];
		struct scan_result res;
		struct report rep;
		struct usage u = { .slot = e->slot };

		scan_guest(e->scan, MS, &u, &rep, NULL, &res);
		for (uint32_t k = 0; tell && k < res.faults; k++) {
			const struct event ev = { .type = EVENT_RING_FAULT,
						  .slot = e->slot,
						  .created = e->key.created,
						  .a = res.fault_id[k],
						  .b = res.fault_why[k] };

			event_put(&g->ho, &ev);
		}
	}
}

static void add_ring(struct guests_rig *g, uint32_t id)
{
	fake_write_begin(&g->mem);
	fake_add_sq(&g->mem, id, 16);
	fake_write_end(&g->mem);
}

static void drop_ring(struct guests_rig *g, uint32_t i)
{
	fake_write_begin(&g->mem);
	fake_ring_at(&g->mem, i)->kind = GUEST_RING_FREE;
	fake_write_end(&g->mem);
}

static uint32_t rings(struct guests_rig *g)
{
	return rig_in_set(g, VM) ? rig_in_set(g, VM)->scan->rings : 0;
}

static uint64_t mapped(struct guests_rig *g)
{
	return g->mem.m.pages;
}

static void put_fault(struct guests_rig *g, uint32_t ring)
{
	const struct set_guest *e = rig_in_set(g, VM);
	const struct event ev = { .type = EVENT_RING_FAULT,
				  .slot = e->slot,
				  .created = e->key.created,
				  .time = g->now,
				  .a = ring,
				  .b = RING_FAULT_ENTRY };

	*(uint8_t *)fake_ring_mem(&g->mem, ring - 1) ^= 1; /* or it would come back soon */
	assert_true(event_put(&g->ho, &ev));
}

static void set_node(struct guests_rig *g, const char *value)
{
	strcpy(fake_dom(&g->host, VM)->node, value);
	fake_host_event(&g->host, HV_EVENT_NODE, VM);
}

/* --- rows of steps ------------------------------------------------------------ */

static void show_latencies(struct guests_rig *g, uint32_t n)
{
	fake_write_begin(&g->mem);
	for (uint32_t i = 0; i < n; i++)
		fake_registry(&g->mem)->latency[i] = (struct guest_ref){ GUEST_REF_FRAME, 0,
									 FAKE_FRAME_LATENCY + i };
	fake_registry(&g->mem)->latencies = n;
	fake_write_end(&g->mem);
}

/*
 * Steps. The guest is domain 7, and its node is in xenstore:
 *
 *	vm N			the guest comes with an agent and N rings, which are then read
 *	create [DOMID]		a guest comes without an agent
 *	destroy			the guest goes
 *	replace			the guest goes, and at once another one has its id
 *	add ID, drop I		the agent adds a ring; frees the descriptor number I
 *	latencies N		the agent has N latency pages
 *	touch			the agent writes its registry, and changes no ring
 *	half-write		the agent begins to write its registry, and is killed
 *	beat			the agent counts its heartbeat up
 *	unseen N		N queue pairs came and went unseen by the agent
 *	node TEXT, no-node	the agent writes its node, or removes it, with an event
 *	silent-node TEXT	the agent writes its node, and there is no event
 *	deny, allow		the guest's memory cannot be mapped; can be
 *	deny-watch, allow-watch	the node cannot be watched; can be
 *	work			1 ms passes, and the control thread does what is due
 *	second			1 s passes, and it does what is due each second
 *	settle			300 ms pass for the control thread and the sampler
 *	take, ack		the sampler's tick takes the next set; ends
 *	tick			both, and there must be a next set
 *	read			the sampler reads all that its set names
 *	fault ID		the sampler finds a fault in a ring
 *	mark			remembers how many pages are mapped
 *
 * Expectations:
 *
 *	rings N, latencies N	in the sampler's set
 *	in-set [DOMID]		the guest is in the sampler's set
 *	no-registry		it is, and has no registry
 *	mapped N		pages that are mapped
 *	wait N			the last "work" wants to be called again in N ms
 *	behind N		the set's generation is so far behind the registry's
 *	more N, fewer N		how many more or fewer than at "mark"
 *	events KIND N		how many events of a kind there were
 *	event KIND TEXT		the text of the newest of them
 *	watched			the node is watched
 */
static const struct row {
	const char *name, *steps;
} rows[] = {
	{ "agent: comes after its guest, and is noticed by its node",
	  "create, settle -> rings 0; add 1, node 2 frame 1, settle -> rings 1" },
	/* What is known is still read while the agent is silent. */
	{ "agent: heartbeat unchanged, reported once, and when it is back",
	  "vm 1, beat, second, beat, second, beat, second, beat, second, beat, second"
	  "-> events agent-silent 0; 10 x second -> events agent-silent 1, rings 1;"
	  "beat, second -> event agent-back its agent's heartbeat goes on, events agent-back 1" },
	{ "agent: was never there, is not missed",
	  "create, settle, 10 x second -> events agent-silent 0" },
	{ "agent: misses queue pairs, reported at once, and then each 10 s at most",
	  "vm 1, second -> events missed-qps 0; unseen 3, second -> events missed-qps 1;"
	  "unseen 4, 5 x second -> events missed-qps 1; unseen 9, 5 x second -> event missed-qps "
	  "6 queue pairs came and went uncounted since 10 s ago (see ring-list);"
	  "20 x second -> events missed-qps 2" },
	{ "agent: has no room for queue pairs, told once as long as it lasts",
	  "vm 1, second -> events unpublished-qps 0; unpublished 22, second -> "
	  "events unpublished-qps 1;"
	  "unpublished 30, 20 x second -> events unpublished-qps 1; unpublished 0, second;"
	  "unpublished 1, second -> events unpublished-qps 2; unpublished 0, second;"
	  "unpublished 1, second -> events unpublished-qps 2" },
	{ "agent: writes half a registry, rings known before are kept",
	  "vm 2, half-write, settle -> rings 2; read -> rings 2" },
	{ "node: cannot be watched, is read each second until it can",
	  "create, deny-watch, settle, add 1, silent-node 2 frame 1, settle -> rings 0;"
	  "second, settle -> rings 1; allow-watch, second -> watched" },
	{ "node: withdrawn, rings leave and come back with it",
	  "vm 2, no-node, settle -> rings 0, no-registry, mapped 0;"
	  "node 2 frame 1, settle -> rings 2" },
	{ "node: rewritten all the time, other guests are noticed in between",
	  "vm 1, 900 x node 2 frame 1, create 9, settle -> in-set 9" },
	/* The guest's kernel is just moving pages: nobody will write the node again. */
	{ "registry: cannot be mapped now, is tried again and reported once",
	  "deny, vm 2, second, settle, second, settle, second, settle, second, settle, second,"
	  "settle -> rings 0, events registry 1; allow, second, settle -> rings 2" },

	/*
	 * The sampler tells of a change once a set: a walk that is not made now must not wait for
	 * the next event, and a set without the newest generation would hide the next change.
	 */
	{ "registry: changes soon after a walk, is walked again in time",
	  "vm 1, add 2, work, tick, touch, work -> wait 1; work -> behind 2; tick -> behind 0" },
	{ "registry: changes without new rings, the set gets its generation",
	  "vm 1, touch -> behind 2; settle -> behind 0" },
	{ "registry: nothing changes, nothing is asked for", "vm 1, settle, work -> wait 1000" },
	{ "ring: waits for the sampler's ack, is looked at each interval",
	  "vm 2, drop 0, work, work -> wait 1" },

	/* A ring of 16 slots of 256 bytes and a header is two pages. */
	{ "ring: dropped, is unmapped only after the ack",
	  "vm 2, mark, drop 0, 50 x work -> fewer 0; read, take, 50 x work -> fewer 0;"
	  "ack, work -> rings 1, fewer 2; read -> fewer 2" },
	{ "latency page: comes with its process, is unmapped only after the ack",
	  "vm 1, mark, latencies 2, settle -> latencies 2, more 2;"
	  "latencies 0, 50 x work, read, take, 50 x work -> more 2;"
	  "ack, work -> more 0, latencies 0; read -> more 0" },
	/* 4 rings of two pages each; the registry, a directory, a list of frames. */
	{ "guest: destroyed while mapped, all is unmapped after the ack",
	  "vm 4, mark -> mapped 11..; destroy, 50 x work -> fewer 0;"
	  "read, tick, work -> mapped 0" },
	{ "guest: replaced under its id while mapped, nothing of the old one stays",
	  "vm 4, replace, settle -> in-set, rings 0, mapped 0; node 2 frame 1, settle -> rings 4" },
	{ "fault: of a ring that left meanwhile, nothing happens",
	  "vm 2, fault 99, settle -> rings 2" },
	/*
	 * One ring was dropped and the set without it is being taken, when a fault of
	 * another is reported: the ack that now comes is of a set that still holds the other.
	 */
	{ "fault: between a set and its ack, waits for the next set",
	  "vm 2, mark, drop 0, 20 x work, take -> rings 1; fault 2, work, ack, work -> rings 1;"
	  "read -> fewer ..2; settle -> rings 0, fewer 4" },
	/* The same when the guest frees the second one: nobody looks at it in between. */
	{ "ring: gone between a set and its ack, waits for the next set",
	  "vm 2, mark, drop 0, 20 x work, take -> rings 1;"
	  "drop 1, 20 x work, ack, work, read -> fewer 2; settle -> rings 0, fewer 4" },
};

struct row_rig {
	struct guests_rig *g;
	uint64_t marked;
	uint64_t wait; /* ms, that the last "work" asked for */
};

/* What the guest or its agent does. False: the step is not of these. */
static bool guest_does(struct guests_rig *g, const struct step *s)
{
	uint32_t n = (uint32_t)s->n[0];

	if (step_is(s, "vm"))
		rig_create_vm(g, n);
	else if (step_is(s, "create"))
		rig_create(g, s->numbers ? n : VM, s->numbers ? (uint8_t)n : 1);
	else if (step_is(s, "destroy"))
		rig_destroy(g, VM);
	else if (step_is(s, "replace")) {
		fake_dom_remove(&g->host, VM);
		rig_create(g, VM, 0x99);
	} else if (step_is(s, "add"))
		add_ring(g, n);
	else if (step_is(s, "drop"))
		drop_ring(g, n);
	else if (step_is(s, "latencies"))
		show_latencies(g, n);
	else if (step_is(s, "touch")) {
		fake_write_begin(&g->mem);
		fake_write_end(&g->mem);
	} else if (step_is(s, "half-write"))
		fake_write_begin(&g->mem);
	else if (step_is(s, "beat"))
		fake_registry(&g->mem)->heartbeat++;
	else if (step_is(s, "unseen"))
		fake_registry(&g->mem)->qps_unseen = n;
	else if (step_is(s, "unpublished"))
		fake_registry(&g->mem)->qps_unpublished = n;
	else if (step_is(s, "node") || step_is(s, "no-node"))
		set_node(g, s->rest);
	else if (step_is(s, "silent-node"))
		strcpy(fake_dom(&g->host, VM)->node, s->rest);
	else if (step_is(s, "deny") || step_is(s, "allow")) {
		g->mem.m.denied = step_is(s, "deny");
		g->mem.m.err = -EAGAIN;
	} else if (step_is(s, "deny-watch") || step_is(s, "allow-watch"))
		fake_dom(&g->host, VM)->watch_rc = step_is(s, "deny-watch") ? -ENOMEM : 0;
	else
		return false;
	return true;
}

static void act(void *rig, const struct step *s)
{
	struct row_rig *r = rig;
	struct guests_rig *g = r->g;

	if (step_is(s, "work"))
		r->wait = (uint64_t)rig_work(g, MS) / MS;
	else if (step_is(s, "second"))
		rig_second(g);
	else if (step_is(s, "settle"))
		rig_settle(g);
	else if (step_is(s, "take"))
		take(g);
	else if (step_is(s, "ack"))
		ack(g);
	else if (step_is(s, "tick"))
		assert_true(rig_ack(g));
	else if (step_is(s, "read"))
		read_set(g, false);
	else if (step_is(s, "fault"))
		put_fault(g, (uint32_t)s->n[0]);
	else if (step_is(s, "mark"))
		r->marked = mapped(g);
	else if (!guest_does(g, s))
		step_unknown(s);
}

static void check(void *rig, const struct step *s)
{
	struct row_rig *r = rig;
	struct guests_rig *g = r->g;
	const struct set_guest *e = rig_in_set(g, VM);
	const struct step_figure figures[] = {
		{ "rings", rings(g) },
		{ "latencies", e ? e->scan->latencies : UINT64_MAX },
		{ "mapped", mapped(g) },
		{ "wait", r->wait },
		{ "behind", e ? fake_registry(&g->mem)->generation - e->scan->generation : 0 },
		{ "more", mapped(g) - r->marked },
		{ "fewer", r->marked - mapped(g) },
		{ "events", rig_events(g, s->word) },
	};

	if (step_expect_figure(s, figures, sizeof(figures) / sizeof(figures[0])))
		return;
	if (step_is(s, "in-set"))
		step_holds(s, rig_in_set(g, (uint32_t)step_number(s, 0, VM)));
	else if (step_is(s, "no-registry"))
		step_holds(s, e && !e->scan->registry);
	else if (step_is(s, "watched"))
		step_holds(s, fake_dom(&g->host, VM)->watched);
	else if (step_is(s, "event"))
		assert_string_equal(rig_event(g, s->word)->text, s->rest + strlen(s->word) + 1);
	else
		step_unknown(s);
}

static void run_row(void **state)
{
	static const struct steps_ops ops = { .act = act, .check = check };
	const struct row *row = *state;
	struct row_rig r = { 0 };

	assert_int_equal(rig_setup(state), 0);
	r.g = *state;
	steps_run(row->steps, &ops, &r);
	rig_teardown(state);
}
TEST_ROWS(rows, run_row)

/* --- coming ------------------------------------------------------------------- */

WITH_RIG(agent__there__its_rings_are_in_the_set)
{
	struct guests_rig *g = *state;
	const struct set_guest *e;

	rig_create_vm(g, 3);
	e = rig_in_set(g, VM);
	assert_int_equal(e->scan->rings, 3);
	assert_non_null(e->scan->registry);
	assert_int_equal(e->scan->generation, fake_registry(&g->mem)->generation);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(e->scan->ring[i].id, i + 1);
		assert_true(e->scan->ring[i].old);
	}
	read_set(g, true);
	assert_string_equal(rig_event(g, "registry")->text, "attached");
}

WITH_RIG(ring__added_later__is_in_the_next_set_and_not_old)
{
	struct guests_rig *g = *state;

	rig_create_vm(g, 1);
	add_ring(g, 5);
	rig_settle(g);
	assert_int_equal(rings(g), 2);
	assert_int_equal(rig_in_set(g, VM)->scan->ring[1].id, 5);
	assert_false(rig_in_set(g, VM)->scan->ring[1].old);
}

WITH_RIG(rings__more_than_the_limit__only_as_many_are_mapped)
{
	struct guests_rig *g = *state;

	g->conf.limits.rings = 2;
	rig_create_vm(g, 5);
	assert_int_equal(rings(g), 2);
	rig_end(g);
	fake_dom(&g->host, VM)->watched = false; /* the handle was closed */
	rig_begin(g);
	g->conf.limits = (struct registry_limits){ .rings = 256, .pages = 4 };
	rig_settle(g);
	assert_true(rings(g) < 5);
	assert_true(mapped(g) <= 4 + 1); /* the registry page itself always is */
}

/* --- going ---------------------------------------------------------------------- */

WITH_RIG(frames__moved__the_ring_is_mapped_anew_where_it_is)
{
	struct guests_rig *g = *state;
	uint64_t maps, pages;
	struct guest_state st;

	rig_create_vm(g, 1);
	pages = mapped(g);
	guest_state(rig_guest(g, "7")->mon, g->now, &st);
	maps = st.maps;
	g->mem.m.moved = *fake_frame_at(&g->mem, 0);
	rig_second(g);
	g->mem.m.moved = 0;
	rig_settle(g);
	guest_state(rig_guest(g, "7")->mon, g->now, &st);
	assert_int_equal(st.maps, maps + 1);
	assert_int_equal(rings(g), 1);
	assert_int_equal(mapped(g), pages);
}

/* --- faults ------------------------------------------------------------------------- */

WITH_RIG(ring__at_fault__leaves_with_a_reason_and_is_unmapped_after_the_ack)
{
	struct guests_rig *g = *state;
	uint64_t pages;

	rig_create_vm(g, 2);
	pages = mapped(g);
	put_fault(g, 1);
	rig_work(g, MS);
	assert_int_equal(mapped(g), pages);
	rig_settle(g);
	assert_int_equal(rings(g), 1);
	assert_int_equal(mapped(g), pages - 2);
}

WITH_RIG(ring__at_fault_again_and_still_published__makes_an_event_and_a_state)
{
	struct guests_rig *g = *state;

	rig_create_vm(g, 1);
	put_fault(g, 1);
	for (int i = 0; i < 500; i++) {
		if (i == 200)
			fake_registry(&g->mem)->heartbeat += 2;
		rig_work(g, MS);
		rig_ack(g);
	}
	assert_int_equal(rings(g), 0);
	assert_int_equal(rig_in_set(g, VM)->unreadable, 1);
	assert_true(rig_in_set(g, VM)->last_rate);
	assert_non_null(rig_event(g, "ring-forged"));
	assert_int_equal(rig_events(g, "ring-forged"), 1);
	assert_non_null(strstr(rig_event(g, "ring-forged")->text, "ring 1 is still published"));
	assert_true(guest_view(g->gs, rig_guest(g, "7")).forged);
	*(uint8_t *)fake_ring_mem(&g->mem, 0) ^= 1;
	for (int i = 0; i < 500; i++) {
		rig_work(g, MS);
		rig_ack(g);
	}
	assert_int_equal(rings(g), 1);
	assert_int_equal(rig_in_set(g, VM)->unreadable, 0);
}

/* --- nodes -------------------------------------------------------------------------------- */

WITH_RIG(node__rewritten_all_the_time__is_read_ten_times_a_second_at_most)
{
	struct guests_rig *g = *state;
	uint32_t reads;
	uint64_t most;

	rig_create_vm(g, 4);
	reads = fake_dom(&g->host, VM)->reads;
	most = mapped(g);
	g->mem.m.most = 0;
	for (int i = 0; i < 1000; i++) {
		set_node(g, i % 2 ? "2 frame 1" : "2 frame 2");
		rig_work(g, MS);
		rig_ack(g);
		read_set(g, false);
	}
	assert_in_range(fake_dom(&g->host, VM)->reads - reads, 5, 10);
	assert_true(g->mem.m.most <= 2 * most); /* leaving and coming at once */
	set_node(g, "2 frame 1");
	rig_settle(g);
	assert_int_equal(rings(g), 4);
}

WITH_RIG(node__of_a_wrong_form__maps_nothing_and_says_so)
{
	static const char *const nodes[] = {
		"x",
		"2",
		"2 frame",
		"2 frame -1",
		"2 frame 1 ",
		"2 page 1",
		"1 frame 1",
		"0 frame 1",
		"2 frame 99999999999999999999",
		"2  frame 1",
		"2 frame 4000000000",
		"2 grant 0x10",
		"2 frame 1111111111111111111111111111111111111111111111111111111111111111111111"
	};
	struct guests_rig *g = *state;

	rig_create(g, VM, 1);
	rig_settle(g);
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		rig_second(g); /* it is told once a second at most */
		rig_forget_events(g);
		set_node(g, nodes[i]);
		rig_settle(g);
		assert_int_equal(rings(g), 0);
		assert_int_equal(mapped(g), 0);
		assert_non_null(strstr(rig_event(g, "registry")->text, "cannot"));
		set_node(g, "");
		rig_settle(g);
	}
}

WITH_RIG(node__not_readable__is_said_and_the_guest_stays)
{
	static const int rcs[] = { -EPERM, -EBADMSG, -EMSGSIZE };
	struct guests_rig *g = *state;

	rig_create_vm(g, 1);
	for (size_t i = 0; i < 3; i++) {
		rig_second(g);
		rig_forget_events(g);
		fake_dom(&g->host, VM)->read_rc = rcs[i];
		fake_host_event(&g->host, HV_EVENT_NODE, VM);
		rig_settle(g);
		assert_non_null(rig_event(g, "registry"));
		assert_non_null(rig_in_set(g, VM));
	}
}

WITH_RIG(node__wrong_all_the_time__is_told_once_a_second)
{
	struct guests_rig *g = *state;

	rig_create(g, VM, 1);
	for (int i = 0; i < 3000; i++) {
		set_node(g, i % 2 ? "rubbish" : "2 frame 1");
		rig_work(g, MS);
		rig_ack(g);
	}
	assert_in_range(rig_events(g, "registry"), 1, 3);
}

/* --- totals ---------------------------------------------------------------------------------- */

WITH_RIG(rings_asked__sampler_ticks__totals_are_there)
{
	struct guests_rig *g = *state;
	struct rings_ask a = { 0 };
	struct ring_totals t;

	rig_create_vm(g, 1);
	assert_false(guest_ring_shown(rig_guest(g, "7")->mon, 0, &t));
	assert_int_equal(guests_rings(g->gs, &a, g->now), -EAGAIN);
	rig_show(g);
	assert_int_equal(guests_rings(g->gs, &a, g->now), 0);
	assert_true(guest_ring_shown(rig_guest(g, "7")->mon, 0, &t));
	assert_false(guest_ring_shown(rig_guest(g, "7")->mon, 1, &t));
	guests_rings_end(g->gs, &a);
}

WITH_RIG(rings_asked__sampler_stands_still__gives_up_and_an_answer_still_comes)
{
	struct guests_rig *g = *state;
	struct rings_ask a = { 0 }, b = { 0 };
	struct mono later;

	rig_create_vm(g, 1);
	later = mono_add(g->now, 101 * MS);
	assert_int_equal(guests_rings(g->gs, &a, g->now), -EAGAIN);
	assert_int_equal(guests_rings(g->gs, &a, mono_add(g->now, 100 * MS)), -EAGAIN);
	assert_int_equal(guests_rings(g->gs, &a, later), -ETIMEDOUT);
	guests_rings_end(g->gs, &a);
	/* That answer comes yet, but was asked for before this one. */
	assert_int_equal(guests_rings(g->gs, &b, later), -EAGAIN);
	rig_show(g);
	assert_int_equal(guests_rings(g->gs, &b, later), -EAGAIN);
	rig_show(g);
	assert_int_equal(guests_rings(g->gs, &b, later), 0);
	guests_rings_end(g->gs, &b);
}

/* Totals must not change while somebody reads them; and one slow tick answers all who wait. */
WITH_RIG(rings_asked__while_others_read__the_next_answer_waits_for_them)
{
	struct guests_rig *g = *state;
	struct rings_ask first = { 0 }, more[3] = { 0 };

	assert_int_equal(guests_rings(g->gs, &first, g->now), -EAGAIN);
	for (int i = 0; i < 3; i++)
		assert_int_equal(guests_rings(g->gs, &more[i], g->now), -EAGAIN);
	rig_show(g);
	g->now.ns += 20 * MS;
	assert_int_equal(guests_rings(g->gs, &more[0], g->now), -EAGAIN);
	assert_int_equal(atomic_load(&g->ho.rings_asked), 1);
	assert_int_equal(guests_rings(g->gs, &first, g->now), 0);
	guests_rings_end(g->gs, &first);
	assert_int_equal(guests_rings(g->gs, &more[0], g->now), -EAGAIN);
	assert_int_equal(atomic_load(&g->ho.rings_asked), 2);
	guests_rings_end(g->gs, &more[1]); /* it hung up */
	rig_show(g);
	assert_int_equal(guests_rings(g->gs, &more[0], g->now), 0);
	assert_int_equal(guests_rings(g->gs, &more[2], g->now), 0);
	guests_rings_end(g->gs, &more[0]);
	guests_rings_end(g->gs, &more[2]);
	assert_int_equal(g->gs->rings.readers + g->gs->rings.next, 0);
}

WITH_RIG(rings_asked__again_and_again__the_sampler_is_asked_every_10_ms)
{
	struct guests_rig *g = *state;

	for (int i = 0; i < 1000; i++) {
		struct rings_ask a = { 0 };

		guests_rings(g->gs, &a, g->now);
		guests_rings_end(g->gs, &a);
		rig_show(g);
		g->now.ns += 100000;
	}
	assert_in_range(atomic_load(&g->ho.rings_asked), 9, 11);
}

/* --- any order of it all --------------------------------------------------------------------- */

static void guest_does_something(struct guests_rig *g, struct prop *p)
{
	switch (prop_range(p, 0, 5)) {
	case 0:
	case 1:
		if (g->mem.rings < 60)
			add_ring(g, g->mem.rings + 1);
		break;
	case 2:
		if (g->mem.rings)
			drop_ring(g, (uint32_t)prop_range(p, 0, g->mem.rings - 1));
		break;
	case 3:
		if (g->mem.rings) /* spoil one's header */
			memset(fake_ring_mem(&g->mem, (uint32_t)prop_range(p, 0, g->mem.rings - 1)),
			       0x5a, 8);
		break;
	case 4:
		if (fake_dom(&g->host, VM))
			set_node(g, prop_one_in(p, 3) ? "" : "2 frame 1");
		break;
	default:
		fake_registry(&g->mem)->generation += (uint32_t)prop_range(p, 0, 2);
	}
}

static void host_does_something(struct guests_rig *g, struct prop *p)
{
	if (!fake_dom(&g->host, VM)) {
		rig_create(g, VM, (uint8_t)prop_range(p, 1, 3));
		set_node(g, "2 frame 1");
		return;
	}
	if (prop_one_in(p, 3))
		rig_destroy(g, VM);
	else
		g->mem.m.moved = prop_one_in(p, 2) && g->mem.frames ? *fake_frame_at(&g->mem, 0)
								    : 0;
}

WITH_RIG(random_scripts__nothing_is_unmapped_under_the_sampler_nor_left_behind)
{
	struct guests_rig *g = *state;
	struct prop p;

	prop_start(&p);
	for (int step = 0; step < 6000; step++) {
		if (prop_one_in(&p, 4))
			guest_does_something(g, &p);
		if (prop_one_in(&p, 60))
			host_does_something(g, &p);
		if (prop_one_in(&p, 3))
			take(g);
		read_set(g, true);
		if (prop_one_in(&p, 2))
			rig_work(g, (int64_t)prop_range(&p, 0, 5 * (uint64_t)MS));
		if (prop_one_in(&p, 2))
			ack(g);
		if (prop_one_in(&p, 100))
			guests_second(g->gs, g->now, WALL);
		read_set(g, false);
		if (g->mem.rings >= 60 && prop_one_in(&p, 50)) { /* a new registry */
			memset(g->mem.m.all, 0, (size_t)FAKE_FRAME_RINGS * HV_PAGE);
			g->mem.rings = g->mem.frames = 0;
			g->mem.next = FAKE_FRAME_RINGS;
			*fake_registry(&g->mem) = (struct guest_registry){
				.magic = GUEST_REGISTRY_MAGIC, .version = 1, .generation = 2
			};
		}
	}
	if (fake_dom(&g->host, VM))
		rig_destroy(g, VM);
	ack(g); /* the set that was taken last */
	rig_settle(g);
	assert_int_equal(mapped(g), 0);
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		assert_null(g->gs->guest[i]);
}
