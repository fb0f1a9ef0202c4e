// SPDX-License-Identifier: GPL-2.0-or-later
/* guest_kept: a send queue that left comes back under another id: nothing is counted twice. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/fake_ring.h"
#include "tests/unit/guest_rig.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

enum {
	SLOTS = 16,
	MANY = GUEST_RINGS_MAX + 50,
	MUCH = 16 * 15000, /* more work requests than a millisecond has time for */
};

/* A guest with one ring over the memory of its first descriptor. */
struct rig {
	struct fixture *x;
	struct fake_ring ring; /* mem is the guest's */
	uint32_t descs;
};

/* A new ring of all zeroes in the memory, as the kernel makes it. */
static void make_ring(struct rig *r)
{
	uint8_t *mem = fake_ring_mem(&r->x->g, 0);

	r->ring.mem = NULL; /* the guest's */
	fake_close(&r->ring);
	fake_sq_open(&r->ring, SLOTS, FAKE_RC, 1024);
	memset(mem, 0, (size_t)r->ring.desc.frames * GUEST_PAGE);
	memcpy(mem, r->ring.mem, r->ring.len);
	free(r->ring.mem);
	r->ring.mem = mem;
}

static void work(struct rig *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		fake_do(&r->ring, FAKE_WRITE, 1024);
}

/* The sampler reads all rings. */
static void read_all(struct rig *r)
{
	struct sample s;

	for (uint32_t i = rings(r->x); i-- > 0;)
		ring_sample(r->x->ring[i].ring, MS, &s);
}

static void turn(struct rig *r)
{
	settle(r->x);
	guest_reap(r->x->mon);
	settle(r->x);
	read_all(r);
}

/* Publish the memory under the next id. */
static void publish(struct rig *r, uint32_t number)
{
	struct guest_ring *d;
	uint32_t i;

	fake_write_begin(&r->x->g);
	i = fake_add_sq(&r->x->g, ++r->descs, SLOTS);
	d = fake_ring_at(&r->x->g, i);
	d->first_frame = fake_ring_at(&r->x->g, 0)->first_frame;
	d->number = number;
	d->id = r->descs - 1;
	fake_write_end(&r->x->g);
}

static void withdraw(struct rig *r)
{
	drop(r->x, r->descs - 1);
}

/*
 * One character a step:
 *
 *	w	three work requests
 *	m	MUCH of them
 *	p u o	publish the ring: with its number, without one, with another
 *	-	withdraw it
 *	t	the control thread and the sampler have a turn
 *	n	another ring begins in the same memory
 *	f	the sampler finds it at fault
 *	s	the newest sequence number is false from then on
 *	r	the queue pair is RESET
 *	.	10 seconds pass
 *	a	another agent begins
 *	!	the number of work requests is an upper bound (last)
 */
