// SPDX-License-Identifier: GPL-2.0-or-later
/* ring_view: the evidence of all homes, and the files of their words. See ring_view.h. */
#include "config.h"

#include "src/cached/ring_view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL };

/* Zeros without such a file: no client has zeros. */
static void name_clock(uint64_t clock[static 2])
{
	struct stat st;

	if (stat("/proc/self/ns/time", &st))
		return;
	clock[0] = st.st_dev;
	clock[1] = st.st_ino;
}

/* The mapping of before the seal stays the only one that can write. */
static void *make(int *fd)
{
	const size_t bytes = sizeof(struct cache_ring_view);
	void *at;

	*fd = memfd_create("resex-view", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0 || ftruncate(*fd, (off_t)bytes))
		return NULL;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	if (!fcntl(*fd, F_ADD_SEALS, SEALS))
		return at;
	munmap(at, bytes);
	return NULL;
}

int ring_view_open(struct ring_view *v, const struct hostset *homes, uint32_t words)
{
	*v = (struct ring_view){ .fd = -1 };
	for (uint32_t h = 0; h <= REGION_HOSTS_MAX; h++)
		v->home[h].fd = -1;
	v->mem = make(&v->fd);
	if (!v->mem) {
		int rc = -errno;

		ring_view_close(v);
		return rc;
	}
	v->mem->magic = CACHE_RING_VIEW_MAGIC;
	v->mem->version = CACHE_RING_VERSION;
	v->mem->words = words;
	memcpy(v->mem->homes, homes->word, sizeof(v->mem->homes));
	name_clock(v->mem->clock);
	return 0;
}

void ring_view_close(struct ring_view *v)
{
	for (uint32_t h = 1; h <= REGION_HOSTS_MAX; h++)
		ring_view_home(v, (uint16_t)h, 0, -1);
	if (v->mem)
		munmap(v->mem, sizeof(*v->mem));
	if (v->fd >= 0)
		close(v->fd);
	v->mem = NULL;
	v->fd = -1;
}

void ring_view_home(struct ring_view *v, uint16_t host, uint32_t link, int fd)
{
	struct ring_view_home *h = &v->home[host];

	if (h->fd >= 0)
		close(h->fd);
	h->fd = fd;
	h->link = link;
}

/*
 * A reader takes the link, then until, then the link again: evidence of a newer link is never taken
 * for that of an older one.
 */
void ring_view_put(struct ring_view *v, uint16_t host, uint32_t link, struct mono until)
{
	struct cache_ring_evidence *e = &v->mem->home[host];

	if (link != e->link) {
		__atomic_store_n(&e->until_ns, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&e->link, link, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&e->until_ns, link ? until.ns : 0, __ATOMIC_SEQ_CST);
}

int ring_view_file(const struct ring_view *v, uint16_t host, struct cache_ring_file *f)
{
	int fd = host ? v->home[host].fd : v->fd;

	*f = (struct cache_ring_file){ .magic = CACHE_RING_FILE_MAGIC,
				       .host = host,
				       .link = v->home[host].link };
	return fd;
}
