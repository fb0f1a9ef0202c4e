/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * adopt: when this host adopts a node that is in no service, and for which one. In the control
 * thread, for reconf.c; src/reconf/move.h, "Adoption", says how it is done.
 *
 * The service is the one that the node goes on serving. Of a node of kind switch its host says for
 * which one it is prepared; if it does not, nobody adopts the node: any other service would have it
 * prepared again. Of another node it is the one that this host has seen it in last or, if that was
 * none since its start, the configured one.
 * Each balancer of the service may adopt it. The first in number does so when the node was in no
 * service for a break, each other one T later than the one before it. One that goes by the
 * configuration waits 4 T more: others may have seen more. After an attempt without success it
 * waits T, then 2, 4 .. 64 T.
 */
#ifndef RESEX_CLUSTER_ADOPT_H
#define RESEX_CLUSTER_ADOPT_H

#include "src/cluster/cluster.h"

struct adopt {
	bool lost;	    /* it is in no service: */
	struct mono since;  /* since then; */
	struct mono before; /* it is not asked for before; */
	uint32_t tries;
	bool noted;			      /* that it would be asked for */
	const struct cluster_service *was;    /* it was seen in last; NULL: in none */
	const struct cluster_service *serves; /* as its host says now; NULL: it does not */
};

/* How many members that balance it have lower numbers than this host. */
uint32_t adopt_rank(const struct cluster_conf *conf, const struct cluster_service *s,
		    const struct hostset *members);
/* a: of the node of s. */
void adopt_see(struct adopt *a, const struct cluster_node_seen *s, struct mono now);
/* The service for which this host may adopt the node at now; NULL: none, or not yet. */
const struct cluster_service *adopt_service(const struct adopt *a, const struct cluster_conf *conf,
					    const struct cluster_node *node,
					    const struct hostset *members, struct mono now);
/* It was asked for. */
void adopt_asked(struct adopt *a, const struct cluster_conf *conf, struct mono now);

#endif
