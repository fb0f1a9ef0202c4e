// SPDX-License-Identifier: GPL-2.0-or-later
/* crosscheck: honest guests are not reported; guests that hide what they send are. */
#include <string.h>

#include "src/core/crosscheck.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

#define MB 1000000ull

static const struct cross_conf conf = {
	.window_ns = NS_PER_S,
	.tolerance = 100,
	.mtu = 1024,
	.floor = 5 * MB,
	.rate = 100 * MB,
};

/* One guest and the counter of what it sends, second by second. */
struct rig {
	struct cross c;
	struct cross_seen now;
	uint32_t begins, ends;
};

static enum cross_news feed(struct rig *r)
{
	enum cross_news news = cross_feed(&r->c, &conf, &r->now);

	r->begins += news == CROSS_BEGINS;
	r->ends += news == CROSS_ENDS;
	return news;
}

static void begin(struct rig *r)
{
	*r = (struct rig){ .now = { .time = { NS_PER_S }, .counter = 1 } };
	assert_int_equal(feed(r), CROSS_SAME);
}

static void claim(struct rig *r, uint64_t bytes)
{
	r->now.claim.bytes_sent += bytes;
	r->now.claim.mtus_sent += (bytes + 1023) / 1024;
	r->now.claim.wrs += bytes ? 1 + bytes / 65536 : 0;
}

/* A window in which so much is sent, of which so much is claimed. */
static enum cross_news window(struct rig *r, uint64_t sent, uint64_t claims)
{
	r->now.time = mono_add(r->now.time, NS_PER_S);
	r->now.sent += sent;
	claim(r, claims);
	return feed(r);
}

TEST(feed__window_not_over__nothing_is_measured)
{
	struct rig r;

	begin(&r);
	r.now.time = mono_add(r.now.time, NS_PER_S - 1);
	r.now.sent += 90 * MB;
	assert_int_equal(feed(&r), CROSS_SAME);
	assert_int_equal(r.c.windows, 0);
	r.now.time = mono_add(r.now.time, 1);
	assert_int_equal(feed(&r), CROSS_WINDOW);
	assert_int_equal(r.c.last.sent, 90 * MB);
	assert_int_equal(r.c.last.ns, NS_PER_S);
}

TEST(feed__all_of_it_claimed__is_clean)
{
	struct rig r;

	begin(&r);
	for (int i = 0; i < 10; i++)
		assert_int_equal(window(&r, 95 * MB, 90 * MB), CROSS_WINDOW);
	assert_int_equal(r.c.debt, 0);
	assert_int_equal(r.c.clean, 10);
	assert_int_equal(cross_unexplained(&r.c), 0);
}

TEST(feed__nothing_claimed_in_two_windows__diverges)
{
	struct rig r;

	begin(&r);
	assert_int_equal(window(&r, 50 * MB, 0), CROSS_WINDOW);
	assert_false(r.c.diverges);
	assert_int_equal(window(&r, 50 * MB, 0), CROSS_BEGINS);
	assert_true(r.c.diverges);
	assert_int_equal(window(&r, 50 * MB, 0), CROSS_WINDOW);
	assert_int_equal(cross_unexplained(&r.c), 50 * MB);
	assert_int_equal(r.c.debt, 135 * MB); /* the floor is deducted from each */
}

TEST(feed__one_window_over__is_forgiven_after_three_clean)
{
	struct rig r;

	begin(&r);
	for (int k = 0; k < 5; k++) {
		assert_int_equal(window(&r, 50 * MB, 0), CROSS_WINDOW);
		for (int i = 0; i < CROSS_CLEAN; i++)
			assert_int_equal(window(&r, 0, 0), CROSS_WINDOW);
		assert_int_equal(r.c.debt, 0);
	}
}

TEST(feed__diverging_guest__is_clear_after_three_clean_windows)
{
	struct rig r;

	begin(&r);
	window(&r, 50 * MB, 0);
	window(&r, 50 * MB, 0);
	window(&r, 0, 0);
	window(&r, 0, 0);
	assert_true(r.c.diverges);
	window(&r, 50 * MB, 0); /* begins anew to count clean ones */
	for (int i = 1; i < CROSS_CLEAN; i++)
		assert_int_equal(window(&r, 4 * MB, 0), CROSS_WINDOW);
	assert_int_equal(window(&r, 4 * MB, 0), CROSS_ENDS);
	assert_false(r.c.diverges);
	assert_int_equal(r.c.debt, 0);
}

