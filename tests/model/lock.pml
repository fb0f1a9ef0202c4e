/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock: the leased lock of one service, with its word {owner, seq} on its home, and one
 * node word that its holders change. README.md maps rules to the code.
 *
 * Faults, at any step: a host pauses (between any check and the post that follows it, or
 * for ever); the outcome of an operation is unknown, and it is executed at any later step
 * until its link is closed, or never; a host crashes and restarts while its operations are
 * outstanding; the home crashes and restarts; an operator breaks the lock by force.
 *
 * Time: a tick may come at any step. So only the hosts' own timers bound a duration. A
 * host's clock runs at a rate from 1 - 1/4 to 1 + 1/4. A lease is counted with the slowest
 * clock, a wait with the fastest. A holder that stops earlier, or a waiter that waits
 * longer, is a pause. So only safer runs are left out. Real clocks drift thousands of times
 * less than 1/4.
 *
 * Properties (each alone with -DONLY -DCHECK_x):
 *   EFFECT  after a holder has read the node to decide, no earlier holder changes it: no
 *           two hosts act with effect under one lock
 *   ALONE   no host acquires the lock during the lease of another
 *   FENCE   seq is higher at each acquisition, over all lives of the home; with SAME_EPOCH,
 *           over one life
 *
 * The epoch is the home's generation (static membership). SAME_EPOCH: it is the number of a
 * view, which does not change when the home restarts. So words of one life come back in the
 * next one, and what was read on the links of one says nothing on those of the next.
 */
#define HOSTS 2
#ifndef ROUNDS
#define ROUNDS 2 /* acquisitions of a host */
#endif
#ifndef UNKNOWNS
#define UNKNOWNS 1 /* lost outcomes */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef HOME_CRASHES
#define HOME_CRASHES 1
#endif
#ifndef OPERATOR
#define OPERATOR 0 /* breaks by force */
#endif

#if !defined(ONLY) || defined(CHECK_EFFECT)
#define EFFECT(acts) assert(acts)
#else
#define EFFECT(acts) skip
#endif
#if !defined(ONLY) || defined(CHECK_ALONE)
#define ALONE(other_in_lease) assert(!(other_in_lease))
#else
#define ALONE(other_in_lease) skip
#endif
#if !defined(ONLY) || defined(CHECK_FENCE)
#define FENCE(rises) assert(rises)
#else
#define FENCE(rises) skip
#endif

/* Quarters of a tick by a host's own clock. The break, rounded up, is as lock_break_ns(). */
#define HOLD	 6
#define DEADLINE 1
#ifdef BROKEN_NO_BREAK_DRIFT
#define BREAK HOLD
#else
#define BREAK (((HOLD + DEADLINE) * 5 + 2) / 3)
#endif
/* Ticks: by the slowest clock, rounded up; by the fastest, rounded down. */
#define LEASE_TICKS ((HOLD + 2) / 3)
#define WAIT_TICKS  (BREAK / 5)

/* A lock word: owner (host + 1; 0: released clean; DIRTY; FORCED), seq = {epoch, count 3}. */
#define WORD(owner, seq) ((seq) * 8 + (owner))
#define OWNER(w)	 ((w) % 8)
#define SEQ(w)		 ((w) / 8)
#define DIRTY		 7
#define FORCED		 6 /* by the operator: waited for, as a word of another host */
#define HELD(w)		 (OWNER(w) != 0 && OWNER(w) < FORCED)
#define EPOCH(seq)	 ((seq) / 8)
#define FRESH(w)	 (OWNER(w) == 0 && SEQ(w) % 8 == 0) /* not acquired since its home began */
#define NOTHING		 255
/* A node word's seq = {epoch, count 4}; its service does not matter here. */
#define NODE_EPOCH(seq)	   ((seq) / 16)
#define NODE_NEXT(seq, by) (EPOCH(SEQ(word)) * 16 + (seq) % 16 + (by))

