/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * move: three balancers, three services, two nodes that change service under the
 * locks of both; two update counters. README.md maps rules to the code.
 *
 * Each d_step is one call of the step functions: something happens, the leases are checked,
 * and the next operation is posted. `state` is enum move_state, with the steps of each. Posts
 * that nothing can come before are made at once: an operation that waits to be posted and one
 * that waits to be executed are the same. An operation is executed at any later time; if its
 * outcome is unknown, or its host has died, at any time until its link is closed, or never. A
 * READ is executed at any time after it was posted. Results are handled at once: the next step,
 * with the decision, comes at any later time anyway. A new link is made when it is used: until
 * then the late operations of the old one are executed, or not.
 *
 * Time: none. lock.pml shows with clocks (property ALONE) that a lock is broken only after
 * its holder's lease, and that a fresh word is acquired only when no earlier lease is left.
 * Here a lease ends at any step. It is ended when that is first seen: by its holder, who then
 * gives up, or by another host, which breaks the lock or finds that T is over. PAUSES counts the
 * latter: a host that lives, and does not notice that its lease is over. T is longer than a lease.
 *
 * KEPT: node 0's host keeps its word in a file, and begins with the file's word after a restart.
 * Its READ returns word and kept word, one earlier than the other. Service 0 is the donor that
 * has a minimum.
 *
 * ADOPT: with KEPT, and three pairs of two services each. Node 0's host may lose its file
 * (LOSSES): the node is then in no service, NOBODY. Each balancer adopts it for the service that
 * it wants a node for. ROLES: 0 and 1 adopt alone, and 2 only moves. FROM_2: node 0 begins in
 * service 2.
 *
 * Balancers 0 and 1 do the same, without ADOPT. So only runs are searched in which 0 is the first of the two
 * to begin.
 *
 * Properties (each alone with -DONLY -DCHECK_x):
 *   MINIMUM  no move leaves its donor with fewer nodes than its minimum; KEPT: nor does a restart
 *            of a node's host. ADOPT: node 0, while it is NOBODY's, may still come to service 0
 *   ONE_MOVE one high load makes one move (if TIMELY: an operation is executed within the
 *            lease or never; with crashes and pauses)
 *   OVERLAP  (with CHAIN, or OVERLAPS) after a holder of a lock has decided, no move of an earlier holder of
 *            this lock is executed
 *   DEADLOCK all balancers that live come to rest
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
#ifndef LOSSES
#define LOSSES 0 /* restarts of node 0's host without its file */
#endif
#ifndef ADOPTIONS
#define ADOPTIONS 1 /* of a balancer */
#endif
#ifdef ADOPT
#define KEPT
#endif
#ifndef TRIES
#define TRIES 1 /* moves of a balancer */
#endif
#ifndef AGAIN
#define AGAIN 1 /* moves that it tries after a crash, if it has none left */
#endif
#ifndef MINIMUM
#define MINIMUM 1 /* nodes, of a donor */
#endif

#if !defined(ONLY) || defined(CHECK_MINIMUM)
#define MINIMUM_LEFT(left) assert(left)
#else
#define MINIMUM_LEFT(left) skip
#endif
#ifdef KEPT
#define MINIMUM_OF(s) ((s) == 0 -> 1 : 0)
#define DONOR_LEFT(s) MINIMUM_LEFT(NODES_OF(0) + LOST >= 1)
#else
#define MINIMUM_OF(s) MINIMUM
#define DONOR_LEFT(s) MINIMUM_LEFT(NODES_OF(s) >= MINIMUM)
#endif
#if defined(TIMELY) && (!defined(ONLY) || defined(CHECK_ONE_MOVE))
#define ONE_MOVE(load_is_high) assert(load_is_high)
#else
#define ONE_MOVE(load_is_high) skip
#endif
#if !defined(ONLY) || defined(CHECK_DEADLOCK)
#define DEADLOCK(at_rest) assert(at_rest)
#else
#define DEADLOCK(at_rest) skip
#endif

/* Balancer b wants a node for service WANT(b), from service GIVE(b). */
#ifdef ADOPT
#define WANT(b) ((b) == 0 -> 2 : ((b) == 1 -> 0 : 1))
#else
#define WANT(b)	 ((b) == 2 -> 1 : 0)
#endif
#if defined(ADOPT)
#define GIVE(b) ((b) == 1 -> 1 : 0)
#ifdef FROM_2
#define BEGIN(n) ((n) == 0 -> 2 : 0)
#else
#define BEGIN(n) 0
#endif
#elif defined(CROSS) /* two pairs of the same services */
#define GIVE(b)	 ((b) == 2 -> 0 : 1)
#define BEGIN(n) (n)
#elif defined(BACK) /* two pairs of the same services, and both nodes in one */
#define GIVE(b)	 ((b) == 2 -> 0 : 1)
#define BEGIN(n) 0
#elif defined(CHAIN) || defined(KEPT) /* service 1 takes from 0, and 0 from 2 */
#define GIVE(b)	 ((b) == 2 -> 0 : 2)
#define BEGIN(n) ((n) == 0 -> 2 : 0)
#else /* a shared donor */
#define GIVE(b)	 2
#define BEGIN(n) 2
#endif
#ifdef ADOPT
#define HAS_PEER(b) false
#else
#define HAS_PEER(b) ((b) != 2)
#endif
#define PEER(b)	    (1 - (b)) /* the other balancer of the same service; 2 has none */

#ifdef BROKEN_DESCENDING_ORDER
#define SWAP(b) ((GIVE(b) < WANT(b)) != ((b) == 1))
#else
#define SWAP(b) (GIVE(b) < WANT(b))
#endif
#ifdef BROKEN_ONE_LOCK
#define PAIR(b, n) WANT(b)
#else
#define PAIR(b, n) ((n) == (SWAP(b) -> 1 : 0) -> WANT(b) : GIVE(b))
#endif
/* Its locks: how many, and the n-th. */
#if defined(ADOPT)
#define LOCKS(b)  (adopts[b] -> 1 : 2)
#define NTH(b, n) (adopts[b] -> WANT(b) : PAIR(b, n))
#elif defined(BROKEN_ONE_LOCK)
#define LOCKS(b)  1
#define NTH(b, n) PAIR(b, n)
#else
#define LOCKS(b)  2
#define NTH(b, n) PAIR(b, n)
#endif

