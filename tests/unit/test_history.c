// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_history: a right history passes, and each kind of violation, planted into
 * it, is found by its name.
 */
#include <string.h>

#include "tests/shared/history.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

/*
 * Host 1 is home of the locks and has node 0 (service 1) and nodes 1, 2, 3
 * (service 2). Hosts 2 and 3 balance service 1, host 4 service 2.
 */
struct rig {
	struct history h;
	int64_t t;
};

static const struct history_conf conf = {
	.hosts = 4,
	.services = 2,
	.nodes = { 0, 4 },
	.minimum = { 0, 1, 1 },
	.balancers = { 0, 1u << 1 | 1u << 2, 1u << 3 },
	.faultless = true,
	.high_ns = 1000,
	.flight_ns = 5,
	.break_ns = 500,
	.delay_ns = 2000,
	.any_delay_ns = 4000,
};

static void add(struct rig *r, struct history_record rec)
{
	rec.t = r->t += 10;
	if (!rec.value && rec.type == HISTORY_EFFECT)
		rec.value = (uint64_t)rec.t;
	history_add(&r->h, &rec);
}

static void word(struct rig *r, uint32_t offset, uint64_t value)
{
	add(r, (struct history_record){
		       .type = HISTORY_WORD, .host = 1, .offset = offset, .now = value });
}

static void cas(struct rig *r, uint16_t by, uint32_t offset, uint64_t from, uint64_t to)
{
	add(r, (struct history_record){ .type = HISTORY_EFFECT,
					.op = STEP_CAS,
					.host = by,
					.target = 1,
					.offset = offset,
					.compare = from,
					.old = from,
					.now = to });
}

static void lock(struct rig *r, uint16_t by, uint32_t s, uint64_t seq)
{
	cas(r, by, region_lock_offset(s), r->h.lock[1][s].value, region_word(by, seq));
}

static void meet(struct rig *r, uint16_t by, uint32_t s)
{
	uint64_t is = r->h.lock[1][s].value;

	add(r, (struct history_record){ .type = HISTORY_EFFECT,
					.op = STEP_READ,
					.host = by,
					.target = 1,
					.offset = region_lock_offset(s),
					.old = is,
					.now = is });
}

static void unlock(struct rig *r, uint16_t by, uint32_t s)
{
	uint64_t old = r->h.lock[1][s].value;

	cas(r, by, region_lock_offset(s), old, region_word(0, region_word_seq(old)));
}

/* untold: no result comes back. */
static void reads(struct rig *r, uint16_t by, bool untold)
{
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t is = r->h.node[1][i].value;

		add(r, (struct history_record){ .type = HISTORY_EFFECT,
						.op = STEP_READ,
						.host = by,
						.target = 1,
						.offset = region_node_offset(i),
						.old = is,
						.now = is,
						.untold = untold });
	}
}

static void count_by(struct rig *r, uint16_t by)
{
	reads(r, by, false);
}

static void tell(struct rig *r, uint16_t by, uint16_t whom, uint32_t s)
{
	add(r, (struct history_record){ .type = HISTORY_EFFECT,
					.op = STEP_FAA,
					.host = by,
					.target = whom,
					.offset = region_counter_offset(s),
					.now = 1 });
}

static void move(struct rig *r, uint16_t by, uint32_t node, uint16_t to)
{
	uint64_t old = r->h.node[1][node].value;

	cas(r, by, region_node_offset(node), old, region_word(to, region_word_seq(old) + 1));
}

static void loaded(struct rig *r, enum history_type type, uint16_t s)
{
	add(r, (struct history_record){ .type = type, .service = s });
}

static void view(struct rig *r, uint16_t host, uint64_t members, uint16_t quorate)
{
	add(r, (struct history_record){
		       .type = HISTORY_VIEW, .host = host, .service = quorate, .value = members });
}

static void begin(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	history_init(&r->h, &conf);
	for (uint16_t h = 1; h <= 4; h++)
		add(r, (struct history_record){ .type = HISTORY_BOOT, .host = h });
	for (uint16_t h = 1; h <= 4; h++)
		view(r, h, 0xf, 1);
	for (uint32_t i = 0; i < 4; i++)
		word(r, region_node_offset(i), region_word(i ? 2 : 1, 0));
	loaded(r, HISTORY_HIGH, 1);
	r->t += 2000;
}