mtype = { READ, TAKE, RELEASE, SWEEP, LOOK, MOVE };
mtype = { NONE, SENT, DONE, DOUBT };

/* An operation on its way: one at a time from a host to a host. */
typedef slot {
	mtype st = NONE;
	mtype kind = READ;
	byte compare, value, old;
	byte life; /* ghost: number of the acquisition under which it was posted */
};

slot to_home[HOSTS], to_node[HOSTS];
bool home_link[HOSTS] = true, node_link[HOSTS] = true;
bool newer[HOSTS]; /* the link to the home is newer than the one on which `seen` was read */
bool up[HOSTS] = true;
bool crash[HOSTS], over[HOSTS];

byte lock = WORD(0, 8);
byte node = 16; /* its seq */
bool home_up = true;
byte generation = 1;

byte lease[HOSTS], wait[HOSTS]; /* timers: ticks left */

byte rounds[HOSTS] = ROUNDS;
byte unknowns = UNKNOWNS, crashes = CRASHES, home_crashes = HOME_CRASHES, operator = OPERATOR;

/* Ghosts: for the checks only. The protocol does not read them. */
byte acquired;	   /* acquisitions so far */
byte life[HOSTS];  /* number of each host's newest acquisition */
bool took[HOSTS];  /* acquired the lock, and has not released it */
byte decided;	   /* highest acquisition under which the node was read */
byte newest_fence; /* highest seq acquired */

#ifdef BROKEN_LINK_KEPT
slot stale[HOSTS]; /* of links that were not closed */
#endif

inline clear(s)
{
	s.st = NONE;
	s.kind = READ;
	s.compare = 0;
	s.value = 0;
	s.old = 0;
	s.life = 0
}

inline after(s)
{
	if
	:: s.st == DOUBT -> clear(s)
	:: else -> s.st = DONE; s.compare = 0; s.value = 0; s.life = 0
	fi
}

inline execute_home(i, s)
{
	s.old = lock;
	if
	:: s.kind == TAKE && lock == s.compare ->
		lock = s.value;
		ALONE(took[1 - i] && lease[1 - i] > 0);
		took[i] = true;
		FENCE(SEQ(lock) > newest_fence);
		newest_fence = SEQ(lock);
		acquired++;
		life[i] = acquired
#ifdef BROKEN_RELEASE_BLIND
	:: s.kind == RELEASE -> lock = WORD(0, SEQ(lock))
#else
	:: s.kind == RELEASE && lock == s.compare -> lock = s.value
#endif
	:: else
	fi;
	after(s)
}

inline execute_node(s)
{
	s.old = node;
	if
	:: s.kind == LOOK && s.life > decided -> decided = s.life
	:: s.kind == SWEEP && node == s.compare -> node = s.value
	:: s.kind == MOVE && node == s.compare ->
		EFFECT(s.life >= decided);
		node = s.value
	:: else
	fi;
	after(s)
}

inline lose(s)
{
	if
	:: s.st == SENT && s.kind != READ && s.kind != LOOK -> s.st = DOUBT; s.old = 0
	:: else -> clear(s)
	fi
}