/* Epochs are generations of the home: 0, and 1 after it restarted. */
#ifdef ENDLESS
/* Modulo, for finitely many states; no operation is so late that it would find its word again. */
#define CUT(seq)  ((seq) == 8 -> 1 : (seq))
#define RAISED(c) (1 - (c))
#else
#define CUT(seq)  (seq)
#define RAISED(c) ((c) + 1)
#endif
#define EPOCH_OF(seq) ((seq) / 16)
/* A lock word: owner (host + 1; 0: released clean; DIRTY), seq = {epoch, count 4}. */
#define LOCK(owner, seq) ((seq) * 8 + (owner))
#define OWNER(w)	 ((w) % 8)
#define LOCK_SEQ(w)	 ((w) / 8)
#define DIRTY		 7
#define FRESH(w)	 (OWNER(w) == 0 && LOCK_SEQ(w) % 16 == 0)
/* A node word: service, seq = {epoch, count 4}. */
#define NODE(service, seq) (CUT(seq) * 4 + (service))
#define SERVICE(w)	   ((w) % 4)
#define NODE_SEQ(w)	   ((w) / 4)
#define BAD		   255
#define NOBODY		   3 /* no service */

/* A host's one operation to the home or to a node, and the link to it. */
mtype = { NONE, SENT, DOUBT, DOWN }; /* DOUBT: late, of a link that is down */
#define BROKEN(at) (at == DOUBT || at == DOWN)

mtype home[HOSTS] = NONE, at_node[HOSTS * NODES] = NONE;
byte home_compare[HOSTS], home_value[HOSTS], home_lock[HOSTS];
byte node_compare[HOSTS * NODES], node_value[HOSTS * NODES];

byte lock[SERVICES] = LOCK(0, 1);
byte node[NODES];
byte shared[HOSTS], noted[HOSTS]; /* update counters: shared, which other balancers raise; local */

mtype = { IDLE, LOCKING, ACQUIRES, LOOKS_AGAIN, COUNTS, COUNTS_2ND, SWEEPS, ANNOUNCES, ANNOUNCED,
	  ACTS, UNLOCKS, DEAD, KEPT_READ, WORD_READ };
mtype state[HOSTS] = IDLE;
byte held[HOSTS]; /* locks */
byte n[HOSTS];	  /* the node that was chosen; UNLOCKS: the lock at hand */
byte fence[HOSTS * 2];
bool unclean[HOSTS * 2];
byte word[HOSTS * NODES];   /* as read */
byte before[HOSTS * NODES]; /* before its sweep; 0: not in the sweep */
bool missed[HOSTS];	    /* a node was not reached, or not fenced */
byte target[HOSTS];	    /* the word that the chosen node gets */
bool lease[HOSTS * 2];	    /* leases in force, of its first and second lock */
bool high[HOSTS] = true;    /* the load was high for T */
byte tries[HOSTS] = TRIES;

byte unknowns = UNKNOWNS, crashes = CRASHES, home_crashes = HOME_CRASHES;
byte node_crashes = NODE_CRASHES;
#ifdef PAUSES
byte pauses = PAUSES;
#endif

#ifdef KEPT /* of node 0 */
byte file, kept;    /* its durable word, and its kept word */
byte saving;	    /* its host: the word that is being saved; 0: none */
byte half[HOSTS];   /* KEPT_READ: the kept word */
bool counts[HOSTS]; /* word and kept word, as read, are of one service and epoch */
#define COUNTS_IT(b, i) ((i) == 1 || counts[b])
#else
#define COUNTS_IT(b, i) true
#endif

bool load[SERVICES] = true; /* ghost: the load is high because a node is missing */
hidden byte x, k, pick;    /* scratch within a step; the node that is the less loaded one */

#ifdef BROKEN_NOT_AWAITED
bool announcing[HOSTS];
#endif

#ifdef ADOPT
bool adopts[HOSTS];	 /* it adopts node 0 */
bool seen[HOSTS];	 /* and node 0's host has not restarted since the node was seen in no service */
byte adoptions[HOSTS] = ADOPTIONS, losses = LOSSES;
bool old[HOSTS * 2];	 /* a lease, as lease[], that was in force when the file was lost */
bool lacks;		 /* ghost: since a loss, no node of service 0 is kept */
#define LOST (SERVICE(node[0]) == NOBODY)
#define SERVES_0 (SERVICE(node[1]) == 0 || SERVICE(node[0]) == 0 && SERVICE(kept) == 0)
#define NOTE_LACKS lacks = (SERVES_0 -> false : lacks || LOST)
#define ADOPTS(b) adopts[b]
#else
#define LOST	   0
#define NOTE_LACKS skip
#define ADOPTS(b)  false
#endif

#define NODES_OF(s) ((SERVICE(node[0]) == (s)) + (SERVICE(node[1]) == (s)))

/* Ghosts: the fences of a move's CAS, and the highest one of a holder that had read the node and decided. */
#if defined(CHAIN) || defined(OVERLAPS)
#define FENCES
byte decided[SERVICES * NODES], by_fence[HOSTS * NODES * 2];
#define DECIDED(service, s) decided[(service) * NODES + (s) % NODES]
/* An adoption: the one lock. */
#define OVERLAP(b, s) \
	assert(SERVICE(node_compare[s]) == NOBODY && by_fence[(s) * 2] >= DECIDED(WANT(b), s) || \
	       SERVICE(node_compare[s]) != NOBODY && by_fence[(s) * 2] >= DECIDED(PAIR(b, 0), s) && \
	       by_fence[(s) * 2 + 1] >= DECIDED(PAIR(b, 1), s))
#define CLEAR_FENCES(s) by_fence[(s) * 2] = 0; by_fence[(s) * 2 + 1] = 0
inline note_read(b, i)
{
	x = NTH(b, 0) * NODES + i;
	decided[x] = (word[b * 2 + i] != BAD && fence[b * 2] > decided[x] -> fence[b * 2] : decided[x]);
	x = NTH(b, 1) * NODES + i;
	decided[x] =
		(word[b * 2 + i] != BAD && fence[b * 2 + 1] > decided[x] -> fence[b * 2 + 1] : decided[x]);
	x = 0
}
inline note_decision(b)
{
	note_read(b, 0);
	note_read(b, 1)
}
#else
#define OVERLAP(b, s)	 skip
#define CLEAR_FENCES(s)	 skip
#define note_decision(b) skip
#endif

