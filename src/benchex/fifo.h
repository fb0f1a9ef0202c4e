/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fifo: requests that wait to be served, the oldest first, over all clients. Pure. */
#ifndef RESEX_BENCHEX_FIFO_H
#define RESEX_BENCHEX_FIFO_H

#include "src/benchex/hello.h"

struct bx_waiting {
	uint32_t conn, gen; /* whose */
	uint32_t slot;	    /* of its receive */
	int64_t arrived;    /* ns */
	struct bx_ask ask;
};

/* All zero is an empty one without room. */
struct bx_fifo {
	struct bx_waiting *at;
	size_t room, first, n;
};

/* Room for so many; what waits stays. 0 or -ENOMEM. */
int bx_fifo_room(struct bx_fifo *f, size_t room);
/* -ENOBUFS: it is full. */
int bx_fifo_push(struct bx_fifo *f, const struct bx_waiting *w);
/* The oldest of those that may go; the others keep their order. */
bool bx_fifo_pop(struct bx_fifo *f, bool (*may)(const void *arg, const struct bx_waiting *w),
		 const void *arg, struct bx_waiting *w);
/* Nothing of this connection waits any more; the others keep their order. */
void bx_fifo_forget(struct bx_fifo *f, uint32_t conn, uint32_t gen);
void bx_fifo_free(struct bx_fifo *f);

#endif
