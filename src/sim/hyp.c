// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: what a hypervisor offers to dom0: a list, caps, foreign memory.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/sim/hyp.h"
#include "src/sim/model.h"

void sim_hyp_tick(struct sim_host *h)
{
	pthread_mutex_lock(&h->lock);
	if (h->now_fn)
		sim_host_run(h, h->now_fn(h->now_arg).ns);
	pthread_mutex_unlock(&h->lock);
}

static void describe_dom(const struct sim_dom *d, struct sim_hyp_dom *out)
{
	*out = (struct sim_hyp_dom){
		.domid = d->domid,
		.vcpus = d->conf->vcpus,
		.weight = d->conf->weight,
		.cap = d->wanted,
		.dying = d->dying,
		.running = sim_sched_any(d, SIM_CPU_RUN),
		.blocked = !sim_sched_any(d, SIM_CPU_RUN) && !sim_sched_any(d, SIM_CPU_PARKED),
		.cpu_ns = sim_sched_cpu_ns(d, d->host->now),
	};
	memcpy(out->uuid, d->uuid, sizeof(out->uuid));
	memcpy(out->name, d->conf->name, sizeof(out->name));
}

uint32_t sim_hyp_doms(struct sim_host *h, uint32_t domid, struct sim_hyp_dom *out, uint32_t max)
{
	const struct sim_dom *d;
	uint32_t n = 0;

	pthread_mutex_lock(&h->lock);
	for (d = h->doms; d && d->domid < domid; d = d->next)
		;
	for (; d && n < max; d = d->next)
		describe_dom(d, &out[n++]);
	pthread_mutex_unlock(&h->lock);
	return n;
}

int sim_hyp_dom(struct sim_host *h, uint32_t domid, struct sim_hyp_dom *out)
{
	return sim_hyp_doms(h, domid, out, 1) ? 0 : -ESRCH;
}

int sim_hyp_vcpu(struct sim_host *h, uint32_t domid, uint32_t number, struct sim_hyp_vcpu *out)
{
	const struct sim_dom *d;
	int rc = -ESRCH;

	pthread_mutex_lock(&h->lock);
	d = sim_dom_find(h, domid);
	if (d && number < d->conf->vcpus) {
		/* One that never had a task sleeps. */
		*out = (struct sim_hyp_vcpu){ .blocked = true };
		if (number < d->cpus)
			sim_cpu_see(&d->cpu[number], h->now, out);
		rc = 0;
	}
	pthread_mutex_unlock(&h->lock);
	return rc;
}

int sim_hyp_set_cap(struct sim_host *h, uint32_t domid, uint32_t was, uint32_t percent,
		    struct sim_hyp_dom *found)
{
	struct sim_dom *d;
	int rc = -ESRCH;

	pthread_mutex_lock(&h->lock);
	d = sim_dom_find(h, domid);
	if (!d || d->dying)
		goto out;
	if (found)
		describe_dom(d, found);
	rc = -ECANCELED;
	if (was == SIM_CAP_ANY || d->wanted == was)
		rc = sim_sched_set_cap(d, percent, h->now);
out:
	pthread_mutex_unlock(&h->lock);
	return rc;
}

/* Completed messages, and the sent part of each message under way. */
static void task_moved(const struct sim_task *t, struct sim_hyp_moved *m)
{
	bool in = t->conf->kind == SIM_APP_SENDER && t->conf->op == OP_READ;
	uint64_t *bytes = in ? &m->bytes_recv : &m->bytes_sent;
	uint64_t *packets = in ? &m->packets_recv : &m->packets_sent;

	*bytes += t->truth->bytes;
	*packets += t->truth->mtus;
	for (uint32_t i = 0; i < t->qps; i++) {
		const struct sim_qp *qp = &t->qp[i];

		if (qp->posted == qp->completed)
			continue;
		*bytes += qp->wr.bytes - qp->left;
		*packets += (qp->wr.bytes - qp->left) / qp->mtu;
	}
}

int sim_hyp_moved(struct sim_host *h, uint32_t domid, struct sim_hyp_moved *m)
{
	const struct sim_dom *d;

	pthread_mutex_lock(&h->lock);
	d = sim_dom_find(h, domid);
	if (d && d->dying)
		d = NULL;
	if (d)
		*m = (struct sim_hyp_moved){ 0 };
	for (uint32_t i = 0; d && i < d->conf->apps; i++)
		task_moved(&d->task[i], m);
	pthread_mutex_unlock(&h->lock);
	return d ? 0 : -ESRCH;
}