/* --- the environment ------------------------------------------------------------------- */

inline clear_home(b, to)
{
	home[b] = to;
	home_compare[b] = 0;
	home_value[b] = 0;
	home_lock[b] = 0
}

inline clear_node(s, to)
{
	at_node[s] = to;
	node_compare[s] = 0;
	node_value[s] = 0;
	CLEAR_FENCES(s)
}

#ifdef BROKEN_ADOPT_BLIND
#define IS_BLIND(s) (SERVICE(node_compare[s]) == NOBODY && SERVICE(node_value[s]) != NOBODY)
#else
#define IS_BLIND(s) false
#endif

/* x: did it change the word? */
inline execute_home(b)
{
	x = (lock[home_lock[b]] == home_compare[b]);
	lock[home_lock[b]] = (x -> home_value[b] : lock[home_lock[b]]);
	clear_home(b, (home[b] == DOUBT -> DOWN : NONE))
}

inline execute_node(b, s, i)
{
	x = (node[i] == node_compare[s] || IS_BLIND(s));
	if
	:: x ->
		node[i] = node_value[s];
		NOTE_LACKS;
		if
		:: SERVICE(node_value[s]) != SERVICE(node_compare[s]) ->
			DONOR_LEFT(SERVICE(node_compare[s]));
			ONE_MOVE(load[SERVICE(node_value[s])]);
			OVERLAP(b, s);
			load[SERVICE(node_value[s])] = false
		:: else
		fi
	:: else
	fi;
	clear_node(s, (at_node[s] == DOUBT -> DOWN : NONE))
}

/* A new link: an operation that is still on its way on the old one is destroyed with it. */
inline use_home(b)
{
	if
	:: BROKEN(home[b]) -> clear_home(b, NONE)
	:: else
	fi
}

inline use_node(s)
{
	if
	:: BROKEN(at_node[s]) -> clear_node(s, NONE)
	:: else
	fi
}

/* The link goes down. TIMELY: what is not executed yet never will be. */
inline cut_home(b)
{
	if
#ifndef TIMELY
	:: home[b] == SENT -> home[b] = DOUBT
	:: home[b] == DOUBT
	:: home[b] == NONE || home[b] == DOWN -> home[b] = DOWN
#else
	:: home[b] != BAD -> clear_home(b, DOWN)
#endif
	fi
}

inline cut_node(s)
{
	if
#ifndef TIMELY
	:: at_node[s] == SENT -> at_node[s] = DOUBT
	:: at_node[s] == DOUBT
	:: at_node[s] == NONE || at_node[s] == DOWN -> at_node[s] = DOWN
#else
	:: at_node[s] != BAD -> clear_node(s, DOWN)
#endif
	fi
}

/* --- leases ---------------------------------------------------------------------------- */

#define THIS(b) NTH(b, held[b]) /* the lock that it asks for */
/* A lease of b on lock l is in force. */
#define LEASED(b, l) (NTH(b, 0) == (l) && lease[(b) * 2] || NTH(b, 1) == (l) && lease[(b) * 2 + 1])
/* b asks for l: nobody has waited for this lease, but it is not one of an earlier holder. */
#define ASKS(b, l) (state[b] == ACQUIRES && THIS(b) == (l))
#ifdef PAUSES
#define PAUSE_LEFT (pauses > 0)
#define COUNT_PAUSE pauses = (pauses > 0 -> pauses - 1 : 0)
#else
#define PAUSE_LEFT true
#define COUNT_PAUSE skip
#endif
#if defined(ENDLESS)
#define MAY_END(b) false /* only when all wait: see world() */
#elif defined(TIMELY)
#define MAY_END(b) \
	(PAUSE_LEFT && home[b] != SENT && at_node[(b) * 2] != SENT && at_node[(b) * 2 + 1] != SENT)
#else
#define MAY_END(b) PAUSE_LEFT
#endif
#define OVER(b, l)    (!LEASED(b, l) || MAY_END(b))
#define ALL_OVER(l)   (OVER(0, l) && OVER(1, l) && OVER(2, l))
#define EARLIER(b, l) (OVER(b, l) || ASKS(b, l))
#define EARLIER_OVER(l) (EARLIER(0, l) && EARLIER(1, l) && EARLIER(2, l))

/* Another host sees that b's lease on lock l is over. */
inline end_lease(b, l)
{
	if
	:: LEASED(b, l) ->
		lease[b * 2 + (NTH(b, 0) == (l) -> 0 : 1)] = false;
		COUNT_PAUSE
	:: else
	fi
}

inline end_leases(l)
{
	end_lease(0, l);
	end_lease(1, l);
	end_lease(2, l)
}

inline end_earlier_lease(b, l)
{
	if
	:: ASKS(b, l)
	:: else -> end_lease(b, l)
	fi
}

inline end_earlier_leases(l)
{
	end_earlier_lease(0, l);
	end_earlier_lease(1, l);
	end_earlier_lease(2, l)
}

/* b itself sees that its lease is over. */
#ifdef BROKEN_ADOPT_UNLOCKED
#define UNLOCKED(b) ADOPTS(b)
#else
#define UNLOCKED(b) false
#endif
#define MAY_ACT(b) (UNLOCKED(b) || lease[(b) * 2] && (LOCKS(b) == 1 || lease[(b) * 2 + 1]))
#ifdef ENDLESS
#define GIVES_UP(b)	  (!MAY_ACT(b))
#define GIVES_UP_FIRST(b) (!lease[(b) * 2])
#else
#define GIVES_UP(b)	  true
#define GIVES_UP_FIRST(b) true
#endif

/* --- rule 1 and 4: the counter --------------------------------------------------------- */

#ifdef BROKEN_HISTORY_KEPT
#define HISTORY(b) high[b]
#else
#define HISTORY(b) false
#endif
/* x: is it ahead? */
inline look_at_counter(b)
{
	x = (shared[b] != noted[b]);
	noted[b] = shared[b];
	high[b] = (x -> HISTORY(b) : high[b])
}

