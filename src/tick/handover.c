// SPDX-License-Identifier: GPL-2.0-or-later
/* handover: events and snapshots from the sampler to control, without locks. See handover.h. */
#include "src/tick/handover.h"

#include <errno.h>
#include <unistd.h>

void handover_wake(int fd)
{
	uint64_t one = 1;
	ssize_t r;

	do
		r = write(fd, &one, sizeof(one));
	while (r < 0 && errno == EINTR);
}

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
	*ev = q->ev[tail % EVENTS_MAX];
	atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
	return true;
}

struct snapshot *snap_begin(struct handover *ho)
{
	return &ho->snaps.buf[ho->snaps.back];
}

void snap_publish(struct handover *ho)
{
	uint32_t old = atomic_exchange_explicit(&ho->snaps.middle, ho->snaps.back | SNAP_DIRTY,
						memory_order_acq_rel);

	ho->snaps.back = old & 3u;
}

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
