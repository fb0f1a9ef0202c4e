/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * order: may an operator's order to move a node begin, and if not, why? Pure; for reconf.c. What
 * is read under the locks has the last word (src/reconf/move.h).
 */
#ifndef RESEX_CLUSTER_ORDER_H
#define RESEX_CLUSTER_ORDER_H

#include "src/cluster/cluster.h"

struct order {
	const struct cluster_node_seen *node;
	const struct cluster_service *taker;
	bool fixed; /* on this host */
	bool may;   /* the node may serve the taker */
	/* Nodes of the service that the node serves, of members; of no service: not used. */
	uint32_t nodes;
	int64_t pending_ns;		 /* of kind switch: it is not ready for so long */
	bool under_way;			 /* this host makes a move: */
	const struct cluster_move *move; /* that one; NULL: it is no longer in the history */
	int64_t move_ns;		 /* asked for so long ago */
};

/*
 * 0, or as cluster_move(). why: a sentence without a full stop on -EBUSY, -EINPROGRESS and -ENOSPC,
 * else "".
 */
int order_check(const struct order *o, char why[static CLUSTER_WHY_TEXT]);
/* As cluster_move_text(). */
const char *order_result_text(int rc);
/* cluster_move.outcome, of the result of a request to move: as cluster_result(). */
const char *order_outcome(int rc);

#endif
