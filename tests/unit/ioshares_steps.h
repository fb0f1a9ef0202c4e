/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ioshares_steps: the rig of ioshares in rows of steps (tests/unit/steps.h). A row begins with
 * the reporter in slot 3 and the offender in slot 7, and windows of one interval.
 *
 * Steps:
 *	rep SLOT, off SLOT	another reporter or offender, in ascending slots
 *	over N us [of 3]	its requests wait N us longer than alone; also in ns
 *	spread N us [of 3]	they wait as long as alone in the mean, each N us more or less
 *	asks N [of 3]		N requests an interval; silent [of 3]: none
 *	waits N us [of 3]	the part of WTime + PTime in its base, which is 200 us
 *	tolerance N, cpu N, base N us [of 3], deviates N us [of 3]
 *	sends N [of 7]		MTUs an interval; receives N [of 7]
 *	size N [of 7]		bytes of its largest message
 *	queues N [of 7]		send queues that have work; 1000 unless set
 *	tax N [of 7]		its rate is N; charged N [of 7]: so is only the rate in force
 *	place N [of 7]		its place in the cycles
 *	ceiling N, capped N	the operator's cap, which is in force; a cap of another
 *	flags N, link N, vcpus N, least N, allocated N, balance N [of 7]
 *	new SLOT, restart SLOT	with a block of zeros, or the one that it had
 *	away SLOT, back		it is not in the input meanwhile
 *	changed SLOT		its cap was set now; the operator did it
 *	defaults, param NAME N	of the parameters; else windows are short
 *	speed N	of link 0, MTUs an interval
 *	run N			intervals; stuck N: in which no cap is applied; later N: one of N ms
 *	judge			as many as a window without gross harm takes
 *
 * Expectations:
 *	verdict NAME [of 3], intf, excess, samples, holds, open, set N [of 3]
 *	blames SLOT, spares SLOT	by reporter 3; most SLOT; first N: interference when it
 *				first blamed 7
 *	rate, cap, accused, pause, place, bytes N [of 7], calm N [of link 0]
 *	says NAME [of 7], figures A B C D SLOT
 */
#ifndef RESEX_TESTS_IOSHARES_STEPS_H
#define RESEX_TESTS_IOSHARES_STEPS_H

#include "tests/unit/ioshares_rig.h"
#include "tests/unit/steps.h"

struct ios_row {
	const char *name, *script;
};

/* "N of SLOT" */
static inline uint32_t slot_in(const struct step *s, uint32_t otherwise)
{
	return (uint32_t)step_number(s, 1, otherwise);
}

static inline uint64_t ns_in(const struct step *s)
{
	return s->n[0] * (step_says(s, "us") ? 1000 : 1);
}

/* n requests, each of which waits as long as alone and this much. */
static inline void say_more(struct policy_guest *p, uint64_t n, uint64_t ns)
{
	say(p, n, p->sla.base_ns + ns, p->sla.base_io_ns + ns);
}

/* The guest begins again, without a cap, and has its former block. */
static inline void restart(struct rig *g, uint32_t slot)
{
	guest(g, slot)->flags |= POLICY_NEW;
	guest(g, slot)->cap = CAP_NONE;
	guest(g, slot)->cap_time.ns = 0;
	guest(g, slot)->rate = RATE_ONE;
}

static inline void renew(struct rig *g, uint32_t slot)
{
	memset(state_of(g, slot), 0, sizeof(struct ios_guest));
	restart(g, slot);
}

/* The guest is not in the input until back(). */
static inline void away(struct rig *g, uint32_t slot, struct policy_guest *kept)
{
	struct policy_guest *p = guest(g, slot);

	*kept = *p;
	memmove(p, p + 1, (size_t)(&g->in.guest[--g->in.guests] - p) * sizeof(*p));
}

static inline void back(struct rig *g, const struct policy_guest *kept)
{
	uint32_t i = g->in.guests++;

	for (; i && g->in.guest[i - 1].slot > kept->slot; i--)
		g->in.guest[i] = g->in.guest[i - 1];
	g->in.guest[i] = *kept;
}

