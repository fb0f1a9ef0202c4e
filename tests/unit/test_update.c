// SPDX-License-Identifier: GPL-2.0-or-later
/* update: broadcast, acknowledgements, homes that are out, the transaction, the end. */
#include <string.h>

#include "src/cache/update.h"
#include "tests/unit/prop.h"
#include "tests/unit/shared_rig.h"

enum { SELF = 1, SLOT = 6, ACKS = REGION_ACKS, CHECK = 10 * MS, WAIT = 200 * MS, TAG = 90 };

struct rig {
	struct update u;
	struct step_out out;
	struct step_op read;		    /* the newest */
	struct step_op send[RIG_HOSTS + 1]; /* by host; len 0: none is outstanding */
	struct update_message sent;	    /* the newest */
	struct update_look look;
	uint32_t generation[UPDATE_HOSTS];
	uint64_t ack[REGION_HOSTS_MAX]; /* the ack words */
	int64_t now;
};

static void tell(struct rig *r, struct step_event ev)
{
	r->out.n = 0;
	update_step(&r->u, &ev, (struct mono){ r->now }, &r->out);
	for (uint32_t i = 0; i < r->out.n; i++) {
		struct step_op *op = &r->out.op[i];

		if (op->kind == STEP_READ) {
			r->read = *op;
		} else {
			r->send[op->host] = *op;
			memcpy(&r->sent, op->data, sizeof(r->sent));
		}
	}
}

static void answer(struct rig *r, uint32_t what, const void *wish)
{
	tell(r, (struct step_event){ .type = STEP_ASK, .what = what, .wish = wish });
}

static void looks(struct rig *r)
{
	answer(r, UPDATE_LOOKED, &r->look);
}

static void ends_send(struct rig *r, uint16_t h, enum step_outcome outcome)
{
	struct step_op op = r->send[h];

	assert_int_equal(op.kind, STEP_SEND);
	assert_int_not_equal(op.len, 0);
	r->send[h].len = 0;
	tell(r, rig_result(&op, outcome, 0, r->u.link[h]));
}

/* A check later the ack words are read. */
static void reads(struct rig *r)
{
	struct step_event ev;

	r->now += CHECK;
	tell(r, (struct step_event){ .type = STEP_TICK });
	ev = rig_result(&r->read, STEP_DONE, r->ack[0], r->u.link[SELF]);
	ev.data = r->ack;
	ev.words = REGION_HOSTS_MAX;
	tell(r, ev);
}

static void acks(struct rig *r, uint16_t h)
{
	r->ack[h - 1] = update_name(&r->u);
}

static void out(struct rig *r, uint16_t h)
{
	hostset_set(&r->look.members, h, false);
}

static void comes_back(struct rig *r, uint16_t h)
{
	hostset_set(&r->look.members, h, true);
	r->generation[h]++;
	r->look.epoch++;
}

static void begins(struct rig *r)
{
	const uint64_t tag[2] = { 11, 12 };
	struct update_wish w = { 2, tag };

	answer(r, UPDATE_BEGIN, &w);
}

/* Told to all three homes; the SENDs have arrived. */
static void broadcasts(struct rig *r)
{
	begins(r);
	looks(r);
	for (uint16_t h = 1; h <= 3; h++)
		ends_send(r, h, STEP_DONE);
}

