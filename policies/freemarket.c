// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * freemarket: a guest may spend its Resos as it likes (paper VI-B, V-D1).
 *
 * Every guest pays the same price. A guest that has few Resos left while much of
 * the epoch remains is slowed down step by step, so that it does not stop all at
 * once; a guest that has none left runs at the lowest cap. The next epoch lifts
 * all caps.
 *
 *	new epoch                  -> no cap
 *	balance 0                  -> lowest cap, until the next epoch
 *	balance < low, time > guard -> cap less cut, once a step
 *	otherwise                  -> unchanged
 *
 * Cuts continue from the cap that this policy wanted last, in milli-percent: the
 * cap in force is a whole percentage, and may be a few intervals old.
 */
#include "policies/state.h"
#include "resex/policy.h"
#include "src/core/caps.h"

struct fm_params {
	uint64_t low;
	uint64_t guard;
	uint64_t cut;
	uint64_t step;
	uint64_t min_cap;
};

/* State of a guest; zero: never seen. */
struct fm_guest {
	uint64_t seen;	  /* number of the epoch this is about, plus one */
	struct mono last; /* time of the last cut, when cap is limited */
	struct cap cap;	  /* wanted */
	uint32_t exhausted;
	uint32_t reserved;
};

enum fm_reason { FM_FREE, FM_CUT, FM_EXHAUSTED, FM_EXEMPT, FM_NOT_CAPPABLE };

static const char *const fm_reasons[] = {
	[FM_FREE] = "no cap: %0m of %1m Resos are left",
	[FM_CUT] = "cap cut to %2c percent: %0m of %1m Resos are left, and caps are cut below %3m",
	[FM_EXHAUSTED] =
		"lowest cap, %2c percent, until the next epoch: all of %1m Resos are spent",
	[FM_EXEMPT] = "no cap: the guest is exempt; %0m of %1m Resos are left",
	[FM_NOT_CAPPABLE] =
		"no cap: the guest's original cap is not saved yet; %0m of %1m Resos are left",
	NULL,
};

static const struct policy_param fm_params[] = {
	{ "low", "permille",
	  "Cut when less than this part of the allocation is left (paper VI-B: 10 %).",
	  offsetof(struct fm_params, low), 0, 1000, 100 },
	{ "guard", "permille",
	  "Cut only while more than this part of the epoch remains (paper VI-B: 10 %).",
	  offsetof(struct fm_params, guard), 0, 1000, 100 },
	{ "cut", "permille", "Part of the cap that one cut takes away (paper VI-B: 10 %).",
	  offsetof(struct fm_params, cut), 1, 1000, 100 },
	{ "step", "ns", "Time between two cuts (one refill of credit2; the paper has 1 ms).",
	  offsetof(struct fm_params, step), 100000, 1000000000, 10000000 },
	{ "min_cap", "mpct",
	  "Cap of a guest that has spent everything (paper V-D1: \"a minimum\"; 1 % is the "
	  "least that Xen accepts).",
	  offsetof(struct fm_params, min_cap), 1000, 100000, 1000 },
	{ NULL, NULL, NULL, 0, 0, 0, 0 },
};

/* permille times whole, exact; whole is never negative. */
static unsigned __int128 times(int64_t whole, uint64_t permille)
{
	return (unsigned __int128)(uint64_t)whole * permille;
}

/* permille of whole, rounded down: almost always in 64 bits, which divides much faster. */
static int64_t part_of(int64_t whole, uint64_t permille)
{
	uint64_t product;

	if (__builtin_mul_overflow((uint64_t)whole, permille, &product))
		return (int64_t)(times(whole, permille) / 1000);
	return (int64_t)(product / 1000);
}

/* Above this part of the allocation nothing is cut, and only cuts depend on the time. */
static struct resos stands_to(int64_t part)
{
	return (struct resos){ part < INT64_MAX ? part + 1 : 0 };
}

/* The bounds of a guest's cap under this policy's own minimum. */
static struct cap_bounds fm_bounds(const struct cap_bounds *b, const struct fm_params *p)
{
	struct cap_bounds own = *b;