/* 0 begins before 1. */
#ifdef ENDLESS
#define IN_TURN(b) true
#define NOTE_TURN(b) skip
#define LESS(t)	   (t)
#elif defined(ADOPT) /* no two balancers do the same */
#define IN_TURN(b) true
#define NOTE_TURN(b) skip
#define LESS(t)	   ((t) - 1)
#else
bool begun; /* 0 has */
#define IN_TURN(b) ((b) != 1 || begun)
#define NOTE_TURN(b) begun = (begun || (b) == 0)
#define LESS(t)	   ((t) - 1)
#endif

/* --- rules 3 and 10: locks ------------------------------------------------------------- */

#define OF_ANOTHER(w, b) (OWNER(w) > 0 && OWNER(w) <= HOSTS && OWNER(w) != (b) + 1)
#ifdef BROKEN_NEVER_BREAK
#define MAY_BREAK false
#else
#define MAY_BREAK true
#endif
#define ACQUIRABLE(b, w) \
	(OWNER(w) == 0 && !FRESH(w) || OWNER(w) == DIRTY || OWNER(w) == (b) + 1 || \
	 FRESH(w) && EARLIER_OVER(THIS(b)) || \
	 MAY_BREAK && OF_ANOTHER(w, b) && OVER(OWNER(w) - 1, THIS(b)))

inline acquire(b)
{
	k = THIS(b);
	x = lock[k];
	if
	:: FRESH(x) -> end_earlier_leases(k)
	:: OF_ANOTHER(x, b) -> end_lease((OWNER(x) - 1), k)
	:: else
	fi;
	use_home(b);
	unclean[b * 2 + held[b]] = !(OWNER(x) == 0 && !FRESH(x));
	fence[b * 2 + held[b]] = CUT(LOCK_SEQ(x) + 1);
	lease[b * 2 + held[b]] = true;
#ifdef ADOPT
	old[b * 2 + held[b]] = false;
#endif
	home_compare[b] = x;
	home_value[b] = LOCK(b + 1, fence[b * 2 + held[b]]);
	home_lock[b] = THIS(b);
	home[b] = SENT;
	state[b] = ACQUIRES
}

/* x: was it acquired? */
inline acquired(b)
{
	if
	:: x ->
		held[b]++;
		state[b] = (held[b] < LOCKS(b) -> LOCKING : LOOKS_AGAIN)
	:: else ->
		lease[b * 2 + held[b]] = false;
		unclean[b * 2 + held[b]] = false;
		fence[b * 2 + held[b]] = 0;
		state[b] = LOCKING
	fi
}

#ifdef BROKEN_RELEASE_CLEAN
#define RELEASED(b) 0
#else
#define RELEASED(b) (unclean[(b) * 2 + n[b]] -> DIRTY : 0)
#endif
inline post_release(b)
{
	use_home(b);
	home_compare[b] = LOCK(b + 1, fence[b * 2 + n[b]]);
	home_value[b] = LOCK(RELEASED(b), fence[b * 2 + n[b]]);
	home_lock[b] = NTH(b, n[b]);
	home[b] = SENT;
	state[b] = UNLOCKS
}

inline forget_nodes(b)
{
	word[b * 2] = 0;
	word[b * 2 + 1] = 0;
	before[b * 2] = 0;
	before[b * 2 + 1] = 0;
	missed[b] = false;
	target[b] = 0;
#ifdef KEPT
	half[b] = 0;
	counts[b] = false;
#endif
	n[b] = 0
}

/* The second lock may be one that is not held. */
inline unlock(b)
{
	forget_nodes(b);
	lease[b * 2] = false;
	lease[b * 2 + 1] = false;
	post_release(b)
}

inline released(b)
{
	fence[b * 2 + n[b]] = 0;
	unclean[b * 2 + n[b]] = false;
	n[b]++;
	if
	:: n[b] < held[b] -> post_release(b)
	:: else ->
		n[b] = 0;
		held[b] = 0;
#ifdef ADOPT
		adopts[b] = false;
		seen[b] = false;
#endif
		state[b] = IDLE
	fi
}

/* --- rules 5 and 6: nodes -------------------------------------------------------------- */

#define EPOCH(b) EPOCH_OF(fence[(b) * 2 + (LOCKS(b) == 2 && SWAP(b) -> 1 : 0)]) /* WANT's */
#ifdef BROKEN_EPOCHS_DIFFER
#define OF_ONE_EPOCH(b) true
#else
#define OF_ONE_EPOCH(b) (LOCKS(b) == 1 || EPOCH_OF(fence[(b) * 2]) == EPOCH_OF(fence[(b) * 2 + 1]))
#endif
#define CHANGED(b, w, service) NODE(service, EPOCH(b) * 16 + (NODE_SEQ(w) + 1) % 16)
#ifdef BROKEN_NO_FENCE_SEQ
#define FENCED_WORD(b, w) (w)
#else
#define FENCED_WORD(b, w) CHANGED(b, w, SERVICE(w))
#endif
#ifdef BROKEN_NO_SWEEP
#define MUST_SWEEP(b) false
#elif defined(BROKEN_ADOPT_UNSWEPT)
#define MUST_SWEEP(b) (unclean[(b) * 2] || unclean[(b) * 2 + 1])
#else
#define MUST_SWEEP(b) (ADOPTS(b) || unclean[(b) * 2] || unclean[(b) * 2 + 1])
#endif
#ifdef BROKEN_SWEEP_OWN_PAIR
#define OF_SWEEP(b, w) (w != BAD && (SERVICE(w) == WANT(b) || SERVICE(w) == GIVE(b)))
#else
#define OF_SWEEP(b, w) (w != BAD)
#endif
#if defined(BROKEN_FENCED_UNCHANGED) || defined(BROKEN_NO_FENCE_SEQ)
#define FENCED_SINCE(b, s) (before[s] != 0)
#elif defined(BROKEN_SWEPT_BY_ANY)
#define FENCED_SINCE(b, s) (before[s] != 0 && word[s] != before[s])
#else
#define FENCED_SINCE(b, s) \
	(before[s] != 0 && word[s] != before[s] && EPOCH_OF(NODE_SEQ(word[s])) == EPOCH(b))