TEST(feed__floor_and_tolerance__are_what_may_be_hidden)
{
	/* 1000 MTUs and 16 requests more claimed than their data: their headers */
	uint64_t explained, limit;
	struct rig r;

	begin(&r);
	window(&r, 0, 1024 * 1000);
	explained = 1024 * 1000 + (1000 + 16) * CROSS_HEADERS;
	limit = explained + explained / 10 + 5 * MB;
	assert_int_equal(r.c.last.explained, explained);
	assert_int_equal(r.c.last.limit, limit);
	for (int i = 0; i < 5; i++)
		window(&r, limit, 1024 * 1000);
	assert_int_equal(r.c.clean, 6);
	window(&r, limit + 1, 1024 * 1000);
	assert_int_equal(r.c.debt, 1);
	assert_int_equal(window(&r, limit + 1, 1024 * 1000), CROSS_BEGINS);
}

TEST(feed__more_claimed_than_sent__is_no_divergence)
{
	struct rig r;

	begin(&r);
	for (int i = 0; i < 10; i++)
		window(&r, 0, 90 * MB);
	assert_int_equal(r.begins, 0);
	/* nor is it a credit for later */
	window(&r, 50 * MB, 0);
	assert_int_equal(window(&r, 50 * MB, 0), CROSS_BEGINS);
}

TEST(feed__counter_goes_back__nothing_is_compared_across_it)
{
	struct rig r;

	begin(&r);
	window(&r, 4000 * MB, 4000 * MB);
	r.now.time = mono_add(r.now.time, NS_PER_S);
	r.now.sent = 7; /* made anew, or wrapped at 32 bits */
	assert_int_equal(feed(&r), CROSS_SAME);
	assert_int_equal(r.c.windows, 1);
	assert_int_equal(window(&r, 3 * MB, 0), CROSS_WINDOW);
	assert_int_equal(r.c.last.sent, 3 * MB);
}

TEST(feed__another_counter_in_its_place__is_not_compared_with_the_first)
{
	struct rig r;

	begin(&r);
	window(&r, 1 * MB, 0);
	r.now.counter = 2;
	assert_int_equal(window(&r, 90 * MB, 0), CROSS_SAME);
	r.now.counter = 3;
	assert_int_equal(window(&r, 90 * MB, 0), CROSS_SAME);
	assert_int_equal(r.c.windows, 1);
}

TEST(feed__claims_go_back__nothing_is_compared_across_it)
{
	struct rig r;

	begin(&r);
	window(&r, 90 * MB, 90 * MB);
	memset(&r.now.claim, 0, sizeof(r.now.claim));
	assert_int_equal(window(&r, 90 * MB, 0), CROSS_SAME);
}

TEST(feed__windows_interrupted__two_over_still_diverge)
{
	struct rig r;

	begin(&r);
	window(&r, 50 * MB, 0);
	r.now.counter = 2; /* as often as a guest makes its interface anew */
	window(&r, 0, 0);
	assert_int_equal(window(&r, 50 * MB, 0), CROSS_BEGINS);
}

TEST(pause__counter_missing__ends_a_divergence_the_third_time)
{
	struct rig r;

	begin(&r);
	window(&r, 50 * MB, 0);
	window(&r, 50 * MB, 0);
	assert_int_equal(cross_pause(&r.c), CROSS_SAME);
	assert_int_equal(window(&r, 50 * MB, 0), CROSS_SAME); /* back: begins anew */
	assert_true(r.c.diverges);
	assert_int_equal(cross_pause(&r.c), CROSS_SAME);
	assert_int_equal(cross_pause(&r.c), CROSS_SAME);
	assert_int_equal(cross_pause(&r.c), CROSS_ENDS);
	assert_int_equal(cross_pause(&r.c), CROSS_SAME);
	assert_false(r.c.diverges);
}

TEST(feed__message_longer_than_windows__is_in_flight)
{
	struct rig r;

	begin(&r);
	r.now.claim.backlog = 4;
	for (int i = 0; i < 5; i++) {
		window(&r, 100 * MB, 0);
		assert_int_equal(r.begins, 0);
	}
	r.now.claim.msg_bytes = 125 * MB;
	window(&r, 0, 500 * MB);
	assert_int_equal(r.c.debt, 0);
}

