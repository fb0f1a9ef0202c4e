// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * slo_level: windows of reports, what they say of a link's level, and the next level. slo.c calls
 * it; slo.h says how the search goes, and resex-policies(7) fixes each rounding.
 */
#include "policies/slo.h"

#include "src/core/stats.h"

enum {
	FEW = 8,    /* this part of min_samples is enough for a reporter in an old window */
	PROBE = 16, /* so many windows old, a window can show that a level holds */
	LONGEST = 64,
	EARLY = 4, /* so many, when the harm is far below the promise */
	CYCLE = 5, /* refills after which cap 1 lets a guest run */
	PLACE_BITS = 8,
	LIFT = 95, /* from this level on, caps are lifted */
	FAILS_MAX = 4,
	ALIKE = 950, /* permille of what members sent: the last step changed nothing */
	SILENT = 5,  /* times stale: members that sent nothing for so long have no caps */
	/* A level that fails aims at this part of the promise, one that is raised at the other. */
	AIM = 900,
	AIM_UP = 950,

	/* Of an excess, fixed point: */
	FAR = 4 * 65536 / 10,
	NEAR = 9 * 65536 / 10, /* above this a level stays */
	CLEAR = 95 * 65536 / 100,
	GROSS = 2 * 65536,
};

/* From this age on, in windows, an excess above that fails. */
static const struct {
	uint32_t windows;
	uint64_t excess;
} fails_at[] = {
	{ 1, GROSS - 1 },
	{ EARLY, 5 * 65536 / 4 },
	{ PROBE, 11 * 65536 / 10 },
	{ LONGEST, 65536 },
};

/* --- windows ---------------------------------------------------------------------- */

/* The samples of a report, 0 if its figures contradict each other. */
static uint64_t plausible_samples(const struct report *r)
{
	if (r->n > SLO_SAMPLES_MAX || r->io_sum_ns > r->sum_ns || r->sum_ns > r->n << 34)
		return 0;
	return r->n;
}

static uint64_t queues_of(const struct policy_guest *g)
{
	return g->usage.queues < SLO_QUEUES_MAX ? g->usage.queues : SLO_QUEUES_MAX;
}

bool slo_reports(const struct slo_tick *t, const struct policy_guest *g)
{
	const struct slo_guest *s = &t->state[g->slot];

	return slo_promised(g) && s->was_heard &&
	       mono_sub(t->in->now, s->heard) <= (int64_t)t->p->stale &&
	       mono_sub(s->refused_until, t->in->now) <= 0;
}

/*
 * Capped members send in bursts, whose distance depends on the scheduler: a window holds a whole
 * one.
 */
static void note_pause(const struct slo_tick *t, struct slo_link *l)
{
	int64_t pause = mono_sub(t->in->now, l->sent_time), stale = (int64_t)t->p->stale;

	l->sent_time = t->in->now;
	if (pause > stale)
		pause = stale;
	if (pause >= l->pause || mono_sub(t->in->now, l->pause_seen) > 2 * stale) {
		l->pause = pause;
		l->pause_seen = t->in->now;
	}
}

static void add_usage(struct slo_tick *t, const struct policy_guest *g)
{
	struct slo_guest *s = &t->state[g->slot];
	uint64_t n = plausible_samples(&g->report);
	uint64_t queues = t->link[g->link].queues - queues_of(g);
	slo_wide mtus = (slo_wide)g->usage.mtus_sent + g->usage.mtus_recv;

	s->mtus = slo_add(s->mtus, mtus > UINT32_MAX ? UINT32_MAX : (uint64_t)mtus);
	s->queues = slo_add(s->queues, queues);
	s->active += queues > 0;
	if (s->member && mtus)
		note_pause(t, &t->global->link[g->link]);
	if (!n || s->n + n > SLO_SAMPLES_MAX)
		return;
	s->n += n;
	s->io_sum += g->report.io_sum_ns;
}

void slo_collect(struct slo_tick *t)
{
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];
		struct slo_guest *s = &t->state[g->slot];

		t->link[g->link].queues += queues_of(g);
		if (plausible_samples(&g->report)) {
			s->was_heard = 1;
			s->heard = t->in->now;
		}
	}
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];

		add_usage(t, g);
		t->link[g->link].reporters += slo_reports(t, g);
	}
}