#endif
#define FENCED(b, s)   (!OF_SWEEP(b, word[s]) || FENCED_SINCE(b, s))
#define SWEPT_ONCE(b)  (before[(b) * 2] != 0 || before[(b) * 2 + 1] != 0)
#define SWEPT_ALL(b)   (SWEPT_ONCE(b) && FENCED(b, (b) * 2) && FENCED(b, (b) * 2 + 1))
#define NEWER(b, s)    (word[s] != BAD && EPOCH_OF(NODE_SEQ(word[s])) > EPOCH(b))
#ifdef BROKEN_EPOCH_IGNORED
#define OVERTAKEN(b)   false
#else
#define OVERTAKEN(b)   (NEWER(b, (b) * 2) || NEWER(b, (b) * 2 + 1))
#endif

/* A CAS is posted only on the link on which its compare was read: that is not broken. */
#if defined(BROKEN_ANY_LINK) || defined(BROKEN_NEWER_LINK)
#define MAY_POST(s) true
#else
#define MAY_POST(s) (at_node[s] == NONE)
#endif
inline post_node(b, s, value)
{
	use_node(s);
	node_compare[s] = word[s];
	node_value[s] = value;
#ifdef FENCES
	by_fence[(s) * 2] = fence[b * 2];
	by_fence[(s) * 2 + 1] = fence[b * 2 + 1];
#endif
	at_node[s] = SENT
}

/* The READ of a node is executed, or the node is not reached. */
#define READS(s)  (at_node[s] == NONE || BROKEN(at_node[s]))
#define MISSES(s) BROKEN(at_node[s])
inline read_node(s, i)
{
	use_node(s);
	word[s] = node[i]
}

#ifdef KEPT
#ifdef BROKEN_PERSIST_AFTER
#define IS_KEPT(w, k) true
#elif defined(BROKEN_ADOPT_COUNTED)
#define IS_KEPT(w, k) \
	(SERVICE(k) == NOBODY || \
	 SERVICE(w) == SERVICE(k) && EPOCH_OF(NODE_SEQ(w)) == EPOCH_OF(NODE_SEQ(k)))
#else
#define IS_KEPT(w, k) (SERVICE(w) == SERVICE(k) && EPOCH_OF(NODE_SEQ(w)) == EPOCH_OF(NODE_SEQ(k)))
#endif
#endif

inline sweep(b, s)
{
	if
	:: OF_SWEEP(b, word[s]) && !FENCED_SINCE(b, s) && MAY_POST(s) ->
		before[s] = word[s];
		post_node(b, s, FENCED_WORD(b, word[s]))
	:: else
	fi
#ifndef BROKEN_NO_RECOUNT
	; word[s] = 0
#endif
}

#define HAS(b, i) \
	(word[(b) * 2 + (i)] != BAD && SERVICE(word[(b) * 2 + (i)]) == GIVE(b) && COUNTS_IT(b, i))
#ifdef BROKEN_MINIMUM_IGNORED
#define TO_SPARE(b) (HAS(b, 0) + HAS(b, 1) > 0)
#else
#define TO_SPARE(b) (HAS(b, 0) + HAS(b, 1) > MINIMUM_OF(GIVE(b)))
#endif

#ifdef ADOPT
#ifdef BROKEN_ADOPT_NEEDED
#define NEEDED(b) false
#else
#define NEEDED(b) (WANT(b) != 0 && (word[(b) * 2 + 1] == BAD || SERVICE(word[(b) * 2 + 1]) != 0))
#endif
#define MAY_ADOPT(b) \
	(seen[b] && word[(b) * 2] != BAD && SERVICE(word[(b) * 2]) == NOBODY && !NEEDED(b))
#else
#define MAY_ADOPT(b) false
#endif

inline post_move(b)
{
	target[b] = CHANGED(b, word[b * 2 + n[b]], WANT(b));
	if
	:: MAY_ACT(b) && MAY_POST(b * 2 + n[b]) ->
		post_node(b, b * 2 + n[b], target[b]);
		state[b] = ACTS;
		word[b * 2] = 0;
		word[b * 2 + 1] = 0
	:: else -> unlock(b)
	fi
}

/* 7: the donor's minimum, and which node. 8: announce. 9: the node's word. */
inline decide(b)
{
	note_decision(b);
#ifndef BROKEN_SWEEP_MISSED
	missed[b] = missed[b] || word[b * 2] == BAD || word[b * 2 + 1] == BAD;
#endif
	unclean[b * 2] = (unclean[b * 2] || unclean[b * 2 + 1]) && missed[b];
	unclean[b * 2 + 1] = unclean[b * 2];
	missed[b] = false;
	before[b * 2] = 0;
	before[b * 2 + 1] = 0;
	if
	:: ADOPTS(b) && !MAY_ADOPT(b) -> unlock(b)
	:: ADOPTS(b) && MAY_ADOPT(b) -> n[b] = 0;
		word[b * 2 + 1] = 0;
#ifdef KEPT
		counts[b] = false;
#endif
		post_move(b)
	:: !ADOPTS(b) && !TO_SPARE(b) -> high[b] = false; /* again after T, if the load is still high */
		unlock(b)
	:: !ADOPTS(b) && TO_SPARE(b) ->
		n[b] = (HAS(b, pick) -> pick : 1 - pick);
		word[b * 2 + 1 - n[b]] = 0;
#ifdef KEPT
		counts[b] = false;
#endif
#ifdef BROKEN_ANNOUNCE_AFTER
		post_move(b)
#else
		if
		:: HAS_PEER(b) -> state[b] = ANNOUNCES
		:: else -> post_move(b)
		fi
#endif
	fi
}

/* All nodes were read. */
inline counted(b)
{
	if
	:: !MAY_ACT(b) || OVERTAKEN(b) -> unlock(b)
	:: else ->
		if
		:: !MUST_SWEEP(b) || SWEPT_ALL(b) -> decide(b)
		:: else ->
			sweep(b, b * 2);
			sweep(b, b * 2 + 1);
			state[b] = SWEEPS
		fi
	fi
}

