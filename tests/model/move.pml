/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * move: three balancers, three services, two nodes that change service under the
 * locks of both; two update counters. README.md maps rules to the code.
 *
 * Each atomic { } is one call of the step functions: a result arrives, the lease is
 * checked, the next operation is posted. The operation is executed at any later time; if
 * its outcome is unknown, or its host has died, at any time until its link is closed, or
 * never. A READ is executed at any time after it was posted, and its result is handled at
 * once: the decision made with it is executed at any later time anyway. The FAAs of an
 * announcement are repeated until one is done. An extra FAA can only stop others from
 * moving, and is left out.
 *
 * Time: none. lock.pml shows with clocks (property ALONE) that a lock is broken only after
 * its holder's lease, and that a fresh word is acquired only when no earlier lease is left.
 * Here a lease ends at any step, and from then on a waiter may break the lock. T is longer
 * than a lease.
 *
 * Properties (each alone with -DONLY -DCHECK_x):
 *   MINIMUM  no move leaves its donor with fewer nodes than its minimum
 *   ONE_MOVE one high load makes one move (if TIMELY: an operation is executed within the
 *            lease or never; with crashes and pauses)
 *   DEADLOCK checked by spin: all balancers that live come to rest
 *   LIVELOCK checked by spin: they do not go on for ever without a move (ENDLESS: time
 *            passes when all wait; membership removes a dead balancer)
 */
#define HOSTS	 3
#define SERVICES 3
#define NODES	 2
#ifndef UNKNOWNS
#define UNKNOWNS 0
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef HOME_CRASHES
#define HOME_CRASHES 0
#endif
#ifndef NODE_CRASHES
#define NODE_CRASHES 0
#endif
#ifndef TRIES
#define TRIES 1 /* moves of a balancer; one more after a crash */
#endif
#ifndef MINIMUM
#define MINIMUM 1 /* nodes, of a donor */
#endif

#if !defined(ONLY) || defined(CHECK_MINIMUM)
#define MINIMUM_LEFT(left) assert(left)
#else
#define MINIMUM_LEFT(left) skip
#endif
#if defined(TIMELY) && (!defined(ONLY) || defined(CHECK_ONE_MOVE))
#define ONE_MOVE(load_is_high) assert(load_is_high)
#else
#define ONE_MOVE(load_is_high) skip
#endif

/* Balancer b wants a node for service WANT(b), from service GIVE(b). */
#ifdef CROSS
#define WANT(b)	 (b == 2 -> 1 : 0)
#define GIVE(b)	 (b == 2 -> 0 : 1)
#define BEGIN(n) (n)
#else
#define WANT(b)	 (b == 2 -> 1 : 0)
#define GIVE(b)	 2
#define BEGIN(n) 2
#endif
#define PEER(b) (1 - (b)) /* the other balancer of the same service; 2 has none */

#ifdef BROKEN_DESCENDING_ORDER
#define SWAP(b) ((GIVE(b) < WANT(b)) != ((b) == 1))
#else
#define SWAP(b) (GIVE(b) < WANT(b))
#endif
#define FIRST(b)  (SWAP(b) -> GIVE(b) : WANT(b))
#define SECOND(b) (SWAP(b) -> WANT(b) : GIVE(b))
#ifdef BROKEN_ONE_LOCK
#define LOCKS 1
#else
#define LOCKS 2
#endif
byte nth[HOSTS * 2]; /* FIRST and SECOND of each; never changed */
#define NTH(b, n) nth[(b) * 2 + (n)]

/* A lock word: owner (host + 1; 0: released clean; DIRTY), seq. */
#ifdef ENDLESS
/* Modulo, for finitely many states; no operation is so late that it would find its word again. */
#define CUT(seq)  ((seq) == 8 -> 1 : (seq))
#define RAISED(c) (1 - (c))
#else
#define CUT(seq)  (seq)
#define RAISED(c) ((c) + 1)
#endif
#define LOCK(owner, seq) ((seq) * 8 + (owner))
#define OWNER(w)	 ((w) % 8)
#define LOCK_SEQ(w)	 ((w) / 8)
#define DIRTY		 7
#define FRESH(w)	 (OWNER(w) == 0 && (LOCK_SEQ(w) == 0 || LOCK_SEQ(w) == 16))
/* A node word. */
#define NODE(service, seq) (CUT(seq) * 4 + (service))
#define SERVICE(w)	   ((w) % 4)
#define NODE_SEQ(w)	   ((w) / 4)
#define BAD		   255

