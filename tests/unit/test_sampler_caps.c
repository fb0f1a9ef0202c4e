// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sampler and actor: which caps are sent, when again, what an answer means;
 * and FreeMarket through the whole chain, with the paper's figures.
 */
#include <errno.h>

#include "src/core/caps.h"
#include "tests/unit/sampler_rig.h"
#include "tests/unit/steps.h"
#include "tests/unit/unit.h"

static uint32_t percent_of(struct sampler_rig *g, uint32_t domid)
{
	return cap_to_percent(fake_dom(&g->host, domid)->params.cap);
}

static uint64_t mail(struct sampler_rig *g, uint32_t slot)
{
	return atomic_load(&g->ho.mail[slot].want);
}

/* One guest, slot 3, domain 7, seen by a first tick. */
static struct set_guest *open_one(struct sampler_rig *g)
{
	struct set_guest *e = rig_join(g, 3, 7);

	rig_publish(g);
	rig_tick(g, MS);
	return e;
}

static void set_flags(struct sampler_rig *g, uint32_t flags)
{
	g->guest[0].flags = flags;
	rig_publish(g);
	rig_tick(g, MS);
}

/* --- rows of steps ------------------------------------------------------------ */

/*
 * Steps. The guest is in slot 3, and its domain is 7 unless another one is given.
 * Percents are P:
 *
 *	join [DOMID], leave DOMID
 *				the next set has the guest; has it no longer
 *	remove DOMID		the domain is destroyed
 *	own P, ceiling P, bounds LOW HIGH, vcpus N
 *				the cap that its operator set, in the domain and the next set;
 *				its bounds there
 *	learned			control publishes the cap found as its own, tick
 *	publish			the next set is handed to the sampler
 *	open			join, publish, tick
 *	exempt, uncappable, exempt-uncappable, cappable
 *				sets its flags, publish, tick
 *	observe			the daemon observes, and sets no caps
 *	want P, want none, want-mpct N
 *				the cap that the policy wants; N is in 1/1000 percent
 *	rate N, rate-q16 N	the rate that the policy wants: Resos a MTU; in 1/65536 of that
 *	tick			1 ms passes, and the sampler ticks
 *	act			the actor sets the caps that wait for it
 *	round			tick, act
 *	refuse ERROR, accept	what the hypervisor answers from now on
 *	set-outside P		another program sets the domain's cap
 *	set-weight W P		another program sets its weight, with a cap that it read
 *	send-again		control requests to send the wanted cap once more
 *	mtus N			the guest sends N MTUs in each tick
 *	serial N		the serial of the newest mail is N
 *	mark			remembers the newest mail to the actor
 *	answer-marked P		the actor answers that mail: P was set
 *	cancel-marked P		the actor answers that mail: another program set P
 *	lose-answer		the sampler does not see the newest answer
 *
 * Expectations:
 *
 *	calls N, calls-of N DOMID
 *				hypercalls that set a cap; those for one domain
 *	last-call P		what the newest one set
 *	percent P [DOMID]	the domain's cap
 *	applied P, unlimited	the cap that is in force, as the sampler knows
 *	changes N		of the cap, as the slot counts them
 *	caps N, failures N	events of a cap set; of a cap refused
 *	foreign N [P]		events of a cap of another program; the newest one's percent
 *	failed ERROR P		the newest event of a cap refused
 *	error ERROR, no-error	of the slot's newest cap
 *	mail-domid N, mail-percent P, mail-serial N, no-mail
 *				the newest mail to the actor
 *	new-mails N		mails since "mark"
 *	dirty N			the mask of slots that have mail
 *	woken, asleep		whether the actor's descriptor is readable
 *	pending			an answer of the actor is awaited
 *	planned P		the cap in the policy's plan
 *	rate N, rate-q16 N, charged N
 *				in the guest's account; Resos
 */
