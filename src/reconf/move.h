/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * move: one reconfiguration. A node goes from a donor service to an overloaded service.
 *
 * A host has one struct move. It runs the moves of all balancers of this host, one at a
 * time, and it owns all their locks and counters: give every event to move_step alone,
 * which passes it on. The rules of a move, in their order (tests/shared/rules.txt breaks
 * each):
 *
 *	 1 Read the service's own counter. Ahead: no move, and the history T starts again.
 *	 2 Choose a donor (move_donor, pure). After MOVE_BUSY keep the donor while it still
 *	   qualifies: how long its lock is unchanged is known already. A move with a wish
 *	   (move_wish) takes the donor of the wish. The move ends if that donor has no node to
 *	   spare. The move also ends if a balancer of either service has no link: so no other
 *	   balancer is notified for nothing.
 *	 3 Acquire the locks of both services, in ascending service id. But first look at
 *	   both. The first is not acquired before the second was seen: free, or held by
 *	   another host than before, or to be broken within a check (within half a lease, if
 *	   that is shorter). Until then the move watches both, and holds nothing that others
 *	   want. While another host holds the first, the move watches the second: a host that
 *	   died with both then delays others once, not twice. If another host acquires the
 *	   second after we acquired the first, and its word is unchanged for a check, release
 *	   the first, unless we acquired it within a check before the second can be broken.
 *	   When the holder of the second dies, hosts that do not know it yet may hold the first
 *	   for 2 1/4 checks. After that, a host that holds the first can break the second within
 *	   a check. So a dead holder of the second delays others by break and 1 1/8 checks, as in
 *	   lock.h, however many newcomers there are and whenever they come, if break is longer
 *	   than 3 1/4 checks and a few round trips. While other hosts use the first lock, for
 *	   moves with a third service, it is 1 1/8 checks after the last of these.
 *	 4 Read the counter again. Ahead: no move. Load no longer high for T: no move, unless
 *	   the move is MOVE_FOR_ORDER.
 *	 5 Read the word of every node: one READ a host, of the words and the kept words of all
 *	   its nodes. If it is LOST or REFUSED, none of them was read. If a word has a newer
 *	   epoch than the locks: no move.
 *	 6 If a lock was not acquired from a clean release, make a fencing sweep: CAS every
 *	   node's word to itself with seq + 1, then read all again. The sweep is of all
 *	   nodes, not only of those of the two services: the last holder of one of the locks
 *	   may have had another pair. A node that could not be swept does not count, and the
 *	   locks stay dirty: the next holder sweeps again.
 *	 7 The donor's nodes that were read (and swept), and that are kept, must be more than its
 *	   minimum. Choose the least loaded one (move_choose, pure). A move with a wish takes the
 *	   node of the wish. That node must be one of these (move_choose_wished, pure);
 *	   otherwise no move.
 *	 8 Announce: FAA the counters of all other balancers of both services. Await all.
 *	 9 CAS the node's word.
 *	10 Release both locks.
 *
 * Both leases must be in force before 5, 6, 8 and 9, and before a decision on what they
 * returned. When a lease ends or the view changes: release, no move. A balancer in the view
 * is notified, or there is no move. A balancer that is not in the view was removed by
 * membership. It starts anew when it comes back.
 *
 * A node's word, on the node's own host: {service 10, seq 54}; seq is {epoch 30, count 24}.
 * Each change adds 1 to count; the epoch is that of the locks. When a node's host restarts, its
 * words may come back. So a CAS of 6 and 9 is posted only on the link on which its compare was
 * read (step_op.link): otherwise the sweep would not stop a late one. A host of an older view may
 * still hold locks at a former home. It finds the words swept under it, or reads an epoch newer
 * than its own, and leaves them alone.
 *
 * A sweep covers the nodes of the view's members. A clean release holds for hosts of that
 * view: hosts of a newer view find the word's epoch behind theirs and sweep again; hosts of
 * an older view do not acquire the lock (lock.h). A CAS of an older view may still change a
 * node that is not in the newer view: no host of the newer view counted that node.
 *
 * Kept words. A node's assignment survives its host's resexd. The node's host saves each new
 * word on disk. When the file is durable, and not before, the host writes the word to the node's
 * *kept* word, by CAS through its loopback (keep.h). After a restart it begins with the words of
 * the file, and the same kept words, before anybody can read its region. A node is kept, and
 * counts, if word and kept word are of one service and one epoch. Proof that no restart takes a
 * node out of a service that counts on it:
 *
 *	a A word leaves a service only by a move (9), and a move takes only a kept node. In one
 *	  life of its host, the kept word only goes forward, and is never ahead of the file. So
 *	  once a word has left service s, it comes back to s only after the file has left s, too.
 *	b A mover reads word and kept word, both of service s, under the lock of s and after its
 *	  sweep. The two are read at different times, in any order. No host can move the node
 *	  out of s or back into it meanwhile. So, by a, no word between the two was of another
 *	  service. The file has one of these words, or a later one: it is of service s, and stays
 *	  so while the lock is held. When the host restarts now, the node is in s.
 *	c After that, only another move takes it out of s. That mover counts s without it.
 *	d A sweep changes the count, and keeps the service: its word need not be saved before the
 *	  node counts. But if it brings a newer epoch, it must be: after a restart with the older
 *	  epoch, a host of the older view would not find that it was overtaken.
 *	e A node that is moved, and whose host restarts before it has saved that, is in its former
 *	  service again. The new one has not counted it. The same move may be made again. The CAS
 *	  of the first one is of an older link, and is not executed any more.
 *
 * A word that is not kept stays uncounted while its host cannot write its file. It is swept as
 * any other. With too few kept nodes a move ends as MOVE_NOT_KEPT. The epochs in the files outlive
 * all hosts: when generations or view numbers begin anew, the files must be removed, too, while no
 * host runs. Otherwise the nodes have a newer epoch than any lock, and no move is made.
 *
 * Adoption. A host whose file is damaged begins its nodes in no service (keep_begin). Such a node
 * goes on serving as it did, and counts in no service. A move with a wish of MOVE_FOR_ADOPTION
 * takes it to the wish's service. It has no donor. So rule 2 is left out, the lock of the service
 * is the only one, its balancers alone are notified, and these rules are added:
 *
 *	f Before 1: the node was seen in no service for a break (lock_break_ns), on one link. A
 *	  holder of any lock may have counted the node in a service before the node's host
 *	  restarted. After a break, no such holder may act.
 *	g The sweep of 6 is always made: it stops the late CASes of such holders. Holders that may
 *	  act have read the node's word of now, or will.
 *	h Instead of 7: by the nodes that were read, swept and kept, each other service has its
 *	  minimum. Or the service itself is below its minimum, even with all nodes that could not
 *	  be read. Otherwise another service may need the node: MOVE_NEEDED. An operator who
 *	  orders it (MOVE_FOR_ADOPTION_ORDERED) knows better.
 *
 * Proof that the nodes of no service remain enough for all services that are below their minimum.
 * A damaged file takes a node from a service, and adds one to those of no service. A holder that
 * counted it before may move another node of that service away, but after f and g none does. An
 * adoption by h takes a node of no service for a service that is below its minimum, or when no
 * other one is. In the second case, all other services keep their minimum: their later movers do
 * not count the node. Two services do not adopt one node: 9 is a CAS on the exact word. No adoption
 * of an earlier holder of the lock is executed when a later one has decided, as with any move. An
 * adopted node counts when its host has kept that, as any other.
 *
 * The CAS of rule 9 UNKNOWN: a READ on a newer link decides, by the exact word. If the
 * lease ends before that, the move ends as UNDECIDED. Its locks are left dirty, and the
 * next holder's sweep decides. The word itself says which service the node serves.
 */
