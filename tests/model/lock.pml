/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock: the leased lock of one service, with its word {owner, seq} on its home, and the
 * node words that its holders change. README.md maps rules to the code.
 *
 * Each d_step is one call of lock_step, or of the move above it: something happens, the clock is
 * read, and the next operation is posted. A post is made at once: an operation that waits to be
 * posted and one that waits to be executed are the same. A READ is executed at any time, and its
 * result is handled at once: the decision made with it is executed at any later time anyway. A
 * new link is made when it is used: until then the late operations of the old one are executed,
 * or not.
 *
 * Faults, at any step: a host pauses (for ever, too); the outcome of an operation is unknown, and
 * it is executed at any later step until its link is closed, or never; a host crashes and
 * restarts while its operations are outstanding; the home crashes and restarts; an operator
 * breaks the lock by force.
 *
 * Time: a tick may come at any step. So only the hosts' own timers bound a duration. A
 * host's clock runs at a rate from 1 - 1/4 to 1 + 1/4. A lease is counted with the slowest
 * clock, a wait with the fastest. A holder that stops earlier, or a waiter that waits
 * longer, is a pause. So only safer runs are left out. Real clocks drift thousands of times
 * less than 1/4. PROMPT: no host pauses between its clock and its post, and an operation that is
 * not executed by its deadline is unknown.
 *
 * All hosts do the same. So only runs are searched in which they begin in the order of their
 * numbers.
 *
 * Properties (each alone with -DONLY -DCHECK_x):
 *   EFFECT  after a holder has read the nodes to decide, no earlier holder changes one: no
 *           two hosts act with effect under one lock
 *   ALONE   no host acquires the lock during the lease of another
 *   QUIET   (if PROMPT) once the lock is acquired, no operation of an earlier holder is executed,
 *           except those of unknown outcome
 *   FENCE   seq is higher at each acquisition, over all lives of the home; with SAME_EPOCH,
 *           over one life
 *
 * The epoch is the home's generation (static membership). SAME_EPOCH: it is the number of a
 * view, which does not change when the home restarts. So words of one life come back in the
 * next one, and what was read on the links of one says nothing on those of the next.
 */
#ifndef HOSTS
#define HOSTS 2 /* or 3 */
#endif
#ifndef NODES
#define NODES 1 /* or 2, each on a host of its own */
#endif
#ifndef ROUNDS
#define ROUNDS 2 /* acquisitions of a host */
#endif
#ifndef AGAIN
#define AGAIN 1 /* acquisitions of a host that crashed after its last one */
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
#if defined(PROMPT) && (!defined(ONLY) || defined(CHECK_QUIET))
#define QUIET(of_newest) assert(of_newest)
#else
#define QUIET(of_newest) skip
#endif
#if !defined(ONLY) || defined(CHECK_FENCE)
#define FENCE(rises) assert(rises)
#else
#define FENCE(rises) skip
#endif

/*
 * Quarters of a tick by a host's own clock. The break, rounded up, is as lock_break_ns(). Without
 * PROMPT the deadline protects nothing, and a short one is the harder case.
 */
#ifndef HOLD
#define HOLD 6
#endif
#ifndef DEADLINE
#define DEADLINE 1
#endif
#if defined(BROKEN_NO_BREAK_DRIFT)
#define BREAK HOLD
#elif defined(BROKEN_NO_BREAK_DEADLINE)
#define BREAK ((HOLD * 5 + 2) / 3)
#else
#define BREAK (((HOLD + DEADLINE) * 5 + 2) / 3)
#endif
/* Ticks: by the slowest clock, rounded up; by the fastest, rounded down. */
#define LEASE_TICKS    ((HOLD + 2) / 3)
#define DEADLINE_TICKS ((DEADLINE + 2) / 3)
#define WAIT_TICKS     (BREAK / 5)

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
#define NODE_EPOCH(seq)	      ((seq) / 16)
#define NODE_NEXT(i, seq, by) (EPOCH(SEQ(word[i])) * 16 + (seq) % 16 + (by))

mtype = { TAKE, RELEASE, SWEEP, MOVE };
mtype = { NONE, SENT, DOUBT, DOWN }; /* DOUBT: late, of a link that is down */
#define BROKEN(s) (s.st == DOUBT || s.st == DOWN)

/* A host's one operation to the home or to a node, and the link to it. */
typedef slot {
	mtype st = NONE;
	mtype kind = TAKE;
	byte compare, value;
	byte life; /* ghost: number of the acquisition under which it was posted */
#ifdef PROMPT
	byte left; /* ticks until its deadline */
#endif
};