static void take_both(struct rig *r, uint16_t by, uint64_t seq)
{
	lock(r, by, 1, seq);
	lock(r, by, 2, seq);
}

/* All of a move of node 1 to service 1 by host 2, but the node's CAS. */
static void prepare(struct rig *r)
{
	begin(r);
	take_both(r, 2, 1);
	count_by(r, 2);
	tell(r, 2, 3, 1);
	tell(r, 2, 4, 2);
}

static void expect(const struct rig *r, enum history_violation v)
{
	if (r->h.violation != v)
		history_dump(stderr, &r->h);
	assert_string_equal(history_name(r->h.violation), history_name(v));
}

TEST(right_move__nothing_found)
{
	struct rig r;

	prepare(&r);
	move(&r, 2, 1, 1);
	unlock(&r, 2, 2);
	unlock(&r, 2, 1);
	expect(&r, HISTORY_FINE);
	assert_int_equal(r.h.moves, 1);
	assert_int_equal(history_count(&r.h, 1), 2);
}

TEST(lock__taken_with_an_old_seq__fence)
{
	struct rig r;

	begin(&r);
	lock(&r, 2, 1, 5);
	unlock(&r, 2, 1);
	lock(&r, 3, 1, 5);
	expect(&r, HISTORY_FENCE);
}

TEST(node__word_that_stood_before__fence)
{
	struct rig r;

	prepare(&r);
	cas(&r, 2, region_node_offset(1), region_word(2, 0), region_word(2, 1));
	add(&r, (struct history_record){ .type = HISTORY_BOOT, .host = 1, .boot = 1 });
	word(&r, region_node_offset(1), region_word(2, 0));
	cas(&r, 2, region_node_offset(1), region_word(2, 0), region_word(2, 1));
	expect(&r, HISTORY_FENCE);
}

TEST(node__of_no_service__found)
{
	struct rig r;

	prepare(&r);
	move(&r, 2, 1, 3);
	expect(&r, HISTORY_SERVICE);
}

TEST(node__changed_by_nobody__found)
{
	struct rig r;

	prepare(&r);
	cas(&r, 2, region_node_offset(1), region_word(2, 7), region_word(1, 8));
	expect(&r, HISTORY_SERVICE);
}

TEST(move__without_the_donors_lock__found)
{
	struct rig r;

	begin(&r);
	lock(&r, 2, 1, 1);
	count_by(&r, 2);
	move(&r, 2, 1, 1);
	expect(&r, HISTORY_UNLOCKED);
}

TEST(move__after_its_own_release__found)
{
	struct rig r;

	prepare(&r);
	unlock(&r, 2, 1);
	move(&r, 2, 1, 1);
	expect(&r, HISTORY_UNLOCKED);
}

TEST(move__after_a_newer_holder_decided__overlap)
{
	struct rig r;

	prepare(&r);
	r.t += 1000;
	take_both(&r, 3, 2);
	count_by(&r, 3);
	tell(&r, 3, 2, 1);
	move(&r, 2, 1, 1);
	expect(&r, HISTORY_OVERLAP);
}

TEST(move__of_an_old_holder_before_the_newer_decides__fine)
{
	struct rig r;

	prepare(&r);
	r.t += 1000;
	take_both(&r, 3, 2);
	move(&r, 2, 1, 1);
	expect(&r, HISTORY_FINE);
}

TEST(move__on_a_count_that_changed__minimum)
{
	struct rig r;

	prepare(&r);
	r.t += 1000;
	take_both(&r, 3, 2);
	count_by(&r, 3);
	move(&r, 2, 1, 1); /* host 3 has not decided yet, but will not look again */
	r.h.conf.faultless = false;
	tell(&r, 3, 2, 1);
	tell(&r, 3, 4, 2);
	r.h.conf.minimum[2] = 2;
	move(&r, 3, 2, 1);
	expect(&r, HISTORY_MINIMUM);
}

