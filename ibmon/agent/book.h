/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * book: the registry, its directory, frame and latency pages, written as
 * include/resex/guest_abi.h says. One thread.
 *
 * Changes to rings and latency pages stand between book_begin and book_end:
 * the generation is odd for so long, and readers wait; many changes at once
 * cost them one look. Frame numbers of a ring stay where they are in the list
 * for as long as the ring is there.
 */
#ifndef RESEX_AGENT_BOOK_H
#define RESEX_AGENT_BOOK_H

#include <stdbool.h>

#include "ibmon/agent/pages.h"

enum {
	BOOK_PAGES_MAX = 1 + GUEST_DIRECTORIES_MAX + GUEST_FRAME_PAGES_MAX + GUEST_LATENCIES_MAX,
};

struct book;

/* An empty registry with generation 2. ops is open already; both outlive the book. 0 or -errno. */
int book_open(struct book **b, const struct pages_ops *ops, struct pages *p, uint32_t agent_pid);

/* Withdraw everything, so that a reader who is late finds nothing. The pages stay with ops. */
void book_close(struct book *b);

/* Name of the registry page, for the node. */
struct guest_ref book_ref(const struct book *b);

void book_begin(struct book *b);
void book_end(struct book *b);

/*
 * Add a ring; id and first_frame of r are not looked at. The frames are
 * copied. 0 and its id; -ENOSPC: a limit of the ABI is reached; -EINVAL: out
 * of the ABI's ranges; others: no page to be had.
 */
int book_add(struct book *b, const struct guest_ring *r, const uint64_t *frame, uint32_t *id);
void book_remove(struct book *b, uint32_t id);
uint32_t book_rings(const struct book *b);

/* A latency page for a process. 0 and its index; -ENOSPC; others: no page to be had. */
int book_latency_add(struct book *b, uint32_t pid, const char *comm, unsigned int *index);
void book_latency_remove(struct book *b, unsigned int index);
/* The next n samples were lost before they came here: the reader will miss their numbers. */
void book_latency_skip(struct book *b, unsigned int index, uint32_t n);
/* One sample; no begin and end needed. seq is filled in. */
void book_latency_put(struct book *b, unsigned int index, const struct guest_latency_sample *s);

/*
 * A sign of life, and a look whether pages have moved; not between begin
 * and end. 1: the registry page itself moved, the node must be written
 * again; 0; -errno: where a page is could not be found out.
 */
int book_beat(struct book *b);

#endif
