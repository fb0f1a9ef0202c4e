/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * region: a host's region, as its owner writes it and as a peer reads it.
 *
 * The owner lays out the table part (transport_table()) and publishes records. A peer has
 * copies: of the header, whose directory says where the tables are, and of records. Copies are
 * hostile: every number is checked against our own limits before it is used. Copies need no
 * alignment. There is no I/O here. The words change only by the transport's atomics; this
 * file gives their first values.
 *
 * Cached hosts have other regions (resex-cached): region_init_cache, region_parse_cache.
 */
#ifndef RESEX_SHARED_REGION_H
#define RESEX_SHARED_REGION_H

#include <stddef.h>

#include "resex/load_abi.h"
#include "resex/region_abi.h"
#include "src/transport/transport.h"

enum region_which {
	REGION_T_HOST,
	REGION_T_GUESTS,
	REGION_T_NODES,
	REGION_T_SERVICES,
	REGION_T_LOADS, /* in a part of its own, which may be missing */
	REGION_TABLES,
};

/* The layout of this version. Readers use the offsets in the header. */
enum {
	REGION_AT_HOST = 1 * REGION_PAGE,
	REGION_AT_GUESTS = 2 * REGION_PAGE,
	REGION_AT_NODES = 14 * REGION_PAGE,
	REGION_AT_SERVICES = 22 * REGION_PAGE,
	REGION_TABLE_BYTES = 30 * REGION_PAGE,
	REGION_LOADS_BYTES = REGION_NODES_MAX * 256, /* of the part with the load records */
};

/* --- the owner --------------------------------------------------------------- */

struct region {
	void *table;
	void *loads; /* NULL: it publishes none */
	uint16_t host;
	uint64_t generation;
	uint64_t beat;
	uint32_t n[REGION_TABLES]; /* records in use */
};

/* Write the header of a table of REGION_TABLE_BYTES zeros that has no reader yet. */
void region_init(struct region *r, void *table, uint16_t host, uint64_t generation);

/* The same of the part with the load records, REGION_LOADS_BYTES zeros, after region_init. */
void region_init_loads(struct region *r, void *loads);

/*
 * Publish guests (nodes, services) 0 .. n - 1, and empty the records of last time beyond n.
 * The next region_beat() makes the new number valid for peers. Fills in the heads. -E2BIG:
 * there is no room for n; nothing is changed.
 */
int region_publish_guests(struct region *r, struct region_guest *g, uint32_t n);
int region_publish_nodes(struct region *r, struct region_node *v, uint32_t n);
int region_publish_services(struct region *r, struct region_service *s, uint32_t n);

/* Publish the load of node l->node, below REGION_NODES_MAX. Fills in the head. */
void region_publish_load(struct region *r, struct load_record *l);

/*
 * Publish the host's record, with the next heartbeat. Fills in beat, generation, guests,
 * nodes and services.
 */
void region_beat(struct region *r, struct region_host *h);

/*
 * The first values of the words, REGION_WORDS_BYTES long. Locks: free, with the generation as
 * epoch and count 0. Nodes: node[REGION_NODES_MAX], which are on disk; NULL: no service, epoch 0,
 * count 1. Kept words: the same. Counters: 0. They may be those of an earlier life: links tell them
 * apart (step_op.link). -ERANGE: generation is 0, or above REGION_EPOCH_MAX.
 */
int region_words(uint64_t *words, uint64_t generation, const uint64_t *node);

/* What a cached host serves; 0 and 0: nothing but a header, as a proxy. */
struct region_cache {
	uint32_t words; /* version words: 1 .. REGION_CACHE_WORDS_MAX */
	uint32_t slots; /* of an updater: 1 .. REGION_CACHE_SLOTS_MAX */
};

/* How long its parts are: transport_conf.bytes. Their first contents are zeros. */
void region_cache_bytes(const struct region_cache *c, size_t bytes[static TRANSPORT_PARTS]);
/* Write its header: table is that part, zeros without a reader yet. */
void region_init_cache(void *table, uint16_t host, uint64_t generation,
		       const struct region_cache *c);

/* --- a peer ------------------------------------------------------------------ */

/* The checked contents of a header. */
struct region_peer {
	uint16_t host;
	uint64_t generation;
	struct region_entry table[REGION_TABLES]; /* count 0: it publishes none */
};

/*
 * copy: the first sizeof(struct region_header) bytes of the table part of this host and
 * generation. 0; -EAGAIN: torn; -ENOMSG: not written yet; -EPROTO: not a region, or a kind of
 * this version is not exactly once in its directory; -EPROTONOSUPPORT: another version; -EXDEV:
 * another host; -ESTALE: another generation; -ERANGE: the place or size of a table or part is out
 * of range.
 */
int region_parse_header(const void *copy, uint16_t host, uint64_t generation,
			struct region_peer *out);

/*
 * The same of a cached host, with what it serves in *out. -EPROTO also: it has a kind of resexd's,
 * or some of REGION_CACHE_*, but not each exactly once. A region of resexd is refused here, and
 * one of a cached host by region_parse_header, with -EPROTO: a reader knows by cluster.json which
 * one it calls.
 */
int region_parse_cache(const void *copy, uint16_t host, uint64_t generation,
		       struct region_cache *out);

/* An error of these functions in words: the end of a sentence that begins with the region. */
const char *region_why(int rc);

enum { REGION_READS_MAX = 8 };

/* One READ. */
struct region_read {
	uint32_t part; /* enum region_part */
	uint32_t offset, len;
	uint32_t first, n; /* the records in it */
};

/* The READs for records first .. first + n - 1; how many. 0: out of range. */
uint32_t region_reads(const struct region_peer *p, enum region_which which, uint32_t first,
		      uint32_t n, struct region_read out[static REGION_READS_MAX]);

/* Record i (first <= i < first + n) in the data of a READ. */
const void *region_in(const struct region_peer *p, enum region_which which,
		      const struct region_read *r, const void *data, uint32_t i);

/*
 * Check a copy of a record. Strings in *out end with a NUL and are UTF-8 without control
 * characters. Errors as record_check(), and -EPROTO: a string does not end. The host's
 * record also -ESTALE: another generation; -ERANGE: it counts more records than its tables
 * have. Nodes and services also -ERANGE: a number is out of range.
 */
int region_parse_host(const struct region_peer *p, const void *copy, struct region_host *out);
int region_parse_guest(const void *copy, struct region_guest *out);
int region_parse_node(const void *copy, struct region_node *out);
int region_parse_service(const void *copy, struct region_service *out);

/* The same of the load of a node; -ERANGE: it is of another node, or has a number out of range. */
int region_parse_load(const void *copy, uint32_t node, struct load_record *out);

#endif