static const struct kept_row {
	const char *name, *steps;
	uint64_t wrs;
} kept_rows[] = {
	{ "kept__published_again_under_another_id__is_counted_once", "pwt-tpt", 3 },
	{ "kept__published_again_between_two_walks__is_counted_once", "pwt-pt", 3 },
	{ "kept__work_meanwhile__is_counted", "pwt-twptwt", 9 },
	{ "kept__comes_back_twice__is_counted_once", "pwt-tpwt-tpwt", 9 },
	{ "kept__whole_laps_meanwhile__are_counted", "pwt-twwwwwwwwptwt!", 30 },
	{ "kept__another_agent_begins__is_counted_once", "pwtwatwt", 9 },
	{ "kept__number_not_known__is_counted_once", "pwt-twut", 6 },
	{ "kept__another_queue_pair_in_its_memory__is_counted_whole", "pwt-tnwwot", 9 },
	{ "kept__another_without_number_that_overtook_it__is_not_counted_until_then",
	  "pwt-tnwwutwt", 6 },
	{ "kept__another_without_number_that_did_less__is_counted_whole", "pwwt-tnwut", 9 },
	{ "kept__number_not_known_and_a_lap_meanwhile__is_not_counted_twice", "pwt-twwwwwwutwt",
	  6 },
	{ "kept__another_that_is_behind__is_counted_whole", "pwwt-tnwpt", 9 },
	{ "kept__another_that_did_nothing_yet__is_counted_whole", "pwt-tnptwt", 6 },
	{ "kept__at_fault__its_history_is_not_counted_again", "pwtft-tptwt", 6 },
	{ "kept__at_fault_and_behind__its_history_is_not_counted_again", "pwwtsft-tptwt", 9 },
	/* 48 work requests: both indices are 0 again. Blank, it is not a new ring all the same. */
	{ "kept__at_fault_and_reset__its_history_is_not_counted_again",
	  "pwwwwwwwwwwwwwwwwtfrt.twt!", 51 },
	{ "kept__reset_at_index_0_meanwhile__its_history_is_not_counted_again",
	  "pwt-twwwwwwwwwwwwwwwprtwt", 6 },
	{ "kept__no_number_and_reset_at_index_0__its_history_is_not_counted_again",
	  "pwt-twwwwwwwwwwwwwwwurtwt", 6 },
	{ "kept__another_blank_one_and_laps_unseen__is_counted_whole_and_bounded",
	  "pwt-tnutwwwwwwt!", 21 },
	{ "kept__reset_at_index_0_and_laps_unseen__is_bounded", "pwt-twwwwwwwwwwwwwwwurtwwwwwwt!",
	  69 },
	{ "kept__reset_at_index_0_after_much_and_laps_unseen__is_counted_one_lap_and_bounded",
	  "pmt-urtwwwwwwt!", MUCH + 18 },
	{ "kept__next_one_works_before_it_is_withdrawn__counted_twice_and_bounded", "ptnwt-tot!",
	  6 },
	{ "kept__next_one_is_published_at_once__counted_twice_and_bounded", "ptnwt-ott!", 6 },
	{ "kept__next_one_does_more_at_once__counted_twice_and_bounded", "ptnwt-owwtt!", 12 },
	{ "kept__next_one_does_other_work__is_exact", "pwtn-owwtt", 9 },
	{ "kept__ten_seconds_later__is_forgotten", "pwt-t.twpt", 9 },
};

/* The sampler finds an index false. */
static void lie(struct rig *r)
{
	uint32_t was = fake_get(&r->ring, FAKE_CONSUMER);

	fake_put(&r->ring, FAKE_CONSUMER, SLOTS);
	read_all(r);
	fake_put(&r->ring, FAKE_CONSUMER, was);
	guest_drop_faulty(r->x->mon, r->descs - 1, RING_FAULT_INDEX, r->x->now);
}

static void step(struct rig *r, char c)
{
	const struct guest_ref ref = fake_guest_ref();
	struct fixture *x = r->x;

	if (c == 'w')
		work(r, 3);
	else if (c == 'm')
		work(r, MUCH);
	else if (c == 'p' || c == 'u' || c == 'o')
		publish(r, c == 'p' ? 17 : c == 'o' ? 18 : 0);
	else if (c == '-')
		withdraw(r);
	else if (c == 't')
		turn(r);
	else if (c == 's')
		fake_put_entry(&r->ring, r->ring.posted - 1, FAKE_WQE_SSN, 0);
	else if (c == 'r')
		fake_reset(&r->ring, 4711);
	else if (c == 'n') {
		make_ring(r);
		r->ring.psn = 12345;
	} else if (c == 'f')
		lie(r);
	else if (c == '.')
		x->now.ns += 10000 * MS;
	else if (c == 'a') {
		assert_int_equal(guest_attach(x->mon, NULL), 0);
		guest_reap(x->mon);
		assert_int_equal(guest_attach(x->mon, &ref), 0);
	}
}

static void rig_begin(struct rig *r)
{
	void *fixture = NULL;

	assert_int_equal(setup(&fixture), 0);
	*r = (struct rig){ .x = fixture };
	fake_write_begin(&r->x->g);
	fake_add_sq(&r->x->g, ++r->descs, SLOTS);
	fake_ring_at(&r->x->g, 0)->kind = GUEST_RING_FREE;
	fake_write_end(&r->x->g);
	make_ring(r);
	attach(r->x);
	turn(r); /* rings of the first walk are old */
}

static void rig_end(struct rig *r)
{
	void *fixture = r->x;

	r->ring.mem = NULL;
	fake_close(&r->ring);
	teardown(&fixture);
}

