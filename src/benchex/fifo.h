/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fifo: the requests of all clients that wait to be served, oldest first. Pure. */
#ifndef RESEX_BENCHEX_FIFO_H
#define RESEX_BENCHEX_FIFO_H

#include "src/benchex/hello.h"

struct bx_waiting {
	uint32_t conn, gen; /* the connection it came by */
	uint32_t slot;	    /* of its receive */
	int64_t arrived;    /* ns */
	struct bx_ask ask;
};

/* All zero: empty, without room. */
struct bx_fifo {
	struct bx_waiting *at;
	size_t room, first, n;
};

/* Make room for at least so many; waiting requests are kept. 0 or -ENOMEM. */
int bx_fifo_room(struct bx_fifo *f, size_t room);
/* Append w. 0, or -ENOBUFS: full. */
int bx_fifo_push(struct bx_fifo *f, const struct bx_waiting *w);
/* Take out the oldest request that may() allows; the others keep their order. */
bool bx_fifo_pop(struct bx_fifo *f, bool (*may)(const void *arg, const struct bx_waiting *w),
		 const void *arg, struct bx_waiting *w);
/* Remove all requests of a connection; the others keep their order. */
void bx_fifo_forget(struct bx_fifo *f, uint32_t conn, uint32_t gen);
void bx_fifo_free(struct bx_fifo *f);

#endif
