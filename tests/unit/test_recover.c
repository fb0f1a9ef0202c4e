// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * recover: who joins, leaves, and is removed.
 *
 * Host 1 decides; hosts 1 to 3 have rows, in generation 5 and with fence 8. A member may be silent
 * for 100 ms. Host 1 has two slots. A call is never more than 50 ms after the one before, but where
 * the row says "hang".
 */
#include <string.h>

#include "src/cache/recover.h"
#include "tests/unit/prop.h"
#include "tests/unit/steps.h"

enum { SELF = 1, SLOTS = 2, MS = 1000000, DETECT = 100 * MS, HOSTS = 3 };

struct rig {
	struct recover r;
	struct recover_look look;
	uint32_t generation[UPDATE_HOSTS], fence[UPDATE_HOSTS];
	int64_t now;
	struct recover_act act;
	struct hostset asks;
};

static struct mono at(const struct rig *r)
{
	return (struct mono){ r->now };
}

static struct hostset hosts_of(const struct step *s, int first)
{
	struct hostset set = { 0 };

	for (int i = first; i < s->numbers; i++)
		hostset_set(&set, (uint32_t)s->n[i], true);
	return set;
}

/* look HOST...: these are members; rows of all */
static void looks(struct rig *r, const struct step *s)
{
	r->look.members = hosts_of(s, 0);
	r->look.began = at(r);
	recover_looked(&r->r, &r->look, at(r));
}

/* Time passes, and the owner calls now and then: here, for a slot that is none. */
static void passes(struct rig *r, int64_t ns)
{
	for (int64_t left = ns; left > 0; left -= 20 * MS) {
		r->now += left < 20 * MS ? left : 20 * MS;
		recover_missing(&r->r, SLOTS, &r->look.members, at(r));
	}
}

static void act(void *rig, const struct step *s)
{
	struct rig *r = rig;
	struct hostset set = hosts_of(s, 1);

	if (step_is(s, "ms")) {
		passes(r, (int64_t)s->n[0] * MS);
	} else if (step_is(s, "hang")) {
		r->now += (int64_t)s->n[0] * MS;
	} else if (step_is(s, "look")) {
		looks(r, s);
	} else if (step_is(s, "looked")) { /* MS HOST...: it began so long ago */
		r->look.members = set;
		r->look.began.ns = r->now - (int64_t)s->n[0] * MS;
		recover_looked(&r->r, &r->look, at(r));
	} else if (step_is(s, "generation")) {
		r->generation[s->n[0]] = (uint32_t)s->n[1];
	} else if (step_is(s, "fence")) {
		r->fence[s->n[0]] = (uint32_t)s->n[1];
	} else if (step_is(s, "timeline")) {
		r->look.timeline = s->n[0];
	} else if (step_is(s, "joined")) {
		recover_joined(&r->r, r->look.timeline, r->generation[SELF], r->fence[SELF], at(r));
	} else if (step_is(s, "failed")) {
		recover_not_joined(&r->r, at(r));
	} else if (step_is(s, "missing")) {
		recover_missing(&r->r, (uint16_t)s->n[0], &set, at(r));
	} else if (step_is(s, "pending")) {
		recover_pending(&r->r, (uint16_t)s->n[0], at(r), at(r));
	} else if (step_is(s, "ended")) {
		recover_pending(&r->r, (uint16_t)s->n[0], (struct mono){ INT64_MAX }, at(r));
	} else if (step_is(s, "heard")) {
		recover_heard(&r->r, (uint16_t)s->n[0], at(r));
	} else if (step_is(s, "up") || step_is(s, "down")) {
		recover_link(&r->r, (uint16_t)s->n[0], step_is(s, "up"), at(r));
	} else if (step_is(s, "ask")) {
		r->asks = recover_asks(&r->r, at(r));
	} else if (step_is(s, "next")) {
		recover_next(&r->r, at(r), &r->act);
	} else {
		step_unknown(s);
	}
}