#ifndef RESEX_RECONF_MOVE_H
#define RESEX_RECONF_MOVE_H

#include "src/reconf/counter.h"
#include "src/reconf/lock.h"

enum {
	MOVE_NODES_MAX = 512, /* of all hosts */
	MOVE_SERVICES_MAX = REGION_SERVICES_MAX,
	MOVE_SWEEPS_MAX = 4, /* passes of one sweep */
	/* a move, its locks and its counters use the tags conf.tag .. conf.tag + MOVE_TAGS - 1 */
	MOVE_TAGS = 1 << 24,
};

struct move_node {
	uint16_t host; /* 1 .. REGION_HOSTS_MAX */
	uint16_t node; /* region_node_offset */
	uint32_t load; /* in any unit; higher is more load */
	bool alive;    /* may be chosen and counted */
	uint64_t word; /* as last scanned; only move_donor uses it */
};

struct move_service {
	uint16_t id;
	uint32_t minimum;	  /* of nodes */
	struct hostset balancers; /* the hosts that have one */
};

/*
 * The cluster as a move sees it. Its owner may change load, alive and word at any time, and
 * the rest while move_state is MOVE_IDLE.
 */
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
	MOVE_NONE, /* no move has ended yet */
	MOVE_MOVED,
	MOVE_COUNTER_AHEAD, /* the counter was ahead: another balancer moved a node */
	MOVE_CALM,	    /* the load was no longer high for T, or never was */
	MOVE_NO_DONOR,	    /* no service has a node to spare and less load */
	MOVE_NOT_WISHED,    /* the node of the wish is not the donor's, or was not counted */
	MOVE_BUSY,	    /* the locks were not acquired in time */
	MOVE_LATE,	    /* a lease ended before the node's CAS */
	MOVE_NOT_NOTIFIED,  /* a balancer could not be notified */
	MOVE_OVERTAKEN,	    /* a node's word changed, or has a newer epoch */
	MOVE_UNREACHED,	    /* the node's CAS was not executed */
	MOVE_UNDECIDED,	    /* the node's CAS was executed, or may yet be, or not */
	MOVE_VIEW,	    /* the view changed, or is not quorate */
	MOVE_NOT_KEPT, /* too few nodes of the donor, or to adopt, are kept: soon they may be */
	MOVE_NEEDED,   /* to adopt: another service is below its minimum */
};