/* All events between host i and the two others; it has no state. */
proctype net(byte i)
{
end:
	do
	:: d_step { home_up && (to_home[i].st == SENT || to_home[i].st == DOUBT) ->
		execute_home(i, to_home[i]) }
	:: d_step { to_node[i].st == SENT || to_node[i].st == DOUBT ->
		execute_node(to_node[i]) }
	:: d_step { unknowns > 0 && home_link[i] && to_home[i].st != NONE ->
		unknowns--; home_link[i] = false; lose(to_home[i]) }
	:: d_step { unknowns > 0 && node_link[i] && to_node[i].st != NONE ->
		unknowns--; node_link[i] = false; lose(to_node[i]) }
	/* The old link is destroyed before the new one is accepted. */
	:: d_step { up[i] && home_up && !home_link[i] ->
		clear(to_home[i]); home_link[i] = true; newer[i] = true }
	:: d_step { up[i] && !node_link[i] ->
#ifdef BROKEN_LINK_KEPT
		if
		:: to_node[i].st == DOUBT && stale[i].st == NONE ->
			stale[i].st = DOUBT;
			stale[i].kind = to_node[i].kind;
			stale[i].compare = to_node[i].compare;
			stale[i].value = to_node[i].value;
			stale[i].life = to_node[i].life
		:: else
		fi;
#endif
		clear(to_node[i]); node_link[i] = true }
#ifdef BROKEN_LINK_KEPT
	:: d_step { stale[i].st == DOUBT -> execute_node(stale[i]) }
#endif
	/* The host dies, and may restart: crash[i] makes its process start from the beginning. */
	:: d_step { up[i] && crashes > 0 && !crash[i] && !over[i] ->
		crashes--; rounds[i] = (rounds[i] == 0 -> 1 : rounds[i]); up[i] = false; crash[i] = true;
		home_link[i] = false; node_link[i] = false;
		lose(to_home[i]); lose(to_node[i]); lease[i] = 0; wait[i] = 0;
		took[i] = false }
	:: d_step { !up[i] && !crash[i] -> up[i] = true }
	od
}

inline lose_home(i)
{
	home_link[i] = false;
	clear(to_home[i])
}

proctype world()
{
	byte i;
end:
	do
	:: d_step { /* tick */
		i = 0;
		do
		:: i < HOSTS ->
			if
			:: lease[i] > 0 -> lease[i]--
			:: else
			fi;
			if
			:: wait[i] > 0 -> wait[i]--
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	   }
	:: d_step { home_up && operator > 0 && HELD(lock) ->
		operator--;
		lock = WORD(FORCED, SEQ(lock) + 1) }
	:: d_step { home_up && home_crashes > 0 ->
		home_crashes--;
		home_up = false;
		lock = 0;
		i = 0;
		do
		:: i < HOSTS -> lose_home(i); i++
		:: else -> break
		od;
		i = 0
	   }
	:: d_step { !home_up ->
		generation++;
		home_up = true;
#ifdef SAME_EPOCH
		newest_fence = 0;
		lock = WORD(0, 8)
#elif defined(BROKEN_SEQ_FROM_ZERO)
		lock = WORD(0, 8)
#else
		lock = WORD(0, generation * 8)
#endif
	   }
	od
}

/* Posts when there is a link: waiting for one is a pause like any other. */
inline post(s, link, what, expect, put)
{
	atomic {
		link && s.st == NONE;
		s.kind = what;
		s.compare = expect;
		s.value = put;
		s.life = life[i];
		s.st = SENT
	}
}

/* What was read on an older link is forgotten. */
#ifdef BROKEN_WORD_KEPT
#define FORGOTTEN false
#else
#define FORGOTTEN newer[i]
#endif
inline forget()
{
	if
	:: FORGOTTEN -> seen = NOTHING; wait[i] = 0
	:: else
	fi;
	newer[i] = false
}

/* As post, to the home. What comes back is of this link. */
inline post_home(what, expect, put)
{
	atomic {
		home_link[i] && to_home[i].st == NONE;
		forget();
		to_home[i].kind = what;
		to_home[i].compare = expect;
		to_home[i].value = put;
		to_home[i].life = life[i];
		to_home[i].st = SENT
	}
}

/* A CAS is posted only on the link on which its compare was read; x: was it? */
#ifdef BROKEN_ANY_LINK
#define ON_ITS_LINK true
#else
#define ON_ITS_LINK !newer[i]
#endif
inline post_take()
{
	atomic {
		home_link[i] && to_home[i].st == NONE;
		if
		:: ON_ITS_LINK ->
			to_home[i].kind = TAKE;
			to_home[i].compare = before;
			to_home[i].value = word;
			to_home[i].life = life[i];
			to_home[i].st = SENT;
			x = 1
		:: !(ON_ITS_LINK) -> x = 0
		fi
	}
}