static const struct row {
	const char *name, *steps;
} rows[] = {
	{ "act: no cap is wanted, nothing is sent", "open, 100 x tick, act -> calls 0, asleep" },
	{ "act: a cap is wanted, one mail, and the actor is woken",
	  "open, want 30, tick -> mail-domid 7, mail-percent 30, dirty 0x8, woken" },
	{ "act: the same cap is wanted again, it is written once",
	  "open, want 30, 200 x round -> calls 1, percent 30, changes 1, caps 1" },
	{ "act: caps that are the same percent are written once",
	  "open, want-mpct 29500, round, want-mpct 30000, round, want-mpct 30499, round,"
	  "want-mpct 29501, round, want-mpct 30001, round -> calls 1" },
	{ "act: each change is written",
	  "open, want 90, round -> percent 90; want 81, round -> percent 81;"
	  "want 73, round -> percent 73; want 100, round -> percent 100;"
	  "want 1, round -> percent 1; want none, round -> percent 0, calls 6" },
	{ "act: wanted beyond the bounds, written within them",
	  "join, bounds 10 60, publish, tick, want 2, round -> percent 10;"
	  "want 99, round -> percent 60" },
	{ "act: a cap of more percent than 16 bits hold, the largest is written",
	  "join, vcpus 4096, publish, tick, want 65546, 3 x round -> percent 65534, calls 1" },
	{ "serial: wraps, zero is never one",
	  "open, serial 0xffffffff, want 30, tick -> mail-serial 1; act, tick -> applied 30" },

	{ "act: an exempt guest is never written",
	  "open, exempt, want 30, 200 x round -> calls 0" },
	/* It is not cappable until its old cap is saved. */
	{ "act: the old cap is not saved, is never written",
	  "open, uncappable, want 30, 200 x round -> calls 0; cappable, act -> percent 30" },
	{ "act: observing only, decides and never writes",
	  "observe, open, want 30, rate 3, 200 x round -> calls 0, no-mail, planned 30, rate 1" },
	{ "act: released while capped, its own cap is written once",
	  "open, want 30, round, tick, exempt, act, 99 x round, tick -> percent 0, calls 2;"
	  "cappable, act -> percent 30" },
	/* It has its own cap already: that costs no call. */
	{ "act: its operator had set a cap, no cap means that one",
	  "join, own 40, publish, tick -> applied 40; act -> calls 0;"
	  "want 20, round, want none, round -> percent 40, calls 2" },
	/* A ceiling of ours below what its operator gave it holds under every policy. */
	{ "adopt: its own cap was not known before, it is in force and costs no call",
	  "join, uncappable, publish, tick -> applied 0; own 60, cappable, publish, tick -> "
	  "applied 60; round -> calls 0; want 30, round -> percent 30, calls 1" },
	{ "act: a ceiling below its own cap is written though no cap is wanted",
	  "join, own 40, ceiling 25, publish, tick -> applied 40; act -> percent 25;"
	  "tick -> applied 25; ceiling 40, publish, tick, act -> percent 40, calls 2" },
	{ "adopt: its own cap changed, what is wanted is sent again",
	  "open, want 30, round, tick, own 70, publish, round -> percent 70; round -> percent 30;"
	  "100 x round -> calls 3, foreign 1 70" },

	/* Caps of other programs: never overwritten before control knows them. */
	{ "foreign: set before our first one, is found and not overwritten",
	  "open, set-outside 60, want 30, round -> percent 60; tick -> foreign 1 60, applied 60;"
	  "act, tick -> percent 30, applied 30, foreign 1" },
	{ "foreign: set over ours, a lower one of ours is written at once",
	  "open, want 30, round, tick, set-outside 40, want 35, round -> percent 40;"
	  "round -> percent 35, foreign 1 40" },
	{ "foreign: a cap above it waits until control published it as the guest's own",
	  "open, want 30, round, tick, set-outside 40, want 60, round, 100 x round -> percent 40,"
	  "calls 2, foreign 1 40, applied 40; learned, round -> percent 40, calls 2;"
	  "want 39, round -> percent 39; want 60, round -> percent 40" },
	{ "foreign: the lowest cap allowed is above it, waits as well",
	  "join, bounds 10 60, publish, tick, want 20, round, tick, set-outside 5, want 2, round,"
	  "100 x round -> percent 5, foreign 1 5" },
	{ "foreign: the operator took the cap away, the former one is not written",
	  "join, own 30, publish, tick, want 20, round, tick, set-outside 0, want none, round,"
	  "100 x round -> percent 0, foreign 1 0, calls 2; learned, round -> percent 0, calls 2;"
	  "want 20, round -> percent 20" },
	{ "foreign: the operator set two caps quickly, both are found",
	  "open, want 30, round, tick, set-outside 40, want 20, round, set-outside 50, round"
	  "-> percent 50, foreign 1 40; round -> foreign 2 50, percent 20" },
	{ "foreign: equal to the one that is wanted, is found all the same",
	  "open, want 30, round, tick, set-outside 40, want 40, round, tick -> foreign 1 40,"
	  "percent 40" },
	{ "foreign: exempt guest, its former own cap is not written over it",
	  "join, own 30, publish, tick, want 20, round, tick, set-outside 50, exempt, act, tick,"
	  "100 x round -> percent 50, foreign 1 50; learned, 3 x round -> percent 50, calls 2" },
	{ "foreign: found for older mail of the same generation, counts",
	  "open, want 30, round, want 20, tick, mark, want 15, tick, cancel-marked 40, tick"
	  "-> foreign 1 40, applied 40" },
	{ "foreign: found for mail before the newest one found, counts no more",
	  "open, set-outside 40, want 30, tick, mark, act, tick -> foreign 1 40;"
	  "cancel-marked 77, tick -> foreign 1, pending; act, tick -> applied 30" },
	/* The operator went back to ours before the sampler saw the answer. */
	{ "foreign: once found, nothing is written before the sampler knows",
	  "open, want 30, round, tick, set-outside 40, want 20, tick, act, lose-answer,"
	  "set-outside 30, want 15, tick, act -> percent 30; tick -> foreign 1 40;"
	  "act -> percent 30; tick -> foreign 2 30; act -> percent 15" },

	/* What is ours is never taken for another program's. */
	{ "ours: the answer came after newer mail was sent, is not foreign",
	  "open, want 30, tick, act, lose-answer, want 20, tick, act, tick -> percent 20,"
	  "applied 20, foreign 0" },
	{ "ours: the answer is late and the mail is sent again, is not foreign",
	  "open, want 30, tick, act, lose-answer, 60 x tick, act, tick -> percent 30, applied 30,"
	  "calls 2, foreign 0" },
	{ "ours: refused and set all the same, is not foreign",
	  "open, refuse EBUSY, want 30, round, set-outside 30, accept, want 20, round, tick"
	  "-> percent 20, foreign 0" },
	{ "ours: an operator sets the weight, with a cap that we had set before, is not foreign",
	  "open, want 30, round, want 25, round, tick, set-weight 512 30, want 20, round, tick"
	  "-> percent 20, foreign 0; set-weight 300 0, want 10, round, tick -> percent 10,"
	  "foreign 0" },
	{ "ours: a weight with a former cap, control requests to send the wanted one again",
	  "open, want 30, round, want 25, round, 1900 x tick, set-weight 512 30, 90 x round"
	  "-> percent 30, foreign 0; send-again, round, tick -> percent 25, foreign 0, calls 4;"
	  "9 x round -> calls 4" },
	{ "foreign: found in mail that control requested to send again",
	  "open, want 30, round, tick, set-outside 50, send-again, round, tick -> percent 50,"
	  "foreign 1 50" },
	{ "foreign: an operator sets the weight, with a cap that we had set two seconds before",
	  "open, want 30, round, want 25, round, 2000 x tick, set-weight 512 30, want 20, round,"
	  "tick -> percent 30, foreign 1 30" },
	{ "foreign: an operator sets weight and cap",
	  "open, want 30, round, want 25, round, tick, set-weight 512 44, want 20, round, tick"
	  "-> percent 44, foreign 1 44" },
	{ "foreign: a cap that we had set before, and the same weight",
	  "open, want 30, round, want 25, round, tick, set-outside 30, want 20, round, tick"
	  "-> percent 30, foreign 1 30" },
	{ "ours: to the slot's former guest, says nothing of the new one's",
	  "open, want 30, round, leave 7, join 8, want 20, publish, tick, act, tick -> foreign 0,"
	  "percent 20 8" },
	{ "ours: slot and domain id of a former guest, its own cap is known",
	  "open, want 30, round, leave 7, remove 7, join 7, own 50, publish, round, tick"
	  "-> percent 30, foreign 0" },
	{ "ours: cappable again with another own cap, that one is in force",
	  "open, want 30, round, tick, uncappable, own 60, cappable -> applied 60; act, tick"
	  "-> percent 30, foreign 0" },

	{ "act: not answered, is sent again after 50 ms and not before",
	  "open, want 30, tick, mark, 49 x tick -> new-mails 0, mail-percent 30, mail-domid 7;"
	  "tick -> new-mails 1, mail-percent 30" },
	/* Calls at 0, 50, 100, 150 and 200 ms. */
	{ "act: refused, is tried again each 50 ms and reported once",
	  "open, refuse EBUSY, want 30, 201 x round -> calls 5, failures 1, caps 0,"
	  "failed EBUSY 30, error EBUSY, unlimited" },
	{ "act: refused for another reason, is reported again",
	  "open, refuse EBUSY, want 30, 50 x round, refuse EINVAL, 51 x round, tick -> failures 2,"
	  "failed EINVAL 30" },
	{ "act: refused and then accepted, is in force and quiet",
	  "open, refuse EBUSY, want 30, round, accept, 200 x round -> calls 2, no-error, applied "
	  "30" },
	/* A cap that was refused may have been set all the same. */
	{ "act: refused and no longer wanted, the old one is written",
	  "open, refuse EBUSY, want 30, round, accept, want none, round -> last-call 0" },

	/* The mail to domain 7 is carried out late. */
	{ "answer: to a former guest of the slot, is not the new one's",
	  "open, want 30, tick, leave 7, join 8, want none, publish, tick, act, tick -> percent 30,"
	  "calls-of 0 8, unlimited, changes 0, caps 0" },
	/* Answered, but not looked at when domain 8 wants the same. */
	{ "answer: to a former guest, does not pass for one to the new one's first mail",
	  "open, want 30, round, leave 7, join 8, publish, 2 x tick -> pending, unlimited;"
	  "act, tick -> percent 30 8, applied 30" },
	{ "adopt: slot and domain id of a former guest, its late mail is undone",
	  "open, want 30, tick, leave 7, remove 7, join 7, want none, publish, act -> percent 30;"
	  "tick, act -> percent 0" },
	/* The actor had begun with the older one when the newer was sent. */
	{ "answer: to an older mail of the guest, the newer is still awaited",
	  "open, want 30, tick, mark, want 20, tick, answer-marked 30, tick -> pending, changes 0;"
	  "act, tick -> percent 20, applied 20" },

	/* Sent in the first tick, and not answered in the second and third. */
	{ "rate: with a new cap, is charged only once the cap is in force",
	  "open, mtus 10, want 50, rate 2, 3 x tick -> charged 30; act, tick -> charged 50" },
	{ "rate: without a new cap, is in force at once",
	  "open, rate-q16 65636, tick -> rate-q16 65636, calls 0" },
	{ "rate: of a guest that is not capped, is one",
	  "open, want 50, rate 4, uncappable, act, tick -> rate 1;"
	  "exempt-uncappable, act, tick -> rate 1; exempt, act, tick -> rate 1" },
};

