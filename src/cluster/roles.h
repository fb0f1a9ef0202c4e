/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * roles: nodes of kind "switch" (src/reconf/role.h), in the control thread, for cluster.c: this
 * host's own nodes are prepared for the services of their words, by a program of this host, or of
 * the guest that is the node; and of all such nodes
 * this host, as a balancer, acknowledges the words.
 *
 *	words, acknowledgements of all hosts -> role_step -> hook, the file "roles"
 *	words, balances.c -> acknowledgements of this host
 *	both -> exchange.h -> the region
 */
#ifndef RESEX_CLUSTER_ROLES_H
#define RESEX_CLUSTER_ROLES_H

#include "src/cluster/cluster.h"

struct balances;
struct exchange;
struct roles;

/*
 * conf may have no such nodes: then nothing is done. conf, gs and x must outlive it, conf until
 * roles_reload. 0, or -errno and e: no memory, or the file "roles" cannot be read. Close it also
 * then.
 */
int roles_open(struct roles **r, const struct cluster_conf *conf, struct guests *gs,
	       struct exchange *x, struct conf_error *e);
/* A hook that runs is killed: after the next start it is called again. NULL: nothing is done. */
void roles_close(struct roles *r);
/*
 * conf is in force from now on; the settings before must still be there. A node whose role is the
 * same by cluster_same_role() keeps all of its state, and its hook goes on; the others begin anew,
 * by the file "roles". If that cannot be read, an event says so, and their programs are asked what
 * they serve. 0, or -ENOMEM and e.
 */
int roles_reload(struct roles **r, const struct cluster_conf *conf, struct conf_error *e);

/*
 * Do all that is due. Returns ns until it must be called again. members: of the membership; empty:
 * this host is in no quorum, and no node is prepared for another service.
 */
int64_t roles_work(struct roles *r, const struct cluster *c, const struct balances *b,
		   const struct hostset *members, struct mono now, int64_t wall_ns);

/* Of conf->node[i], if it is a node of this host: why it is not ready, with the remedy; "". */
const char *roles_note(const struct roles *r, uint32_t i);

#endif
