/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock: the lock of one service: one word in the home host's memory. A host acquires it
 * by CAS, holds it under a lease, and releases it by CAS.
 *
 * The timeline of a lease. h is the holder; w is another host that waits. Each goes by its
 * own clock. deadline: every operation gets one, counted from the step that put it out.
 *
 *	when                      where  what happens
 *	------------------------  -----  ---------------------------------------------------
 *	t0                        h      notes the time, then puts out CAS {0,s} -> {h,s+1}
 *	tc, t0 <= tc              home   executes the CAS
 *	tr, tc <= tr              h      gets the result: HELD
 *	tr ... t0 + hold          h      may act (lock_may_act): read, sweep, announce, one CAS
 *	                                 on a node; at the end CAS {h,s+1} -> {0,s+1}
 *	t0 + hold                 h      from now on puts out nothing but that release
 *	... t0 + hold + deadline  nodes  execute what h put out in time, or it became UNKNOWN
 *	tw, tc <= tw              w      sees {h,s+1} for the first time
 *	tw ... tw + break         w      one operation a check: CAS {0,s+1} -> {w,s+2}. It
 *	                                 acquires a lock that was released in between, and
 *	                                 otherwise returns the word
 *	tw + break                w      still {h,s+1}: CAS {h,s+1} -> {w,s+2}: the lock is
 *	                                 broken, and w holds it unclean
 *	then                      w      fencing sweep, before w decides anything (move.h)
 *	at any later time         nodes  a late CAS of h. Before the sweep: the recount sees
 *	                                 it. After the sweep: it fails, the word has changed
 *	at any later time         home   a late release of h finds {w,s+2}, and fails
 *
 * break = (hold + deadline) x (1 + drift) / (1 - drift), about x (1 + 2 x drift). Proof, in
 * true time: h stops acting within (hold + deadline) / (1 - drift) of t0 <= tc. w breaks
 * no earlier than break / (1 + drift) after tw >= tc. So a holder whose clock runs is
 * alone. A holder that does not notice that time has passed (it paused between reading the
 * clock and posting, or the network kept an operation) is stopped by the sweep. Both are
 * needed: the sweep stops a CAS whose read is older than the sweep; the lease stops reads
 * that are younger.
 *
 * A waiter looks at the word every 1 to 1 1/8 checks, at tw + break, when it begins to
 * watch, and when it begins to wait after watching. A word that it first read less than a
 * check ago it reads again 1 to 1 1/8 checks after that. So a holder that dies right after
 * it acquired the lock delays a waiter by at most break + 1 1/8 checks + a round trip. Other
 * waiters do not make that longer: each only looks until its own tw + break.
 *
 * The word is {owner 10, seq 54}; seq is {epoch 30, count 24}. Each acquire adds 1 to count, and
 * seq is the fence. Seqs and epochs are compared as numbers. No word comes back while its home
 * runs (of 2^24 acquisitions in one epoch the first is long forgotten).
 *	owner 0: released, clean.
 *	owner LOCK_DIRTY: free, but the next holder must sweep.
 *	owner REGION_LOCK_BROKEN: an operator broke the lock, perhaps under a live lease. A
 *	waiter waits for it as for a held lock. Otherwise the sweep alone would protect: it
 *	stops no CAS of the old holder whose read is younger than the sweep.
 *	count 0, or epoch behind the view's number: *fresh*. The earlier holders are not
 *	known: the home is new, or has restarted. A waiter waits for it as for a held lock,
 *	then acquires it unclean.
 *	epoch ahead of the view's number: *of a newer view*. It is read, but never acquired
 *	and never broken until this host knows that view. The last holder swept and counted
 *	the nodes of that view's members only. So its clean release proves nothing about
 *	other nodes. And a host that acquires it unclean and sweeps fewer nodes than that
 *	view has must not leave it clean.
 *
 * The home is the lowest-numbered member of the view. Its words begin as {0, generation, 0}
 * (region_words). Static membership has view number 0: epochs are the home's generations.
 * Otherwise, the first host that acquires a fresh word sets its epoch to the view's number. While
 * a home is dead under static membership, its locks cannot be acquired. Nothing else is affected.
 *
 * A home may restart while the view does not change. Then its words come back. So what was read on
 * a link says nothing on a newer one: a waiter forgets the word at each new link, and a CAS is
 * posted only on the link on which its compare was read (step_op.link), also when it waited for
 * room meanwhile. An operation of an older link does not reach the new memory (transport.h).
 *
 * A host may find its own number in a word that it does not hold: from before its restart,
 * or from a release that it gave up. It acquires the lock at once, unclean: it knows that
 * it is not acting. Therefore a host's locks have one user at a time.
 *
 * Outcomes. LOST: the operation is put out again on a newer link. UNKNOWN acquire: a READ
 * on a newer link decides: our word is there or it is not. UNKNOWN release: the same CAS on
 * a newer link decides. REFUSED: again after a check.
 *
 * The caller that runs the step function gives each operation the deadline
 * now + conf.deadline_ns of the *step*, also when it posts the operation later. An operation
 * whose deadline has passed is not posted, and comes back REFUSED.
 */
#ifndef RESEX_RECONF_LOCK_H
#define RESEX_RECONF_LOCK_H