struct row_rig {
	struct sampler_rig *g;
	uint64_t marked;
};

static void learned(struct sampler_rig *g, struct set_guest *e)
{
	const struct event *ev = rig_event(g, EVENT_CAP_FOREIGN,
					   rig_events(g, EVENT_CAP_FOREIGN) - 1);

	assert_non_null(ev);
	e->own = e->bounds.ceiling = cap_from_percent((uint32_t)ev->a);
	e->own_generation = (uint32_t)ev->c;
	rig_publish(g);
	rig_tick(g, MS);
}

/* What the next set says of the guest. False: the step is not of these. */
static bool set_says(struct sampler_rig *g, const struct step *s)
{
	uint32_t n = (uint32_t)s->n[0];
	struct set_guest *e = &g->guest[0];

	if (step_is(s, "join"))
		rig_join(g, 3, (uint32_t)step_number(s, 0, 7));
	else if (step_is(s, "leave"))
		rig_leave(g, n);
	else if (step_is(s, "own"))
		fake_dom(&g->host, 7)->params.cap = e->own = e->bounds.ceiling = CAP_PERCENT(n);
	else if (step_is(s, "learned"))
		learned(g, e);
	else if (step_is(s, "ceiling"))
		e->bounds.ceiling = CAP_PERCENT(n);
	else if (step_is(s, "bounds"))
		e->bounds = (struct cap_bounds){ CAP_PERCENT((uint32_t)s->n[1]), n * 1000, 1 };
	else if (step_is(s, "vcpus"))
		e->vcpus = e->bounds.vcpus = n;
	else if (step_is(s, "publish"))
		rig_publish(g);
	else if (step_is(s, "open"))
		open_one(g);
	else if (step_is(s, "exempt"))
		set_flags(g, POLICY_CAPPABLE | POLICY_EXEMPT);
	else if (step_is(s, "exempt-uncappable"))
		set_flags(g, POLICY_EXEMPT);
	else if (step_is(s, "uncappable"))
		set_flags(g, 0);
	else if (step_is(s, "cappable"))
		set_flags(g, POLICY_CAPPABLE);
	else
		return false;
	return true;
}

