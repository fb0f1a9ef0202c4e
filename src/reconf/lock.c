// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lock: the step function of one service's lock on one host. lock.h is its specification.
 *
 * A move has two of them (move_ops.c); a runner can also run one alone. An event changes the state.
 * Then advance() puts out the operation that the state needs, if it is due. At most one operation
 * is outstanding. The paper (choose.c) acquires by CAS as well; the lease, the break and the fence
 * are added, for a host that dies or hangs with the lock, of which the paper does not speak.
 */
#include <string.h>

#include "src/core/random.h"
#include "src/reconf/lock.h"
#include "src/reconf/put.h"
#include "src/shared/lease.h"

static const struct mono NEVER = { INT64_MAX };

enum { JITTER_PART = 8 };

int64_t lock_break_ns(const struct lock_conf *c)
{
	/* rule: break outlasts hold, the operations' deadline and both clocks' drift */
	return lease_break_ns(c->hold_ns, c->deadline_ns, c->drift_ppm);
}

void lock_init(struct lock *l, const struct lock_conf *c)
{
	memset(l, 0, sizeof(*l));
	l->conf = *c;
	l->tag = c->tag;
	/*
	 * Each host and service draws its own jitter: waiters that met the same word must not stay
	 * in step.
	 */
	l->rng = c->seed ^ (uint64_t)c->self << 32 ^ c->service;
}

/* --- what a word means --------------------------------------------------------- */

static bool epoch_behind(const struct lock *l, uint64_t seq)
{
	return region_seq_epoch(seq) < l->view;
}

/*
 * A fresh word: the earlier holders of the lock are not known (lock.h). Count 0: nobody acquired it
 * in this life of the home. Epoch behind: nobody did in this view, and holders at the home of an
 * older view may still act.
 */
static bool fresh(const struct lock *l, uint64_t word)
{
	uint64_t seq = region_word_seq(word);

	return region_seq_count(seq) == 0 || epoch_behind(l, seq);
}

/*
 * The last holder acquired the lock in a view that this host does not know yet. It swept
 * the nodes of that view's members only. So its clean release proves nothing to a host
 * whose view has other members.
 */
static bool of_newer_view(const struct lock *l, uint64_t word)
{
	uint64_t seq = region_word_seq(word);

	return l->view != 0 && region_seq_count(seq) != 0 && region_seq_epoch(seq) > l->view;
}

/* May this word be replaced by ours without waiting? */
static bool acquirable(const struct lock *l, uint64_t word)
{
	uint16_t owner = region_word_id(word);

	/* rule: a lock of a newer view is left alone */
	if (of_newer_view(l, word))
		return false;
	/* rule: a fresh word is waited for */
	if (fresh(l, word))
		return false;
	/* rule: a word that an operator wrote is waited for: REGION_LOCK_BROKEN is not free */
	/* rule: a restarted owner breaks its own old generation at once */
	return owner == 0 || owner == LOCK_DIRTY || owner == l->conf.self;
}

/* May the last word be replaced by ours now? */
static bool may_acquire(const struct lock *l, struct mono now)
{
	/* rule: break after the word was unchanged for the break time */
	/* Our own clock alone decides. lock.h proves that the holder has stopped by then. */
	bool is_break_due = mono_sub(now, l->since) >= lock_break_ns(&l->conf);

	return l->knows != LOCK_WORD_UNKNOWN && !of_newer_view(l, l->last_word) &&
	       (acquirable(l, l->last_word) || is_break_due);
}

static bool released_clean(const struct lock *l, uint64_t word)
{
	return region_word_id(word) == 0 && !fresh(l, word);
}

/* Our word, to replace this one. */
static uint64_t successor(const struct lock *l, uint64_t word)
{
	uint64_t seq = region_word_seq(word);

	/* rule: the epoch of a fresh word becomes the view's number */
	if (l->view != 0 && fresh(l, word))
		seq = region_seq((uint32_t)l->view, 0);
	/* rule: seq + 1 at each acquire */
	return region_word(l->conf.self, region_seq_next(seq));
}

static uint64_t release_word(const struct lock *l)
{
	/* rule: what was not swept, or is undecided, is not released as clean */
	return region_word(l->unclean ? LOCK_DIRTY : 0, region_word_seq(l->word));
}

/* --- operations ---------------------------------------------------------------- */

