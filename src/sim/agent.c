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

uint32_t sim_agent_frames(const struct sim_guest_conf *g)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < g->apps; i++)
		if (sim_task_qps(&g->app[i]))
			sum += sim_task_qps(&g->app[i]) *
			       sim_ring_frames(sim_ring_slots(g->app[i].depth));
	return sum;
}

static uint32_t frame_pages(const struct sim_guest_conf *g)
{
	return (sim_agent_frames(g) + GUEST_FRAMES_PER_PAGE - 1) / GUEST_FRAMES_PER_PAGE;
}

/* All frames that boot allocates, and as many that are never used. */
uint32_t sim_agent_pages(const struct sim_guest_conf *g)
{
	uint32_t pages = 1 + GUEST_DIRECTORIES_MAX + frame_pages(g) + SIM_APPS_MAX;

	return 2 * (pages + sim_agent_frames(g)) + 64;
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

static void describe_ring(struct guest_ring *out, const struct sim_qp *qp, uint32_t id,
			  uint32_t first_frame)
{
	const struct sim_task *t = qp->task;
	const char *kind = t->conf->kind == SIM_APP_SERVER ? "sim-server" : "sim-sender";

	*out = (struct guest_ring){
		.id = id,
		.kind = t->shown ? GUEST_RING_SQ : GUEST_RING_FREE,
		.provider = GUEST_PROVIDER_RXE,
		.number = qp->number,
		.pid = t->pid,
		.elem_size = 256,
		.entries = qp->ring.slots,
		.path_mtu = qp->mtu,
		.first_frame = first_frame,
		.frames = qp->ring.frames,
		.created = (uint64_t)(t->start - t->dom->boot),
	};
	snprintf(out->comm, sizeof(out->comm), "%.15s", t->conf->name[0] ? t->conf->name : kind);
}

static void show_rings(struct sim_dom *d)
{
	uint32_t first = 0;

	if (d->conf->blind)
		return;
	for (uint32_t i = 0; i < d->qps; i++) {
		struct guest_directory *dir = d->directory[i / GUEST_RINGS_PER_DIRECTORY];

		describe_ring(&dir->ring[i % GUEST_RINGS_PER_DIRECTORY], &d->qp[i], i + 1, first);
		first += d->qp[i].ring.frames;
	}
}

static void show_latencies(struct sim_dom *d)
{
	struct guest_registry *r = d->registry;

	r->latencies = 0;
	for (uint32_t i = 0; i < d->conf->apps; i++)
		if (d->task[i].shown && d->task[i].server.latency)
			r->latency[r->latencies++] = ref_of(d->task[i].server.latency_frame);
}

/*
 * The generation is odd while rings and latencies change, as resex-agent has it: a reader
 * that saw it odd, or changed, reads again.
 */
void sim_agent_publish(struct sim_dom *d)
{
	uint32_t gen = generation_begin(d->registry);

	show_rings(d);
	show_latencies(d);
	generation_end(d->registry, gen);
}

/*
 * The first packet sequence number is random, as a real queue pair's: a reader must not
 * rely on 0.
 */
static void boot_ring(struct sim_dom *d, struct sim_qp *qp)
{
	struct sim_ring *r = &qp->ring;

	r->mem = &d->mem;
	r->slots = sim_ring_slots(qp->task->conf->depth);
	r->frames = sim_ring_frames(r->slots);
	r->frame = sim_mem_take(&d->mem, r->frames);
	r->psn = (uint32_t)sim_rand_below(&d->rand, 1u << 24);
	sim_ring_init(r);
}

static void boot_latency(struct sim_task *t)
{
	struct sim_server *s = &t->server;

	s->latency_frame = *sim_mem_take(&t->dom->mem, 1);
	s->latency = (struct guest_latency *)sim_mem_page(&t->dom->mem, s->latency_frame);
	s->latency->magic = GUEST_LATENCY_MAGIC;
	s->latency->pid = t->pid;
	snprintf(s->latency->comm, sizeof(s->latency->comm), "%.15s",
		 t->conf->name[0] ? t->conf->name : "sim-server");
}

static void boot_frame_pages(struct sim_dom *d)
{
	struct guest_registry *r = d->registry;
	uint32_t pages = frame_pages(d->conf), k = 0;
	const uint32_t *at = sim_mem_take(&d->mem, pages);

	if (d->conf->blind)
		return;
	for (uint32_t i = 0; i < pages; i++)
		r->frame_page[i] = ref_of(at[i]);
	for (uint32_t i = 0; i < d->qps; i++) {
		const struct sim_ring *ring = &d->qp[i].ring;

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

/* One directory at least, as a real agent has. */
static void boot_directories(struct sim_dom *d)
{
	uint32_t left = d->conf->blind ? 0 : d->qps, n = 0;

	do {
		uint32_t frame = *sim_mem_take(&d->mem, 1);
		struct guest_directory *dir = (struct guest_directory *)sim_mem_page(&d->mem,
										     frame);

		dir->magic = GUEST_DIRECTORY_MAGIC;
		dir->rings = left < GUEST_RINGS_PER_DIRECTORY ? left : GUEST_RINGS_PER_DIRECTORY;
		left -= dir->rings;
		d->directory[n] = dir;
		d->registry->directory[n++] = ref_of(frame);
	} while (left);
	d->registry->directories = n;
}

/* Lay out the pages; nothing is shown yet. */
static void boot_registry(struct sim_dom *d)
{
	d->registry_frame = *sim_mem_take(&d->mem, 1);
	d->registry = (struct guest_registry *)sim_mem_page(&d->mem, d->registry_frame);
	d->registry->magic = GUEST_REGISTRY_MAGIC;
	d->registry->version = GUEST_ABI_VERSION;
	d->registry->agent_pid = 200 + (uint32_t)sim_rand_below(&d->rand, 800);
	boot_directories(d);
}

void sim_agent_boot(struct sim_dom *d)
{
	boot_registry(d);
	for (uint32_t i = 0; i < d->qps; i++)
		boot_ring(d, &d->qp[i]);
	for (uint32_t i = 0; i < d->conf->apps; i++)
		if (d->task[i].conf->kind == SIM_APP_SERVER)
			boot_latency(&d->task[i]);
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

/* The time that the server reports: its conf->report, in permille, of the true one. */
static uint32_t reported_time(const struct sim_task *t, int64_t ns)
{
	unsigned __int128 v = (unsigned __int128)ns * t->conf->report / 1000;

	return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

/* The order is that of resex/guest_abi.h. */
void sim_agent_latency(struct sim_task *t, const struct sim_request *r)
{
	struct guest_latency *l = t->server.latency;
	struct guest_latency_sample *s = &l->sample[l->written % GUEST_LATENCY_SAMPLES];

	__atomic_exchange_n(&l->writing, l->written + 1, __ATOMIC_ACQ_REL);
	s->ctime_ns = reported_time(t, r->computed - r->noticed);
	s->wtime_ns = reported_time(t, r->sent - r->posted);
	s->ptime_ns = reported_time(t, r->noticed - r->arrived + r->posted - r->computed);
	l->time = (uint64_t)(r->sent - t->dom->boot);
	__atomic_store_n(&l->written, l->written + 1, __ATOMIC_RELEASE);
}

/* The program of this guest succeeds in whatever is wanted. */
void sim_agent_want(struct sim_dom *d, const char *value)
{
	/* Of the lines of the want the second one is its number: it is repeated as it is. */
	const char *number = strncmp(value, "1\n", 2) ? "" : value + 2;
	size_t len = strcspn(number, "\n");

	if (len)
		snprintf(d->answer, sizeof(d->answer), "1\n%.*s\n0\n\n", (int)len, number);
}
