/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler: the thread that runs the chain once an interval.
 *
 * It owns the ledger, the period and the slots, and reads the guest set. It
 * allocates nothing and takes no lock. A tick makes one hypercall (the list of
 * CPU times) and at most two writes, to wake the other threads
 * (tests/check-layers.sh --tick proves it). tick.c shows one turn.
 */
#ifndef RESEX_TICK_SAMPLER_H
#define RESEX_TICK_SAMPLER_H

#include "src/core/window.h"
#include "src/tick/handover.h"
#include "src/hv/dom.h"
#include "src/util/clock.h"
#include "src/util/guard.h"

struct hv_sched;
struct hv_sched_ops;

enum {
	SAMPLER_DOMS_MAX = 2 * FLOW_GUESTS_MAX,
	SAMPLER_SNAP_TICKS = 10,    /* ticks a snapshot; 1 if the interval is above 1 ms */
	SAMPLER_LATE_MAX = 1 << 30, /* samples before lateness is counted anew */
	SAMPLER_LOOK_INTERVALS = 8, /* of which a look at who is runnable speaks, at most */
	SLOT_RESEND = 0xffff,	    /* in slot.wanted: no percent, so that the next is sent */
};

/* The percent to send for a cap; the scheduler's own figure has 16 bits too. */
static inline uint16_t slot_percent(struct cap c)
{
	uint32_t percent = cap_to_percent(c);

	return (uint16_t)(percent < SLOT_RESEND ? percent : SLOT_RESEND - 1);
}

/* Send a cap again after this, if it failed or was not answered. */
#define SAMPLER_RETRY_NS (50 * NS_PER_MS)

/* Charges while a published send queue cannot be read: unread.c. */
struct unread {
	uint64_t mtus;	/* counted in the second that is under way */
	int64_t ns;	/* of it passed */
	bool active;	/* a queue cannot be read */
	uint64_t rate;	/* MTUs counted in the last whole second */
	uint64_t part;	/* of an MTU, in MTU ns per second */
	uint64_t ahead; /* MTUs counted beyond the rate */
	uint64_t total; /* MTUs charged */
};

/* First what each tick reads of each slot; then what only mail, an epoch or a snapshot needs. */
struct slot {
	const struct set_guest *guest; /* NULL: free */
	struct policy_guest *seat;     /* among the policy's guests: what the last tick found */
	uint64_t cpu_prev;
	uint64_t cpu_left;	  /* still: it stays so while it uses no more CPU time than this */
	uint64_t cpu_owed;	  /* CPU time that it used while still: not charged yet */
	struct mono second_began; /* of the latencies of this second */
	bool cpu_known;
	bool fresh;		   /* not decided on yet */
	bool empty_reported;	   /* EVENT_EMPTY was sent in this epoch */
	bool rings_reported;	   /* EVENT_REFRESH was sent for the set in use */
	bool looked;		   /* last_look has something */
	bool worked;		   /* the seat has more than CPU time and what is under way */
	bool still;		   /* nothing but its CPU time has to be looked at: see still.h */
	bool pending;		   /* the last mail is not answered yet */
	bool foreign;		   /* applied was set by another program */
	bool foreign_reported;	   /* EVENT_CAP_FOREIGN was sent for it */
	bool settled;		   /* met and rate_wanted are in force: see sampler_act() */
	uint16_t wanted;	   /* percent in that mail; at first its own cap's */
	uint64_t runnable_ns;	   /* see loads.h; not counted while nobody reads it */
	uint32_t vcpus, dom_flags; /* as listed at the last tick, with runnable_ns; 0: it was not */
	struct unread unread;
	uint32_t cap_errno;
	struct cap met; /* the plan's */
	struct rate rate_wanted;
	struct cap applied;
	struct mono cap_time;
	struct usage epoch_usage;

	uint16_t generation;   /* see handover.h; of what applied says */
	uint32_t serial;       /* of the last mail */
	uint32_t known_serial; /* mail from this on has that generation */
	struct mono sent;
	uint64_t cap_changes;
	struct usage last_look; /* at rested rings of the former set; part of the next usage */
	struct snap_latency latency;
	struct usage past_usage; /* in epochs that ended */
	struct spending past;