static bool put_op(struct lock *l, enum lock_op op, struct step_op o, struct step_out *out)
{
	/*
	 * A new tag for each operation: the result of one that was given up (new_home) has another.
	 */
	uint32_t tag = l->conf.tag + (l->tag - l->conf.tag + 1) % LOCK_TAGS;

	o.host = l->home;
	o.offset = region_lock_offset(l->conf.service);
	o.tag = tag;
	if (!step_put(out, o))
		return false;
	l->op = op;
	l->tag = tag;
	return true;
}

static void put_read(struct lock *l, struct step_out *out)
{
	put_op(l, LOCK_OP_READ, (struct step_op){ .kind = STEP_READ, .len = 8 }, out);
}

static void put_acquire(struct lock *l, uint64_t compare, struct mono now, struct step_out *out)
{
	uint64_t word = successor(l, compare);
	/* rule: a CAS is posted on the link on which its compare was read */
	struct step_op op = {
		.kind = STEP_CAS, .compare = compare, .value = word, .link = l->word_link
	};

	if (!put_op(l, LOCK_OP_ACQUIRE, op, out))
		return;
	/* Only when it was put out: without room, lock_due stays at once and the step repeats. */
	l->compare = compare;
	l->word = word;
	l->unclean = !released_clean(l, compare);
	l->start = now; /* rule: hold counts from before the CAS */
}

/*
 * On any link: only this host writes words with its number, and it has one operation at a time. So
 * a home that restarted does not have this word again.
 */
static void put_release(struct lock *l, struct step_out *out)
{
	/* rule: release by CAS on the exact word */
	struct step_op op = { .kind = STEP_CAS, .compare = l->word, .value = release_word(l) };

	put_op(l, LOCK_OP_RELEASE, op, out);
}

static void try_acquire(struct lock *l, struct mono now, struct step_out *out)
{
	if (may_acquire(l, now)) /* rule: break by CAS on the exact word */
		put_acquire(l, l->last_word, now, out);
	else if (l->knows == LOCK_WORD_UNKNOWN || fresh(l, l->last_word) ||
		 of_newer_view(l, l->last_word))
		put_read(l, out);
	else /* acquires it if it was released clean; otherwise returns the word */
		put_acquire(l, region_word(0, region_word_seq(l->last_word)), now, out);
}

static void advance(struct lock *l, struct mono now, struct step_out *out)
{
	if (mono_sub(now, lock_due(l)) < 0)
		return;
	if (l->state == LOCK_RELEASING)
		put_release(l, out);
	else if (l->undecided || l->state == LOCK_WATCHING)
		put_read(l, out);
	else
		try_acquire(l, now, out);
}

/* --- results ------------------------------------------------------------------- */

/* When to look next at the word of another host. rule: waiters back off */
static struct mono next_look(struct lock *l, struct mono now)
{
	int64_t check = l->conf.check_ns;
	uint64_t part = (uint64_t)(check / JITTER_PART) + 1;
	/*
	 * A word that was read first less than a check ago: look when it can be unchanged for one.
	 * A move that holds its first lock waits for this (move_locks.c).
	 */
	struct mono from = l->knows == LOCK_WORD_KNOWN ? l->since : now;
	struct mono at = mono_add(from, check + (int64_t)(random_next(&l->rng) % part));
	struct mono breaks = mono_add(l->since, lock_break_ns(&l->conf));

	/*
	 * The break itself is not late: a look that jitter puts behind it is moved to it, so a dead
	 * holder delays others by the bound of lock.h. A look before it stays as it is.
	 */
	if (mono_sub(breaks, now) > 0 && mono_sub(breaks, at) < 0)
		return breaks;
	return at;
}

static void set_last_word(struct lock *l, uint64_t word, struct mono now)
{
	l->last_word = word;
	l->since = now;
	l->knows = LOCK_WORD_KNOWN;
}

/* A new wait begins: it must itself find the word unchanged for a check. */
static void forget_unchanged(struct lock *l)
{
	if (l->knows == LOCK_WORD_UNCHANGED)
		l->knows = LOCK_WORD_KNOWN;
}

/* An operation returned this word, which is not ours. */
static void observe_word(struct lock *l, uint64_t word, struct mono now)
{
	l->reads = l->reads ? 2 : 1;
	if (l->knows == LOCK_WORD_UNKNOWN || word != l->last_word)
		set_last_word(l, word, now);
	else
		l->knows = mono_sub(now, l->since) >= l->conf.check_ns ? LOCK_WORD_UNCHANGED
								       : LOCK_WORD_KNOWN;
	/*
	 * Try at once, but only once: two hosts that lose to each other again and again must not
	 * post without a pause.
	 */
	if (may_acquire(l, now) && !l->retried && l->state != LOCK_WATCHING) {
		l->retried = true;
		l->next = now;
		return;
	}
	l->retried = false;
	l->next = next_look(l, now);
}

