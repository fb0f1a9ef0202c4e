/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * role: a node of kind "switch" must be prepared for a service before it gets requests of it
 * (src/reconf/role.h, whose rules are numbered). One node, two services, and a balancer of each,
 * with its proxy. README.md maps rules to the code.
 *
 * Moves change the node's word at any time. All that a host reads of another one is a copy, which
 * may be old when it is used. The node's host crashes: a word that is not kept goes back, and a
 * program that runs is killed. A balancer crashes: its proxy goes on, its acknowledgement is gone.
 *
 * Property:
 *   ROLE  a request is at the node only while that serves the service of the request
 */
#ifndef MOVES
#define MOVES 3
#endif
#ifndef HOST_CRASHES
#define HOST_CRASHES 1
#endif
#ifndef CRASHES
#define CRASHES 1
#endif

#define WORD(service, count) (2 * (count) + (service))
#define SERVICE(w)	     ((w) % 2)
#define COUNT(w)	     ((w) / 2)
#ifdef LOST /* the file is lost when the host crashes */
#define LOSES true
#else
#define LOSES false
#endif
#define NONE		     0
#define UNKNOWN		     2

byte word = WORD(0, 1), kept = WORD(0, 1);
byte moves = MOVES;

byte actual; /* what the node serves; UNKNOWN: it is being prepared */
byte file;   /* the service in the file of roles, or UNKNOWN */

/* The node's host. */
byte own = WORD(0, 1); /* its newest copy of the word that counts */
byte role;	       /* as in its memory */
byte published = WORD(0, 1);
bool runs; /* the program, for the service of: */
byte target;
bool got[2]; /* acknowledgements of own that were read */
byte host_crashes = HOST_CRASHES;

/* The balancers. */
byte sees[2] = WORD(0, 1); /* the copy of the word */
byte ready[2] = WORD(0, 1);	/* the copy of what is published */
byte post[2];		/* the acknowledgement that is on its way */
byte ack[2];
bool serves[2]; /* the proxy sends requests to the node */
bool request[2]; /* one is at the node */
byte crashes = CRASHES;

/* rule 1: a word counts only if it is kept */
#ifdef BROKEN_UNKEPT
#define COUNTS true
#else
#define COUNTS (word == kept)
#endif

/* rule 2: acknowledgements are of the exact word */
#ifdef BROKEN_ACK_BY_SERVICE
#define IS_ACK(b) (ack[b] && SERVICE(ack[b]) == SERVICE(own))
#else
#define IS_ACK(b) (ack[b] == own)
#endif
#ifdef BROKEN_NO_ACKS
#define MAY_RUN true
#else
#define MAY_RUN (got[0] && got[1])
#endif

/* rule 3: the file says "unknown" before the program begins */
#ifdef BROKEN_SAVED_AFTER
#define BEGUN skip
#else
#define BEGUN file = UNKNOWN
#endif

/* rule 4: no requests of another service at the node when it is acknowledged */
#ifdef BROKEN_ACK_EARLY
#define DRAINED(b) (!serves[b])
#else
#define DRAINED(b) (!serves[b] && !request[b])
#endif

/* rule 5: ready is for the exact word */
#ifdef BROKEN_READY_BY_SERVICE
#define IS_READY(b) (ready[b] && SERVICE(ready[b]) == b)
#else
#define IS_READY(b) (ready[b] == sees[b])
#endif

/* rule 6: a node of which nothing is known is checked first */
#ifdef BROKEN_UNCHECKED
#define IS_CHECKED true
#else
#define IS_CHECKED (role != UNKNOWN || actual != SERVICE(own))
#endif

proctype mover()
{
end:	do
	:: d_step { moves -> moves--; word = WORD(0, COUNT(word) + 1) }
	:: d_step { moves -> moves--; word = WORD(1, COUNT(word) + 1) }
	:: d_step { kept != word -> kept = word }
	od
}

proctype host()
{
end:	do
	:: d_step { COUNTS && own != word -> own = word; got[0] = false; got[1] = false }
	:: d_step { !runs && SERVICE(own) == role && published != own -> published = own }
	:: d_step { published && SERVICE(own) != role -> published = NONE }
	:: d_step { !runs && !published && IS_ACK(0) && !got[0] -> got[0] = true }
	:: d_step { !runs && !published && IS_ACK(1) && !got[1] -> got[1] = true }
	:: d_step {
		!runs && !published && SERVICE(own) != role && MAY_RUN && IS_CHECKED ->
		BEGUN;
		role = UNKNOWN;
		runs = true;
		target = SERVICE(own);
		actual = UNKNOWN
	   }
	:: d_step { runs -> runs = false; actual = target; role = target; file = target }
	:: d_step {
		!runs && role == UNKNOWN && actual == SERVICE(own) -> /* a check says so */
		role = actual;
		file = actual
	   }
	:: d_step {
		host_crashes ->
		host_crashes--;
		if
		:: LOSES -> file = UNKNOWN
		:: else
		fi;
		word = kept;
		own = kept;
		got[0] = false;
		got[1] = false;
		role = file;
		published = NONE;
		runs = false
	   }
	od
}

proctype balancer(byte b)
{
end:	do
	:: d_step { COUNTS && sees[b] != word -> sees[b] = word }
	:: d_step { ready[b] != published -> ready[b] = published }
	:: d_step { serves[b] && sees[b] && SERVICE(sees[b]) != b -> serves[b] = false }
	:: d_step {
		sees[b] && post[b] != sees[b] && (SERVICE(sees[b]) == b || DRAINED(b)) ->
		post[b] = sees[b]
	   }
	:: d_step { post[b] && ack[b] != post[b] -> ack[b] = post[b] }
	:: d_step {
		!serves[b] && sees[b] && SERVICE(sees[b]) == b && IS_READY(b) ->
		serves[b] = true
	   }
	:: d_step { serves[b] && !request[b] -> request[b] = true }
	:: d_step { request[b] -> request[b] = false }
	:: d_step {
		crashes ->
		crashes--;
		sees[b] = NONE;
		ready[b] = NONE;
		post[b] = NONE;
		ack[b] = NONE
	   }
	od
}

/* An assert in a process of its own would miss states: each step that could break it is followed. */
never {
	do
	:: assert(!(request[0] && actual != 0) && !(request[1] && actual != 1) /* ROLE */)
	od
}

init {
	serves[0] = true;
	atomic {
		run mover();
		run host();
		run balancer(0);
		run balancer(1)
	}
}
