// SPDX-License-Identifier: GPL-2.0-or-later
/* role: when a node is prepared for the service of its word, and when it is ready. */
#include "resex/region_abi.h"
#include "src/reconf/role.h"
#include "tests/unit/unit.h"

enum { WEB = 1, MAIL = 2 };

#define WORD(service, count) region_word(service, region_seq(1, count))
#define CHECK_NS	     (10 * NS_PER_S)

struct rig {
	struct role role;
	struct role_in in;
	struct mono now;
};

static struct rig begin(uint16_t service, uint64_t word)
{
	struct rig r = { .in = { .word = word, .kept = true, .check_ns = CHECK_NS },
			 .now = { NS_PER_S } };

	role_init(&r.role, service, service);
	return r;
}

static enum role_does step(struct rig *r)
{
	return role_step(&r->role, &r->in, r->now);
}

/* The word names another service, and all have acknowledged it. */
static void move_to(struct rig *r, uint64_t word)
{
	r->in.word = word;
	r->in.acknowledged = true;
	r->in.hook = HOOK_IDLE;
}

static enum role_does ends(struct rig *r, enum hook_state how)
{
	r->in.hook = how;
	return step(r);
}

TEST(ready_by_the_exact_word)
{
	struct rig r = begin(WEB, WORD(WEB, 1));

	assert_int_equal(role_ready(&r.role), 0);
	assert_int_equal(step(&r), ROLE_NOTHING);
	assert_true(role_ready(&r.role) == WORD(WEB, 1));
	r.in.word = WORD(WEB, 2);
	r.in.kept = false; /* rule 1 */
	assert_int_equal(step(&r), ROLE_NOTHING);
	assert_true(role_ready(&r.role) == WORD(WEB, 1));
	r.in.kept = true;
	assert_int_equal(step(&r), ROLE_NOTHING);
	assert_true(role_ready(&r.role) == WORD(WEB, 2));
	r.in.word = 0; /* it cannot be read now */
	assert_int_equal(step(&r), ROLE_NOTHING);
	assert_true(role_ready(&r.role) == WORD(WEB, 2));
}

TEST(waits_for_acknowledgements)
{
	struct rig r = begin(WEB, WORD(WEB, 1));

	step(&r);
	r.in.word = WORD(MAIL, 2);
	assert_int_equal(step(&r), ROLE_NOTHING); /* rule 2 */
	assert_int_equal(r.role.phase, ROLE_WAITS);
	assert_int_equal(role_ready(&r.role), 0);
	assert_int_equal(r.role.service, WEB);
	r.in.acknowledged = true; /* another word than the one that counts */
	r.in.word = WORD(MAIL, 9);
	r.in.kept = false;
	assert_int_equal(step(&r), ROLE_NOTHING);
	r.in.acknowledged = false;
	r.in.kept = true;
	r.in.word = WORD(WEB, 3); /* it comes back: nothing was done */
	assert_int_equal(step(&r), ROLE_NOTHING);
	assert_true(role_ready(&r.role) == WORD(WEB, 3));
}

TEST(switches_checks_and_saves)
{
	struct rig r = begin(WEB, WORD(WEB, 1));

	step(&r);
	move_to(&r, WORD(MAIL, 2));
	assert_int_equal(step(&r), ROLE_SWITCH);
	assert_int_equal(r.role.service, 0); /* rule 3 */
	assert_int_equal(r.role.from, WEB);
	assert_int_equal(r.role.target, MAIL);
	assert_int_equal(r.role.phase, ROLE_SWITCHES);
	assert_int_equal(ends(&r, HOOK_RUNS), ROLE_NOTHING);
	assert_int_equal(ends(&r, HOOK_DONE), ROLE_CHECK);
	assert_int_equal(r.role.phase, ROLE_CHECKS);
	assert_int_equal(role_ready(&r.role), 0);
	assert_int_equal(ends(&r, HOOK_DONE), ROLE_SAVE);
	assert_int_equal(r.role.service, MAIL);
	assert_true(role_ready(&r.role) == WORD(MAIL, 2));
	assert_int_equal(step(&r), ROLE_NOTHING);
	assert_true(role_due(&r.role).ns == INT64_MAX);
}

TEST(tries_a_failed_hook_again)
{
	struct rig r = begin(WEB, WORD(WEB, 1));

	move_to(&r, WORD(MAIL, 2));
	assert_int_equal(step(&r), ROLE_SWITCH);
	assert_int_equal(ends(&r, HOOK_FAILED), ROLE_NOTHING);
	assert_int_equal(r.role.phase, ROLE_WAITS);
	assert_int_equal(step(&r), ROLE_NOTHING);
	assert_true(role_due(&r.role).ns == r.now.ns + ROLE_AGAIN_NS);
	r.now = role_due(&r.role);
	assert_int_equal(step(&r), ROLE_SWITCH);
	/* It goes back: nobody knows what it serves, so the hook is needed for that, too. */
	ends(&r, HOOK_FAILED);
	r.now = role_due(&r.role);
	move_to(&r, WORD(WEB, 3));
	assert_int_equal(step(&r), ROLE_SWITCH);
	assert_int_equal(r.role.target, WEB);
}