static void end_release(struct lock *l)
{
	l->state = l->reacquire ? LOCK_WAITING : LOCK_IDLE;
	l->reacquire = false;
	l->undecided = false;
}

static void acquired(struct lock *l, struct mono now)
{
	/*
	 * The outcome may come long after the CAS. lock_may_act counts from l->start, so a
	 * lease that has ended meanwhile permits nothing.
	 */
	if (l->state == LOCK_WAITING)
		l->state = LOCK_HELD; /* RELEASING: no longer wanted */
	set_last_word(l, l->word, now);
	l->retried = false;
	l->undecided = false;
	l->next = now;
}

/* The word is not ours. DONE: ev->old is another's. */
static void not_acquired(struct lock *l, const struct step_event *ev, struct mono now)
{
	l->undecided = false;
	if (ev->outcome == STEP_DONE)
		observe_word(l, ev->old, now);
	if (l->state == LOCK_RELEASING)
		end_release(l);
}

static void read_result(struct lock *l, const struct step_event *ev, struct mono now)
{
	if (ev->outcome != STEP_DONE)
		return;
	/* By the exact word: seq + 1 at each acquire, so only our own CAS can have written it. */
	if (l->undecided && ev->old == l->word)
		acquired(l, now);
	else
		not_acquired(l, ev, now);
}

static void acquire_result(struct lock *l, const struct step_event *ev, struct mono now)
{
	if (ev->outcome == STEP_UNKNOWN) {
		l->undecided = true; /* rule: a READ on a newer link decides */
	} else if (ev->outcome == STEP_DONE && ev->old == l->compare) {
		acquired(l, now);
	} else {
		not_acquired(l, ev, now);
	}
}

static void release_result(struct lock *l, const struct step_event *ev, struct mono now)
{
	if (ev->outcome != STEP_DONE)
		return;
	if (ev->old == l->word) {
		set_last_word(l, release_word(l), now);
		l->next = now;
	} else { /* rule: a late release fails, harmlessly */
		observe_word(l, ev->old, now);
	}
	end_release(l);
}

static void op_result(struct lock *l, const struct step_event *ev, struct mono now)
{
	enum lock_op op = l->op;

	/*
	 * Of an operation that was given up with its home: the word of another home says nothing.
	 */
	if (op == LOCK_OP_NONE || ev->tag != l->tag)
		return;
	l->op = LOCK_OP_NONE;
	if (ev->outcome == STEP_DONE)
		l->word_link = ev->link;
	if (ev->outcome == STEP_LOST || ev->outcome == STEP_UNKNOWN) {
		/*
		 * The same link brings no result any more. Only a newer one may decide (lock.h,
		 * Outcomes).
		 */
		l->link_down = true;
		l->link = ev->link;
	} else if (ev->outcome == STEP_REFUSED) {
		/*
		 * The link is up, so nothing will announce when it may succeed: try again after a
		 * check.
		 */
		l->next = mono_add(now, l->conf.check_ns);
	}
	if (op == LOCK_OP_READ)
		read_result(l, ev, now);
	else if (op == LOCK_OP_ACQUIRE)
		acquire_result(l, ev, now);
	else
		release_result(l, ev, now);
}

/* --- other events -------------------------------------------------------------- */

static void new_link(struct lock *l, const struct step_event *ev)
{
	/* A link that is not newer than the one that failed decides nothing. */
	if (ev->host != l->home || (l->link_down && ev->link <= l->link))
		return;
	l->link_down = false;
	l->reads = 0;
	/* The home may have restarted: the same bits may be another acquisition. */
	l->knows = LOCK_WORD_UNKNOWN;
}

static void new_home(struct lock *l, uint16_t home)
{
	l->home = home;
	l->op = LOCK_OP_NONE; /* ignore its result */
	l->knows = LOCK_WORD_UNKNOWN;
	l->reads = 0;
	l->retried = false;
	l->undecided = false;
	l->link_down = false;
	l->next = (struct mono){ 0 };
	/*
	 * The word at the old home stays behind: hosts of the new view do not read it, and find
	 * their own home's word fresh.
	 */
	if (l->state == LOCK_HELD || l->state == LOCK_RELEASING)
		end_release(l);
}