/* x: the word before, or NOTHING when the outcome is unknown. Within atomic. */
inline result(s, link)
{
	if
	:: s.st == DONE -> x = s.old; clear(s)
	:: s.st == NONE || !link -> x = NOTHING
	fi
}

/* Evaluate a lock word. The wait begins when a word that is not free is first read. */
#ifdef BROKEN_FORCED_AT_ONCE
#define OF_ANOTHER(w) (HELD(w) && OWNER(w) != i + 1)
#else
#define OF_ANOTHER(w) (OWNER(w) != 0 && OWNER(w) != DIRTY && OWNER(w) != i + 1)
#endif
inline note(what)
{
	if
	:: what == seen || what == NOTHING
	:: what != seen && what != NOTHING ->
		seen = what;
		wait[i] = (OF_ANOTHER(what) || FRESH(what) -> WAIT_TICKS : 0)
	fi
}

/* The word that the next operation may replace, or NOTHING: only read. */
inline guess()
{
	if
	:: seen == NOTHING -> before = NOTHING
#ifdef BROKEN_FRESH_AT_ONCE
	:: seen != NOTHING && OWNER(seen) == 0 -> before = seen
#else
	:: seen != NOTHING && OWNER(seen) == 0 ->
		before = (!FRESH(seen) || wait[i] == 0 -> seen : NOTHING)
#endif
	:: seen != NOTHING && OWNER(seen) != 0 && !OF_ANOTHER(seen) -> before = seen
	:: seen != NOTHING && OF_ANOTHER(seen) ->
		before = (wait[i] == 0 -> seen : WORD(0, SEQ(seen)))
	fi
}

#ifdef BROKEN_SEQ_KEPT
#define NEXT_SEQ SEQ(before)
#else
#define NEXT_SEQ (SEQ(before) + 1)
#endif
#ifdef BROKEN_HOLD_FROM_RESULT
#define LEASE_BEFORE 0
#define LEASE_AFTER  LEASE_TICKS
#else
#define LEASE_BEFORE LEASE_TICKS
#define LEASE_AFTER  lease[i]
#endif
#ifdef BROKEN_FRESH_AT_ONCE
#define CLEAN (OWNER(before) == 0)
#else
#define CLEAN (OWNER(before) == 0 && !FRESH(before))
#endif
#ifdef BROKEN_NO_SWEEP
#define SWEPT true
#else
#define SWEPT CLEAN
#endif
#ifdef BROKEN_NO_FENCE_SEQ
#define SWEEP_BY 0
#else
#define SWEEP_BY 1
#endif
/* The lease is checked; the next step follows any time later. */
#ifdef BROKEN_LEASE_UNCHECKED
#define LEASE_LEFT true
#else
#define LEASE_LEFT (lease[i] > 0)
#endif
#ifdef BROKEN_EPOCH_IGNORED
#define OVERTAKEN(v) false
#else
#define OVERTAKEN(v) (NODE_EPOCH(v) > EPOCH(SEQ(word)))
#endif
#ifdef BROKEN_RELEASE_CLEAN
#define RELEASED 0
#else
#define RELEASED (swept -> 0 : DIRTY)
#endif

/* READ until the outcome of an unknown CAS is known. */
inline resolve(s, link, now)
{
#ifdef BROKEN_RESOLVE_ON_OLD_LINK
	x = now
#else
	do
	:: x != NOTHING -> break
	:: x == NOTHING ->
		post(s, link, READ, 0, 0);
		atomic { result(s, link) }
	od
#endif
}

inline resolve_home()
{
#ifdef BROKEN_RESOLVE_ON_OLD_LINK
	x = lock
#else
	do
	:: x != NOTHING -> break
	:: x == NOTHING ->
		post_home(READ, 0, 0);
		atomic { result(to_home[i], home_link[i]) }
	od
#endif
}