	if (own.min_mpct < p->min_cap)
		own.min_mpct = (uint32_t)p->min_cap;
	return own;
}

static bool is_low(const struct policy_guest *g, uint64_t low)
{
	return times(g->balance.m, 1000) < times(g->allocated.m, low);
}

/* Does more than guard of the epoch remain? */
static bool is_early(const struct policy_in *in, uint64_t guard)
{
	int64_t remaining = in->epoch_ns - mono_sub(in->now, in->epoch_start);

	return remaining > 0 && times(remaining, 1000) > times(in->epoch_ns, guard);
}

/*
 * A cut needs time to act: credit2 applies a new cap at its next refill, so cuts in between
 * would all act at once.
 */
static bool cut_is_due(const struct policy_in *in, const struct policy_guest *g,
		       const struct fm_params *p, const struct fm_guest *s)
{
	if (!is_low(g, p->low) || !is_early(in, p->guard))
		return false;
	return !s->cap.limited || mono_sub(in->now, s->last) >= (int64_t)p->step;
}

/* Update a guest's state for this interval. */
static void fm_update(const struct policy_in *in, const struct policy_guest *g,
		      const struct fm_params *p, struct fm_guest *s)
{
	struct cap_bounds b;

	/*
	 * A new epoch lifts all caps: zero is "no cap". seen is the number plus one, so
	 * that a zeroed state is of no epoch.
	 */
	if (s->seen != in->epoch + 1)
		*s = (struct fm_guest){ .seen = in->epoch + 1 };

	if (!g->balance.m && g->allocated.m > 0)
		s->exhausted = 1;
	/* Exhausted stays until the epoch ends, whatever the balance is later. */
	if (s->exhausted) {
		b = fm_bounds(&g->bounds, p);
		s->cap = cap_clamp((struct cap){ 1, b.min_mpct }, &b);
	} else if (cut_is_due(in, g, p, s)) {
		b = fm_bounds(&g->bounds, p);
		s->cap = cap_clamp(cap_cut(s->cap, (uint32_t)p->cut, &b), &b);
		s->last = in->now;
	}
}

static enum fm_reason reason_of(const struct fm_guest *s)
{
	if (s->exhausted)
		return FM_EXHAUSTED;
	return s->cap.limited ? FM_CUT : FM_FREE;
}

static void fm_decide(const struct policy_in *in, const void *params, void *global, void *guests,
		      struct plan *plan)
{
	const struct fm_params *p = params;
	struct fm_guest *state = guests;

	(void)global;
	for (uint32_t i = 0; i < in->guests; i++) {
		const struct policy_guest *g = &in->guest[i];
		struct fm_guest *s = &state[g->slot];
		struct plan_guest *out = &plan->guest[g->slot];

		if (policy_stands(in, i))
			continue;
		out->cap = CAP_NONE;
		out->rate = RATE_ONE;
		out->vf_bytes_s = 0;
		if (g->flags & POLICY_EXEMPT) {
			out->reason = FM_EXEMPT;
		} else if (!(g->flags & POLICY_CAPPABLE)) {
			out->reason = FM_NOT_CAPPABLE;
		} else {
			fm_update(in, g, p, s);
			out->cap = s->cap;
			out->reason = reason_of(s);
		}
		out->why[0] = g->balance.m;
		out->why[1] = g->allocated.m;
		out->why[2] = out->cap.mpct;
		out->why[3] = part_of(g->allocated.m, p->low);
		out->stands = stands_to(out->why[3]);
	}
}

bool freemarket_state_good(const void *guests)
{
	const struct fm_guest *s = guests;

	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (!state_time_good(s[i].last) || s[i].cap.limited > 1)
			return false;
	return true;
}

const struct policy_ops policy_freemarket = {
	.abi = POLICY_ABI,
	.size = sizeof(struct policy_ops),
	.name = "freemarket",
	.text = "One price for all; a guest that has spent nearly all its Resos too early is "
		"slowed down.",
	.params_size = sizeof(struct fm_params),
	.guest_size = sizeof(struct fm_guest),
	.params = fm_params,
	.reasons = fm_reasons,
	.decide = fm_decide,
};
