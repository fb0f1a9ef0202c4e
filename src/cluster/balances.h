/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * balances: the services that this host balances, for cluster.c and thread.c. In the control
 * thread. The rest of resexd calls cluster_balance_see() and the functions below it in cluster.h.
 */
#ifndef RESEX_CLUSTER_BALANCES_H
#define RESEX_CLUSTER_BALANCES_H

#include "src/cluster/cluster.h"

struct balances;

/* conf and gs must outlive it. 0 or -errno with e filled; close it also then. */
int balances_open(struct balances **s, const struct cluster_conf *conf, struct guests *gs,
		  struct mono now, struct conf_error *e);
/* No weights are put any more: see balances_leave. NULL: nothing is done. */
void balances_close(struct balances *s);

/* Readable when balances_work has something to do; the same for its whole life. */
int balances_fd(const struct balances *s);
/* Returns ns until it must be called again at the latest. Does not block. */
int64_t balances_work(struct balances *s, const struct cluster *c, struct mono now,
		      int64_t wall_ns);

/*
 * Of conf->node[node]: no balancer of another service than this number sends it requests, and none
 * is at it, by readings of HAProxy that still hold. False also if one of them could not be read.
 */
bool balances_send_none(const struct balances *s, uint32_t node, uint32_t service);

/*
 * conf is in force from now on. A balancer whose settings are the same goes on in the mode that it
 * has; the others leave. A service whose balancer cannot be opened is not balanced, and an event
 * says so.
 */
void balances_reload(struct balances *s, const struct cluster_conf *conf, struct mono now,
		     int64_t wall_ns);

/*
 * May conf come into force? Not while HAProxy of this host may send requests to a node of kind
 * switch of which this host would not know that any more (cluster_next_left): it would acknowledge
 * words of the node all the same. -EPERM and e: the sentence, and the remedy.
 */
int balances_may_reload(const struct balances *s, const struct cluster_conf *conf,
			struct conf_error *e);
/*
 * conf will be in force soon, and it may: until then no requests are sent to these nodes, whatever
 * their words say.
 */
void balances_will_reload(struct balances *s, const struct cluster_conf *conf);

/*
 * All balancers leave from now on: those that have put weights put the configured ones, in
 * balances_work.
 */
void balances_leave(struct balances *s, struct mono now);
/* Have all left? */
bool balances_left(const struct balances *s);

#endif
