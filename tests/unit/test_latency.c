// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * latency: one latency page. Each sample is reported once, those that were
 * missed are counted, and whatever a guest writes, a call stays small and
 * what it reports can be true of as many samples as it says.
 */
#include "ibmon/latency.h"

#include "tests/fakes/fake_latency.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

enum { ALL = GUEST_LATENCY_SAMPLES };

struct fixture {
	struct guest_latency g;
	struct latency_page l;
	struct report r;
	struct window w;
};

/* A page that is being read, with nothing on it yet. */
static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x)
		return -1;
	fake_latency_open(&x->g);
	latency_page_open(&x->l, &x->g);
	latency_page_read(&x->l, ALL, &x->r, &x->w);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void put(struct fixture *x, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		fake_latency_put(&x->g, 100, 20, 3);
}

/* What one call says; how many were lost. */
static uint64_t look(struct fixture *x, uint32_t max)
{
	memset(&x->r, 0, sizeof(x->r));
	return latency_page_read(&x->l, max, &x->r, &x->w);
}

/* --- what is written by the protocol -------------------------------------------- */

RIG_TEST(new_samples__are_summed_once)
{
	struct fixture *x = *state;

	fake_latency_put(&x->g, 100, 20, 3);
	fake_latency_put(&x->g, 1000, 200, 30);
	assert_int_equal(look(x, ALL), 0);
	assert_int_equal(x->r.n, 2);
	assert_int_equal(x->r.sum_ns, 1353);
	assert_int_equal(x->r.io_sum_ns, 253);
	assert_int_equal(x->r.io_sumsq_hi, 0);
	assert_int_equal(x->r.io_sumsq_lo, 23 * 23 + 230 * 230);
	assert_int_equal(x->r.flags, 0);
	assert_int_equal(x->w.n, 2);
	assert_int_equal(window_mean(&x->w), 1353 / 2);
	assert_int_equal(look(x, ALL), 0);
	assert_int_equal(x->r.n, 0);
}

RIG_TEST(samples_there_before_us__are_not_reported)
{
	struct fixture *x = *state;

	put(x, 50);
	latency_page_open(&x->l, &x->g);
	assert_int_equal(look(x, ALL), 0);
	assert_int_equal(x->r.n, 0);
	put(x, 1);
	look(x, ALL);
	assert_int_equal(x->r.n, 1);
}

RIG_TEST(largest_times__square_beyond_64_bits_is_kept)
{
	struct fixture *x = *state;
	const uint64_t io = 2 * (uint64_t)UINT32_MAX;
	const unsigned __int128 want = (unsigned __int128)io * io * 3;

	for (int i = 0; i < 3; i++)
		fake_latency_put(&x->g, UINT32_MAX, UINT32_MAX, UINT32_MAX);
	look(x, ALL);
	assert_int_equal(x->r.sum_ns, 9 * (uint64_t)UINT32_MAX);
	assert_int_equal(x->r.io_sumsq_hi, (uint64_t)(want >> 64));
	assert_int_equal(x->r.io_sumsq_lo, (uint64_t)want);
	assert_int_not_equal(x->r.io_sumsq_hi, 0);
}

RIG_TEST(two_pages__add_to_one_report_and_window)
{
	struct fixture *x = *state;
	struct guest_latency other;
	struct latency_page l;

	fake_latency_open(&other);
	latency_page_open(&l, &other);
	latency_page_read(&l, ALL, &x->r, NULL);
	put(x, 2);
	fake_latency_put(&other, 1, 2, 3);
	look(x, ALL);
	latency_page_read(&l, ALL, &x->r, &x->w);
	assert_int_equal(x->r.n, 3);
	assert_int_equal(x->r.sum_ns, 2 * 123 + 6);
	assert_int_equal(x->w.n, 3);
}

