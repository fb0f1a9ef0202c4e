/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fresh: how long a proxy uses the words of a home, and how long the host that removed it waits
 * (rule R7 of src/cache/cache.h). README.md maps rules to the model.
 *
 * One life of one home, one proxy, the database and the host that removes the home. A tick may come
 * at any step, and each process may pause at any step: the home between its clock, its look in the
 * database and its store, the proxy between its clock, its question and the answer. So a home that
 * hangs or is cut off is a home that makes no step.
 *
 * Clocks count quarters of a tick, and run at 3 to 5 of them a tick: a drift of 1/4, far more than
 * that of real ones. Each clock keeps the rate that is drawn for it at the begin; with VARY it
 * draws one at each tick. Both begin at 0: the protocol uses differences of a clock alone, so it
 * does not matter with what they begin. The wait is counted with the fastest clock. A run has
 * LIMIT ticks.
 *
 * Properties:
 *   FRESH   no READ is used that was executed when the wait was over
 * and what must be possible, or FRESH means nothing:
 *   USED    never a READ that is used LATER ticks after the difference of clocks was asked for
 */
#ifndef LIMIT
#define LIMIT 11
#endif
#ifndef ASKS
#define ASKS 1
#endif
#ifndef LATER
#define LATER 3
#endif

/* Quarters. The wait is fresh x (1 + drift) / (1 - drift), and in ticks of the fastest clock. */
#define FRESH_NS 12
#if defined(BROKEN_WAIT_NO_DRIFT)
#define WAIT FRESH_NS
#elif defined(BROKEN_WAIT_ONE_DRIFT)
#define WAIT (FRESH_NS * 5 / 4)
#else
#define WAIT (FRESH_NS * 5 / 3)
#endif
#define WAIT_TICKS (WAIT / 5)

byte ticks;
#ifndef VARY
byte rate[2] = 3; /* of the proxy's clock, of the home's */
#endif
byte proxy_clock, home_clock;

/* The database, and the host that removed the home. */
bool in = true;
byte left = WAIT_TICKS; /* of the wait */
#define OVER (!in && left == 0)

/* The home. */
mtype = { RESTS, STAMPED, FOUND };
mtype home_is = RESTS;
byte stamp;
bool has_beat;
byte beat; /* the word that the proxy READs */

/* The proxy. */
mtype = { SILENT, ASKED, ANSWERED };
mtype asks = SILENT;
byte left_asks = ASKS;
byte asked_at, answer;
bool has_pair, has_evidence;
byte pair_asked, pair_answer; /* own clock at the question, home's clock in the answer */
byte evidence;		      /* the stamp of the newest beat that was read */
byte seen_at;		      /* own clock when that was first read */
byte asked_tick;	      /* for USED */
bool posted;		      /* a READ that was checked too early */

/* What the difference of clocks may have changed by since the answer: 2 x drift / (1 - drift). */
#define APART (evidence > pair_answer -> evidence - pair_answer : pair_answer - evidence)
#ifdef BROKEN_DIFFERENCE_NO_DRIFT
#define ALLOWANCE 0
#else
#define ALLOWANCE ((APART * 2 + 2) / 3)
#endif

/* Is the evidence younger than fresh, by the proxy's own clock? */
#if defined(BROKEN_DIFFERENCE_SEEN)
short smallest = 1000; /* difference of clocks of all beats that were read */
#define IS_FRESH (has_evidence && proxy_clock < evidence + smallest + FRESH_NS)
#elif defined(BROKEN_ANOTHER_BEAT)
#define IS_FRESH (has_evidence && proxy_clock < seen_at + FRESH_NS)
#else
#define IS_FRESH \
	(has_evidence && has_pair && \
	 proxy_clock + pair_answer + ALLOWANCE < evidence + pair_asked + FRESH_NS)
#endif

proctype home()
{
end:	do
	:: d_step { home_is == RESTS -> stamp = home_clock; home_is = STAMPED }
#ifdef BROKEN_BEAT_ALONE
	:: d_step { home_is == STAMPED -> home_is = FOUND }
#else
	:: d_step { home_is == STAMPED && in -> home_is = FOUND }
	:: d_step { home_is == STAMPED && !in -> home_is = RESTS; stamp = 0 }
#endif
	:: d_step {
		home_is == FOUND ->
#ifdef BROKEN_STAMPED_AT_STORE
		beat = home_clock;
#else
		beat = stamp;
#endif
		has_beat = true;
		stamp = 0;
		home_is = RESTS
	   }
	:: d_step { asks == ASKED -> answer = home_clock; asks = ANSWERED }
	od
}

proctype proxy()
{
end:	do
	:: d_step {
		asks == SILENT && left_asks > 0 ->
		left_asks--;
		asked_at = proxy_clock;
		asks = ASKED
	   }
	:: d_step {
		asks == ANSWERED ->
		has_pair = true;
#ifdef BROKEN_DIFFERENCE_AT_ANSWER
		pair_asked = proxy_clock;
#else
		pair_asked = asked_at;
#endif
		pair_answer = answer;
#ifdef CHECK_USED
		asked_tick = ticks;
#endif
		asked_at = 0;
		answer = 0;
		asks = SILENT
	   }
	:: d_step {
		has_beat && (!has_evidence || evidence != beat) ->
		has_evidence = true;
		evidence = beat;
#ifdef BROKEN_ANOTHER_BEAT
		seen_at = proxy_clock;
#endif
#ifdef BROKEN_DIFFERENCE_SEEN
		smallest = (proxy_clock - beat < smallest -> proxy_clock - beat : smallest)
#endif
	   }
#ifdef BROKEN_CHECKED_AT_POST
	:: d_step { IS_FRESH && !posted -> posted = true }
#endif
	od
}

inline tick(of_proxy, of_home)
{
	ticks++;
	left = (!in && left > 0 -> left - 1 : left);
	proxy_clock = proxy_clock + of_proxy;
	home_clock = home_clock + of_home
}

proctype world()
{
end:	do
	:: d_step { in -> in = false }
#ifdef VARY
	:: d_step { ticks < LIMIT -> tick(3, 3) }
	:: d_step { ticks < LIMIT -> tick(3, 5) }
	:: d_step { ticks < LIMIT -> tick(5, 3) }
	:: d_step { ticks < LIMIT -> tick(5, 5) }
#else
	:: d_step { ticks < LIMIT -> tick(rate[0], rate[1]) }
#endif
	od
}

#ifdef BROKEN_CHECKED_AT_POST
#define USES posted
#else
#define USES IS_FRESH
#endif

/* An assert in a process of its own would miss states. This one follows each step. */
never {
	do
#ifdef CHECK_USED
	:: assert(!(IS_FRESH && ticks >= asked_tick + LATER) /* USED */)
#else
	:: assert(!(USES && OVER) /* FRESH */)
#endif
	od
}

init {
	atomic {
#ifndef VARY
		if
		:: rate[0] = 3
		:: rate[0] = 5
		fi;
		if
		:: rate[1] = 3
		:: rate[1] = 5
		fi;
#endif
		run home();
		run proxy();
		run world()
	}
}
