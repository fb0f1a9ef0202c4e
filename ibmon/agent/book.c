// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * book: rings, latencies and load -> the pages that dom0 reads (resex/guest_abi.h). agent.c,
 * latency_socket.c and load_page.c call it. See book.h.
 *
 * The agent keeps its own account of what is published; it reads back from the pages only
 * references that it wrote.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/agent/book.h"
#include "src/shared/record.h"

enum { FRAMES_MAX = GUEST_FRAME_PAGES_MAX * GUEST_FRAMES_PER_PAGE };

/* A published ring: its place in the pages. id 0: free. */
struct entry {
	uint32_t id, first_frame, frames;
};

struct latency {
	struct guest_latency *page;
	struct guest_ref ref;
	uint64_t written, dropped;
	bool used;
};

struct book {
	const struct pages_ops *ops;
	struct pages *pages;
	struct guest_registry *reg;
	struct guest_ref ref;
	uint32_t generation;
	uint64_t heartbeat;
	uint32_t next_id, rings;
	uint64_t sqs;			   /* ids given to send queues */
	uint32_t directories, frame_pages; /* with a page each */
	struct guest_directory *directory[GUEST_DIRECTORIES_MAX];
	struct guest_frames *frame_page[GUEST_FRAME_PAGES_MAX];
	struct latency latency[GUEST_LATENCIES_MAX];
	struct guest_load_page *load; /* NULL: none */
	struct guest_ref load_ref;
	struct entry entry[GUEST_DIRECTORIES_MAX * GUEST_RINGS_PER_DIRECTORY];
};

/*
 * Readers see all writes before this one before any write after it. The host reads these
 * pages from another CPU at any moment, also while they change.
 */
