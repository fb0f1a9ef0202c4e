/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * direct: READs the version words of homes on this machine, without a slot of the ring: the
 * client's half of what resex/cache_ring.h says of the view. It costs neither a system call nor the
 * server's time. What it cannot verify, ring_client.c asks by a slot.
 *
 * One thread, that of the connection, calls direct_take and direct_close. Any number call
 * direct_ask at once, though not beside direct_close. The memory of a home is replaced under them:
 * each reader is counted (users), and the old memory goes when nobody is in it.
 */
#ifndef RESEX_RING_DIRECT_H
#define RESEX_RING_DIRECT_H

#include <stdbool.h>

#include "resex/cache_ring.h"
#include "src/core/hostset.h"
#include "src/util/clock.h"

struct direct_home {
	const char *part;     /* VERSIONS, mapped; NULL: it is not there, or goes */
	const uint32_t *life; /* of its process: in the last page of the file */
	size_t bytes;
	uint32_t link;
	uint32_t users;
} __attribute__((aligned(64)));

struct direct {
	const struct cache_ring_view *view; /* NULL: not yet */
	size_t view_bytes;
	/* Of the view, as they were checked. */
	struct hostset homes;
	uint32_t words;
	struct direct_home home[REGION_HOSTS_MAX + 1];
};

/* All zeros is one that has nothing. */

/*
 * What the server sent. fd is direct's from here. 0, or -errno: -EPROTO: it is not what
 * cache_ring.h says; of the view also those of mmap(2).
 */
int direct_take(struct direct *d, const struct cache_ring_file *f, int fd);
void direct_close(struct direct *d);

struct direct_answer {
	uint32_t home, word;
	uint64_t version;
};

/* true: verified, by a READ that began in this call. false: ask by a slot; *a is unchanged. */
bool direct_ask(struct direct *d, struct clock *clock, uint64_t key, bool all,
		struct direct_answer *a);

#endif
