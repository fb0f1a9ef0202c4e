// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hv: load of a guest as the hypervisor counts it, without asking the guest (LOAD_HV). No file, no
 * clock, no call: src/cluster/worker_guests.c passes what the sampler has seen.
 *
 * busy is exact. wait is what is left of the time for which the guest was seen runnable. That is a
 * sample each tick: a guest that ran between two looks was not seen, and then busy has grown by
 * more. So the difference goes up and down by some ms, and wait, which may only grow, takes no more
 * than what is above its highest value. A guest that is never seen, since it always runs between
 * two looks, would be owed without end: more than OWED_MAX_NS is forgotten.
 */
#include <errno.h>
#include <stdlib.h>

#include "src/load/index.h"
#include "src/load/load.h"

/*
 * Where a guest runs at random for half of each ms, the sum of errors is cut at this bound, and
 * wait grows by 1/400 of the time though nothing waits. A larger bound delays a wait that is real.
 */
#define OWED_MAX_NS (50 * NS_PER_MS)

struct load {
	const struct load_guest *guest;
	bool sampled;
	uint64_t cpu_ns, runnable_ns; /* at the last sample */
	uint64_t wait_ns;
	int64_t owed_ns; /* how far the difference is below its highest value */
};

static int hv_open(struct load **out, const void *arg, char text[static 128])
{
	struct load *l = calloc(1, sizeof(*l));

	(void)text;
	if (!l)
		return -ENOMEM;
	l->guest = arg;
	*out = l;
	return 0;
}

static void hv_close(struct load *l)
{
	free(l);
}

static int64_t gained(uint64_t *last, uint64_t now)
{
	int64_t ns = now > *last ? (int64_t)(now - *last) : 0;

	*last = now;
	return ns;
}

static void add_wait(struct load *l)
{
	int64_t ran = gained(&l->cpu_ns, l->guest->cpu_ns);
	int64_t more = gained(&l->runnable_ns, l->guest->runnable_ns) - ran - l->owed_ns;

	l->owed_ns = 0;
	if (!l->sampled) /* nothing before it to be compared with */
		l->sampled = true;
	else if (more > 0)
		l->wait_ns += (uint64_t)more;
	else
		l->owed_ns = -more < OWED_MAX_NS ? -more : OWED_MAX_NS;
}

static int hv_sample(struct load *l, struct load_record *r)
{
	const struct load_guest *g = l->guest;

	if (!g->vcpus || g->vcpus > LOAD_CPUS_MAX)
		return -EPROTO;
	add_wait(l);
	r->cpus = g->vcpus;
	r->busy_ns = g->cpu_ns;
	r->flags = LOAD_NO_RUNNING;
	if (g->simulated)
		r->flags |= LOAD_SIMULATED;
	/* One of several is runnable: how many wait is not known. */
	if (g->vcpus > 1)
		r->flags |= LOAD_NO_WAIT;
	else
		r->wait_ns = l->wait_ns;
	return 0;
}

const struct load_ops load_hv = {
	.source = LOAD_HV,
	.open = hv_open,
	.close = hv_close,
	.sample = hv_sample,
};
