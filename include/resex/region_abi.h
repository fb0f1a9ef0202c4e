/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * region_abi: what hosts read in each other's memory (man resex-region(7)).
 *
 * A host's region has two parts. The *table* is read-only for peers; the host's own CPU
 * writes it: a header with a directory, then tables of records with checksums. The *words*
 * are 64-bit words that change only by RDMA CAS and FAA, also when the owner changes them.
 * All numbers are little-endian; all hosts are x86. Padding is zero.
 *
 * A host runs resexd, or it is a *cached host* and runs resex-cached (resex-cache(7)). The header
 * is the same, the directory is not: see enum region_kind.
 */
#ifndef RESEX_REGION_ABI_H
#define RESEX_REGION_ABI_H

#ifdef __KERNEL__ /* src/kmod */
#include <linux/build_bug.h>
#include <linux/types.h>
#else
#include <assert.h>
#include <stdint.h>
#endif

#define REGION_MAGIC   0x4e47525845534552ull /* "RESEXRGN" */
#define REGION_VERSION 2u		     /* 1: words had ids of 16 bits and seqs of 48 */

enum {
	REGION_PAGE = 4096,
	REGION_HOSTS_MAX = 256,	   /* numbered from 1 */
	REGION_SERVICES_MAX = 256, /* numbered from 1; 0: none */
	REGION_NODES_MAX = 256,	   /* of one host, numbered from 0 */
	REGION_GUESTS_MAX = 256,
	REGION_NAME = 64, /* with the NUL */
	REGION_STRIDE_MAX = 512,
	REGION_PARTS_MAX = 8,
	REGION_ENTRIES_MAX = 32, /* of the directory */
	/* Of a set of hosts: host h is bit (h - 1) % 64 of word (h - 1) / 64. */
	REGION_SET_WORDS = 4,
};

static_assert(REGION_HOSTS_MAX <= 64 * REGION_SET_WORDS, "a set has a bit of each host");

/*
 * The head of each record. crc: CRC32C (Castagnoli) of the head with crc 0, then of the
 * payload. seq: + 1 at each change; never 0 in a record that was written. A wrong crc means
 * that the reader met the writer half-way: read it again.
 */
struct region_record {
	uint32_t seq;
	uint32_t bytes; /* of the payload, which follows this head */
	uint32_t kind;	/* enum region_kind */
	uint32_t crc;
};

/*
 * Records; from REGION_LOCK_PAGE on: words. A kind keeps its number for ever. Of resexd: HOST to
 * ACK_PAGE. Of an application server that caches: REGION_CACHE_*, and none of the others. Of a
 * proxy: none at all.
 */
enum region_kind {
	REGION_HEADER = 1,
	REGION_HOST,
	REGION_GUEST,
	REGION_NODE,
	REGION_SERVICE,
	REGION_LOAD, /* resex/load_abi.h; in the part REGION_LOADS */
	REGION_LOCK_PAGE = 64,
	REGION_COUNTER_PAGE,
	REGION_NODE_PAGE,
	REGION_ACK_PAGE,
	REGION_CACHE_BEAT_WORD, /* in the part REGION_VERSIONS, as the next two */
	REGION_CACHE_LOG_WORD,
	REGION_CACHE_VERSION,
	REGION_CACHE_ACK,
};

/* The parts, by number. Part p of the directory is part p of the transport. */
enum region_part {
	REGION_TABLE,
	REGION_WORDS,
	REGION_LOADS,	 /* optional */
	REGION_VERSIONS, /* of an application server that caches */
};

/*
 * Where the records or words of one kind are. A reader skips an entry of a kind that it does not
 * know. Each kind of resexd is there exactly once; REGION_LOAD once or not at all. Each kind of a
 * cached application server is there exactly once.
 */
struct region_entry {
	uint32_t kind;
	uint32_t part;
	uint32_t offset; /* of number 0, in bytes into the part */
	uint32_t stride; /* records: a multiple of 64, at most REGION_STRIDE_MAX; words: 8 */
	uint32_t count;	 /* room, in records or words */
	uint32_t reserved;
};

