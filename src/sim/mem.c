// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: a guest's memory, one memfd, and the simulator's random figures.
/*
 * A frame number is the page's number in the memfd. Frames are allocated in a
 * shuffled order, as in a real guest's vmalloc memory: a ring's frames are not
 * contiguous, and a reader must map them one by one.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/core/random.h"
#include "src/sim/model.h"

uint64_t sim_rand(struct sim_rand *r)
{
	return random_next(&r->state);
}

uint64_t sim_rand_below(struct sim_rand *r, uint64_t n)
{
	return sim_rand(r) % n;
}

static void shuffle(struct sim_mem *m, struct sim_rand *r)
{
	/* Frame 0 is never allocated: an unset field must not look like a frame. */
	for (uint32_t i = 1; i < m->pages; i++)
		m->order[i - 1] = i;
	for (uint32_t left = m->pages - 1; left > 1; left--) {
		uint32_t i = left - 1, j = (uint32_t)sim_rand_below(r, left), tmp = m->order[i];

		m->order[i] = m->order[j];
		m->order[j] = tmp;
	}
}

int sim_mem_open(struct sim_mem *m, uint32_t pages, struct sim_rand *r)
{
	size_t bytes = (size_t)pages * GUEST_PAGE;
	int rc;

	*m = (struct sim_mem){ .fd = -1, .pages = pages, .base = MAP_FAILED };
	m->order = calloc(pages, sizeof(*m->order));
	if (!m->order)
		return -ENOMEM;
	m->fd = memfd_create("resex-sim-guest", MFD_CLOEXEC);
	if (m->fd < 0 || ftruncate(m->fd, (off_t)bytes) < 0)
		goto fail;
	m->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->base == MAP_FAILED)
		goto fail;
	shuffle(m, r);
	return 0;
fail:
	rc = -errno;
	sim_mem_close(m);
	return rc;
}

void sim_mem_close(struct sim_mem *m)
{
	if (m->base != MAP_FAILED)
		munmap(m->base, (size_t)m->pages * GUEST_PAGE);
	if (m->fd >= 0)
		close(m->fd);
	free(m->order);
	*m = (struct sim_mem){ .fd = -1, .base = MAP_FAILED };
}

/*
 * Not checked: dom.c sizes the memory by sim_agent_pages(), which counts all frames that
 * boot allocates.
 */
const uint32_t *sim_mem_take(struct sim_mem *m, uint32_t n)
{
	const uint32_t *frames = m->order + m->used;

	m->used += n;
	return frames;
}

void *sim_mem_page(const struct sim_mem *m, uint32_t frame)
{
	return m->base + (size_t)frame * GUEST_PAGE;
}