/* Intervals in which no cap is applied. */
static inline void run_stuck(struct rig *g, uint64_t ticks)
{
	for (uint64_t i = 0; i < ticks; i++) {
		g->in.now.ns += MS;
		rig_decide(g);
		for (uint32_t k = 0; k < g->in.guests; k++)
			g->in.guest[k].flags &= ~(uint32_t)POLICY_NEW;
	}
}

static inline bool act_on_reporter(struct rig *g, const struct step *s)
{
	struct policy_guest *p = guest(g, slot_in(s, REP));
	struct report *r = &p->report;
	uint64_t n = r->n ? r->n : 4;

	if (step_is(s, "over")) {
		say_more(p, n, ns_in(s));
	} else if (step_is(s, "spread")) {
		say_more(p, n, 0);
		r->io_sumsq_lo += n * ns_in(s) * ns_in(s);
	} else if (step_is(s, "asks")) {
		say_more(p, s->n[0], r->sum_ns / n - p->sla.base_ns);
	} else if (step_is(s, "waits")) {
		p->sla.base_io_ns = ns_in(s);
		say_more(p, n, 0);
	} else if (step_is(s, "base")) {
		p->sla.base_ns = ns_in(s);
	} else if (step_is(s, "deviates")) {
		p->sla.base_dev_ns = ns_in(s);
	} else if (step_is(s, "cpu")) {
		p->usage.cpu_ns = s->n[0];
	} else if (step_is(s, "tolerance")) {
		p->sla.tolerance = (uint32_t)s->n[0];
	} else {
		return false;
	}
	return true;
}

static inline bool act_on_offender(struct rig *g, const struct step *s)
{
	struct policy_guest *p = guest(g, slot_in(s, OFF));

	if (step_is(s, "sends"))
		p->usage.mtus_sent = s->n[0];
	else if (step_is(s, "queues"))
		p->usage.queues = s->n[0];
	else if (step_is(s, "size"))
		p->usage.msg_bytes = (uint32_t)s->n[0];
	else if (step_is(s, "receives"))
		p->usage.mtus_recv = s->n[0];
	else if (step_is(s, "tax"))
		state_of(g, p->slot)->rate = p->rate.q16 = (uint32_t)(s->n[0] * ONE);
	else if (step_is(s, "place"))
		state_of(g, p->slot)->place = (uint32_t)s->n[0];
	else if (step_is(s, "charged"))
		p->rate.q16 = (uint32_t)(s->n[0] * ONE);
	else if (step_is(s, "ceiling"))
		p->bounds.ceiling = p->cap = cap_from_percent((uint32_t)s->n[0]);
	else if (step_is(s, "capped"))
		p->cap = cap_from_percent((uint32_t)s->n[0]);
	else if (step_is(s, "vcpus"))
		p->bounds.vcpus = (uint32_t)s->n[0];
	else if (step_is(s, "least"))
		p->bounds.min_mpct = (uint32_t)s->n[0];
	else if (step_is(s, "allocated"))
		p->allocated.m = (int64_t)s->n[0];
	else if (step_is(s, "balance"))
		p->balance.m = (int64_t)s->n[0];
	else if (step_is(s, "flags"))
		p->flags = (uint32_t)s->n[0];
	else if (step_is(s, "link"))
		p->link = (uint32_t)s->n[0];
	else
		return false;
	return true;
}

