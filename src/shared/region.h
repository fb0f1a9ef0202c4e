/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * region: a host's region, as its owner writes it and as a peer reads it.
 *
 * The owner lays out the table part (transport_table()) and publishes records.
 * A peer knows of it what it read: a copy of the header, which says where the tables
 * are; copies of records. What it read is hostile: checked against limits of our
 * own before any number of it is used. No I/O here; copies need no alignment.
 * The words change by the transport's atomics alone; here is what they begin with.
 */
#ifndef RESEX_SHARED_REGION_H
#define RESEX_SHARED_REGION_H

#include <stddef.h>

#include "resex/region_abi.h"
#include "src/transport/transport.h"

enum region_which {
	REGION_T_HOST,
	REGION_T_GUESTS,
	REGION_T_NODES,
	REGION_T_SERVICES,
	REGION_TABLES,
};

/* Where this version puts its tables. Readers go by the header. */
enum {
	REGION_AT_HOST = 1 * REGION_PAGE,
	REGION_AT_GUESTS = 2 * REGION_PAGE,
	REGION_AT_NODES = 14 * REGION_PAGE,
	REGION_AT_SERVICES = 22 * REGION_PAGE,
	REGION_TABLE_BYTES = 30 * REGION_PAGE,
};

/* --- the owner --------------------------------------------------------------- */

struct region {
	void *table;
	uint64_t generation;
	uint64_t beat;
	uint32_t n[REGION_TABLES]; /* records in use */
};

/* Begin a table of REGION_TABLE_BYTES, all zero and not yet read by anybody: its header. */
void region_init(struct region *r, void *table, uint16_t host, uint64_t generation);

/*
 * Publish guests (nodes, services) 0 .. n - 1; those beyond, of last time, are
 * emptied. Peers count them when region_beat() came. Heads are filled in. -E2BIG:
 * more than there is room for: nothing is changed.
 */
int region_publish_guests(struct region *r, struct region_guest *g, uint32_t n);
int region_publish_nodes(struct region *r, struct region_node *v, uint32_t n);
int region_publish_services(struct region *r, struct region_service *s, uint32_t n);

/*
 * Publish the host's record, with the next beat. beat, generation, guests, nodes
 * and services are filled in.
 */
void region_beat(struct region *r, struct region_host *h);

/*
 * What the words begin with, REGION_WORDS_BYTES long: locks free, seq = generation
 * << 32; nodes of no service, seq = generation << 16 (the 16 bits above are the epoch
 * of the locks under which it changed: move.h), so that no word stands twice; counts
 * of zero. -ERANGE: generation is 0, or 2^16 or above, for which seq has no room.
 */
int region_words(uint64_t *words, uint64_t generation);

/* --- a peer ------------------------------------------------------------------ */

/* What was found good in a header. */
struct region_peer {
	uint16_t host;
	uint64_t generation;
	struct region_table table[REGION_TABLES];
};

/*
 * copy: the first sizeof(struct region_header) bytes of a table part that should be of
 * this host and generation. 0; -EAGAIN: torn; -ENOMSG: not written yet; -EPROTO: no
 * region; -EPROTONOSUPPORT: of another version; -EXDEV: of another host; -ESTALE: of
 * another generation; -ERANGE: a table or a part is not where, or as, one may be.
 */
int region_parse_header(const void *copy, uint16_t host, uint64_t generation,
			struct region_peer *out);

/* The end of a sentence that begins with whose region it is; rc is an error from here. */
const char *region_why(int rc);

enum { REGION_READS_MAX = 8 };

/* Each is one READ of the table part. */
struct region_read {
	uint32_t offset, len;
	uint32_t first, n; /* the records in it */
};

/* The READs for records first .. first + n - 1 of a table; how many. 0: there is none such. */
uint32_t region_reads(const struct region_peer *p, enum region_which which, uint32_t first,
		      uint32_t n, struct region_read out[static REGION_READS_MAX]);

/* Record i (first <= i < first + n) in the data of a READ. */
const void *region_in(const struct region_peer *p, enum region_which which,
		      const struct region_read *r, const void *data, uint32_t i);

/*
 * A record out of a copy. Strings end, and hold no control characters and nothing
 * that is not UTF-8. Errors as record_check(); -EPROTO also: a string does not end.
 * Of the host's record also -ESTALE: of another generation; -ERANGE: it counts more
 * records than its tables have. Of nodes and services -ERANGE: a number is none.
 */
int region_parse_host(const struct region_peer *p, const void *copy, struct region_host *out);
int region_parse_guest(const void *copy, struct region_guest *out);
int region_parse_node(const void *copy, struct region_node *out);
int region_parse_service(const void *copy, struct region_service *out);

#endif
