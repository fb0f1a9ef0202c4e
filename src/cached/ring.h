/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring: the server's side of include/resex/cache_ring.h: memory that caches (Varnish) share
 * with resex-cached, one for each connection. proxy.c answers what comes here.
 *
 * A client may write anything into its ring at any moment, or end at any moment. What is read there
 * is read once, and a copy is used. No ring has anything to do with another.
 */
#ifndef RESEX_CACHED_RING_H
#define RESEX_CACHED_RING_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "resex/cache_ring.h"
#include "src/core/hostset.h"
#include "src/core/units.h"
#include "src/util/conf.h"
#include "src/util/log.h"

enum { CACHED_RING_CLIENTS_MAX = 64 };

struct cached_ring;

struct cached_ring_conf {
	const char *path, *group; /* group "": root and this user alone */
	uint32_t slots;		  /* of each client: a multiple of 64, <= CACHE_RING_SLOTS_MAX */
	uint32_t clients;	  /* 1 .. CACHED_RING_CLIENTS_MAX */
	/* What the view says. words 0: there is none, and each request takes a slot. */
	struct hostset homes;
	uint32_t words; /* of each home, <= REGION_CACHE_WORDS_MAX */
};

struct cached_ring_request {
	uint64_t id; /* names it for ever: no other request has it */
	uint64_t key;
	bool all; /* CACHE_RING_ALL */
};

struct cached_ring_answer {
	enum cache_ring_why why;
	uint64_t version; /* VERIFIED */
	uint32_t home, word;
};

/* It may call cached_ring_answer. */
typedef void cached_ring_asked(void *owner, const struct cached_ring_request *r);

/* Listens. log and base must outlive it. 0, or -errno with e filled. */
int cached_ring_open(struct cached_ring **r, const struct cached_ring_conf *c,
		     struct event_base *base, struct log *log, cached_ring_asked *asked,
		     void *owner, struct conf_error *e);
/* Ends all rings: what waits gets LOST. NULL: does nothing. */
void cached_ring_close(struct cached_ring *r);

/* Each request once. If its client is gone, this does nothing. */
void cached_ring_answer(struct cached_ring *r, uint64_t id, const struct cached_ring_answer *a);

/*
 * Clients may READ this home's words themselves: fd is of its part VERSIONS, on this link, which is
 * newer than those before. fd is the ring's from here.
 */
void cached_ring_home(struct cached_ring *r, uint16_t host, uint32_t link, int fd);
/* The evidence of a home (fresh.h). link 0: there is none. Often: it also sends what was not. */
void cached_ring_evidence(struct cached_ring *r, uint16_t host, uint32_t link, struct mono until);

/* For people. The seven counters are what the client wrote: they may be any. */
struct cached_ring_seen {
	pid_t pid;
	uid_t uid;
	uint32_t waiting; /* requests that are not answered */
	uint64_t asked, answered;
	uint64_t left; /* answers that nobody waited for any more */
	uint64_t bad;  /* requests that are none, and bits of slots without a request */
	uint64_t hits, misses, passes, stored, refused, direct, unoffered;
};

/* At most CACHED_RING_CLIENTS_MAX. Returns how many there are. */
uint32_t cached_ring_clients(const struct cached_ring *r,
			     struct cached_ring_seen seen[static CACHED_RING_CLIENTS_MAX]);
/* Connections that were refused: not allowed, or too many. */
uint64_t cached_ring_refused(const struct cached_ring *r);

#endif
