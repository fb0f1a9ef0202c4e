// SPDX-License-Identifier: GPL-2.0-or-later
/* lock: leases on a home's word, by schedules written by hand. */
#include "tests/unit/lock_rig.h"
#include "tests/unit/steps.h"
#include "tests/unit/unit.h"

/* --- schedules as rows ---------------------------------------------------------------- */

/*
 * Steps, where HOST is a or b:
 *
 *	HOST acquire, HOST watch, HOST release
 *				asks its lock for this; the operations are executed at once
 *	HOST hold		acquires the lock, and must hold it then
 *	HOST ask-acquire, HOST ask-watch, HOST ask-release
 *				asks its lock; the operation is put out, but not executed yet
 *	HOST run		executes what its lock has put out
 *	HOST lost, HOST refused, HOST unknown
 *				the result of the operation put out, which is not executed
 *	HOST unknown-executed	the same, but it was executed
 *	HOST new-link		has a newer link to the home
 *	HOST restart		starts anew, and has forgotten everything
 *	HOST ticks TIME		TIME passes, in which it does what is due
 *	HOST due-tick		time passes until something is due, and that is put out
 *	HOST tick		what is due now is put out
 *	HOST dirty, HOST swept	marks the lock that it holds as unclean, as clean
 *	HOST view N [MEMBERS]	is in view N, which is quorate; a mask of hosts, 0xf if not given
 *	HOST no-quorum [N [MEMBERS]]
 *				is in view N, or 0, which is not quorate
 *	HOST count		counts its operations from here
 *	word ID N [view E]	the home's word has the id (free, a, b, other, dirty, broken), and
 *				the seq N in epoch E; if not given, in that of the home's start
 *	break			an operator breaks the lock
 *	wait TIME		TIME passes
 *
 * TIME is MS; or "break", the time after which a lock is broken; or "break less MS",
 * "break plus MS"; or "before-break", 1 ns less than "break".
 *
 * Expectations:
 *
 *	HOST idle, HOST waiting, HOST held, HOST releasing
 *	HOST clean, HOST unclean
 *	HOST seen, HOST unseen	the answer of lock_seen()
 *	HOST may-not		the answer of lock_may_act() is no
 *	HOST ops N		operations put out since "count"
 *	HOST out N		operations put out and not executed
 *	HOST due MS, HOST due-never
 *				something is due in so much time, or nothing is
 *	HOST epoch N		that of its fence
 *	HOST home N, HOST quorate
 *				according to its view
 *	word ID N [view E]	the home's word
 */
