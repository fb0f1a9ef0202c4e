// SPDX-License-Identifier: GPL-2.0-or-later
/* stopped: control puts null in the place of a plug-in that the sampler stopped, and says why. */
#include <signal.h>

#include "tests/fakes/fake_rogue.h"
#include "tests/unit/guests_rig.h"
#include "tests/unit/unit.h"

/* The plug-in is in force, for guest 4 in slot 0. */
static struct guests_rig *open_rogue(void)
{
	struct policy_inst *pi = NULL;
	struct guests_rig *g;
	void *of_it;

	assert_int_equal(rig_setup(&of_it), 0);
	g = of_it;
	rig_create(g, 4, 4);
	rig_settle(g);
	assert_int_equal(policy_new(&pi, &resex_policy, true), 0);
	assert_int_equal(guests_set_policy(g->gs, pi, WALL), 0);
	return g;
}

static void close_rogue(struct guests_rig *g)
{
	void *of_it = g;

	rig_teardown(&of_it);
}

/* As the sampler does, in src/tick/apart.c. */
static void stop(struct guests_rig *g, struct policy_fault f)
{
	uint32_t end = f.end;

	f.end = POLICY_RUNS;
	g->gs->policy->apart->fault = f;
	__atomic_store_n(&g->gs->policy->apart->fault.end, end, __ATOMIC_RELEASE);
}

static const struct row {
	const char *name;
	struct policy_fault f;
	const char *says;
} rows[] = {
	{ "crashed__says_the_signal_and_where",
	  { .end = POLICY_CRASHED, .signal = SIGFPE, .address = 0x1230 },
	  "it crashed (SIGFPE at 0x1230)" },
	{ "hung__says_after_how_long",
	  { .end = POLICY_HUNG, .ns = 12 * NS_PER_MS },
	  "decide() did not return: it was left after 12 ms of CPU time" },
	{ "slow__says_how_often_and_how_slow",
	  { .end = POLICY_SLOW, .ns = 300 * NS_PER_US },
	  "more than 10 of 1000 calls were over its budget, a quarter of the interval: the last "
	  "took 300 us" },
	{ "no_plan__says_for_which_guest",
	  { .end = POLICY_WRONG, .wrong = PLAN_MISSING },
	  "it wrote no plan for guest guest-4 (0)" },
	{ "cap_that_is_none__says_what",
	  { .end = POLICY_WRONG, .wrong = PLAN_CAP, .figure = 7 },
	  "it wrote an invalid cap for guest guest-4 (7)" },
	{ "rate__says_which",
	  { .end = POLICY_WRONG, .wrong = PLAN_RATE, .figure = 65535 },
	  "it wrote a rate below 1 for guest guest-4 (65535)" },
	{ "reason__of_a_guest_that_left",
	  { .end = POLICY_WRONG, .wrong = PLAN_REASON, .figure = 9, .slot = 77 },
	  "it wrote a reason that it does not have for guest that left (9)" },
	{ "reserved__says_what",
	  { .end = POLICY_WRONG, .wrong = PLAN_RESERVED, .figure = 1 },
	  "it wrote a reserved figure (vf_bytes_s) for guest guest-4 (1)" },
	{ "unguarded__says_where_to_look",
	  { .end = POLICY_UNGUARDED },
	  "resexd cannot guard it: see its log" },
};

static void is_replaced(void **state)
{
	const struct row *r = *state;
	struct guests_rig *g = open_rogue();
	char event[256];

	rig_settle(g);
	assert_ptr_equal(guests_view(g->gs).policy->ops, &resex_policy);
	assert_null(guests_view(g->gs).stopped);
	stop(g, r->f);
	rig_work(g, MS);
	assert_ptr_equal(guests_view(g->gs).policy->ops, &policy_null);
	assert_string_equal(guests_view(g->gs).stopped, "rogue");
	assert_string_equal(guests_view(g->gs).stopped_why, r->says);
	snprintf(event, sizeof(event), "rogue: %s; null is in force", r->says);
	assert_string_equal(rig_event(g, "policy-stopped")->text, event);
	rig_settle(g);
	assert_int_equal(rig_events(g, "policy-stopped"), 1);
	close_rogue(g);
}
TEST_ROWS(rows, is_replaced)

/* Two instances at most exist at a time: null waits until the sampler has left the one before. */
TEST(stopped_while_the_sampler_has_the_one_before__null_comes_after_it)
{
	struct guests_rig *g = open_rogue();

	stop(g, rows[0].f);
	rig_work(g, MS);
	assert_ptr_equal(guests_view(g->gs).policy->ops, &resex_policy);
	rig_settle(g);
	assert_ptr_equal(guests_view(g->gs).policy->ops, &policy_null);
	assert_string_equal(guests_view(g->gs).stopped, "rogue");
	close_rogue(g);
}

TEST(another_policy_is_set__nothing_is_said_any_more)
{
	struct policy_inst *pi = NULL;
	struct guests_rig *g = open_rogue();

	rig_settle(g);
	stop(g, rows[0].f);
	rig_settle(g);
	assert_non_null(guests_view(g->gs).stopped);
	assert_int_equal(policy_new(&pi, &resex_policy, true), 0);
	assert_int_equal(guests_set_policy(g->gs, pi, WALL), 0);
	assert_null(guests_view(g->gs).stopped);
	rig_settle(g);
	assert_ptr_equal(guests_view(g->gs).policy->ops, &resex_policy);
	close_rogue(g);
}