/* What the policy wants, and what happens to the domain. False: the step is not of these. */
static bool others_do(struct sampler_rig *g, const struct step *s)
{
	uint32_t n = (uint32_t)s->n[0];

	if (step_is(s, "want"))
		rig_wish(g)->cap[3] = step_says(s, "none") ? CAP_NONE : CAP_PERCENT(n);
	else if (step_is(s, "want-mpct"))
		rig_wish(g)->cap[3] = (struct cap){ 1, n };
	else if (step_is(s, "rate"))
		rig_wish(g)->rate[3].q16 = n * 65536;
	else if (step_is(s, "rate-q16"))
		rig_wish(g)->rate[3].q16 = n;
	else if (step_is(s, "mtus"))
		g->scan[3].add.mtus_sent = n;
	else if (step_is(s, "refuse"))
		fake_dom(&g->host, 7)->set_rc = -step_errno(s);
	else if (step_is(s, "accept"))
		fake_dom(&g->host, 7)->set_rc = 0;
	else if (step_is(s, "set-outside"))
		fake_dom(&g->host, 7)->params.cap = cap_from_percent(n);
	else if (step_is(s, "set-weight"))
		fake_dom(&g->host, 7)->params =
			(struct hv_sched_params){ cap_from_percent((uint32_t)s->n[1]), n };
	else if (step_is(s, "send-again"))
		atomic_fetch_or(&g->ho.send_again[0], 1ull << 3);
	else if (step_is(s, "remove"))
		fake_dom_remove(&g->host, n);
	else
		return false;
	return true;
}

