/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ioshares.h: private to the four files of the policy ioshares.
 *
 *	ioshares.c         parameters, reasons, the tick in its order, the plan
 *	ioshares_window.c  reporters, windows, verdicts (steps 3 to 6)
 *	ioshares_blame.c   the set of guests that a window blames (step 6)
 *	ioshares_rate.c    raises, calm and back-off, futility (steps 7 to 9)
 *
 * Steps are those of resex-policies(7), ARITHMETIC, which fixes each rounding.
 */
#ifndef RESEX_POLICIES_IOSHARES_H
#define RESEX_POLICIES_IOSHARES_H

#include "resex/policy.h"
#include "src/core/caps.h"

#define IOS_ONE 65536ull /* rate and interference 1, fixed point with 16 fraction bits */

enum {
	IOS_SAMPLES_MAX = 1 << 20, /* in one window */
	IOS_SUM_BITS = 34,	   /* a whole latency is below 2^34 ns (struct report) */
	IOS_SQUARE_BITS = 68,
	IOS_QUEUES_MAX = 1 << 16, /* of a guest */
	IOS_SET_WORDS = FLOW_GUESTS_MAX / 64,

	IOS_LONG = 4, /* a window that shows no gross harm lasts so many times as long */

	/* Of an excess (struct ios_guest), fixed point: */
	IOS_GROSS = 2 * 65536,	   /* from here on the harm is gross */
	IOS_HUGE = 20 * 65536,	   /* and huge */
	IOS_NEAR = 8 * 65536 / 10, /* above this no rate goes back */
};

typedef unsigned __int128 ios_wide;

struct ios_params {
	uint64_t window, min_samples;
	uint64_t tolerance, dev_tolerance;
	uint64_t blame_ratio, blame_floor;
	uint64_t bite;
	uint64_t calm, back_off;
	uint64_t stale;
	uint64_t futile, futile_gain, futile_rest;
	uint64_t min_cap;
	uint64_t sigma_over, sigma_floor;
	uint64_t learn_share;
	uint64_t on_empty;
};

enum ios_verdict {
	IOS_NONE,    /* no window was complete yet */
	IOS_NO_BASE, /* the latency when alone is not known */
	IOS_FINE,    /* within tolerance */
	IOS_SELF,    /* over tolerance, but capped itself or without CPU: no evidence */
	IOS_NOBODY,  /* over tolerance, and no guest is to blame */
	IOS_OVER,    /* over tolerance, and a set of guests is to blame */
};

/* Latencies of a reporter: when alone, or in a window. */
struct ios_latency {
	uint64_t mean; /* whole */
	uint64_t io;   /* mean of WTime + PTime */
	uint64_t dev;  /* deviation of WTime + PTime */
};

/* How far a reporter is above its base: fractions, each at most 2^32 - 1. */
struct ios_rise {
	uint64_t mean, dev;
};

/* Guests that are blamed together, by slot. */
struct ios_set {
	uint64_t bits[IOS_SET_WORDS];
	uint32_t guests; /* how many; 0: none is to blame */
	uint32_t most;	 /* slot of the one that sent most, of equals the lowest */
};

struct ios_window {
	struct mono start;
	uint64_t n, sum, io_sum;
	uint64_t io_sumsq_hi, io_sumsq_lo;
	uint64_t cpu_ns;
	uint64_t queues, active; /* others' queues with requests under way; intervals with some */
	uint32_t open, self_capped;
	uint64_t snap_w[FLOW_GUESTS_MAX]; /* cum_w, cum_raw of each slot at the start */
	uint64_t snap_raw[FLOW_GUESTS_MAX];
};

/* What is remembered of a guest; all zero when it begins, and kept when it is restarted. */
struct ios_guest {
	uint64_t rate;	  /* fixed point; 0 reads as 1 */
	uint64_t cum_w;	  /* MTUs x the rate in force, ever */
	uint64_t cum_raw; /* MTUs, ever */
	uint64_t size;	  /* largest message within the last stale nanoseconds, bytes */
	struct mono size_seen;
	int64_t pause; /* longest recent one between two intervals in which it sent, ns */
	struct mono pause_seen;
	struct mono sent_time;
	struct cap wanted;	/* planned last */
	struct mono wait_since; /* since when it differs from the cap in force; with waiting */
	uint32_t waiting;

	/* as a reporter */
	uint32_t was_heard, reports; /* ever; and within the last stale nanoseconds */
	uint32_t verdict;	     /* enum ios_verdict, of the newest window */
	uint32_t holds; /* near its tolerance in the newest window: no rate may go back */
	uint32_t has_base;
	struct mono heard;
	struct mono rest_last; /* the latest of rest_until */
	uint64_t intf;	       /* interference in the newest window, fixed point */
	struct ios_rise rise;  /* of the newest window, both over the base mean: for reasons */
	uint64_t claimed;      /* the same in tolerances, fixed point: above 1 is over */
	uint64_t excess;       /* as claimed, as far as others' traffic can have caused it */
	struct ios_set blamed; /* of the newest IOS_OVER */
	struct ios_latency base;
	struct ios_window w;
	struct mono rest_until[FLOW_GUESTS_MAX]; /* this slot may not be blamed until then */
	/* Interference when this slot was first blamed; 0: not blamed. */
	uint32_t first_intf[FLOW_GUESTS_MAX];

	/* as an offender */
	uint64_t next_rate; /* its first raise, which takes effect at next_time; 0: none */
	struct mono next_time;
	uint64_t before; /* its rate before the newest step back; 0: raised since */
	struct mono pinned_since;
	uint32_t pinned; /* a higher rate would not help its accuser, or must not be set */
	uint32_t has_accuser, accuser; /* slot */
	uint32_t place;		       /* in the cycles of raises, while it is taxed */
};

