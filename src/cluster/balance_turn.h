/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * balance_turn: the balancer of one service: it sets the weights of the servers in one backend of
 * HAProxy. For balances.c; in the control thread.
 *
 * A turn comes each load.scan:
 *
 *	act, read -> servers ----+-> balancer.h -> balance_decide -> act, put
 *	cluster_node_see --------+
 *
 *	mode		what is put
 *	--------------	---------------------------------------------------------------------
 *	observe		nothing: the decision is only shown
 *	act		the decision
 *	equal		the configured weights: those that HAProxy's own configuration gives
 *
 * Where act or equal ends (another mode, another file, the end of resexd), the configured weights
 * are put a last time: the balancer restores, until a reading shows them.
 *
 * A server that is up gets 0 only while two others have a weight: when one of these dies between
 * two turns, or resexd is killed, HAProxy still has one.
 * Servers that are down, that HAProxy does not have, or whose node serves another service by its
 * word, take no part, and keep the weight that they have. The last ones drain, and are in
 * maintenance then; when the node comes back, its server takes requests again.
 */
#ifndef RESEX_CLUSTER_BALANCE_TURN_H
#define RESEX_CLUSTER_BALANCE_TURN_H

#include "src/cluster/balancer.h"
#include "src/cluster/cluster.h"
#include "src/cluster/exchange.h"
#include "src/cluster/told.h"
#include "src/reconf/act.h"

struct balancer {
	struct balancer *next; /* of those that leave */
	struct cluster_balance conf;
	char service[REGION_NAME];
	uint32_t n;
	uint32_t node[BALANCE_NODES_MAX]; /* its place in cluster_conf.node[] */
	char server[BALANCE_NODES_MAX][REGION_NAME];
	bool other[BALANCE_NODES_MAX]; /* leaving: another balancer has the server now */
	bool shut[BALANCE_NODES_MAX];  /* the server is to be out: balancer_shut() */
	const struct act_ops *ops;     /* by weights, or by agent */
	struct act *act;
	enum cluster_balance_mode mode;
	bool put; /* at least once: else there is nothing to restore */
	bool restoring;
	bool leaving; /* it only restores, and that not longer than until: */
	struct mono until;
	struct mono turn_due, heard;	       /* heard: the newest reading */
	uint64_t reads, connections, failures; /* of act_seen, at the newest turn */
	uint64_t passed;		       /* of reads: balancer_requests() was called */
	struct balancer_history history;
	struct balancer_cost cost[BALANCE_NODES_MAX];
	struct balance decision;		/* of the nodes whose server is up: */
	bool up[BALANCE_NODES_MAX];		/* and it is to serve */
	enum act_want want[BALANCE_NODES_MAX];	/* states; without "reconf" ACT_KEEP */
	enum act_want state[BALANCE_NODES_MAX]; /* put last, as wanted[] */
	uint32_t own[BALANCE_NODES_MAX];	/* that the record does not hold */
	int wanted[BALANCE_NODES_MAX];		/* put last, with no failure since; -1: none */
	int64_t service_ns;
	struct mono fresh; /* loads were not stale */
	struct told lost, stale;
	struct mono foreign; /* the newest event about it; 0: there was none */
};

/*
 * The balancer of conf->balance[i], without a turn yet. 0 or -errno.
 */
int balancer_open(struct balancer **b, const struct cluster_conf *conf, uint32_t i,
		  struct mono now);
void balancer_close(struct balancer *b);
/*
 * conf is another one, with the same balance and nodes of the service. They may be at other places
 * of its list, and load.scan may be another.
 */
void balancer_reload(struct balancer *b, const struct cluster_conf *conf);

/* What a turn works with. */
struct balance_world {
	const struct cluster *c;
	const struct cluster_conf *conf;
	struct guests *gs; /* for events */
	struct mono now;
	int64_t wall_ns;
};

/* Do all that is due. Returns ns until it must be called again at the latest. Does not block. */
int64_t balancer_work(struct balancer *b, const struct balance_world *w);

void balancer_set_mode(struct balancer *b, enum cluster_balance_mode mode);
/*
 * Only restore from now on, until a time at the latest. heir: the balancer that has its place, or
 * NULL; servers that both have are the heir's.
 */
void balancer_leave(struct balancer *b, const struct balancer *heir, struct mono until);
/*
 * Has a balancer that leaves restored the weights, or is its time over? The latter is an event. The
 * caller then closes it.
 */
bool balancer_left(struct balancer *b, const struct balance_world *w);

/* Is there a reading that balancer_requests() has not given yet? */
static inline bool balancer_has_requests(const struct balancer *b)
{
	return b->passed != b->reads;
}

/* What the newest reading says of nodes of this host, by number. Others in to[] stay. */
void balancer_requests(struct balancer *b, const struct cluster_conf *conf,
		       struct node_requests to[static REGION_NODES_MAX]);

/*
 * Does HAProxy send no requests to conf->node[node], and is none there? It says so by the newest
 * reading, if no failure came after it: the node has no server in this backend; or its server is in
 * maintenance, and has no requests. In mode act this balancer must have put it there.
 */
bool balancer_sends_none(const struct balancer *b, uint32_t node);

/* From now on HAProxy sends no requests to conf->node[node], whatever its word says. */
void balancer_shut(struct balancer *b, uint32_t node);

/* Fill s, but for its node. */
void balancer_see_server(const struct balancer *b, uint32_t k, struct cluster_server *s);
/* What is wrong, with the remedy; "". */
void balancer_note(const struct balancer *b, struct mono now, char *text, size_t size);

#endif
