/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * book: the registry with its directory, frame, latency and load pages, which dom0 reads.
 * The format is that of include/resex/guest_abi.h. One thread.
 *
 * Changes to rings and latency pages go between book_begin and book_end: meanwhile the
 * generation is odd and readers wait, so that many changes cost them one look. The
 * frame numbers of a ring keep their place in the list as long as the ring exists.
 */
#ifndef RESEX_AGENT_BOOK_H
#define RESEX_AGENT_BOOK_H

#include <stdbool.h>

#include "ibmon/agent/pages.h"

enum {
	BOOK_PAGES_MAX = 1 + GUEST_DIRECTORIES_MAX + GUEST_FRAME_PAGES_MAX + GUEST_LATENCIES_MAX +
			 1,
};

struct book;

/* An empty registry with generation 2. ops is open already; both outlive the book. 0 or -errno. */
int book_open(struct book **b, const struct pages_ops *ops, struct pages *p, uint32_t agent_pid);

/* Withdraw everything: a late reader finds an empty registry. ops keeps the pages. */
void book_close(struct book *b);

/* Reference of the registry page, for the node. */
struct guest_ref book_ref(const struct book *b);

void book_begin(struct book *b);
void book_end(struct book *b);

/*
 * Add a ring; id and first_frame of r are ignored. The frames are copied. 0 and its
 * id; -ENOSPC: a limit of the ABI is reached; -EINVAL: outside the ABI's ranges; other
 * -errno: a page could not be allocated.
 */
int book_add(struct book *b, const struct guest_ring *r, const uint64_t *frame, uint32_t *id);
void book_remove(struct book *b, uint32_t id);
uint32_t book_rings(const struct book *b);

/* Publish how many queue pairs came and went unseen; needs no begin and end. */
void book_unseen(struct book *b, uint64_t queue_pairs);
/* Publish how many queue pairs live and have no room in the book; needs no begin and end. */
void book_unpublished(struct book *b, uint32_t queue_pairs);

/* A latency page for a process. 0 and its index; -ENOSPC; other -errno: no page. */
int book_latency_add(struct book *b, uint32_t pid, const char *comm, unsigned int *index);
void book_latency_remove(struct book *b, unsigned int index);
/* n samples were dropped before they arrived: told with the next that are put. */
void book_latency_dropped(struct book *b, unsigned int index, uint32_t n);
/* Write n samples, 1 .. GUEST_LATENCY_SAMPLES; needs no begin and end. */
void book_latency_put(struct book *b, unsigned int index, const struct guest_latency_sample *s,
		      uint32_t n, uint64_t time);

/* A page for the load of this guest, without a record yet. 0; -errno: no page. Once. */
int book_load_open(struct book *b);
/* Replace its record: that of *r, whose head is filled in. Needs no begin and end. */
void book_load_put(struct book *b, struct load_record *r);
/* The record in that page: what fills it in place of book_load_put. */
struct load_record *book_load_record(struct book *b);

/*
 * Heartbeat, and a check whether pages have moved; not between begin and end. 1: the
 * registry page itself has moved and the node must be written again; 0; -errno: the
 * place of a page could not be read.
 */
int book_beat(struct book *b);

#endif
