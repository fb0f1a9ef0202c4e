// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * scribble: a hostile guest. It replaces the agent by pages of its own and shows
 * dom0 a registry that is false in many ways, for a while; then it stays in two
 * known bad states, so that what dom0 reports of them can be compared:
 *
 *	PHASE storm	lies, noise and honest states in random turns
 *	PHASE ring	an honest registry, but the rings it names are rubbish
 *	PHASE registry	the registry page itself is rubbish
 *	DONE		waits to be killed
 *
 * Stop the agent first: both would write the same node.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <xengnttab.h>
#include <xenstore.h>

#include "resex/guest_abi.h"

enum { SHARED = 5, RING_PAGES = 8, RINGS = 24, HOLD_S = 6 };

/* What stands where in the shared pages. */
enum { REGISTRY, DIRECTORY, FRAMES, LATENCY, SPARE };

struct scribble {
	uint8_t *shared; /* granted, SHARED pages */
	uint8_t *ring;	 /* named by frame, RING_PAGES pages */
	uint32_t ref[SHARED];
	uint64_t frame[RING_PAGES];
	struct xs_handle *xs;
	uint64_t rng;
	uint32_t generation;
	uint64_t moves, node_writes;
};

static uint64_t rnd(struct scribble *s)
{
	uint64_t z = s->rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint32_t below(struct scribble *s, uint32_t n)
{
	return (uint32_t)(rnd(s) % n);
}

/* Values that break careless arithmetic, or any value. */
static uint32_t nasty(struct scribble *s)
{
	static const uint32_t edge[] = { 0,	     1,		2,	    31,		63,
					 64,	     255,	256,	    257,	4095,
					 4096,	     4097,	0x7fffffff, 0x80000000, 0xffff,
					 0xffffffff, 0xfffffffe };

	if (below(s, 2))
		return edge[below(s, sizeof(edge) / sizeof(edge[0]))];
	return (uint32_t)rnd(s);
}

static void noise(struct scribble *s, uint8_t *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)rnd(s);
}

static struct guest_registry *registry(const struct scribble *s)
{
	return (struct guest_registry *)(void *)(s->shared + REGISTRY * GUEST_PAGE);
}

static struct guest_directory *directory(const struct scribble *s)
{
	return (struct guest_directory *)(void *)(s->shared + DIRECTORY * GUEST_PAGE);
}

/* --- states ---------------------------------------------------------------- */

static struct guest_ring honest_ring(struct scribble *s, uint32_t i)
{
	return (struct guest_ring){
		.id = 1 + i + (s->generation & ~63u),
		.kind = (uint16_t)(i % 3 ? GUEST_RING_SQ : GUEST_RING_CQ),
		.provider = GUEST_PROVIDER_RXE,
		.number = 17 + i,
		.pid = 1,
		.elem_size = i % 3 ? 256 : 128,
		.entries = 8,
		.path_mtu = 1024,
		.first_frame = i % RING_PAGES,
		.frames = 1,
		.comm = "scribble",
	};
}

/* A registry as the agent would write it, but for the rings behind it. */
static void honest(struct scribble *s)
{
	struct guest_registry *r = registry(s);
	struct guest_directory *d = directory(s);
	struct guest_frames *f = (struct guest_frames *)(void *)(s->shared + FRAMES * GUEST_PAGE);

	s->generation += 2;
	memset(r, 0, sizeof(*r));
	memset(d, 0, sizeof(*d));
	r->magic = GUEST_REGISTRY_MAGIC;
	r->version = GUEST_ABI_VERSION;
	r->heartbeat = s->moves;
	r->directories = 1;
	r->frame_pages = 1;
	r->latencies = 1;
	r->frames = RING_PAGES;
	r->directory[0] = (struct guest_ref){ GUEST_REF_GRANT, 0, s->ref[DIRECTORY] };
	r->frame_page[0] = (struct guest_ref){ GUEST_REF_GRANT, 0, s->ref[FRAMES] };
	r->latency[0] = (struct guest_ref){ GUEST_REF_GRANT, 0, s->ref[LATENCY] };
	d->magic = GUEST_DIRECTORY_MAGIC;
	d->rings = RINGS;
	for (uint32_t i = 0; i < RINGS; i++)
		d->ring[i] = honest_ring(s, i);
	memcpy(f->frame, s->frame, sizeof(s->frame));
	__sync_synchronize();
	r->generation = s->generation;
}

/* A header as soft-RoCE writes it, over entries of noise. */
static void plausible_rings(struct scribble *s)
{
	for (uint32_t i = 0; i < RING_PAGES; i++) {
		uint32_t *h = (uint32_t *)(void *)(s->ring + i * GUEST_PAGE);

		h[0] = i % 3 ? 8 : 7;
		h[1] = 7;
		h[32] = below(s, 8);
		h[64] = below(s, 8);
	}
}

/* --- moves ------------------------------------------------------------------- */

static void move_noise(struct scribble *s)
{
	uint32_t at = below(s, SHARED * GUEST_PAGE - 1);
	uint32_t most = SHARED * GUEST_PAGE - at;

	noise(s, s->shared + at, 1 + below(s, most < 256 ? most : 256));
}

static void move_honest(struct scribble *s)
{
	honest(s);
	plausible_rings(s);
}

/* Honest but for a few words. */
static void move_lie(struct scribble *s)
{
	uint32_t lies = 1 + below(s, 4);

	honest(s);
	while (lies--) {
		uint32_t page = below(s, FRAMES + 1);
		uint32_t word = below(s, 4) ? below(s, 160) : below(s, GUEST_PAGE / 4);

		((uint32_t *)(void *)(s->shared + page * GUEST_PAGE))[word] = nasty(s);
	}
}

