// SPDX-License-Identifier: GPL-2.0-or-later
/* fresh: evidence that a home is a member, how it is dated, and the wait after a removal. */
#include <string.h>

#include "src/cache/fresh.h"
#include "tests/unit/prop.h"
#include "tests/unit/shared_rig.h"

enum { HOME = 5, OFFSET = 64, FRESH = 100 * MS, CHECK = 10 * MS, ASK = 1000 * MS };

struct rig {
	struct fresh f;
	struct step_out out;
	struct step_op read, send; /* the newest of each */
};

static struct mono at(int64_t ns)
{
	return (struct mono){ ns };
}

static void tell(struct rig *r, struct step_event ev, int64_t now)
{
	r->out.n = 0;
	fresh_step(&r->f, &ev, at(now), &r->out);
	for (uint32_t i = 0; i < r->out.n; i++)
		*(r->out.op[i].kind == STEP_READ ? &r->read : &r->send) = r->out.op[i];
}

static void tick(struct rig *r, int64_t now)
{
	tell(r, (struct step_event){ .type = STEP_TICK }, now);
}

static void beat_is(struct rig *r, uint64_t stamp, int64_t now)
{
	tell(r, rig_result(&r->read, STEP_DONE, stamp, r->f.link), now);
}

static void answer_is(struct rig *r, struct fresh_answer a, int64_t now)
{
	tell(r,
	     (struct step_event){
		     .type = STEP_MESSAGE, .host = HOME, .message = &a, .len = sizeof(a) },
	     now);
}

static void answered(struct rig *r, int64_t clock, int64_t now)
{
	answer_is(r, (struct fresh_answer){ FRESH_ANSWER, r->f.question.serial, clock }, now);
}

/* On link 3 since 1,000 ms, with a READ and a question outstanding. */
static int setup_drift(void **state, uint32_t drift_ppm)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct fresh_conf c = { .home = HOME,
				.tag = 40,
				.offset = OFFSET,
				.fresh_ns = FRESH,
				.check_ns = CHECK,
				.ask_ns = ASK,
				.drift_ppm = drift_ppm };

	assert_non_null(r);
	fresh_init(&r->f, &c);
	tell(r, rig_link(HOME, 3), 1000 * MS);
	*state = r;
	return 0;
}

static int setup(void **state)
{
	return setup_drift(state, 0);
}

