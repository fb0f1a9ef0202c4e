/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spsc: values from one thread to another ("single producer, single consumer"). No lock, and
 * neither thread waits for the other. The values are in arrays of the user's; this file says
 * which element each thread may use now.
 *
 *	spsc_latest	the newest whole value: of three elements, one is the writer's, one the
 *			reader's, and one is on its way
 *	spsc_ring	each value, in order, while there is room
 *
 * The writer calls the functions marked "writer", the reader those marked "reader".
 */
#ifndef RESEX_CORE_SPSC_H
#define RESEX_CORE_SPSC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SPSC_BUFFERS = 3, SPSC_NEW = 4 };

struct spsc_latest {
	_Atomic uint32_t middle; /* index, | SPSC_NEW when newer than the reader's */
	uint32_t back;		 /* the writer's */
	uint32_t front;		 /* the reader's */
};

/* Before either thread uses it. */
static inline void spsc_latest_init(struct spsc_latest *l)
{
	l->back = 0;
	atomic_init(&l->middle, 1);
	l->front = 2;
}

/*
 * Writer: element back has a whole value. One exchange hands it over: the reader has the former
 * value or this one, never parts of both. A value that the reader did not fetch is overwritten
 * next.
 */
static inline void spsc_latest_put(struct spsc_latest *l)
{
	uint32_t old = atomic_exchange_explicit(&l->middle, l->back | SPSC_NEW,
						memory_order_acq_rel);

	l->back = old & 3u;
}

/* Reader: is there a newer value than at the last spsc_latest_get? */
static inline bool spsc_latest_is_new(const struct spsc_latest *l)
{
	return atomic_load_explicit(&l->middle, memory_order_relaxed) & SPSC_NEW;
}

/*
 * Reader: make the newest value element front, which the writer does not touch until the next
 * call. True: it is a newer one than at the last call.
 */
static inline bool spsc_latest_get(struct spsc_latest *l)
{
	uint32_t mid;

	if (!spsc_latest_is_new(l))
		return false;
	/* The exchange returns the reader's element to the middle. */
	mid = atomic_exchange_explicit(&l->middle, l->front, memory_order_acq_rel);
	l->front = mid & 3u;
	return true;
}

/*
 * head and tail only grow and wrap as unsigned numbers, so their difference is the number of values
 * in the ring. Its room, the same in all calls, is a power of two. Zeroed at first.
 */
struct spsc_ring {
	_Atomic uint32_t head;	   /* of the writer */
	_Atomic uint32_t tail;	   /* of the reader */
	_Atomic uint64_t overflow; /* values that found no room */
};

/* Writer: the element to fill in, then spsc_ring_put. -1: there is no room, which is counted. */
static inline int64_t spsc_ring_free(struct spsc_ring *r, uint32_t room)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);

	if (head - tail >= room) {
		atomic_fetch_add_explicit(&r->overflow, 1, memory_order_relaxed);
		return -1;
	}
	return head % room;
}

/* The value is stored before the head that shows it. */
static inline void spsc_ring_put(struct spsc_ring *r)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

/* Reader: the element of the oldest value: copy it, then spsc_ring_got. -1: there is none. */
static inline int64_t spsc_ring_oldest(struct spsc_ring *r, uint32_t room)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&r->head, memory_order_acquire);

	return head == tail ? -1 : (int64_t)(tail % room);
}

/* From now on the writer may overwrite the element. */
static inline void spsc_ring_got(struct spsc_ring *r)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

#endif