/* State of the one operation to the home or to a node, and of the link to it. */
mtype = { NONE, SENT, SUCCESS, FAILURE, DOUBT, DOWN };
#define BROKEN(st) (st == DOUBT || st == DOWN || st == NONE) /* while waiting for a result */

mtype home_st[HOSTS] = NONE, node_st[HOSTS * NODES] = NONE;
bool node_newer[HOSTS * NODES]; /* this link is newer than the one on which the word was read */
byte home_compare[HOSTS], home_value[HOSTS], home_lock[HOSTS];
byte node_compare[HOSTS * NODES], node_value[HOSTS * NODES];

byte lock[SERVICES] = LOCK(0, 1);
byte node[NODES];
byte shared[HOSTS], noted[HOSTS]; /* update counters: shared, which other balancers raise; local */

bool alive[HOSTS] = true, crash[HOSTS], rests[HOSTS];
bool lease[HOSTS * 2]; /* leases in force, of its first and second lock */
bool high[HOSTS] = true; /* the load was high for T */
byte tries[HOSTS] = TRIES;
byte unknowns = UNKNOWNS, crashes = CRASHES, home_crashes = HOME_CRASHES;
byte node_crashes = NODE_CRASHES;

bool load[SERVICES] = true; /* ghost: the load is high because a node is missing */

#define NODES_OF(s) ((SERVICE(node[0]) == (s)) + (SERVICE(node[1]) == (s)))

inline execute_home(b)
{
	if
	:: lock[home_lock[b]] == home_compare[b] ->
		lock[home_lock[b]] = home_value[b];
		home_st[b] = (home_st[b] == DOUBT -> DOWN : SUCCESS)
	:: else -> home_st[b] = (home_st[b] == DOUBT -> DOWN : FAILURE)
	fi;
	home_compare[b] = 0;
	home_value[b] = 0;
	home_lock[b] = 0
}

inline execute_node(s, n)
{
	if
	:: node[n] == node_compare[s] ->
		node[n] = node_value[s];
		if
		:: SERVICE(node_value[s]) != SERVICE(node_compare[s]) ->
			MINIMUM_LEFT(NODES_OF(SERVICE(node_compare[s])) >= MINIMUM);
			ONE_MOVE(load[SERVICE(node_value[s])]);
			load[SERVICE(node_value[s])] = false
		:: else
		fi;
		node_st[s] = (node_st[s] == DOUBT -> DOWN : SUCCESS)
	:: else -> node_st[s] = (node_st[s] == DOUBT -> DOWN : FAILURE)
	fi;
	node_compare[s] = 0;
	node_value[s] = 0
}

/* A lease on the lock of b's service is in force. */
#define LEASED(b, l) (NTH(b, 0) == (l) && lease[(b) * 2] || NTH(b, 1) == (l) && lease[(b) * 2 + 1])
#define ANY_LEASE(l) (LEASED(0, l) || LEASED(1, l) || LEASED(2, l))
#define HELD_BY_A_LIVING(b) ANY_LEASE(WANT(b))

#ifdef TIMELY
#define ON_ITS_WAY DOWN
#else
#define ON_ITS_WAY DOUBT
#endif

inline cut_home(b)
{
	home_st[b] = (home_st[b] == SENT -> ON_ITS_WAY : DOWN);
	if
	:: home_st[b] == DOWN -> home_compare[b] = 0; home_value[b] = 0; home_lock[b] = 0
	:: else
	fi
}

inline cut_node(s)
{
	node_st[s] = (node_st[s] == SENT || node_st[s] == DOUBT -> ON_ITS_WAY : DOWN);
	if
	:: node_st[s] == DOWN -> node_compare[s] = 0; node_value[s] = 0
	:: else
	fi
}