static void act(void *rig, const struct step *s)
{
	struct row_rig *r = rig;
	struct sampler_rig *g = r->g;

	if (step_is(s, "tick") || step_is(s, "round"))
		rig_tick(g, MS);
	if (step_is(s, "act") || step_is(s, "round"))
		rig_actor(g);
	else if (step_is(s, "observe"))
		g->ho.observe = 1;
	else if (step_is(s, "serial"))
		g->s.slot[3].serial = (uint32_t)s->n[0];
	else if (step_is(s, "mark"))
		r->marked = mail(g, 3);
	else if (step_is(s, "answer-marked"))
		atomic_store(&g->ho.mail[3].answer,
			     mail_pack(mail_serial(r->marked), 0, (uint16_t)s->n[0]));
	else if (step_is(s, "cancel-marked"))
		atomic_store(&g->ho.mail[3].answer,
			     mail_pack(mail_serial(r->marked), ECANCELED, (uint16_t)s->n[0]));
	else if (step_is(s, "lose-answer"))
		atomic_store(&g->ho.mail[3].answer, 0);
	else if (!step_is(s, "tick") && !set_says(g, s) && !others_do(g, s))
		step_unknown(s);
}

static void check_foreign(const struct sampler_rig *g, const struct step *s)
{
	uint32_t n = rig_events(g, EVENT_CAP_FOREIGN);
	const struct event *ev = rig_event(g, EVENT_CAP_FOREIGN, n - 1);

	step_expect(s, n);
	if (!ev)
		return;
	assert_int_equal(ev->slot, 3);
	assert_int_equal(ev->a, (int64_t)step_number(s, 1, (uint64_t)ev->a));
}

