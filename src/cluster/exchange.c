// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exchange: requests with tickets, notices, and the memory of what passes between the control
 * thread (cluster.c) and the cluster's thread (worker.c). See exchange.h.
 */
#include "src/cluster/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* --- requests -------------------------------------------------------------- */

int mail_ask(struct mail *m, const struct request *r, uint64_t *ticket)
{
	struct mail_slot *s = &m->slot[(m->newest + 1) % MAIL_ROOM];

	/* The worker no longer looks at a request that it has answered. */
	if (atomic_load_explicit(&s->answered, memory_order_acquire) !=
	    atomic_load_explicit(&s->asked, memory_order_relaxed))
		return -EAGAIN;
	s->request = *r;
	*ticket = ++m->newest;
	atomic_store_explicit(&s->asked, m->newest, memory_order_release);
	return 0;
}

int mail_result(const struct mail *m, uint64_t ticket)
{
	const struct mail_slot *s = &m->slot[ticket % MAIL_ROOM];

	if (!ticket || atomic_load_explicit(&s->asked, memory_order_relaxed) != ticket)
		return -ESRCH;
	if (atomic_load_explicit(&s->answered, memory_order_acquire) != ticket)
		return -EINPROGRESS;
	return s->rc;
}

const struct request *mail_take(struct mail *m, uint64_t *ticket)
{
	struct mail_slot *s = &m->slot[(m->taken + 1) % MAIL_ROOM];

	if (atomic_load_explicit(&s->asked, memory_order_acquire) != m->taken + 1)
		return NULL;
	*ticket = ++m->taken;
	return &s->request;
}

void mail_answer(struct mail *m, uint64_t ticket, int rc)
{
	struct mail_slot *s = &m->slot[ticket % MAIL_ROOM];

	s->rc = rc;
	atomic_store_explicit(&s->answered, ticket, memory_order_release);
}

/* --- notices ---------------------------------------------------------------- */

void exchange_notice(struct exchange *x, const struct notice *n)
{
	int64_t i = spsc_ring_free(&x->notices.at, NOTICES_ROOM);

	if (i < 0)
		return;
	x->notices.notice[i] = *n;
	spsc_ring_put(&x->notices.at);
	exchange_wake(x->control_fd);
}

/* --- open, close, wake -------------------------------------------------------- */

int exchange_add_hosts(struct exchange *x, const struct cluster_conf *conf)
{
	/* Three copies of all guests: pages that no guest has filled are never touched. */
	for (uint32_t i = 0; i < conf->hosts; i++) {
		struct host_copies **h = &x->host[conf->host[i].number - 1];

		if (*h)
			continue;
		*h = calloc(1, sizeof(**h));
		if (!*h)
			return -ENOMEM;
		spsc_latest_init(&(*h)->at);
	}
	return 0;
}

int exchange_open(struct exchange **out, const struct cluster_conf *conf)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	*out = x;
	spsc_latest_init(&x->publication_at);
	spsc_latest_init(&x->requests.at);
	spsc_latest_init(&x->rest.at);
	spsc_latest_init(&x->sources.at);
	spsc_latest_init(&x->keep.at);
	spsc_latest_init(&x->checks.at);
	spsc_latest_init(&x->roles.at);
	spsc_latest_init(&x->moved.at);
	x->control_fd = -1;
	x->worker_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (x->worker_fd < 0)
		return -errno;
	x->control_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (x->control_fd < 0)
		return -errno;
	return exchange_add_hosts(x, conf);
}

void exchange_close(struct exchange *x)
{
	if (!x)
		return;
	for (uint32_t i = 0; i < REGION_HOSTS_MAX; i++)
		free(x->host[i]);
	if (x->worker_fd >= 0)
		close(x->worker_fd);
	if (x->control_fd >= 0)
		close(x->control_fd);
	free(x);
}

/* Neither blocks: the counter stays far below the 2^64 - 2 at which a write would fail. */
void exchange_wake(int fd)
{
	eventfd_write(fd, 1);
}

void exchange_woken(int fd)
{
	eventfd_t n;

	/* Also when nothing was written: the caller looks at all that it waits for anyway. */
	eventfd_read(fd, &n);
}