	bool capped;		 /* since then, applied is below the guest's own cap */
	struct mono capped_from; /* when capped_ns was brought up to date */
	int64_t capped_ns;	 /* time under such a cap until then */
};

/* Of a slot, apart from it: each tick reads all slots, and only a few have latencies. */
struct slot_latencies {
	struct window second;  /* whole latencies of the second that is under way */
	struct window reports; /* of those before it */
};

/* Apart from it for the same reason: read and written once an epoch. */
struct slot_second {
	uint64_t epoch;	   /* with which it began; 0: the guest has seen no epoch begin */
	struct span begin; /* sums of the guest then */
	struct span last;  /* what the one before it had */
};

/* A bit a slot. */
struct slot_bits {
	uint64_t word[FLOW_GUESTS_MAX / 64];
};

static inline void slot_bit_set(struct slot_bits *b, uint32_t slot)
{
	b->word[slot / 64] |= 1ull << (slot % 64);
}

static inline void slot_bit_clear(struct slot_bits *b, uint32_t slot)
{
	b->word[slot / 64] &= ~(1ull << (slot % 64));
}

/* The first slot from this one on whose bit is set; FLOW_GUESTS_MAX: none. */
static inline uint32_t slot_bit_next(const struct slot_bits *b, uint32_t slot)
{
	uint64_t word;

	if (slot >= FLOW_GUESTS_MAX)
		return FLOW_GUESTS_MAX;
	word = b->word[slot / 64] & ~0ull << (slot % 64);
	for (slot /= 64; !word; word = b->word[slot])
		if (++slot == FLOW_GUESTS_MAX / 64)
			return FLOW_GUESTS_MAX;
	return slot * 64 + (uint32_t)__builtin_ctzll(word);
}

struct sampler {
	struct handover *ho;
	const struct hv_sched_ops *ops;
	struct hv_sched *hv;
	struct clock clock;
	uint32_t snap_ticks;
	uint64_t snap_at; /* the tick with the next snapshot */
	bool keep_reports;
	struct period period;
	struct ledger ledger;
	struct guest_set *set; /* the one in use; never NULL after init */
	struct plan plan;
	struct policy_in in;   /* by seat; usage and report are filled where rings are read */
	struct slot_bits used; /* slots with a guest */
	uint32_t guests;       /* entries of turn[] */
	struct slot *turn[FLOW_GUESTS_MAX]; /* slots with a guest, in the order of the set */
	uint32_t dues;			    /* entries of due[] */
	struct slot *due[FLOW_GUESTS_MAX];  /* of turn[], those that were not still in this tick */
	struct slot_bits asked; /* slots whose mail waits for an answer, or whose event is owed */
	struct slot slot[FLOW_GUESTS_MAX];
	struct slot_latencies latencies[FLOW_GUESTS_MAX];
	struct slot_second second[FLOW_GUESTS_MAX];
	struct hv_dom dom[SAMPLER_DOMS_MAX];
	int doms; /* entries of dom[], or the last list's -errno */
	struct mono loads_due;
	int64_t late_max_ns, tick_ns_max, tick_ns_sum;
	struct window late; /* how far behind their time ticks began, ns */
	struct mono late_reported;
	bool wake_actor, wake_control; /* at the end of this tick */
	struct guard *guard;	       /* NULL: none, and a plug-in is stopped at its first call */
	int64_t policy_budget_ns;
	struct tape *tape;	    /* recorded on; NULL: none, or its recording has ended */
	struct tape *tape_taken;    /* newest of handover.tape */
	struct tape_script *script; /* a replay's; NULL: guests' memory is read */
	uint64_t again[FLOW_GUESTS_MAX / 64]; /* of handover.send_again, not met yet */
};