static const struct row {
	const char *name, *steps;
} rows[] = {
	{ "acquire: the guess is old and the word free, the second operation takes it",
	  "a hold, a release, b hold, b release, a count, a hold -> a ops 2" },
	{ "acquire: unknown and not executed, is tried again",
	  "a hold, a release, a ask-acquire, a unknown, a new-link, a run -> a held, word a 3" },
	{ "acquire: lost, nothing is put out before a newer link",
	  "a ask-acquire, a lost, wait 60000, a tick -> a out 0, a due-never;"
	  "a new-link, a run -> a held" },
	{ "acquire: refused, again after a check",
	  "a ask-acquire, a refused -> a out 0, a due 10; a ticks 10 -> a held" },

	{ "wait: the holder dies, broken after the break time and unclean",
	  "a hold, b acquire, b ticks before-break -> b waiting, a may-not;"
	  "b ticks 10 -> b held, b unclean, word b 3" },
	{ "wait: the word changes hands, waits anew",
	  "a hold, b acquire, b ticks break less 20, word other 9, b ticks break less 10"
	  "-> b waiting, word other 9" },
	{ "wait: asked again later, goes on from what was seen",
	  "a hold, b acquire, b release -> b idle; wait break, b acquire -> b held, b unclean" },
	/* A check is 10 ms, and up to an eighth more. */
	{ "wait: at most one operation a check",
	  "word a 2, b acquire, b count, b ticks 200 -> b ops 15..20" },
	/* The look was the CAS. */
	{ "wait: released clean, the next look takes it clean",
	  "a hold, b acquire, a release, b count, b ticks 20 -> b held, b clean, b ops 1" },

	{ "watch: the word is unchanged for the break time, an acquire breaks it at once",
	  "a hold, b watch, b count, b ticks break -> b ops 18..26, word a 2; b hold -> b "
	  "unclean" },
	{ "watch: the word gets free, is not taken before it is asked",
	  "a hold, b watch, a release, b ticks 20 -> word free 2;"
	  "b hold, b release, b watch, b release -> b idle" },
	/* The new word is unchanged for as long, so it is broken at once. */
	{ "watch: the word changes after the break time, is seen",
	  "a hold, b watch, b ticks break, word other 3, b ticks break plus 20, b hold -> word b "
	  "4" },
	{ "watch: an acquire while a look is under way is not delayed",
	  "a hold, b watch, b ticks break, b due-tick, b ask-acquire, b run -> b held" },
	{ "watch: an acquire within a check, looks again when the word can be unchanged for one",
	  "a hold, b watch, b ticks 8, b acquire, b count, b ticks 4 -> b ops 1" },
	{ "watch: begun anew, looks at once",
	  "a hold, b acquire, b release, b count, b watch -> b ops 1" },

	/* After the release, a free word may not be free any more. */
	{ "seen: the word is free, after a look",
	  "b ask-watch -> b unseen; b run -> b seen; b release -> b unseen;"
	  "b ask-watch -> b unseen" },
	{ "seen: the word is another host's, after two looks",
	  "a hold, b watch -> b unseen; b ticks 5 -> b unseen; b ticks 10 -> b seen" },
	{ "seen: the link breaks, not before it is looked at again",
	  "b watch, b due-tick -> b seen; b lost -> b unseen; b new-link -> b unseen;"
	  "b run -> b seen" },

	{ "release: after it was broken, fails harmlessly",
	  "a hold, b acquire, b ticks break plus 10 -> word b 3;"
	  "a release -> a idle, word b 3, b held" },
	{ "release: unclean, the next holder takes it at once and is unclean",
	  "a hold, a dirty, a release -> word dirty 2; b hold -> b unclean;"
	  "b swept, b release -> word free 3; a hold -> a clean" },
	/* The second try is not on the old link. */
	{ "release: unknown and not executed, the same CAS on a newer link decides",
	  "a hold, a ask-release, a unknown -> a out 0, a releasing;"
	  "a new-link, a run -> a idle, word free 2" },
	{ "release: unknown and executed, the same CAS on a newer link decides",
	  "a hold, a ask-release, a unknown-executed -> a out 0, a releasing;"
	  "a new-link, a run -> a idle, word free 2" },
	{ "release: asked while the acquire is under way, released once it is held",
	  "a hold, a release, a ask-acquire, a ask-release, a run -> a idle, word free 3" },

	{ "restart: the own word of before is taken at once, unclean",
	  "a hold, a restart, a hold -> a unclean, word a 3" },
	/* The home has just started: earlier holders are not known. */
	{ "restart: the home's fresh word is waited for, and then unclean",
	  "word free 0, a acquire, a ticks before-break -> a waiting, word free 0;"
	  "a ticks 10 -> a held, a unclean, word a 1" },
	/* The home starts anew, and a acquires again: the word is the same. */
	{ "restart: a word like that of before the home's start is waited for anew",
	  "word a 1, b acquire, b ticks break less 10, b new-link, b ticks before-break -> word a "
	  "1" },
	{ "break: the holder cannot release, the next one waits for its lease and is unclean",
	  "a hold, break -> word broken 3; a release -> word broken 3;"
	  "b acquire, b ticks before-break -> b waiting, word broken 3; b ticks 10 -> b held, "
	  "b unclean, word b 4" },
	{ "break: under a live lease, the old holder is no more at work",
	  "a hold, break, b acquire, b ticks before-break -> a may-not, b waiting" },

	/* The release decides nothing, so it is made. */
	{ "view: not quorate, nothing is taken and nothing may be done",
	  "a hold, a no-quorum -> a may-not; a release -> word free 2;"
	  "a acquire, a ticks 2000 -> word free 2; a view 0, a run -> a held" },
	{ "view: an older one that comes late is ignored",
	  "a view 6, a no-quorum 5 0xe -> a home 1, a quorate" },
	/*
	 * Host b knows view 6. A word that is clean in view 7 is not clean for b, nor are its own.
	 */
	{ "view: a newer one had the lock, is not taken before that view is known",
	  "a view 7, b view 6, a ticks 500, word free 5 view 7, b acquire, b ticks 500,"
	  "word dirty 6 view 7, b ticks 500, word a 7 view 7, b ticks 500, word b 8 view 7,"
	  "b ticks 500 -> word b 8 view 7, b waiting;"
	  "word free 9 view 7, b view 7, b ticks 20 -> b held, word b 10 view 7, b clean" },
	{ "view: a newer one had the lock unseen, a guess does not take it",
	  "b view 6, word free 3 view 6, b hold, b release, word a 4 view 7, b acquire,"
	  "word free 4 view 7, b ticks 500 -> word free 4 view 7" },
	/* It is of the home's ninth start. */
	{ "view: a restarted home's word is not of a newer view",
	  "b view 6, word free 0 view 9, b acquire, b ticks 500 -> b held, b epoch 6, b unclean" },
};

