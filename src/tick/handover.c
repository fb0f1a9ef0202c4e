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

bool event_put(struct handover *ho, const struct event *ev)
{
	struct event_ring *q = &ho->events;
	int64_t i = spsc_ring_free(&q->at, EVENTS_MAX);

	if (i < 0)
		return false;
	q->ev[i] = *ev;
	spsc_ring_put(&q->at);
	return true;
}

bool event_get(struct handover *ho, struct event *ev)
{
	struct event_ring *q = &ho->events;
	int64_t i = spsc_ring_oldest(&q->at, EVENTS_MAX);

	if (i < 0)
		return false;
	*ev = q->ev[i];
	spsc_ring_got(&q->at);
	return true;
}

struct snapshot *snap_begin(struct handover *ho)
{
	return &ho->snaps.buf[ho->snaps.at.back];
}

void snap_publish(struct handover *ho)
{
	spsc_latest_put(&ho->snaps.at);
}

/* The snapshot stays valid until the next call. */
const struct snapshot *snap_latest(struct handover *ho)
{
	spsc_latest_get(&ho->snaps.at);
	return &ho->snaps.buf[ho->snaps.at.front];
}