static void open_window(struct slo_tick *t, uint32_t link)
{
	struct slo_link *l = &t->global->link[link];

	l->open = 1;
	l->start = t->in->now;
	for (uint32_t i = 0; i < t->in->guests; i++) {
		struct slo_guest *s = &t->state[t->in->guest[i].slot];

		if (t->in->guest[i].link == link)
			s->n = s->io_sum = s->mtus = s->queues = s->active = 0;
	}
}

/* --- what a window says ----------------------------------------------------------- */

/* The windows of a link, judged: of all its reporters the one with the largest excess. */
struct judged {
	uint64_t excess;
	const struct policy_guest *worst; /* NULL: none has enough samples */
	bool all;			  /* each reporter has */
};

/* How old the window of a link is, ns. */
static uint64_t age_of(const struct slo_tick *t, uint32_t link)
{
	int64_t age = mono_sub(t->in->now, t->global->link[link].start);

	return age > 0 ? (uint64_t)age : 0;
}

/* MTUs that the link could have moved in the window. */
static slo_wide capacity(const struct slo_tick *t, uint32_t link)
{
	const struct policy_link *l = &t->in->link[link];
	slo_wide mtus = (slo_wide)l->bytes_s * age_of(t, link) /
			((slo_wide)(l->mtu ? l->mtu : 1) * NS_PER_S);

	return mtus ? mtus : 1;
}

/* The time that a request is on the link, of its base latency. */
static uint64_t on_link(const struct policy_guest *g)
{
	return slo_fraction(g->sla.base_io_ns, g->sla.base_ns);
}

/*
 * The most that others can have caused: beside each of their queues that has work, a request waits
 * for its own time on the link once more, in the part of the time in which they have some.
 */
static uint64_t bound_of(const struct slo_tick *t, const struct policy_guest *g)
{
	const struct slo_guest *s = &t->state[g->slot];
	slo_wide all = capacity(t, g->link), others = 0, own, wait = on_link(g);
	uint64_t busy;

	for (uint32_t i = 0; i < t->in->guests; i++)
		if (t->in->guest[i].link == g->link && i != (uint32_t)(g - t->in->guest))
			others += t->state[t->in->guest[i].slot].mtus;
	own = s->mtus < others ? s->mtus : others;
	busy = others + own >= all ? SLO_ONE : (uint64_t)(others * SLO_ONE / (all - own));
	if (s->active)
		wait = wait * s->queues / s->active;
	wait = wait * busy / SLO_ONE;
	return wait > UINT32_MAX ? UINT32_MAX : (uint64_t)wait;
}

static uint64_t rise_of(const struct slo_tick *t, const struct policy_guest *g)
{
	const struct slo_guest *s = &t->state[g->slot];
	uint64_t io = s->io_sum / s->n, base = g->sla.base_io_ns;

	return io > base ? slo_fraction(io - base, g->sla.base_ns) : 0;
}

static uint64_t excess_of(const struct slo_tick *t, const struct policy_guest *g, uint64_t rise,
			  uint64_t bound)
{
	return (rise < bound ? rise : bound) * 1000 / slo_tolerance(t->p, g);
}

static bool has_enough(const struct slo_tick *t, const struct policy_guest *g, uint64_t windows)
{
	uint64_t n = t->state[g->slot].n;

	return n && (n >= t->p->min_samples || (windows >= PROBE && n * FEW >= t->p->min_samples));
}

static struct judged judge(const struct slo_tick *t, uint32_t link, uint64_t windows)
{
	struct judged j = { .all = true };

	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];
		uint64_t excess;

		if (g->link != link || !slo_reports(t, g))
			continue;
		if (!has_enough(t, g, windows)) {
			j.all = false;
			continue;
		}
		excess = excess_of(t, g, rise_of(t, g), bound_of(t, g));
		if (!j.worst || excess > j.excess) {
			j.worst = g;
			j.excess = excess;
		}
	}
	return j;
}

/* What is said of each reporter is that of the window that decided last. */
static void note_verdicts(struct slo_tick *t, uint32_t link, uint64_t windows)
{
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];
		struct slo_guest *s = &t->state[g->slot];

		if (g->link != link || !slo_reports(t, g) || !has_enough(t, g, windows))
			continue;
		s->rise = rise_of(t, g);
		s->bound = bound_of(t, g);
		s->verdict = excess_of(t, g, s->rise, s->bound) > SLO_ONE ? SLO_BROKEN : SLO_HELD;
	}
}

/* --- members ---------------------------------------------------------------------- */