static int64_t duration(const struct rig *r, const struct step *s)
{
	int64_t ms = (int64_t)s->n[0] * MS, brk = lock_break_ns(&r->a.lock.conf);

	if (strstr(s->rest, "before-break"))
		return brk - 1;
	if (!strstr(s->rest, "break"))
		return ms;
	return strstr(s->rest, "less") ? brk - ms : brk + ms;
}

/* A word as a step says it: ID N [view E]. */
static uint64_t word_of(const struct step *s)
{
	static const struct {
		const char *name;
		uint16_t id;
	} ids[] = {
		{ "free", 0 },
		{ "a", A },
		{ "b", B },
		{ "other", 4 },
		{ "dirty", LOCK_DIRTY },
		{ "broken", REGION_LOCK_BROKEN },
	};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (step_says(s, ids[i].name))
			return region_word(ids[i].id,
					   region_seq((uint32_t)step_number(s, 1, 5), 0) + s->n[0]);
	step_unknown(s);
	return 0;
}

/* The result of the operation that it put out. False: the step is not one. */
static bool host_gets(struct rig *r, struct host *h, const struct step *s)
{
	enum step_outcome o = step_says(s, "lost")	? STEP_LOST
			      : step_says(s, "refused") ? STEP_REFUSED
							: STEP_UNKNOWN;
	struct step_op op;

	if (o == STEP_UNKNOWN && strncmp(s->word, "unknown", strlen("unknown")))
		return false;
	op = only(h);
	if (step_says(s, "unknown-executed"))
		rig_execute(&r->w, &op);
	give(r, h, &op, o, 0);
	return true;
}

/* A request to its lock, or an event. False: the step is neither. */
static bool host_asks(struct rig *r, struct host *h, const struct step *s)
{
	static const struct {
		const char *name;
		uint32_t what;
	} asks[] = {
		{ "ask-acquire", LOCK_ACQUIRE },
		{ "ask-watch", LOCK_WATCH },
		{ "ask-release", LOCK_RELEASE },
	};

	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		if (step_says(s, asks[i].name)) {
			tell(r, h, rig_ask(asks[i].what));
			return true;
		}
		if (step_says(s, asks[i].name + strlen("ask-"))) {
			ask(r, h, asks[i].what);
			return true;
		}
	}
	return false;
}