slot home[HOSTS], node_op[HOSTS * NODES];

byte lock = WORD(0, 8);
byte node[NODES] = 16; /* its seq */
byte generation = 1;

mtype = { WAITING, ACQUIRES, SWEEPS, LOOKS, MOVES, RELEASES, OVER, DEAD };
mtype state[HOSTS] = WAITING;
byte seen[HOSTS] = NOTHING; /* the lock word last seen */
byte word[HOSTS];	    /* its own */
byte at[HOSTS];		    /* the node at hand */
byte looked[HOSTS * NODES]; /* node words, read to decide */
bool swept[HOSTS];
byte lease[HOSTS], wait[HOSTS]; /* timers: ticks left */

byte rounds[HOSTS] = ROUNDS;
byte unknowns = UNKNOWNS, crashes = CRASHES, home_crashes = HOME_CRASHES, operator = OPERATOR;
byte begun; /* hosts 0 .. begun - 1 have */

/* Ghosts: for the checks only. The protocol does not read them. */
byte acquired;	     /* acquisitions so far */
byte life[HOSTS];    /* number of each host's newest acquisition */
bool took[HOSTS];    /* acquired the lock, and has not released it */
byte decided[NODES]; /* highest acquisition under which the node was read */
byte newest_fence;   /* highest seq acquired */

hidden byte x, k, before; /* scratch within a step */

#ifdef BROKEN_LINK_KEPT
slot stale[HOSTS]; /* of links to node 0 that were not closed */
#endif

/* --- operations ------------------------------------------------------------------------ */

#ifdef PROMPT
#define SET_LEFT(s, n) s.left = n
#else
#define SET_LEFT(s, n) skip
#endif
inline clear(s, to)
{
	s.st = to;
	s.kind = TAKE;
	s.compare = 0;
	s.value = 0;
	s.life = 0;
	SET_LEFT(s, 0)
}

inline post(i, s, what, expect, put)
{
	s.kind = what;
	s.compare = expect;
	s.value = put;
	s.life = life[i];
	SET_LEFT(s, DEADLINE_TICKS);
	s.st = SENT
}

#define IN_LEASE(j)	 (took[j] && lease[j] > 0)
#if HOSTS == 2
#define OTHER_IN_LEASE(i) (IN_LEASE(1 - (i)))
#else
#define OTHER_IN_LEASE(i) \
	((i) != 0 && IN_LEASE(0) || (i) != 1 && IN_LEASE(1) || (i) != 2 && IN_LEASE(2))
#endif

/* x: the word before */
inline execute_home(i)
{
	x = lock;
	if
	:: home[i].kind == TAKE && lock == home[i].compare ->
		lock = home[i].value;
		ALONE(OTHER_IN_LEASE(i));
		took[i] = true;
		FENCE(SEQ(lock) > newest_fence);
		newest_fence = SEQ(lock);
		acquired++;
		life[i] = acquired
#ifdef BROKEN_RELEASE_BLIND
	:: home[i].kind == RELEASE -> lock = WORD(0, SEQ(lock))
#else
	:: home[i].kind == RELEASE && lock == home[i].compare -> lock = home[i].value
#endif
	:: else
	fi;
	clear(home[i], (home[i].st == DOUBT -> DOWN : NONE))
}

inline execute_node(s, n)
{
	x = node[n];
	QUIET(s.life == acquired || s.st == DOUBT);
	if
	:: node[n] == s.compare ->
		EFFECT(s.kind == SWEEP || s.life >= decided[n]);
		node[n] = s.value
	:: else
	fi;
	clear(s, (s.st == DOUBT -> DOWN : NONE))
}

/* The link goes down. */
inline lose(s)
{
	if
	:: s.st == SENT -> s.st = DOUBT; SET_LEFT(s, 0)
	:: s.st == NONE -> s.st = DOWN
	:: else
	fi
}

/* A new link: an operation that is still on its way on the old one is destroyed with it. */
inline use_node(i, s)
{
#ifdef BROKEN_LINK_KEPT
	if
	:: s.st == DOUBT && stale[i].st == NONE ->
		stale[i].st = DOUBT;
		stale[i].kind = s.kind;
		stale[i].compare = s.compare;
		stale[i].value = s.value;
		stale[i].life = s.life
	:: else
	fi;
#endif
	if
	:: BROKEN(s) -> clear(s, NONE)
	:: else
	fi
}