/* New links: operations that are still on their way on the old link are destroyed with it. */
inline up_home(b)
{
	home_st[b] = NONE;
	home_compare[b] = 0;
	home_value[b] = 0;
	home_lock[b] = 0
}

inline node_down(s)
{
	node_st[s] = DOWN;
	node_compare[s] = 0;
	node_value[s] = 0
}

inline up_node(s)
{
	node_st[s] = NONE;
	node_newer[s] = true;
	node_compare[s] = 0;
	node_value[s] = 0
}

#ifdef TIMELY
#define MAY_END(b) (home_st[b] != SENT && node_st[b * 2] != SENT && node_st[b * 2 + 1] != SENT)
#else
#define MAY_END(b) true
#endif

/* All events of balancer b's environment; it has no state. */
proctype net(byte b)
{
end:
	do
	:: d_step { home_st[b] == SENT || home_st[b] == DOUBT -> execute_home(b) }
	:: d_step { node_st[b * 2] == SENT || node_st[b * 2] == DOUBT -> execute_node(b * 2, 0) }
	:: d_step { node_st[b * 2 + 1] == SENT || node_st[b * 2 + 1] == DOUBT ->
		execute_node(b * 2 + 1, 1) }
	:: d_step { alive[b] && (home_st[b] == DOUBT || home_st[b] == DOWN) -> up_home(b) }
	:: d_step { alive[b] && (node_st[b * 2] == DOUBT || node_st[b * 2] == DOWN) ->
		up_node(b * 2) }
	:: d_step { alive[b] && (node_st[b * 2 + 1] == DOUBT || node_st[b * 2 + 1] == DOWN) ->
		up_node(b * 2 + 1) }
	:: d_step { unknowns > 0 && (home_st[b] == SENT || home_st[b] == SUCCESS) ->
		unknowns--; cut_home(b) }
	:: d_step { unknowns > 0 && (node_st[b * 2] == SENT || node_st[b * 2] == SUCCESS) ->
		unknowns--; cut_node(b * 2) }
	:: d_step { unknowns > 0 && (node_st[b * 2 + 1] == SENT || node_st[b * 2 + 1] == SUCCESS) ->
		unknowns--; cut_node(b * 2 + 1) }
#ifndef ENDLESS
	:: d_step { lease[b * 2] && MAY_END(b) -> lease[b * 2] = false }
	:: d_step { lease[b * 2 + 1] && MAY_END(b) -> lease[b * 2 + 1] = false }
#endif
	:: d_step { crashes > 0 && alive[b] && !rests[b] ->
		crashes--; alive[b] = false; crash[b] = true;
		lease[b * 2] = false; lease[b * 2 + 1] = false;
		cut_home(b); cut_node(b * 2); cut_node(b * 2 + 1) }
#ifndef NO_RESTART
	:: d_step { !alive[b] && !crash[b] -> alive[b] = true }
#endif
	/* T is over, and the load is still high. */
	:: d_step { alive[b] && !high[b] && load[WANT(b)] && tries[b] > 0 && !HELD_BY_A_LIVING(b) ->
		high[b] = true }
	od
}

proctype world()
{
	byte k;
end:
	do
	:: d_step { home_crashes > 0 ->
		home_crashes--;
		for (k : 0 .. SERVICES - 1) {
			lock[k] = LOCK(0, 16)
		}
		for (k : 0 .. HOSTS - 1) {
			up_home(k);
			home_st[k] = DOWN
		}
		k = 0 }
	/*
	 * A node's host dies and restarts. Its words come back: in one view their epoch is the
	 * same. A CAS that was put out and not posted yet ends with the link on which its compare
	 * was read: it is not posted on the new one.
	 */
	:: d_step { node_crashes > 0 ->
		node_crashes--;
		node[0] = NODE(BEGIN(0), 0);
		for (k : 0 .. HOSTS - 1) {
#ifdef BROKEN_ANY_LINK
			if
			:: node_st[k * 2] != SENT -> node_down(k * 2)
			:: else
			fi
#else
			node_down(k * 2)
#endif
		}
		k = 0 }
#ifdef ENDLESS
	/* Time passes when all processes only wait. */
	:: timeout -> d_step {
		ANY_LEASE(0) || ANY_LEASE(1) || ANY_LEASE(2) ->
		for (k : 0 .. HOSTS * 2 - 1) {
			lease[k] = false
		}
		k = 0 }
#endif
	od
}