static void publish_barrier(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Atomic, so that the compiler cannot split the store. */
static void put32(uint32_t *at, uint32_t v)
{
	__atomic_store_n(at, v, __ATOMIC_RELAXED);
}

static void put64(uint64_t *at, uint64_t v)
{
	__atomic_store_n(at, v, __ATOMIC_RELAXED);
}

/*
 * An odd generation tells readers that the registry is changing. The agent counts in its
 * own memory.
 */
void book_begin(struct book *b)
{
	put32(&b->reg->generation, ++b->generation);
	publish_barrier();
}

void book_end(struct book *b)
{
	publish_barrier();
	put32(&b->reg->generation, ++b->generation);
}

/* The generation is odd until all is written. */
int book_open(struct book **out, const struct pages_ops *ops, struct pages *p, uint32_t agent_pid)
{
	struct book *b = calloc(1, sizeof(*b));
	void *mem;
	int rc;

	if (!b)
		return -ENOMEM;
	b->ops = ops;
	b->pages = p;
	b->next_id = 1;
	rc = ops->get(p, &mem, &b->ref);
	if (rc) {
		free(b);
		return rc;
	}
	b->reg = (struct guest_registry *)mem;
	book_begin(b);
	b->reg->version = GUEST_ABI_VERSION;
	b->reg->agent_pid = agent_pid;
	b->reg->magic = GUEST_REGISTRY_MAGIC;
	book_end(b);
	*out = b;
	return 0;
}

/*
 * Readers that still map the page find an empty registry. The pages themselves are the
 * setup's.
 */
void book_close(struct book *b)
{
	if (!b)
		return;
	book_begin(b);
	put32(&b->reg->directories, 0);
	put32(&b->reg->frame_pages, 0);
	put32(&b->reg->latencies, 0);
	put32(&b->reg->frames, 0);
	b->reg->load = (struct guest_ref){ 0 };
	book_end(b);
	free(b);
}

struct guest_ref book_ref(const struct book *b)
{
	return b->ref;
}

uint32_t book_rings(const struct book *b)
{
	return b->rings;
}

static struct guest_ring *descriptor(struct book *b, size_t slot)
{
	struct guest_directory *d = b->directory[slot / GUEST_RINGS_PER_DIRECTORY];

	return &d->ring[slot % GUEST_RINGS_PER_DIRECTORY];
}

/*
 * The first free slot, with a directory page for it. Slots are used again, ids never:
 * readers tell rings apart by id.
 */
static int allocate_slot(struct book *b, size_t *slot)
{
	size_t i = 0;

	if (b->rings == GUEST_RINGS_MAX)
		return -ENOSPC;
	while (b->entry[i].id) /* ends: there are more slots than GUEST_RINGS_MAX */
		i++;
	if (i / GUEST_RINGS_PER_DIRECTORY == b->directories) {
		uint32_t n = b->directories;
		void *mem;
		int rc = b->ops->get(b->pages, &mem, &b->reg->directory[n]);

		if (rc)
			return rc;
		b->directory[n] = (struct guest_directory *)mem;
		b->directory[n]->magic = GUEST_DIRECTORY_MAGIC;
		b->directory[n]->rings = GUEST_RINGS_PER_DIRECTORY;
		b->directories++;
		put32(&b->reg->directories, b->directories);
	}
	*slot = i;
	return 0;
}

/*
 * The ring with the lowest first frame at or above at; NULL: none. A linear search: there
 * are at most GUEST_RINGS_MAX rings, and rings appear seldom.
 */
static const struct entry *next_above(const struct book *b, uint32_t at)
{
	const struct entry *best = NULL;

	for (size_t i = 0; i < sizeof(b->entry) / sizeof(b->entry[0]); i++) {
		const struct entry *e = &b->entry[i];

		if (e->id && e->first_frame >= at && (!best || e->first_frame < best->first_frame))
			best = e;
	}
	return best;
}

/*
 * The first gap of n entries in the list of frames, with pages for it. A ring's frames must
 * be contiguous in the list, because its descriptor has a first entry and a number.
 */
static int allocate_frames(struct book *b, uint32_t n, uint32_t *first)
{
	const struct entry *e;
	uint32_t at = 0;

	while ((e = next_above(b, at)) != NULL && e->first_frame - at < n)
		at = e->first_frame + e->frames;
	if (at + n > FRAMES_MAX)
		return -ENOSPC;
	while (b->frame_pages * GUEST_FRAMES_PER_PAGE < at + n) {
		void *mem;
		int rc = b->ops->get(b->pages, &mem, &b->reg->frame_page[b->frame_pages]);

		if (rc)
			return rc;
		b->frame_page[b->frame_pages++] = (struct guest_frames *)mem;
		put32(&b->reg->frame_pages, b->frame_pages);
	}
	*first = at;
	return 0;
}

/* Publish the length of the list of frames. */
static void put_frames_end(struct book *b)
{
	uint32_t end = 0;

	for (size_t i = 0; i < sizeof(b->entry) / sizeof(b->entry[0]); i++) {
		const struct entry *e = &b->entry[i];

		if (e->id && e->first_frame + e->frames > end)
			end = e->first_frame + e->frames;
	}
	put32(&b->reg->frames, end);
}

static bool power_of_two(uint32_t v, uint32_t min, uint32_t max)
{
	return v >= min && v <= max && !(v & (v - 1));
}

/*
 * The ranges that the guest ABI allows. Readers count a ring outside them as a fault of this
 * guest: do not publish it at all.
 */
static bool in_ranges(const struct guest_ring *r)
{
	return (r->kind == GUEST_RING_SQ || r->kind == GUEST_RING_CQ) &&
	       power_of_two(r->elem_size, GUEST_RING_ELEM_MIN, GUEST_RING_ELEM_MAX) &&
	       power_of_two(r->entries, 2, 1u << 20) && r->offset < GUEST_PAGE && r->frames >= 1 &&
	       r->frames <= GUEST_RING_FRAMES_MAX;
}

/* Frames first, then the descriptor that names them. */
int book_add(struct book *b, const struct guest_ring *r, const uint64_t *frame, uint32_t *id)
{
	struct guest_ring *d;
	uint32_t first;
	size_t slot;
	int rc;

	if (!in_ranges(r))
		return -EINVAL;
	rc = allocate_frames(b, r->frames, &first);
	if (rc == 0)
		rc = allocate_slot(b, &slot);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < r->frames; i++) {
		uint32_t at = first + i;
		struct guest_frames *page = b->frame_page[at / GUEST_FRAMES_PER_PAGE];

		put64(&page->frame[at % GUEST_FRAMES_PER_PAGE], frame[i]);
	}
	b->entry[slot] = (struct entry){ b->next_id++, first, r->frames };
	d = descriptor(b, slot);
	memcpy(d, r, sizeof(*d));
	d->id = b->entry[slot].id;
	d->first_frame = first;
	put_frames_end(b);
	b->rings++;
	if (d->kind == GUEST_RING_SQ)
		put64(&b->reg->sqs_published, ++b->sqs);
	*id = d->id;
	return 0;
}

void book_unseen(struct book *b, uint64_t queue_pairs)
{
	put64(&b->reg->qps_unseen, queue_pairs);
}

void book_unpublished(struct book *b, uint32_t queue_pairs)
{
	put32(&b->reg->qps_unpublished, queue_pairs);
}

void book_remove(struct book *b, uint32_t id)
{
	for (size_t i = 0; id && i < sizeof(b->entry) / sizeof(b->entry[0]); i++) {
		if (b->entry[i].id != id)
			continue;
		memset(descriptor(b, i), 0, sizeof(struct guest_ring));
		b->entry[i] = (struct entry){ 0 };
		b->rings--;
		put_frames_end(b);
		return;
	}
}

/* Publish the list of used latency pages, in order of index. */
static void put_latencies(struct book *b)
{
	uint32_t n = 0;

	for (size_t i = 0; i < GUEST_LATENCIES_MAX; i++)
		if (b->latency[i].used)
			b->reg->latency[n++] = b->latency[i].ref;
	put32(&b->reg->latencies, n);
	for (; n < GUEST_LATENCIES_MAX; n++)
		b->reg->latency[n] = (struct guest_ref){ 0 };
}

