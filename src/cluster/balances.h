/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * balances: the services that this host balances, for cluster.c and thread.c. In the control
 * thread. What the rest of resexd sees: cluster_balance_see() and the functions below it in
 * cluster.h.
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
 * Other settings: a balancer that is the same goes on, with the mode that it has; one that is not
 * leaves. What cannot be opened is told, and is not balanced.
 */
void balances_reload(struct balances *s, const struct cluster_conf *conf, struct mono now,
		     int64_t wall_ns);

/*
 * All leave from now on: those that put weights put the configured ones, in balances_work. True:
 * none is left.
 */
void balances_leave(struct balances *s, struct mono now);
bool balances_left(const struct balances *s);

#endif