#ifdef BROKEN_COUNTS_MISSED
#define MISSED(w) w
#else
#define MISSED(w) BAD
#endif
/* As counted, after the last pass of the sweep: what was not fenced does not count. */
inline counted_last(b)
{
	if
	:: !MAY_ACT(b) || OVERTAKEN(b) -> unlock(b)
	:: MAY_ACT(b) && !OVERTAKEN(b) && SWEPT_ALL(b) -> decide(b)
	:: else ->
		word[b * 2] = (FENCED(b, b * 2) -> word[b * 2] : MISSED(word[b * 2]));
		word[b * 2 + 1] = (FENCED(b, b * 2 + 1) -> word[b * 2 + 1] : MISSED(word[b * 2 + 1]));
#ifndef BROKEN_SWEEP_MISSED
		missed[b] = true;
#endif
		decide(b)
	fi
}

/* --- rules 8 and 9: the move ----------------------------------------------------------- */

inline raise_peer(b)
{
	shared[PEER(b)] = RAISED(shared[PEER(b)])
}

inline moved(b)
{
	high[b] = false;
#ifdef BROKEN_ANNOUNCE_AFTER
	if
	:: HAS_PEER(b) -> state[b] = ANNOUNCES
	:: else -> unlock(b)
	fi
#else
	unlock(b)
#endif
}

#ifdef BROKEN_ANNOUNCE_AFTER
#define AWAITS(b) false
#else
#define AWAITS(b) (state[b] == ANNOUNCES)
#endif
#define ACTING(b)  (at_node[(b) * 2 + n[b]])
#define CHANGES(b) (node[n[b]] == node_compare[(b) * 2 + n[b]])
#ifdef ENDLESS
#define MADE(i)	; progress_##i: skip
#else
#define MADE(i)
#endif

/* --- adoption -------------------------------------------------------------------------- */

#ifdef ADOPT
#ifdef BROKEN_ADOPT_AT_ONCE
#define OLD_OVER     true
#define end_old()    skip
#else
/* After a break, no lease is in force that was so when the file was lost. */
#define OLD(b)	     (old[(b) * 2] && lease[(b) * 2] || old[(b) * 2 + 1] && lease[(b) * 2 + 1])
#define OLD_OVER     ((!OLD(0) || MAY_END(0)) && (!OLD(1) || MAY_END(1)) && (!OLD(2) || MAY_END(2)))
inline end_old()
{
	for (k : 0 .. HOSTS * 2 - 1) {
		if
		:: old[k] && lease[k] -> lease[k] = false; COUNT_PAUSE
		:: else
		fi
	}
	k = 0
}
#endif
#ifdef BROKEN_ADOPT_UNLOCKED
#define FIRST_OF_ADOPTION LOOKS_AGAIN
#else
#define FIRST_OF_ADOPTION LOCKING
#endif
#endif

/* --- crashes --------------------------------------------------------------------------- */

inline crash(b)
{
	crashes--;
	forget_nodes(b);
	held[b] = 0;
	fence[b * 2] = 0;
	fence[b * 2 + 1] = 0;
	unclean[b * 2] = false;
	unclean[b * 2 + 1] = false;
	lease[b * 2] = false;
	lease[b * 2 + 1] = false;
	high[b] = false; /* its history and its counter start again */
	noted[b] = 0;
#ifdef ADOPT
	adopts[b] = false;
	seen[b] = false;
#endif
	cut_home(b);
	cut_node(b * 2);
	cut_node(b * 2 + 1);
	state[b] = DEAD
}

/* --- the processes --------------------------------------------------------------------- */

