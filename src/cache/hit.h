/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hit: a proxy asks which version words pages have now. R7 j and l of cache.h.
 *
 * All requests that wait for one word share one READ, which is put out after each of them came.
 * Why not an earlier one, also if its result is still missing: such a READ may have been executed
 * before the request came. In between, an update may have moved the word, committed and been
 * answered; a client that saw its answer, and then asks, would be served the page of before. A
 * reply is what the database would answer at a moment within its request. The READ is that moment.
 *
 *	a request comes   its word is not being READ: it waits for the next READ, which is put
 *	                  out as soon as the home has room
 *	                  its word is being READ: it waits until that has ended, and for the next
 *	the READ ends     all that waited for it when it was put out are answered
 *
 * At most HIT_READS are outstanding to a home; further words wait in the order in which they came.
 * A request that is not answered in conf.timeout_ns is LOST. What is answered stays in a list until
 * the owner takes it (hit_take).
 *
 * All memory is the owner's: one block of hit_bytes(). Nothing grows.
 */
#ifndef RESEX_CACHE_HIT_H
#define RESEX_CACHE_HIT_H

#include <stddef.h>

#include "resex/cache_ring.h"
#include "src/cache/fresh.h"
#include "src/reconf/step.h"

enum {
	HIT_READS = 6, /* its link has 8 places: a beat and a question are never late by hits */
	HIT_HOSTS = REGION_HOSTS_MAX + 1,
	/* it uses the tags conf.tag .. conf.tag + HIT_TAGS - 1 */
	HIT_TAGS = REGION_HOSTS_MAX * HIT_READS,
	HIT_REQUESTS_MAX = 1 << 20,
};

struct hit_conf {
	uint32_t tag;
	uint32_t requests;  /* at a time, those not taken yet too: 1 .. HIT_REQUESTS_MAX */
	uint32_t words;	    /* version words of each home, 1 .. 2^28 */
	uint32_t offset;    /* of word 0, in bytes into STEP_VERSIONS; <= 2^31 */
	int64_t timeout_ns; /* of a request, > 0 */
	/* The evidence of each home, by its number, HIT_HOSTS of them; NULL (0, too): no home. */
	const struct fresh *const *fresh;
};

/* event.what of STEP_ASK */
enum hit_ask {
	HIT_ASK, /* wish: struct hit_wish. Ignored if hit_full */
};

struct hit_wish {
	uint64_t id; /* comes back in the answer */
	uint16_t home;
	uint32_t word; /* its index */
};

struct hit_answer {
	uint64_t id;
	uint16_t home;
	uint32_t word;
	enum cache_ring_why why;
	uint64_t version; /* VERIFIED: the word; else 0 */
};

/* Numbers of requests and words are + 1; 0: none. */
struct hit_request {
	struct hit_answer answer;
	struct mono until;
	uint32_t older, newer; /* of all that are not answered */
	uint32_t more;	       /* of the same word; answered, and free ones too */
};

/* A word for which requests wait. */
struct hit_word {
	uint16_t home;
	bool sent;		      /* its READ is outstanding */
	struct mono sent_at;	      /* SENT: when it was put out */
	uint32_t word;		      /* its index */
	uint32_t covered;	      /* requests that came before the READ was put out */
	uint32_t waiting, waiting_at; /* those that came after: the first and the last */
	uint32_t next, prev;	      /* of the home's queue; free ones: next */
	uint32_t more;		      /* of the same bucket */
};

struct hit_home {
	uint32_t link;		   /* the newest; 0: none yet */
	bool cut;		   /* it is down */
	uint32_t sent;		   /* bits: places with a READ outstanding */
	uint32_t place[HIT_READS]; /* of those: the word; 0: nobody waits for it any more */
	uint32_t first, last;	   /* words to be READ */
};

struct hit {
	struct hit_conf conf;
	struct hit_home home[HIT_HOSTS];
	struct hostset queued;	  /* homes with words to be READ */
	uint16_t turn;		  /* the home before that which is first in the next step */
	uint32_t oldest, newest;  /* requests that are not answered */
	uint32_t done, done_at;	  /* requests that are: the first and the last */
	uint32_t free, free_word; /* the first of each */
	uint32_t buckets;	  /* a power of 2 */
	uint64_t asked, reads;	  /* requests that came; READs that were put out */
	/* in the owner's block */
	struct hit_request *request;
	struct hit_word *word;
	uint32_t *bucket;
};

/* How large the owner's block is; 0: c has a value out of its range. */
size_t hit_bytes(const struct hit_conf *c);
/* block: hit_bytes(), aligned as for uint64_t. false: c has a value out of its range. */
bool hit_init(struct hit *h, const struct hit_conf *c, void *block);
/*
 * Handles one event; appends operations to *out. now: of a result, the proxy's clock, read after
 * the result came. A clock that was read before would prove nothing (R7 j).
 */
void hit_step(struct hit *h, const struct step_event *ev, struct mono now, struct step_out *out);
/* When it needs a STEP_TICK. INT64_MAX: not before another event. */
struct mono hit_due(const struct hit *h);

/* There is no room for one more request. */
bool hit_full(const struct hit *h);
/* The next request that was answered, each once. false: there is none. */
bool hit_take(struct hit *h, struct hit_answer *a);

#endif
