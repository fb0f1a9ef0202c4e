/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slo.h: private to the two files of the policy slo.
 *
 *	slo.c        parameters, reasons, the tick in its order, the plan
 *	slo_level.c  windows of reports, their verdicts, the search for a level
 *
 * Inputs: what each guest sent and reported in an interval, what it is promised (struct sla), its
 * cap and when that was set, the rate of its link.
 *
 * Goal: the mean of each guest that is promised one, its base x (1 + tolerance), is held, and the
 * guests that are promised nothing keep as much of their throughput as that allows.
 *
 * State: each link has a level, a percentage of all VCPUs, which is the cap of each of its members.
 * A member is a guest that is promised nothing and sends so much that it matters. Of levels the
 * link remembers the last one that held the goal, the lowest one that did not (for a while), and
 * the one that it had settled at.
 *
 * Search: a window is at least as long as the longest recent pause of the members, which send in
 * bursts when they are capped. A window of reports is judged when it is old enough for what it
 * shows. Gross harm is judged after one window, and what is within a tenth of the goal after 64.
 * A level that fails is lowered by the factor of the excess, since harm is about proportional to
 * what is sent; it is halved when the last step changed nothing that is sent, and is never below
 * one that held. A level that holds with room is raised by that factor, at most to the geometric
 * mean with one that failed. So it stops at a level whose next one failed. It tries that again
 * when the mean of both is near the goal; when it was gross, after `retry`, which doubles.
 * Members are capped in turn, so that they are not refilled at one moment.
 *
 * Bounds: a report counts as far as the traffic of others can have caused it. So a reporter that
 * lies holds its neighbours where their traffic could cost it the tolerance, and no lower. Guests
 * that could cost it, all together, a part of the tolerance (`spare`) are no members.
 *
 * Refused: a promise that is not held at the lowest level for `futile`, and of whose excess that
 * level takes away less than `gain`. With m bytes that a member has outstanding it sends at least
 * m in each 500 us / cap, 50 ms at cap 1: the part of the time in which the link is busy with it is
 * then m / (50 ms x rate of the link), and so much of its own time on the link a request waits. No
 * cap does better. All caps are lifted then, and the promise does not count for `rest`.
 *
 * Quantiles: none is promised, since no policy can see one. struct report has a number, sums and a
 * sum of squares; the histogram behind the p99 of `resex list` stays in the sampler, and cannot
 * be had from these. To promise that a part q of the requests takes at most limit_ns:
 *
 *	struct sla	limit_ns, and q in permille; 0: none is promised
 *	struct report	above: samples beyond limit_ns, counted where they are read. Counts of
 *			intervals add up to those of a window, as the buckets of a histogram would
 *	excess		above / (n x (1 - q)) of a window: a request is late when it meets a message
 *			of a member, so this is about proportional to what members send, and the
 *			search stays as it is
 *	bound		above counts at most for the part of the time in which the link is busy with
 *			others
 *
 * Both structs are part of POLICY_ABI, and of traces: each would have a new version.
 *
 * A member that sends whenever it runs sends at cap c for c of the time, and at cap 1 for at least
 * m / (50 ms x rate of the link), as above. That is its duty, and so many requests are late,
 * whatever the limit. So q is held only if q < 1 - the sum of the duties of all members. At the
 * lowest cap, min_cap, one member has a duty of 1 %: so q = 99 % has to be refused where it is set
 * ("at the lowest cap, 1 percent, one neighbour sends for 1 percent of the time, and makes as many
 * requests late; 99 percent in time leave 1 percent: promise at most 98.9"). A lower q depends on
 * who the members are: 1 MiB outstanding on 1 GiB/s is a duty of 2 %, and four such members leave
 * q < 92 %. That is known only at run time, and refused as a mean is.
 */
#ifndef RESEX_POLICIES_SLO_H
#define RESEX_POLICIES_SLO_H

#include "resex/policy.h"
#include "src/core/caps.h"

#define SLO_ONE 65536ull /* 1, fixed point with 16 fraction bits */

enum {
	SLO_FREE = 100, /* the level without caps */
	SLO_SAMPLES_MAX = 1 << 20,
	SLO_QUEUES_MAX = 1 << 16,
};

typedef unsigned __int128 slo_wide;

struct slo_params {
	uint64_t window, min_samples;
	uint64_t tolerance;
	uint64_t spare;
	uint64_t bite, stale;
	uint64_t retry;
	uint64_t futile, gain, rest;
	uint64_t min_cap;
};

enum slo_verdict {
	SLO_NONE,   /* not judged yet */
	SLO_HELD,   /* within its promise */
	SLO_BROKEN, /* above it */
};

struct slo_guest {
	/* in the window that is open */
	uint64_t n, io_sum, mtus;
	uint64_t queues, active; /* others' queues with requests under way; intervals with some */

	/* as a reporter */
	struct mono heard, refused_until;
	uint32_t was_heard, verdict; /* enum slo_verdict, of the newest window that was judged */
	uint64_t rise, bound; /* in that window: what it claims, what others can have caused */
	uint64_t first;	      /* its excess when the link was free; 0: not known */

	/* as a member */
	uint32_t member, place;
	uint32_t level; /* in force; 0: none */
	struct mono due;
	struct cap wanted;
	struct mono wait_since;
	uint32_t waiting;
	uint32_t reserved;
};

struct slo_link {
	uint32_t level; /* 0 reads as SLO_FREE */
	uint32_t hold;	/* held last; 0: none */
	uint32_t fail;	/* failed last; 0: none */
	uint32_t settled;
	uint32_t fails; /* levels above `hold` that failed in a row, at most 4 */
	uint32_t open;
	uint32_t worst, is_floor; /* slot of the reporter that decided; the lowest level failed */
	struct mono fail_until;
	struct mono start;	/* of the window */
	struct mono changed;	/* when the last member has its new level */
	struct mono cycles;	/* since when the turns of members are counted */
	struct mono floor_time; /* since when the level is the lowest */
	struct mono sent_time;	/* when members sent last */
	struct mono pause_seen;
	int64_t pause; /* the longest recent one between two intervals in which members sent, ns */
	uint64_t fail_sent;   /* MTUs a second of members at `fail`; 0: none */
	uint64_t hold_excess; /* at `hold` */
};

struct slo_global {
	struct slo_link link[FLOW_LINKS_MAX];
};

/* What is known of a link in this tick. */
struct slo_tick_link {
	bool used, waits; /* has guests; a cap that was planned is not in force yet */
	uint32_t reporters;
	uint64_t queues;
	struct mono quiet; /* from then on all caps have an effect */
};

/* One call of decide; lives on its stack. */
struct slo_tick {
	const struct policy_in *in;
	const struct slo_params *p;
	struct slo_global *global;
	struct slo_guest *state; /* by slot */
	struct slo_tick_link link[FLOW_LINKS_MAX];
};

static inline bool slo_may_cap(const struct policy_guest *g)
{
	return (g->flags & POLICY_CAPPABLE) && !(g->flags & POLICY_EXEMPT);
}

/* Is its mean promised? Then it is never capped. */
static inline bool slo_promised(const struct policy_guest *g)
{
	return g->sla.base_ns > 0;
}

static inline uint64_t slo_tolerance(const struct slo_params *p, const struct policy_guest *g)
{
	uint64_t tolerance = g->sla.tolerance ? g->sla.tolerance : p->tolerance;

	return tolerance ? tolerance : 1;
}

/* Sums that only grow stop at 2^62. */
static inline uint64_t slo_add(uint64_t sum, uint64_t v)
{
	const uint64_t most = 1ull << 62;

	return v > most - sum ? most : sum + v;
}

/* part / whole, fixed point, at most 2^32 - 1. */
static inline uint64_t slo_fraction(slo_wide part, slo_wide whole)
{
	slo_wide f = part * SLO_ONE / (whole ? whole : 1);

	return f > UINT32_MAX ? UINT32_MAX : (uint64_t)f;
}

/* Does it report, is its mean promised, and does the promise count? */
bool slo_reports(const struct slo_tick *t, const struct policy_guest *g);

/* The bounds of a guest's cap under this policy's own minimum. */
struct cap_bounds slo_bounds(const struct slo_params *p, const struct policy_guest *g);

/* Add what each guest sent and reported to the windows. */
void slo_collect(struct slo_tick *t);
/* Judge windows that are old enough, and change levels. */
void slo_levels(struct slo_tick *t);
/* Lift the caps of a link and forget its search. */
void slo_lift(struct slo_tick *t, uint32_t link);

#endif