static void check(void *rig, const struct step *s)
{
	static const char *const what[] = { "nothing", "leave", "join", "remove" };
	struct rig *r = rig;
	const struct step_figure figures[] = {
		{ "host", r->act.host },
		{ "of", r->act.generation },
		{ "since", (uint64_t)((r->now - r->act.since.ns) / MS) },
		{ "asks", r->asks.word[0] },
		{ "floor_generation", recover_floor_generation(&r->r) },
		{ "floor_fence", recover_floor_fence(&r->r) },
		{ "due", (uint64_t)((recover_due(&r->r).ns - r->now) / MS) },
	};

	if (step_expect_figure(s, figures, sizeof(figures) / sizeof(figures[0])))
		return;
	if (step_is(s, "do"))
		assert_string_equal(what[r->act.what], s->word);
	else if (step_is(s, "awaited"))
		step_holds(s, r->act.is_missing);
	else if (step_is(s, "pends"))
		step_holds(s, !r->act.is_missing);
	else if (step_is(s, "suspects"))
		step_holds(s, recover_suspects(&r->r, at(r)));
	else if (step_is(s, "trusts"))
		step_holds(s, !recover_suspects(&r->r, at(r)));
	else if (step_is(s, "rests"))
		step_holds(s, recover_due(&r->r).ns == INT64_MAX);
	else
		step_unknown(s);
}

struct row {
	const char *name, *script;
};

/* Host 1 is a member among three. */
#define MEMBER "look 1 2 3, up 2, up 3, next, joined, look 1 2 3, "