/* As use_node, to the home. What was read on an older link is forgotten. */
#ifdef BROKEN_WORD_KEPT
#define FORGET(i)      skip
#define ON_ITS_LINK(i) true
#else
#define FORGET(i)      seen[i] = NOTHING; wait[i] = 0
#define ON_ITS_LINK(i) (!BROKEN(home[i]))
#endif
inline use_home(i)
{
	if
	:: BROKEN(home[i]) -> clear(home[i], NONE); FORGET(i)
	:: else
	fi
}

/* --- the lock -------------------------------------------------------------------------- */

/* Evaluate a lock word. The wait begins when a word that is not free is first read. */
#ifdef BROKEN_FORCED_AT_ONCE
#define OF_ANOTHER(i, w) (HELD(w) && OWNER(w) != (i) + 1)
#else
#define OF_ANOTHER(i, w) (OWNER(w) != 0 && OWNER(w) != DIRTY && OWNER(w) != (i) + 1)
#endif
inline note(i, what)
{
	if
	:: what == seen[i]
	:: what != seen[i] ->
		seen[i] = what;
		wait[i] = (OF_ANOTHER(i, what) || FRESH(what) -> WAIT_TICKS : 0)
	fi
}

/* May the word only be read? */
#ifdef BROKEN_FRESH_AT_ONCE
#define ONLY_READ(i) (seen[i] == NOTHING)
#define CLEAN(w)     (OWNER(w) == 0)
#else
#define ONLY_READ(i) (seen[i] == NOTHING || FRESH(seen[i]) && wait[i] > 0)
#define CLEAN(w)     (OWNER(w) == 0 && !FRESH(w))
#endif
#ifdef BROKEN_SEQ_KEPT
#define NEXT_SEQ(w) SEQ(w)
#else
#define NEXT_SEQ(w) (SEQ(w) + 1)
#endif
#ifdef BROKEN_HOLD_FROM_RESULT
#define LEASE_BEFORE   0
#define LEASE_AFTER(i) LEASE_TICKS
#else
#define LEASE_BEFORE   LEASE_TICKS
#define LEASE_AFTER(i) lease[i]
#endif
#ifdef BROKEN_NO_SWEEP
#define SWEPT_BY(w) true
#else
#define SWEPT_BY(w) CLEAN(w)
#endif
#ifdef BROKEN_NO_FENCE_SEQ
#define SWEEP_BY 0
#else
#define SWEEP_BY 1
#endif
#ifdef BROKEN_LEASE_UNCHECKED
#define LEASE_LEFT(i) true
#else
#define LEASE_LEFT(i) (lease[i] > 0)
#endif
#define OVERTAKEN(i, v) (NODE_EPOCH(v) > EPOCH(SEQ(word[i])))
#ifdef BROKEN_RELEASE_CLEAN
#define RELEASED(i) 0
#else
#define RELEASED(i) (swept[i] -> 0 : DIRTY)
#endif

inline try(i)
{
	before = seen[i];
	before = (OF_ANOTHER(i, before) && wait[i] > 0 -> WORD(0, SEQ(before)) : before);
	word[i] = WORD(i + 1, NEXT_SEQ(before));
	swept[i] = SWEPT_BY(before);
	lease[i] = LEASE_BEFORE;
	took[i] = false;
	post(i, home[i], TAKE, before, word[i]);
	state[i] = ACQUIRES
}

/* The nodes are swept one by one, then read to decide one by one. */
inline begin_nodes(i)
{
	at[i] = 0;
	state[i] = (swept[i] -> LOOKS : SWEEPS)
}

inline is_acquired(i)
{
	lease[i] = LEASE_AFTER(i);
	rounds[i]--;
	seen[i] = NOTHING;
	wait[i] = 0;
	begin_nodes(i)
}

inline is_not_acquired(i)
{
	note(i, x);
	word[i] = 0;
	swept[i] = false;
	lease[i] = 0;
	state[i] = WAITING
}

inline forget_nodes(i)
{
	at[i] = 0;
	looked[i * NODES] = 0
#if NODES == 2
	; looked[i * NODES + 1] = 0
#endif
}

inline post_release(i)
{
	use_home(i);
	post(i, home[i], RELEASE, WORD(i + 1, SEQ(word[i])), WORD(RELEASED(i), SEQ(word[i])))
}

inline release(i)
{
	forget_nodes(i);
	lease[i] = 0;
	took[i] = false;
	post_release(i);
	state[i] = RELEASES
}

inline released(i)
{
	seen[i] = (rounds[i] > 0 && x == WORD(i + 1, SEQ(word[i])) -> WORD(RELEASED(i), SEQ(word[i])) :
								     NOTHING);
	word[i] = 0;
	swept[i] = false;
	state[i] = (rounds[i] > 0 -> WAITING : OVER)
}