static void host_acts(struct rig *r, struct host *h, const struct step *s)
{
	const struct step_event tick = { .type = STEP_TICK };

	if (step_says(s, "hold"))
		hold(r, h);
	else if (step_says(s, "run"))
		run(r, h);
	else if (step_says(s, "new-link"))
		new_link(r, h);
	else if (step_says(s, "restart"))
		setup_host(r, h, h->lock.conf.self);
	else if (step_says(s, "ticks"))
		tick_until(r, h, mono_add(r->now, duration(r, s)));
	else if (step_says(s, "due-tick")) {
		r->now = lock_due(&h->lock);
		tell(r, h, tick);
	} else if (step_says(s, "tick"))
		tell(r, h, tick);
	else if (step_says(s, "dirty") || step_says(s, "swept"))
		lock_mark(&h->lock, step_says(s, "dirty"));
	else if (step_says(s, "view") || step_says(s, "no-quorum"))
		tell(r, h, rig_view(s->n[0], step_number(s, 1, 0xf), step_says(s, "view")));
	else if (step_says(s, "count"))
		h->ops = 0;
	else if (!host_asks(r, h, s) && !host_gets(r, h, s))
		step_unknown(s);
}

static struct host *host_of(struct rig *r, const struct step *s)
{
	return step_is(s, "a") ? &r->a : step_is(s, "b") ? &r->b : NULL;
}

static void act(void *rig, const struct step *s)
{
	struct rig *r = rig;

	if (host_of(r, s))
		host_acts(r, host_of(r, s), s);
	else if (step_is(s, "word"))
		*word(r) = word_of(s);
	else if (step_is(s, "break"))
		*word(r) = lease_broken_word(*word(r));
	else if (step_is(s, "wait"))
		r->now = mono_add(r->now, duration(r, s));
	else
		step_unknown(s);
}

static void host_is(const struct rig *r, const struct host *h, const struct step *s)
{
	static const char *const states[] = {
		[LOCK_IDLE] = "idle",
		[LOCK_WAITING] = "waiting",
		[LOCK_HELD] = "held",
		[LOCK_RELEASING] = "releasing",
	};
	const struct lock *l = &h->lock;
	enum lock_state state = lock_state(l);

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (states[i] && step_says(s, states[i])) {
			step_holds(s, state == (enum lock_state)i);
			return;
		}
	if (step_says(s, "clean") || step_says(s, "unclean"))
		step_holds(s, lock_unclean(l) == step_says(s, "unclean"));
	else if (step_says(s, "seen") || step_says(s, "unseen"))
		step_holds(s, lock_seen(l) == step_says(s, "seen"));
	else if (step_says(s, "may-not"))
		step_holds(s, !lock_may_act(l, r->now, 0));
	else if (step_says(s, "ops"))
		step_expect(s, h->ops);
	else if (step_says(s, "out"))
		step_expect(s, h->out.n);
	else if (step_says(s, "due"))
		step_holds(s, lock_due(l).ns == r->now.ns + (int64_t)s->n[0] * MS);
	else if (step_says(s, "due-never"))
		step_holds(s, lock_due(l).ns == INT64_MAX);
	else if (step_says(s, "epoch"))
		step_expect(s, region_seq_epoch(lock_fence(l)));
	else if (step_says(s, "home"))
		step_expect(s, l->home);
	else if (step_says(s, "quorate"))
		step_holds(s, l->quorate);
	else
		step_unknown(s);
}

static void check(void *rig, const struct step *s)
{
	struct rig *r = rig;

	if (host_of(r, s))
		host_is(r, host_of(r, s), s);
	else if (step_is(s, "word"))
		assert_word(*word(r), region_word_id(word_of(s)), region_word_seq(word_of(s)));
	else
		step_unknown(s);
}

static void run_row(void **state)
{
	static const struct steps_ops ops = { .act = act, .check = check };
	const struct row *row = *state;

	assert_int_equal(setup(state), 0);
	steps_run(row->steps, &ops, *state);
	teardown(state);
}
TEST_ROWS(rows, run_row)

/* --- uncontended ------------------------------------------------------------------ */