TEST(feed__stuck_backlog__hides_ten_seconds_of_the_link_and_no_more)
{
	struct rig r;
	int i;

	begin(&r);
	r.now.claim.backlog = UINT64_MAX;
	r.now.claim.msg_bytes = UINT32_MAX;
	for (i = 0; i < 20 && !r.begins; i++)
		window(&r, 100 * MB, 0);
	assert_int_equal(i, CROSS_FLIGHT_S + CROSS_OVER);
}

TEST(flight__requests_completing__is_the_backlog_at_the_largest_message)
{
	const struct usage was = { .wrs = 7 };
	struct usage u = { .wrs = 8, .backlog = 100, .msg_bytes = 3 * MB };

	assert_int_equal(cross_flight(&conf, &was, &u), 300 * MB);
	u.backlog = UINT64_MAX;
	assert_int_equal(cross_flight(&conf, &was, &u), 1000 * MB);
	u.backlog = 0;
	assert_int_equal(cross_flight(&conf, &was, &u), 0);
}

TEST(flight__larger_messages_than_any_completed__may_be_under_way)
{
	const struct usage was = { .wrs = 7 };
	struct usage u = { .wrs = 8, .backlog = 3, .msg_bytes = 65536 };

	assert_int_equal(cross_flight(&conf, &was, &u), 3 * (16 << 20));
	u.backlog = 100;
	assert_int_equal(cross_flight(&conf, &was, &u), 200 * MB);
	u.wrs = 7; /* none completed: they may have any size */
	assert_int_equal(cross_flight(&conf, &was, &u), 1000 * MB);
}

TEST(feed__acknowledgements_of_what_it_received__are_explained)
{
	struct rig r;

	begin(&r);
	for (int i = 0; i < 5; i++) {
		r.now.packets_recv += MB;
		window(&r, MB * 66, 0);
	}
	assert_int_equal(r.c.clean, 5);
}

TEST(feed__reads_of_other_guests__may_be_what_it_served)
{
	struct rig r;

	begin(&r);
	for (int i = 0; i < 5; i++) {
		r.now.served += cross_read_bytes(90 * MB, 90 * MB / 1024);
		window(&r, 96 * MB, 0);
	}
	assert_int_equal(r.c.clean, 5);
}

TEST(feed__lengths_forged_upwards__explain_no_more_than_the_largest_packets)
{
	struct rig r;

	begin(&r);
	for (int i = 0; i < 2; i++) {
		r.now.claim.bytes_sent += 1000 * MB;
		r.now.claim.mtus_sent += 10;
		window(&r, 50 * MB, 0);
	}
	assert_int_equal(r.begins, 1);
	assert_int_equal(r.c.last.explained, 10 * 4096 + 10 * CROSS_HEADERS);
}

TEST(feed__messages_lost__count_as_their_mtus)
{
	struct rig r;

	begin(&r);
	for (int i = 0; i < 4; i++) {
		r.now.claim.mtus_sent += 80000;
		r.now.claim.wrs += 80000;
		r.now.claim.lost += 79000;
		r.now.claim.bytes_sent += 1000 * 1024;
		window(&r, 80000ull * (1024 + 58), 0);
	}
	assert_int_equal(r.c.clean, 4);
}

TEST(floor__default__is_a_twentieth_and_never_next_to_nothing)
{
	assert_int_equal(cross_floor(1ull << 30), (1ull << 30) / 20);
	assert_int_equal(cross_floor(1000000), 65536);
	assert_int_equal(cross_floor(0), 65536);
}

/* --- properties ------------------------------------------------------------ */

/* What one queue pair has posted: sent from the front, claimed when a message is whole. */
struct queue {
	uint32_t msg, mtu;
	uint64_t left;	/* of the message in front */
	uint32_t depth; /* posted, the one in front included */
};

struct world {
	struct queue q[8];
	uint32_t queues;
	uint64_t others; /* bytes a second of other protocols */
	uint64_t waste;	 /* permille sent twice */
};

static void make_world(struct prop *p, struct world *w)
{
	*w = (struct world){ .queues = (uint32_t)prop_range(p, 1, 8) };
	for (uint32_t i = 0; i < w->queues; i++)
		w->q[i] = (struct queue){
			.msg = (uint32_t)1 << prop_range(p, 0, 24),
			.mtu = (uint32_t)256 << prop_range(p, 0, 4),
			.depth = (uint32_t)prop_range(p, 1, 64),
		};
	w->others = prop_range(p, 0, conf.floor);
	w->waste = prop_range(p, 0, 60);
}

