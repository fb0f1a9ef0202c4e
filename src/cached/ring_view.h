/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_view: what clients of the ring need to READ the words of homes themselves: the view of
 * include/resex/cache_ring.h, and the files that go with it. ring.c sends them; proxy.c says what
 * they are. Clients only read here: nothing of it is read back.
 */
#ifndef RESEX_CACHED_RING_VIEW_H
#define RESEX_CACHED_RING_VIEW_H

#include "resex/cache_ring.h"
#include "src/core/hostset.h"
#include "src/core/units.h"

struct ring_view {
	struct cache_ring_view *mem; /* NULL: there is none */
	int fd;
	struct ring_view_home {
		int fd; /* -1: none */
		uint32_t link;
	} home[REGION_HOSTS_MAX + 1];
};

/* homes: of cluster.json; words: of each. 0 or -errno. */
int ring_view_open(struct ring_view *v, const struct hostset *homes, uint32_t words);
void ring_view_close(struct ring_view *v);

/* The part VERSIONS of a home on a newer link. fd is the view's from here, also on an error. */
void ring_view_home(struct ring_view *v, uint16_t host, uint32_t link, int fd);
/* The evidence of a home holds until this time, on this link. With link 0 it has none. */
void ring_view_put(struct ring_view *v, uint16_t host, uint32_t link, struct mono until);
/*
 * What is to be sent of a home; of host 0: of the view. The descriptor, which stays the view's; -1:
 * there is nothing to send.
 */
int ring_view_file(const struct ring_view *v, uint16_t host, struct cache_ring_file *f);

#endif
