/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool: threads that answer requests, and two queues between them and the server's loop.
 *
 * Whichever thread is free takes the next request, so that one slow page makes no other wait while
 * a thread idles. Changes have threads of their own: they may wait for a cache that is gone.
 */
#ifndef RESEX_AUCTION_POOL_H
#define RESEX_AUCTION_POOL_H

#include "src/auction/auction.h"

struct job {
	struct auction_request request;
	struct auction_reply reply;
	void *owner; /* the server's */
	struct job *next;
};

struct pool;

enum { POOL_WAITING_MAX = 4096 };

/* 0, or -errno. */
int pool_open(struct pool **p, const struct auction_options *o, const struct log *log);
/* Waits for the threads; jobs that wait are not answered, and given by pool_take. */
void pool_stop(struct pool *p);
void pool_close(struct pool *p); /* NULL: does nothing */

/* false: too many wait. */
bool pool_give(struct pool *p, struct job *j);
/* A descriptor that can be read when there are answered jobs. */
int pool_fd(const struct pool *p);
/* All answered jobs, a list; reads the descriptor. */
struct job *pool_take(struct pool *p);

#endif