/* --- the nodes ------------------------------------------------------------------------- */

#define OP(i) node_op[(i) * NODES + at[i]]

/* A READ, and the CAS that sweeps. */
inline sweep(i)
{
	use_node(i, OP(i));
	x = node[at[i]];
	if
	:: LEASE_LEFT(i) && !OVERTAKEN(i, x) ->
		post(i, OP(i), SWEEP, x, NODE_NEXT(i, x, SWEEP_BY))
	:: else -> release(i)
	fi
}

/* x: the word before the sweep's CAS, k: that with which it compared */
inline was_swept(i)
{
	if
	:: x != k
	:: x == k && at[i] + 1 < NODES -> at[i]++
	:: x == k && at[i] + 1 == NODES -> swept[i] = true; begin_nodes(i)
	fi
}

/* A READ to decide; after the last one, of node m's move. */
inline look(i, m)
{
	use_node(i, OP(i));
	x = node[at[i]];
	decided[at[i]] = (life[i] > decided[at[i]] -> life[i] : decided[at[i]]);
	looked[i * NODES + at[i]] = x;
	if
	:: !LEASE_LEFT(i) || OVERTAKEN(i, x) -> release(i)
	:: LEASE_LEFT(i) && !OVERTAKEN(i, x) && at[i] + 1 < NODES -> at[i]++
	:: LEASE_LEFT(i) && !OVERTAKEN(i, x) && at[i] + 1 == NODES ->
		at[i] = m;
		x = looked[i * NODES + m];
		if
		:: OP(i).st == NONE -> /* on the link on which it was read */
			forget_nodes(i);
			at[i] = m;
			post(i, OP(i), MOVE, x, NODE_NEXT(i, x, 1));
			state[i] = MOVES
		:: else -> release(i)
		fi
	fi
}

/* --- crashes --------------------------------------------------------------------------- */

inline crash(i)
{
	crashes--;
	rounds[i] = (rounds[i] == 0 -> AGAIN : rounds[i]);
	lose(home[i]);
	lose(node_op[i * NODES]);
#if NODES == 2
	lose(node_op[i * NODES + 1]);
#endif
	forget_nodes(i);
	seen[i] = NOTHING;
	word[i] = 0;
	swept[i] = false;
	lease[i] = 0;
	wait[i] = 0;
	took[i] = false;
	state[i] = DEAD
}

/* --- the processes --------------------------------------------------------------------- */

#define BEGUN(i)   (begun > (i))
#define IN_TURN(i) (begun >= (i))