RIG_TEST(more_than_a_call_may_read__the_rest_comes_next_in_order)
{
	struct fixture *x = *state;

	for (uint32_t i = 1; i <= 25; i++)
		fake_latency_put(&x->g, i, 0, 0);
	assert_int_equal(look(x, 10), 0);
	assert_int_equal(x->r.n, 10);
	assert_int_equal(x->r.sum_ns, 55);
	look(x, 10);
	assert_int_equal(x->r.sum_ns, 155);
	look(x, 10);
	assert_int_equal(x->r.n, 5);
}

RIG_TEST(exactly_as_many_as_the_page_holds__none_is_lost)
{
	struct fixture *x = *state;

	put(x, ALL);
	assert_int_equal(look(x, ALL), 0);
	assert_int_equal(x->r.n, ALL);
	assert_int_equal(x->r.flags, 0);
}

RIG_TEST(more_than_the_page_holds__newest_are_read_and_the_others_counted)
{
	struct fixture *x = *state;

	put(x, ALL + 7);
	assert_int_equal(look(x, ALL), 7);
	assert_int_equal(x->r.n, ALL);
	assert_int_equal(x->r.flags, REPORT_LOST);
	put(x, 1);
	assert_int_equal(look(x, ALL), 0);
	assert_int_equal(x->r.flags, 0);
}

/* --- what is not ------------------------------------------------------------------ */

RIG_TEST(samples_being_overwritten__are_lost_and_the_others_count)
{
	struct fixture *x = *state;

	put(x, 2 * ALL - 1);
	x->g.writing += 3;
	assert_int_equal(look(x, ALL), ALL - 1 + 3);
	assert_int_equal(x->r.n, ALL - 3);
	assert_int_equal(x->r.flags, REPORT_LOST);
	put(x, 3);
	assert_int_equal(look(x, ALL), 0);
	assert_int_equal(x->r.n, 3);
}

/* The agent writes 0 to the whole page, between the look at the number and the copy. */
RIG_TEST(page_begun_anew_meanwhile__its_samples_are_lost)
{
	struct fixture *x = *state;

	put(x, 5);
	x->g.writing = 4;
	assert_int_equal(look(x, ALL), 5);
	assert_int_equal(x->r.n, 0);
	assert_int_equal(x->r.flags, REPORT_LOST);
}

RIG_TEST(dropped_in_the_guest__is_lost_once)
{
	struct fixture *x = *state;

	x->g.dropped = 7;
	assert_int_equal(look(x, ALL), 0);
	put(x, 2);
	assert_int_equal(look(x, ALL), 7);
	assert_int_equal(x->r.n, 2);
	assert_int_equal(x->r.flags, REPORT_LOST);
	put(x, 1);
	assert_int_equal(look(x, ALL), 0);
	x->g.dropped = 3; /* it lies */
	put(x, 1);
	assert_int_equal(look(x, ALL), 0);
	x->g.dropped = UINT64_MAX;
	put(x, ALL + 9);
	assert_int_equal(look(x, ALL), UINT64_MAX);
}

/* What was dropped before the first reading is history, too. */
RIG_TEST(dropped_before_us__is_not_counted)
{
	struct fixture *x = *state;

	x->g.dropped = 50;
	put(x, 1);
	latency_page_open(&x->l, &x->g);
	look(x, ALL);
	put(x, 1);
	assert_int_equal(look(x, ALL), 0);
	assert_int_equal(x->r.n, 1);
}

/* Another process took the page over while we looked away. */
RIG_TEST(written_goes_back__page_begins_anew)
{
	struct fixture *x = *state;

	x->g.dropped = 9;
	put(x, 500);
	look(x, ALL);
	fake_latency_open(&x->g);
	x->g.dropped = 12; /* all of them its own */
	put(x, 2);
	assert_int_equal(look(x, ALL), 12);
	assert_int_equal(x->r.n, 2);
	fake_latency_open(&x->g);
	put(x, 1);
	assert_int_equal(look(x, ALL), 0);
	assert_int_equal(x->r.n, 1);
	assert_int_equal(x->r.flags, 0);
}

