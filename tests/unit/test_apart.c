// SPDX-License-Identifier: GPL-2.0-or-later
/* apart: plug-ins that misbehave are stopped, and guests have their own caps at once. */
#include <signal.h>

#include "tests/fakes/fake_rogue.h"
#include "tests/unit/sampler_rig.h"

#include "src/tick/apart.h"
#include "tests/unit/timers.h"
#include "tests/unit/unit.h"

enum { FROM = 5, LATE = 1203, OWN = 80 };

struct row {
	const char *name;
	enum rogue how;
	enum policy_end end;
	uint32_t more; /* signal, or enum plan_wrong */
	uint64_t figure;
};

/* A sampler whose policy is rogue, in pages of its own, and two guests, one with its own cap. */
static struct sampler_rig *open_rogue_from(enum rogue how, uint64_t from)
{
	struct sampler_rig *g = malloc(sizeof(*g));
	struct policy_inst *pi = NULL;
	struct conf_error e = { 0 };
	struct set_guest *own;

	assert_non_null(g);
	rig_open_with(g, &rig_wishing);
	assert_int_equal(policy_new(&pi, &resex_policy, true), 0);
	((uint64_t *)pi->params)[0] = how;
	((uint64_t *)pi->params)[1] = from;
	assert_int_equal(policy_start(pi, &e), 0);
	rig_policy_free(g->policy);
	g->policy = pi;
	assert_int_equal(sampler_guard(&g->s), 0);
	rig_join(g, 3, 7);
	own = rig_join(g, 9, 8);
	own->own = own->bounds.ceiling = CAP_PERCENT(OWN);
	fake_dom(&g->host, 8)->params.cap = CAP_PERCENT(OWN);
	rig_publish(g);
	return g;
}

static struct sampler_rig *open_rogue(enum rogue how)
{
	return open_rogue_from(how, FROM);
}

static void close_rogue(struct sampler_rig *g)
{
	struct policy_inst *pi = g->policy;
	void *of_it = g;

	sampler_unguard(&g->s);
	g->policy = rig_policy(&rig_wishing);
	rig_teardown(&of_it);
	policy_free(pi);
}

static void ticks(struct sampler_rig *g, int n)
{
	for (int i = 0; i < n; i++) {
		rig_tick(g, MS);
		rig_actor(g);
	}
}

static uint32_t cap_of(struct sampler_rig *g, uint32_t domid)
{
	return cap_to_percent(fake_dom(&g->host, domid)->params.cap);
}

static const struct row rows[] = {
	{ "hangs__is_left_and_stopped", ROGUE_HANGS, POLICY_HUNG, 0, 0 },
	{ "waits_in_the_kernel__is_left_and_stopped", ROGUE_WAITS, POLICY_HUNG, 0, 0 },
	{ "reads_null__is_stopped", ROGUE_READS_NULL, POLICY_CRASHED, SIGSEGV, 0 },
	{ "writes_beyond_the_guests_blocks__is_stopped", ROGUE_BEYOND_GUESTS, POLICY_CRASHED,
	  SIGSEGV, 0 },
	{ "writes_before_the_global_block__is_stopped", ROGUE_BEFORE_GLOBAL, POLICY_CRASHED,
	  SIGSEGV, 0 },
	{ "writes_beyond_the_plan__is_stopped", ROGUE_BEYOND_PLAN, POLICY_CRASHED, SIGSEGV, 0 },
	{ "writes_its_parameters__is_stopped", ROGUE_WRITES_PARAMS, POLICY_CRASHED, SIGSEGV, 0 },
	{ "divides_by_zero__is_stopped", ROGUE_DIVIDES, POLICY_CRASHED, SIGFPE, 0 },
	{ "recurses_without_end__is_stopped", ROGUE_RECURSES, POLICY_CRASHED, SIGSEGV, 0 },
	{ "traps__is_stopped", ROGUE_TRAPS, POLICY_CRASHED, SIGILL, 0 },
	{ "jumps_into_no_code__is_stopped", ROGUE_JUMPS, POLICY_CRASHED, SIGSEGV, 0 },
	{ "limited_is_7__is_stopped", ROGUE_ODD_CAP, POLICY_WRONG, PLAN_CAP, 7 },
	{ "no_cap_of_5_percent__is_stopped", ROGUE_NO_CAP_OF, POLICY_WRONG, PLAN_CAP, 5000 },
	{ "rate_below_1__is_stopped", ROGUE_LOW_RATE, POLICY_WRONG, PLAN_RATE, 65535 },
	{ "reason_it_does_not_have__is_stopped", ROGUE_ODD_REASON, POLICY_WRONG, PLAN_REASON, 1 },
	{ "reserved_figure__is_stopped", ROGUE_RESERVED, POLICY_WRONG, PLAN_RESERVED, 1 },
	{ "no_plan__is_stopped", ROGUE_NO_PLAN, POLICY_WRONG, PLAN_MISSING, 0 },
};

