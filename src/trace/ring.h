/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring: records from the sampler to the thread that writes the file, without locks and without a
 * copy: the sampler fills a record in the place where the other thread reads it. The sampler never
 * waits: when there is no room, the recording ends.
 *
 * A record is 8 bytes aligned, and lies in one piece: the rest of the ring before a record that
 * does not fit there is a record of kind 0, which the reader skips.
 *
 * When the reader has taken all, the writer may begin at the front of the memory again: the few
 * pages there stay in caches, and so do their translations.
 */
#ifndef RESEX_TRACE_RING_H
#define RESEX_TRACE_RING_H

#include <stdatomic.h>

#include "src/trace/format.h"

enum {
	/* A power of two. The state of 256 guests at the start takes 4.3 MB at most. */
	TRACE_RING_BYTES = 8 << 20,
	TRACE_RING_HEAD = 8,	     /* bytes before a record's payload */
	TRACE_RING_FRONT = 64 << 10, /* the writer goes so far before it begins there again */
};

struct trace_ring {
	_Atomic uint64_t head; /* of the writer: bytes put since the start */
	uint64_t tail_seen;    /* the writer's: the newest tail that it has read */
	_Atomic uint64_t base; /* of the writer: the count of bytes that is at the front */
	uint8_t at[TRACE_RING_BYTES];
	_Atomic uint64_t tail; /* of the reader: bytes taken; far from what the writer uses */
};

/* What stands before a payload, which is filled up to a multiple of 8 bytes. */
struct trace_ring_head {
	uint32_t kind; /* enum trace_kind, or 0 */
	uint32_t bytes;
};

/* Where the byte of this count is. Read the head before it. */
static inline uint64_t trace_ring_place(const struct trace_ring *r, uint64_t count)
{
	return (count - atomic_load_explicit(&r->base, memory_order_relaxed)) % TRACE_RING_BYTES;
}

static inline uint64_t trace_ring_size(uint32_t bytes)
{
	return TRACE_RING_HEAD + (((uint64_t)bytes + 7) & ~7ull);
}

/* Writer. */
static inline void trace_ring_head_fill(uint8_t *record, enum trace_kind kind, uint32_t bytes)
{
	const struct trace_ring_head h = { kind, bytes };

	memcpy(record, &h, sizeof(h));
}

/* Writer: is there room, as far as is known; and what does the reader say now? */
static inline bool trace_ring_fits(struct trace_ring *r, uint64_t end)
{
	if (end - r->tail_seen <= TRACE_RING_BYTES)
		return true;
	r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
	return end - r->tail_seen <= TRACE_RING_BYTES;
}

/*
 * Writer: begin at the front again, if there is nothing that the reader may read. It reads base
 * only after it has seen a head beyond this one.
 */
static inline void trace_ring_turn(struct trace_ring *r, uint64_t head)
{
	if (trace_ring_place(r, head) < TRACE_RING_FRONT)
		return;
	r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
	if (r->tail_seen == head)
		atomic_store_explicit(&r->base, head, memory_order_relaxed);
}

/*
 * Writer: where the next records go, n bytes together at most, a multiple of 8. NULL: there is no
 * room.
 */
static inline uint8_t *trace_ring_room(struct trace_ring *r, uint32_t n)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t left, skipped;

	trace_ring_turn(r, head);
	left = TRACE_RING_BYTES - trace_ring_place(r, head);
	skipped = left < n ? left : 0;
	if (!trace_ring_fits(r, head + skipped + n))
		return NULL;
	if (skipped) {
		trace_ring_head_fill(r->at + trace_ring_place(r, head), 0,
				     (uint32_t)skipped - TRACE_RING_HEAD);
		atomic_store_explicit(&r->head, head + skipped, memory_order_release);
	}
	return r->at + trace_ring_place(r, head + skipped);
}

/* Writer: show the reader the records in so many bytes of that room. */
static inline void trace_ring_put(struct trace_ring *r, uint64_t n)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	atomic_store_explicit(&r->head, head + n, memory_order_release);
}

/* Reader: the payload of the oldest record, up to trace_ring_got. NULL: there is none. */
static inline const uint8_t *trace_ring_oldest(struct trace_ring *r, struct trace_ring_head *h)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);

	while (tail != head) {
		const uint8_t *record = r->at + trace_ring_place(r, tail);

		memcpy(h, record, sizeof(*h));
		if (h->kind)
			return record + TRACE_RING_HEAD;
		tail += trace_ring_size(h->bytes);
		atomic_store_explicit(&r->tail, tail, memory_order_release);
	}
	return NULL;
}

/* Reader: the writer may overwrite the oldest record, whose head this is. */
static inline void trace_ring_got(struct trace_ring *r, const struct trace_ring_head *h)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	atomic_store_explicit(&r->tail, tail + trace_ring_size(h->bytes), memory_order_release);
}

#endif