/* A host, with its links. It has no state but that above. */
proctype host(byte i)
{
end:
	do
	/* Acquire. */
	:: d_step { state[i] == WAITING && IN_TURN(i) && (ONLY_READ(i) || BROKEN(home[i])) ->
		begun = (BEGUN(i) -> begun : i + 1);
		use_home(i);
		x = lock;
		note(i, x) }
	:: d_step { state[i] == WAITING && !ONLY_READ(i) && ON_ITS_LINK(i) -> use_home(i); try(i) }
	:: d_step { state[i] == ACQUIRES && home[i].st == SENT ->
		k = home[i].compare;
		execute_home(i);
		if
		:: x == k -> is_acquired(i)
		:: else -> is_not_acquired(i)
		fi }
	:: d_step { state[i] == ACQUIRES && BROKEN(home[i]) -> /* a READ on a newer link decides */
		x = lock;
#ifndef BROKEN_RESOLVE_ON_OLD_LINK
		use_home(i);
#endif
		if
		:: x == word[i] -> is_acquired(i)
		:: else -> is_not_acquired(i)
		fi }

	/* The fencing sweep. */
	:: d_step { state[i] == SWEEPS && OP(i).st != SENT -> sweep(i) }
	:: d_step { state[i] == SWEEPS && OP(i).st == SENT ->
		k = OP(i).compare;
		execute_node(OP(i), at[i]);
		was_swept(i) }

	/* The move. */
	:: d_step { state[i] == LOOKS -> look(i, 0) }
#if NODES == 2
	:: d_step { state[i] == LOOKS && at[i] == 1 -> look(i, 1) }
#endif
	:: d_step { state[i] == LOOKS && unknowns > 0 -> unknowns--; release(i) } /* a lost READ */
	:: d_step { state[i] == MOVES && OP(i).st == SENT -> execute_node(OP(i), at[i]); release(i) }
	:: d_step { state[i] == MOVES && BROKEN(OP(i)) -> /* a READ on a newer link decides */
#ifndef BROKEN_RESOLVE_ON_OLD_LINK
		use_node(i, OP(i));
#endif
		release(i) }
	:: d_step { state[i] == MOVES && BROKEN(OP(i)) && !LEASE_LEFT(i) -> /* undecided */
		swept[i] = false; release(i) }

	/* Release. An unknown outcome: the same CAS decides, on a newer link. */
	:: d_step { state[i] == RELEASES && home[i].st == SENT -> execute_home(i); released(i) }
	:: d_step { state[i] == RELEASES && BROKEN(home[i]) -> post_release(i) }

	/* Late operations. */
	:: d_step { home[i].st == DOUBT -> execute_home(i) }
	:: d_step { node_op[i * NODES].st == DOUBT -> execute_node(node_op[i * NODES], 0) }
#if NODES == 2
	:: d_step { node_op[i * NODES + 1].st == DOUBT -> execute_node(node_op[i * NODES + 1], 1) }
#endif
#ifdef BROKEN_LINK_KEPT
	:: d_step { stale[i].st == DOUBT -> execute_node(stale[i], 0); stale[i].st = NONE }
#endif

	/* A link goes down. */
	:: d_step { unknowns > 0 && (home[i].st == SENT || home[i].st == NONE && state[i] == WAITING &&
				     seen[i] != NOTHING) ->
		unknowns--; lose(home[i]) }
	:: d_step { unknowns > 0 && node_op[i * NODES].st == SENT ->
		unknowns--; lose(node_op[i * NODES]) }
#if NODES == 2
	:: d_step { unknowns > 0 && node_op[i * NODES + 1].st == SENT ->
		unknowns--; lose(node_op[i * NODES + 1]) }
#endif
	:: d_step { crashes > 0 && BEGUN(i) && state[i] != OVER && state[i] != DEAD -> crash(i) }
	:: d_step { state[i] == DEAD -> state[i] = (rounds[i] > 0 -> WAITING : OVER) }
	od
}

inline lose_home(i)
{
#ifdef BROKEN_ANY_LINK
	if /* a CAS that was put out and not posted yet is posted on the new link */
	:: home[i].st == SENT
	:: else -> clear(home[i], DOWN)
	fi
#else
	clear(home[i], DOWN)
#endif
}

#ifdef PROMPT
#define IN_TIME(s) (s.st != SENT || s.left > 0)
#if NODES == 2
#define HOST_IN_TIME(i) \
	(IN_TIME(home[i]) && IN_TIME(node_op[(i) * NODES]) && IN_TIME(node_op[(i) * NODES + 1]))
#else
#define HOST_IN_TIME(i) (IN_TIME(home[i]) && IN_TIME(node_op[(i) * NODES]))
#endif
#if HOSTS == 2
#define ALL_IN_TIME (HOST_IN_TIME(0) && HOST_IN_TIME(1))
#else
#define ALL_IN_TIME (HOST_IN_TIME(0) && HOST_IN_TIME(1) && HOST_IN_TIME(2))
#endif
#define COUNT_DOWN(s) s.left = (s.left > 0 -> s.left - 1 : 0)
#else
#define ALL_IN_TIME   true
#define COUNT_DOWN(s) skip
#endif

proctype world()
{
end:
	do
	:: d_step { ALL_IN_TIME -> /* tick */
		for (k : 0 .. HOSTS - 1) {
			lease[k] = (lease[k] > 0 -> lease[k] - 1 : 0);
			wait[k] = (wait[k] > 0 -> wait[k] - 1 : 0);
			COUNT_DOWN(home[k]);
			COUNT_DOWN(node_op[k * NODES])
#if NODES == 2
			; COUNT_DOWN(node_op[k * NODES + 1])
#endif
		} }
	:: d_step { operator > 0 && HELD(lock) ->
		operator--;
		lock = WORD(FORCED, SEQ(lock) + 1) }
	/* How long it is down does not matter: all hosts may pause. */
	:: d_step { home_crashes > 0 ->
		home_crashes--;
		generation++;
#ifdef SAME_EPOCH
		newest_fence = 0;
		lock = WORD(0, 8);
#elif defined(BROKEN_SEQ_FROM_ZERO)
		lock = WORD(0, 8);
#else
		lock = WORD(0, generation * 8);
#endif
		for (k : 0 .. HOSTS - 1) {
			lose_home(k)
		} }
	od
}

init
{
	atomic {
		run host(0);
		run host(1);
#if HOSTS == 3
		run host(2);
#endif
		run world()
	}
}
