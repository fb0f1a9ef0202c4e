/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view: the home of a lock changes with the membership view. Host 0 was the home in view 1.
 * It is cut off, but alive: its memory and that of the nodes can still be accessed. In view
 * 2 host 1 is the home. Host 0 learns of view 2 late, or never; when it does, it has no
 * quorum. Both want the donor's spare node. README.md maps rules to the code.
 *
 * One lock models both locks of a move. Here each home's lock word has one acquirer
 * (lock.pml and move.pml have several). An operation on a node is executed at any time after
 * it was posted, or never. A lease ends at any step.
 *
 * Time: none. A host that waits for a fresh word outwaits every lease that was in force when
 * it first saw the word (lock.pml, ALONE), but not a later lease.
 *
 * KEPT: node 1's host keeps its word in a file, and begins with the file's word after a restart.
 * Its two words are read at one time here (move.pml has two).
 *
 * Property:
 *   MINIMUM  no move leaves the donor with fewer nodes than its minimum, 1
 */
#ifdef TRIES
#define TRIES_OF(h) TRIES
#else
#define TRIES_OF(h) (2 - (h))
#endif

/* A node word: count, epoch 2, service 2 (0: the donor). */
#define NODE(service, epoch, count) ((count) * 16 + (epoch) * 4 + (service))
#define SERVICE(w)		    ((w) % 4)
#define EPOCH(w)		    ((w) / 4 % 4)
#define COUNT(w)		    ((w) / 16)

byte node[2] = NODE(0, 1, 0);
byte lock_epoch[2] = 1; /* of each home's lock word */
bool dirty[2];		/* its last holder released it dirty, or died */

byte view[2] = 1;
bool quorate[2] = true;
bool lease[2];
bool outwait[2]; /* a lease of the other host that was in force when the word was first read */

bool sent[4];
byte compare[4], value[4]; /* of host h on node n: h * 2 + n */

#ifdef KEPT /* of node 1 */
byte file = NODE(0, 1, 0), kept = NODE(0, 1, 0);
byte saving;		/* the word that is being saved; 0: none */
byte restarts = 1;
bool cut[2], counts[2]; /* its host restarted since h read it; h counts it */
#ifdef BROKEN_KEPT_BY_SERVICE
#define IS_KEPT (SERVICE(node[1]) == SERVICE(kept))
#else
#define IS_KEPT (SERVICE(node[1]) == SERVICE(kept) && EPOCH(node[1]) == EPOCH(kept))
#endif
#define READ_KEPT     counts[h] = IS_KEPT; cut[h] = false
#define COUNTS_IT     counts[h]
#define ON_ITS_LINK   (!cut[h])
#else
#define READ_KEPT     skip
#define COUNTS_IT     true
#define ON_ITS_LINK   true
#endif

#define NODES_LEFT ((SERVICE(node[0]) == 0) + (SERVICE(node[1]) == 0))

inline execute(s, n)
{
	sent[s] = false;
	if
	:: node[n] == compare[s] ->
		node[n] = value[s];
		assert(SERVICE(value[s]) == 0 || NODES_LEFT >= 1 /* MINIMUM */)
	:: else
	fi;
	compare[s] = 0;
	value[s] = 0
}

#ifdef KEPT
inline drop(s)
{
	sent[s] = false;
	compare[s] = 0;
	value[s] = 0
}

proctype host()
{
end:
	do
	:: d_step { saving == 0 && node[1] != kept -> saving = node[1] }
	:: d_step { saving != 0 && file != saving -> file = saving }
	:: d_step { saving != 0 && file == saving -> kept = saving; saving = 0 }
	:: d_step { restarts > 0 ->
		restarts--;
		saving = 0;
		node[1] = file;
		kept = file;
		drop(1);
		drop(3);
		cut[0] = true;
		cut[1] = true }
	od
}
#endif

proctype net(byte h)
{
end:
	do
	:: d_step { sent[h * 2] -> execute(h * 2, 0) }
	:: d_step { sent[h * 2 + 1] -> execute(h * 2 + 1, 1) }
	:: d_step { sent[h * 2] -> sent[h * 2] = false; compare[h * 2] = 0; value[h * 2] = 0 }
	:: d_step { sent[h * 2 + 1] ->
		sent[h * 2 + 1] = false; compare[h * 2 + 1] = 0; value[h * 2 + 1] = 0 }
	:: d_step { lease[h] -> lease[h] = false; outwait[1 - h] = false }
	:: d_step { view[h] == 1 -> view[h] = 2; quorate[h] = (h == 1) }
	od
}