/* The newest event of a refused cap. */
static void check_failed(const struct sampler_rig *g, const struct step *s)
{
	const struct event *ev = rig_event(g, EVENT_CAP_FAILED,
					   rig_events(g, EVENT_CAP_FAILED) - 1);

	assert_non_null(ev);
	assert_int_equal(ev->slot, 3);
	assert_int_equal(ev->a, s->n[0]);
	assert_int_equal(ev->b, step_errno(s));
}

static void check(void *rig, const struct step *s)
{
	struct row_rig *r = rig;
	struct sampler_rig *g = r->g;
	const struct account *a = rig_account(g, 3);
	uint32_t domid = (uint32_t)step_number(s, 1, 7);
	uint64_t m = mail(g, 3);
	bool error = step_is(s, "error");
	const struct step_figure figures[] = {
		{ "calls", g->host.calls },
		{ "caps", rig_events(g, EVENT_CAP) },
		{ "failures", rig_events(g, EVENT_CAP_FAILED) },
		{ "changes", g->s.slot[3].cap_changes },
		{ "mail-domid", mail_domid(m) },
		{ "mail-percent", mail_percent(m) },
		{ "mail-serial", mail_serial(m) },
		{ "new-mails", mail_serial(m) - mail_serial(r->marked) },
		{ "dirty", atomic_load(&g->ho.dirty[0]) },
		{ "rate-q16", a->rate.q16 },
	};

	if (step_expect_figure(s, figures, sizeof(figures) / sizeof(figures[0])))
		return;
	if (step_is(s, "percent"))
		step_expect(s, percent_of(g, domid));
	else if (step_is(s, "calls-of"))
		step_expect(s, fake_calls(&g->host, domid));
	else if (step_is(s, "last-call"))
		step_expect(s, fake_last_call(&g->host, 7)->percent);
	else if (step_is(s, "failed"))
		check_failed(g, s);
	else if (step_is(s, "foreign"))
		check_foreign(g, s);
	else if (error || step_is(s, "no-error"))
		assert_int_equal(g->s.slot[3].cap_errno, error ? step_errno(s) : 0);
	else if (step_is(s, "applied"))
		assert_int_equal(g->s.slot[3].applied.mpct, s->n[0] * 1000);
	else if (step_is(s, "planned"))
		assert_int_equal(g->s.plan.guest[3].cap.mpct, s->n[0] * 1000);
	else if (step_is(s, "unlimited"))
		step_holds(s, !g->s.slot[3].applied.limited);
	else if (step_is(s, "rate"))
		assert_int_equal(a->rate.q16, s->n[0] * 65536);
	else if (step_is(s, "charged"))
		assert_int_equal(a->charged_io.m, RESOS(s->n[0]));
	else if (step_is(s, "no-mail"))
		assert_int_equal(m, 0);
	else if (step_is(s, "woken") || step_is(s, "asleep"))
		step_holds(s, rig_readable(g->ho.actor_fd) == step_is(s, "woken"));
	else if (step_is(s, "pending"))
		step_holds(s, g->s.slot[3].pending);
	else
		step_unknown(s);
}

static void run_row(void **state)
{
	static const struct steps_ops ops = { .act = act, .check = check };
	const struct row *row = *state;
	struct row_rig r = { 0 };

	assert_int_equal(rig_setup(state), 0);
	r.g = *state;
	steps_run(row->steps, &ops, &r);
	rig_teardown(state);
}
TEST_ROWS(rows, run_row)

/* --- caps of other programs ----------------------------------------------------- */