static int setup_drifts(void **state)
{
	return setup_drift(state, 100000);
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

RIG_TEST(link__new__reads_the_beat_and_asks_on_it)
{
	struct rig *r = *state;

	assert_int_equal(r->out.n, 2);
	assert_int_equal(r->read.part, STEP_VERSIONS);
	assert_int_equal(r->read.offset, OFFSET);
	assert_int_equal(r->read.link, 3);
	assert_int_equal(r->send.kind, STEP_SEND);
	assert_int_equal(r->send.link, 3);
	assert_int_not_equal(r->read.tag, r->send.tag);
}

RIG_TEST(covers__beat_without_an_answer__nothing)
{
	struct rig *r = *state;

	beat_is(r, 77, 1001 * MS);
	assert_false(fresh_covers(&r->f, 3, at(1001 * MS)));
}

RIG_TEST(covers__answer_without_a_beat__nothing)
{
	struct rig *r = *state;

	answered(r, 5000LL * MS, 1001 * MS);
	beat_is(r, 0, 1002 * MS);
	assert_false(fresh_covers(&r->f, 3, at(1002 * MS)));
}

/* The home's clock is ahead, or the answer was late: the difference counts from the question. */
RIG_TEST(covers__until_fresh_after_the_stamp_by_the_clock_before_the_question)
{
	struct rig *r = *state;
	const int64_t until = 1000 * MS + FRESH - 1;

	answered(r, 5000LL * MS, 1090 * MS);
	beat_is(r, 5000LL * MS, 1091 * MS);
	assert_true(fresh_covers(&r->f, 3, at(until - 1)));
	assert_false(fresh_covers(&r->f, 3, at(until)));
	tick(r, 1095 * MS);
	beat_is(r, 5020LL * MS, 1096 * MS);
	assert_true(fresh_covers(&r->f, 3, at(until - 1 + 20 * MS)));
	assert_false(fresh_covers(&r->f, 3, at(until + 20 * MS)));
}

RIG_TEST(covers__no_beat_of_a_home_that_has_just_booted__nothing)
{
	struct rig *r = *state;

	answered(r, FRESH / 2, 1001 * MS);
	assert_false(fresh_covers(&r->f, 3, at(1001 * MS)));
}

RIG_TEST(covers__second_answer_that_is_late__no_less)
{
	struct rig *r = *state;

	answered(r, 5000LL * MS, 1001 * MS);
	beat_is(r, 5990LL * MS, 1995 * MS);
	tell(r, rig_result(&r->send, STEP_DONE, 0, 3), 1996 * MS);
	tick(r, 2001 * MS);
	answered(r, 6090LL * MS, 2089 * MS);
	assert_true(fresh_covers(&r->f, 3, at(2089 * MS)));
}

RIG_TEST(covers__first_beat_of_a_home_that_hung__nothing)
{
	struct rig *r = *state;

	answered(r, 3600000LL * MS, 1001 * MS);
	beat_is(r, 1000LL * MS, 1002 * MS);
	assert_false(fresh_covers(&r->f, 3, at(1002 * MS)));
}

RIG_TEST(answer__to_an_earlier_question__is_ignored)
{
	struct rig *r = *state;
	uint32_t first = r->f.question.serial;

	tell(r, rig_result(&r->send, STEP_DONE, 0, 3), 1001 * MS);
	tick(r, 1000 * MS + FRESH);
	assert_int_not_equal(r->f.question.serial, first);
	answer_is(r, (struct fresh_answer){ FRESH_ANSWER, first, 5000LL * MS }, 1101 * MS);
	beat_is(r, 5100LL * MS, 1102 * MS);
	assert_false(fresh_covers(&r->f, 3, at(1102 * MS)));
}

RIG_TEST(answer__bad__is_ignored)
{
	struct rig *r = *state;
	uint32_t serial = r->f.question.serial;
	struct fresh_answer a = { FRESH_ANSWER, serial, 5000LL * MS };

	beat_is(r, 5000LL * MS, 1001 * MS);
	answer_is(r, (struct fresh_answer){ FRESH_QUESTION, serial, a.clock_ns }, 1002 * MS);
	answer_is(r, (struct fresh_answer){ FRESH_ANSWER, serial, 0 }, 1002 * MS);
	answer_is(r, (struct fresh_answer){ FRESH_ANSWER, serial, INT64_MIN }, 1002 * MS);
	answer_is(r, (struct fresh_answer){ FRESH_ANSWER, serial, INT64_MAX }, 1002 * MS);
	for (uint32_t len = 1; len <= sizeof(a); len++)
		tell(r,
		     (struct step_event){ .type = STEP_MESSAGE,
					  .host = len == sizeof(a) ? HOME + 1 : HOME,
					  .message = &a,
					  .len = len },
		     1002 * MS);
	assert_false(fresh_covers(&r->f, 3, at(1003 * MS)));
	answer_is(r, a, 1004 * MS);
	assert_true(fresh_covers(&r->f, 3, at(1004 * MS)));
}

RIG_TEST(beat__of_no_clock__is_ignored)
{
	struct rig *r = *state;

	answered(r, 5000LL * MS, 1001 * MS);
	beat_is(r, UINT64_MAX, 1002 * MS);
	tick(r, 1010 * MS);
	beat_is(r, (uint64_t)INT64_MAX, 1012 * MS);
	assert_false(fresh_covers(&r->f, 3, at(1012 * MS)));
}

RIG_TEST(link__newer__forgets_what_was_known)
{
	struct rig *r = *state;
	struct step_op old;

	answered(r, 5000LL * MS, 1001 * MS);
	beat_is(r, 5000LL * MS, 1002 * MS);
	tick(r, 1012 * MS);
	old = r->read;
	assert_true(fresh_covers(&r->f, 3, at(1012 * MS)));
	tell(r, rig_link(HOME, 4), 1013 * MS);
	assert_false(fresh_covers(&r->f, 3, at(1013 * MS)));
	assert_false(fresh_covers(&r->f, 4, at(1013 * MS)));
	/* a beat of the older link says nothing of this one */
	tell(r, rig_result(&old, STEP_DONE, 5000LL * MS, 3), 1014 * MS);
	tell(r, rig_result(&r->send, STEP_DONE, 0, 3), 1014 * MS);
	tick(r, 1030 * MS);
	answered(r, 5000LL * MS, 1031 * MS);
	assert_false(fresh_covers(&r->f, 4, at(1031 * MS)));
	beat_is(r, 5000LL * MS, 1032 * MS);
	assert_true(fresh_covers(&r->f, 4, at(1032 * MS)));
	assert_false(fresh_covers(&r->f, 3, at(1032 * MS)));
	/* nor does an answer of the older one */
	tell(r, rig_result(&r->send, STEP_DONE, 0, 4), 1033 * MS);
	tick(r, 1043 * MS);
	tell(r, rig_result(&r->read, STEP_DONE, 0, 4), 1044 * MS);
	tell(r, rig_link(HOME, 5), 1045 * MS);
	beat_is(r, 5000LL * MS, 1046 * MS);
	assert_false(fresh_covers(&r->f, 5, at(1046 * MS)));
	answered(r, 5000LL * MS, 1047 * MS);
	assert_true(fresh_covers(&r->f, 5, at(1047 * MS)));
}

RIG_TEST(result__lost__waits_for_a_newer_link)
{
	struct rig *r = *state;

	tell(r, rig_result(&r->read, STEP_LOST, 0, 3), 1001 * MS);
	tick(r, 2000 * MS);
	assert_int_equal(r->out.n, 0);
	assert_true(fresh_due(&r->f).ns == INT64_MAX);
	tell(r, rig_link(HOME, 4), 2001 * MS);
	assert_int_equal(r->out.n, 1); /* the question has not come back yet */
}

RIG_TEST(result__refused__again_after_a_check)
{
	struct rig *r = *state;

	tell(r, rig_result(&r->read, STEP_REFUSED, 0, 3), 1001 * MS);
	assert_int_equal(r->out.n, 0);
	assert_true(fresh_due(&r->f).ns == 1000 * MS + CHECK);
	tick(r, 1000 * MS + CHECK);
	assert_int_equal(r->out.n, 1);
}

RIG_TEST(step__no_room__is_due_at_once)
{
	struct rig *r = *state;
	struct step_event ev = { .type = STEP_TICK };

	beat_is(r, 77, 1001 * MS);
	r->out.n = 0;
	r->out.taken = STEP_OPS_MAX;
	fresh_step(&r->f, &ev, at(1020 * MS), &r->out);
	assert_int_equal(r->out.n, 0);
	assert_true(fresh_due(&r->f).ns <= 1020 * MS);
}

TEST_WITH(covers__clocks_that_drift__less_by_what_they_may_differ, setup_drifts, teardown)
{
	struct rig *r = *state;
	/* 90 ms after the answer, 10 % each way: 2 x 0.1 / 0.9 of that is 20 ms */
	const int64_t until = 1000 * MS + 90 * MS - 20 * MS + FRESH - 1;

	answered(r, 5000LL * MS, 1001 * MS);
	beat_is(r, 5090LL * MS, 1091 * MS);
	assert_true(fresh_covers(&r->f, 3, at(until - 1)));
	assert_false(fresh_covers(&r->f, 3, at(until)));
}

TEST_WITH(covers__clocks_that_drift__also_for_a_stamp_before_the_answer, setup_drifts, teardown)
{
	struct rig *r = *state;
	const int64_t until = 1000 * MS - 45 * MS - 10 * MS + FRESH - 1;

	beat_is(r, 4955LL * MS, 1001 * MS);
	answered(r, 5000LL * MS, 1002 * MS);
	assert_true(fresh_covers(&r->f, 3, at(until - 1)));
	assert_false(fresh_covers(&r->f, 3, at(until)));
}

TEST(wait__drift_of_both_clocks__outlasts_fresh)
{
	assert_true(fresh_wait_ns(FRESH, 0) >= FRESH);
	assert_true(fresh_wait_ns(90 * MS, 100000) >= 110 * MS); /* x 1.1 / 0.9 */
	assert_true(fresh_wait_ns(90 * MS, 100000) <= 110 * MS + 1);
}

TEST(beat__look_that_found_no_member__stores_nothing)
{
	struct fresh_beat b = { 0 };

	fresh_look(&b, at(7));
	assert_true(fresh_found(&b, false) == 0);
	assert_true(fresh_found(&b, true) == 0); /* there was no other look */
}

TEST(beat__look_that_found_a_member__is_the_clock_before_it)
{
	struct fresh_beat b = { 0 };

	fresh_look(&b, at(7));
	fresh_look(&b, at(9));
	assert_true(fresh_found(&b, true) == 9);
}

TEST(reply__question__has_its_serial_and_the_clock)
{
	struct fresh_question q = { FRESH_QUESTION, 12 };
	struct fresh_answer a = { 0 };

	assert_true(fresh_reply(&q, sizeof(q), at(55), &a));
	assert_int_equal(a.kind, FRESH_ANSWER);
	assert_int_equal(a.serial, 12);
	assert_true(a.clock_ns == 55);
	assert_false(fresh_reply(&q, sizeof(q) - 1, at(55), &a));
	q.kind = FRESH_ANSWER;
	assert_false(fresh_reply(&q, sizeof(q), at(55), &a));
}

/* --- clocks that drift, and all that is late ------------------------------------ */

enum { DRIFT = 150000, RATES = 1000000 };

struct world {
	int64_t proxy, home, remover; /* their clocks */
	bool in;
	int64_t removed; /* remover's clock */
	struct fresh_beat look;
	bool looks, found;
	uint64_t found_beat, beat;
	bool read_executed; /* of the outstanding READ */
	uint64_t read_beat;
	bool has_answer;
	struct fresh_answer answer;
};

static void pass(struct world *w, struct prop *p)
{
	int64_t units = (int64_t)prop_range(p, 0, 4), rate[3];

	for (int i = 0; i < 3; i++)
		rate[i] = prop_one_in(p, 2) ? RATES - DRIFT : RATES + DRIFT;
	w->proxy += units * rate[0];
	w->home += units * rate[1];
	w->remover += units * rate[2];
}

static void home_steps(struct world *w, struct rig *r, struct prop *p)
{
	if (!w->looks && !w->found) {
		fresh_look(&w->look, at(w->home));
		w->looks = true;
	} else if (w->looks) {
		w->found_beat = fresh_found(&w->look, w->in);
		w->looks = false;
		w->found = w->found_beat != 0;
	} else {
		w->beat = w->found_beat;
		w->found = false;
	}
	if (r->f.sends && !w->has_answer && prop_one_in(p, 3))
		w->has_answer = fresh_reply(&r->f.question, sizeof(r->f.question), at(w->home),
					    &w->answer);
}

static void proxy_steps(struct world *w, struct rig *r, struct prop *p)
{
	if (r->f.reads && !w->read_executed) {
		w->read_executed = true;
		w->read_beat = w->beat;
	} else if (r->f.reads && prop_one_in(p, 2)) {
		w->read_executed = false;
		beat_is(r, w->read_beat, w->proxy);
	} else if (w->has_answer) {
		w->has_answer = false;
		answer_is(r, w->answer, w->proxy);
		tell(r, rig_result(&r->send, STEP_DONE, 0, 3), w->proxy);
	} else {
		tick(r, w->proxy);
	}
}

TEST_WITH(covers__any_schedule__nothing_when_the_wait_is_over, setup, teardown)
{
	struct prop p;
	uint64_t used = 0, used_after_removal = 0;

	prop_start(&p);
	for (int run = 0; run < 3000; run++) {
		struct rig *r = *state;
		struct world w = { .home = (int64_t)prop_range(&p, 1, 1000000ull * MS),
				   .proxy = (int64_t)prop_range(&p, 1, 1000000ull * MS),
				   .in = true };
		struct fresh_conf c = r->f.conf;
		uint64_t hangs = prop_range(&p, 1, 12), pauses = prop_range(&p, 1, 12);

		c.drift_ppm = DRIFT;
		c.check_ns = 1;
		c.ask_ns = 20 * MS;
		fresh_init(&r->f, &c);
		tell(r, rig_link(HOME, 3), w.proxy);
		for (int i = 0; i < 200; i++) {
			pass(&w, &p);
			if (prop_one_in(&p, hangs))
				home_steps(&w, r, &p);
			if (prop_one_in(&p, pauses))
				proxy_steps(&w, r, &p);
			if (w.in && prop_one_in(&p, 100)) {
				w.in = false;
				w.removed = w.remover;
			}
			if (!fresh_covers(&r->f, 3, at(w.proxy)))
				continue;
			used++;
			used_after_removal += !w.in;
			assert_true(w.in || w.remover - w.removed < fresh_wait_ns(FRESH, DRIFT));
		}
	}
	print_message("used %llu, after the removal %llu\n", (unsigned long long)used,
		      (unsigned long long)used_after_removal);
	/* or the above means little */
	assert_true(used > 10000 && used_after_removal > 1000);
}