TEST(checks_again_and_then_switches_again)
{
	struct rig r = begin(WEB, WORD(WEB, 1));
	uint32_t checks = 1;

	move_to(&r, WORD(MAIL, 2));
	step(&r);
	assert_int_equal(ends(&r, HOOK_DONE), ROLE_CHECK);
	for (;;) {
		enum role_does does;

		assert_int_equal(ends(&r, HOOK_FAILED), ROLE_NOTHING);
		assert_int_equal(step(&r), ROLE_NOTHING);
		r.now = role_due(&r.role);
		does = step(&r);
		if (does == ROLE_SWITCH)
			break;
		assert_int_equal(does, ROLE_CHECK);
		checks++;
	}
	assert_int_equal(checks, CHECK_NS / ROLE_AGAIN_NS);
}

TEST(word_that_changes_while_a_hook_runs)
{
	struct rig r = begin(WEB, WORD(WEB, 1));

	move_to(&r, WORD(MAIL, 2));
	step(&r);
	r.in.word = WORD(WEB, 3);
	r.in.acknowledged = false;
	assert_int_equal(ends(&r, HOOK_DONE), ROLE_CHECK);
	assert_int_equal(ends(&r, HOOK_DONE), ROLE_SAVE);
	assert_int_equal(r.role.service, MAIL);
	assert_int_equal(role_ready(&r.role), 0);
	assert_int_equal(r.role.phase, ROLE_WAITS);
	assert_int_equal(step(&r), ROLE_NOTHING);
	r.in.acknowledged = true;
	assert_int_equal(step(&r), ROLE_SWITCH);
	assert_int_equal(r.role.target, WEB);
	/* A check for a service that is no longer the word's is not made again. */
	assert_int_equal(ends(&r, HOOK_DONE), ROLE_CHECK);
	r.in.word = WORD(MAIL, 4);
	assert_int_equal(ends(&r, HOOK_FAILED), ROLE_NOTHING);
	r.now = role_due(&r.role);
	assert_int_equal(step(&r), ROLE_SWITCH);
	assert_int_equal(r.role.target, MAIL);
}

TEST(what_cannot_be_begun)
{
	struct rig r = begin(WEB, WORD(WEB, 1));

	move_to(&r, WORD(MAIL, 2));
	assert_int_equal(step(&r), ROLE_SWITCH);
	role_failed(&r.role, r.now); /* the file could not be written */
	assert_int_equal(r.role.service, 0);
	assert_int_equal(step(&r), ROLE_NOTHING);
	r.now = role_due(&r.role);
	assert_int_equal(step(&r), ROLE_SWITCH);
	ends(&r, HOOK_DONE);
	assert_int_equal(ends(&r, HOOK_DONE), ROLE_SAVE);
	role_failed(&r.role, r.now);
	assert_int_equal(role_ready(&r.role), 0);
	assert_int_equal(step(&r), ROLE_NOTHING);
	assert_int_equal(r.role.phase, ROLE_WAITS);
}

TEST(unknown_at_the_start)
{
	struct rig r = begin(0, WORD(WEB, 1));

	assert_int_equal(step(&r), ROLE_CHECK);
	assert_int_equal(role_ready(&r.role), 0);
	assert_int_equal(ends(&r, HOOK_FAILED), ROLE_NOTHING);
	assert_int_equal(step(&r), ROLE_NOTHING);
	assert_int_equal(r.role.phase, ROLE_WAITS);
	r.in.acknowledged = true;
	r.now = role_due(&r.role);
	assert_int_equal(step(&r), ROLE_SWITCH);
	assert_int_equal(r.role.target, WEB);
	assert_int_equal(r.role.from, 0);
	r = begin(0, WORD(WEB, 1)); /* it serves that already */
	assert_int_equal(step(&r), ROLE_CHECK);
	assert_int_equal(ends(&r, HOOK_DONE), ROLE_SAVE);
	assert_true(role_ready(&r.role) == WORD(WEB, 1));
	r = begin(0, WORD(0, 2));
	step(&r);
	assert_int_equal(role_ready(&r.role), 0);
	r = begin(WEB, WORD(0, 2)); /* in no service: it is left as it is */
	r.in.acknowledged = true;
	assert_int_equal(step(&r), ROLE_NOTHING);
	assert_int_equal(role_ready(&r.role), 0);
	assert_int_equal(r.role.service, WEB);
	assert_int_equal(r.role.phase, ROLE_UNSEEN); /* its servers are left as they are, too */
	r.in.word = WORD(WEB, 3);
	assert_int_equal(step(&r), ROLE_NOTHING);
	assert_true(role_ready(&r.role) == WORD(WEB, 3));
}
