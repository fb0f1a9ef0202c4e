// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lock: the step function of one service's lock on one host.
 *
 * At most one operation is outstanding. Events change the state; then advance()
 * puts out what the state wants, when its time has come.
 */
#include <string.h>

#include "src/core/random.h"
#include "src/reconf/lock.h"
#include "src/reconf/put.h"
#include "src/shared/lease.h"

static const struct mono NEVER = { INT64_MAX };

enum {
	PPM = 1000000,
	JITTER_PART = 8,
	/* Of the home, in the count of its first word in a view. */
	GENERATION_SHIFT = 20,
	GENERATION_MASK = 0xfff,
};

uint16_t lock_epoch(uint64_t seq)
{
	return (uint16_t)(seq >> 32);
}

bool lock_epoch_ahead(uint16_t a, uint16_t b)
{
	return a != b && (uint16_t)(a - b) < 0x8000;
}

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
	l->rng = c->seed ^ (uint64_t)c->self << 32 ^ c->service;
}

/* --- what a word says --------------------------------------------------------- */

static bool epoch_behind(const struct lock *l, uint64_t seq)
{
	return l->view != 0 && lock_epoch_ahead((uint16_t)l->view, lock_epoch(seq));
}

/* Nothing is known of who held the lock before. */
static bool fresh(const struct lock *l, uint64_t word)
{
	uint64_t seq = region_word_seq(word);

	return (uint32_t)seq == 0 || epoch_behind(l, seq);
}

/*
 * Taken last in a view that this host has not heard of. The newer holder swept the
 * nodes of its own view's members and released the lock clean to them alone: to a
 * host that has other members that says nothing.
 */
static bool of_newer_view(const struct lock *l, uint64_t word)
{
	uint64_t seq = region_word_seq(word);

	return l->view != 0 && (uint32_t)seq != 0 &&
	       lock_epoch_ahead(lock_epoch(seq), (uint16_t)l->view);
}

/* May it be taken without waiting? */
static bool takeable(const struct lock *l, uint64_t word)
{
	uint16_t owner = region_word_id(word);

	/* rule: a lock of a newer view is left alone */
	if (of_newer_view(l, word))
		return false;
	/* rule: a fresh word is waited for */
	if (fresh(l, word))
		return false;
	/* rule: a restarted owner breaks its own old generation at once */
	return owner == 0 || owner == LOCK_DIRTY || owner == l->conf.self;
}

/* May the word that was seen be taken now? */
static bool may_take(const struct lock *l, struct mono now)
{
	/* rule: break after the word stood for break time */
	bool stood = mono_sub(now, l->since) >= lock_break_ns(&l->conf);

	return l->known && !of_newer_view(l, l->seen) && (takeable(l, l->seen) || stood);
}

static bool released_clean(const struct lock *l, uint64_t word)
{
	return region_word_id(word) == 0 && !fresh(l, word);
}

/* Ours, in the place of word. */
static uint64_t successor(const struct lock *l, uint64_t word)
{
	uint64_t seq = region_word_seq(word);
	uint64_t view = (uint64_t)(uint16_t)l->view << 32;

	/* rule: seq starts at view << 32, and above what the home had before it restarted */
	if (l->view != 0) {
		if ((uint32_t)seq == 0)
			seq = view | (uint64_t)(lock_epoch(seq) & GENERATION_MASK)
					     << GENERATION_SHIFT;
		else if (epoch_behind(l, seq))
			seq = view | (uint32_t)seq;
	}
	/* rule: seq + 1 at each acquire */
	return region_word(l->conf.self, seq + 1);
}

static uint64_t released(const struct lock *l)
{
	/* rule: what was not swept, or is undecided, is not released as clean */
	return region_word(l->unclean ? LOCK_DIRTY : 0, region_word_seq(l->word));
}

/* --- operations ---------------------------------------------------------------- */

static bool put(struct lock *l, enum lock_op op, enum step_kind kind, uint64_t compare,
		uint64_t value, struct step_out *out)
{
	uint32_t tag = l->conf.tag + (l->tag - l->conf.tag + 1) % LOCK_TAGS;
	struct step_op o = {
		.kind = kind,
		.host = l->home,
		.offset = region_lock_offset(l->conf.service),
		.compare = compare,
		.value = value,
		.tag = tag,
	};

	if (!step_put(out, o))
		return false;
	l->op = op;
	l->tag = tag;
	return true;
}

static void take(struct lock *l, uint64_t compare, struct mono now, struct step_out *out)
{
	uint64_t word = successor(l, compare);

	if (!put(l, LOCK_OP_TAKE, STEP_CAS, compare, word, out))
		return;
	l->compare = compare;
	l->word = word;
	l->unclean = !released_clean(l, compare);
	l->start = now; /* rule: hold counts from before the CAS */
}