_Static_assert(sizeof(struct ios_guest) <= 16384, "a guest's block is bounded (policy.h)");

struct ios_link {
	uint64_t calm;	       /* calm windows in a row */
	struct mono calm_time; /* of the newest calm or over window; 0: none yet */
	struct mono raised;    /* the last raise */
	struct mono cycles;    /* since when the cycles of raises are counted */
};

struct ios_global {
	struct ios_link link[FLOW_LINKS_MAX];
};

/* What is known of a link in this tick. */
struct ios_tick_link {
	bool used;	    /* has guests */
	uint64_t queues;    /* send queues with requests under way, of all guests */
	int64_t pause;	    /* of its taxed guests, the longest */
	bool waits;	    /* a planned cap is not in force yet */
	bool reports;	    /* has a reporter */
	uint32_t reporters; /* how many */
	uint32_t evidence;  /* of these, with a window that can show who slows them down */
	uint32_t overs;	    /* of these, over their tolerance */
	uint32_t over_slot; /* the lowest slot of them */
	uint64_t blamed[IOS_SET_WORDS]; /* by any of them, by slot */
	bool complete;			/* a window became complete in this tick */
	bool over;			/* with the verdict IOS_OVER */
	struct mono quiet;		/* from then on all caps have an effect */
};

/* One call of decide; lives on its stack. */
struct ios_tick {
	const struct policy_in *in;
	const struct ios_params *p;
	struct ios_global *global;
	struct ios_guest *state;			   /* by slot */
	const struct policy_guest *guest[FLOW_GUESTS_MAX]; /* by slot; NULL: unused */
	struct ios_tick_link link[FLOW_LINKS_MAX];
	uint64_t raise[FLOW_GUESTS_MAX]; /* largest rate that a reporter demands of a slot */
	uint32_t raiser[FLOW_GUESTS_MAX];
	uint32_t
		blamer[FLOW_GUESTS_MAX]; /* the lowest reporter that blames a slot of link.blamed */
	uint32_t resting[FLOW_GUESTS_MAX]; /* slots of reporters, ascending */
	uint32_t rests;
};

static inline bool ios_may_cap(const struct policy_guest *g)
{
	return (g->flags & POLICY_CAPPABLE) && !(g->flags & POLICY_EXEMPT);
}

/* Send queues with requests under way; more than a guest can have do not count. */
static inline uint64_t ios_queues(const struct policy_guest *g)
{
	return g->usage.queues < IOS_QUEUES_MAX ? g->usage.queues : IOS_QUEUES_MAX;
}

/* Sums that only grow stop at 2^62. */
static inline uint64_t ios_add(uint64_t sum, uint64_t v)
{
	const uint64_t most = 1ull << 62;

	return v > most - sum ? most : sum + v;
}

/* 100 % of all VCPUs, milli-percent. */
static inline uint64_t ios_full(const struct policy_guest *g)
{
	struct cap_bounds all = { .ceiling = CAP_NONE, .vcpus = g->bounds.vcpus };

	return cap_full(&all).mpct;
}

static inline bool ios_in_set(const struct ios_set *set, uint32_t slot)
{
	return set->guests && (set->bits[slot / 64] >> slot % 64 & 1);
}

/* What was sent on a reporter's link in its window. */
struct ios_sent {
	uint64_t own;	   /* MTUs, by the reporter */
	ios_wide all;	   /* MTUs, by all */
	ios_wide capacity; /* MTUs that the link could have moved */
};

/* part / whole, fixed point, at most 2^32 - 1. A base that was configured may be any number. */
static inline uint64_t ios_fraction(uint64_t part, uint64_t whole)
{
	ios_wide f = (ios_wide)part * IOS_ONE / (whole ? whole : 1);

	return f > UINT32_MAX ? UINT32_MAX : (uint64_t)f;
}

/* ioshares_window.c */
void ios_collect(struct ios_tick *t); /* 3 */
void ios_settle(struct ios_tick *t);  /* 4 */
void ios_windows(struct ios_tick *t); /* 5, 6 */

/* ioshares_blame.c */

/* A rise in tolerances of this reporter: above 1 it is over. */
uint64_t ios_excess(const struct ios_tick *t, const struct policy_guest *g,
		    const struct ios_rise *rise);

/* What was sent on the link of reporter g since its window was opened. */
struct ios_sent ios_sent_in(const struct ios_tick *t, const struct policy_guest *g);

/* The part of a rise over this base that the traffic of others can have caused. */
struct ios_rise ios_believed(const struct ios_params *p, const struct ios_window *w,
			     const struct ios_sent *sent, const struct ios_latency *base,
			     const struct ios_rise *rise);

/* The guests that are to blame together for the latency of reporter g. */
struct ios_set ios_blame(const struct ios_tick *t, const struct policy_guest *g,
			 const struct ios_sent *sent);

/* ioshares_rate.c */

/* The bounds of a guest's cap under this policy's own minimum. */
struct cap_bounds ios_bounds(const struct ios_params *p, const struct policy_guest *g);

/* The rate that gives a guest its lowest cap. */
uint64_t ios_rate_max(const struct ios_params *p, const struct policy_guest *g);

/* Back to rate 1; its accuser, its time at the floor and all blame are forgotten. */
void ios_release(struct ios_tick *t, struct ios_guest *s, uint32_t slot);

/*
 * What the reporter g demands for its newest window, which is over; before: the excess of the
 * window before, if that was over, too, or else 0.
 */
void ios_demand(struct ios_tick *t, const struct policy_guest *g, uint64_t before);

void ios_raises(struct ios_tick *t);   /* 7 */
void ios_calm(struct ios_tick *t);     /* 8 */
void ios_futility(struct ios_tick *t); /* 9 */

#endif