/* The ablation of sim_conf: labels on the memory of two guests are swapped. */
static uint32_t seen_in(const struct sim_conf *c, uint32_t guest)
{
	if (c->swap && guest == c->swapped[0])
		return c->swapped[1];
	if (c->swap && guest == c->swapped[1])
		return c->swapped[0];
	return guest;
}

/* NULL: one of the two is not there. */
static struct sim_dom *memory_of(struct sim_host *h, uint32_t domid)
{
	const struct sim_dom *d = sim_dom_find(h, domid);

	return d && !d->dying ? h->guest[seen_in(&h->conf, d->guest)].dom : NULL;
}

int sim_hyp_memory(struct sim_host *h, uint32_t domid, struct sim_hyp_memory *m)
{
	const struct sim_dom *d;

	pthread_mutex_lock(&h->lock);
	d = memory_of(h, domid);
	if (d)
		*m = (struct sim_hyp_memory){ d->domid, d->registry_frame };
	pthread_mutex_unlock(&h->lock);
	return d ? 0 : -ESRCH;
}

int sim_hyp_want(struct sim_host *h, uint32_t domid, const char *value)
{
	struct sim_dom *d;

	pthread_mutex_lock(&h->lock);
	d = sim_dom_find(h, domid);
	if (d && d->dying)
		d = NULL;
	if (d)
		sim_agent_want(d, value);
	pthread_mutex_unlock(&h->lock);
	return d ? 0 : -ESRCH;
}

int sim_hyp_answer(struct sim_host *h, uint32_t domid, char *buf, size_t size)
{
	const struct sim_dom *d;
	int len = -ESRCH;

	pthread_mutex_lock(&h->lock);
	d = sim_dom_find(h, domid);
	if (d && !d->dying)
		len = *d->answer ? snprintf(buf, size, "%s", d->answer) : -ENOENT;
	pthread_mutex_unlock(&h->lock);
	return len >= 0 && (size_t)len >= size ? -EMSGSIZE : len;
}

static int check_frames(const struct sim_mem *m, size_t n, const uint64_t *frames, size_t *bad)
{
	for (size_t i = 0; i < n; i++)
		if (frames[i] >= m->pages) {
			if (bad)
				*bad = i;
			return -EINVAL;
		}
	return 0;
}

static int map_frames(const struct sim_mem *m, size_t n, const uint64_t *frames, void **out)
{
	uint8_t *addr = mmap(NULL, n * GUEST_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int rc;

	if (addr == MAP_FAILED)
		return -errno;
	for (size_t i = 0; i < n; i++)
		if (mmap(addr + i * GUEST_PAGE, GUEST_PAGE, PROT_READ, MAP_SHARED | MAP_FIXED,
			 m->fd, (off_t)(frames[i] * GUEST_PAGE)) == MAP_FAILED) {
			rc = -errno;
			munmap(addr, n * GUEST_PAGE);
			return rc;
		}
	*out = addr;
	return 0;
}

int sim_hyp_map(struct sim_host *h, uint32_t domid, size_t n, const uint64_t *frames, void **addr,
		size_t *bad, uint32_t *owner)
{
	struct sim_dom *d;
	int rc = -ESRCH;

	pthread_mutex_lock(&h->lock);
	d = memory_of(h, domid);
	if (d)
		rc = check_frames(&d->mem, n, frames, bad);
	if (!rc)
		rc = map_frames(&d->mem, n, frames, addr);
	if (!rc) {
		d->mem.mapped += n;
		*owner = d->domid;
	}
	pthread_mutex_unlock(&h->lock);
	return rc;
}

/* The last page that is unmapped may be all that kept a destroyed guest in the list. */
void sim_hyp_unmap(struct sim_host *h, uint32_t owner, void *addr, size_t n)
{
	struct sim_dom *d;

	munmap(addr, n * GUEST_PAGE);
	pthread_mutex_lock(&h->lock);
	d = sim_dom_find(h, owner);
	if (d)
		d->mem.mapped -= n;
	sim_dom_bury(h);
	pthread_mutex_unlock(&h->lock);
}