RIG_TEST(acquire_release__uncontended__two_operations_in_two_rounds)
{
	struct rig *r = *state;

	hold(r, &r->a);
	ask(r, &r->a, LOCK_RELEASE);
	r->a.ops = 0;
	for (int i = 1; i <= 10; i++) {
		hold(r, &r->a);
		ask(r, &r->a, LOCK_RELEASE);
		assert_int_equal(lock_state(&r->a.lock), LOCK_IDLE);
		assert_int_equal(r->a.ops, 2 * i); /* each waits for the one before: rounds */
	}
	assert_word(*word(r), 0, START + 12);
}

RIG_TEST(acquire__each__is_one_seq_more_than_any_before)
{
	struct rig *r = *state;
	uint64_t last = 0;

	for (int i = 0; i < 10; i++) {
		struct host *h = i % 3 ? &r->a : &r->b;

		hold(r, h);
		assert_true(lock_fence(&h->lock) > last);
		last = lock_fence(&h->lock);
		assert_word(*word(r), h->lock.conf.self, last);
		assert_false(lock_unclean(&h->lock));
		ask(r, h, LOCK_RELEASE);
	}
}

/* --- the lease ---------------------------------------------------------------------- */

RIG_TEST(may_act__counts_hold_from_before_the_cas)
{
	struct rig *r = *state;
	struct mono before;
	struct step_op op;

	hold(r, &r->a);
	ask(r, &r->a, LOCK_RELEASE);
	before = r->now;
	tell(r, &r->a, rig_ask(LOCK_ACQUIRE));
	op = only(&r->a);
	r->now = mono_add(r->now, 30 * MS);
	give(r, &r->a, &op, STEP_DONE, rig_execute(&r->w, &op));
	assert_true(lock_may_act(&r->a.lock, r->now, HOLD - 30 * MS));
	assert_false(lock_may_act(&r->a.lock, r->now, HOLD - 30 * MS + 1));
	assert_true(lock_may_act(&r->a.lock, mono_add(before, HOLD), 0));
	assert_false(lock_may_act(&r->a.lock, mono_add(before, HOLD + 1), 0));
	assert_true(mono_sub(lock_until(&r->a.lock), before) == HOLD);
}

RIG_TEST(break_time__outlasts_hold_deadline_and_both_drifts)
{
	struct rig *r = *state;
	struct lock_conf c = r->a.lock.conf;

	for (uint32_t ppm = 0; ppm <= 200000; ppm += 997) {
		double d, need;

		c.drift_ppm = ppm;
		d = ppm / 1e6;
		need = (double)(HOLD + DEADLINE) * (1 + d) / (1 - d); /* holder slow, waiter fast */
		assert_true((double)lock_break_ns(&c) >= need);
		assert_true((double)lock_break_ns(&c) >= HOLD * (1 + 2 * d) + DEADLINE);
		assert_true((double)lock_break_ns(&c) <= need + 2);
	}
}

RIG_TEST(wait__whenever_begun__the_break_is_not_late_by_more_than_a_check)
{
	struct rig *r = *state;

	for (uint64_t i = 0; i < 200; i++) {
		struct mono seen, due;

		*word(r) = region_word(A, START + 100 + i);
		r->now = mono_add(r->now, 60 * 1000 * (int64_t)MS);
		ask(r, &r->b, LOCK_ACQUIRE);
		if (lock_state(&r->b.lock) == LOCK_HELD)
			fail_msg("taken at once");
		seen = r->b.lock.since;
		due = mono_add(seen, lock_break_ns(&r->b.lock.conf));
		tick_until(r, &r->b, mono_add(due, -1));
		assert_int_equal(lock_state(&r->b.lock), LOCK_WAITING);
		tick_until(r, &r->b, mono_add(due, CHECK));
		assert_int_equal(lock_state(&r->b.lock), LOCK_HELD);
		ask(r, &r->b, LOCK_RELEASE);
	}
}

