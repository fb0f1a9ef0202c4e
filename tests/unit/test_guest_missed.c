// SPDX-License-Identifier: GPL-2.0-or-later
/* guest: queue pairs that live briefly: read in time, or told as missed. */
#include <string.h>

#include "tests/unit/prop.h"

#include "tests/unit/guest_rig.h"
#include "tests/unit/unit.h"

/* The sampler reads all rings of the newest set once. */
static void sample_all(struct fixture *x)
{
	uint32_t n = guest_rings(x->mon, x->ring, GUEST_RINGS_MAX);
	struct sample s;

	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(ring_sample(x->ring[i].ring, MS, &s), 0);
}

/*
 * Steps, with a turn of the control thread after each:
 *
 *	+N	publish send queue N
 *	-I	withdraw the descriptor I
 *	p N	the agent says that it published N
 *	u N	that N were unseen
 *	s	the sampler reads all rings
 *	r	the rings that left are reaped
 *	a	another agent begins
 *	k N	the agent is killed: its page holds something else, with N in place of what was
 *		unseen
 *	l	look; attached, and not walked yet
 *
 * +, P, U, S, l and a have their turn with the next step.
 */
static const struct missed_row {
	const char *name, *steps;
	uint64_t read, missed;
} missed_rows[] = {
	{ "missed__all_is_read__none", "p0 +1 p1 s -0 r", 1, 0 },
	{ "missed__read_just_before_it_was_withdrawn__is_read", "+1 p1 S -0 r", 1, 0 },
	{ "missed__looked_at_before_the_first_walk__is_no_gap", "U7 l p0", 0, 0 },
	{ "missed__another_agent_uses_an_id_again__is_another_queue_pair", "+1 p1 s -0 a +1 p1 s r",
	  2, 0 },
	{ "missed__from_before_the_first_walk__do_not_count", "P40 U7 +41 p41 s", 1, 0 },
	{ "missed__published_between_two_walks__count", "p1 +1 p5 s", 1, 3 },
	{ "missed__withdrawn_before_the_sampler_read_it__counts", "+1 p1 -0 r", 0, 1 },
	{ "missed__still_there_and_not_read__does_not_count_yet", "+1 p1", 0, 0 },
	{ "missed__unseen_by_the_agent__count", "u0 u3 u8", 0, 8 },
	{ "missed__agent_counts_from_0_again__keeps_what_was", "u0 u4 a u0 u1", 0, 5 },
	{ "missed__page_of_a_killed_agent__says_nothing", "u0 u4 k900 k1000", 0, 4 },
	{ "missed__another_agent_in_the_page_of_a_killed_one__counts_on", "u0 u4 k900 a u0 u1", 0,
	  5 },
	{ "missed__another_agent__its_first_figures_are_no_gap", "+1 p1 s -0 r a P90 U80 +91 p91 s",
	  2, 0 },
	{ "missed__old_agent__only_what_was_seen_to_go", "+1 p0 s -0 r +2 p0 -1 r", 1, 1 },
	{ "missed__liar_says_all__is_bounded", "p0 P18446744073709551615", 0, UINT64_MAX },
	{ "missed__liar_goes_back__counts_nothing", "p900 P3", 0, 0 },
	{ "missed__liar_adds_without_end__stays_at_the_top",
	  "p0 u18446744073709551615 u1 u18446744073709551615", 0, UINT64_MAX },
};

static void turn(struct fixture *x)
{
	for (int i = 0; i < 10; i++) {
		x->now.ns += 11 * MS;
		guest_refresh(x->mon, x->now);
	}
	look(x);
}

static void missed_step(struct fixture *x, const char *s)
{
	struct guest_registry *r = fake_registry(&x->g);
	uint64_t n = strtoull(s + 1, NULL, 10);

	fake_write_begin(&x->g);
	switch (*s) {
	case '+':
		fake_add_sq(&x->g, (uint32_t)n, 16);
		break;
	case '-':
		fake_ring_at(&x->g, (uint32_t)n)->kind = GUEST_RING_FREE;
		break;
	case 'p':
	case 'P':
		r->sqs_published = n;
		break;
	case 'u':
	case 'U':
		r->qps_unseen = n;
		break;
	case 'k':
		r->magic = 0x6b6b6b6b;
		r->qps_unseen = n;
		break;
	case 'a':
		r->magic = GUEST_REGISTRY_MAGIC;
		r->agent_pid++;
		r->sqs_published = r->qps_unseen = 0;
		break;
	default:
		break;
	}
	fake_write_end(&x->g);
	if (*s == 's' || *s == 'S')
		sample_all(x);
	if (*s == 'r')
		guest_reap(x->mon);
}

static void run_missed_row(void **state)
{
	const struct missed_row *row = *state;
	struct fixture *x;
	void *rig = NULL;

	assert_int_equal(setup(&rig), 0);
	x = rig;
	for (const char *s = row->steps; *s; s += strspn(s, " ")) {
		const char *next = s + strcspn(s, " ");
		/* A ring and the count of it are published at once, as the agent does. */
		bool with_next = *s == '+' || *s == 'P' || *s == 'U' || *s == 'a' || *s == 'S' ||
				 *s == 'l';

		missed_step(x, s);
		if (*s == 'l') {
			attach(x);
			look(x);
		}
		s = next;
		if (with_next && *next)
			continue;
		if (x->g.m.calls == 0)
			attach(x);
		turn(x);
	}
	assert_int_equal(x->st.qps_read, row->read);
	assert_int_equal(x->st.qps_missed, row->missed);
	teardown(&rig);
}
TEST_ROWS(missed_rows, run_missed_row)