#ifdef BROKEN_MINORITY_DECIDES
#define MAY_DECIDE true
#define SAME_VIEW  true
#else
#define MAY_DECIDE quorate[h]
#define SAME_VIEW  (view[h] == mine) /* a move ends with its view */
#endif
#ifdef BROKEN_EPOCH_IGNORED
#define OVERTAKEN false
#else
#define OVERTAKEN (EPOCH(word[0]) > epoch || EPOCH(word[1]) > epoch)
#endif
#define MAY_ACT	(lease[h] && MAY_DECIDE && SAME_VIEW)
#define TO_SPARE (SERVICE(word[0]) == 0 && SERVICE(word[1]) == 0 && COUNTS_IT)
#define SWEPT(w) NODE(SERVICE(w), epoch, COUNT(w) + 1)
#define COUNTED_TWICE (swept[0] + swept[1] > 0)
#define UNCLEAN_SWEEP (unclean && !(word[0] == swept[0] && word[1] == swept[1]))

inline post(n, put)
{
	compare[h * 2 + n] = word[n];
	value[h * 2 + n] = put;
	sent[h * 2 + n] = true
}

proctype balancer(byte h)
{
	byte mine, epoch, tries = TRIES_OF(h);
	byte word[2], swept[2];
	bool unclean;

	/* Host 1 does not use this lock in view 1: there the home is host 0. */
end_first:
	h == 0 || view[h] == 2;
	do
	:: tries == 0 -> break
	:: tries > 0 && !MAY_DECIDE -> break
	:: tries > 0 && MAY_DECIDE ->
		atomic { tries--; mine = view[h] };
		if
		:: atomic { lock_epoch[h] < mine -> outwait[h] = lease[1 - h] }; /* fresh */
#ifndef BROKEN_FRESH_AT_ONCE
			!outwait[h]
#endif
		:: lock_epoch[h] >= mine
		fi;
		atomic {
			unclean = (lock_epoch[h] < mine || dirty[h]);
#ifdef BROKEN_FRESH_AT_ONCE
			unclean = dirty[h];
#endif
			lock_epoch[h] = mine;
			epoch = mine;
			lease[h] = true;
			dirty[h] = true
		};
count:		word[0] = node[0];
		atomic {
			word[1] = node[1];
			READ_KEPT;
			if
			:: !MAY_ACT || OVERTAKEN || UNCLEAN_SWEEP && COUNTED_TWICE -> goto leave
			:: MAY_ACT && !OVERTAKEN && UNCLEAN_SWEEP && !COUNTED_TWICE ->
				swept[0] = SWEPT(word[0]);
				swept[1] = SWEPT(word[1]);
				post(0, swept[0]);
				post(1, swept[1])
			:: MAY_ACT && !OVERTAKEN && !UNCLEAN_SWEEP -> goto decide
			fi
		};
		atomic { !sent[h * 2] && !sent[h * 2 + 1] -> goto count };
decide:		atomic {
			unclean = false;
			swept[0] = 0;
			swept[1] = 0;
			if
			:: TO_SPARE -> post(0, NODE(h + 1, epoch, COUNT(word[0]) + 1))
			:: TO_SPARE && ON_ITS_LINK -> post(1, NODE(h + 1, epoch, COUNT(word[1]) + 1))
			:: !TO_SPARE
			fi
		};
		if
		:: atomic { !sent[h * 2] && !sent[h * 2 + 1] -> dirty[h] = false }
		:: atomic { !MAY_ACT -> skip } /* undecided */
		fi;
leave:		atomic {
			dirty[h] = (dirty[h] || unclean);
			lease[h] = false;
			outwait[1 - h] = false;
			unclean = false;
			word[0] = 0;
			word[1] = 0;
			mine = 0;
			swept[0] = 0;
			swept[1] = 0;
			epoch = 0
		};
		!sent[h * 2] && !sent[h * 2 + 1] /* a new link is up */
	od
}

init
{
	atomic {
#ifdef KEPT
		run host();
#endif
		run net(0);
		run net(1);
		run balancer(0);
		run balancer(1)
	}
}