#include "resex/region_abi.h"
#include "src/reconf/step.h"

enum {
	LOCK_TAGS = 256, /* a lock uses the tags conf.tag .. conf.tag + LOCK_TAGS - 1 */
	LOCK_DIRTY = REGION_LOCK_DIRTY, /* owner: the lock is free, but was not released clean */
};

struct lock_conf {
	uint16_t self;	  /* this host's number: the owner in the words that it writes */
	uint32_t service; /* its number: region_lock_offset */
	uint32_t tag;
	int64_t hold_ns;     /* length of a lease, from before its CAS */
	int64_t deadline_ns; /* of every operation, from its step */
	uint32_t drift_ppm;  /* of a host's clock against true time, at most */
	int64_t check_ns;    /* between two looks of a waiter; + up to 1/8, drawn from seed */
	uint64_t seed;	     /* of the host */
};

enum lock_state {
	LOCK_IDLE,	/* not held, not wanted */
	LOCK_WATCHING,	/* not wanted yet: measures how long the word is unchanged */
	LOCK_WAITING,	/* wanted, not held */
	LOCK_HELD,	/* held, while lock_may_act says so */
	LOCK_RELEASING, /* until the release is decided */
};

/* event.what of STEP_ASK */
enum lock_ask {
	LOCK_ACQUIRE,
	LOCK_WATCH,   /* IDLE: look once a check, as a waiter does, and acquire nothing */
	LOCK_RELEASE, /* or stop waiting. An unclean lock is released as LOCK_DIRTY */
};

enum lock_op { LOCK_OP_NONE, LOCK_OP_READ, LOCK_OP_ACQUIRE, LOCK_OP_RELEASE };

/* What is known of the lock's word. */
enum lock_knows {
	LOCK_WORD_UNKNOWN,   /* nothing: it was not read on the newest link to this home */
	LOCK_WORD_KNOWN,     /* last_word was read, and is unchanged since `since` */
	LOCK_WORD_UNCHANGED, /* and this wait has read it unchanged for a check or longer */
};

struct lock {
	struct lock_conf conf;
	enum lock_state state;
	bool reacquire;	    /* RELEASING: acquire again afterwards */
	uint64_t view;	    /* its number */
	bool quorate;	    /* false until the first STEP_VIEW */
	uint16_t home;	    /* 0: none yet */
	uint64_t last_word; /* the last one known: the first guess of the next acquire */
	uint32_t word_link; /* the link that returned it */
	struct mono since;  /* last_word is unchanged since; kept from one wait to the next */
	enum lock_knows knows;
	uint8_t reads; /* words read since this wait began on this link: 0, 1, or 2 for more */
	bool retried;  /* a word that may be acquired was tried once at once; the next try waits */
	uint64_t compare, word; /* of the newest CAS to acquire; HELD: word is ours */
	struct mono start;	/* when that CAS was put out: hold counts from here */
	bool unclean;		/* HELD: sweep before you decide anything */
	bool undecided;		/* the outcome of that CAS is UNKNOWN: a READ must decide */
	struct mono next;	/* no operation before */
	enum lock_op op;	/* outstanding: at most one */
	uint32_t tag;		/* of op */
	bool link_down;		/* wait for a link to home newer than `link` */
	uint32_t link;
	uint64_t rng;
};

void lock_init(struct lock *l, const struct lock_conf *c);
/*
 * Handles one event. Appends operations to *out, which it does not empty. Without room in
 * *out it only notes the event, and lock_due is at once. Without contention, acquire and
 * release are two operations in two rounds. An acquire ends in HELD, however long that
 * takes; a view with another home ends HELD and RELEASING in IDLE.
 */
void lock_step(struct lock *l, const struct step_event *ev, struct mono now, struct step_out *out);
/* When it needs a STEP_TICK. INT64_MAX: not before another event. */
struct mono lock_due(const struct lock *l);

enum lock_state lock_state(const struct lock *l);
/* Is it surely held for need_ns more? Call it right before putting out what needs the lock. */
bool lock_may_act(const struct lock *l, struct mono now, int64_t need_ns);
/* WAITING, the home answers, and its word may not be acquired yet. */
bool lock_blocked(const struct lock *l);
/*
 * WAITING or WATCHING at a word that may not be acquired yet, and that this wait has read
 * unchanged for a check or longer. *breaks: when the lock may be broken.
 */
bool lock_unchanged(const struct lock *l, struct mono *breaks);
/*
 * WAITING or WATCHING: since that began, this link has returned one word that may be
 * acquired, or two that may not.
 */
bool lock_seen(const struct lock *l);
/* HELD: when the lease ends. */
struct mono lock_until(const struct lock *l);
/*
 * HELD: the seq of our word. It grows from holder to holder: always with static membership (up to
 * REGION_COUNT_MAX acquisitions in one life of the home), otherwise in one life of the home.
 */
uint64_t lock_fence(const struct lock *l);
/* HELD: the lock was not acquired from a clean release, or lock_mark said so. */
bool lock_unclean(const struct lock *l);
/* false: the sweep was made, and missed nothing. true: an operation of ours may yet execute. */
void lock_mark(struct lock *l, bool unclean);

/* How long a waiter waits for an unchanged word before it breaks the lock. */
int64_t lock_break_ns(const struct lock_conf *c);

#endif