/* What the page says of the queue pairs that live uncounted is not believed either. */
RIG_TEST(state__page_of_a_killed_agent__no_queue_pair_lives_uncounted)
{
	struct fixture *x = *state;
	struct guest_registry *r = fake_registry(&x->g);

	r->qps_unpublished = 5;
	attach(x);
	turn(x);
	assert_int_equal(x->st.unpublished, 5);
	r->magic = 0x6b6b6b6b;
	turn(x);
	assert_int_equal(x->st.unpublished, 0);
}

/* --- send queues that live briefly ---------------------------------------------- */

static void make_cq(struct fixture *x, uint32_t i)
{
	fake_write_begin(&x->g);
	fake_ring_at(&x->g, i)->kind = GUEST_RING_CQ;
	fake_write_end(&x->g);
}

RIG_TEST(refresh__send_and_completion_queues__maps_send_queues_first)
{
	struct fixture *x = *state;

	add(x, 1, 16);
	add(x, 2, 16);
	make_cq(x, 0);
	attach(x);
	assert_int_equal(guest_refresh(x->mon, x->now), 1);
	assert_int_equal(rings(x), 1);
	assert_int_equal(x->ring[0].id, 2);
	turn(x);
	assert_int_equal(rings(x), 2);
}

RIG_TEST(wait__registry_changed__is_until_the_next_walk_may_be)
{
	struct fixture *x = *state;

	add(x, 1, 16);
	attach(x);
	assert_int_equal(guest_wait(x->mon, x->now), 0);
	turn(x);
	x->now.ns += 11 * MS;
	assert_int_equal(guest_wait(x->mon, x->now), INT64_MAX);
	add(x, 2, 16);
	assert_int_equal(guest_wait(x->mon, x->now), 0);
	guest_refresh(x->mon, x->now);
	add(x, 3, 16);
	assert_int_equal(guest_wait(x->mon, x->now), GUEST_WALK_MIN_MS * MS);
	x->now.ns += MS;
	assert_int_equal(guest_wait(x->mon, x->now), (GUEST_WALK_MIN_MS - 1) * MS);
}

static uint64_t walks(struct fixture *x)
{
	look(x);
	return x->st.walks;
}

/* A registry of many pages costs as much as walks of several small ones. */
static uint64_t walks_in_a_minute(struct fixture *x)
{
	uint64_t before = walks(x);

	for (int i = 0; i < 60000 / GUEST_WALK_MIN_MS; i++) {
		fake_write_begin(&x->g);
		fake_write_end(&x->g);
		x->now.ns += GUEST_WALK_MIN_MS * MS;
		guest_refresh(x->mon, x->now);
	}
	return walks(x) - before;
}

RIG_TEST(refresh__registry_changes_all_the_time__its_walks_are_rationed)
{
	struct fixture *x = *state;

	add(x, 1, 16);
	attach(x);
	turn(x);
	assert_in_range(walks_in_a_minute(x), 11000, 12500);
}

RIG_TEST(refresh__large_registry_changes_all_the_time__its_pages_are_rationed)
{
	struct fixture *x = *state;
	struct guest_registry *r = fake_registry(&x->g);

	add(x, 1, 16);
	r->frame_pages = 48;
	r->frames = 48 * GUEST_FRAMES_PER_PAGE;
	for (uint32_t i = 0; i < r->frame_pages; i++)
		r->frame_page[i] = (struct guest_ref){ GUEST_REF_FRAME, 0, FAKE_FRAME_LIST + i };
	attach(x);
	turn(x);
	assert_in_range(walks_in_a_minute(x), 1500, 2000);
}

/* Waiting for the sampler would cost a queue pair that lives briefly its life. */
RIG_TEST(refresh__a_ring_waits_to_be_reaped__new_ones_are_read_and_others_stay)
{
	struct fixture *x = *state;

	add(x, 1, 16);
	add(x, 2, 16);
	attach(x);
	turn(x);
	fake_write_begin(&x->g);
	fake_ring_at(&x->g, 0)->kind = GUEST_RING_FREE;
	fake_write_end(&x->g);
	turn(x);
	assert_int_equal(rings(x), 1);
	fake_write_begin(&x->g);
	fake_ring_at(&x->g, 1)->kind = GUEST_RING_FREE;
	fake_write_end(&x->g);
	add(x, 3, 16);
	turn(x);
	assert_int_equal(rings(x), 2); /* ring 2 is in sets that the sampler may read */
	guest_reap(x->mon);
	sample_all(x);
	assert_int_equal(guest_wait(x->mon, x->now), 0);
	turn(x);
	assert_int_equal(rings(x), 1);
	guest_reap(x->mon);
	turn(x);
	assert_int_equal(x->st.qps_read, 2);
	assert_int_equal(x->st.qps_missed, 1);
}