static void try_take(struct lock *l, struct mono now, struct step_out *out)
{
	if (l->known && may_take(l, now)) /* rule: break by CAS on the exact word */
		take(l, l->seen, now, out);
	else if (!l->known || fresh(l, l->seen) || of_newer_view(l, l->seen))
		put(l, LOCK_OP_READ, STEP_READ, 0, 0, out);
	else /* looks, and takes it if it was released clean */
		take(l, region_word(0, region_word_seq(l->seen)), now, out);
}

static void advance(struct lock *l, struct mono now, struct step_out *out)
{
	if (mono_sub(now, lock_due(l)) < 0)
		return;
	if (l->state == LOCK_RELEASING) /* rule: release by CAS on the exact word */
		put(l, LOCK_OP_RELEASE, STEP_CAS, l->word, released(l), out);
	else if (l->unknown || l->state == LOCK_WATCHING)
		put(l, LOCK_OP_READ, STEP_READ, 0, 0, out);
	else
		try_take(l, now, out);
}

/* --- results ------------------------------------------------------------------- */

/* When to look again at a word that is another's: rule: waiters back off. */
static struct mono look_again(struct lock *l, struct mono now)
{
	int64_t check = l->conf.check_ns;
	uint64_t part = (uint64_t)(check / JITTER_PART) + 1;
	struct mono at = mono_add(now, check + (int64_t)(random_next(&l->rng) % part));
	struct mono breaks = mono_add(l->since, lock_break_ns(&l->conf));

	/* The break itself comes when it is due. */
	if (mono_sub(breaks, now) > 0 && mono_sub(breaks, at) < 0)
		return breaks;
	return at;
}

/* An operation showed this word, which is not ours. */
static void note(struct lock *l, uint64_t word, struct mono now)
{
	l->looks = l->looks ? 2 : 1;
	if (!l->known || word != l->seen) {
		l->seen = word;
		l->since = now;
		l->known = true;
		l->stands = false;
	} else {
		l->stands = mono_sub(now, l->since) >= l->conf.check_ns;
	}
	if (may_take(l, now) && !l->prompt && l->state != LOCK_WATCHING) {
		l->prompt = true;
		l->next = now;
		return;
	}
	l->prompt = false;
	l->next = look_again(l, now);
}

static void finish(struct lock *l)
{
	l->state = l->again ? LOCK_WAITING : LOCK_IDLE;
	l->again = false;
	l->unknown = false;
}

static void taken(struct lock *l, struct mono now)
{
	if (l->state == LOCK_WAITING)
		l->state = LOCK_HELD; /* else no longer wanted: it is released */
	l->seen = l->word;
	l->since = now;
	l->known = true;
	l->prompt = false;
	l->unknown = false;
	l->next = now;
}

/* The word is not ours: what was shown, if anything was. */
static void not_taken(struct lock *l, const struct step_event *ev, struct mono now)
{
	l->unknown = false;
	if (ev->outcome == STEP_DONE)
		note(l, ev->old, now);
	if (l->state == LOCK_RELEASING)
		finish(l);
}

static void read_result(struct lock *l, const struct step_event *ev, struct mono now)
{
	if (ev->outcome != STEP_DONE)
		return;
	if (l->unknown && ev->old == l->word)
		taken(l, now);
	else
		not_taken(l, ev, now);
}

static void take_result(struct lock *l, const struct step_event *ev, struct mono now)
{
	if (ev->outcome == STEP_UNKNOWN) {
		l->unknown = true; /* rule: a READ on a newer link decides */
	} else if (ev->outcome == STEP_DONE && ev->old == l->compare) {
		taken(l, now);
	} else {
		not_taken(l, ev, now);
	}
}

static void release_result(struct lock *l, const struct step_event *ev, struct mono now)
{
	if (ev->outcome != STEP_DONE)
		return;
	if (ev->old == l->word) {
		l->seen = released(l);
		l->since = now;
		l->known = true;
		l->next = now;
	} else { /* rule: a late release fails, harmlessly */
		note(l, ev->old, now);
	}
	finish(l);
}

static void result(struct lock *l, const struct step_event *ev, struct mono now)
{
	enum lock_op op = l->op;

	if (op == LOCK_OP_NONE || ev->tag != l->tag)
		return;
	l->op = LOCK_OP_NONE;
	if (ev->outcome == STEP_LOST || ev->outcome == STEP_UNKNOWN) {
		l->cut = true;
		l->link = ev->link;
	} else if (ev->outcome == STEP_REFUSED) {
		l->next = mono_add(now, l->conf.check_ns);
	}
	if (op == LOCK_OP_READ)
		read_result(l, ev, now);
	else if (op == LOCK_OP_TAKE)
		take_result(l, ev, now);
	else
		release_result(l, ev, now);
}

