/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peers: what the other hosts publish, read by one-sided READs alone.
 *
 * For each host (ourselves too, by our loopback link) the newest header, host record
 * and guests. A scan is one wave of READs to all hosts whose link is up: header of
 * those that are new, else host record and as many guests as it counted last; what
 * turned out to be more is read in a second wave (of a new host: in a second and
 * third). Torn records are read again in the same scan, a few times. What is shown is
 * the newest whole reading. No process of theirs is asked.
 */
#ifndef RESEX_SHARED_PEERS_H
#define RESEX_SHARED_PEERS_H

#include "src/shared/region.h"
#include "src/transport/transport.h"

enum { PEERS_TAG_SHIFT = 56 }; /* tags of its operations are below 1 << PEERS_TAG_SHIFT */

struct peers;

/* What is known of one host. Valid until the next peers_scan or peers_event. */
struct peer_seen {
	uint32_t link;	     /* 0: there is none */
	uint64_t generation; /* of the link; 0: there never was one */
	bool known;	     /* host holds a whole reading */
	struct mono read;    /* when that was asked for: it is not older */
	struct mono moved;   /* when its beat was last seen to be another */
	const struct region_host *host;
	const struct region_guest *guest;
	uint32_t guests;
	int why;	/* -errno of the last failure, region_why() or the link's; 0: none */
	char note[128]; /* the same in words; "" */
};

/* Before the first poll of t, whose UPs it must see. timeout_ns: of each READ. -ENOMEM. */
int peers_open(struct peers **p, struct transport *t, int64_t timeout_ns);
void peers_close(struct peers *p);

/*
 * Begin a scan, unless one is under way; then it helps that on, where a link was full.
 * How many READs were posted.
 */
uint32_t peers_scan(struct peers *p, struct mono now);
bool peers_scanning(const struct peers *p);

/* Every event of the transport but ALARM and MESSAGE; RESULTs of its own tags. */
void peers_event(struct peers *p, const struct transport_event *ev, struct mono now);

void peers_see(const struct peers *p, uint16_t host, struct peer_seen *s);

#endif
