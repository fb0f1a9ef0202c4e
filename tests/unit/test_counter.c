// SPDX-License-Identifier: GPL-2.0-or-later
/* counter: the dual update counters and the history T. */
#include "src/reconf/counter.h"
#include "tests/unit/shared_rig.h"
#include "tests/unit/unit.h"

enum { SELF = 3, SERVICE = 9, CHECKS = 4 };

struct rig {
	struct words w;
	struct counter c;
	struct step_out out;
};

static void tell(struct rig *r, struct step_event ev)
{
	counter_step(&r->c, &ev, (struct mono){ 0 }, &r->out);
}

static uint64_t *word(struct rig *r)
{
	return rig_word(&r->w, SELF, region_counter_offset(SERVICE));
}

static struct step_op only(struct rig *r)
{
	assert_int_equal(r->out.n, 1);
	r->out.n = 0;
	return r->out.op[0];
}

static enum counter_state look(struct rig *r)
{
	struct step_op op;

	tell(r, rig_ask(COUNTER_LOOK));
	op = only(r);
	tell(r, rig_result(&op, STEP_DONE, rig_execute(&r->w, &op), 1));
	return counter_state(&r->c);
}

static void highs(struct rig *r, int n)
{
	while (n-- > 0)
		counter_check(&r->c, true);
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct counter_conf c = { .self = SELF, .service = SERVICE, .tag = 50, .checks = CHECKS };

	assert_non_null(r);
	*word(r) = 17;
	counter_init(&r->c, &c);
	assert_int_equal(look(r), COUNTER_AHEAD); /* the first look copies */
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

RIG_TEST(history__high_for_t_in_a_row__is_high)
{
	struct rig *r = *state;

	highs(r, CHECKS - 1);
	assert_false(counter_high_for_t(&r->c));
	counter_check(&r->c, false);
	highs(r, CHECKS - 1);
	assert_false(counter_high_for_t(&r->c));
	highs(r, 1);
	assert_true(counter_high_for_t(&r->c));
	highs(r, 100);
	assert_true(counter_high_for_t(&r->c));
}

RIG_TEST(look__no_other_moved__is_equal_and_the_history_stays)
{
	struct rig *r = *state;

	highs(r, CHECKS);
	assert_int_equal(look(r), COUNTER_EQUAL);
	assert_true(counter_high_for_t(&r->c));
}

RIG_TEST(look__another_moved__is_noted_once_and_the_history_starts_again)
{
	struct rig *r = *state;

	highs(r, CHECKS);
	*word(r) += 1;
	assert_int_equal(look(r), COUNTER_AHEAD);
	assert_false(counter_high_for_t(&r->c));
	assert_int_equal(look(r), COUNTER_EQUAL);
}

RIG_TEST(look__announced_twice__is_noted_as_once)
{
	struct rig *r = *state;

	*word(r) += 2;
	assert_int_equal(look(r), COUNTER_AHEAD);
	assert_int_equal(look(r), COUNTER_EQUAL);
}

RIG_TEST(look__counter_wraps_or_began_anew__is_ahead)
{
	struct rig *r = *state;

	*word(r) = UINT64_MAX;
	assert_int_equal(look(r), COUNTER_AHEAD);
	*word(r) += 1;
	assert_int_equal(look(r), COUNTER_AHEAD);
	assert_int_equal(look(r), COUNTER_EQUAL);
	*word(r) = 3;
	look(r);
	*word(r) = 0; /* this host restarted */
	assert_int_equal(look(r), COUNTER_AHEAD);
}

RIG_TEST(look__link_lost__reads_on_a_newer_one)
{
	struct rig *r = *state;
	struct step_op op;

	tell(r, rig_ask(COUNTER_LOOK));
	op = only(r);
	tell(r, rig_result(&op, STEP_LOST, 0, 4));
	tell(r, rig_link(SELF + 1, 9)); /* another host's */
	tell(r, rig_link(SELF, 4));
	assert_int_equal(r->out.n, 0);
	assert_int_equal(counter_state(&r->c), COUNTER_LOOKING);
	tell(r, rig_link(SELF, 5));
	op = only(r);
	tell(r, rig_result(&op, STEP_DONE, rig_execute(&r->w, &op), 5));
	assert_int_equal(counter_state(&r->c), COUNTER_EQUAL);
}

RIG_TEST(look__asked_again__what_the_older_look_read_does_not_count)
{
	struct rig *r = *state;
	struct step_op old, op;

	tell(r, rig_ask(COUNTER_LOOK));
	old = only(r);
	tell(r, rig_ask(COUNTER_LOOK));
	op = only(r);
	tell(r, rig_result(&old, STEP_DONE, 17, 1)); /* of before the announcement */
	assert_int_equal(counter_state(&r->c), COUNTER_LOOKING);
	*word(r) += 1;
	tell(r, rig_result(&op, STEP_DONE, rig_execute(&r->w, &op), 1));
	assert_int_equal(counter_state(&r->c), COUNTER_AHEAD);
}

RIG_TEST(look__refused__is_no_answer)
{
	struct rig *r = *state;
	struct step_op op;

	tell(r, rig_ask(COUNTER_LOOK));
	op = only(r);
	tell(r, rig_result(&op, STEP_REFUSED, 0, 1));
	assert_int_equal(counter_state(&r->c), COUNTER_UNREAD);
	assert_int_equal(look(r), COUNTER_EQUAL);
}

RIG_TEST(moved__own_move__the_history_starts_again)
{
	struct rig *r = *state;

	highs(r, CHECKS);
	counter_moved(&r->c);
	assert_false(counter_high_for_t(&r->c));
	assert_int_equal(look(r), COUNTER_EQUAL);
}
