/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agree: which hosts hold the same cluster.json as this one, part by part. Pure: worker.c passes
 * what this host publishes and what it has read of the others (src/shared/peers.h), and asks before
 * it decides.
 *
 * Each host publishes the number of its view and the digests of its parts in its host record
 * (region_abi.h). The parts are the hosts, each service, and the nodes. Nothing is decided by the
 * nodes yet: that they differ is only told. The rules, with their rows in tests/model/agree.pml:
 *
 *	rule					if it is broken
 *	--------------------------------------	----------------------------------------------
 *	all members must hold the same hosts,	HOME_ALONE, DONOR_IGNORED
 *	and each service of the decision
 *	a member that was not read agrees	UNREAD_IGNORED (a lock-break that an operator
 *	with nothing				requests is refused for a difference alone: the
 *						others wait for its word as for a fresh one)
 *	the view is a part, in the same record	VIEW_IGNORED, VIEW_APART
 *	what a host decides by is published	UNPUBLISHED
 *	a READ counts if it began after the	OLD_READ, LOOK_FIRST
 *	newest publication of other contents
 *	... and after the newest link to the	OLD_LINK
 *	host that has the locks
 *	nothing changes during a decision	RELOAD_AT_ONCE: worker_reload.c waits
 *	a link to a host that is left out ends	PUBLISH_BEFORE_CUT: worker_reload.c
 *	before that is published
 *
 * What was last read of a dead member counts: it reads all others before it decides again.
 */
#ifndef RESEX_CLUSTER_AGREE_H
#define RESEX_CLUSTER_AGREE_H

#include "src/cluster/cluster.h"
#include "src/shared/member.h"
#include "src/shared/peers.h"

/* What was last read of another host. */
struct agree_host {
	bool read;	   /* it counts, and is of the same view */
	bool hosts;	   /* they are the same */
	bool all_services; /* they are the same */
	uint64_t services; /* bit i: conf->service[i] is the same */
	bool nodes;	   /* they are the same */
	bool nodes_given;  /* it has some, and tells */
};

static_assert((int)CLUSTER_SERVICES_MAX == 64, "a word has a bit of each service");

struct agree {
	const struct cluster_conf *conf;
	uint64_t hosts, services, nodes; /* digests of conf's */
	bool published;			 /* with them: */
	uint64_t view;
	struct mono since;			  /* a READ that began later counts */
	uint16_t home;				  /* the host that has the locks */
	uint32_t home_link;			  /* to it */
	struct agree_host host[REGION_HOSTS_MAX]; /* by number - 1 */
};

/* The settings that this host decides by from now on: they are not published yet. */
void agree_init(struct agree *a, const struct cluster_conf *conf);
/*
 * This host has published the digests and this view: READs of others that begin after now count.
 * Without a change since the last call, nothing happens.
 */
void agree_published(struct agree *a, uint64_t view, struct mono now);
/* The host that has the locks (0: unknown), and the link to it (0: none). */
void agree_home(struct agree *a, uint16_t home, uint32_t link, struct mono now);
/* A reading of host, the newest: what counted of the one before does not count any more. */
void agree_read(struct agree *a, uint16_t host, const struct peer_seen *p);

/* How a host compares with this one. */
enum cluster_agree agree_with(const struct agree *a, uint16_t host);
/* In what it differs, in words; "" if it does not. */
void agree_differs(const struct agree *a, uint16_t host, char *text, size_t size);
/*
 * Whether all members but this host hold the same hosts and conf->service[i]. *first: the first one
 * that does not, or was not read; one that differs comes before those that were not read. 0: none.
 */
enum cluster_agree agree_on_service(const struct agree *a, const struct member_view *v, uint32_t i,
				    uint16_t *first);

#endif
