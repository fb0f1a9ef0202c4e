/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * members: two views with different members, and one home that is in both. Node 0 is in
 * views 1 and 2; node 1 is in one of them or in both. Three hosts, all with quorum, are in
 * view 1 first; each learns of view 2 at any time, or never. All want the donor's spare
 * node. README.md maps rules to the code.
 *
 * One lock models both locks of a move. An operation on a node is executed at any time after
 * it was posted, or never. A lease ends at any step.
 *
 * Time: none. A host that breaks the lock, or acquires it fresh, has outwaited its holder's
 * lease (lock.pml, ALONE).
 *
 * Properties (each alone with -DONLY -DCHECK_x):
 *   MINIMUM  no move leaves the donor with fewer nodes than its minimum, 1
 *   IN_VIEW  a host puts out a move only if, of the nodes that it counted, the donor has one to
 *            spare in the view that the host knows then
 */
#define HOSTS 3
#define NODES 2
#define FREE  HOSTS

/* A node word: count, epoch 2, service 2 (0: the donor; a move changes it to 1). */
#define NODE(service, epoch, count) ((count) * 16 + (epoch) * 4 + (service))
#define SERVICE(w)		    ((w) % 4)
#define EPOCH(w)		    ((w) / 4 % 4)
#define COUNT(w)		    ((w) / 16)

#if !defined(ONLY) || defined(CHECK_MINIMUM)
#define MINIMUM_LEFT(left) assert(left)
#else
#define MINIMUM_LEFT(left) skip
#endif
#if !defined(ONLY) || defined(CHECK_IN_VIEW)
#define IN_VIEW(spare) assert(spare)
#else
#define IN_VIEW(spare) skip
#endif

byte node[NODES] = NODE(0, 1, 0);
bool has[6];	/* view * 2 + node: is its host a member? */

byte owner = FREE; /* of the lock */
bool dirty;
byte lock_epoch = 1, lock_count;

byte view[HOSTS] = 1;
bool lease[HOSTS];

bool sent[HOSTS * NODES];
byte compare[HOSTS * NODES], value[HOSTS * NODES]; /* of host h on node n: h * 2 + n */

#define NODES_LEFT ((SERVICE(node[0]) == 0) + (SERVICE(node[1]) == 0))

inline forget(s)
{
	sent[s] = false;
	compare[s] = 0;
	value[s] = 0
}

inline execute(s, n)
{
	if
	:: node[n] == compare[s] ->
		node[n] = value[s];
		MINIMUM_LEFT(SERVICE(value[s]) == 0 || NODES_LEFT >= 1)
	:: else
	fi;
	forget(s)
}

proctype net(byte h)
{
end:
	do
	:: d_step { sent[h * 2] -> execute(h * 2, 0) }
	:: d_step { sent[h * 2 + 1] -> execute(h * 2 + 1, 1) }
	:: d_step { lease[h] -> lease[h] = false }
	:: d_step { view[h] == 1 -> view[h] = 2 }
	od
}

#ifdef BROKEN_VIEW_BEHIND
#define LEFT_ALONE false
#else
#define LEFT_ALONE (lock_epoch > view[h])
#endif
#define FRESH	(lock_epoch < view[h])
/* Broken, or acquired fresh: its earlier holder has no lease any more. */
#define OUTWAITED (owner == FREE && !FRESH || !lease[0] && !lease[1] && !lease[2])
#ifdef BROKEN_VIEW_KEPT
#define SAME_VIEW true
#else
#define SAME_VIEW (view[h] == mine) /* a move ends with its view */
#endif
#define MAY_ACT	  (lease[h] && SAME_VIEW)
#define SPARE_NOW (has[view[h] * 2] * (SERVICE(word[0]) == 0) + has[view[h] * 2 + 1] * (SERVICE(word[1]) == 0) > 1)
#define MEMBER(n) has[mine * 2 + (n)] /* node 0 is in both views */
#define OVERTAKEN (EPOCH(word[0]) > epoch || MEMBER(1) && EPOCH(word[1]) > epoch)
#define COUNTED	  ((SERVICE(word[0]) == 0) + (MEMBER(1) && SERVICE(word[1]) == 0))
#define SWEPT(w)  NODE(SERVICE(w), epoch, COUNT(w) + 1)
#define FENCED	  (word[0] == swept[0] && (!MEMBER(1) || word[1] == swept[1]))
#define HELD	  (owner == h && lock_count == mycount)

inline post(n, put)
{
	compare[h * 2 + n] = word[n];
	value[h * 2 + n] = put;
	sent[h * 2 + n] = true
}

proctype balancer(byte h)
{
	byte mine, epoch, mycount;
	byte word[NODES], swept[NODES];
	bool unclean, again;

	atomic {
		!LEFT_ALONE && OUTWAITED ->
		mine = view[h];
		unclean = (owner != FREE || dirty || FRESH);
		if
		:: FRESH -> lock_epoch = mine
		:: else
		fi;
		epoch = lock_epoch;
		lock_count++;
		mycount = lock_count;
		owner = h;
		dirty = false;
		lease[h] = true
	};
count:	word[0] = node[0];
	atomic {
		if
		:: MEMBER(1) -> word[1] = node[1]
		:: else
		fi;
		if
		:: !MAY_ACT || OVERTAKEN -> goto leave
		:: else
		fi;
		if
		:: !unclean || FENCED -> goto decide
		:: unclean && !FENCED && again -> goto leave
		:: unclean && !FENCED && !again ->
			again = true;
			swept[0] = SWEPT(word[0]);
			swept[1] = SWEPT(word[1]);
			post(0, swept[0]);
			if
			:: MEMBER(1) -> post(1, swept[1])
			:: else
			fi
		fi
	};
	atomic { !sent[h * 2] && !sent[h * 2 + 1] -> goto count };
decide:	atomic {
		unclean = false;
		swept[0] = 0;
		swept[1] = 0;
		if
		:: MAY_ACT && COUNTED > 1 -> IN_VIEW(SPARE_NOW); post(0, NODE(1, epoch, COUNT(word[0]) + 1))
		:: MAY_ACT && COUNTED > 1 -> IN_VIEW(SPARE_NOW); post(1, NODE(1, epoch, COUNT(word[1]) + 1))
		:: !(MAY_ACT && COUNTED > 1)
		fi
	};
	if
	:: atomic { !sent[h * 2] && !sent[h * 2 + 1] -> skip }
	:: atomic { !MAY_ACT -> unclean = (unclean || sent[h * 2] || sent[h * 2 + 1]) } /* undecided */
	fi;
leave:	atomic {
		if
		:: HELD -> owner = FREE; dirty = unclean
		:: HELD -> skip /* it died, or its release never arrives */
		:: else
		fi;
		lease[h] = false;
		mine = 0;
		epoch = 0;
		mycount = 0;
		word[0] = 0;
		word[1] = 0;
		swept[0] = 0;
		swept[1] = 0;
		unclean = false;
		again = false
	}
}

init
{
	atomic {
		has[2] = true;
		has[4] = true;
		if /* two views of one node each: no service has a node to spare */
#ifndef JOINS
		:: has[3] = true
#endif
#if !defined(JOINS) && !defined(LEAVES)
		:: has[3] = true; has[5] = true
#endif
#ifndef LEAVES
		:: has[5] = true
#endif
		fi;
		run net(0);
		run net(1);
		run net(2);
		run balancer(0);
		run balancer(1);
		run balancer(2)
	}
}