TEST(move__on_a_count_that_changed_and_another_came__stale)
{
	struct rig r;

	prepare(&r);
	r.t += 1000;
	take_both(&r, 3, 2);
	count_by(&r, 3);
	move(&r, 2, 1, 1);
	r.h.conf.faultless = false;
	tell(&r, 3, 2, 1);
	tell(&r, 3, 4, 2);
	r.h.conf.nodes[1] = 5; /* it has never seen this one, which makes up the minimum */
	word(&r, region_node_offset(4), region_word(2, 0));
	r.h.conf.minimum[2] = 2;
	move(&r, 3, 2, 1);
	expect(&r, HISTORY_STALE);
}

TEST(move__without_a_count__stale)
{
	struct rig r;

	begin(&r);
	count_by(&r, 2); /* before the locks */
	take_both(&r, 2, 1);
	tell(&r, 2, 3, 1);
	tell(&r, 2, 4, 2);
	move(&r, 2, 1, 1);
	expect(&r, HISTORY_STALE);
}

TEST(move__on_a_count_of_which_it_did_not_hear__stale)
{
	struct rig r;

	begin(&r);
	take_both(&r, 2, 1);
	reads(&r, 2, true);
	tell(&r, 2, 3, 1);
	tell(&r, 2, 4, 2);
	move(&r, 2, 1, 1);
	expect(&r, HISTORY_STALE);
}

TEST(move__of_the_last_node__minimum)
{
	struct rig r;

	prepare(&r);
	loaded(&r, HISTORY_HIGH, 2);
	r.t += 2000;
	move(&r, 2, 0, 2);
	expect(&r, HISTORY_MINIMUM);
}

TEST(move__of_the_last_but_one_that_began_anew__fine)
{
	struct rig r;

	prepare(&r);
	r.h.conf.minimum[2] = 2; /* of 1, 2, 3, which were all counted */
	add(&r, (struct history_record){ .type = HISTORY_BOOT, .host = 1, .boot = 1 });
	for (uint32_t i = 0; i < 4; i++)
		word(&r, region_node_offset(i), region_word(i == 1 || i == 2 ? 2 : 1, 0x10000));
	r.h.lock[1][1].value = region_word(2, 1); /* the words' host is not the locks' home */
	r.h.lock[1][2].value = region_word(2, 1);
	move(&r, 2, 1, 1);
	expect(&r, HISTORY_FINE);
}

TEST(move__of_which_a_balancer_was_not_told__found)
{
	struct rig r;

	begin(&r);
	take_both(&r, 2, 1);
	count_by(&r, 2);
	tell(&r, 2, 3, 1);
	move(&r, 2, 1, 1);
	expect(&r, HISTORY_UNTOLD);
}

TEST(move__of_which_a_removed_balancer_was_not_told__fine)
{
	struct rig r;

	begin(&r);
	view(&r, 2, 0x7, 1);
	take_both(&r, 2, 1);
	count_by(&r, 2);
	tell(&r, 2, 3, 1);
	move(&r, 2, 1, 1);
	expect(&r, HISTORY_FINE);
}

TEST(leases__two_at_once__found)
{
	struct rig r;

	begin(&r);
	for (uint16_t h = 2; h <= 3; h++)
		add(&r, (struct history_record){
				.type = HISTORY_MAY, .host = h, .service = 1, .value = 1 });
	expect(&r, HISTORY_LEASE);
}

TEST(leases__one_after_the_other__fine)
{
	struct rig r;

	begin(&r);
	for (uint64_t i = 0; i < 6; i++)
		add(&r, (struct history_record){ .type = HISTORY_MAY,
						 .host = 2 + i / 2 % 2,
						 .service = 1,
						 .value = (i + 1) % 2 });
	expect(&r, HISTORY_FINE);
}

static void told_view(struct rig *r, uint16_t host, uint64_t number)
{
	add(r, (struct history_record){ .type = HISTORY_VIEW,
					.host = host,
					.service = 1,
					.old = number,
					.value = 0xf });
}

TEST(lock__of_a_newer_view_than_told__behind)
{
	struct rig r;

	begin(&r);
	told_view(&r, 2, 6);
	told_view(&r, 3, 5);
	lock(&r, 2, 1, (6ull << 32) + 1);
	unlock(&r, 2, 1);
	lock(&r, 3, 1, (6ull << 32) + 2);
	expect(&r, HISTORY_BEHIND);
}

