/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * move: one reconfiguration: a node goes over from a donor to an overloaded
 * service.
 *
 * One struct move a host runs the moves of all balancers of this host, one at a
 * time, and all its locks and counters: every event goes to move_step alone, which
 * hands it on. A move, in the order of its rules (tests/shared/rules.txt breaks each):
 *
 *	 1 its counter: ahead: no move, the history T starts again
 *	 2 choose a donor (move_donor, pure); after MOVE_BUSY the same as before, as
 *	   long as it will do: how long its lock stands is known. A balancer of the two
 *	   to whom there is no link: no move, and nobody else is told in vain
 *	 3 the locks of both services, in ascending service id. Both are looked at
 *	   first: nobody asks for the first before it saw the second free, or as yet
 *	   another's than before, or may break it by half of a lease: it watches both,
 *	   and has nothing that others want. While the first is another's the second is
 *	   watched, so that who died with both delays but once. Who has the first, when
 *	   the second went to another meanwhile and is seen to stand for a check, gives
 *	   the first back unless it may break the second by half of the first's lease.
 *	   So a dead holder of the second delays by break and S, as in lock.h, however
 *	   many newcomers there are and whenever they come.
 *	 4 its counter again: ahead: no move; the load no longer high for T: no move
 *	 5 read every node word; one is of a newer epoch than the locks': no move
 *	 6 a lock was not had by a clean release: fencing sweep: CAS every node
 *	   word to itself with seq + 1, and read all again. Not only those of both
 *	   services: the last holder of one of the locks may have had another pair. A
 *	   node that could not be swept is not counted, and leaves the locks dirty: the
 *	   next holder sweeps again.
 *	 7 the donor's nodes that were read (and swept) must be more than its
 *	   minimum; choose the least loaded (move_choose, pure)
 *	 8 announce: FAA the counters of all other balancers of both services; await all
 *	 9 CAS the node's word
 *	10 unlock both
 *
 * Before 5, 6, 8 and 9, and before it decides by what came back, both leases must
 * be in force. When one ends or the view changes: unlock, no move. A balancer that
 * the view has is told or there is no move; one that it does not have was removed
 * by membership, and starts anew when it comes back.
 *
 * The node's word: {service 16, seq 48}, seq {epoch 16, count 32} on the node's
 * own host. count + 1 with each change; the epoch is the locks'. A host begins its
 * words with count = its generation << 16 (region_words), so that none stands
 * twice. A host of an older view, which still holds locks at a former home, thus
 * finds the words swept under it, or sees an epoch newer than its own, and leaves
 * them alone.
 *
 * A sweep is of the nodes of the view's members, and a clean release holds for hosts
 * of that view: those of a newer one find the word's epoch behind theirs and sweep
 * again, those of an older one do not take the lock (lock.h). A CAS of an older view
 * on a node that the newer one does not have may still take effect: nobody of the
 * newer one counted that node.
 *
 * The CAS of 9 UNKNOWN: on a newer link a READ decides by the exact word. When the
 * lease ends before: UNDECIDED: the locks are left dirty, so that the next
 * holder's sweep decides; the word itself tells who serves.
 */
#ifndef RESEX_RECONF_MOVE_H
#define RESEX_RECONF_MOVE_H

#include "src/reconf/counter.h"
#include "src/reconf/lock.h"

enum {
	MOVE_NODES_MAX = 512, /* of all hosts */
	MOVE_SERVICES_MAX = REGION_SERVICES_MAX,
	MOVE_SWEEPS_MAX = 4, /* passes of one sweep */
	/* tags conf.tag .. conf.tag + MOVE_TAGS - 1 are its own, its locks', its counters' */
	MOVE_TAGS = 1 << 24,
};

struct move_node {
	uint16_t host; /* 1 .. 64 */
	uint16_t node; /* region_node_offset */
	uint32_t load; /* any measure; more is more */
	bool alive;    /* may be chosen and counted */
	uint64_t word; /* as last scanned: for move_donor alone */
};

struct move_service {
	uint16_t id;
	uint32_t minimum;   /* of nodes */
	uint64_t balancers; /* bit h - 1: host h has one */
};

/* What a move goes by. Whose it is may change load, alive and word at any time, the rest while
 * move_state is MOVE_IDLE. */
struct move_view {
	uint32_t nodes, services;
	struct move_node node[MOVE_NODES_MAX];
	struct move_service service[MOVE_SERVICES_MAX];
};

