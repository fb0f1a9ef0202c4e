/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cluster_priv: what the files of the cluster share. For callers: cluster.h.
 *
 *	cluster.c  open and close, work, how each host is seen
 *	publish.c  guests and snapshot -> records of this host's region
 *	locks.c    lock words of the services: read, shown and broken
 *	notices.c  events, alarms and log lines for the operator
 */
#ifndef RESEX_CLUSTER_CLUSTER_PRIV_H
#define RESEX_CLUSTER_CLUSTER_PRIV_H

#include "src/cluster/cluster.h"
#include "src/shared/member.h"
#include "src/shared/region.h"

/* The highest bits of an operation's tag: which file posted it. */
enum { CLUSTER_TAG_SHIFT = 56 };
enum cluster_tag {
	CLUSTER_TAG_PEERS, /* src/shared/peers.h, which uses all lower bits */
	CLUSTER_TAG_LOCKS,
	CLUSTER_TAG_BREAK,
};

/* A lock word, as it was last read. */
struct lock_seen {
	bool known;
	uint16_t home; /* the host it was read from */
	uint32_t link; /* by this link to it */
	uint64_t word;
	struct mono since; /* unchanged since this time */
	struct mono read;
};

/* The result of a break is kept until there are this many newer ones. */
enum { LOCK_BREAKS_KEPT = 16 };

/* A lock that is being broken, or was. Only one at a time is being broken. */
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
	uint64_t reads; /* number of the newest READ: results of older ones are ignored */
	bool reading;
};

/* Which notices of one host the operator got. */
struct host_notices {
	bool up;
	uint32_t events; /* in a row */
	struct mono newest;
	struct mono alarmed;
	char alarm[128]; /* the newest since its link came or went; "" */
};

struct notices {
	const struct cluster_conf *conf;
	struct guests *guests;
	struct host_notices host[REGION_HOSTS_MAX];
	char member_note[MEMBER_NOTE_MAX]; /* logged last */
};

void notices_init(struct notices *n, const struct cluster_conf *conf, struct guests *gs);
/* A host's link is up or down; why: when it is down. */
void notices_link(struct notices *n, uint16_t host, bool up, uint64_t generation, const char *why,
		  struct mono now, int64_t wall_ns);
/* host 0: a caller that has not proven which host it is. */
void notices_alarm(struct notices *n, uint16_t host, const char *text, struct mono now,
		   int64_t wall_ns);
void notices_forget_alarm(struct notices *n, uint16_t host);
/* The newest alarm that still explains why a host is down; "". */
const char *notices_alarm_of(const struct notices *n, uint16_t host, struct mono now);
void notices_members(struct notices *n, const struct member_view *v, int64_t wall_ns);
/* note: what is wrong with the membership now; "". */
void notices_member_note(struct notices *n, const char *note, const struct member_view *v);

/* The record of this host, and those of its guests. */
void publish_host(const struct cluster_conf *conf, const struct guests *gs,
		  const struct snapshot *sn, int64_t wall_ns, struct region_host *out);
uint32_t publish_guests(const struct guests *gs, const struct snapshot *sn,
			struct region_guest out[static REGION_GUESTS_MAX]);
uint32_t publish_services(const struct cluster_conf *conf,
			  struct region_service out[static CLUSTER_SERVICES_MAX]);

/* Read all locks from their home in one READ, unless such a READ is pending. */
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
