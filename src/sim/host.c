// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: the host: its guests, its links, and the passing of time.
/*
 * Everything happens in sim_advance(): due timers fire in order, each at its
 * own time, and arm others. At the end the links are computed up to now, so
 * that rings show messages half sent.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/sim/hyp.h"
#include "src/sim/model.h"

int sim_open(struct sim_host **out, const struct sim_conf *c, struct mono start)
{
	struct sim_host *h;
	int rc = sim_conf_check(c, NULL);

	if (rc < 0)
		return rc;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	pthread_mutex_init(&h->lock, NULL);
	h->conf = *c;
	h->start = start.ns;
	h->now = start.ns;
	h->next_domid = 1;
	for (uint32_t i = 0; i < c->links; i++)
		for (uint32_t way = 0; way < SIM_WAYS; way++)
			sim_link_init(&h->link[i][way], &h->timers, c->link[i].bytes_s);
	for (uint32_t i = 0; rc == 0 && i < c->guests; i++)
		if (!c->guest[i].later)
			rc = sim_dom_boot(h, i, start.ns);
	if (rc < 0)
		sim_close(h);
	else
		*out = h;
	return rc;
}

void sim_close(struct sim_host *h)
{
	while (h->doms) {
		struct sim_dom *d = h->doms;

		h->doms = d->next;
		sim_dom_free(d);
	}
	pthread_mutex_destroy(&h->lock);
	free(h);
}

void sim_host_run(struct sim_host *h, int64_t now)
{
	struct sim_timer *t;

	if (now <= h->now)
		return;
	/*
	 * Each timer gets its own time, not the caller's: results do not depend on how
	 * often the host is advanced.
	 */
	while ((t = sim_timer_due(&h->timers, now)))
		t->fire(t->arg, t->when);
	h->now = now;
	for (uint32_t i = 0; i < h->conf.links; i++)
		for (uint32_t way = 0; way < SIM_WAYS; way++)
			sim_link_show(&h->link[i][way], now);
}

void sim_advance(struct sim_host *h, struct mono now)
{
	pthread_mutex_lock(&h->lock);
	sim_host_run(h, now.ns);
	pthread_mutex_unlock(&h->lock);
}

void sim_set_clock(struct sim_host *h, struct mono (*now)(void *arg), void *arg)
{
	pthread_mutex_lock(&h->lock);
	h->now_fn = now;
	h->now_arg = arg;
	pthread_mutex_unlock(&h->lock);
}

void sim_set_observer(struct sim_host *h, sim_request_fn seen, void *arg)
{
	pthread_mutex_lock(&h->lock);
	h->seen_fn = seen;
	h->seen_arg = arg;
	pthread_mutex_unlock(&h->lock);
}

/* Compute up to now what is otherwise computed only at events. */
static void settle_guest(struct sim_host *h, uint32_t guest)
{
	struct sim_dom *d = h->guest[guest].dom;

	for (uint32_t i = 0; d && i < d->cpus; i++)
		sim_cpu_settle(&d->cpu[i], h->now);
	for (uint32_t i = 0; d && i < d->conf->apps; i++)
		sim_sender_look(&d->task[i], h->now);
}

static void add_app_truth(struct sim_truth *t, const struct sim_app *a,
			  const struct sim_app_truth *at)
{
	bool read = a->kind == SIM_APP_SENDER && a->op == OP_READ;

	t->wrs += at->wrs;
	t->bytes += at->bytes;
	t->mtus += at->mtus;
	t->bytes_recv += read ? at->bytes : 0;
	t->mtus_recv += read ? at->mtus : 0;
	t->requests += at->latency.n;
	t->latency_sum_ns += at->ctime_ns + at->wtime_ns + at->ptime_ns;
}

int sim_truth(struct sim_host *h, uint32_t guest, struct sim_truth *t)
{
	if (guest >= h->conf.guests)
		return -ENOENT;
	*t = (struct sim_truth){ 0 };
	pthread_mutex_lock(&h->lock);
	settle_guest(h, guest);
	t->cpu_ns = h->guest[guest].dom ? sim_sched_cpu_ns(h->guest[guest].dom, h->now)
					: h->guest[guest].cpu_ns;
	t->wait_ns = h->guest[guest].dom ? sim_sched_wait_ns(h->guest[guest].dom, h->now)
					 : h->guest[guest].wait_ns;
	for (uint32_t i = 0; i < h->conf.guest[guest].apps; i++)
		add_app_truth(t, &h->conf.guest[guest].app[i], &h->guest[guest].app[i]);
	pthread_mutex_unlock(&h->lock);
	return 0;
}

int sim_app_truth(struct sim_host *h, uint32_t guest, uint32_t app, struct sim_app_truth *t)
{
	if (guest >= h->conf.guests || app >= h->conf.guest[guest].apps)
		return -ENOENT;
	pthread_mutex_lock(&h->lock);
	settle_guest(h, guest);
	*t = h->guest[guest].app[app];
	pthread_mutex_unlock(&h->lock);
	return 0;
}

uint32_t sim_domid(const struct sim_host *h, uint32_t guest)
{
	if (guest >= h->conf.guests)
		return 0;
	return __atomic_load_n(&h->guest[guest].domid, __ATOMIC_ACQUIRE);
}

int sim_destroy(struct sim_host *h, uint32_t guest)
{
	int rc = -ENOENT;

	if (guest >= h->conf.guests)
		return rc;
	pthread_mutex_lock(&h->lock);
	if (h->guest[guest].dom) {
		sim_dom_kill(h->guest[guest].dom, h->now);
		sim_wake_watchers(h);
		sim_dom_bury(h);
		rc = 0;
	}
	pthread_mutex_unlock(&h->lock);
	return rc;
}

static int boot_guest(struct sim_host *h, uint32_t guest, bool again)
{
	int rc = -EEXIST;

	if (guest >= h->conf.guests)
		return -ENOENT;
	pthread_mutex_lock(&h->lock);
	if (h->guest[guest].dom && again)
		sim_dom_kill(h->guest[guest].dom, h->now);
	if (!h->guest[guest].dom)
		rc = sim_dom_boot(h, guest, h->now);
	sim_wake_watchers(h);
	sim_dom_bury(h);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

int sim_create(struct sim_host *h, uint32_t guest)
{
	return boot_guest(h, guest, false);
}

int sim_reboot(struct sim_host *h, uint32_t guest)
{
	return boot_guest(h, guest, true);
}
