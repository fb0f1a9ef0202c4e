/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_pool: one ring client for all users of a path in a process. Varnish keeps each VCL that was
 * replaced for minutes, and each has objects of its own: without the pool a few reloads would take
 * all of resex-cached's ring_clients.
 */
#ifndef RESEX_RING_RING_POOL_H
#define RESEX_RING_RING_POOL_H

#include <pthread.h>

#include "src/ring/ring_client.h"

struct ring_share;

struct ring_pool {
	pthread_mutex_t lock;
	struct ring_share *first;
};

#define RING_POOL_INIT                                                                             \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

/*
 * The client of this path: one that others use, or a new one. Any thread; blocks while another
 * thread is in a call of the pool. 0; -ENOMEM, or what ring_client_open returns.
 */
int ring_pool_get(struct ring_pool *p, const char *path, struct ring_client **c);
/*
 * Gives it back, as often as it was got. The last one closes it: then no thread may be in a call of
 * c, nor begin one. NULL: does nothing.
 */
void ring_pool_put(struct ring_pool *p, struct ring_client *c);

#endif