/* A queue pair sends up to so many bytes; what its ring then claims is in u. */
static uint64_t send(struct queue *q, uint64_t bytes, struct usage *u)
{
	uint64_t sent = 0, part;

	while (bytes) {
		if (!q->left)
			q->left = q->msg;
		part = bytes < q->left ? bytes : q->left;
		sent += part + (part + q->mtu - 1) / q->mtu * 58; /* RoCEv2, IPv4, no VLAN tag */
		bytes -= part;
		q->left -= part;
		if (q->left)
			break;
		u->bytes_sent += q->msg;
		u->mtus_sent += (q->msg + q->mtu - 1) / q->mtu;
		u->wrs++;
		u->msg_bytes = u->msg_bytes > q->msg ? u->msg_bytes : q->msg;
	}
	return sent;
}

static uint64_t run_window(struct prop *p, struct world *w, struct rig *r)
{
	uint64_t share = prop_range(p, 0, conf.rate) / w->queues, sent = 0;
	uint64_t recv = prop_range(p, 0, 50000);

	r->now.claim.backlog = 0;
	for (uint32_t i = 0; i < w->queues; i++) {
		uint64_t most = 2000ull * w->q[i].msg; /* tiny messages: a bounded number */

		sent += send(&w->q[i], share < most ? share : most, &r->now.claim);
		r->now.claim.backlog += w->q[i].depth;
	}
	sent += sent * w->waste / 1000;
	r->now.packets_recv += recv;
	r->now.time = mono_add(r->now.time, NS_PER_S + (int64_t)prop_range(p, 0, 20000000));
	r->now.sent += sent + recv * 62 + w->others;
	return sent;
}

TEST(feed__honest_guest_of_any_mix__never_diverges)
{
	struct prop p;
	struct world w;
	struct rig r;

	prop_start(&p);
	for (int round = 0; round < 300; round++) {
		make_world(&p, &w);
		begin(&r);
		for (int i = 0; i < 60; i++) {
			run_window(&p, &w, &r);
			feed(&r);
			prop_assert(&p, round, !r.c.diverges);
		}
	}
}

/* For any traffic and any claims, as long as no message waits. */
TEST(feed__guest_that_hides_for_three_windows__always_diverges)
{
	struct prop p;
	struct world w;
	struct rig r;

	prop_start(&p);
	for (int round = 0; round < 500; round++) {
		make_world(&p, &w);
		begin(&r);
		for (int i = (int)prop_range(&p, 0, 10); i > 0; i--) {
			run_window(&p, &w, &r);
			feed(&r);
		}
		for (int i = 0; i < 3; i++) {
			struct cross_seen was = r.c.was;
			struct cross_window m;
			struct rig dry;

			run_window(&p, &w, &r);
			r.now.claim.backlog = 0;
			dry = r; /* how much of it is explained? */
			dry.now.sent = was.sent;
			feed(&dry);
			m = dry.c.last;
			r.now.sent = was.sent + m.limit + prop_range(&p, 1, conf.rate);
			feed(&r);
		}
		prop_assert(&p, round, r.c.diverges);
	}
}

TEST(feed__hostile_figures__are_borne)
{
	struct prop p;

	prop_start(&p);
	for (int round = 0; round < 2000; round++) {
		struct cross c = { 0 };

		for (int i = 0; i < 8; i++) {
			const struct cross_conf odd = {
				.window_ns = NS_PER_MS,
				.tolerance = (uint32_t)prop_range(&p, 0, 1000),
				.mtu = 4096,
				.floor = prop_hostile(&p),
				.rate = prop_hostile(&p),
			};
			const struct cross_seen s = {
				.time = { (int64_t)(prop_hostile(&p) >> 1) },
				.counter = prop_range(&p, 0, 1),
				.sent = prop_hostile(&p),
				.packets_recv = prop_hostile(&p),
				.served = prop_hostile(&p),
				.served_flight = prop_hostile(&p),
				.claim = { .bytes_sent = prop_hostile(&p),
					   .mtus_sent = prop_hostile(&p),
					   .wrs = prop_hostile(&p),
					   .lost = prop_hostile(&p),
					   .backlog = prop_hostile(&p),
					   .msg_bytes = (uint32_t)prop_hostile(&p) },
			};

			cross_feed(&c, &odd, &s);
			prop_assert(&p, round, c.last.limit >= c.last.explained);
			prop_assert(&p, round, cross_unexplained(&c) == 0 || c.last.sent > 0);
		}
	}
}
