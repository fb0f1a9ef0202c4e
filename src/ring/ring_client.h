/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_client: asks resex-cached which version a page has now: the client's half of
 * include/resex/cache_ring.h. The VMOD of Varnish asks once for each request.
 *
 * A thread of its own connects, sees the end of the server, and connects again, with a growing
 * pause. Callers never do: without a server each gets RING_NO_SERVER at once.
 */
#ifndef RESEX_RING_RING_CLIENT_H
#define RESEX_RING_RING_CLIENT_H

#include <stdint.h>

#include "resex/cache_ring.h"

struct ring_client;

/* How a request ended, beside enum cache_ring_why. Only with CACHE_RING_VERIFIED is it cached. */
enum ring_why {
	RING_NO_SERVER = 64, /* there is none, or it has just ended */
	RING_TIMEOUT,
	RING_FULL,    /* all slots are taken */
	RING_RUBBISH, /* what the server wrote is no answer */
};

struct ring_answer {
	uint32_t why; /* enum cache_ring_why or enum ring_why */
	/* VERIFIED: */
	uint32_t home;	  /* 1 .. REGION_HOSTS_MAX */
	uint32_t word;	  /* < RING_WORDS_MAX */
	uint64_t version; /* not 0 */
};

/* What became of requests and fills; shown by resex cache-list. */
enum ring_count {
	RING_HITS,
	RING_MISSES,
	RING_PASSES,
	RING_STORED,
	RING_REFUSED,
	RING_DIRECT,	/* verified without a slot; counted by ring_client_ask */
	RING_UNOFFERED, /* misses that were not offered for a fill (src/cache/offer.h) */
	RING_COUNTS,
};

enum { RING_WORDS_MAX = 1000000 };

#define RING_TIMEOUT_MIN_NS 1000ll
#define RING_TIMEOUT_MAX_NS 10000000000ll

/* Can it be the path of a socket? 0, -EINVAL: it is empty, or -ENAMETOOLONG. */
int ring_client_check(const char *path);
/*
 * Begins the thread; no server need be there. 0, or -errno: those of ring_client_check, eventfd(2)
 * and pthread_create(3).
 */
int ring_client_open(struct ring_client **c, const char *path);
/* No other thread may be in a call of c, nor begin one. NULL: does nothing. */
void ring_client_close(struct ring_client *c);

/*
 * Any number of threads at once. Takes at most timeout_ns (by CLOCK_BOOTTIME, brought into
 * RING_TIMEOUT_MIN_NS .. _MAX_NS). flags: enum cache_ring_flags.
 */
struct ring_answer ring_client_ask(struct ring_client *c, uint64_t key, uint32_t flags,
				   int64_t timeout_ns);
/* Any thread. The server sees it a moment later. */
void ring_client_count(struct ring_client *c, enum ring_count what);

/*
 * 0: connected. -errno of the newest attempt, or of the end of the connection: -EPROTO: what
 * listens there is no resex-cached of this version; -ENOTCONN: not tried yet.
 */
int ring_client_state(const struct ring_client *c);
/*
 * Waits until the first attempt has ended, well or not; at most a second or so. So a program that
 * has just begun does not answer its first requests without a server that is there.
 */
void ring_client_settle(const struct ring_client *c);

/* A word for people: "verified", "no home", ...; "?" of a number that is none. */
const char *ring_why_text(uint32_t why);

#endif