/* Why a move is asked for: what rule 4 checks. */
enum move_for {
	MOVE_FOR_LOAD,	   /* the load was high for T, and must still be so under the locks */
	MOVE_FOR_ORDER,	   /* home, or an operator: the load does not count, the counter does */
	MOVE_FOR_ADOPTION, /* the node is in no service; the counter counts */
	MOVE_FOR_ADOPTION_ORDERED, /* the same, by an operator: other services do not count */
};

/*
 * STEP_ASK: event.wish. NULL: the move chooses donor and node by itself. What it takes from the
 * wish need not have less load. After MOVE_BUSY wish for a node of the same donor while it has one
 * to spare: rule 2.
 */
struct move_wish {
	enum move_for why;
	uint32_t donor;	   /* index into in->service; not to adopt */
	uint32_t node;	   /* index into in->node */
	struct mono since; /* to adopt: the node was seen in no service since then, */
	uint32_t link;	   /* on this link to its host */
};

/* What a move has reached, in this order; a move that ends early leaves some out. */
enum move_phase {
	MOVE_HELD,  /* both locks are held: 3 */
	MOVE_READ,  /* the words were read, and a node is chosen: 7 */
	MOVE_TOLD,  /* all other balancers are notified: 8 */
	MOVE_ACTED, /* the node's word is known to be changed: 9 */
	MOVE_ENDED, /* the locks are released, or are no longer ours: 10 */
	MOVE_PHASES,
};

/* Of the current move; then of the last one. */
struct move_trace {
	struct mono at[MOVE_PHASES]; /* when each was reached; ns -1: it was not */
	uint64_t fence[2]; /* HELD: lock_fence() of the service's lock, and of the donor's */
	uint32_t told;	   /* counters of other balancers that were raised */
};

