/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache_ring: how a cache (Varnish) asks resex-cached for the version of a page: memory that both
 * share, one ring for each connection, so that a request costs no system call on a busy proxy.
 *
 * The client connects to the UNIX socket (SOCK_SEQPACKET) of resex-cached, which sends one message:
 * struct cache_ring_hello with two descriptors (SCM_RIGHTS): the memory, of hello.bytes, and an
 * eventfd. The ring lives as long as the connection: each side sees the end of the other by it.
 *
 * One request, in a slot:
 *
 *	client  takes a FREE slot by CAS to TAKEN; writes key and flags; state = ASKED (release);
 *	        sets the slot's bit in header.asked (fetch_or, seq_cst); if header.sleeps is 1
 *	        (seq_cst), writes 1 to the eventfd; waits on state (futex) up to its timeout
 *	server  takes header.asked (exchange 0); READs the words; writes the answer;
 *	        CAS ASKED -> ANSWERED (release) and wakes the futex; if it was LEFT, it is made FREE
 *	client  reads the answer; state = FREE
 *	        or, after its timeout: CAS ASKED -> LEFT; if that fails, the answer is there
 *
 * Before the server sleeps it sets sleeps to 1 and looks at asked once more. The server believes
 * nothing that it reads here: a client can only harm its own answers.
 *
 * The answer holds for a READ that was posted after the request was asked, and that completed
 * while the home's evidence was fresh (src/cache/fresh.h).
 */
#ifndef RESEX_CACHE_RING_H
#define RESEX_CACHE_RING_H

#include <stddef.h>
#include <stdint.h>

#define CACHE_RING_MAGIC 0x474e524558534552ull /* "RESXERNG" */

enum {
	CACHE_RING_VERSION = 1,
	CACHE_RING_SLOTS_MAX = 1024, /* a multiple of 64 */
	CACHE_RING_HEADER = 4096,    /* bytes before slot 0 */
};

enum cache_ring_state {
	CACHE_RING_FREE,
	CACHE_RING_TAKEN,
	CACHE_RING_ASKED,
	CACHE_RING_ANSWERED,
	CACHE_RING_LEFT, /* its client did not wait for the answer */
};

enum cache_ring_flags {
	CACHE_RING_ALL = 1u << 0, /* a page without lists: word 0 of its home (Invalidate All) */
};

/* How a request ended. Only with VERIFIED is there a version. All others: do not cache. */
enum cache_ring_why {
	CACHE_RING_VERIFIED = 1,
	CACHE_RING_NO_HOME, /* no home is a member, or none can be reached */
	CACHE_RING_CLOSED,  /* the home's word is 0: it is no member, or has just come back */
	CACHE_RING_STALE,   /* the home's evidence is older than fresh */
	CACHE_RING_LOST,    /* the READ failed, or was late */
	CACHE_RING_BAD,	    /* the request is none */
};

/* 64 bytes. */
struct cache_ring_slot {
	uint32_t state; /* enum cache_ring_state; the futex */
	uint32_t flags;
	uint64_t key; /* cache_ring_key() of what names the page */
	/* the answer */
	uint64_t version;
	uint32_t home; /* its number */
	uint32_t word; /* index of the page's version word there */
	uint32_t why;  /* enum cache_ring_why */
	uint32_t reserved[7];
};

struct cache_ring_header {
	uint64_t magic;
	uint32_t version;
	uint32_t slots;
	uint32_t sleeps; /* 1: the server sleeps; write to the eventfd */
	uint32_t ended;	 /* 1: the server is going; ask no more */
	/* Written by the client alone, for people: resex cache-list. */
	uint64_t hits, misses, passes, stored, refused;
	uint64_t reserved[7];
	uint64_t asked[CACHE_RING_SLOTS_MAX / 64]; /* bit i % 64 of word i / 64: slot i */
};

struct cache_ring_hello {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes; /* of the memory: CACHE_RING_HEADER + 64 * slots */
};

/*
 * The key of a page, from the text that names it: that of resex_cache(3). Two texts of one key
 * share a version word. That costs misses, and never a stale page: a cache keeps its copies by the
 * text itself.
 */
static inline uint64_t cache_ring_key(const void *text, size_t len)
{
	const unsigned char *b = (const unsigned char *)text;
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a, and the end of splitmix64 */

	for (size_t i = 0; i < len; i++)
		h = (h ^ b[i]) * 0x100000001b3ull;
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ h >> 27) * 0x94d049bb133111ebull;
	return h ^ h >> 31;
}

_Static_assert(sizeof(struct cache_ring_slot) == 64, "slot");
_Static_assert(sizeof(struct cache_ring_header) <= CACHE_RING_HEADER, "header");

#endif