/* One balancer, with its links. It has no state but that above. */
proctype balancer(byte b)
{
end:
	do
	/* 1: its counter */
	:: d_step { state[b] == IDLE && high[b] && tries[b] > 0 && IN_TURN(b) ->
		look_at_counter(b);
		if
		:: x == 0 -> NOTE_TURN(b); tries[b] = LESS(tries[b]); state[b] = LOCKING
		:: else
		fi }
#ifdef ADOPT
	/* Node 0 is in no service for a break. */
	:: d_step { state[b] == IDLE && adoptions[b] > 0 && LOST && OLD_OVER ->
		end_old();
		adoptions[b]--;
		adopts[b] = true;
		seen[b] = true;
		state[b] = FIRST_OF_ADOPTION }
#endif
	/* T is over, and the load is still high. */
	:: d_step { state[b] != DEAD && !high[b] && load[WANT(b)] && tries[b] > 0 &&
		    ALL_OVER(WANT(b)) ->
		k = WANT(b);
		end_leases(k);
		high[b] = true }

	/* 3: the locks */
	:: d_step { state[b] == LOCKING && ACQUIRABLE(b, lock[THIS(b)]) -> acquire(b) }
	:: d_step { state[b] == LOCKING && held[b] == 1 && GIVES_UP_FIRST(b) -> unlock(b) }
	:: d_step { state[b] == ACQUIRES && home[b] == SENT -> execute_home(b); acquired(b) }
	:: d_step { state[b] == ACQUIRES && BROKEN(home[b]) -> /* a READ on a newer link decides */
		x = (lock[THIS(b)] == LOCK(b + 1, fence[b * 2 + held[b]]));
		use_home(b);
		acquired(b) }

	/* 4: its counter again */
	:: d_step { state[b] == LOOKS_AGAIN ->
		if
		:: !MAY_ACT(b) || !OF_ONE_EPOCH(b) -> unlock(b)
		:: else ->
#ifdef BROKEN_COUNTER_UNCHECKED
			x = 0;
#else
			look_at_counter(b);
#endif
			if
			:: x == 0 -> state[b] = COUNTS
			:: else -> unlock(b)
			fi
		fi }
#ifdef BROKEN_COUNTER_LOST
	:: d_step { unknowns > 0 && state[b] == LOOKS_AGAIN && MAY_ACT(b) && OF_ONE_EPOCH(b) ->
		unknowns--; state[b] = COUNTS }
#endif
	/* A lease ended, or the counter was not read. */
	:: d_step { (state[b] == LOOKS_AGAIN || state[b] == COUNTS || state[b] == COUNTS_2ND ||
		     state[b] == KEPT_READ || state[b] == WORD_READ || AWAITS(b) ||
		     state[b] == ANNOUNCED) && GIVES_UP(b) -> unlock(b) }

	/* 5: count; 6: the fencing sweep */
#ifdef KEPT /* the two words of one READ, in either order */
	:: d_step { state[b] == COUNTS && READS(b * 2) ->
		use_node(b * 2); half[b] = kept; state[b] = KEPT_READ }
	:: d_step { state[b] == KEPT_READ ->
		word[b * 2] = node[0];
		counts[b] = IS_KEPT(node[0], half[b]);
		half[b] = 0;
		state[b] = COUNTS_2ND }
	:: d_step { state[b] == COUNTS && READS(b * 2) ->
		read_node(b * 2, 0); state[b] = WORD_READ }
	:: d_step { state[b] == WORD_READ ->
		counts[b] = IS_KEPT(word[b * 2], kept); state[b] = COUNTS_2ND }
#else
	:: d_step { state[b] == COUNTS && READS(b * 2) ->
		read_node(b * 2, 0); state[b] = COUNTS_2ND }
#endif
	:: d_step { state[b] == COUNTS && MISSES(b * 2) -> word[b * 2] = BAD; state[b] = COUNTS_2ND }
	:: d_step { state[b] == COUNTS_2ND && READS(b * 2 + 1) ->
		pick = 0; read_node(b * 2 + 1, 1); counted(b) }
	:: d_step { state[b] == COUNTS_2ND && READS(b * 2 + 1) ->
		pick = 1; read_node(b * 2 + 1, 1); counted(b) }
	:: d_step { state[b] == COUNTS_2ND && MISSES(b * 2 + 1) ->
		pick = 0; word[b * 2 + 1] = BAD; counted(b) }
#ifndef ENDLESS /* there, sweeps go on until all is swept, or the lease ends */
	:: d_step { state[b] == COUNTS_2ND && SWEPT_ONCE(b) && READS(b * 2 + 1) ->
		pick = 0; read_node(b * 2 + 1, 1); counted_last(b) }
	:: d_step { state[b] == COUNTS_2ND && SWEPT_ONCE(b) && READS(b * 2 + 1) ->
		pick = 1; read_node(b * 2 + 1, 1); counted_last(b) }
	:: d_step { state[b] == COUNTS_2ND && SWEPT_ONCE(b) && MISSES(b * 2 + 1) ->
		pick = 0; word[b * 2 + 1] = BAD; counted_last(b) }
#endif
#ifdef BROKEN_NO_RECOUNT
	:: d_step { state[b] == SWEEPS && at_node[b * 2] == SENT ->
		execute_node(b, b * 2, 0);
		word[b * 2] = (x -> FENCED_WORD(b, word[b * 2]) : word[b * 2]) }
	:: d_step { state[b] == SWEEPS && at_node[b * 2 + 1] == SENT ->
		execute_node(b, b * 2 + 1, 1);
		word[b * 2 + 1] = (x -> FENCED_WORD(b, word[b * 2 + 1]) : word[b * 2 + 1]) }
	:: d_step { state[b] == SWEEPS && at_node[b * 2] != SENT && at_node[b * 2 + 1] != SENT ->
		pick = 0; decide(b) }
	:: d_step { state[b] == SWEEPS && at_node[b * 2] != SENT && at_node[b * 2 + 1] != SENT ->
		pick = 1; decide(b) }
#else
	:: d_step { state[b] == SWEEPS && at_node[b * 2] == SENT -> execute_node(b, b * 2, 0) }
	:: d_step { state[b] == SWEEPS && at_node[b * 2 + 1] == SENT ->
		execute_node(b, b * 2 + 1, 1) }
	:: d_step { state[b] == SWEEPS && at_node[b * 2] != SENT && at_node[b * 2 + 1] != SENT ->
		state[b] = COUNTS }
#endif

	/* 8: announce, and await it */
#if defined(BROKEN_ANNOUNCE_AFTER)
	:: d_step { state[b] == ANNOUNCES ->
		if
		:: state[PEER(b)] != DEAD -> raise_peer(b)
		:: else
		fi;
		unlock(b) }
#elif defined(BROKEN_NOT_AWAITED)
	:: d_step { state[b] == ANNOUNCES -> announcing[b] = true; post_move(b) }
	:: d_step { announcing[b] -> announcing[b] = false; raise_peer(b) }
#else
	:: d_step { state[b] == ANNOUNCES && state[PEER(b)] != DEAD ->
		raise_peer(b); state[b] = ANNOUNCED }
#endif
#ifdef ENDLESS /* it is dead for good, and membership has removed it */
	:: d_step { state[b] == ANNOUNCES && state[PEER(b)] == DEAD -> state[b] = ANNOUNCED }
#endif
#ifdef BROKEN_UNANNOUNCED_MOVES
	:: d_step { state[b] == ANNOUNCES -> state[b] = ANNOUNCED }
#endif

	/* 9: the node's word */
	:: d_step { state[b] == ANNOUNCED -> post_move(b) }
	:: d_step { state[b] == ACTS && ACTING(b) == SENT && n[b] == 0 && CHANGES(b) ->
		execute_node(b, b * 2, 0); moved(b) } MADE(0)
	:: d_step { state[b] == ACTS && ACTING(b) == SENT && n[b] == 0 && !CHANGES(b) ->
		execute_node(b, b * 2, 0); unlock(b) }
	:: d_step { state[b] == ACTS && ACTING(b) == SENT && n[b] == 1 && CHANGES(b) ->
		execute_node(b, b * 2 + 1, 1); moved(b) } MADE(1)
	:: d_step { state[b] == ACTS && ACTING(b) == SENT && n[b] == 1 && !CHANGES(b) ->
		execute_node(b, b * 2 + 1, 1); unlock(b) }
	:: d_step { state[b] == ACTS && BROKEN(ACTING(b)) -> /* a READ on a newer link decides */
#ifndef BROKEN_RESOLVE_ON_OLD_LINK
		use_node(b * 2 + n[b]);
#endif
		if
		:: node[n[b]] == target[b] -> moved(b)
		:: else -> unlock(b)
		fi } MADE(2)
	:: d_step { state[b] == ACTS && BROKEN(ACTING(b)) && GIVES_UP(b) -> /* undecided */
		unclean[b * 2] = true;
		unclean[b * 2 + 1] = true;
		moved(b) } MADE(3)

	/* 10: release; an unswept lock is left dirty */
	:: d_step { state[b] == UNLOCKS && home[b] == SENT -> execute_home(b); released(b) }
	:: d_step { state[b] == UNLOCKS && BROKEN(home[b]) -> post_release(b) } /* the same CAS */

	/* Late operations, of a host that does not wait for them any more. */
	:: d_step { home[b] == DOUBT -> execute_home(b) }
	:: d_step { at_node[b * 2] == DOUBT -> execute_node(b, b * 2, 0) }
	:: d_step { at_node[b * 2 + 1] == DOUBT -> execute_node(b, b * 2 + 1, 1) }

	/* A link goes down; without TIMELY what it had may still be executed. */
	:: d_step { unknowns > 0 && home[b] == SENT -> unknowns--; cut_home(b) }
	:: d_step { unknowns > 0 && at_node[b * 2] == SENT -> unknowns--; cut_node(b * 2) }
	:: d_step { unknowns > 0 && at_node[b * 2 + 1] == SENT -> unknowns--; cut_node(b * 2 + 1) }
#ifdef TIMELY
	:: d_step { unknowns > 0 && home[b] == SENT ->
		unknowns--; execute_home(b); home[b] = DOWN }
	:: d_step { unknowns > 0 && at_node[b * 2] == SENT ->
		unknowns--; execute_node(b, b * 2, 0); at_node[b * 2] = DOWN }
	:: d_step { unknowns > 0 && at_node[b * 2 + 1] == SENT ->
		unknowns--; execute_node(b, b * 2 + 1, 1); at_node[b * 2 + 1] = DOWN }
#endif
	:: d_step { crashes > 0 && state[b] != IDLE && state[b] != DEAD -> crash(b) }
#ifndef NO_RESTART
	:: d_step { state[b] == DEAD ->
		tries[b] = (tries[b] == 0 -> AGAIN : tries[b]);
		noted[b] = shared[b];
		state[b] = IDLE }
#endif
	od
}