static void new_view(struct lock *l, const struct step_event *ev)
{
	/* rule: the home is the lowest-numbered member */
	uint16_t home = hostset_next(&ev->members, 0);

	if (ev->view < l->view)
		return;
	l->view = ev->view;
	l->quorate = ev->quorate;
	if (home != l->home)
		new_home(l, home);
}

static void user_releases(struct lock *l)
{
	l->reacquire = false;
	if (l->state == LOCK_HELD)
		l->state = LOCK_RELEASING;
	else if (l->state == LOCK_WAITING)
		/* A CAS under way may still make the word ours: it must be released then. */
		l->state = l->op == LOCK_OP_ACQUIRE || l->undecided ? LOCK_RELEASING : LOCK_IDLE;
	else if (l->state == LOCK_WATCHING)
		l->state = LOCK_IDLE;
}

static void user_acquires(struct lock *l, struct mono now)
{
	if (l->state == LOCK_WATCHING)
		l->next = now;
	if (l->state == LOCK_IDLE)
		l->reads = 0;
	if (l->state == LOCK_IDLE || l->state == LOCK_WATCHING) {
		l->state = LOCK_WAITING;
		forget_unchanged(l);
	} else if (l->state == LOCK_RELEASING) {
		l->reacquire = true;
	}
}

static void user_watches(struct lock *l, struct mono now)
{
	if (l->state != LOCK_IDLE)
		return;
	l->state = LOCK_WATCHING;
	forget_unchanged(l);
	l->reads = 0;
	l->next = now;
}

static void user_asks(struct lock *l, uint32_t what, struct mono now)
{
	if (what == LOCK_RELEASE)
		user_releases(l);
	else if (what == LOCK_ACQUIRE)
		user_acquires(l, now);
	else if (what == LOCK_WATCH)
		user_watches(l, now);
}

void lock_step(struct lock *l, const struct step_event *ev, struct mono now, struct step_out *out)
{
	switch (ev->type) {
	case STEP_RESULT:
		op_result(l, ev, now);
		break;
	case STEP_LINK:
		new_link(l, ev);
		break;
	case STEP_VIEW:
		new_view(l, ev);
		break;
	case STEP_ASK:
		user_asks(l, ev->what, now);
		break;
	case STEP_TICK:
	case STEP_MESSAGE: /* locks need none */
		break;
	}
	advance(l, now, out);
}

/* --- queries ------------------------------------------------------------------- */

struct mono lock_due(const struct lock *l)
{
	if (l->op != LOCK_OP_NONE || l->link_down || l->home == 0)
		return NEVER;
	if (l->state == LOCK_IDLE || l->state == LOCK_HELD)
		return NEVER;
	/* rule: not quorate: nothing is decided */
	/*
	 * A release gives up, and the READ that settles an outcome changes nothing: neither
	 * decides.
	 */
	if (l->state != LOCK_RELEASING && !l->undecided && !l->quorate)
		return NEVER;
	return l->next;
}

enum lock_state lock_state(const struct lock *l)
{
	return l->state;
}

bool lock_blocked(const struct lock *l)
{
	return l->state == LOCK_WAITING && !l->link_down && l->knows != LOCK_WORD_UNKNOWN &&
	       !acquirable(l, l->last_word);
}

bool lock_unchanged(const struct lock *l, struct mono *breaks)
{
	if (l->knows != LOCK_WORD_UNCHANGED || l->link_down || l->op == LOCK_OP_ACQUIRE ||
	    (l->state != LOCK_WAITING && l->state != LOCK_WATCHING) || acquirable(l, l->last_word))
		return false;
	*breaks = mono_add(l->since, lock_break_ns(&l->conf));
	return true;
}

bool lock_seen(const struct lock *l)
{
	if ((l->state != LOCK_WAITING && l->state != LOCK_WATCHING) || l->link_down)
		return false;
	return l->reads == 2 || (l->reads == 1 && acquirable(l, l->last_word));
}

struct mono lock_until(const struct lock *l)
{
	return mono_add(l->start, l->conf.hold_ns);
}

bool lock_may_act(const struct lock *l, struct mono now, int64_t need_ns)
{
	if (l->state != LOCK_HELD || !l->quorate)
		return false;
	/* rule: done before hold */
	return mono_sub(lock_until(l), now) >= need_ns;
}

uint64_t lock_fence(const struct lock *l)
{
	return region_word_seq(l->word);
}

bool lock_unclean(const struct lock *l)
{
	return l->unclean;
}

void lock_mark(struct lock *l, bool unclean)
{
	l->unclean = unclean;
}