int book_latency_add(struct book *b, uint32_t pid, const char *comm, unsigned int *index)
{
	struct latency *l = b->latency;
	unsigned int i = 0;

	while (i < GUEST_LATENCIES_MAX && l[i].used)
		i++;
	if (i == GUEST_LATENCIES_MAX)
		return -ENOSPC;
	if (!l[i].page) {
		void *mem;
		int rc = b->ops->get(b->pages, &mem, &l[i].ref);

		if (rc)
			return rc;
		l[i].page = (struct guest_latency *)mem;
	}
	/*
	 * The page may have been another process's: its samples must not be shown as this
	 * one's.
	 */
	memset(l[i].page, 0, sizeof(*l[i].page));
	l[i].page->magic = GUEST_LATENCY_MAGIC;
	l[i].page->pid = pid;
	memcpy(l[i].page->comm, comm, strnlen(comm, sizeof(l[i].page->comm) - 1));
	l[i].written = l[i].dropped = 0;
	l[i].used = true;
	put_latencies(b);
	*index = i;
	return 0;
}

void book_latency_remove(struct book *b, unsigned int index)
{
	b->latency[index].used = false;
	memset(b->latency[index].page, 0, sizeof(*b->latency[index].page));
	put_latencies(b);
}

void book_latency_dropped(struct book *b, unsigned int index, uint32_t n)
{
	b->latency[index].dropped += n; /* published with the next sample */
}

/* The order of guest_abi.h: a reader drops what is being overwritten. */
void book_latency_put(struct book *b, unsigned int index, const struct guest_latency_sample *s,
		      uint32_t n, uint64_t time)
{
	struct latency *l = &b->latency[index];

	put64(&l->page->writing, l->written + n);
	publish_barrier();
	for (uint32_t i = 0; i < n; i++) {
		struct guest_latency_sample *at =
			&l->page->sample[(l->written + i) % GUEST_LATENCY_SAMPLES];

		put32(&at->ctime_ns, s[i].ctime_ns);
		put32(&at->wtime_ns, s[i].wtime_ns);
		put32(&at->ptime_ns, s[i].ptime_ns);
	}
	put64(&l->page->time, time);
	put64(&l->page->dropped, l->dropped);
	publish_barrier();
	l->written += n;
	put64(&l->page->written, l->written);
}

int book_load_open(struct book *b)
{
	void *mem;
	int rc = b->ops->get(b->pages, &mem, &b->load_ref);

	if (rc)
		return rc;
	b->load = (struct guest_load_page *)mem;
	b->load->magic = GUEST_LOAD_MAGIC;
	book_begin(b);
	b->reg->load = b->load_ref;
	book_end(b);
	return 0;
}

void book_load_put(struct book *b, struct load_record *r)
{
	record_write(&b->load->record, &r->head, REGION_LOAD, sizeof(*r));
}

struct load_record *book_load_record(struct book *b)
{
	return &b->load->record;
}

/* Update *ref if the page has moved. 0 or -errno. */
static int renew_page(struct book *b, const void *mem, struct guest_ref *ref, bool *moved)
{
	int rc = b->ops->renew(b->pages, mem, ref);

	if (rc == 1)
		*moved = true;
	return rc < 0 ? rc : 0;
}

/*
 * Update the references of all pages but the registry into now. Only pages that are shared
 * by frame number can move; for the other kinds renew does nothing.
 */
static int renew_all(struct book *b, struct guest_registry *now, bool *moved)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < b->directories; i++)
		rc = renew_page(b, b->directory[i], &now->directory[i], moved);
	for (uint32_t i = 0; rc == 0 && i < b->frame_pages; i++)
		rc = renew_page(b, b->frame_page[i], &now->frame_page[i], moved);
	for (size_t i = 0; rc == 0 && i < GUEST_LATENCIES_MAX; i++)
		if (b->latency[i].page)
			rc = renew_page(b, b->latency[i].page, &b->latency[i].ref, moved);
	if (rc == 0 && b->load)
		rc = renew_page(b, b->load, &b->load_ref, moved);
	return rc;
}

int book_beat(struct book *b)
{
	struct guest_registry now; /* new references, collected before readers have to wait */
	bool moved = false, home = false;
	int rc;

	put64(&b->reg->heartbeat, ++b->heartbeat);
	memcpy(now.directory, b->reg->directory, sizeof(now.directory));
	memcpy(now.frame_page, b->reg->frame_page, sizeof(now.frame_page));
	rc = renew_all(b, &now, &moved);
	if (rc == 0)
		rc = renew_page(b, b->reg, &b->ref, &home);
	if (moved) {
		book_begin(b);
		memcpy(b->reg->directory, now.directory, sizeof(now.directory));
		memcpy(b->reg->frame_page, now.frame_page, sizeof(now.frame_page));
		put_latencies(b);
		b->reg->load = b->load_ref;
		book_end(b);
	}
	return rc ? rc : home;
}
