/* SPDX-License-Identifier: GPL-2.0-or-later */
/* connect: a connection to resex-cached, and the memory that came with it, for ring_client.c. */
#ifndef RESEX_RING_CONNECT_H
#define RESEX_RING_CONNECT_H

#include <stddef.h>
#include <sys/un.h>

#include "resex/cache_ring.h"

struct ring_connection {
	int sock;  /* its end is the server's; -1: none */
	int event; /* wakes the server */
	struct cache_ring_header *header;
	struct cache_ring_slot *slot;
	uint32_t slots; /* as it was checked; the header may change at any time */
	size_t bytes;
};

/* 0, -EINVAL: it is empty, or -ENAMETOOLONG. */
int ring_address(struct sockaddr_un *a, const char *path);
/*
 * Connects, and waits up to wait_ms for the server's hello, or until stop can be read. 0, or
 * -errno: -EPROTO: the hello or its memory is none of this version; -ETIMEDOUT; -ECANCELED: stop;
 * those of connect(2), recvmsg(2) and mmap(2).
 */
int ring_connect(struct ring_connection *r, const struct sockaddr_un *a, int stop, int wait_ms);
/*
 * One message behind the hello, with its descriptor, which is the caller's then. 0, or -errno:
 * -EAGAIN: there is none now; -ECONNRESET: the server has ended; -EPROTO: it is none.
 */
int ring_receive(const struct ring_connection *r, struct cache_ring_file *f, int *fd);
/* Nobody may use the memory any more. Of one that is not open it does nothing. */
void ring_disconnect(struct ring_connection *r);

#endif