struct sampler_conf {
	int64_t interval_ns, epoch_ns;
	const struct link_conf *link;
	uint32_t links;
	const struct hv_sched_ops *ops;
	struct hv_sched *hv;
	struct clock clock;
	uint32_t snap_ticks; /* ticks a snapshot; 0: SAMPLER_SNAP_TICKS */
	bool keep_reports;   /* snap_guest.reports is filled: for summaries of runs */
	/* CPU time of a plug-in's call: policies/check.h says what happens above it; 0: any */
	int64_t policy_budget_ns;
};

/* set: the first one, usually empty, with a policy. 0 or -EINVAL. */
int sampler_init(struct sampler *s, struct handover *ho, const struct sampler_conf *c,
		 struct guest_set *set);

/* One interval, at now. */
void tick(struct sampler *s, struct mono now);

/*
 * List the domains with their CPU times, into s->dom and s->doms: the one hypercall of a tick.
 * Called once, by sampler_observe (tests/check-layers.sh --tick).
 */
void sampler_list_domains(struct sampler *s);

/* Tick until ho->stop; absolute sleeps on the clock. */
void sampler_run(struct sampler *s);

/*
 * On the thread that ticks, before and after its ticks: without a guard no plug-in decides. 0 or
 * -errno.
 */
int sampler_guard(struct sampler *s);
void sampler_unguard(struct sampler *s);

/*
 * Measure what was counted in *u, or charge what could not be: see unread.c. runs: the domain is
 * not paused.
 */
void unread_charge(struct slot *sl, struct usage *u, int64_t elapsed_ns, bool runs);

/* A whole second was measured. */
void unread_second(struct unread *w);

/* All queues are read, and counted these MTUs. */
static inline void unread_measure(struct unread *w, uint64_t mtus, int64_t elapsed_ns)
{
	w->active = false;
	w->mtus = sat_add(w->mtus, mtus);
	w->ns += elapsed_ns;
	if (w->ns >= NS_PER_S)
		unread_second(w);
}

/*
 * Does this tick publish a snapshot? Operators see the newest one: with long intervals it is
 * published each tick.
 */
static inline bool sampler_shows(const struct sampler *s)
{
	return s->period.ticks >= s->snap_at || s->period.interval_ns > NS_PER_MS;
}

/* Control found another cap in force, which the actor can judge. */
static inline bool sampler_is_asked_again(const struct sampler *s, uint32_t slot)
{
	return s->again[slot / 64] >> (slot % 64) & 1;
}

/* A recording begins or ends at this tick. */
static inline void sampler_take_tape(struct sampler *s)
{
	struct tape *t = atomic_load_explicit(&s->ho->tape, memory_order_acquire);

	if (t != s->tape_taken)
		tape_change(s, t);
}

/* For a replay: have the guests of the set in use their seats, as adopt does. */
void sampler_seat(struct sampler *s);

/* Since the guest joined. */
static inline struct usage slot_total(const struct slot *sl)
{
	struct usage u = sl->past_usage;

	usage_add(&u, &sl->epoch_usage);
	return u;
}

/* The stages, in the order of tick(). */
void sampler_adopt(struct sampler *s, struct mono now);
void sampler_answers(struct sampler *s, struct mono now);
void sampler_observe(struct sampler *s, struct mono now, const struct period_tick *t);
void sampler_account(struct sampler *s, struct mono now, const struct period_tick *t);
void sampler_decide(struct sampler *s, struct mono now);
void sampler_act(struct sampler *s, struct mono now);
void sampler_still(struct sampler *s);
void sampler_publish(struct sampler *s, struct mono now);
void sampler_loads(struct sampler *s, struct mono now);

/* What is in force in a slot, when another than the actor says it. */
void slot_learn(struct slot *sl, struct cap in_force);

/* Count the time under a cap up to at. Called whenever applied, or the guest's own cap, changed. */
void slot_count_capped(struct slot *sl, struct mono at);

/* An event for control about a slot's guest. False: control is behind, the event is lost. */
bool sampler_event(struct sampler *s, enum event_type type, const struct slot *sl, struct mono now,
		   int64_t a, int64_t b, int64_t c);

#endif