TEST(lock__of_the_view_that_was_told_or_of_a_start__fine)
{
	struct rig r;

	begin(&r);
	told_view(&r, 2, 6);
	told_view(&r, 3, 5);
	told_view(&r, 3, 6);
	word(&r, region_lock_offset(1), region_word(0, 9ull << 32)); /* the home's ninth start */
	lock(&r, 2, 1, (6ull << 32) + 1);
	unlock(&r, 2, 1);
	lock(&r, 3, 1, (6ull << 32) + 2);
	expect(&r, HISTORY_FINE);
}

TEST(lock__broken_early__theft)
{
	struct rig r;

	begin(&r);
	lock(&r, 2, 1, 1);
	r.t += 400;
	lock(&r, 3, 1, 2);
	expect(&r, HISTORY_THEFT);
}

TEST(lock__of_another_released__theft)
{
	struct rig r;

	begin(&r);
	lock(&r, 2, 1, 1);
	unlock(&r, 3, 1);
	expect(&r, HISTORY_THEFT);
}

TEST(lock__taken_while_a_higher_is_held__order)
{
	struct rig r;

	begin(&r);
	lock(&r, 2, 2, 1);
	lock(&r, 2, 1, 1);
	expect(&r, HISTORY_ORDER);
}

TEST(move__second_for_one_load__twice)
{
	struct rig r;

	prepare(&r);
	move(&r, 2, 1, 1);
	move(&r, 2, 2, 1);
	expect(&r, HISTORY_TWICE);
}

TEST(move__for_a_short_load__burst)
{
	struct rig r;

	prepare(&r);
	loaded(&r, HISTORY_LOW, 1);
	loaded(&r, HISTORY_HIGH, 1);
	move(&r, 2, 1, 1);
	expect(&r, HISTORY_BURST);
}

TEST(holder__dead_for_long__delay)
{
	struct rig r;

	begin(&r);
	lock(&r, 2, 1, 1);
	add(&r, (struct history_record){ .type = HISTORY_CRASH, .host = 2 });
	meet(&r, 3, 1);
	r.t += 3000;
	lock(&r, 3, 1, 2);
	expect(&r, HISTORY_DELAY);
}

TEST(move__after_who_decided_without_seeing_the_node__fine)
{
	struct rig r;

	prepare(&r);
	r.t += 1000;
	take_both(&r, 3, 2);
	tell(&r, 3, 2, 1); /* it has seen no node at all */
	move(&r, 2, 1, 1);
	expect(&r, HISTORY_FINE);
}

TEST(move__after_who_decided_without_hearing_of_the_node__fine)
{
	struct rig r;

	prepare(&r);
	r.t += 1000;
	take_both(&r, 3, 2);
	reads(&r, 3, true);
	tell(&r, 3, 2, 1);
	move(&r, 2, 1, 1);
	expect(&r, HISTORY_FINE);
}

TEST(holder__dead_and_waited_for_by_one_after_the_other__delay)
{
	struct rig r;

	begin(&r);
	lock(&r, 2, 1, 1);
	add(&r, (struct history_record){ .type = HISTORY_CRASH, .host = 2 });
	meet(&r, 3, 1);
	r.t += 3000;
	meet(&r, 4, 1);
	r.t += 1500;
	lock(&r, 4, 1, 2);
	expect(&r, HISTORY_DELAY);
}

TEST(holder__dead_for_as_long_as_allowed__fine)
{
	struct rig r;

	begin(&r);
	lock(&r, 2, 1, 1);
	add(&r, (struct history_record){ .type = HISTORY_CRASH, .host = 2 });
	r.t += 3000;
	meet(&r, 3, 1);
	r.t += 1500;
	lock(&r, 3, 1, 2);
	expect(&r, HISTORY_FINE);
	assert_in_range(r.h.service[1].delay, 1500, 2000);
}

TEST(lock__taken_without_quorum__minority)
{
	struct rig r;

	begin(&r);
	view(&r, 2, 0x2, 0);
	lock(&r, 2, 1, 1);
	expect(&r, HISTORY_MINORITY);
}

TEST(hash__any_field_changed__differs)
{
	struct rig a, b;

	prepare(&a);
	prepare(&b);
	assert_true(a.h.hash == b.h.hash);
	move(&a, 2, 1, 1);
	move(&b, 2, 2, 1);
	assert_true(a.h.hash != b.h.hash);
}
