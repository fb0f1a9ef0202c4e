// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hv: load of a guest as the hypervisor counts it, without asking the guest (LOAD_HV). No file, no
 * clock, no call: src/cluster/worker_guests.c passes what the sampler has seen.
 *
 * busy is exact. Of a guest of one VCPU wait is what is left of the time for which it was seen
 * runnable; of others the caller looks at each VCPU (worker_vcpus.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "src/load/index.h"
#include "src/load/load.h"

struct load {
	const struct load_guest *guest;
	struct load_wait wait; /* of its VCPU, if it has one */
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

static int hv_sample(struct load *l, struct load_record *r)
{
	const struct load_guest *g = l->guest;

	if (!g->vcpus || g->vcpus > LOAD_CPUS_MAX)
		return -EPROTO;
	load_wait_add(&l->wait, g->cpu_ns, g->runnable_ns, g->look_ns);
	r->cpus = g->vcpus;
	r->busy_ns = g->cpu_ns;
	r->flags = LOAD_NO_RUNNING;
	if (g->simulated)
		r->flags |= LOAD_SIMULATED;
	/* Of several VCPUs runnable_ns says only that one at least was. */
	if (g->vcpus == 1)
		r->wait_ns = l->wait.ns;
	else if (g->waits_known)
		r->wait_ns = g->waits_ns;
	else
		r->flags |= LOAD_NO_WAIT;
	return 0;
}

const struct load_ops load_hv = {
	.source = LOAD_HV,
	.open = hv_open,
	.close = hv_close,
	.sample = hv_sample,
};