/* Pages named that are not there, not ours, or ever the same one. */
static void move_refs(struct scribble *s)
{
	struct guest_registry *r = registry(s);

	honest(s);
	r->directories = below(s, 2 * GUEST_DIRECTORIES_MAX);
	r->frame_pages = below(s, 2 * GUEST_FRAME_PAGES_MAX);
	r->frames = nasty(s);
	for (uint32_t i = 0; i < GUEST_DIRECTORIES_MAX; i++)
		r->directory[i] = (struct guest_ref){ below(s, 4), 0,
						      below(s, 2) ? nasty(s) : s->ref[DIRECTORY] };
	for (uint32_t i = 0; i < GUEST_FRAME_PAGES_MAX; i++)
		r->frame_page[i] = (struct guest_ref){ below(s, 4), 0,
						       below(s, 2) ? rnd(s) : s->frame[0] };
}

/* Live rings whose header and entries change under the reader. */
static void move_rings(struct scribble *s)
{
	for (int i = 0; i < 200; i++) {
		uint8_t *page = s->ring + below(s, RING_PAGES) * GUEST_PAGE;
		uint32_t word = below(s, 3) ? 32 * below(s, 3) + below(s, 2)
					    : below(s, GUEST_PAGE / 4);

		((volatile uint32_t *)(void *)page)[word] = below(s, 2) ? below(s, 16) : nasty(s);
	}
}

static void move_generations(struct scribble *s)
{
	volatile uint32_t *g = &registry(s)->generation;

	for (int i = 0; i < 2000; i++)
		*g += below(s, 3);
}

static void move_node(struct scribble *s)
{
	char value[128];
	unsigned int len;

	switch (below(s, 5)) {
	case 0:
		len = 1 + below(s, sizeof(value) - 1);
		noise(s, (uint8_t *)value, len);
		break;
	case 1:
		len = (unsigned int)snprintf(value, sizeof(value), "%u %s %" PRIu64, below(s, 3),
					     below(s, 2) ? "grant" : "frame", rnd(s));
		break;
	default:
		len = (unsigned int)snprintf(value, sizeof(value), "2 grant %u", s->ref[REGISTRY]);
		break;
	}
	xs_write(s->xs, XBT_NULL, GUEST_ABI_NODE, value, len);
	s->node_writes++;
}

static void (*const moves[])(struct scribble *s) = {
	move_noise, move_honest, move_lie, move_refs, move_rings, move_generations, move_node,
};

/* --- the run ------------------------------------------------------------------- */

static uint64_t frame_of(int pagemap, const void *p)
{
	uint64_t entry = 0;

	if (pread(pagemap, &entry, sizeof(entry), (off_t)((uintptr_t)p / GUEST_PAGE * 8)) !=
	    (ssize_t)sizeof(entry))
		return 0;
	return entry >> 63 ? entry & ((1ull << 55) - 1) : 0;
}

static bool make_pages(struct scribble *s)
{
	const size_t bytes = RING_PAGES * GUEST_PAGE;
	xengntshr_handle *shr = xengntshr_open(NULL, 0);
	int fd = open("/proc/self/pagemap", O_RDONLY);

	s->xs = xs_open(0);
	if (!shr || fd < 0 || !s->xs)
		return false;
	s->shared = xengntshr_share_pages(shr, 0, SHARED, s->ref, 0);
	s->ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (!s->shared || s->ring == MAP_FAILED || mlock(s->ring, bytes))
		return false;
	for (uint32_t i = 0; i < RING_PAGES; i++)
		s->frame[i] = frame_of(fd, s->ring + i * GUEST_PAGE);
	close(fd);
	return true;
}

static void set_node(struct scribble *s)
{
	char value[GUEST_ABI_NODE_MAX];
	int len = snprintf(value, sizeof(value), "2 grant %u", s->ref[REGISTRY]);

	xs_write(s->xs, XBT_NULL, GUEST_ABI_NODE, value, (unsigned int)len);
}

static void storm(struct scribble *s, unsigned int seconds)
{
	time_t end = time(NULL) + (time_t)seconds;

	while (time(NULL) < end) {
		moves[below(s, sizeof(moves) / sizeof(moves[0]))](s);
		s->moves++;
		if (below(s, 2)) /* states that stand long enough to be read */
			usleep(below(s, 20000));
	}
}

static void hold(struct scribble *s, const char *phase, bool beat)
{
	printf("PHASE %s\n", phase);
	fflush(stdout);
	for (unsigned int i = 0; i < HOLD_S; i++) {
		sleep(1);
		if (beat)
			registry(s)->heartbeat++;
	}
}

int main(int argc, char **argv)
{
	struct scribble s = { 0 };
	unsigned int seconds = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 10;

	if (argc > 2)
		s.rng = strtoull(argv[2], NULL, 10);
	else if (getrandom(&s.rng, sizeof(s.rng), 0) != (ssize_t)sizeof(s.rng))
		return 1;
	if (!make_pages(&s)) {
		fputs("scribble: no pages, grants or xenstore: run it as root in a guest\n",
		      stderr);
		return 1;
	}
	printf("SCRIBBLE seed %" PRIu64 "\nPHASE storm\n", s.rng);
	fflush(stdout);
	set_node(&s);
	storm(&s, seconds);
	printf("MOVES %" PRIu64 " node %" PRIu64 "\n", s.moves, s.node_writes);
	honest(&s);
	noise(&s, s.ring, RING_PAGES * GUEST_PAGE);
	set_node(&s);
	hold(&s, "ring", true);
	noise(&s, s.shared, GUEST_PAGE);
	hold(&s, "registry", false);
	puts("DONE");
	fflush(stdout);
	for (;;)
		pause();
}