struct cap_bounds slo_bounds(const struct slo_params *p, const struct policy_guest *g)
{
	struct cap_bounds b = g->bounds;

	if (b.min_mpct < p->min_cap)
		b.min_mpct = (uint32_t)p->min_cap;
	return b;
}

/* The level at which this guest has its lowest cap. */
static uint32_t floor_of(const struct slo_tick *t, const struct policy_guest *g)
{
	uint64_t full = (uint64_t)g->bounds.vcpus * 1000;
	uint64_t level = (slo_bounds(t->p, g).min_mpct + full - 1) / (full ? full : 1);

	return level < 1 ? 1 : level > SLO_FREE ? SLO_FREE : (uint32_t)level;
}

/* The lowest level at which some member of the link is not at its lowest cap. */
static uint32_t floor_level(const struct slo_tick *t, uint32_t link)
{
	uint32_t floor = SLO_FREE;

	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];

		if (g->link == link && t->state[g->slot].member && floor_of(t, g) < floor)
			floor = floor_of(t, g);
	}
	return floor;
}

static bool may_join(const struct slo_tick *t, const struct policy_guest *g, uint32_t link)
{
	return g->link == link && slo_may_cap(g) && !slo_promised(g) && t->state[g->slot].mtus > 0;
}

/* The lowest place that no member of the link has. */
static uint32_t free_place(const struct slo_tick *t, uint32_t link)
{
	uint64_t used[FLOW_GUESTS_MAX / 64] = { 0 };
	uint32_t place = 0;

	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct slo_guest *s = &t->state[t->in->guest[i].slot];

		if (t->in->guest[i].link == link && s->member)
			used[s->place / 64] |= 1ull << s->place % 64;
	}
	while (used[place / 64] >> place % 64 & 1)
		place++;
	return place;
}

/* Could n guests like this one cost the reporter r more than the part that is spared? */
static bool matters(const struct slo_tick *t, const struct policy_guest *g,
		    const struct policy_guest *r, uint64_t n)
{
	slo_wide harm = (slo_wide)t->state[g->slot].mtus * on_link(r) / capacity(t, g->link);

	return harm * n * 1000000 > (slo_wide)slo_tolerance(t->p, r) * t->p->spare * SLO_ONE;
}

/* Those that matter to the reporter r become members; if there are no members then, all do. */
static void add_members(struct slo_tick *t, uint32_t link, const struct policy_guest *r)
{
	uint64_t n = 0, members = 0;

	for (uint32_t i = 0; i < t->in->guests; i++)
		n += may_join(t, &t->in->guest[i], link);
	for (int every = 0; every < 2 && !members; every++)
		for (uint32_t i = 0; i < t->in->guests; i++) {
			const struct policy_guest *g = &t->in->guest[i];
			struct slo_guest *s = &t->state[g->slot];

			if (may_join(t, g, link) && !s->member && (every || matters(t, g, r, n))) {
				s->place = free_place(t, link);
				s->member = 1;
			}
			members += g->link == link && s->member;
		}
}

static bool has_members(const struct slo_tick *t, uint32_t link)
{
	for (uint32_t i = 0; i < t->in->guests; i++)
		if (t->in->guest[i].link == link && t->state[t->in->guest[i].slot].member)
			return true;
	return false;
}

/* MTUs a second of all members since the window was opened. */
static uint64_t members_sent(const struct slo_tick *t, uint32_t link)
{
	uint64_t age = age_of(t, link);
	slo_wide sum = 0;

	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct slo_guest *s = &t->state[t->in->guest[i].slot];

		if (t->in->guest[i].link == link && s->member)
			sum += s->mtus;
	}
	sum = sum * NS_PER_S / (age ? age : 1);
	return sum > UINT64_MAX / 2000 ? UINT64_MAX / 2000 : (uint64_t)sum;
}

/* --- levels ----------------------------------------------------------------------- */

/* Places are far apart, however many there are: 0, 1/2, 1/4, 3/4, 1/8 ... of a cycle. */
static int64_t time_of_place(int64_t cycle, uint32_t place)
{
	uint32_t part = 0;

	for (uint32_t bit = 0; bit < PLACE_BITS; bit++)
		part |= (place >> bit & 1) << (PLACE_BITS - 1 - bit);
	return cycle * part >> PLACE_BITS;
}