#define THIS NTH(b, n)
#ifdef BROKEN_NEVER_BREAK
#define MAY_BREAK false
#else
#define MAY_BREAK true
#endif
/* The lock may be acquired. */
#define BEFORE(w) \
	(OWNER(w) == 0 && !FRESH(w) || OWNER(w) == DIRTY || OWNER(w) == b + 1 || \
	 FRESH(w) && !ANY_LEASE(THIS) || \
	 MAY_BREAK && OWNER(w) > 0 && OWNER(w) <= HOSTS && OWNER(w) != b + 1 && !LEASED(OWNER(w) - 1, THIS))
#define MAY_ACT (lease[b * 2] && (LOCKS == 1 || lease[b * 2 + 1]))
#define OF_BOTH(w) (w != BAD && (SERVICE(w) == WANT(b) || SERVICE(w) == GIVE(b)))
#ifdef BROKEN_NO_FENCE_SEQ
#define SWEPT(w) (w)
#else
#define SWEPT(w) NODE(SERVICE(w), NODE_SEQ(w) + 1)
#endif
#ifdef BROKEN_NO_SWEEP
#define MUST_SWEEP false
#else
#define MUST_SWEEP (unclean[0] || unclean[1])
#endif
#ifdef BROKEN_MINIMUM_IGNORED
#define TO_SPARE(n) ((n) > 0)
#else
#define TO_SPARE(n) ((n) > MINIMUM)
#endif
#ifdef BROKEN_RELEASE_CLEAN
#define RELEASED 0
#else
#define RELEASED (unclean[n] -> DIRTY : 0)
#endif
#define READ_NODE(k) (node_st[b * 2 + k] == NONE -> node[k] : BAD)
/* A CAS is posted only on the link on which its compare was read. */
#if defined(BROKEN_ANY_LINK) || defined(BROKEN_NEWER_LINK)
#define MAY_POST(k) (node_st[b * 2 + k] == NONE)
#else
#define MAY_POST(k) (node_st[b * 2 + k] == NONE && !node_newer[b * 2 + k])
#endif
#define HAS(k)	     (word[k] != BAD && SERVICE(word[k]) == GIVE(b))

#define AS_SWEPT \
	(swept[0] + swept[1] > 0 && (!OF_BOTH(word[0]) || word[0] == swept[0]) && \
	 (!OF_BOTH(word[1]) || word[1] == swept[1]))
#define HEARD(st) (st == SUCCESS || st == FAILURE -> NONE : st)
#ifdef BROKEN_NO_RECOUNT
#define AFTER_SWEEP decide
#define KEPT(w)	    w
#else
#define AFTER_SWEEP count
#define KEPT(w)	    0
#endif
#ifdef ENDLESS
#define LESS(n) (n)
#define UNREACHABLE	skip /* it is dead for good, and membership has removed it */
#else
#define LESS(n) ((n) - 1)
#define UNREACHABLE	goto unlock
#endif

inline look_at_counter()
{
	if
	:: shared[b] != noted[b] -> noted[b] = shared[b];
#ifndef BROKEN_HISTORY_KEPT
		high[b] = false;
#endif
		v = 1
	:: else -> v = 0
	fi
}

inline post_node(k, expect, put)
{
	node_compare[b * 2 + k] = expect;
	node_value[b * 2 + k] = put;
	node_st[b * 2 + k] = SENT
}

inline forget()
{
	held = 0;
	n = 0;
	v = 0;
	node_newer[b * 2] = false;
	node_newer[b * 2 + 1] = false;
	fence[0] = 0;
	fence[1] = 0;
	unclean[0] = false;
	unclean[1] = false;
	missed = false;
	word[0] = 0;
	word[1] = 0;
	swept[0] = 0;
	swept[1] = 0
}