static void commits(struct rig *r)
{
	broadcasts(r);
	for (uint16_t h = 1; h <= 3; h++)
		acks(r, h);
	reads(r);
	assert_int_equal(update_state(&r->u), UPDATE_COMMITS);
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct update_conf c = { .self = SELF,
				 .slot = SLOT,
				 .tag = TAG,
				 .acks = ACKS,
				 .check_ns = CHECK,
				 .wait_ns = WAIT };

	assert_non_null(r);
	update_init(&r->u, &c);
	r->now = 1000 * MS;
	r->look = (struct update_look){ .epoch = 5, .fence = 8, .generation = r->generation };
	r->look.rows = hostset_first(3);
	r->look.members = hostset_first(3);
	for (uint16_t h = 1; h <= 3; h++)
		tell(r, rig_link(h, 7));
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

RIG_TEST(broadcast__look__goes_to_all_members)
{
	struct rig *r = *state;

	begins(r);
	assert_int_equal(update_state(&r->u), UPDATE_LOOKS);
	assert_int_equal(r->out.n, 0);
	looks(r);
	assert_int_equal(r->out.n, 3);
	assert_int_equal(r->sent.kind, UPDATE_MARK);
	assert_int_equal(r->sent.slot, SLOT);
	assert_int_equal(r->sent.tags, 2);
	assert_int_equal(r->sent.tag[1], 12);
	assert_true(r->sent.name == cache_update_name(8, 1));
	assert_int_equal(r->sent.epoch, 5);
	assert_int_equal(update_epoch(&r->u), 5);
}

RIG_TEST(broadcast__self_is_out__waits)
{
	struct rig *r = *state;

	out(r, SELF);
	begins(r);
	looks(r);
	assert_int_equal(update_state(&r->u), UPDATE_LOOKS);
	comes_back(r, SELF);
	looks(r);
	assert_int_equal(update_state(&r->u), UPDATE_ACKS);
}

RIG_TEST(begin__bad_wish_or_busy__is_ignored)
{
	struct rig *r = *state;
	const uint64_t tag[UPDATE_TAGS_MAX + 1] = { 0 };

	answer(r, UPDATE_BEGIN, &(struct update_wish){ 0, tag });
	answer(r, UPDATE_BEGIN, &(struct update_wish){ UPDATE_TAGS_MAX + 1, tag });
	assert_int_equal(update_state(&r->u), UPDATE_IDLE);
	begins(r);
	answer(r, UPDATE_BEGIN, &(struct update_wish){ 1, tag });
	assert_int_equal(r->u.message.tags, 2);
}

RIG_TEST(acks__all_but_one__no_commit)
{
	struct rig *r = *state;
	struct hostset missing;

	broadcasts(r);
	acks(r, 1);
	acks(r, 2);
	reads(r);
	assert_int_equal(update_state(&r->u), UPDATE_ACKS);
	missing = update_missing(&r->u);
	assert_int_equal(hostset_count(&missing), 1);
	assert_true(hostset_has(&missing, 3));
	acks(r, 3);
	reads(r);
	assert_int_equal(update_state(&r->u), UPDATE_COMMITS);
}

RIG_TEST(acks__of_an_earlier_update__do_not_count)
{
	struct rig *r = *state;

	broadcasts(r);
	for (uint16_t h = 1; h <= 3; h++)
		r->ack[h - 1] = update_name(&r->u) - 1;
	reads(r);
	assert_int_equal(update_state(&r->u), UPDATE_ACKS);
}

RIG_TEST(acks__epoch_or_fence_differs__begins_anew)
{
	struct rig *r = *state;
	uint64_t first;

	broadcasts(r);
	first = update_name(&r->u);
	acks(r, 1);
	reads(r);
	r->look.epoch++;
	looks(r);
	assert_true(update_name(&r->u) == first + 1);
	assert_int_equal(update_epoch(&r->u), 6);
	assert_true(hostset_empty(&r->u.acked));
	r->look.fence++;
	for (uint16_t h = 1; h <= 3; h++)
		ends_send(r, h, STEP_DONE);
	looks(r);
	assert_true(update_name(&r->u) == cache_update_name(9, 3));
	assert_true(r->sent.name == update_name(&r->u));
}

RIG_TEST(acks__same_look__goes_on_waiting)
{
	struct rig *r = *state;
	uint64_t first;

	broadcasts(r);
	first = update_name(&r->u);
	looks(r);
	assert_true(update_name(&r->u) == first);
	assert_int_equal(r->out.n, 0);
}

RIG_TEST(out__removed_while_awaited__counts_after_the_wait)
{
	struct rig *r = *state;

	broadcasts(r);
	acks(r, 1);
	acks(r, 2);
	out(r, 3);
	looks(r);
	r->now += WAIT - CHECK - 1;
	reads(r);
	assert_int_equal(update_state(&r->u), UPDATE_ACKS);
	r->now += 1 - CHECK;
	reads(r);
	assert_int_equal(update_state(&r->u), UPDATE_COMMITS);
}

/* Host 3 is out, and has not acknowledged. */
static void commits_after_the_wait(struct rig *r)
{
	acks(r, 1);
	acks(r, 2);
	reads(r);
	assert_int_equal(update_state(&r->u), UPDATE_ACKS);
	r->now += WAIT;
	reads(r);
	assert_int_equal(update_state(&r->u), UPDATE_COMMITS);
}

RIG_TEST(out__found_so_at_the_broadcast__counts_after_the_wait)
{
	struct rig *r = *state;

	out(r, 3);
	begins(r);
	looks(r);
	assert_int_equal(r->out.n, 2);
	commits_after_the_wait(r);
}

RIG_TEST(out__of_an_earlier_generation__waits_again)
{
	struct rig *r = *state;

	out(r, 3);
	looks(r);
	r->now += WAIT;
	comes_back(r, 3); /* no look sees that */
	out(r, 3);
	begins(r);
	looks(r);
	commits_after_the_wait(r);
}

RIG_TEST(out__known_for_long__does_not_delay)
{
	struct rig *r = *state;

	out(r, 3);
	looks(r);
	r->now += WAIT;
	begins(r);
	looks(r);
	acks(r, 1);
	acks(r, 2);
	reads(r);
	assert_int_equal(update_state(&r->u), UPDATE_COMMITS);
}

RIG_TEST(commit__done__tells_all_and_rests)
{
	struct rig *r = *state;
	const uint64_t transaction = 4711;

	commits(r);
	answer(r, UPDATE_COMMITTED, &transaction);
	assert_int_equal(update_result(&r->u), UPDATE_DONE);
	assert_int_equal(r->out.n, 3);
	assert_int_equal(r->sent.kind, UPDATE_END);
	assert_int_equal(r->sent.transaction, 4711);
	ends_send(r, 1, STEP_DONE);
	ends_send(r, 2, STEP_DONE);
	assert_int_equal(update_state(&r->u), UPDATE_TELLS);
	ends_send(r, 3, STEP_DONE);
	assert_int_equal(update_state(&r->u), UPDATE_IDLE);
	assert_int_equal(update_result(&r->u), UPDATE_DONE);
}

RIG_TEST(tells__a_home_is_not_reached__is_missing_until_it_is_out)
{
	struct rig *r = *state;
	const uint64_t transaction = 4711;
	struct hostset missing;

	commits(r);
	missing = update_missing(&r->u);
	assert_true(hostset_empty(&missing));
	answer(r, UPDATE_COMMITTED, &transaction);
	ends_send(r, 1, STEP_DONE);
	missing = update_missing(&r->u);
	assert_int_equal(missing.word[0], 6);
	ends_send(r, 3, STEP_DONE);
	ends_send(r, 2, STEP_LOST);
	missing = update_missing(&r->u);
	assert_int_equal(missing.word[0], 2);
	out(r, 2);
	looks(r);
	missing = update_missing(&r->u);
	assert_true(hostset_empty(&missing));
	assert_int_equal(update_state(&r->u), UPDATE_IDLE);
}

RIG_TEST(acks__a_home_is_out__is_not_missing)
{
	struct rig *r = *state;
	struct hostset missing;

	broadcasts(r);
	out(r, 2);
	looks(r);
	missing = update_missing(&r->u);
	assert_int_equal(missing.word[0], 5);
}

RIG_TEST(mark__the_one_before_committed__says_so)
{
	struct rig *r = *state;
	const uint64_t transaction = 4711;

	commits(r);
	assert_int_equal(r->sent.transaction, 0);
	answer(r, UPDATE_COMMITTED, &transaction);
	assert_int_equal(r->sent.tags, 2);
	for (uint16_t h = 1; h <= 3; h++)
		ends_send(r, h, STEP_DONE);
	commits(r);
	assert_int_equal(r->sent.kind, UPDATE_MARK);
	assert_int_equal(r->sent.transaction, 4711);
	answer(r, UPDATE_FAILED, NULL);
	assert_int_equal(r->sent.transaction, 0);
	for (uint16_t h = 1; h <= 3; h++)
		ends_send(r, h, STEP_DONE);
	broadcasts(r);
	assert_int_equal(r->sent.transaction, 4711);
}

RIG_TEST(commit__statements_refused__tells_that_it_had_no_effect)
{
	struct rig *r = *state;

	commits(r);
	answer(r, UPDATE_FAILED, NULL);
	assert_int_equal(update_result(&r->u), UPDATE_REFUSED);
	assert_int_equal(r->sent.kind, UPDATE_END);
	assert_int_equal(r->sent.transaction, 0);
}

RIG_TEST(commit__row_changed__begins_anew_with_another_name)
{
	struct rig *r = *state;

	commits(r);
	answer(r, UPDATE_CHANGED, NULL);
	assert_int_equal(update_state(&r->u), UPDATE_LOOKS);
	looks(r);
	assert_int_equal(update_state(&r->u), UPDATE_ACKS);
	assert_true(update_name(&r->u) == cache_update_name(8, 2));
	reads(r); /* the ack words name the first attempt */
	assert_int_equal(update_state(&r->u), UPDATE_ACKS);
}

RIG_TEST(commit__no_answer__nobody_is_told_before_it_is_resolved)
{
	struct rig *r = *state;
	const uint64_t transaction = 9;

	commits(r);
	answer(r, UPDATE_UNKNOWN, NULL);
	assert_int_equal(update_state(&r->u), UPDATE_DOUBT);
	assert_int_equal(r->out.n, 0);
	r->now += WAIT;
	looks(r);
	assert_int_equal(r->out.n, 0);
	answer(r, UPDATE_COMMITTED, &transaction);
	assert_int_equal(r->out.n, 3);
	assert_int_equal(update_result(&r->u), UPDATE_DONE);
}

RIG_TEST(commit__no_answer_and_not_there__begins_anew)
{
	struct rig *r = *state;

	commits(r);
	answer(r, UPDATE_UNKNOWN, NULL);
	answer(r, UPDATE_CHANGED, NULL);
	r->look.fence++;
	looks(r);
	assert_int_equal(update_state(&r->u), UPDATE_ACKS);
	assert_true(update_name(&r->u) == cache_update_name(9, 2));
}

RIG_TEST(answer__in_another_state__is_ignored)
{
	struct rig *r = *state;
	const uint64_t transaction = 9;

	broadcasts(r);
	answer(r, UPDATE_COMMITTED, &transaction);
	answer(r, UPDATE_CHANGED, NULL);
	answer(r, UPDATE_FAILED, NULL);
	answer(r, UPDATE_UNKNOWN, NULL);
	assert_int_equal(update_state(&r->u), UPDATE_ACKS);
}

RIG_TEST(end__a_home_is_out__is_not_told)
{
	struct rig *r = *state;
	const uint64_t transaction = 9;

	commits(r);
	tell(r, rig_link(3, 8));
	answer(r, UPDATE_COMMITTED, &transaction);
	ends_send(r, 1, STEP_DONE);
	ends_send(r, 2, STEP_DONE);
	ends_send(r, 3, STEP_LOST);
	assert_int_equal(update_state(&r->u), UPDATE_TELLS);
	out(r, 3);
	looks(r);
	assert_int_equal(update_state(&r->u), UPDATE_IDLE);
}

/* Until then its bytes are not to be overwritten by the next update. */
RIG_TEST(end__a_message_to_who_is_out_is_outstanding__waits_for_its_result)
{
	struct rig *r = *state;
	const uint64_t transaction = 9;

	commits(r);
	answer(r, UPDATE_COMMITTED, &transaction);
	ends_send(r, 1, STEP_DONE);
	ends_send(r, 2, STEP_DONE);
	out(r, 3);
	looks(r);
	assert_int_equal(update_state(&r->u), UPDATE_TELLS);
	ends_send(r, 3, STEP_LOST);
	assert_int_equal(update_state(&r->u), UPDATE_IDLE);
}

RIG_TEST(send__lost__again_on_a_newer_link)
{
	struct rig *r = *state;

	begins(r);
	looks(r);
	ends_send(r, 2, STEP_UNKNOWN);
	assert_int_equal(r->send[2].len, 0);
	tell(r, rig_link(2, 8));
	assert_int_not_equal(r->send[2].len, 0);
}

RIG_TEST(send__refused__again_after_a_check)
{
	struct rig *r = *state;

	begins(r);
	looks(r);
	ends_send(r, 2, STEP_REFUSED);
	assert_int_equal(r->send[2].len, 0);
	assert_true(update_due(&r->u).ns == r->now + CHECK);
	r->now += CHECK;
	tell(r, (struct step_event){ .type = STEP_TICK });
	assert_int_not_equal(r->send[2].len, 0);
}

/* What is on its way to a home must not change under it. */
RIG_TEST(send__outstanding__the_next_message_waits)
{
	struct rig *r = *state;
	const uint64_t transaction = 9;

	begins(r);
	looks(r);
	ends_send(r, 1, STEP_DONE);
	ends_send(r, 2, STEP_DONE);
	for (uint16_t h = 1; h <= 3; h++)
		acks(r, h);
	reads(r);
	answer(r, UPDATE_COMMITTED, &transaction);
	assert_int_equal(r->u.message.kind, UPDATE_MARK);
	ends_send(r, 3, STEP_DONE);
	assert_int_equal(r->u.message.kind, UPDATE_END);
	assert_int_equal(r->out.n, 3);
}

RIG_TEST(step__no_room__is_due_at_once)
{
	struct rig *r = *state;
	struct step_event ev = { .type = STEP_ASK, .what = UPDATE_LOOKED, .wish = &r->look };

	begins(r);
	r->out.n = 0;
	r->out.taken = STEP_OPS_MAX - 1;
	update_step(&r->u, &ev, (struct mono){ r->now }, &r->out);
	assert_int_equal(r->out.n, 1);
	assert_true(update_due(&r->u).ns <= r->now);
	r->out.taken = 0;
	tell(r, (struct step_event){ .type = STEP_TICK });
	assert_int_equal(r->out.n, 2);
}
