/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peers: what the other hosts publish, read only by one-sided READs.
 *
 * It has the newest header, host record, guests and nodes of each host (of this host, too, over the
 * link to itself). A scan is one wave of READs to all hosts whose link is up and whose last
 * reading is over: the header of a new host; of others the host record, and as many guests, nodes
 * and loads of nodes as it had last time. A second wave reads further ones (of a new host: a second
 * and a third wave), and the services' records of a host whose services_digest is another than last
 * time. Torn records are read again in the same reading, a few times. The newest complete reading
 * is shown; nodes and loads are shown as soon as they are read. No process of the other host takes
 * part.
 */
#ifndef RESEX_SHARED_PEERS_H
#define RESEX_SHARED_PEERS_H

#include "src/shared/region.h"
#include "src/transport/transport.h"

enum {
	PEERS_TAG_SHIFT = 56,	/* the tags of its operations are below 1 << 56 */
	PEERS_SERVICES_MAX = 64 /* records of services that are read of one host */
};

struct peers;

/* A node of a host. Its record and its load are each whole, but not of the same time. */
struct node_seen {
	struct region_node record; /* name "": there is no such node */
	struct load_record load;   /* head.seq 0: it has none, or it was not read yet */
	/*
	 * When the reading began that was the first to find this load. The load may be older, by
	 * the time from one reading to the next at most.
	 */
	struct mono moved;
};

/* What is known about one host. Valid until the next peers_scan or peers_event. */
struct peer_seen {
	uint32_t link;	     /* its number; 0: the link is down */
	uint64_t generation; /* on the newest link; 0: there never was a link */
	bool known;	     /* host and guest are a complete reading */
	struct mono read;    /* when that reading began: it is not older */
	struct mono moved;   /* when a new heartbeat was last seen */
	const struct region_host *host;
	const struct region_guest *guest;
	uint32_t guests;
	/*
	 * As read after a host record with host->services_digest. The host may have changed them
	 * meanwhile: they belong to that record if they have its digest.
	 */
	const struct region_service *service;
	uint32_t services;
	const struct node_seen *node; /* by number */
	uint32_t nodes;		      /* of them, as the host record counts */
	int why;		      /* -errno of the last failed reading or link; 0: none */
	char note[128];		      /* why in words; or "" */
	uint64_t changes;	      /* + 1 or more with each change of the above */
};

/* Call it before the first poll of t: it needs all UPs. timeout_ns: of each READ. -ENOMEM. */
int peers_open(struct peers **p, struct transport *t, int64_t timeout_ns);
void peers_close(struct peers *p);

/*
 * Begin to read the hosts whose last reading is over; go on with the others, where a link was
 * full. Returns how many READs were posted.
 */
uint32_t peers_scan(struct peers *p, struct mono now);
/* Is any host being read? */
bool peers_scanning(const struct peers *p);

/* Forget all that was read of a host that is left out of cluster.json. Its link must have ended. */
void peers_forget(struct peers *p, uint16_t host);

/* Give it every event of the transport but ALARM and MESSAGE; of RESULTs those of its tags. */
void peers_event(struct peers *p, const struct transport_event *ev, struct mono now);

void peers_see(const struct peers *p, uint16_t host, struct peer_seen *s);
/* peer_seen.changes alone. */
uint64_t peers_changes(const struct peers *p, uint16_t host);

#endif