static void run_kept_row(void **state)
{
	const struct kept_row *row = *state;
	struct rig r;

	rig_begin(&r);
	for (const char *c = row->steps; *c; c++)
		step(&r, *c);
	assert_int_equal(rings(r.x), 1);
	assert_int_equal(totals(r.x).wrs, row->wrs);
	assert_int_equal(!!(totals(r.x).flags & SAMPLE_WRS_BOUNDED), !!strchr(row->steps, '!'));
	assert_int_equal(totals(r.x).mtus_sent, row->wrs);
	/* One queue pair, or two in the same memory; and nothing was missed. */
	assert_int_equal(look(r.x)->qps_missed, 0);
	if (!strpbrk(row->steps, "nfrs.") && !strstr(row->steps, "wwwwwwut"))
		assert_int_equal(r.x->st.qps_read, 1);
	/* Each id is one queue pair, or goes on with the one before. */
	if (!strchr(row->steps, 'a'))
		assert_int_equal(r.x->st.qps_read + r.x->st.qps_resumed, r.descs - 1);
	rig_end(&r);
}
TEST_ROWS(kept_rows, run_kept_row)

/* The steps of an honest guest: n only while the ring is withdrawn, and a number that is right. */
static bool honest(char c, bool shown)
{
	if (c == 'p' || c == 'u' || c == 'n')
		return !shown;
	return shown || c == 't' || c == 'a' || c == 'w';
}

TEST(kept__any_order__counts_nothing_that_never_was)
{
	struct prop p;

	prop_start(&p);
	for (int n = 0; n < 300; n++) {
		uint64_t done = 0, before = 0;
		uint32_t number = 17;
		bool shown = false;
		struct rig r;

		rig_begin(&r);
		for (int i = 0; i < 60; i++) {
			char c = "wwwttttpu--narf"[prop_range(&p, 0, 14)];
			struct ring_totals t;

			if (!honest(c, shown))
				continue;
			if (c == 'p' || c == 'u')
				publish(&r, c == 'p' ? number : 0);
			else
				step(&r, c);
			number += c == 'n';
			done += c == 'w' ? 3 : 0;
			shown = c == 'p' || c == 'u' || (shown && c != '-');
			if (c != 't') /* rings that left are not reaped yet */
				continue;
			t = totals(r.x);
			prop_assert(&p, i, before <= t.wrs && t.wrs <= done);
			before = t.wrs;
		}
		rig_end(&r);
	}
}

/* Queue pairs that live briefly must not wait until the one before them was reaped. */
RIG_TEST(kept__another_queue_pair_in_its_memory__is_mapped_at_once)
{
	struct fixture *x = *state;
	uint32_t next;

	add(x, 1, SLOTS);
	attach(x);
	settle(x);
	fake_write_begin(&x->g);
	next = fake_add_sq(&x->g, 2, SLOTS);
	fake_ring_at(&x->g, next)->first_frame = fake_ring_at(&x->g, 0)->first_frame;
	fake_ring_at(&x->g, 0)->kind = GUEST_RING_FREE;
	fake_write_end(&x->g);
	settle(x);
	assert_true(guest_reap_pending(x->mon));
	assert_int_equal(rings(x), 1);
	assert_int_equal(x->ring[0].id, 2);
}

/* What is kept is bounded: a guest can make queue pairs without end. */
RIG_TEST(kept__many_rings_come_and_go__all_is_counted_and_little_is_kept)
{
	struct fixture *x = *state;
	struct ring_totals t;

	attach(x);
	settle(x);
	for (uint32_t i = 0; i < MANY; i++) {
		struct sample s;

		add(x, i + 1, SLOTS);
		x->now.ns += 20 * MS;
		settle(x);
		for (uint32_t k = rings(x); k-- > 0;)
			ring_sample(x->ring[k].ring, MS, &s);
		drop(x, i);
		settle(x);
		guest_reap(x->mon);
		settle(x);
	}
	guest_gone(x->mon, &t);
	assert_int_equal(rings(x), 0);
	assert_int_equal(t.wrs, 0);
	assert_int_equal(look(x)->qps_read, MANY);
}
