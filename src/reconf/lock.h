/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock: a service's lock: one word on the home host, taken by CAS under a lease.
 *
 * The timeline of a lease. h is the holder, by its own clock; w another host that
 * waits, by its own; deadline is what every operation is given from the step that
 * put it out.
 *
 *	when                      who    may do what
 *	------------------------  -----  ---------------------------------------------------
 *	t0                        h      notes the time, then puts out CAS {0,s} -> {h,s+1}
 *	tc, t0 <= tc              home   executes it
 *	tr, tc <= tr              h      hears of it: HELD
 *	tr ... t0 + hold          h      acts (lock_may_act): reads, sweeps, announces, one
 *	                                 CAS on a node; at the end CAS {h,s+1} -> {0,s+1}
 *	t0 + hold                 h      from now on puts out nothing but that release
 *	... t0 + hold + deadline  nodes  execute what h put out in time, or it became UNKNOWN
 *	tw, tc <= tw              w      hears of {h,s+1} for the first time
 *	tw ... tw + break         w      one operation a check: CAS {0,s+1} -> {w,s+2}, which
 *	                                 takes a lock released in between, and else looks
 *	tw + break                w      still {h,s+1}: CAS {h,s+1} -> {w,s+2}: broken, unclean
 *	then                      w      fencing sweep before it decides anything (move.h)
 *	at any later time         nodes  a late CAS of h: before the sweep: is seen by the
 *	                                 recount; after: fails, for the word is another
 *	at any later time         home   a late release of h finds {w,s+2}: fails, harmlessly
 *
 * break = (hold + deadline) x (1 + drift) / (1 - drift), a little more than x (1 +
 * 2 x drift): in true time h ends its acting within (hold + deadline) / (1 -
 * drift) after t0 <= tc, w breaks not before break / (1 + drift) after tw >= tc. So
 * who holds by the clock is alone; and who does not know that time has passed (a
 * pause between looking at the clock and posting, an operation that lay in the
 * network) meets the sweep. Neither would do alone: the sweep stops CASes whose
 * reads are older than it, the lease stops reads that are younger.
 *
 * A waiter looks every 1 to 1 1/8 checks, at tw + break, and when it begins to watch, or
 * to want what it watched. So who dies right after it acquired delays one who waits by
 * break + 1 1/8 checks and a round trip at most, whoever comes to wait as well: they look,
 * and change nothing before their own tw + break.
 *
 * The word: {owner 16, seq 48}, seq {epoch 16, count 32}. seq + 1 with each
 * acquire: no word ever stands twice, and the seq is the fence. Compared by
 * difference.
 *	owner 0: released, clean.      owner LOCK_DIRTY: free, but the next must sweep.
 *	count 0, or epoch behind the view's number: *fresh*: nothing is known of who
 *	held the lock before (a new home, a restarted home). Waited for like a held
 *	one, then taken unclean.
 *	epoch ahead of the view's number: *of a newer view*: looked at, never taken
 *	and never broken, until this host is told of that view. Its last holder swept
 *	and counted the nodes of that view's members alone, so that its clean release
 *	says nothing of the others' nodes; and who takes an unclean one, and sweeps
 *	fewer nodes than that view has, must not leave it clean.
 * The home is the lowest-numbered member of the view; its words begin as {0,
 * generation << 32} (region_words). Static membership has the view number 0:
 * epochs are the home's generations. Otherwise the first to take a fresh word
 * makes its epoch the view's number, and its count begin at the home's generation
 * << 20. So fences only grow, also when a home restarts and the view stays (short
 * of 2^20 acquires in one life of it: then the wait and the sweep must do). A home
 * that is dead under static membership: its locks cannot be had, nothing else. Own
 * words found while not held (of before a restart, or of a release that was given
 * up) are taken at once, unclean: this host knows that it is not acting. One user
 * of a host's locks at a time, therefore.
 *
 * Outcomes. LOST: put out again on a newer link. UNKNOWN acquire: a READ on a
 * newer link decides: our word stands there or it does not. UNKNOWN release: the
 * same CAS on a newer link decides. REFUSED: again after a check.
 *
 * Who runs it gives each operation the deadline now + conf.deadline_ns of the
 * *step*, also when it posts it later: an operation that is late at the post is not
 * posted, and comes back REFUSED.
 */
#ifndef RESEX_RECONF_LOCK_H
#define RESEX_RECONF_LOCK_H

#include "resex/region_abi.h"
#include "src/reconf/step.h"

enum {
	LOCK_TAGS = 256,		 /* tags conf.tag .. conf.tag + LOCK_TAGS - 1 are its own */
	LOCK_DIRTY = REGION_LOCK_BROKEN, /* owner: nobody, and not released clean */
};

