// SPDX-License-Identifier: GPL-2.0-or-later
/* handover: the lock-free hand-overs between sampler, actor and control. */
#include "src/tick/handover.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int shared_init(struct shared *sh)
{
	memset(sh, 0, sizeof(*sh));
	sh->control_fd = -1;
	sh->actor_fd = eventfd(0, EFD_CLOEXEC);
	if (sh->actor_fd < 0)
		return -errno;
	sh->control_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (sh->control_fd < 0) {
		int rc = -errno;

		close(sh->actor_fd);
		return rc;
	}
	sh->snaps.back = 0;
	atomic_init(&sh->snaps.middle, 1);
	sh->snaps.front = 2;
	return 0;
}

void shared_fini(struct shared *sh)
{
	if (sh->actor_fd >= 0)
		close(sh->actor_fd);
	if (sh->control_fd >= 0)
		close(sh->control_fd);
	sh->actor_fd = sh->control_fd = -1;
}

void shared_wake(int fd)
{
	uint64_t one = 1;
	ssize_t r;

	do
		r = write(fd, &one, sizeof(one));
	while (r < 0 && errno == EINTR);
}

bool event_put(struct shared *sh, const struct event *ev)
{
	struct event_ring *q = &sh->events;
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

bool event_get(struct shared *sh, struct event *ev)
{
	struct event_ring *q = &sh->events;
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&q->head, memory_order_acquire);

	if (head == tail)
		return false;
	*ev = q->ev[tail % EVENTS_MAX];
	atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
	return true;
}

struct snapshot *snap_begin(struct shared *sh)
{
	return &sh->snaps.buf[sh->snaps.back];
}

void snap_publish(struct shared *sh)
{
	uint32_t old = atomic_exchange_explicit(&sh->snaps.middle, sh->snaps.back | SNAP_DIRTY,
						memory_order_acq_rel);

	sh->snaps.back = old & 3u;
}

const struct snapshot *snap_latest(struct shared *sh)
{
	uint32_t mid = atomic_load_explicit(&sh->snaps.middle, memory_order_relaxed);

	if (mid & SNAP_DIRTY) {
		mid = atomic_exchange_explicit(&sh->snaps.middle, sh->snaps.front,
					       memory_order_acq_rel);
		sh->snaps.front = mid & 3u;
	}
	return &sh->snaps.buf[sh->snaps.front];
}