inline lose_home(b)
{
	if
	:: home[b] == SENT || home[b] == DOUBT -> clear_home(b, DOWN)
	:: else
	fi
}

/*
 * A node's host dies and restarts. Its words come back: in one view their epoch is the same. A
 * CAS that was put out and not posted yet ends with the link on which its compare was read: it
 * is not posted on the new one.
 */
inline lose_node(b)
{
#ifdef BROKEN_ANY_LINK
	if
	:: at_node[b * 2] != SENT -> clear_node(b * 2, DOWN)
	:: else
	fi
#else
	clear_node(b * 2, DOWN)
#endif
#ifdef ADOPT
	;
	seen[b] = false
#endif
#ifdef KEPT
	;
	if /* its READ ends with the link */
	:: state[b] == KEPT_READ || state[b] == WORD_READ ->
		word[b * 2] = BAD;
		half[b] = 0;
		state[b] = COUNTS_2ND
	:: else
	fi
#endif
}

#ifdef KEPT
#ifdef BROKEN_RESTART_REVERTS
#define FIRST_WORD NODE(BEGIN(0), 1)
#else
#define FIRST_WORD file
#endif
inline begin_node()
{
	saving = 0;
	node[0] = FIRST_WORD;
	kept = node[0];
	file = node[0];
#ifdef ADOPT
	MINIMUM_LEFT(NODES_OF(0) >= 1 || lacks);
	NOTE_LACKS
#else
	MINIMUM_LEFT(NODES_OF(0) >= 1)
#endif
}
#else
inline begin_node()
{
	node[0] = NODE(BEGIN(0), 1)
}
#endif

#ifdef ENDLESS
#define NO_LEASE !(lease[0] || lease[1] || lease[2] || lease[3] || lease[4] || lease[5])
#else
#define NO_LEASE true
#endif
#define AT_REST(b) (state[b] == IDLE || state[b] == DEAD)

proctype world()
{
end:
	do
	:: d_step { home_crashes > 0 ->
		home_crashes--;
		lock[0] = LOCK(0, 16);
		lock[1] = LOCK(0, 16);
		lock[2] = LOCK(0, 16);
		lose_home(0);
		lose_home(1);
		lose_home(2) }
	:: d_step { node_crashes > 0 ->
		node_crashes--;
		begin_node();
		lose_node(0);
		lose_node(1);
		lose_node(2) }
#ifdef ADOPT
	:: d_step { losses > 0 ->
		losses--;
		saving = 0;
		node[0] = NODE(NOBODY, 1);
		kept = node[0];
		file = node[0];
		NOTE_LACKS;
		for (k : 0 .. HOSTS * 2 - 1) {
			old[k] = lease[k]
		}
		k = 0;
		lose_node(0);
		lose_node(1);
		lose_node(2) }
#endif
#ifdef KEPT
	/* The host reads its node's word, saves it, and keeps it. */
	:: d_step { saving == 0 && node[0] != kept -> saving = node[0] }
#ifdef BROKEN_KEPT_BEFORE_SAVED
	:: d_step { saving != 0 && kept != saving -> kept = saving; NOTE_LACKS }
	:: d_step { saving != 0 && kept == saving -> file = saving; saving = 0 }
#else
	:: d_step { saving != 0 && file != saving -> file = saving }
	:: d_step { saving != 0 && file == saving -> kept = saving; saving = 0; NOTE_LACKS }
#endif
#endif
#ifdef ENDLESS
	/* Time passes when all processes only wait. */
	:: timeout && !(NO_LEASE) -> d_step {
		for (k : 0 .. HOSTS * 2 - 1) {
			lease[k] = false
		}
		k = 0 }
#endif
	:: timeout && NO_LEASE -> DEADLOCK(AT_REST(0) && AT_REST(1) && AT_REST(2)); break
	od
}

init
{
	d_step {
		node[0] = NODE(BEGIN(0), 1);
		node[1] = NODE(BEGIN(1), 1);
#ifdef KEPT
		file = node[0];
		kept = node[0];
#endif
#ifdef ROLES
		tries[0] = 0;
		tries[1] = 0;
		adoptions[2] = 0;
#endif
#ifdef RESTS
#ifdef ADOPT
		adoptions[RESTS] = 0;
#endif
		tries[RESTS] = 0; /* this balancer does nothing: fewer states, so more faults can be searched */
#endif
	};
	atomic {
		run balancer(0);
		run balancer(1);
		run balancer(2);
		run world()
	}
}