proctype balancer(byte i)
{
	byte seen = NOTHING; /* the lock word last seen */
	byte before;	     /* the word to be replaced */
	byte word;	     /* the word that replaces it */
	byte v, x;
	bool swept;

begin:
	{
		skip;
acquire:	if
		:: atomic { rounds[i] == 0 -> over[i] = true }; goto finished
		:: atomic { rounds[i] > 0 -> forget(); guess() };
			if
			:: before == NOTHING ->
				post_home(READ, 0, 0);
				atomic { result(to_home[i], home_link[i]); note(x); x = 0 };
				goto acquire
			:: before != NOTHING
			fi
		fi;
		atomic { word = WORD(i + 1, NEXT_SEQ); lease[i] = LEASE_BEFORE; took[i] = false };
		post_take();
		if
		:: atomic { x == 0 -> before = 0; word = 0; lease[i] = 0 }; goto acquire
		:: x == 1
		fi;
		atomic { result(to_home[i], home_link[i]); v = (x == before) };
		if
		:: x != NOTHING
		:: x == NOTHING ->
			resolve_home();
			v = (x == word)
		fi;
		if
		:: atomic { !v -> note(x); v = 0; x = 0; before = 0; word = 0; lease[i] = 0 };
			goto acquire
		:: atomic { v -> lease[i] = LEASE_AFTER; rounds[i]--; swept = SWEPT;
			    seen = NOTHING; wait[i] = 0; before = 0; v = 0; x = 0 }
		fi;

		/* The fencing sweep. */
		do
		:: swept || !LEASE_LEFT -> break
		:: !swept && LEASE_LEFT ->
			post(to_node[i], node_link[i], READ, 0, 0);
			atomic { result(to_node[i], node_link[i]);
				 v = x; x = (v != NOTHING && LEASE_LEFT -> 1 : 0) };
			if
			:: x == 0
			:: x == 1 && OVERTAKEN(v) -> break
			:: x == 1 && !OVERTAKEN(v) ->
				post(to_node[i], node_link[i], SWEEP, v, NODE_NEXT(v, SWEEP_BY));
				atomic { result(to_node[i], node_link[i]); swept = (x == v) }
			fi;
			atomic { v = 0; x = 0 }
		od;

		/* The move. */
		do
		:: !swept || !LEASE_LEFT -> break
		:: swept && LEASE_LEFT ->
			post(to_node[i], node_link[i], LOOK, 0, 0);
			atomic { result(to_node[i], node_link[i]);
				 v = x; x = (v != NOTHING && LEASE_LEFT && !OVERTAKEN(v) -> 1 : 0) };
			if
			:: x == 0 -> break
			:: x == 1 ->
				post(to_node[i], node_link[i], MOVE, v, NODE_NEXT(v, 1));
				atomic { result(to_node[i], node_link[i]); v = 0 };
				if
				:: x != NOTHING
				:: x == NOTHING -> resolve(to_node[i], node_link[i], node)
				:: x == NOTHING && !LEASE_LEFT -> swept = false /* undecided */
				fi;
				break
			fi
		od;

		atomic { v = 0; x = NOTHING; word = WORD(RELEASED, SEQ(word)); swept = false; lease[i] = 0; took[i] = false };
		do /* an unknown outcome: the same CAS decides, on a newer link */
		:: x != NOTHING -> break
		:: x == NOTHING ->
			post_home(RELEASE, WORD(i + 1, SEQ(word)), word);
			atomic { result(to_home[i], home_link[i]) }
		od;
		atomic { seen = (rounds[i] > 0 && x == WORD(i + 1, SEQ(word)) -> word : NOTHING);
			 x = 0; word = 0 };
		goto acquire
	} unless { atomic { crash[i] -> crash[i] = false; seen = NOTHING; before = 0; word = 0;
			    swept = false; v = 0; x = 0 } };
	goto begin;
finished:
	skip
}

init
{
	atomic {
		byte k;
		for (k : 0 .. HOSTS - 1) {
			run net(k);
			run balancer(k)
		}
		k = 0;
		run world()
	}
}
