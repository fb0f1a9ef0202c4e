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
 *
 * Where a home is a process of this machine (transport shm), the client can READ its words itself,
 * and needs neither a slot nor the server. Behind the hello the server sends struct
 * cache_ring_file, each with one descriptor: once the *view*, which the server alone writes: the
 * evidence of all homes; then, of each home and again for each new link to it, the part VERSIONS
 * of its region (region_abi.h), and behind it, in the last page of the file, the life of the home's
 * process (life_abi.h). All of them can be mapped for reading alone, and keep their size.
 *
 * A request without a slot, of a client whose clock is that of the view:
 *
 *	its home and word are those of src/cache/place.h, among the homes whose evidence holds
 *	it has mapped that home's part, of the link of the evidence
 *	it reads, in this order: the word; the life of the home; its own clock; until; the link
 *	the word is not 0, the home lives, the link is the same, and the clock is before until
 *
 * If one of these is not so, it asks by a slot. Why the life is read: the memory outlives its
 * process. The home may have come back as another process, to which alone updates are then told.
 * Its evidence is kept until the server notices that. The server's own READs over shm are checked
 * in the same way (src/transport/shm/exec.c).
 */
#ifndef RESEX_CACHE_RING_H
#define RESEX_CACHE_RING_H

#include <stddef.h>
#include <stdint.h>

#include "resex/region_abi.h"

#define CACHE_RING_MAGIC 0x474e524558534552ull /* "RESXERNG" */

enum {
	CACHE_RING_VERSION = 3,
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
	uint64_t direct; /* verified without a slot */
	uint64_t reserved[6];
	uint64_t asked[CACHE_RING_SLOTS_MAX / 64]; /* bit i % 64 of word i / 64: slot i */
};

struct cache_ring_hello {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes; /* of the memory: CACHE_RING_HEADER + 64 * slots */
};

#define CACHE_RING_FILE_MAGIC 0x454c494658534552ull /* "RESXFILE" */
#define CACHE_RING_VIEW_MAGIC 0x5745495658534552ull /* "RESXVIEW" */

/* With one descriptor. */
struct cache_ring_file {
	uint64_t magic;
	uint32_t host; /* whose part VERSIONS it is; 0: it is the view */
	uint32_t link; /* of the server to that host; never the same again */
};

/* What the server knows of a home, renewed while it is a member. */
struct cache_ring_evidence {
	int64_t until_ns; /* a READ that completes before may be used */
	uint32_t link;	  /* on which it holds; 0: none. Changed while until_ns is 0 */
	uint32_t reserved;
};

struct cache_ring_view {
	uint64_t magic;
	uint32_t version;
	uint32_t words; /* of each home */
	/*
	 * The time namespace of the server, as stat(2) of /proc/self/ns/time gives it: device and
	 * inode. In another one CLOCK_BOOTTIME is another clock.
	 */
	uint64_t clock[2];
	uint64_t homes[REGION_HOSTS_MAX / 64]; /* host h: bit (h - 1) % 64 of word (h - 1) / 64 */
	struct cache_ring_evidence home[REGION_HOSTS_MAX + 1]; /* by number */
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
_Static_assert(sizeof(struct cache_ring_evidence) == 16, "evidence");

#endif