RIG_TEST(wait__hosts_look_at_different_times)
{
	struct rig *r = *state;
	int same = 0;

	*word(r) = region_word(4, START + 2);
	ask(r, &r->a, LOCK_ACQUIRE);
	ask(r, &r->b, LOCK_ACQUIRE);
	for (int i = 0; i < 10; i++) {
		struct mono now = r->now;

		same += lock_due(&r->a.lock).ns == lock_due(&r->b.lock).ns;
		tick_until(r, &r->a, lock_due(&r->a.lock));
		r->now = now;
		tick_until(r, &r->b, lock_due(&r->b.lock));
	}
	assert_true(same < 5);
}

/* --- links -------------------------------------------------------------------------- */

RIG_TEST(acquire__unknown_and_executed__read_on_a_newer_link_finds_it_ours)
{
	struct rig *r = *state;
	struct mono began;
	struct step_op op;

	hold(r, &r->a);
	ask(r, &r->a, LOCK_RELEASE);
	began = r->now;
	tell(r, &r->a, rig_ask(LOCK_ACQUIRE));
	op = only(&r->a);
	r->now = mono_add(r->now, DEADLINE);
	give(r, &r->a, &op, STEP_UNKNOWN, 0);
	tell(r, &r->a, rig_link(HOME, r->a.link)); /* the old one again */
	tell(r, &r->a, (struct step_event){ .type = STEP_TICK });
	assert_int_equal(r->a.out.n, 0);
	rig_execute(&r->w, &op); /* late */
	new_link(r, &r->a);
	op = only(&r->a);
	assert_int_equal(op.kind, STEP_READ);
	give(r, &r->a, &op, STEP_DONE, rig_execute(&r->w, &op));
	assert_int_equal(lock_state(&r->a.lock), LOCK_HELD);
	assert_true(mono_sub(lock_until(&r->a.lock), began) == HOLD);
}

/* --- restarts, breaks, views ------------------------------------------------------------ */

RIG_TEST(view__home_is_the_lowest_member_and_seq_begins_at_the_view)
{
	struct rig *r = *state;
	uint64_t *at2 = rig_word(&r->w, 2, region_lock_offset(SERVICE));
	uint64_t before;

	tell(r, &r->b, rig_view(6, 0xf, true)); /* fresh there: its epoch is 5 */
	ask(r, &r->b, LOCK_ACQUIRE);
	tick_until(r, &r->b, mono_add(r->now, lock_break_ns(&r->b.lock.conf) + CHECK));
	assert_word(*word(r), B, region_seq(6, 1));
	before = lock_fence(&r->b.lock);

	*at2 = region_word(0, region_seq(3, 0));
	tell(r, &r->b, rig_view(8, 0xe, true));		     /* host 1 went */
	assert_int_equal(lock_state(&r->b.lock), LOCK_IDLE); /* the held lock is lost */
	ask(r, &r->b, LOCK_ACQUIRE);
	tick_until(r, &r->b, mono_add(r->now, lock_break_ns(&r->b.lock.conf) + CHECK));
	assert_word(*at2, B, region_seq(8, 1));
	assert_true(lock_fence(&r->b.lock) > before);
	assert_true(lock_unclean(&r->b.lock));
}

/* Its words come back: the new link is all that tells them from those of before. */
RIG_TEST(view__stays_while_the_home_restarts__the_words_come_back)
{
	struct rig *r = *state;

	tell(r, &r->a, rig_view(9, 0xf, true));
	for (uint64_t generation = 6; generation < 10; generation++) {
		struct mono began = r->now;

		*word(r) = region_word(0, region_seq((uint32_t)generation, 0));
		new_link(r, &r->a);
		ask(r, &r->a, LOCK_ACQUIRE);
		tick_until(r, &r->a, mono_add(r->now, lock_break_ns(&r->a.lock.conf) + CHECK));
		assert_int_equal(lock_state(&r->a.lock), LOCK_HELD);
		assert_int_equal(region_seq_epoch(lock_fence(&r->a.lock)), 9);
		assert_word(*word(r), A, region_seq(9, 1));
		assert_true(mono_sub(r->a.lock.start, began) >= lock_break_ns(&r->a.lock.conf));
		ask(r, &r->a, LOCK_RELEASE);
	}
}

