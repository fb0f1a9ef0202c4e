// SPDX-License-Identifier: GPL-2.0-or-later
/* guest: mapping, letting go, and what a guest may make the host do. */
#include "tests/unit/prop.h"

#include <errno.h>
#include <string.h>

#include "ibmon/guest.h"
#include "tests/fakes/fake_guest.h"
#include "tests/fakes/fake_latency.h"
#include "tests/fakes/fake_ring.h"
#include "tests/unit/guest_rig.h"
#include "tests/unit/unit.h"

RIG_TEST(open__before_attach__maps_nothing)
{
	struct fixture *x = *state;

	assert_int_equal(x->g.m.calls, 0);
	assert_int_equal(rings(x), 0);
	assert_false(look(x)->attached);
}

RIG_TEST(attach__guest_with_rings__opens_them)
{
	struct fixture *x = *state;

	add(x, 1, 16);
	add(x, 2, 64);
	attach(x);
	assert_int_equal(settle(x), 1);
	assert_int_equal(rings(x), 2);
	assert_int_equal(x->ring[0].id + x->ring[1].id, 3);
	assert_true(look(x)->attached);
	assert_int_equal(x->st.rings, 2);
	assert_int_equal(x->st.agent_pid, 100);
	assert_int_equal(x->st.generation, fake_registry(&x->g)->generation);
	assert_int_equal(x->st.faults, 0);
	assert_true(x->st.pages >= 7 && x->st.pages == x->g.m.pages);
	assert_string_equal(x->st.fault, "");
}

RIG_TEST(attach__registry_cannot_be_mapped__says_so)
{
	struct fixture *x = *state;
	struct guest_ref ref = { .type = GUEST_REF_FRAME, .ref = FAKE_FRAMES + 9 };

	assert_int_equal(guest_attach(x->mon, &ref), -EINVAL);
	assert_false(look(x)->attached);
	assert_int_equal(x->g.m.pages, 0);
}

RIG_TEST(attach__by_grant__works_as_well)
{
	struct fixture *x = *state;
	struct guest_ref ref = { .type = GUEST_REF_GRANT, .ref = FAKE_FRAME_REGISTRY };

	add(x, 1, 16);
	assert_int_equal(guest_attach(x->mon, &ref), 0);
	assert_int_equal(settle(x), 1);
	assert_int_equal(rings(x), 1);
}

RIG_TEST(attach__null__withdraws_all)
{
	struct fixture *x = *state;

	add(x, 1, 16);
	attach(x);
	settle(x);
	assert_int_equal(guest_attach(x->mon, NULL), 0);
	assert_int_equal(rings(x), 0);
	guest_reap(x->mon);
	assert_int_equal(x->g.m.pages, 0);
	assert_false(look(x)->attached);
	attach(x); /* and it can come back */
	settle(x);
	assert_int_equal(rings(x), 1);
}

RIG_TEST(refresh__nothing_changed__does_nothing)
{
	struct fixture *x = *state;
	uint64_t calls, walks;

	add(x, 1, 16);
	attach(x);
	settle(x);
	calls = x->g.m.calls;
	walks = look(x)->walks;
	for (int i = 0; i < 100; i++)
		assert_int_equal(settle(x), 0);
	assert_int_equal(x->g.m.calls, calls);
	assert_int_equal(look(x)->walks, walks);
	assert_false(guest_due(x->mon, x->now));
}

RIG_TEST(refresh__ring_added__is_opened_and_the_others_stay_mapped)
{
	struct fixture *x = *state;
	struct ring *first;
	uint64_t calls;

	add(x, 1, 16);
	attach(x);
	settle(x);
	rings(x);
	first = x->ring[0].ring;
	calls = x->g.m.calls;
	add(x, 2, 16);
	x->now.ns += 20 * MS;
	assert_true(guest_due(x->mon, x->now));
	assert_int_equal(settle(x), 1);
	assert_int_equal(rings(x), 2);
	assert_true(x->ring[0].ring == first || x->ring[1].ring == first);
	assert_in_range(x->g.m.calls - calls, 1, 4); /* the ring, perhaps the agent's pages */
}