RIG_TEST(written_jumps_to_the_end__nothing_is_reported_and_the_call_is_short)
{
	struct fixture *x = *state;

	x->g.written = UINT64_MAX;
	assert_int_equal(look(x, ALL), UINT64_MAX);
	assert_int_equal(x->r.n, 0);
	assert_int_equal(x->r.flags, REPORT_LOST);
	x->g.written = 0; /* and back */
	put(x, 1);
	look(x, ALL);
	assert_int_equal(x->r.n, 1);
}

RIG_TEST(page_no_longer_one__is_left_alone_until_it_is_again)
{
	struct fixture *x = *state;

	put(x, 3);
	x->g.magic = GUEST_REGISTRY_MAGIC;
	assert_int_equal(look(x, ALL), 0);
	assert_int_equal(x->r.n, 0);
	x->g.magic = GUEST_LATENCY_MAGIC;
	look(x, ALL);
	assert_int_equal(x->r.n, 0); /* whose these are is not known */
	put(x, 2);
	look(x, ALL);
	assert_int_equal(x->r.n, 2);
}

/* --- any guest ---------------------------------------------------------------------- */

RIG_TEST(honest__whatever_the_pace__read_and_lost_are_all_that_was_written)
{
	struct fixture *x = *state;
	uint64_t written = 0, read = 0, lost = 0;
	struct prop p;

	prop_start(&p);
	for (uint64_t i = 0; i < 20000; i++) {
		uint32_t n = (uint32_t)prop_range(&p, 0, prop_one_in(&p, 10) ? 800 : 20);
		uint32_t max = (uint32_t)prop_range(&p, 1, ALL);

		put(x, n);
		written += n;
		lost += look(x, max);
		read += x->r.n;
		prop_assert(&p, i, x->r.n <= max);
		prop_assert(&p, i, x->r.sum_ns == 123 * x->r.n);
	}
	while (x->l.last < x->g.written) {
		lost += look(x, ALL);
		read += x->r.n;
	}
	prop_assert(&p, 0, read + lost == written);
	prop_assert(&p, 0, read > 0 && lost > 0);
}

/* Anything anywhere, with the right magic and numbers often enough to go on. */
static void scribble(struct prop *p, struct fixture *x)
{
	uint64_t *words = (uint64_t *)&x->g;

	switch (prop_range(p, 0, 4)) {
	case 0:
		words[prop_range(p, 0, sizeof(x->g) / 8 - 1)] = prop_hostile(p);
		break;
	case 1:
		x->g.written = prop_hostile(p);
		break;
	case 2:
		x->g.written += prop_range(p, 0, 300) - 100;
		break;
	default:
		for (uint64_t n = prop_range(p, 1, 200); n; n--)
			fake_latency_put(&x->g, (uint32_t)prop_hostile(p),
					 (uint32_t)prop_hostile(p), (uint32_t)prop_hostile(p));
	}
	if (!prop_one_in(p, 5))
		x->g.magic = GUEST_LATENCY_MAGIC;
}

RIG_TEST(hostile__whatever_is_written__report_can_be_true_of_its_samples)
{
	struct fixture *x = *state;
	uint64_t read = 0;
	struct prop p;

	prop_start(&p);
	for (uint64_t i = 0; i < 50000; i++) {
		uint32_t max = (uint32_t)prop_range(&p, 0, ALL);
		uint64_t lost;

		scribble(&p, x);
		lost = look(x, max);
		read += x->r.n;
		prop_assert(&p, i, x->r.n <= max);
		prop_assert(&p, i, x->r.sum_ns <= x->r.n * 3 * UINT32_MAX);
		prop_assert(&p, i, x->r.io_sum_ns <= x->r.sum_ns);
		prop_assert(&p, i, x->r.n || (!x->r.io_sumsq_hi && !x->r.io_sumsq_lo));
		prop_assert(&p, i, !lost == !(x->r.flags & REPORT_LOST));
	}
	prop_assert(&p, 0, read > 0);
}
