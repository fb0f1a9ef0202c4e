// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: what resex-agent would publish in a guest (resex/guest_abi.h).
/*
 * The pages lie in the guest's memory and are named by frame, as on a guest
 * without /dev/xen/gntalloc. Rings are shown while their process lives. The
 * agent needs no CPU and no time here.
 */
#include <stdio.h>
#include <string.h>

#include "src/sim/model.h"

static struct guest_ref ref_of(uint32_t frame)
{
	return (struct guest_ref){ .type = GUEST_REF_FRAME, .ref = frame };
}

static uint32_t ring_frames(const struct sim_guest_conf *g)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < g->apps; i++)
		if (sim_task_has_ring(&g->app[i]))
			sum += sim_ring_frames(sim_ring_slots(g->app[i].depth));
	return sum;
}

static uint32_t frame_pages(const struct sim_guest_conf *g)
{
	return (ring_frames(g) + GUEST_FRAMES_PER_PAGE - 1) / GUEST_FRAMES_PER_PAGE;
}

/* All that boot takes, and as much again that is never used. */
uint32_t sim_agent_pages(const struct sim_guest_conf *g)
{
	return 2 * (2 + frame_pages(g) + SIM_APPS_MAX + ring_frames(g)) + 64;
}

static uint32_t generation_begin(struct guest_registry *r)
{
	uint32_t gen = r->generation + 1;

	/* An exchange, so that no later store can be seen before it. */
	__atomic_exchange_n(&r->generation, gen, __ATOMIC_ACQ_REL);
	return gen;
}

static void generation_end(struct guest_registry *r, uint32_t gen)
{
	__atomic_store_n(&r->generation, gen + 1, __ATOMIC_RELEASE);
}

static void describe(struct guest_ring *out, const struct sim_task *t, uint32_t first_frame)
{
	uint32_t id = (uint32_t)(t - t->dom->task) + 1;

	*out = (struct guest_ring){
		.id = id,
		.kind = t->shown ? GUEST_RING_SQ : GUEST_RING_FREE,
		.provider = GUEST_PROVIDER_RXE,
		.number = t->qp.number,
		.pid = t->pid,
		.elem_size = 256,
		.entries = t->qp.ring.slots,
		.path_mtu = t->qp.mtu,
		.first_frame = first_frame,
		.frames = t->qp.ring.frames,
		.created = (uint64_t)(t->start - t->dom->boot),
	};
	snprintf(out->comm, sizeof(out->comm), "%s",
		 t->conf->kind == SIM_APP_SERVER ? "sim-server" : "sim-sender");
}

static void show_rings(struct sim_dom *d)
{
	uint32_t first = 0;

	if (d->conf->blind)
		return;
	for (uint32_t i = 0; i < d->conf->apps; i++) {
		if (!sim_task_has_ring(d->task[i].conf))
			continue;
		describe(&d->directory->ring[i], &d->task[i], first);
		first += d->task[i].qp.ring.frames;
	}
}

static void show_latencies(struct sim_dom *d)
{
	struct guest_registry *r = d->registry;

	r->latencies = 0;
	for (uint32_t i = 0; i < d->conf->apps; i++)
		if (d->task[i].shown && d->task[i].latency)
			r->latency[r->latencies++] = ref_of(d->task[i].latency_frame);
}

void sim_agent_publish(struct sim_dom *d)
{
	uint32_t gen = generation_begin(d->registry);

	show_rings(d);
	show_latencies(d);
	generation_end(d->registry, gen);
}

static void boot_ring(struct sim_task *t)
{
	struct sim_ring *r = &t->qp.ring;

	r->mem = &t->dom->mem;
	r->slots = sim_ring_slots(t->conf->depth);
	r->frames = sim_ring_frames(r->slots);
	r->frame = sim_mem_take(&t->dom->mem, r->frames);
	r->psn = (uint32_t)sim_rand_below(&t->dom->rand, 1u << 24);
	sim_ring_init(r);
}