RIG_TEST(refresh__ring_there_at_the_first_walk__is_old_and_later_ones_are_not)
{
	struct fixture *x = *state;

	add(x, 1, 16);
	attach(x);
	settle(x);
	add(x, 2, 16);
	settle(x);
	assert_int_equal(rings(x), 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(!!x->ring[i].old, x->ring[i].id == 1);
}

/* A child that was forked shows its parent's ring under an id of its own. */
RIG_TEST(refresh__inherited_ring_when_its_parent_ends__is_mapped_after_the_reap)
{
	struct fixture *x = *state;
	uint32_t parent, child;

	attach(x);
	settle(x);
	fake_write_begin(&x->g);
	parent = fake_add_sq(&x->g, 1, 16);
	child = fake_add_sq(&x->g, 2, 16);
	fake_ring_at(&x->g, child)->first_frame = fake_ring_at(&x->g, parent)->first_frame;
	fake_ring_at(&x->g, child)->number = fake_ring_at(&x->g, parent)->number;
	fake_write_end(&x->g);
	settle(x);
	assert_int_equal(rings(x), 1);
	assert_int_equal(x->ring[0].id, 1);
	assert_false(x->ring[0].old);

	drop(x, parent);
	settle(x);
	assert_int_equal(rings(x), 0); /* the sampler may still read it */
	guest_reap(x->mon);
	settle(x);
	assert_int_equal(rings(x), 1);
	assert_int_equal(x->ring[0].id, 2);
}

/* The sampler may still be reading: neither unmapped nor freed before it has acknowledged. */
RIG_TEST(refresh__ring_left__stays_readable_until_reap)
{
	struct fixture *x = *state;
	struct ring *r;
	struct sample s;
	uint64_t pages;

	add(x, 1, 16);
	add(x, 2, 16);
	attach(x);
	settle(x);
	rings(x);
	r = x->ring[0].id == 1 ? x->ring[0].ring : x->ring[1].ring;
	pages = x->g.m.pages;
	drop(x, 0);
	assert_int_equal(settle(x), 1);
	assert_int_equal(rings(x), 1);
	assert_int_equal(x->ring[0].id, 2);
	assert_true(guest_reap_pending(x->mon));
	assert_int_equal(x->g.m.pages, pages);
	assert_int_equal(ring_sample(r, MS, &s), 0);
	guest_reap(x->mon);
	assert_int_equal(x->g.m.pages, pages - 2);
	assert_false(guest_reap_pending(x->mon));
	guest_reap(x->mon); /* nothing more to do, and no harm */
	assert_int_equal(x->g.m.pages, pages - 2);
}

static uint64_t gone(const struct fixture *x)
{
	struct ring_totals t;

	guest_gone(x->mon, &t);
	return t.wrs;
}

/* Whoever adds up what left and what is there must not miss work for a while. */
RIG_TEST(gone__ring_left_and_was_not_reaped__has_what_was_shown)
{
	struct fixture *x = *state;
	struct fake_ring f;
	struct sample s;

	add(x, 1, 16);
	attach(x);
	settle(x);
	rings(x);
	fake_sq_open(&f, 16, FAKE_RC, 1024);
	for (int i = 0; i < 3; i++)
		fake_do(&f, FAKE_WRITE, 8);
	memcpy(fake_ring_mem(&x->g, 0), f.mem, f.len);
	fake_close(&f);
	assert_int_equal(ring_sample(x->ring[0].ring, MS, &s), 0);
	ring_show(x->ring[0].ring);
	assert_int_equal(gone(x), 0);
	drop(x, 0);
	settle(x);
	assert_int_equal(gone(x), 3);
	guest_reap(x->mon);
	assert_int_equal(gone(x), 3);
}

RIG_TEST(refresh__descriptor_changed_in_place__is_a_new_ring)
{
	struct fixture *x = *state;
	struct ring *before;

	add(x, 1, 16);
	attach(x);
	settle(x);
	rings(x);
	before = x->ring[0].ring;
	fake_write_begin(&x->g); /* a resized queue: same id, other frames */
	*fake_frame_at(&x->g, 1) = x->g.next++;
	fake_write_end(&x->g);
	assert_int_equal(settle(x), 1);
	assert_int_equal(rings(x), 1);
	assert_true(x->ring[0].ring != before);
	assert_true(guest_reap_pending(x->mon));
}

RIG_TEST(refresh__more_rings_than_maps_a_call__takes_several_calls)
{
	struct fixture *x = *state;
	uint64_t calls;
	int rounds = 0;

	fake_write_begin(&x->g);
	for (uint32_t i = 0; i < 60; i++)
		fake_add_sq(&x->g, i + 1, 2);
	fake_write_end(&x->g);
	attach(x);
	while (rings(x) < 60 && rounds < 100) {
		calls = x->g.m.calls;
		x->now.ns += 11 * MS;
		assert_true(guest_due(x->mon, x->now));
		guest_refresh(x->mon, x->now);
		assert_true(x->g.m.calls - calls <= GUEST_MAPS_MAX);
		rounds++;
	}
	assert_int_equal(rings(x), 60);
	assert_in_range(rounds, 4, 12);
}

RIG_TEST(refresh__called_too_soon__is_not_now)
{
	struct fixture *x = *state;
	uint64_t walks;

	add(x, 1, 16);
	attach(x);
	settle(x);
	walks = look(x)->walks;
	for (int i = 0; i < 1000; i++) { /* one second */
		fake_write_begin(&x->g);
		fake_write_end(&x->g);
		x->now.ns += MS;
		guest_refresh(x->mon, x->now);
	}
	assert_true(look(x)->walks - walks <= 1000 / GUEST_WALK_MIN_MS + 1);
	assert_true(x->st.walks - walks >= 10);
}

/* In a PV guest each frame must be found first: calls alone are no measure. */
RIG_TEST(refresh__large_ring_with_a_new_id_each_time__its_frames_are_rationed)
{
	struct fixture *x = *state;
	uint64_t calls;

	add(x, 1, 4096);
	attach(x);
	settle(x);
	x->g.m.denied = *fake_frame_at(&x->g, fake_ring_at(&x->g, 0)->first_frame);
	x->g.m.err = -EINVAL; /* so that nothing is ever mapped, and no limit of pages helps */
	calls = x->g.m.calls;
	for (uint32_t id = 2; id < 6000; id++) { /* one minute */
		fake_write_begin(&x->g);
		fake_ring_at(&x->g, 0)->id = id;
		fake_write_end(&x->g);
		x->now.ns += 10 * MS;
		guest_refresh(x->mon, x->now);
		guest_reap(x->mon);
	}
	assert_in_range(x->g.m.calls - calls, 500, 900);
}

RIG_TEST(refresh__agent_is_writing__is_a_fault_only_when_it_stays_so)
{
	struct fixture *x = *state;

	add(x, 1, 16);
	attach(x);
	settle(x);
	for (int i = 0; i < 4; i++) { /* each time anew */
		int64_t end = x->now.ns + (i < 3 ? GUEST_TORN_MS - 200 : 2 * GUEST_TORN_MS) * MS;

		fake_write_begin(&x->g);
		while ((x->now.ns += 20 * MS) < end)
			assert_int_equal(guest_refresh(x->mon, x->now), -EAGAIN);
		assert_int_equal(strstr(look(x)->fault, "half-written") != NULL, i == 3);
		fake_write_end(&x->g);
		settle(x);
		assert_int_equal(rings(x), 1);
	}
}

RIG_TEST(refresh__registry_no_longer_one__says_why)
{
	struct fixture *x = *state;

	add(x, 1, 16);
	attach(x);
	settle(x);
	fake_write_begin(&x->g);
	fake_registry(&x->g)->magic = 0;
	fake_write_end(&x->g);
	x->now.ns += 20 * MS;
	assert_int_equal(guest_refresh(x->mon, x->now), -EBADMSG);
	assert_true(strlen(look(x)->fault) > 10);
	fake_write_begin(&x->g);
	fake_registry(&x->g)->magic = GUEST_REGISTRY_MAGIC;
	fake_write_end(&x->g);
	settle(x);
	assert_int_equal(rings(x), 1);
	assert_string_equal(look(x)->fault, "");
}

RIG_TEST(faults__each_kind__is_shown_with_its_reason)
{
	struct fixture *x = *state;
	uint32_t header, map, desc;

	fake_write_begin(&x->g);
	fake_add_sq(&x->g, 1, 16);
	header = fake_add_sq(&x->g, 2, 16);
	map = fake_add_sq(&x->g, 3, 16);
	desc = fake_add_sq(&x->g, 4, 16);
	fake_add_sq(&x->g, 5, 1024); /* 65 pages: fits */
	fake_add_sq(&x->g, 6, 8192); /* 513 pages: never does */
	memset(fake_ring_mem(&x->g, header), 0, 8);
	*fake_frame_at(&x->g, fake_ring_at(&x->g, map)->first_frame + 1) = FAKE_FRAMES + 5;
	fake_ring_at(&x->g, desc)->elem_size = 77;
	fake_write_end(&x->g);
	attach(x);
	settle(x);
	assert_int_equal(rings(x), 2);
	assert_int_equal(info_of(x, 1)->fault, RING_OK);
	assert_true(info_of(x, 1)->active);
	assert_int_equal(info_of(x, 2)->fault, RING_FAULT_HEADER);
	assert_false(info_of(x, 2)->active);
	assert_int_equal(info_of(x, 3)->fault, RING_FAULT_MAP);
	assert_int_equal(info_of(x, 4)->fault, RING_FAULT_DESC);
	assert_true(info_of(x, 5)->active);
	assert_int_equal(info_of(x, 6)->fault, RING_FAULT_LIMIT);
	assert_int_equal(look(x)->faults, 4);
	assert_int_equal(x->st.rings, 2);
}

RIG_TEST(faults__ring_that_failed__is_not_tried_again_until_it_changes)
{
	struct fixture *x = *state;
	uint64_t calls;
	uint32_t i;

	fake_write_begin(&x->g);
	i = fake_add_sq(&x->g, 1, 16);
	*fake_frame_at(&x->g, 0) = FAKE_FRAMES + 5;
	fake_write_end(&x->g);
	attach(x);
	settle(x);
	assert_int_equal(info_of(x, 1)->fault, RING_FAULT_MAP);
	calls = x->g.m.calls;
	for (int k = 0; k < 50; k++) {
		fake_write_begin(&x->g);
		fake_write_end(&x->g);
		settle(x);
	}
	assert_int_equal(x->g.m.calls, calls);
	fake_write_begin(&x->g);
	*fake_frame_at(&x->g, 0) = x->g.next++;
	memcpy(fake_ring_mem(&x->g, i), &(uint32_t[]){ 8, 15 }, 8);
	fake_write_end(&x->g);
	settle(x);
	assert_int_equal(rings(x), 1);
	assert_int_equal(info_of(x, 1)->fault, RING_OK);
}

RIG_TEST(faults__found_by_the_sampler__lets_the_ring_go)
{
	struct fixture *x = *state;
	uint64_t pages, calls;

	add(x, 1, 16);
	add(x, 2, 16);
	attach(x);
	settle(x);
	pages = x->g.m.pages;
	assert_int_equal(guest_drop_faulty(x->mon, 1, RING_FAULT_INDEX, x->now), 1);
	assert_int_equal(rings(x), 1);
	assert_int_equal(x->ring[0].id, 2);
	assert_int_equal(info_of(x, 1)->fault, RING_FAULT_INDEX);
	assert_int_equal(x->g.m.pages, pages);
	guest_reap(x->mon);
	assert_int_equal(x->g.m.pages, pages - 2);
	calls = x->g.m.calls;
	fake_write_begin(&x->g);
	fake_write_end(&x->g);
	settle(x);
	assert_int_equal(rings(x), 1);
	assert_int_equal(x->g.m.calls, calls);
	assert_true(guest_drop_faulty(x->mon, 999, RING_FAULT_INDEX, x->now) <= 0); /* none such */
}

RIG_TEST(verify__frame_moved__ring_is_mapped_anew)
{
	struct fixture *x = *state;
	struct ring *before;

	add(x, 1, 16);
	attach(x);
	settle(x);
	add(x, 2, 16);
	settle(x);
	rings(x);
	before = x->ring[0].id == 2 ? x->ring[0].ring : x->ring[1].ring;
	for (int i = 0; i < 6; i++)
		assert_int_equal(guest_verify(x->mon, x->now), 0);
	x->g.m.moved = *fake_frame_at(&x->g, fake_ring_at(&x->g, 1)->first_frame);
	for (int i = 0; i < 8; i++) {
		x->now.ns += 1000 * MS;
		guest_verify(x->mon, x->now);
		if (guest_reap_pending(x->mon))
			x->g.m.moved = 0;
	}
	assert_int_equal(x->g.m.moved, 0);
	guest_reap(x->mon);
	settle(x);
	assert_int_equal(rings(x), 2);
	for (int i = 0; i < 2; i++) {
		assert_true(x->ring[i].ring != before);
		if (x->ring[i].id == 2) /* what it did before was charged then */
			assert_true(x->ring[i].old);
	}
}

RIG_TEST(state__heartbeat__is_seen_with_its_time)
{
	struct fixture *x = *state;
	struct mono t;

	add(x, 1, 16);
	attach(x);
	settle(x);
	fake_registry(&x->g)->heartbeat = 50;
	x->now.ns += 300 * MS;
	t = x->now;
	assert_int_equal(look(x)->heartbeat, 50);
	assert_int_equal(x->st.heartbeat_time.ns, t.ns);
	x->now.ns += 5000 * MS;
	assert_int_equal(look(x)->heartbeat_time.ns, t.ns);
}

/* --- latency pages ------------------------------------------------------- */

/* The agent names n latency pages, from the first-th of those it has. */
static void show_latencies(struct fixture *x, uint32_t first, uint32_t n)
{
	fake_write_begin(&x->g);
	for (uint32_t i = 0; i < n; i++)
		fake_registry(&x->g)->latency[i] =
			(struct guest_ref){ GUEST_REF_FRAME, 0, FAKE_FRAME_LATENCY + first + i };
	fake_registry(&x->g)->latencies = n;
	fake_write_end(&x->g);
}

static uint32_t pages(struct fixture *x, struct latency_page **out)
{
	return guest_latency_pages(x->mon, out, GUEST_LATENCIES_MAX);
}

RIG_TEST(latencies__named__are_mapped_and_read_at_their_pages)
{
	struct latency_page *l[GUEST_LATENCIES_MAX];
	struct report r = { 0 };
	struct fixture *x = *state;

	fake_latency_open(fake_page(&x->g, FAKE_FRAME_LATENCY + 1));
	show_latencies(x, 0, 2);
	attach(x);
	assert_int_equal(settle(x), 1);
	assert_int_equal(pages(x, l), 2);
	assert_int_equal(look(x)->latencies, 2);
	latency_page_read(l[1], 9, &r, NULL);
	fake_latency_put(fake_page(&x->g, FAKE_FRAME_LATENCY + 1), 5, 0, 0);
	latency_page_read(l[1], 9, &r, NULL);
	assert_int_equal(r.sum_ns, 5);
}

RIG_TEST(latencies__walked_again__keep_page_and_state)
{
	struct latency_page *l[GUEST_LATENCIES_MAX], *again[GUEST_LATENCIES_MAX];
	struct fixture *x = *state;

	show_latencies(x, 0, 2);
	attach(x);
	settle(x);
	pages(x, l);
	add(x, 1, 16);
	assert_int_equal(settle(x), 1);
	assert_int_equal(pages(x, again), 2);
	assert_memory_equal(l, again, 2 * sizeof(l[0]));
}

RIG_TEST(latencies__process_ended__its_page_stays_readable_until_reap)
{
	struct latency_page *l[GUEST_LATENCIES_MAX], *left[GUEST_LATENCIES_MAX];
	struct report r = { 0 };
	struct fixture *x = *state;
	uint64_t mapped;

	show_latencies(x, 0, 3);
	attach(x);
	settle(x);
	pages(x, l);
	mapped = x->g.m.pages;
	show_latencies(x, 1, 2);
	assert_int_equal(settle(x), 1);
	assert_int_equal(pages(x, left), 2);
	assert_int_equal(x->g.m.pages, mapped);
	latency_page_read(l[0], 9, &r, NULL); /* the sampler, with the set before */
	assert_true(guest_reap_pending(x->mon));
	guest_reap(x->mon);
	assert_int_equal(x->g.m.pages, mapped - 1);
	assert_false(guest_reap_pending(x->mon));
}

RIG_TEST(latencies__same_page_named_twice__is_read_once)
{
	struct latency_page *l[GUEST_LATENCIES_MAX];
	struct fixture *x = *state;

	show_latencies(x, 0, 2);
	fake_registry(&x->g)->latency[1].ref = FAKE_FRAME_LATENCY;
	attach(x);
	settle(x);
	assert_int_equal(pages(x, l), 1);
}

RIG_TEST(latencies__page_cannot_be_mapped__the_others_and_the_rings_are_read)
{
	struct latency_page *l[GUEST_LATENCIES_MAX];
	struct fixture *x = *state;

	add(x, 1, 16);
	show_latencies(x, 0, 2);
	fake_registry(&x->g)->latency[0].ref = FAKE_FRAMES + 5;
	attach(x);
	assert_int_equal(settle(x), 1);
	assert_int_equal(pages(x, l), 1);
	assert_int_equal(rings(x), 1);
	assert_string_equal(look(x)->fault, "");
}

RIG_TEST(latencies__attached_elsewhere_or_withdrawn__all_leave)
{
	struct latency_page *l[GUEST_LATENCIES_MAX];
	struct fixture *x = *state;

	show_latencies(x, 0, GUEST_LATENCIES_MAX);
	attach(x);
	settle(x);
	assert_int_equal(pages(x, l), GUEST_LATENCIES_MAX);
	assert_int_equal(guest_attach(x->mon, NULL), 0);
	assert_int_equal(pages(x, l), 0);
	guest_reap(x->mon);
	assert_int_equal(x->g.m.pages, 0);
}

/* A ring that was withdrawn and waits for another to be reaped is one of the rings, too. */
RIG_TEST(reap_pending__as_many_rings_as_allowed__another_waits)
{
	struct fixture *x = *state;

	for (uint32_t i = 0; i < limits.rings; i++)
		add(x, i + 1, 16);
	attach(x);
	settle(x);
	assert_int_equal(rings(x), limits.rings);
	drop(x, 0);
	settle(x);
	drop(x, 1);
	add(x, 1000, 16);
	add(x, 1001, 16);
	settle(x);
	assert_int_equal(rings(x), limits.rings);
	guest_reap(x->mon);
	settle(x);
	guest_reap(x->mon);
	settle(x);
	assert_int_equal(rings(x), limits.rings);
	assert_int_equal(x->ring[limits.rings - 1].id, 1001);
}

/* --- the guest that rewrites its registry as fast as it can --- */

static void scribble(struct prop *p, struct fake_guest *g)
{
	switch (prop_range(p, 0, 7)) {
	case 6:
		fake_registry(g)->load = (struct guest_ref){ GUEST_REF_FRAME, 0,
							     prop_range(p, 0, FAKE_FRAMES + 3) };
		break;
	case 5:
		fake_registry(g)->latencies = (uint32_t)prop_range(p, 0, GUEST_LATENCIES_MAX);
		fake_registry(g)->latency[prop_range(p, 0, GUEST_LATENCIES_MAX - 1)] =
			(struct guest_ref){ GUEST_REF_FRAME, 0, prop_range(p, 0, FAKE_FRAMES + 3) };
		break;
	case 0:
		fake_ring_at(g, (uint32_t)prop_range(p, 0, 59))->id = (uint32_t)prop_range(p, 0,
											   99);
		break;
	case 1:
		*fake_frame_at(g, (uint32_t)prop_range(p, 0, g->frames - 1)) =
			prop_range(p, 0, FAKE_FRAMES + 3);
		break;
	case 2:
		fake_ring_at(g, (uint32_t)prop_range(p, 0, 59))->kind = (uint16_t)prop_range(p, 0,
											     3);
		break;
	case 3:
		((uint32_t *)(void *)fake_ring_at(
			g, (uint32_t)prop_range(p, 0, 59)))[prop_range(p, 0, 31)] =
			(uint32_t)prop_hostile(p);
		break;
	case 4:
		fake_registry(g)->directory[prop_range(p, 0, 1)].ref =
			prop_one_in(p, 3) ? prop_range(p, 0, FAKE_FRAMES + 3)
					  : FAKE_FRAME_DIRECTORY + prop_range(p, 0, 1);
		break;
	default:
		fake_registry(g)->generation += (uint32_t)prop_range(p, 0, 1);
	}
	fake_registry(g)->generation += 2;
}

RIG_TEST(guest__rewrites_its_registry_for_ever__work_stays_bounded)
{
	const uint64_t own = 1 + GUEST_DIRECTORIES_MAX + GUEST_FRAME_PAGES_MAX +
			     GUEST_LATENCIES_MAX;
	struct fixture *x = *state;
	struct prop p;
	int64_t begin;

	prop_start(&p);
	fake_write_begin(&x->g);
	for (uint32_t i = 0; i < 60; i++)
		fake_add_sq(&x->g, i + 1, 16);
	fake_write_end(&x->g);
	attach(x);
	begin = x->now.ns;
	for (int i = 0; i < 100000; i++) {
		uint64_t calls = x->g.m.calls;

		scribble(&p, &x->g);
		x->now.ns += (int64_t)prop_range(&p, 0, 4 * MS);
		guest_refresh(x->mon, x->now);
		prop_assert(&p, i, x->g.m.calls - calls <= GUEST_MAPS_MAX);
		/* Those that left and are not reaped come on top, at most a set's worth a reap. */
		prop_assert(&p, i, rings(x) <= limits.rings);
		if (prop_one_in(&p, 10))
			guest_reap(x->mon);
		prop_assert(&p, i, x->g.m.pages <= 11 * (own + limits.pages));
		prop_assert(&p, i,
			    look(x)->walks <=
				    2 + (uint64_t)((x->now.ns - begin) / MS) / GUEST_WALK_MIN_MS);
	}
	guest_reap(x->mon);
	prop_assert(&p, 0, x->g.m.pages <= own + limits.pages);
	prop_assert(&p, 0, look(x)->walks > 1000);
}
