// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fake_guest: a memfd as guest memory, with a registry in it, and hv_mem ops that count
 * and check. The tests of ibmon and of the guests map it. See fake_guest.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "tests/fakes/fake_guest.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int fake_open(struct hv_mem **m, void *arg)
{
	*m = arg;
	return 0;
}

static void fake_close_mem(struct hv_mem *m)
{
	(void)m;
}

static int check_frame(const struct hv_mem *m, uint64_t frame)
{
	if (m->denied && frame >= m->denied)
		return m->err;
	return frame == 0 || frame >= FAKE_FRAMES ? -EINVAL : 0;
}

static void remember(struct hv_mem *m, const volatile void *addr, size_t n)
{
	assert(m->mappings < sizeof(m->mapping) / sizeof(m->mapping[0]));
	m->mapping[m->mappings++] = (struct fake_mapping){ addr, n };
	m->pages += n;
	if (m->pages > m->most)
		m->most = m->pages;
}

static int fake_map(struct hv_mem *m, uint32_t domid, size_t n, const uint64_t *frames,
		    const volatile void **addr, size_t *bad)
{
	uint8_t *p;

	m->calls++;
	if (domid != FAKE_DOMID)
		return -ESRCH;
	if (n == 0 || n > 4096)
		return -E2BIG;
	for (size_t i = 0; i < n; i++) {
		int ret = check_frame(m, frames[i]);

		if (ret && bad)
			*bad = i;
		if (ret)
			return ret;
	}
	p = mmap(NULL, n * HV_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert(p != MAP_FAILED);
	for (size_t i = 0; i < n; i++) {
		void *q = mmap(p + i * HV_PAGE, HV_PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, m->fd,
			       (off_t)(frames[i] * HV_PAGE));
		assert(q != MAP_FAILED);
	}
	remember(m, p, n);
	*addr = p;
	return 0;
}

static int fake_map_grant(struct hv_mem *m, uint32_t domid, uint32_t ref,
			  const volatile void **addr)
{
	uint64_t frame = ref;

	return fake_map(m, domid, 1, &frame, addr, NULL);
}

static void fake_unmap(struct hv_mem *m, const volatile void *addr, size_t n)
{
	uint32_t i = 0;

	while (i < m->mappings && m->mapping[i].addr != addr)
		i++;
	assert(i < m->mappings && m->mapping[i].n == n); /* else: never mapped, or not so */
	m->mapping[i] = m->mapping[--m->mappings];
	m->pages -= n;
	munmap((void *)(uintptr_t)addr, n * HV_PAGE);
}

static int fake_verify(struct hv_mem *m, uint32_t domid, size_t n, const uint64_t *frames,
		       const volatile void *addr)
{
	(void)addr;
	if (domid != FAKE_DOMID)
		return -ESRCH;
	for (size_t i = 0; i < n; i++)
		if (m->moved && frames[i] == m->moved)
			return -ESTALE;
	return 0;
}

static void fake_stats(struct hv_mem *m, uint64_t *calls, uint64_t *pages)
{
	*calls = m->calls;
	*pages = m->pages;
}

const struct hv_mem_ops fake_mem_ops = {
	.open = fake_open,
	.close = fake_close_mem,
	.map = fake_map,
	.map_grant = fake_map_grant,
	.unmap = fake_unmap,
	.verify = fake_verify,
	.stats = fake_stats,
};

void *fake_page(struct fake_guest *g, uint64_t frame)
{
	assert(frame < FAKE_FRAMES);
	return g->m.all + frame * HV_PAGE;
}

struct guest_registry *fake_registry(struct fake_guest *g)
{
	return fake_page(g, FAKE_FRAME_REGISTRY);
}

struct guest_ref fake_guest_ref(void)
{
	return (struct guest_ref){ .type = GUEST_REF_FRAME, .ref = FAKE_FRAME_REGISTRY };
}

void fake_guest_open(struct fake_guest *g)
{
	struct guest_registry *r;

	memset(g, 0, sizeof(*g));
	g->next = FAKE_FRAME_RINGS;
	g->m.fd = memfd_create("fake guest", MFD_CLOEXEC);
	assert(g->m.fd >= 0 && ftruncate(g->m.fd, (off_t)FAKE_FRAMES * HV_PAGE) == 0);
	g->m.all = mmap(NULL, (size_t)FAKE_FRAMES * HV_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			g->m.fd, 0);
	assert(g->m.all != MAP_FAILED);
	r = fake_registry(g);
	r->magic = GUEST_REGISTRY_MAGIC;
	r->version = GUEST_ABI_VERSION;
	r->generation = 2;
	r->agent_pid = 100;
	r->heartbeat = 1;
}

void fake_guest_close(struct fake_guest *g)
{
	assert(g->m.mappings == 0 && g->m.pages == 0);
	munmap(g->m.all, (size_t)FAKE_FRAMES * HV_PAGE);
	close(g->m.fd);
}

struct guest_ring *fake_ring_at(struct fake_guest *g, uint32_t i)
{
	struct guest_directory *d = fake_page(g,
					      FAKE_FRAME_DIRECTORY + i / GUEST_RINGS_PER_DIRECTORY);

	return &d->ring[i % GUEST_RINGS_PER_DIRECTORY];
}

uint64_t *fake_frame_at(struct fake_guest *g, uint32_t i)
{
	struct guest_frames *f = fake_page(g, FAKE_FRAME_LIST + i / GUEST_FRAMES_PER_PAGE);

	return &f->frame[i % GUEST_FRAMES_PER_PAGE];
}

void fake_write_begin(struct fake_guest *g)
{
	__atomic_add_fetch(&fake_registry(g)->generation, 1, __ATOMIC_SEQ_CST);
}

void fake_write_end(struct fake_guest *g)
{
	__atomic_add_fetch(&fake_registry(g)->generation, 1, __ATOMIC_SEQ_CST);
}

static void need_directory(struct fake_guest *g, uint32_t i)
{
	struct guest_registry *r = fake_registry(g);
	uint32_t n = i / GUEST_RINGS_PER_DIRECTORY;
	struct guest_directory *d = fake_page(g, FAKE_FRAME_DIRECTORY + n);

	if (n >= r->directories) {
		r->directory[n] = (struct guest_ref){ GUEST_REF_FRAME, 0,
						      FAKE_FRAME_DIRECTORY + n };
		r->directories = n + 1;
		d->magic = GUEST_DIRECTORY_MAGIC;
	}
	d->rings = i % GUEST_RINGS_PER_DIRECTORY + 1;
}

static void need_frames(struct fake_guest *g, uint32_t n)
{
	struct guest_registry *r = fake_registry(g);
	uint32_t pages = (g->frames + n + GUEST_FRAMES_PER_PAGE - 1) / GUEST_FRAMES_PER_PAGE;

	for (uint32_t i = r->frame_pages; i < pages; i++)
		r->frame_page[i] = (struct guest_ref){ GUEST_REF_FRAME, 0, FAKE_FRAME_LIST + i };
	if (pages > r->frame_pages)
		r->frame_pages = pages;
	r->frames = g->frames + n;
}

uint32_t fake_add_sq(struct fake_guest *g, uint32_t id, uint32_t slots)
{
	uint32_t pages = (384 + slots * 256 + HV_PAGE - 1) / HV_PAGE, i = g->rings++;
	struct guest_ring *d;

	need_directory(g, i);
	need_frames(g, pages);
	d = fake_ring_at(g, i);
	*d = (struct guest_ring){ .id = id,
				  .kind = GUEST_RING_SQ,
				  .provider = GUEST_PROVIDER_RXE,
				  .number = 16 + id,
				  .pid = 4711,
				  .elem_size = 256,
				  .entries = slots,
				  .path_mtu = 1024,
				  .first_frame = g->frames,
				  .frames = pages,
				  .comm = "fake" };
	for (uint32_t f = 0; f < pages; f++)
		*fake_frame_at(g, g->frames + f) = g->next + f;
	g->frames += pages;
	g->next += pages;
	memcpy(fake_ring_mem(g, i), &(uint32_t[]){ 8, slots - 1 }, 8);
	return i;
}

uint8_t *fake_ring_mem(struct fake_guest *g, uint32_t i)
{
	const struct guest_ring *d = fake_ring_at(g, i);

	return (uint8_t *)fake_page(g, *fake_frame_at(g, d->first_frame)) + d->offset;
}