static const struct row rows[] = {
	/* joins: R6 a */
	{ "join__before_a_look__is_not_made", "up 2, up 3, next -> do nothing" },
	{ "join__links_to_all_members__at_once", "look 2 3, up 2, up 3, next -> do join" },
	{ "join__no_members__at_once", "look, next -> do join" },
	{ "join__its_own_row_is_that_of_an_earlier_life__at_once",
	  "look 1 2 3, up 2, up 3, next -> do join" },
	{ "join__a_member_is_not_reached__waits",
	  "look 2 3, up 2, ms 99, next -> do nothing; ms 1, next -> do join" },
	{ "join__a_link_came_and_went__waits",
	  "look 2 3, up 2, up 3, down 3, next -> do nothing; up 3, next -> do join" },
	{ "join__under_way__is_made_once", "look, next, next -> do nothing" },
	{ "join__failed__again_after_a_check",
	  "look, next, failed, next -> do nothing; ms 24, next -> do nothing; ms 1, next -> "
	  "do join" },
	{ "join__committed__is_made_once", MEMBER "next -> do nothing, rests" },
	/* leaves: R7 e */
	{ "leave__a_look_shows_that_it_is_out", MEMBER "ms 1, look 2 3, next -> do leave" },
	{ "leave__once", MEMBER "ms 1, look 2 3, next, next -> do nothing" },
	{ "leave__another_generation",
	  MEMBER "ms 1, generation 1 6, look 1 2 3, next -> do leave" },
	{ "leave__another_timeline", MEMBER "ms 1, timeline 9, look 1 2 3, next -> do leave" },
	{ "leave__the_timeline_of_the_join__stays",
	  "timeline 9, look 1 2 3, up 2, up 3, next, joined, ms 1, look 1 2 3, next -> do "
	  "nothing" },
	{ "leave__a_look_from_before_the_join__changes_nothing",
	  "look 2 3, up 2, up 3, next, ms 10, joined, looked 5 2 3, next -> do nothing; looked 0 2 "
	  "3, "
	  "next -> do leave" },
	{ "leave__a_look_from_before_the_newest__changes_nothing", MEMBER
	  "ms 50, look 1 2 3, looked 1 2 3, next -> do nothing; looked 0 2 3, next -> do leave" },
	{ "leave__then_it_joins_again__after_a_detect",
	  MEMBER "ms 1, look 2 3, next, next -> do nothing; ms 99, next -> do nothing; ms 1, "
		 "next -> do join" },
	{ "leave__member_for_long__joins_again_at_once",
	  MEMBER "ms 800, look 2 3, next, next -> do join" },
	{ "leave__again_and_again__waits_twice_as_long", MEMBER
	  "ms 1, look 2 3, next, ms 100, next, joined, ms 1, look 2 3, next, ms 199, next -> "
	  "do nothing; ms 1, next -> do join" },
	{ "leave__again_and_again__waits_for_eight_detects_at_most", MEMBER
	  "ms 1, look 2 3, next, ms 100, next, joined, ms 1, look 2 3, next, ms 200, next, "
	  "joined, ms 1, look 2 3, next, ms 400, next, joined, ms 1, look 2 3, next, ms 800, "
	  "next, joined, ms 1, look 2 3, next, ms 799, next -> do nothing; ms 1, next -> "
	  "do join" },
	{ "leave__then_nobody_is_removed",
	  MEMBER "missing 0 2, ms 100, look 2 3, next -> do leave; "
		 "next -> do nothing" },
	/* an update waits for it: R7 e */
	{ "awaited__for_detect__is_removed",
	  MEMBER "missing 0 2, ms 99, next -> do nothing; ms 1, next -> do remove, host 2, of 5, "
		 "awaited, since 100" },
	{ "awaited__again_and_again_by_other_updates__since_the_first",
	  MEMBER "missing 0 2 3, ms 60, missing 0 2, ms 40, next -> do remove, host 2" },
	{ "awaited__it_has_acknowledged_meanwhile__counts_anew",
	  MEMBER "missing 0 2, ms 60, missing 0, missing 0 2, ms 99, next -> do nothing; ms 1, "
		 "next -> do remove" },
	{ "awaited__by_two_slots__since_the_first",
	  MEMBER "missing 0 2, ms 60, missing 1 2, ms 40, next -> do remove, since 100" },
	{ "awaited__by_one_slot_it_answers_the_other__is_removed",
	  MEMBER "missing 0 2, missing 1 2, ms 60, missing 1, ms 40, next -> do remove, host 2" },
	{ "awaited__this_host_itself__is_not_removed",
	  MEMBER "missing 0 1, ms 200, next -> do nothing" },
	{ "awaited__is_out_already__is_not_removed",
	  MEMBER "missing 0 2, ms 60, look 1 3, ms 60, next -> do nothing" },
	{ "awaited__two__one_after_the_other",
	  MEMBER "missing 0 2 3, ms 100, next -> host 2; next -> do remove, host 3; next -> "
		 "do nothing" },
	{ "awaited__asked_for__again_after_a_look_that_shows_it",
	  MEMBER "missing 0 2, ms 100, next, next -> do nothing; look 1 2 3, next -> do remove, "
		 "host 2" },
	{ "awaited__it_came_back_as_another_generation__counts_anew",
	  MEMBER "missing 0 2, ms 60, generation 2 6, look 1 2 3, ms 99, next -> do nothing; ms 1, "
		 "next -> do remove, of 6" },
	{ "awaited__it_came_back_between_two_looks__counts_anew",
	  MEMBER "missing 0 2, ms 60, look 1 3, look 1 2 3, ms 99, next -> do nothing; ms 1, "
		 "next -> do remove" },
	{ "awaited__before_it_joined_itself__nobody_is_removed",
	  "look 2 3, up 2, up 3, next, missing 0 2, ms 100, next -> do nothing" },
	/* its own update is pending: R6 e */
	{ "pending__silent__is_asked_and_removed",
	  MEMBER "pending 2, ms 24, ask -> asks 0; ms 1, ask -> asks 2; ms 74, next -> do nothing; "
		 "ms 1, next -> do remove, host 2, of 5, pends, since 100" },
	{ "pending__it_was_heard_of_before__counts_from_the_mark", MEMBER
	  "ms 60, pending 2, ms 30, ask, ms 69, next -> do nothing; ms 1, next -> do remove, "
	  "since 100" },
	{ "pending__heard_of_and_not_asked_again__stays",
	  MEMBER "pending 2, ms 25, ask, heard 2, ms 200, next -> do nothing" },
	{ "pending__it_answers__stays",
	  MEMBER "pending 2, ms 25, ask, ms 10, heard 2, ms 90, ask, next -> do nothing; heard 2, "
		 "ms 99, ask, next -> do nothing" },
	{ "pending__it_was_heard_of_later__counts_from_then",
	  MEMBER "pending 2, ms 60, heard 2, ms 25, ask, ms 74, next -> do nothing; ms 1, next -> "
		 "do remove, since 100" },
	{ "pending__a_new_link__is_a_sign_of_life",
	  MEMBER "pending 2, ms 60, up 2, ms 25, ask, ms 74, next -> do nothing" },
	{ "pending__asked_too_late__waits_for_the_answer",
	  MEMBER "pending 2, ms 100, ask, next -> do nothing; ms 49, next -> do nothing; ms 1, "
		 "next -> do remove" },
	{ "pending__it_was_not_asked__stays", MEMBER "pending 2, ms 200, next -> do nothing" },
	{ "pending__silent__is_asked_once_a_check",
	  MEMBER "pending 2, pending 3, ms 30, ask -> asks 6; ask -> asks 0; ms 24, ask -> asks 0; "
		 "ms 1, ask -> asks 6" },
	{ "pending__it_ends__is_asked_no_more",
	  MEMBER "pending 2, ms 30, ask, ended 2, ms 30, ask -> asks 0; ms 90, next -> do nothing, "
		 "rests" },
	{ "pending__of_this_host__is_not_asked",
	  MEMBER "pending 1, ms 30, ask -> asks 0; ms 100, next -> do nothing" },
	{ "pending__of_no_member__is_not_asked",
	  MEMBER "pending 2, ms 1, look 1 3, ms 40, ask -> asks 0; ms 100, next -> do nothing" },
	/* this host has hung */
	{ "hang__then_there_is_time_to_answer",
	  MEMBER "ms 400, missing 0 2, hang 200, next -> do nothing; ms 49, next -> do nothing; "
		 "ms 1, next -> do remove" },
	{ "hang__of_half_a_detect__changes_nothing",
	  MEMBER "ms 400, missing 0 2, ms 50, hang 50, next -> do remove" },
	{ "hang__again_and_again__decides_all_the_same",
	  MEMBER "ms 400, missing 0 2, hang 60, next, hang 60, next -> do remove" },
	/* due */
	{ "due__an_update_waits__within_a_check", MEMBER "missing 1 2 -> due 25" },
	{ "due__an_update_waits__when_the_member_is_to_be_removed",
	  MEMBER "missing 1 2, ms 90 -> due 10; missing 0 3 -> due 10; ms 10 -> due 0" },
	{ "due__two_updates_wait__by_the_first",
	  MEMBER "missing 0 2, ms 90, missing 1 3 -> due 10" },
	{ "due__it_is_being_removed__within_a_check",
	  MEMBER "missing 1 2, ms 100, next -> do remove, due 25" },
	{ "due__it_is_out_already__within_a_check",
	  MEMBER "missing 1 2, ms 90, look 1 3 -> due 25" },
	{ "due__this_host_has_hung__not_before_there_was_time_to_answer",
	  MEMBER "ms 400, missing 0 2, hang 200, next -> due 25; ms 40, next -> do nothing, "
		 "due 10" },
	{ "due__this_host_waits_for_itself__within_a_check",
	  MEMBER "missing 1 1, ms 90 -> due 25" },
	/* a connection for the removal is made before */
	{ "suspects__half_of_detect",
	  MEMBER "missing 1 2, ms 49 -> trusts; ms 1 -> suspects; missing 1 -> trusts" },
	{ "suspects__it_is_being_removed__no_more",
	  MEMBER "missing 1 2, ms 100, next -> do remove, trusts" },
	{ "suspects__this_host_is_no_member__nobody", "look 2 3, missing 1 2, ms 50 -> trusts" },
	{ "due__one_is_pending__within_a_check", MEMBER "pending 2 -> due 25" },
	{ "due__not_a_member__within_a_check", "look 2 3 -> due 25" },
	{ "due__it_is_out__within_a_check", MEMBER "ms 1, look 2 3 -> due 25" },
	/* floors: R3 b, R6 c */
	{ "floors__the_own_row__are_the_highest_seen",
	  MEMBER "fence 1 9, generation 1 6, ms 1, look 1 2 3, fence 1 3, generation 1 4, ms 1, "
		 "look 1 2 3 -> floor_fence 9, floor_generation 6" },
	{ "floors__the_join__counts",
	  "look 2 3, up 2, up 3, next, fence 1 12, generation 1 7, joined -> floor_fence 12, "
	  "floor_generation 7" },
	/* what is none */
	{ "missing__no_such_slot__is_ignored",
	  MEMBER "missing 65535 3, ms 200, next -> do nothing" },
	{ "pending__no_such_host__is_ignored",
	  MEMBER "pending 0, pending 257, heard 0, heard 257, ms 200, ask -> asks 0" },
};

static void run(void **state)
{
	static const struct steps_ops ops = { act, NULL, check };
	const struct row *row = *state;
	const struct recover_conf c = { .self = SELF, .slots = SLOTS, .detect_ns = DETECT };
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->now = 10000ll * MS;
	r->look.generation = r->generation;
	r->look.fence = r->fence;
	r->look.rows = hostset_first(HOSTS);
	for (int h = 1; h <= HOSTS; h++) {
		r->generation[h] = 5;
		r->fence[h] = 8;
	}
	recover_init(&r->r, &c, at(r));
	steps_run(row->script, &ops, r);
	free(r);
}

TEST_ROWS(rows, run)