/* Each member has the new level at its place in the cycle in which cap 1 lets a guest run. */
static void set_level(struct slo_tick *t, uint32_t link, uint32_t level)
{
	struct slo_link *l = &t->global->link[link];
	int64_t cycle = (int64_t)t->p->bite * CYCLE, after = 0;

	if (l->level == SLO_FREE)
		l->cycles = t->in->now;
	l->level = level;
	l->open = 0;
	l->changed = t->in->now;
	for (uint32_t i = 0; i < t->in->guests; i++) {
		struct slo_guest *s = &t->state[t->in->guest[i].slot];

		if (t->in->guest[i].link != link || !s->member)
			continue;
		if (cycle)
			after = (time_of_place(cycle, s->place) + cycle -
				 mono_sub(t->in->now, l->cycles) % cycle) %
				cycle;
		s->due = mono_add(t->in->now, after);
		if (mono_sub(s->due, l->changed) > 0)
			l->changed = s->due;
	}
}

void slo_lift(struct slo_tick *t, uint32_t link)
{
	struct slo_link *l = &t->global->link[link];

	l->level = SLO_FREE;
	l->hold = l->fail = l->fails = l->open = l->is_floor = 0;
	l->fail_sent = 0;
	l->pause = 0;
	for (uint32_t i = 0; i < t->in->guests; i++) {
		struct slo_guest *s = &t->state[t->in->guest[i].slot];

		if (t->in->guest[i].link == link)
			s->member = s->level = 0;
	}
}

/* Harm is about proportional to what is sent: the level at which it is this part of the promise. */
static uint64_t scaled(uint32_t level, uint64_t aim, uint64_t excess)
{
	slo_wide next = (slo_wide)level * aim * SLO_ONE / (1000 * (excess ? excess : 1));

	return next > 2 * (uint64_t)level ? 2 * (uint64_t)level : (uint64_t)next;
}

/* The promise of r is not held at the lowest level. Has that level helped enough to be kept? */
static void at_floor(struct slo_tick *t, uint32_t link, const struct judged *j)
{
	struct slo_link *l = &t->global->link[link];
	struct slo_guest *r = &t->state[j->worst->slot];

	l->is_floor = 1;
	l->open = 0;
	if (!t->p->futile || mono_sub(t->in->now, l->floor_time) < (int64_t)t->p->futile)
		return;
	if (!r->first || (slo_wide)j->excess * 1000 <= (slo_wide)r->first * (1000 - t->p->gain))
		return;
	r->refused_until = mono_add(t->in->now, (int64_t)t->p->rest);
	l->settled = 0;
	slo_lift(t, link);
}

/*
 * How long the level that held must be in force after one of this excess, which was in force for
 * `age`, so that the mean of both is near the promise: a promise is one on a mean.
 */
static uint64_t time_to_hold(const struct slo_link *l, uint64_t age, uint64_t excess)
{
	const uint64_t goal = AIM_UP * SLO_ONE / 1000;
	slo_wide ns = (slo_wide)age * (excess > goal ? excess - goal : 0) / (goal - l->hold_excess);

	return ns > INT64_MAX / 4 ? INT64_MAX / 4 : (uint64_t)ns;
}

/* A level above one that held fails: when it may be tried again. */
static void note_failure(struct slo_tick *t, uint32_t link, uint64_t excess)
{
	struct slo_link *l = &t->global->link[link];
	bool probed = l->hold && l->hold < l->level, gross = excess >= GROSS;
	uint64_t after, held;

	l->fails = !probed || !gross ? 0 : l->fails < FAILS_MAX ? l->fails + 1 : FAILS_MAX;
	after = t->p->retry << l->fails;
	if (probed && !gross) {
		held = time_to_hold(l, age_of(t, link), excess);
		after = held < after ? held : after;
	}
	if (!probed)
		l->hold = 0;
	l->fail = l->level;
	l->fail_until = mono_add(t->in->now, (int64_t)after);
}