/* At offset 0. Written once, before the first peer connects. magic and version never move. */
struct region_header {
	struct region_record head;
	uint64_t magic;
	uint32_t version;
	uint32_t host;
	uint64_t generation;
	uint32_t entries; /* valid ones of the directory */
	uint32_t reserved;
	uint32_t part_bytes[REGION_PARTS_MAX]; /* by enum region_part; 0: there is no such part */
	struct region_entry directory[REGION_ENTRIES_MAX];
};

enum region_host_flags {
	REGION_HOST_SIMULATED = 1u << 0, /* neither the host nor its guests are real */
};

/* The host itself. Written with each heartbeat. */
struct region_host {
	struct region_record head;
	uint64_t beat;	 /* + 1 at each heartbeat */
	int64_t wall_ns; /* since 1970, for people */
	uint64_t generation;
	uint64_t view;			    /* number of the host's membership view */
	uint64_t members[REGION_SET_WORDS]; /* of that view */
	uint32_t quorate;		    /* 1: the host has quorum, and decides */
	uint32_t guests; /* records 0 .. guests - 1 of the guests' table are valid */
	uint32_t cpus;
	uint32_t links;
	uint64_t link_bytes_s; /* of all links */
	uint64_t epoch;
	int64_t supply_m; /* milli-Resos an epoch */
	char name[REGION_NAME];
	char version[32];
	char policy[REGION_NAME];
	uint32_t nodes;	   /* valid records of the nodes' table: record n is node n */
	uint32_t services; /* valid records of the services' table */
	uint64_t flags;	   /* enum region_host_flags */
	/*
	 * How old the figures of the host and its guests are at this heartbeat. The thread that
	 * beats is not the one that publishes them: they grow old while that one is busy. 0: not
	 * given.
	 */
	uint64_t figures_age_ns;
	/*
	 * Digests of the host's cluster.json: of its hosts, and of the services in the services'
	 * table (src/conf/cluster_agree.c). Together with view: what hosts must hold alike to
	 * decide. 0: not given.
	 */
	uint64_t hosts_digest, services_digest;
	uint64_t nodes_digest; /* the same of its nodes; 0: it has none, or is an older release */
	uint64_t reserved[7];
};

enum region_guest_flags {
	REGION_GUEST_CAPPED = 1u << 0,
	REGION_GUEST_EXEMPT = 1u << 1,	 /* by its settings */
	REGION_GUEST_PAUSED = 1u << 2,	 /* its domain is paused */
	REGION_GUEST_CAPPABLE = 1u << 3, /* its own cap is saved on disk */
	REGION_GUEST_DIVERGES = 1u << 4, /* it sends more than its rings show */
	REGION_GUEST_RELEASED = 1u << 5, /* by cap-release */
	REGION_GUEST_OBSERVED = 1u << 6, /* by pause: no policy caps it */
};

struct region_guest {
	struct region_record head;
	uint8_t uuid[16];
	uint32_t domid;
	uint32_t flags;
	uint32_t vcpus;
	uint32_t weight;
	uint32_t cap_mpct; /* milli-percent; if REGION_GUEST_CAPPED */
	uint32_t rings;
	int64_t allocated_m, balance_m; /* milli-Resos, of the running epoch */
	uint64_t mtus_sent, mtus_recv;	/* in total */
	uint64_t cpu_ns;		/* in total */
	uint64_t latency_ns;		/* newest mean; 0: none reported */
	char name[REGION_NAME];		/* empty: the record is no longer used */
	uint64_t reserved[2];
};

enum region_node_flags {
	REGION_NODE_UP = 1u << 0,    /* it answers */
	REGION_NODE_FIXED = 1u << 1, /* it is never moved */
};