/* Caps of 30 are in force until the fault; two ticks later each guest has its own again. */
static void misbehaves(void **state)
{
	const struct row *r = *state;
	const struct policy_fault *f;
	struct sampler_rig *g;
	uint64_t calls;

	if (!TIMERS_COME && r->end == POLICY_HUNG)
		skip();
	g = open_rogue(r->how);
	f = &g->policy->apart->fault;
	ticks(g, FROM - 1);
	assert_int_equal(f->end, POLICY_RUNS);
	assert_int_equal(cap_of(g, 7), 30);
	assert_int_equal(cap_of(g, 8), 30);
	for (int i = 0; i < FROM && !f->end; i++) {
		(void)!read(g->ho.control_fd, &calls, sizeof(calls));
		ticks(g, 1);
	}
	assert_true(rig_readable(g->ho.control_fd));
	/* Two ticks are less than an epoch: caps are right within it. */
	ticks(g, 1);
	assert_true(2 * MS < g->s.period.epoch_ns);
	assert_int_equal(f->end, r->end);
	assert_int_equal(r->end == POLICY_WRONG ? f->wrong : (uint32_t)f->signal, r->more);
	assert_int_equal(f->figure, r->figure);
	assert_int_equal(cap_of(g, 7), 0);
	assert_int_equal(cap_of(g, 8), OWN);
	/* It is not asked again, and null goes on. */
	calls = *(uint64_t *)g->policy->global;
	ticks(g, SAMPLER_SNAP_TICKS);
	assert_int_equal(*(uint64_t *)g->policy->global, calls);
	assert_ptr_equal(snap_latest(&g->ho)->policy, &policy_null);
	assert_int_equal(cap_of(g, 7), 0);
	assert_int_equal(resos_check(&g->s.ledger), 0);
	close_rogue(g);
}
TEST_ROWS(rows, misbehaves)

/* A guest that does nothing is left out of a call: its plan goes with the plug-in all the same. */
TEST(stopped_while_a_plan_stands__the_plan_is_lifted)
{
	const struct policy_fault *f;
	struct sampler_rig *g;

	if (!TIMERS_COME)
		skip();
	g = open_rogue_from(ROGUE_FORGETS, LATE);
	f = &g->policy->apart->fault;
	g->scan[9].add.wrs = 1;
	for (int i = 0; i < 2 * LATE && !f->end; i++)
		ticks(g, 1);
	assert_int_equal(f->end, POLICY_HUNG);
	assert_true(policy_stands(&g->s.in, 0));
	assert_int_equal(cap_of(g, 7), 30);
	ticks(g, 1);
	assert_int_equal(cap_of(g, 7), 0);
	assert_int_equal(cap_of(g, 8), OWN);
	close_rogue(g);
}

/* How it ends depends on what is in memory there: a fault it is in any case. */
TEST(smashes_its_stack__is_stopped_and_the_sampler_goes_on)
{
	struct sampler_rig *g = open_rogue(ROGUE_SMASHES);

	ticks(g, FROM + 2);
	assert_int_equal(g->policy->apart->fault.end, POLICY_CRASHED);
	assert_int_equal(cap_of(g, 8), OWN);
	close_rogue(g);
}

TEST(behaves__decides_as_a_built_in_policy_does)
{
	struct sampler_rig *g = open_rogue(ROGUE_BEHAVES);
	const struct snapshot *sn;

	ticks(g, 3 * SAMPLER_SNAP_TICKS);
	sn = snap_latest(&g->ho);
	assert_ptr_equal(sn->policy, &resex_policy);
	assert_int_equal(sn->guest[0].plan.why[0], 30000);
	assert_int_equal(cap_of(g, 7), 30);
	assert_int_equal(g->policy->apart->fault.end, POLICY_RUNS);
	close_rogue(g);
}

/* Its input is a copy: what it does to it reaches neither the ledger nor its own next input. */
TEST(writes_its_input__harms_nobody)
{
	struct sampler_rig *g = open_rogue(ROGUE_WRITES_INPUT);

	ticks(g, 2 * SAMPLER_SNAP_TICKS);
	assert_int_equal(g->policy->apart->fault.end, POLICY_RUNS);
	assert_int_equal(g->s.in.guests, 2);
	assert_int_equal(g->s.in.guest[1].slot, 9);
	assert_int_equal(cap_of(g, 8), 30);
	close_rogue(g);
}

/* A high price is no fault: the ledger saturates, and caps are the plan's. */
TEST(rate_and_figures_at_their_ends__are_taken)
{
	struct sampler_rig *g = open_rogue(ROGUE_EXTREMES);

	ticks(g, 2 * SAMPLER_SNAP_TICKS);
	assert_int_equal(g->policy->apart->fault.end, POLICY_RUNS);
	assert_int_equal(cap_of(g, 7), 30);
	assert_int_equal(snap_latest(&g->ho)->guest[0].plan.why[1], INT64_MIN);
	assert_int_equal(resos_check(&g->s.ledger), 0);
	close_rogue(g);
}