static void fail_level(struct slo_tick *t, uint32_t link, const struct judged *j)
{
	struct slo_link *l = &t->global->link[link];
	uint64_t next, sent, before = l->fail_sent;
	uint32_t floor, free = l->level == SLO_FREE;

	l->worst = j->worst->slot;
	if (free) {
		t->state[l->worst].first = j->excess;
		l->sent_time = t->in->now;
	}
	add_members(t, link, j->worst);
	l->open = 0;
	if (!has_members(t, link))
		return;
	floor = floor_level(t, link);
	if (l->level <= floor) {
		at_floor(t, link, j);
		return;
	}
	sent = members_sent(t, link);
	note_failure(t, link, j->excess);
	l->fail_sent = sent;
	next = scaled(l->level, AIM, j->excess);
	if (next >= l->level)
		next = l->level - 1;
	/* With large messages many levels are alike: one message a refill. */
	if (!free && before && sent * 1000 >= before * ALIKE && next > l->level / 2)
		next = l->level / 2;
	if (free && l->settled && j->excess >= GROSS && next > l->settled)
		next = l->settled;
	if (next < l->hold)
		next = l->hold;
	if (next <= floor) {
		next = floor;
		l->floor_time = t->in->now;
	}
	set_level(t, link, (uint32_t)next);
}

/* The next level that may hold; the same one: there is none now. */
static uint32_t raised(const struct slo_link *l, uint64_t excess)
{
	uint64_t next = scaled(l->level, AIM_UP, excess);

	if (next <= l->level)
		next = l->level + 1u;
	if (l->fail) {
		uint64_t middle = isqrt64((uint64_t)l->level * l->fail);

		if (next > middle)
			next = middle > l->level ? middle : l->level + 1u;
		if (next >= l->fail)
			next = l->level;
	}
	return next >= LIFT ? SLO_FREE : (uint32_t)next;
}

static void hold_level(struct slo_tick *t, uint32_t link, const struct judged *j)
{
	struct slo_link *l = &t->global->link[link];
	uint32_t next;

	l->worst = j->worst->slot;
	l->open = 0;
	if (l->level == SLO_FREE)
		return;
	l->is_floor = 0;
	l->floor_time = t->in->now;
	l->fail_sent = 0;
	/* Without traffic of members the window shows nothing of their level. */
	if (!members_sent(t, link))
		return;
	l->hold = l->settled = l->level;
	if (l->fail && (j->excess < FAR || mono_sub(t->in->now, l->fail_until) >= 0))
		l->fail = 0;
	l->hold_excess = j->excess < NEAR ? j->excess : NEAR;
	if (j->excess >= NEAR)
		return;
	next = raised(l, j->excess);
	if (next == SLO_FREE)
		slo_lift(t, link);
	else if (next != l->level)
		set_level(t, link, next);
}

/* --- a tick ----------------------------------------------------------------------- */

static bool has_failed(const struct judged *j, uint64_t windows)
{
	for (size_t i = 0; i < sizeof(fails_at) / sizeof(fails_at[0]); i++)
		if (windows >= fails_at[i].windows && j->excess > fails_at[i].excess)
			return true;
	return false;
}

static bool has_held(const struct judged *j, uint64_t windows)
{
	if (windows >= LONGEST)
		return true;
	if (windows >= PROBE)
		return j->excess <= CLEAR;
	return windows >= EARLY && j->all && j->excess < FAR;
}

static void judge_link(struct slo_tick *t, uint32_t link)
{
	struct slo_link *l = &t->global->link[link];
	uint64_t pause = l->pause > 0 ? (uint64_t)l->pause : 0;
	uint64_t windows = age_of(t, link) / (pause > t->p->window ? pause : t->p->window);
	struct judged j;

	if (!windows)
		return;
	j = judge(t, link, windows);
	if (!j.worst) {
		l->open = windows < LONGEST;
		return;
	}
	if (has_failed(&j, windows)) {
		note_verdicts(t, link, windows);
		fail_level(t, link, &j);
	} else if (has_held(&j, windows)) {
		note_verdicts(t, link, windows);
		hold_level(t, link, &j);
	}
}

static bool are_silent(const struct slo_tick *t, const struct slo_link *l)
{
	return mono_sub(t->in->now, l->sent_time) > SILENT * (int64_t)t->p->stale;
}

void slo_levels(struct slo_tick *t)
{
	for (uint32_t i = 0; i < FLOW_LINKS_MAX; i++) {
		struct slo_link *l = &t->global->link[i];

		if (!t->link[i].used)
			continue;
		if (!l->level)
			l->level = SLO_FREE;
		if (!t->link[i].reporters || (l->level < SLO_FREE && are_silent(t, l))) {
			slo_lift(t, i);
			continue;
		}
		if (t->link[i].waits || mono_sub(l->start, t->link[i].quiet) < 0)
			l->open = 0;
		if (l->open)
			judge_link(t, i);
		if (!l->open && !t->link[i].waits && mono_sub(t->in->now, t->link[i].quiet) >= 0)
			open_window(t, i);
	}
}