static void boot_latency(struct sim_task *t)
{
	t->latency_frame = *sim_mem_take(&t->dom->mem, 1);
	t->latency = (struct guest_latency *)sim_mem_page(&t->dom->mem, t->latency_frame);
	t->latency->magic = GUEST_LATENCY_MAGIC;
	t->latency->pid = t->pid;
	snprintf(t->latency->comm, sizeof(t->latency->comm), "sim-server");
}

static void boot_frame_pages(struct sim_dom *d)
{
	struct guest_registry *r = d->registry;
	uint32_t pages = frame_pages(d->conf), k = 0;
	const uint32_t *at = sim_mem_take(&d->mem, pages);

	for (uint32_t i = 0; i < pages; i++)
		r->frame_page[i] = ref_of(at[i]);
	for (uint32_t i = 0; i < d->conf->apps; i++) {
		const struct sim_ring *ring = &d->task[i].qp.ring;

		for (uint32_t f = 0; f < ring->frames; f++, k++) {
			uint32_t page = at[k / GUEST_FRAMES_PER_PAGE];
			struct guest_frames *gf = (struct guest_frames *)sim_mem_page(&d->mem,
										      page);

			gf->frame[k % GUEST_FRAMES_PER_PAGE] = ring->frame[f];
		}
	}
	r->frame_pages = pages;
	r->frames = k;
}

/* Lay out the pages; nothing is shown yet. */
static void boot_registry(struct sim_dom *d)
{
	uint32_t dir = *sim_mem_take(&d->mem, 1);

	d->registry_frame = *sim_mem_take(&d->mem, 1);
	d->registry = (struct guest_registry *)sim_mem_page(&d->mem, d->registry_frame);
	d->directory = (struct guest_directory *)sim_mem_page(&d->mem, dir);
	d->registry->magic = GUEST_REGISTRY_MAGIC;
	d->registry->version = GUEST_ABI_VERSION;
	d->registry->agent_pid = 200 + (uint32_t)sim_rand_below(&d->rand, 800);
	d->registry->directories = 1;
	d->registry->directory[0] = ref_of(dir);
	d->directory->magic = GUEST_DIRECTORY_MAGIC;
	d->directory->rings = d->conf->apps;
}

void sim_agent_boot(struct sim_dom *d)
{
	boot_registry(d);
	for (uint32_t i = 0; i < d->conf->apps; i++) {
		if (sim_task_has_ring(d->task[i].conf))
			boot_ring(&d->task[i]);
		if (d->task[i].conf->kind == SIM_APP_SERVER)
			boot_latency(&d->task[i]);
	}
	boot_frame_pages(d);
	sim_agent_publish(d);
	sim_timer_arm(&d->host->timers, &d->heartbeat, d->boot + NS_PER_S);
}

void sim_agent_heartbeat(void *arg, int64_t now)
{
	struct sim_dom *d = (struct sim_dom *)arg;

	__atomic_store_n(&d->registry->heartbeat, d->registry->heartbeat + 1, __ATOMIC_RELEASE);
	sim_timer_arm(&d->host->timers, &d->heartbeat, now + NS_PER_S);
}

static uint32_t ns32(int64_t ns)
{
	return ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

void sim_agent_latency(struct sim_task *t, int64_t until)
{
	struct guest_latency *l = t->latency;
	struct guest_latency_sample *s = &l->sample[l->written % GUEST_LATENCY_SAMPLES];

	__atomic_exchange_n(&s->seq, 0, __ATOMIC_ACQ_REL);
	s->time = (uint64_t)(until - t->dom->boot);
	s->ctime_ns = ns32(t->computed - t->noticed);
	s->wtime_ns = ns32(until - t->posted);
	s->ptime_ns = ns32(t->noticed - t->arrived + t->posted - t->computed);
	__atomic_store_n(&s->seq, l->written + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&l->written, l->written + 1, __ATOMIC_RELEASE);
}