/* A node serves requests. Its word says of which service. */
struct region_node {
	struct region_record head;
	uint32_t node; /* its number */
	uint32_t flags;
	uint32_t load; /* 0: the load record has it */
	/* Of kind "switch": the service for which it is prepared now; else 0: its word has it. */
	uint32_t service;
	char name[REGION_NAME];
	/* Of kind "switch" (src/reconf/role.h). Others, and older releases, write 0. */
	uint64_t ready; /* the exact word for which it is prepared; 0: it is for none */
	uint32_t phase; /* enum role_phase */
	uint32_t from;	/* the service that it was prepared for before; 0: not known */
	uint64_t reserved[2];
};

/* A service, as configured on this host. */
struct region_service {
	struct region_record head;
	uint32_t service;		      /* its number */
	uint32_t minimum;		      /* number of nodes that it keeps in any case */
	uint64_t balancers[REGION_SET_WORDS]; /* the hosts that balance the service */
	char name[REGION_NAME];
	uint64_t more; /* digest of its other settings; 0: they are the defaults */
};

/* --- the words ------------------------------------------------------------- */

/*
 * Four pages, each with words of one kind. Lock of service s: {owner 10, seq 54}. Shared
 * update counter of this host's balancer of service s: a count. Node n of this host:
 * {service 10, seq 54}; its *kept* word, REGION_NODES_MAX words behind it, is the newest value of
 * that word that the host has saved on disk (src/reconf/keep.h). Acknowledgement n of this host as
 * a balancer: region_ack() of node n of its cluster.json's "nodes", counted from 0; 0: none. Other
 * hosts may have the node at another place. seq is {epoch 30, count 24}. Seqs and epochs are
 * compared as numbers.
 *
 * epoch: the number of the membership view or, with static membership, the generation of the
 * locks' host; 0: none yet. count: 0 in a lock that was not acquired yet; + 1 at each change. After
 * REGION_COUNT_MAX comes 1.
 *
 * These places are fixed in this version: atomics are posted before a directory was read. The
 * directory has them, too, and a reader refuses a region with others.
 */
enum {
	REGION_LOCKS = 0 * REGION_PAGE,
	REGION_COUNTERS = 1 * REGION_PAGE,
	REGION_NODE_WORDS = 2 * REGION_PAGE,
	REGION_ACKS = 3 * REGION_PAGE,
	REGION_WORDS_BYTES = 4 * REGION_PAGE,
	REGION_WORDS_OF_KIND = REGION_PAGE / 8,
};

/*
 * The owner in a lock's word. 0: free, released clean. 1 .. REGION_HOSTS_MAX: a host. DIRTY: free,
 * but operations of the last holder may still be on their way: the next holder must make the
 * fencing sweep first (src/reconf/move.h). BROKEN: an operator took the lock away from its holder,
 * which may still act: the word is waited for as if a host held it, then its next holder sweeps.
 */
#define REGION_LOCK_DIRTY  0x3ffu
#define REGION_LOCK_BROKEN 0x3feu

#define REGION_COUNT_BITS 24
#define REGION_COUNT_MAX  0xffffffu
#define REGION_EPOCH_MAX  0x3fffffffu /* of generations and view numbers, too */
#define REGION_SEQ_BITS	  54
#define REGION_SEQ_MASK	  ((1ull << REGION_SEQ_BITS) - 1)

static inline uint64_t region_seq(uint32_t epoch, uint32_t count)
{
	return (uint64_t)epoch << REGION_COUNT_BITS | (count & REGION_COUNT_MAX);
}

static inline uint32_t region_seq_epoch(uint64_t seq)
{
	return (uint32_t)(seq >> REGION_COUNT_BITS) & REGION_EPOCH_MAX;
}

static inline uint32_t region_seq_count(uint64_t seq)
{
	return (uint32_t)seq & REGION_COUNT_MAX;
}

/* The next one of the same epoch. */
static inline uint64_t region_seq_next(uint64_t seq)
{
	uint32_t count = region_seq_count(seq);

	return region_seq(region_seq_epoch(seq), count < REGION_COUNT_MAX ? count + 1 : 1);
}

