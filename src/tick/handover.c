// SPDX-License-Identifier: GPL-2.0-or-later
/* handover: events and snapshots from the sampler to control, without locks. See handover.h. */
#include "src/tick/handover.h"

#include <errno.h>
#include <unistd.h>

/*
 * An eventfd's write waits only when its counter would pass 2^64 - 2. So the sampler never
 * waits here, however seldom the other thread reads.
 */
void handover_wake(int fd)
{
	uint64_t one = 1;
	ssize_t r;

	do
		r = write(fd, &one, sizeof(one));
	while (r < 0 && errno == EINTR);
}

/*
 * One writer, one reader. head and tail only grow and wrap as unsigned numbers, so their
 * difference is the number of events in the ring. The event is stored before the head that
 * shows it.
 */
bool event_put(struct handover *ho, const struct event *ev)
{
	struct event_ring *q = &ho->events;
	uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);

	if (head - tail >= EVENTS_MAX) {
		atomic_fetch_add_explicit(&q->overflow, 1, memory_order_relaxed);
		return false;
	}
	q->ev[head % EVENTS_MAX] = *ev;
	atomic_store_explicit(&q->head, head + 1, memory_order_release);
	return true;
}

bool event_get(struct handover *ho, struct event *ev)
{
	struct event_ring *q = &ho->events;
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&q->head, memory_order_acquire);

	if (head == tail)
		return false;
	/*
	 * The copy comes before the new tail: from then on the sampler may overwrite the
	 * entry.
	 */
	*ev = q->ev[tail % EVENTS_MAX];
	atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
	return true;
}

struct snapshot *snap_begin(struct handover *ho)
{
	return &ho->snaps.buf[ho->snaps.back];
}

/*
 * One exchange hands over the whole buffer: the reader has the former snapshot or this one,
 * never parts of both. A snapshot that the reader did not fetch is overwritten next.
 */
void snap_publish(struct handover *ho)
{
	uint32_t old = atomic_exchange_explicit(&ho->snaps.middle, ho->snaps.back | SNAP_DIRTY,
						memory_order_acq_rel);

	ho->snaps.back = old & 3u;
}

/*
 * The exchange returns the reader's buffer to the middle. The writer never touches front,
 * so the snapshot stays valid until the next call.
 */
const struct snapshot *snap_latest(struct handover *ho)
{
	uint32_t mid = atomic_load_explicit(&ho->snaps.middle, memory_order_relaxed);

	if (mid & SNAP_DIRTY) {
		mid = atomic_exchange_explicit(&ho->snaps.middle, ho->snaps.front,
					       memory_order_acq_rel);
		ho->snaps.front = mid & 3u;
	}
	return &ho->snaps.buf[ho->snaps.front];
}