proctype balancer(byte b)
{
	byte fence[2], word[2], swept[2];
	bool unclean[2], missed;
	byte held, n, v; /* locks held; the one at hand; ours alone */

begin:
	{
		skip;
end_idle:	atomic {
			high[b] && tries[b] > 0 -> /* 1: its counter */
			look_at_counter();
			if
			:: v == 1 -> v = 0; goto rest
			:: else -> rests[b] = false; tries[b] = LESS(tries[b])
			fi
		};

		/* 3: the locks */
take:		if
		:: atomic { BEFORE(lock[THIS]) && home_st[b] == NONE ->
			v = lock[THIS];
			unclean[n] = !(OWNER(v) == 0 && !FRESH(v));
			fence[n] = CUT(LOCK_SEQ(v) + 1);
			home_compare[b] = v;
			home_value[b] = LOCK(b + 1, fence[n]);
			home_lock[b] = THIS;
			home_st[b] = SENT;
			lease[b * 2 + n] = true;
			v = 0 }
		:: atomic { n == 1 && !lease[b * 2] -> fence[1] = 0; goto unlock }
		fi;
		if
		:: atomic { home_st[b] == SUCCESS -> home_st[b] = NONE; v = 1; goto taken }
		:: atomic { home_st[b] == FAILURE -> home_st[b] = NONE; goto taken }
		:: BROKEN(home_st[b])
		fi;
		atomic { home_st[b] == NONE -> /* a READ on a newer link decides */
			v = (lock[THIS] == LOCK(b + 1, fence[n])); goto taken };
taken:		atomic {
			if
			:: v == 0 -> lease[b * 2 + n] = false; unclean[n] = false; fence[n] = 0;
				goto take
			:: else -> v = 0; held++; n++;
				if
				:: n < LOCKS -> goto take
				:: else -> n = 0
				fi
			fi;
			/* 4: its counter again */
			if
			:: !MAY_ACT -> goto unlock
			:: else
			fi;
#ifndef BROKEN_COUNTER_UNCHECKED
			look_at_counter();
			if
			:: v == 1 -> v = 0; goto unlock
			:: else
			fi
#endif
		};

		/* 5: count */
count:		atomic { word[0] = READ_NODE(0); node_newer[b * 2] = false };
		atomic {
			word[1] = READ_NODE(1);
			node_newer[b * 2 + 1] = false;
			missed = (word[0] == BAD || word[1] == BAD);
			if
			:: !MAY_ACT -> goto unlock
			:: MAY_ACT && MUST_SWEEP && !AS_SWEPT -> goto sweep
			:: else -> goto decide
			fi
		};

		/* 6: the fencing sweep */
sweep:		atomic {
			if
			:: OF_BOTH(word[0]) && MAY_POST(0) ->
				swept[0] = SWEPT(word[0]); post_node(0, word[0], swept[0])
			:: else -> swept[0] = 0
			fi;
			if
			:: OF_BOTH(word[1]) && MAY_POST(1) ->
				swept[1] = SWEPT(word[1]); post_node(1, word[1], swept[1])
			:: else -> swept[1] = 0
			fi;
			if
			:: swept[0] + swept[1] == 0 -> goto unlock /* none was reached */
			:: else -> word[0] = KEPT(word[0]); word[1] = KEPT(word[1])
			fi
		};
		atomic {
			node_st[b * 2] != SENT && node_st[b * 2 + 1] != SENT ->
#ifdef BROKEN_NO_RECOUNT
			word[0] = (node_st[b * 2] == SUCCESS -> swept[0] : word[0]);
			word[1] = (node_st[b * 2 + 1] == SUCCESS -> swept[1] : word[1]);
#endif
			node_st[b * 2] = HEARD(node_st[b * 2]);
			node_st[b * 2 + 1] = HEARD(node_st[b * 2 + 1]);
			goto AFTER_SWEEP
		};

		/* 7: the donor's minimum, and which node */
decide:		atomic {
			unclean[0] = (unclean[0] || unclean[1]) && missed;
			unclean[1] = unclean[0];
			missed = false;
			swept[0] = 0;
			swept[1] = 0;
			if
			:: HAS(0) && TO_SPARE(HAS(0) + HAS(1)) -> n = 0
			:: HAS(1) && TO_SPARE(HAS(0) + HAS(1)) -> n = 1
			:: else -> high[b] = false; /* decided again after T, if the load is still high */
				goto unlock
			fi;
			/* 8: announce; 9: the node's word */
			if
			:: !MAY_ACT || !MAY_POST(n) -> goto unlock
			:: else
			fi;
#ifndef BROKEN_ANNOUNCE_AFTER
			if
			:: b != 2 && alive[PEER(b)] -> shared[PEER(b)] = RAISED(shared[PEER(b)])
#ifdef BROKEN_UNANNOUNCED_MOVES
			:: b != 2
#endif
			:: b != 2 && !alive[PEER(b)] -> UNREACHABLE
			:: b == 2
			fi;
#endif
			v = NODE(WANT(b), NODE_SEQ(word[n]) + 1);
			post_node(n, word[n], v);
			word[0] = 0;
			word[1] = 0
		};
		if
		:: atomic { node_st[b * 2 + n] == SUCCESS -> node_st[b * 2 + n] = NONE; goto progress_moved }
		:: atomic { node_st[b * 2 + n] == FAILURE -> node_st[b * 2 + n] = NONE; goto unlock }
#ifdef BROKEN_RESOLVE_ON_OLD_LINK
		:: atomic { BROKEN(node_st[b * 2 + n]) ->
			if
			:: node[n] == v -> goto progress_moved
			:: else -> goto unlock
			fi }
#else
		:: BROKEN(node_st[b * 2 + n])
#endif
		fi;
		if
		:: atomic { node_st[b * 2 + n] == NONE -> /* a READ on a newer link decides */
			if
			:: node[n] == v -> goto progress_moved
			:: else -> goto unlock
			fi }
		:: atomic { !MAY_ACT -> unclean[0] = true; unclean[1] = true; goto progress_moved }
		fi;
progress_moved:	atomic { high[b] = false };
#ifdef BROKEN_ANNOUNCE_AFTER
		atomic {
			if
			:: b != 2 && alive[PEER(b)] -> shared[PEER(b)] = RAISED(shared[PEER(b)])
			:: else
			fi
		};
#endif

		/* 10: release; an unswept lock is left dirty */
unlock:		atomic {
			n = 0; v = 0; word[0] = 0; word[1] = 0; swept[0] = 0; swept[1] = 0; missed = false;
			lease[b * 2] = false; lease[b * 2 + 1] = false;
			if
			:: held == 0 -> goto rest
			:: else
			fi
		};
release:	atomic { home_st[b] == NONE ->
			home_compare[b] = LOCK(b + 1, fence[n]);
			home_value[b] = LOCK(RELEASED, fence[n]);
			home_lock[b] = THIS;
			home_st[b] = SENT };
		if
		:: atomic { home_st[b] == SUCCESS || home_st[b] == FAILURE ->
			home_st[b] = NONE;
			fence[n] = 0;
			unclean[n] = false;
			n++;
			if
			:: n < held -> goto release
			:: else -> goto rest
			fi }
		:: atomic { BROKEN(home_st[b]) -> goto release } /* the same CAS again, on a newer link */
		fi;
rest:		atomic { rests[b] = true; forget() };
		goto end_idle
	} unless { atomic { crash[b] -> crash[b] = false; tries[b] = (tries[b] == 0 -> 1 : tries[b]);
			    high[b] = false; /* its history and its counter start again */
			    noted[b] = shared[b]; forget() };
		   end_dead: alive[b] };
	goto begin
}

init
{
	byte k;
	d_step {
		for (k : 0 .. NODES - 1) {
			node[k] = NODE(BEGIN(k), 0)
		}
		for (k : 0 .. HOSTS - 1) {
			rests[k] = true;
			nth[k * 2] = (LOCKS == 1 -> WANT(k) : FIRST(k));
			nth[k * 2 + 1] = (LOCKS == 1 -> WANT(k) : SECOND(k))
		}
#ifdef RESTS
		tries[RESTS] = 0; /* this balancer does nothing: fewer states, so more faults can be searched */
#endif
		k = 0
	};
	atomic {
		for (k : 0 .. HOSTS - 1) {
			run net(k);
			run balancer(k)
		}
		k = 0;
		run world()
	}
}