/* --- other events -------------------------------------------------------------- */

static void new_link(struct lock *l, const struct step_event *ev)
{
	if (ev->host != l->home || (l->cut && ev->link <= l->link))
		return;
	l->cut = false;
	l->looks = 0;
	l->known = false; /* the home may have begun anew: a word like the old one is another */
}

static void new_home(struct lock *l, uint16_t home)
{
	l->home = home;
	l->op = LOCK_OP_NONE; /* its result is of no concern any more */
	l->known = false;
	l->looks = 0;
	l->prompt = false;
	l->unknown = false;
	l->cut = false;
	l->next = (struct mono){ 0 };
	if (l->state == LOCK_HELD || l->state == LOCK_RELEASING)
		finish(l);
}

static void new_view(struct lock *l, const struct step_event *ev)
{
	/* rule: the home is the lowest-numbered member */
	uint16_t home = ev->members ? (uint16_t)(__builtin_ctzll(ev->members) + 1) : 0;

	if (ev->view < l->view)
		return;
	l->view = ev->view;
	l->quorate = ev->quorate;
	if (home != l->home)
		new_home(l, home);
}

static void ask_release(struct lock *l)
{
	l->again = false;
	if (l->state == LOCK_HELD)
		l->state = LOCK_RELEASING;
	else if (l->state == LOCK_WAITING)
		l->state = l->op == LOCK_OP_TAKE || l->unknown ? LOCK_RELEASING : LOCK_IDLE;
	else if (l->state == LOCK_WATCHING)
		l->state = LOCK_IDLE;
}

static void ask_acquire(struct lock *l, struct mono now)
{
	if (l->state == LOCK_WATCHING)
		l->next = now;
	if (l->state == LOCK_IDLE)
		l->looks = 0;
	if (l->state == LOCK_IDLE || l->state == LOCK_WATCHING) {
		l->state = LOCK_WAITING;
		l->stands = false;
	} else if (l->state == LOCK_RELEASING) {
		l->again = true;
	}
}

static void ask_watch(struct lock *l, struct mono now)
{
	if (l->state != LOCK_IDLE)
		return;
	l->state = LOCK_WATCHING;
	l->stands = false;
	l->looks = 0;
	l->next = now;
}

static void ask(struct lock *l, uint32_t what, struct mono now)
{
	if (what == LOCK_RELEASE)
		ask_release(l);
	else if (what == LOCK_ACQUIRE)
		ask_acquire(l, now);
	else if (what == LOCK_WATCH)
		ask_watch(l, now);
}

void lock_step(struct lock *l, const struct step_event *ev, struct mono now, struct step_out *out)
{
	switch (ev->type) {
	case STEP_RESULT:
		result(l, ev, now);
		break;
	case STEP_LINK:
		new_link(l, ev);
		break;
	case STEP_VIEW:
		new_view(l, ev);
		break;
	case STEP_ASK:
		ask(l, ev->what, now);
		break;
	case STEP_TICK:
		break;
	}
	advance(l, now, out);
}

/* --- questions ------------------------------------------------------------------- */

struct mono lock_due(const struct lock *l)
{
	if (l->op != LOCK_OP_NONE || l->cut || l->home == 0)
		return NEVER;
	if (l->state == LOCK_IDLE || l->state == LOCK_HELD)
		return NEVER;
	/* rule: not quorate: nothing is decided */
	if (l->state != LOCK_RELEASING && !l->unknown && !l->quorate)
		return NEVER;
	return l->next;
}

enum lock_state lock_state(const struct lock *l)
{
	return l->state;
}

bool lock_blocked(const struct lock *l)
{
	return l->state == LOCK_WAITING && !l->cut && l->known && !takeable(l, l->seen);
}

bool lock_stands(const struct lock *l, struct mono *breaks)
{
	if (!l->stands || !l->known || l->cut || l->op == LOCK_OP_TAKE ||
	    (l->state != LOCK_WAITING && l->state != LOCK_WATCHING) || takeable(l, l->seen))
		return false;
	*breaks = mono_add(l->since, lock_break_ns(&l->conf));
	return true;
}

bool lock_seen(const struct lock *l)
{
	if ((l->state != LOCK_WAITING && l->state != LOCK_WATCHING) || l->cut)
		return false;
	return l->looks == 2 || (l->looks == 1 && takeable(l, l->seen));
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