static inline void ios_act(void *rig, const struct step *s)
{
	static struct policy_guest kept;
	struct rig *g = rig;
	uint32_t slot = (uint32_t)s->n[0];

	if (step_is(s, "away"))
		away(g, slot, &kept);
	else if (step_is(s, "back"))
		back(g, &kept);
	else if (step_is(s, "rep"))
		reporter(g, slot);
	else if (step_is(s, "off"))
		offender(g, slot);
	else if (step_is(s, "silent"))
		guest(g, slot)->report.n = 0;
	else if (step_is(s, "new"))
		renew(g, slot);
	else if (step_is(s, "restart"))
		restart(g, slot);
	else if (step_is(s, "changed"))
		guest(g, slot)->cap_time = g->in.now;
	else if (step_is(s, "defaults"))
		for (const struct policy_param *p = g->ops->params; p->name; p++)
			rig_param(g, p->name, p->def);
	else if (step_is(s, "param"))
		rig_param(g, s->word, s->n[0]);
	else if (step_is(s, "speed"))
		g->in.link[0].bytes_s = s->n[0] * g->in.link[0].mtu * 1000;
	else if (step_is(s, "run"))
		run(g, (int)s->n[0]);
	else if (step_is(s, "later"))
		g->in.now.ns += (int64_t)s->n[0] * MS;
	else if (step_is(s, "stuck"))
		run_stuck(g, s->n[0]);
	else if (step_is(s, "judge"))
		judge(g);
	else if (!act_on_reporter(g, s) && !act_on_offender(g, s))
		step_unknown(s);
}

/* The place of the step's word in a list of names. */
static inline uint32_t named(const struct step *s, const char *const *names, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (step_says(s, names[i]))
			return i;
	step_unknown(s);
	return 0;
}

static const char *const verdict_names[] = { "none", "nobase", "fine", "self", "nobody", "over" };
static const char *const reason_names[] = { "free",   "taxed", "empty",	  "exempt",  "uncappable",
					    "futile", "self",  "hurt",	  "nobody",  "nobase",
					    "fading", "floor", "unheard", "unknown", "spared",
					    "soon",   "held",  "least" };

/* Expectations that name a slot instead of a figure. */
static inline bool check_slot(struct rig *g, const struct step *s)
{
	uint32_t slot = (uint32_t)s->n[0];
	const struct ios_set *set = &state_of(g, REP)->blamed;

	if (step_is(s, "blames"))
		step_holds(s, ios_in_set(set, slot));
	else if (step_is(s, "spares"))
		step_holds(s, !ios_in_set(set, slot));
	else if (step_is(s, "verdict"))
		assert_int_equal(state_of(g, s->numbers ? slot : REP)->verdict,
				 named(s, verdict_names, IOS_OVER + 1));
	else if (step_is(s, "says"))
		assert_int_equal(reason(g, s->numbers ? slot : OFF),
				 named(s, reason_names, REASONS));
	else if (step_is(s, "figures"))
		for (int i = 0; i < 4; i++)
			assert_int_equal(g->plan.guest[s->n[4]].why[i], s->n[i]);
	else
		return false;
	return true;
}

static inline bool check_figure(struct rig *g, const struct step *s)
{
	const struct ios_guest *r = state_of(g, slot_in(s, REP)), *o = state_of(g, slot_in(s, OFF));
	const struct cap cap = g->plan.guest[slot_in(s, OFF)].cap;
	const struct step_figure figures[] = {
		{ "intf", r->intf },
		{ "excess", r->excess },
		{ "samples", r->w.n },
		{ "holds", r->holds },
		{ "open", r->w.open },
		{ "set", r->blamed.guests },
		{ "most", r->blamed.most },
		{ "rate", rate(g, slot_in(s, OFF)) },
		{ "cap", cap.limited ? cap.mpct : 0 },
		{ "accused", o->has_accuser },
		{ "pause", (uint64_t)o->pause },
		{ "place", o->place },
		{ "bytes", o->size },
		{ "first", r->first_intf[OFF] },
		{ "calm", ((struct ios_global *)(void *)g->global)->link[0].calm },
	};

	return step_expect_figure(s, figures, sizeof(figures) / sizeof(figures[0]));
}

static inline void ios_check(void *rig, const struct step *s)
{
	if (!check_slot(rig, s) && !check_figure(rig, s))
		step_unknown(s);
}

static inline void run_ios_row(void **state)
{
	static const struct steps_ops ops = { .act = ios_act, .check = ios_check };
	const struct ios_row *row = *state;
	static struct rig g;

	ios_open(&g);
	quick(&g);
	steps_run(row->script, &ops, &g);
	rig_close(&g);
}

#endif