struct move_conf {
	uint16_t self;
	uint32_t tag;
	int64_t hold_ns, deadline_ns, check_ns; /* as lock_conf */
	uint32_t drift_ppm;
	uint32_t checks; /* as counter_conf */
	uint64_t seed;
};

enum move_state {
	MOVE_IDLE,
	MOVE_LOOKS,	  /* 1 */
	MOVE_LOCKS,	  /* 3 */
	MOVE_LOOKS_AGAIN, /* 4 */
	MOVE_COUNTS,	  /* 5 */
	MOVE_SWEEPS,	  /* 6 */
	MOVE_ANNOUNCES,	  /* 8 */
	MOVE_ACTS,	  /* 9 */
	MOVE_RESOLVES,	  /* 9, UNKNOWN */
	MOVE_UNLOCKS,	  /* 10 */
};

enum move_result {
	MOVE_NONE, /* none ended yet */
	MOVE_MOVED,
	MOVE_TOLD,	/* somebody moved: the counter was ahead */
	MOVE_CALM,	/* the load was not high for T any more (or never was) */
	MOVE_NO_DONOR,	/* nobody with a node to spare and less load */
	MOVE_BUSY,	/* the locks were not had in time */
	MOVE_LATE,	/* a lease ended before the node's CAS */
	MOVE_UNTOLD,	/* a balancer could not be told */
	MOVE_OVERTAKEN, /* a node's word changed, or is of a newer epoch */
	MOVE_UNREACHED, /* the node's CAS was not executed */
	MOVE_UNDECIDED, /* it may have been, or be yet */
	MOVE_VIEW,	/* the view changed, or is not quorate */
};

struct move {
	struct move_conf conf;
	const struct move_view *in;
	struct lock *lock;	 /* of in->service[i] */
	struct counter *counter; /* of in->service[i], on this host */
	enum move_state state;
	enum move_result result; /* of the move under way, then of the last one */
	uint32_t service, donor; /* indexes into in->service */
	bool busy;		 /* the last move of service ended so: its donor stays */
	bool yields;		 /* LOCKS: the first is not asked for, for the second, */
	struct mono ask;	 /* until this, if nothing happens */
	struct mono patience;	 /* with a home, or oneself, that does not answer */
	uint64_t view, members;
	uint64_t down; /* bit h - 1: an operation to h was LOST or UNKNOWN, no link since */
	bool quorate;
	uint32_t round;		    /* of operations; part of their tags */
	uint32_t waited;	    /* operations of this round to come back */
	bool full;		    /* a step had no room for all */
	bool missed;		    /* a node of a member could not be read or swept */
	bool dirty;		    /* the locks stay unclean, by missed */
	uint8_t at[MOVE_NODES_MAX]; /* enum move_at: of each node in this round */
	uint64_t word[MOVE_NODES_MAX];
	uint64_t before[MOVE_NODES_MAX]; /* the sweep; 0: not in it */
	uint32_t sweeps;		 /* passes made */
	uint64_t todo[2], cut[2];	 /* announcements, bit h - 1: not put out; await a link */
	uint32_t chosen;		 /* node */
	uint64_t target;		 /* the word it gets */
	uint32_t link;			 /* RESOLVES: a link newer than */
	uint64_t moves;			 /* made, ever */
};

/*
 * lock and counter: arrays of in->services, set up here, run by move_step, and as
 * long-lived as the move. in is read, never written.
 */
void move_init(struct move *m, const struct move_conf *c, const struct move_view *in,
	       struct lock *lock, struct counter *counter);
/*
 * STEP_ASK: make a move for service in->service[what], whose load was high for T; ignored
 * unless MOVE_IDLE. Appends to *out.
 */
void move_step(struct move *m, const struct step_event *ev, struct mono now, struct step_out *out);
struct mono move_due(const struct move *m);
enum move_state move_state(const struct move *m);
enum move_result move_result(const struct move *m);
const char *move_result_text(enum move_result r); /* for people */

/*
 * The service with the lowest mean load of those with more than their minimum and
 * less than service's own; lowest id of equals. By in->node[].word. members: whose nodes count.
 * 0 or -ENOENT.
 */
int move_donor(const struct move_view *in, uint64_t members, uint32_t service, uint32_t *donor);
/* Has donor more than its minimum, and less load than service? */
bool move_gives(const struct move_view *in, uint64_t members, uint32_t service, uint32_t donor);
/*
 * The donor's least loaded node, by word[] of the nodes that ok[] says; lowest index of
 * equals. -ENOSPC: it has no more than its minimum.
 */
int move_choose(const struct move_view *in, const bool *ok, const uint64_t *word, uint32_t donor,
		uint32_t *node);

#endif