/* Its operator's cap would be unknown for ever, and the guest uncapped for as long. */
WITH_RIG(foreign__control_is_behind__the_event_is_sent_again)
{
	static const struct event filler = { .type = EVENT_LATE };
	struct sampler_rig *g = *state;

	open_one(g);
	fake_dom(&g->host, 7)->params.cap = CAP_PERCENT(40);
	rig_wish(g)->cap[3] = CAP_PERCENT(60);
	rig_tick(g, MS);
	rig_actor(g);
	while (event_put(&g->ho, &filler))
		;
	rig_tick(g, MS); /* finds no place, and drains the ring after that */
	assert_int_equal(rig_events(g, EVENT_CAP_FOREIGN), 0);
	rig_tick(g, MS);
	rig_tick(g, MS);
	assert_int_equal(rig_events(g, EVENT_CAP_FOREIGN), 1);
}

/* --- sending ------------------------------------------------------------------ */

/* A write costs a system call and perhaps an interrupt of another CPU. */
WITH_RIG(tick__all_guests_are_capped_and_told_of__wakes_each_thread_with_one_write)
{
	struct sampler_rig *g = *state;
	uint64_t n;

	for (uint32_t i = 0; i < 20; i++)
		rig_join(g, i, i + 7);
	rig_publish(g);
	rig_tick(g, MS);
	(void)!read(g->ho.control_fd, &n, sizeof(n));
	for (uint32_t i = 0; i < 20; i++) {
		rig_wish(g)->cap[i] = CAP_PERCENT(30);
		g->scan[i].res = (struct scan_result){ .refresh = true, .faults = 2 };
	}
	rig_tick(g, MS);
	assert_int_equal(read(g->ho.actor_fd, &n, sizeof(n)), sizeof(n));
	assert_int_equal(n, 1);
	assert_int_equal(read(g->ho.control_fd, &n, sizeof(n)), sizeof(n));
	assert_int_equal(n, 1);
}

WITH_RIG(act__changed_before_the_actor_came__only_the_newest_is_written)
{
	struct sampler_rig *g = *state;

	open_one(g);
	for (uint32_t p = 90; p > 80; p--) {
		rig_wish(g)->cap[3] = CAP_PERCENT(p);
		rig_tick(g, MS);
	}
	rig_actor(g);
	rig_tick(g, MS);
	assert_int_equal(g->host.calls, 1);
	assert_int_equal(percent_of(g, 7), 81);
	assert_int_equal(g->s.slot[3].applied.mpct, 81000);
	assert_int_equal(g->s.slot[3].cap_changes, 1);
}

WITH_RIG(act__guests_in_several_words_of_the_dirty_mask__each_gets_its_own)
{
	static const uint32_t slots[] = { 0, 63, 64, 127, 200, FLOW_GUESTS_MAX - 1 };
	struct sampler_rig *g = *state;

	for (uint32_t i = 0; i < 6; i++) {
		rig_join(g, slots[i], 100 - i);
		rig_wish(g)->cap[slots[i]] = CAP_PERCENT(10 + i);
	}
	rig_publish(g);
	rig_tick(g, MS);
	rig_actor(g);
	rig_tick(g, MS);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(percent_of(g, 100 - i), 10 + i);
		assert_int_equal(g->s.slot[slots[i]].applied.mpct, (10 + i) * 1000);
	}
	assert_int_equal(g->host.calls, 6);
}

WITH_RIG(answer__is_in_force_with_the_time_the_actor_gave)
{
	struct sampler_rig *g = *state;
	struct mono set_at;
	const struct event *ev;

	open_one(g);
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	rig_tick(g, MS);
	g->a.clock.sim_ns += 400 * NS_PER_US;
	set_at.ns = g->a.clock.sim_ns;
	rig_actor(g);
	rig_tick(g, 2 * MS);
	assert_int_equal(g->s.slot[3].cap_time.ns, set_at.ns);
	ev = rig_event(g, EVENT_CAP, 0);
	assert_int_equal(ev->time.ns, set_at.ns);
	assert_int_equal(ev->a, 30);
	assert_int_equal(ev->b, 1); /* the wishing policy's reason */
	assert_int_equal(ev->c, 0);
	rig_wish(g)->cap[3] = CAP_PERCENT(20);
	rig_tick(g, MS);
	rig_actor(g);
	rig_tick(g, MS);
	assert_int_equal(rig_event(g, EVENT_CAP, 1)->c, 30);
}

/* --- rates ----------------------------------------------------------------------------------- */