struct move {
	struct move_conf conf;
	const struct move_view *in;
	struct lock *lock;	 /* of in->service[i] */
	struct counter *counter; /* of in->service[i], on this host */
	enum move_state state;
	enum move_result result; /* of the current move; then of the last one */
	uint32_t service, donor; /* indexes into in->service */
	bool wished;		 /* this move has a wish */
	bool adopts;		 /* and adopts its node: donor is service */
	struct move_wish wish;
	bool busy;	      /* the service's last move ended as BUSY: keep its donor */
	bool yields;	      /* LOCKS: do not ask for the first lock, because of the second, */
	struct mono ask;      /* until this time, if nothing happens before */
	struct mono again;    /* RESOLVES: when a READ that was REFUSED is repeated */
	struct mono patience; /* until when a home, or our own counter, may fail to answer */
	uint64_t view;
	struct hostset members;
	struct hostset down; /* an operation to the host was LOST or UNKNOWN, no new link since */
	bool quorate;
	uint32_t round;		    /* of operations; part of their tags */
	uint32_t waited;	    /* operations of this round that are outstanding */
	bool full;		    /* the last step had no room for all operations */
	bool dirty;		    /* a node was missed: the locks stay unclean */
	uint8_t at[MOVE_NODES_MAX]; /* enum move_at: of each node in this round */
	uint64_t word[MOVE_NODES_MAX];
	bool kept[MOVE_NODES_MAX];	    /* as read with word */
	uint32_t word_link[MOVE_NODES_MAX]; /* the link that returned it */
	uint64_t before[MOVE_NODES_MAX];    /* the word before its sweep; 0: not in the sweep */
	uint32_t sweeps;		    /* passes made */
	struct hostset todo[2];		    /* announcements to put out: for service, for donor */
	struct hostset cut[2];		    /* of these, to hosts that have no link now */
	uint32_t chosen;		    /* index into in->node */
	uint64_t target;		    /* the word that it gets */
	uint32_t link;			    /* RESOLVES: the oldest link that may decide */
	uint64_t moves;			    /* made, ever */
	struct move_trace trace;
};

/*
 * lock and counter: arrays of in->services elements. They are set up here, run by move_step,
 * and live as long as the move. in is only read.
 */
void move_init(struct move *m, const struct move_conf *c, const struct move_view *in,
	       struct lock *lock, struct counter *counter);
/*
 * Handles one event; appends operations to *out. STEP_ASK: make a move for the service
 * in->service[what], whose load was high for T, or by the struct move_wish at wish. It is ignored
 * unless MOVE_IDLE. MOVE_NOT_WISHED at once: an index of the wish is out of range, its donor is
 * the service itself, or since is less than a break ago.
 */
void move_step(struct move *m, const struct step_event *ev, struct mono now, struct step_out *out);
struct mono move_due(const struct move *m);
enum move_state move_state(const struct move *m);
enum move_result move_result(const struct move *m);
const struct move_trace *move_trace(const struct move *m);
const char *move_result_text(enum move_result r); /* for people */

/*
 * The donor for service: of the services with more nodes than their minimum, and less mean
 * load than service, the one with the lowest mean load; of equals the lowest index. Goes by
 * in->node[].word. Only nodes of the hosts in members count. 0 or -ENOENT.
 */
int move_donor(const struct move_view *in, const struct hostset *members, uint32_t service,
	       uint32_t *donor);
/* Has donor more nodes than its minimum? By word and members as move_donor. */
bool move_spares(const struct move_view *in, const struct hostset *members, uint32_t donor);
/* The same, and has it less mean load than service? */
bool move_gives(const struct move_view *in, const struct hostset *members, uint32_t service,
		uint32_t donor);
/*
 * The donor's least loaded node, by word[], of the nodes i with ok[i]; of equals the lowest
 * index. -ENOSPC: the donor has no more nodes than its minimum.
 */
int move_choose(const struct move_view *in, const bool *ok, const uint64_t *word, uint32_t donor,
		uint32_t *node);
/*
 * May this node of the donor be moved? 0; -ESTALE: it has not ok, or is not the donor's by word[];
 * -ENOSPC: as move_choose.
 */
int move_choose_wished(const struct move_view *in, const bool *ok, const uint64_t *word,
		       uint32_t donor, uint32_t node);
/*
 * May service adopt node? read[i]: word[i] was read, and swept; ok[i]: and it is kept. 0; -ESTALE:
 * the node was not read, or is in a service; -ENOSPC: another service may need it.
 */
int move_choose_adopted(const struct move_view *in, const bool *read, const bool *ok,
			const uint64_t *word, uint32_t service, uint32_t node);

#endif