/* 32769 starts, or views, ago: an epoch is a number, and is not compared by difference. */
RIG_TEST(epoch__far_behind__is_behind)
{
	struct rig *r = *state;

	*word(r) = region_word(0, region_seq(1, 7));
	tell(r, &r->a, rig_view(REGION_EPOCH_MAX, 0xf, true));
	ask(r, &r->a, LOCK_ACQUIRE);
	tick_until(r, &r->a, mono_add(r->now, lock_break_ns(&r->a.lock.conf) + CHECK));
	assert_word(*word(r), A, region_seq(REGION_EPOCH_MAX, 1));
	assert_true(lock_unclean(&r->a.lock));
}

RIG_TEST(count__after_the_last_one__begins_at_1)
{
	struct rig *r = *state;

	*word(r) = region_word(0, region_seq(5, REGION_COUNT_MAX));
	hold(r, &r->a);
	assert_word(*word(r), A, region_seq(5, 1));
}

/* A CAS names the link on which its compare was read; a READ and a release name none. */
RIG_TEST(link__of_what_was_read__is_that_of_the_cas)
{
	struct rig *r = *state;
	struct step_op op;

	r->a.link = 4;
	tell(r, &r->a, rig_link(HOME, 4));
	tell(r, &r->a, rig_ask(LOCK_ACQUIRE));
	op = only(&r->a);
	assert_int_equal(op.kind, STEP_READ);
	assert_int_equal(op.link, 0);
	give(r, &r->a, &op, STEP_DONE, rig_execute(&r->w, &op));
	op = only(&r->a);
	assert_int_equal(op.kind, STEP_CAS);
	assert_int_equal(op.link, 4);
	give(r, &r->a, &op, STEP_DONE, rig_execute(&r->w, &op));
	tell(r, &r->a, rig_ask(LOCK_RELEASE));
	op = only(&r->a);
	assert_int_equal(op.kind, STEP_CAS);
	assert_int_equal(op.link, 0);
}

RIG_TEST(step__no_room__puts_it_out_when_there_is)
{
	struct rig *r = *state;

	r->a.out.n = STEP_OPS_MAX;
	tell(r, &r->a, rig_ask(LOCK_ACQUIRE));
	assert_int_equal(r->a.out.n, STEP_OPS_MAX);
	assert_true(lock_due(&r->a.lock).ns <= r->now.ns);
	r->a.out.n = 0;
	tell(r, &r->a, (struct step_event){ .type = STEP_TICK });
	run(r, &r->a);
	assert_int_equal(lock_state(&r->a.lock), LOCK_HELD);
}

/* An operation to the former home was given up with it: its word says nothing of the new one's. */
RIG_TEST(home__changes_under_an_acquire__the_old_result_is_not_the_new_ones)
{
	struct rig *r = *state;
	struct host *h = &r->a;
	struct step_op old, op;

	hold(r, h);
	ask(r, h, LOCK_RELEASE);
	tell(r, h, rig_ask(LOCK_ACQUIRE));
	old = only(h);
	assert_int_equal(old.kind, STEP_CAS);
	tell(r, h, rig_link(2, 1));
	tell(r, h, rig_view(1, 0xe, true));
	op = only(h);
	assert_int_equal(op.host, 2);
	assert_int_equal(op.kind, STEP_READ);
	give(r, h, &old, STEP_DONE, old.compare);
	assert_int_equal(h->out.n, 0); /* op is still outstanding */
	assert_int_equal(lock_state(&h->lock), LOCK_WAITING);
	give(r, h, &op, STEP_DONE, region_word(0, region_seq(1, 1)));
	assert_true(only(h).compare == region_word(0, region_seq(1, 1)));
}