struct lock_conf {
	uint16_t self;	  /* this host; owner of the words it writes */
	uint32_t service; /* by its number: region_lock_offset */
	uint32_t tag;
	int64_t hold_ns;     /* a lease, from before its CAS */
	int64_t deadline_ns; /* of every operation, from its step */
	uint32_t drift_ppm;  /* of a host's clock against true time, at most */
	int64_t check_ns;    /* a waiter looks no oftener; + up to 1/8, by the seed */
	uint64_t seed;	     /* of the host */
};

enum lock_state {
	LOCK_IDLE,	/* not ours, not wanted */
	LOCK_WATCHING,	/* not wanted yet: how long its word stands is noted */
	LOCK_WAITING,	/* wanted */
	LOCK_HELD,	/* ours, if lock_may_act */
	LOCK_RELEASING, /* until the release is decided */
};

/* event.what of STEP_ASK */
enum lock_ask {
	LOCK_ACQUIRE,
	LOCK_WATCH,   /* IDLE: look once a check, as a waiter, and take nothing */
	LOCK_RELEASE, /* also: no longer wanted. As LOCK_DIRTY when lock_unclean */
};

enum lock_op { LOCK_OP_NONE, LOCK_OP_READ, LOCK_OP_TAKE, LOCK_OP_RELEASE };

struct lock {
	struct lock_conf conf;
	enum lock_state state;
	bool again;	   /* RELEASING: acquire afterwards */
	uint64_t view;	   /* number */
	bool quorate;	   /* false until the first STEP_VIEW */
	uint16_t home;	   /* 0: none yet */
	uint64_t seen;	   /* newest word known: the guess for the next acquire */
	struct mono since; /* seen unchanged since; kept from one asking to the next */
	bool stands;	   /* by a look since it is wanted: seen, for a check at least */
	uint8_t looks;	   /* since it is wanted or watched; 2: or more */
	bool known;	   /* seen is of this home */
	bool prompt;	   /* the try at once after a word was shown that may be taken was made */
	uint64_t compare, word; /* of the newest TAKE: word is ours when HELD */
	struct mono start;	/* before that TAKE: hold counts from here */
	bool unclean;
	bool unknown;	  /* what became of that TAKE is not known */
	struct mono next; /* no operation before */
	enum lock_op op;  /* outstanding: at most one */
	uint32_t tag;	  /* its */
	bool cut;	  /* the link to home broke: wait for one newer than */
	uint32_t link;
	uint64_t rng;
};

void lock_init(struct lock *l, const struct lock_conf *c);
/*
 * Appends to *out (not emptied), and does nothing but note the event where it
 * has no room: it is due at once then. Uncontended, acquire + release are two
 * operations in two rounds. An acquire ends in HELD, however long it takes; a
 * view with another home ends HELD and RELEASING in IDLE.
 */
void lock_step(struct lock *l, const struct step_event *ev, struct mono now, struct step_out *out);
/* When it needs a STEP_TICK; INT64_MAX: not before something else happens. */
struct mono lock_due(const struct lock *l);

enum lock_state lock_state(const struct lock *l);
/* Still surely ours for need_ns more: ask right before putting out what must be under it. */
bool lock_may_act(const struct lock *l, struct mono now, int64_t need_ns);
/* WAITING at a word that may not be taken yet, of a home that answers. */
bool lock_blocked(const struct lock *l);
/*
 * WAITING or WATCHING at a word that may not be taken yet, and that stood for a check: so
 * said a look since it is wanted. breaks: when it may be broken.
 */
bool lock_stands(const struct lock *l, struct mono *breaks);
/* WAITING or WATCHING: a look since then, on this link, showed a word that may be taken, or two did
 * one that may not. */
bool lock_seen(const struct lock *l);
/* HELD: when hold is over. */
struct mono lock_until(const struct lock *l);
/* HELD: the seq of our word; only grows from holder to holder. */
uint64_t lock_fence(const struct lock *l);
/* HELD: it was not had by a clean release, or lock_mark said so. */
bool lock_unclean(const struct lock *l);
/* false: the sweep was made, whole. true: something of ours may yet execute. */
void lock_mark(struct lock *l, bool unclean);

/* What a waiter waits at an unchanged word before it breaks it. */
int64_t lock_break_ns(const struct lock_conf *c);

/* Epochs of seqs (locks' and nodes'), compared by difference. */
uint16_t lock_epoch(uint64_t seq);
bool lock_epoch_ahead(uint16_t a, uint16_t b);

#endif
