/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cluster_priv: what the files of the cluster share. For callers: cluster.h.
 *
 *	cluster.c	  open, work, who is seen
 *	publish.c	  guests, snapshot -> records
 *	locks.c	  words of locks read and broken
 */
#ifndef RESEX_CLUSTER_CLUSTER_PRIV_H
#define RESEX_CLUSTER_CLUSTER_PRIV_H

#include "src/cluster/cluster.h"
#include "src/shared/region.h"

/* The tags of operations: whose they are. */
enum { CLUSTER_TAG_SHIFT = 56 };
enum cluster_tag {
	CLUSTER_TAG_PEERS, /* src/shared/peers.h: it has all lower bits */
	CLUSTER_TAG_LOCKS,
	CLUSTER_TAG_BREAK,
};

/* A lock's word, as it was read last. */
struct lock_seen {
	bool known;
	uint16_t home; /* it was read there */
	uint64_t word;
	struct mono since, read;
};

/* Who broke one may ask for what came of it when others have broken theirs since. */
enum { LOCK_BREAKS_KEPT = 16 };

/* A lock that is being broken, one at a time; or was. */
struct lock_break {
	uint64_t ticket; /* 0: none */
	uint32_t service;
	uint64_t word;
	int rc; /* -EINPROGRESS until it is known */
};

struct locks {
	struct lock_seen seen[CLUSTER_SERVICES_MAX]; /* as conf->service[] */
	struct lock_break broken[LOCK_BREAKS_KEPT];  /* by ticket */
	uint64_t breaks;			     /* ticket of the newest; 0: there was none */
	uint64_t reads; /* number of the newest READ: an older one's result is no news */
	bool reading;
};

/* The host's own record and its guests', out of what is known of guests. */
void publish_host(const struct cluster_conf *conf, const struct guests *gs,
		  const struct snapshot *sn, int64_t wall_ns, struct region_host *out);
uint32_t publish_guests(const struct guests *gs, const struct snapshot *sn,
			struct region_guest out[static REGION_GUESTS_MAX]);
uint32_t publish_services(const struct cluster_conf *conf,
			  struct region_service out[static CLUSTER_SERVICES_MAX]);

/* Where services' locks live: the lowest-numbered member; 0: there is none. */
uint16_t locks_home(uint64_t members);
/* Read all locks at home in one READ, unless one is under way. */
void locks_read(struct locks *l, const struct cluster_conf *conf, struct transport *t,
		uint16_t home, struct mono now);
/* A result with a tag of CLUSTER_TAG_LOCKS or CLUSTER_TAG_BREAK. */
void locks_result(struct locks *l, const struct cluster_conf *conf,
		  const struct transport_event *ev, struct mono now);
/* As cluster_break; its ticket is l->breaks. */
int locks_break(struct locks *l, const struct cluster_conf *conf, struct transport *t,
		uint16_t home, uint32_t i, bool force, struct mono now);
/* As cluster_break_result. */
int locks_break_result(const struct locks *l, uint64_t ticket);

#endif