TEST(caps_beyond_the_bounds__are_clamped)
{
	struct sampler_rig *g = open_rogue(ROGUE_HUGE_CAP);

	ticks(g, 2 * FROM);
	assert_int_equal(cap_of(g, 7), 100);
	assert_int_equal(cap_of(g, 8), OWN);
	assert_int_equal(g->policy->apart->fault.end, POLICY_RUNS);
	close_rogue(g);
	g = open_rogue(ROGUE_TINY_CAP);
	ticks(g, 2 * FROM);
	assert_int_equal(cap_of(g, 7), 1);
	assert_int_equal(cap_of(g, 8), 1);
	close_rogue(g);
}

TEST(budget__of_an_interval__is_a_quarter_of_it_and_at_most_5_ms)
{
	static const struct {
		int64_t interval_ns, budget_ns;
	} row[] = {
		{ NS_PER_MS / 10, 25000 },	   { NS_PER_MS, 250000 },
		{ 4 * NS_PER_MS, NS_PER_MS },	   { 20 * NS_PER_MS - 4, 5 * NS_PER_MS - 1 },
		{ 20 * NS_PER_MS, 5 * NS_PER_MS }, { 20 * NS_PER_MS + 4, 5 * NS_PER_MS },
		{ NS_PER_S, 5 * NS_PER_MS },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		assert_int_equal(apart_budget(row[i].interval_ns), row[i].budget_ns);
}

TEST(slow__more_than_ten_of_a_thousand_calls_over_the_budget__is_stopped)
{
	struct sampler_rig *g = open_rogue(ROGUE_BURNS);
	const struct policy_fault *f = &g->policy->apart->fault;

	ticks(g, FROM + PACE_SLOW + 5); /* without a budget */
	assert_int_equal(f->end, POLICY_RUNS);
	g->policy->apart->pace = (struct policy_pace){ 0 };
	g->s.policy_budget_ns = NS_PER_MS / 4;
	ticks(g, PACE_SLOW);
	assert_int_equal(f->end, POLICY_RUNS);
	ticks(g, 1);
	assert_int_equal(f->end, POLICY_SLOW);
	assert_true(f->ns > NS_PER_MS / 4);
	assert_int_equal(cap_of(g, 8), OWN);
	close_rogue(g);
}

TEST(pace__calls_are_counted_a_thousand_at_a_time)
{
	struct policy_pace p = { 0 };

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < PACE_CALLS; i++)
			assert_false(pace_exceeded(&p, i < PACE_SLOW ? 11 : 10, 10));
	for (int i = 0; i < PACE_SLOW; i++)
		assert_false(pace_exceeded(&p, 11, 10));
	assert_true(pace_exceeded(&p, 11, 10));
}

/* A thread without a guard calls no plug-in. */
TEST(no_guard__is_stopped_before_its_first_call)
{
	struct sampler_rig *g = open_rogue(ROGUE_READS_NULL);

	sampler_unguard(&g->s);
	ticks(g, 2);
	assert_int_equal(g->policy->apart->fault.end, POLICY_UNGUARDED);
	assert_int_equal(*(uint64_t *)g->policy->global, 0);
	assert_int_equal(cap_of(g, 8), OWN);
	close_rogue(g);
}

/* --- before it is in force ------------------------------------------------------------- */

static const struct {
	uint64_t how;
	const char *says;
} inits[] = {
	{ ROGUE_INIT_HANGS, "its init(): it did not return within 100 ms: mend it" },
	{ ROGUE_INIT_REFUSES, "how is 99,?which is too much" },
	{ ROGUE_INIT_CRASHES, "its init(): it crashed (SIGSEGV at 0x" },
};

TEST(init__hangs_refuses_crashes__is_not_put_in_force)
{
	for (size_t i = 0; i < sizeof(inits) / sizeof(inits[0]); i++) {
		struct policy_inst *pi = NULL;
		struct conf_error e = { 0 };

		if (!TIMERS_COME && inits[i].how == ROGUE_INIT_HANGS)
			continue;
		assert_int_equal(policy_new(&pi, &resex_policy, true), 0);
		*(uint64_t *)pi->params = inits[i].how;
		assert_int_equal(policy_start(pi, &e), -EINVAL);
		if (!strstr(e.text, inits[i].says))
			fail_msg("%s", e.text);
		policy_free(pi);
	}
}

static size_t mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	size_t n = 0;
	int c;

	assert_non_null(f);
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

/* As resex policy-set does, each time it is asked. */
TEST(instances__made_and_freed_again_and_again__memory_is_bounded)
{
	size_t was = 0;

	for (int i = 0; i < 200; i++) {
		struct policy_inst *pi = NULL;
		struct conf_error e = { 0 };

		assert_int_equal(policy_new(&pi, &resex_policy, true), 0);
		assert_int_equal(policy_start(pi, &e), 0);
		policy_free(pi);
		if (i == 20)
			was = mappings();
	}
	assert_in_range(mappings(), was - 4, was + 4);
}