WITH_RIG(rate__cap_refused__stays_as_it_was)
{
	struct sampler_rig *g = *state;

	open_one(g);
	fake_dom(&g->host, 7)->set_rc = -EBUSY;
	rig_wish(g)->cap[3] = CAP_PERCENT(50);
	rig_wish(g)->rate[3].q16 = 2 * 65536;
	for (int i = 0; i < 30; i++) {
		rig_tick(g, MS);
		rig_actor(g);
		assert_int_equal(rig_account(g, 3)->rate.q16, 65536);
	}
}

/* --- FreeMarket, from MTUs to caps ------------------------------------------------------------ */

enum { SERVER_SLOT = 5, BULK_SLOT = 2, SERVER = 10, BULK = 11 };

/* 2^30 B/s are 1048 MTUs a ms: 811 the sender's, 237 the server's; both poll all the time. */
static void one_ms(struct sampler_rig *g)
{
	fake_dom(&g->host, SERVER)->dom.cpu_ns += MS;
	fake_dom(&g->host, BULK)->dom.cpu_ns += MS;
	rig_tick(g, MS);
	rig_actor(g);
}

static int open_freemarket(void **state)
{
	struct sampler_rig *g = malloc(sizeof(*g));

	if (!g)
		return -1;
	rig_open_with(g, &policy_freemarket);
	rig_join(g, SERVER_SLOT, SERVER);
	rig_join(g, BULK_SLOT, BULK);
	rig_publish(g);
	rig_tick(g, MS);
	rig_next_epoch(g);
	g->scan[SERVER_SLOT].add.mtus_sent = 237;
	g->scan[BULK_SLOT].add.mtus_sent = 811;
	*state = g;
	return 0;
}

TEST_WITH(freemarket__paper_pair__bulk_is_first_cut_at_617_ms_and_the_server_never, open_freemarket,
	  rig_teardown)
{
	struct sampler_rig *g = *state;
	int first = 0;

	assert_int_equal(rig_account(g, BULK_SLOT)->allocated.m, RESOS(624288));
	for (int ms = 1; ms < 1000; ms++) {
		one_ms(g);
		if (!first && percent_of(g, BULK))
			first = ms;
	}
	assert_int_equal(first, 617);
	assert_int_equal(fake_calls(&g->host, SERVER), 0);
	assert_int_equal(rig_account(g, SERVER_SLOT)->balance.m, RESOS(624288 - 999 * 337));
}

TEST_WITH(freemarket__caps_written__a_tenth_less_each_10_ms_then_1_until_the_epoch, open_freemarket,
	  rig_teardown)
{
	/* 90 % of 90 % of ..., in milli-percent rounded down, written to the nearest percent */
	static const uint32_t steps[] = { 90, 81, 73, 66, 59, 53, 48 };
	struct sampler_rig *g = *state;

	for (int ms = 1; ms < 1000; ms++)
		one_ms(g);
	assert_int_equal(g->host.calls, 8);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(g->host.call[i].percent, steps[i]);
	assert_int_equal(g->host.call[7].percent, 1); /* 624,288 / 911: empty after 685 ms */
	assert_int_equal(percent_of(g, BULK), 1);
	assert_int_equal(rig_events(g, EVENT_EMPTY), 1);
	one_ms(g); /* the next epoch */
	assert_int_equal(percent_of(g, BULK), 0);
	assert_int_equal(rig_account(g, BULK_SLOT)->balance.m, RESOS(624288));
}

TEST_WITH(freemarket__late_ticks__burn_the_same_and_cut_at_the_next_tick, open_freemarket,
	  rig_teardown)
{
	struct sampler_rig *g = *state;
	int first = 0;

	g->scan[SERVER_SLOT].add.mtus_sent = 237 * 7;
	g->scan[BULK_SLOT].add.mtus_sent = 811 * 7;
	for (int ms = 7; ms < 700; ms += 7) {
		fake_dom(&g->host, BULK)->dom.cpu_ns += 7 * MS;
		rig_tick(g, 7 * MS);
		rig_actor(g);
		if (!first && percent_of(g, BULK))
			first = ms;
	}
	assert_int_equal(first, 623); /* the first multiple of 7 that is not below 617 */
}
