// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: watchers of domains that come and go, each with an eventfd.
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/sim/hyp.h"
#include "src/sim/model.h"

void sim_wake_watchers(struct sim_host *h)
{
	const uint64_t one = 1;

	for (struct sim_watcher *w = h->watchers; w; w = w->next) {
		w->domains = true;
		if (write(w->fd, &one, sizeof(one)) < 0)
			continue; /* its counter is full: it is readable already */
	}
}

int sim_hyp_watch(struct sim_host *h, struct sim_watcher *w)
{
	*w = (struct sim_watcher){ .domains = true };
	w->fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
	if (w->fd < 0)
		return -errno;
	pthread_mutex_lock(&h->lock);
	w->next = h->watchers;
	h->watchers = w;
	pthread_mutex_unlock(&h->lock);
	return 0;
}

void sim_hyp_unwatch(struct sim_host *h, struct sim_watcher *w)
{
	struct sim_watcher **at;

	pthread_mutex_lock(&h->lock);
	for (at = &h->watchers; *at != w; at = &(*at)->next)
		;
	*at = w->next;
	pthread_mutex_unlock(&h->lock);
	close(w->fd);
}

/*
 * The descriptor is emptied only when the caller has no event left: it is how a poll learns
 * that there is one.
 */
bool sim_hyp_take(struct sim_host *h, struct sim_watcher *w, bool more)
{
	uint64_t count;
	bool taken;

	pthread_mutex_lock(&h->lock);
	taken = w->domains;
	w->domains = false;
	if (!more && read(w->fd, &count, sizeof(count)) < 0)
		count = 0; /* it was not readable, as wanted */
	pthread_mutex_unlock(&h->lock);
	return taken;
}