static inline uint64_t region_word(uint16_t id, uint64_t seq)
{
	return (uint64_t)id << REGION_SEQ_BITS | (seq & REGION_SEQ_MASK);
}

static inline uint16_t region_word_id(uint64_t word)
{
	return (uint16_t)(word >> REGION_SEQ_BITS);
}

static inline uint64_t region_word_seq(uint64_t word)
{
	return word & REGION_SEQ_MASK;
}

static inline uint32_t region_lock_offset(uint32_t service)
{
	return REGION_LOCKS + 8u * service;
}

static inline uint32_t region_counter_offset(uint32_t service)
{
	return REGION_COUNTERS + 8u * service;
}

static inline uint32_t region_node_offset(uint32_t node)
{
	return REGION_NODE_WORDS + 8u * node;
}

static inline uint32_t region_kept_offset(uint32_t node)
{
	return region_node_offset(REGION_NODES_MAX + node);
}

static inline uint32_t region_ack_offset(uint32_t place)
{
	return REGION_ACKS + 8u * place;
}

/*
 * The acknowledgement of this word of this node of this host: no proxy sends it requests of another
 * service than the word's (src/reconf/role.h, rule 4). Never 0. Host and node are in it, since the
 * places of nodes differ between two cluster.json. The mixing is that of splitmix64.
 */
static inline uint64_t region_ack(uint16_t host, uint16_t node, uint64_t word)
{
	uint64_t v = word + 0x9e3779b97f4a7c15ull * ((uint64_t)host << 16 | node);

	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
	v = (v ^ v >> 27) * 0x94d049bb133111ebull;
	v ^= v >> 31;
	return v ? v : 1;
}

/* After a restart of its host, will the node have the service and epoch of this word? */
static inline int region_is_kept(uint64_t word, uint64_t kept)
{
	return word >> REGION_COUNT_BITS == kept >> REGION_COUNT_BITS;
}

/* --- an application server that caches -------------------------------------- */

/*
 * Part VERSIONS, which the owner's CPU writes and others READ. The beat: one word; the log word;
 * then version word w at REGION_CACHE_WORDS + 8 w. Part WORDS: four pages of zeros, then the ack
 * words, by slot of this updater and by host. src/cache/cache.h says what all of them hold. The
 * directory has their places, and how many version words and slots there are. A reader refuses
 * other places.
 */
enum {
	REGION_CACHE_BEAT = 0,
	REGION_CACHE_LOG = 64, /* another cache line than the beat's, which changes more often */
	REGION_CACHE_WORDS = 1 * REGION_PAGE,
	REGION_CACHE_WORDS_MAX = 1000000,
	REGION_CACHE_ACKS = REGION_WORDS_BYTES,
	REGION_CACHE_ACKS_STRIDE = 8 * REGION_HOSTS_MAX, /* from one slot to the next */
	REGION_CACHE_SLOTS_MAX = 64,
};

static inline uint32_t region_cache_word_offset(uint32_t word)
{
	return REGION_CACHE_WORDS + 8u * word;
}

static inline uint32_t region_cache_ack_offset(uint32_t slot, uint32_t host)
{
	return REGION_CACHE_ACKS + REGION_CACHE_ACKS_STRIDE * slot + 8u * (host - 1);
}

static_assert((int)REGION_WORDS_OF_KIND >= 2 * (int)REGION_NODES_MAX, "words and kept words");
static_assert(sizeof(struct region_record) == 16, "head of a record");
static_assert(sizeof(struct region_header) == 16 + 64 + 32 * 24, "header");
static_assert(sizeof(struct region_host) == 384, "host");
static_assert(sizeof(struct region_guest) == 184, "guest");
static_assert(sizeof(struct region_node) == 128, "node");
static_assert(sizeof(struct region_service) == 128, "service");

#endif
