// SPDX-License-Identifier: GPL-2.0-or-later
/* tick_host: synthetic guests, and a sampler that reads them. See tick_host.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "tests/bench/tick_host.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "ibmon/ring/mlx4.h"
#include "ibmon/ring/mlx5.h"
#include "ibmon/ring/rxe.h"
#include "resex/guest_abi.h"
#include "src/conf/policy.h"
#include "src/conf/settings.h"
#include "src/hv/hv.h"
#include "src/tick/sampler.h"

enum { SLOTS = 64, ELEM = 256, PATH_MTU = 1024, LINE = 64 };
enum { RING_BYTES = (384 + SLOTS * ELEM + 4095) & ~4095 };
/*
 * Of mlx5 and mlx4, within the same: send queue, of mlx5 its doorbell record, completion queue, its
 * own record.
 */
enum { SQ_AT = 0, SQ_DB_AT = 4096, CQ_AT = 8192, CQ_DB_AT = 12288, CQE_TAIL_AT = 56 };
enum {
	IN_FLIGHT = 3,
	AWAKE_ROUNDS = 10,
	REST_TICKS = 2048, /* a ring rests after 1024 looks */
	REST_PASSES = 7,
	CHECK_PASSES = 16,
	WALK_BYTES = 40 << 20,
	TAKE_TICKS = 20, /* the writer's thread sleeps for so long: src/trace/file.c */
};

const char *const load_name[LOADS] = { "idle",	"rested", "busy", "flight",
				       "mixed", "many",	  "mlx5", "mlx4" };
const char *const regime_name[REGIMES] = { "near", "far", "cold" };

static const uint32_t posts_of[LOADS] = { 0, 0, 4, 4, 4, 32, 4, 4 };
static const uint32_t flight_of[LOADS] = { 0, 0, 0, IN_FLIGHT, IN_FLIGHT, 0, 0, 0 };

struct message {
	uint32_t opcode, length, mtus;
};

static const struct message alike = { RING_RXE_WRITE, 4096, 4 };
static const struct message mixed[] = {
	{ RING_RXE_WRITE, 4096, 4 },  { RING_RXE_READ, 16384, 16 },	 { RING_RXE_SEND, 200, 1 },
	{ RING_RXE_FETCH_ADD, 8, 1 }, { RING_RXE_WRITE_IMM, 65536, 64 }, { RING_RXE_READ, 512, 1 },
	{ RING_RXE_SEND, 3000, 3 },
};

struct tick_host {
	struct size size;
	uint8_t *rings;			 /* guests x queues x RING_BYTES */
	uint32_t *place;		 /* of each in rings: in no order, as on a host */
	struct guest_latency *latencies; /* guests x pages */
	struct latency_page *readers;
	uint8_t *registries; /* a page a guest */
	uint8_t *walk;	     /* WALK_BYTES */
	uint32_t posted;     /* entries of each ring; the newest has ssn posted - 1 */
	uint32_t completed;
	uint32_t psn;	    /* of the next entry */
	uint32_t seen;	    /* entries completed before the last write */
	uint32_t seen_from; /* entries posted before the last write */
	uint32_t pass;	    /* raw passes so far */
	uint64_t mtus;	    /* completed on each ring */
	uint64_t reports;   /* on each page */
	struct handover ho;
	struct sampler s;
	struct guest_set *set;
	struct policy_inst *policy;
	struct hv_dom dom[FLOW_GUESTS_MAX + 1];
	struct mono now;
	struct tape *tape; /* NULL: nothing is recorded */
	uint32_t untaken;  /* ticks since the writer took records */
};

int64_t ns_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

void die(const char *what, int rc)
{
	fprintf(stderr, "resex-bench: %s: %s\n", what, strerror(-rc));
	exit(1);
}

/* --- guests ------------------------------------------------------------------ */

static int fake_list(struct hv_sched *hv, struct hv_dom *doms, size_t max)
{
	struct tick_host *h = (struct tick_host *)hv;
	size_t n = h->size.guests + 1;

	if (n > max)
		n = max;
	for (uint32_t i = 1; i < n; i++)
		h->dom[i].cpu_ns += 300000;
	memcpy(doms, h->dom, n * sizeof(*doms));
	return (int)n;
}

static const struct hv_sched_ops fake_sched = { .list = fake_list };

static uint8_t *ring_at(const struct tick_host *h, uint32_t g, uint32_t q)
{
	return h->rings + (size_t)h->place[g * h->size.queues + q] * RING_BYTES;
}

static uint8_t *entry_at(uint8_t *ring, uint32_t n)
{
	return ring + sizeof(struct ring_rxe_header) + (size_t)(n % SLOTS) * ELEM;
}

static const struct message *message_at(const struct tick_host *h, uint32_t n)
{
	return h->size.load == LOAD_MIXED ? &mixed[n % (sizeof(mixed) / sizeof(mixed[0]))] : &alike;
}

static void evict(const volatile void *at, size_t bytes)
{
	const volatile uint8_t *p = (const volatile uint8_t *)((uintptr_t)at & ~(uintptr_t)63);

	for (; p < (const volatile uint8_t *)at + bytes; p += LINE)
#if defined(__x86_64__)
		__asm__ volatile("clflush %0" : : "m"(*p) : "memory");
#elif defined(__aarch64__)
		__asm__ volatile("dc civac, %0" : : "r"(p) : "memory");
#endif
}

int regime_possible(enum regime regime)
{
#if defined(__x86_64__) || defined(__aarch64__)
	(void)regime;
	return 1;
#else
	return regime == NEAR;
#endif
}

/* As the provider and the kernel would: n more are posted, all but those in flight completed. */
static void write_ring(const struct tick_host *h, uint8_t *ring, uint32_t n, enum regime regime)
{
	struct ring_rxe_header *hd = (struct ring_rxe_header *)ring;
	uint32_t psn = h->psn;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t ssn = h->posted + i;
		const struct message *m = message_at(h, ssn);
		struct ring_rxe_wqe *w = (struct ring_rxe_wqe *)entry_at(ring, ssn);

		memset(w, 0, sizeof(*w));
		w->opcode = m->opcode;
		w->state = 2;
		w->first_psn = psn;
		w->last_psn = (psn + m->mtus - 1) & RING_RXE_PSN_MASK;
		w->ssn = ssn;
		w->length = m->length;
		w->num_sge = 1;
		psn = (psn + m->mtus) & RING_RXE_PSN_MASK;
		if (regime != NEAR)
			evict(w, sizeof(*w));
	}
	for (uint32_t i = h->completed; i != h->posted; i++) {
		struct ring_rxe_wqe *w = (struct ring_rxe_wqe *)entry_at(ring, i);

		w->state = 3;
		if (regime != NEAR)
			evict(w, sizeof(*w));
	}
	hd->producer = (h->posted + n) % SLOTS;
	hd->consumer = (h->posted + n - flight_of[h->size.load]) % SLOTS;
	if (regime != NEAR) {
		evict(hd, sizeof(*hd));
		evict(entry_at(ring, h->completed + SLOTS - 1), sizeof(struct ring_rxe_wqe));
	}
}

static uint64_t look(const volatile void *at)
{
	return *(const volatile uint64_t *)at;
}

/* --- mlx5 -------------------------------------------------------------------- */

static uint8_t *block_at(uint8_t *ring, uint32_t at, uint32_t n)
{
	return ring + at + (size_t)(n % SLOTS) * LINE;
}

static void put_be32(uint8_t *at, uint32_t v)
{
	v = htobe32(v);
	memcpy(at, &v, sizeof(v));
}

/* Records of a process are in turn in the lines of a page: of a queue pair, of its completions. */
static uint32_t record_at(uint32_t qpn, bool cq)
{
	return (2 * qpn + cq) * LINE % 4096;
}

/* As libmlx5 and the adapter would: n more are posted, completed and polled. */
static void write_mlx5(const struct tick_host *h, uint8_t *ring, uint32_t qpn, uint32_t n,
		       enum regime regime)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = h->posted + i;
		uint8_t *w = block_at(ring, SQ_AT, at), *c = block_at(ring, CQ_AT, at);
		uint64_t tail = htobe64((uint64_t)qpn << 32 | (uint64_t)(at & 0xffff) << 16 |
					(at / SLOTS & 1));

		put_be32(w + 4, qpn << 8 | 3);
		put_be32(w + 32, alike.length);
		put_be32(w, (at & 0xffff) << 8 | RING_MLX5_WRITE);
		memcpy(c + CQE_TAIL_AT, &tail, sizeof(tail));
		if (regime != NEAR) {
			evict(w, LINE);
			evict(c, LINE);
		}
	}
	put_be32(ring + SQ_DB_AT + record_at(qpn, false) + 4, (h->posted + n) & 0xffff);
	put_be32(ring + CQ_DB_AT + record_at(qpn, true), (h->posted + n) & 0xffffff);
	if (regime != NEAR) {
		evict(ring + SQ_DB_AT + record_at(qpn, false), LINE);
		evict(ring + CQ_DB_AT + record_at(qpn, true), LINE);
		evict(block_at(ring, CQ_AT, h->posted + n), LINE);
	}
}

static uint64_t raw_mlx5(const struct tick_host *h, uint8_t *ring, uint32_t qpn)
{
	uint64_t sum = look(ring + SQ_DB_AT + record_at(qpn, false)) +
		       look(ring + CQ_DB_AT + record_at(qpn, true));

	for (uint32_t i = h->seen_from; i != h->posted; i++)
		sum += look(block_at(ring, SQ_AT, i)) +
		       look(block_at(ring, CQ_AT, i) + CQE_TAIL_AT);
	return sum + look(block_at(ring, CQ_AT, h->posted) + CQE_TAIL_AT);
}

/* --- mlx4 -------------------------------------------------------------------- */

static uint8_t *cqe_at(uint8_t *ring, uint32_t n)
{
	return ring + CQ_AT + (size_t)(n % SLOTS) * RING_MLX4_CQE;
}

/* As libmlx4 and the adapter would: n more are posted, completed and polled. */
static void write_mlx4(const struct tick_host *h, uint8_t *ring, uint32_t qpn, uint32_t n,
		       enum regime regime)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = h->posted + i, lap = at / SLOTS & 1;
		uint8_t *w = block_at(ring, SQ_AT, at), *c = cqe_at(ring, at);
		uint64_t tail = htobe64((uint64_t)(at & 0xffff) << 48 | RING_MLX4_CQE_IS_SEND |
					RING_MLX4_WRITE | (lap ? RING_MLX4_CQE_OWNER : 0));

		put_be32(w + RING_MLX4_WQE_SIZE, 3);
		put_be32(w + 32, alike.length);
		put_be32(w, RING_MLX4_WRITE | (lap ? RING_MLX4_OWNER : 0));
		put_be32(c, qpn);
		memcpy(c + RING_MLX4_CQE_TAIL, &tail, sizeof(tail));
		if (regime != NEAR) {
			evict(w, LINE);
			evict(c, RING_MLX4_CQE);
		}
	}
	put_be32(ring + CQ_DB_AT + record_at(qpn, true), (h->posted + n) & 0xffffff);
	if (regime != NEAR) {
		evict(ring + CQ_DB_AT + record_at(qpn, true), LINE);
		evict(cqe_at(ring, h->posted + n), RING_MLX4_CQE);
		evict(block_at(ring, SQ_AT, h->posted + n), LINE);
	}
}

static bool begins_line(const struct tick_host *h, uint32_t n)
{
	return n == h->seen_from || n % (LINE / RING_MLX4_CQE) == 0;
}

static uint64_t raw_mlx4(const struct tick_host *h, uint8_t *ring, uint32_t qpn)
{
	uint64_t sum = look(ring + CQ_DB_AT + record_at(qpn, true));

	for (uint32_t i = h->seen_from; i != h->posted + 1; i++) {
		sum += look(block_at(ring, SQ_AT, i));
		if (begins_line(h, i))
			sum += look(cqe_at(ring, i) + RING_MLX4_CQE_TAIL);
	}
	return sum;
}

static uint64_t lines_mlx4(const struct tick_host *h)
{
	uint64_t lines = 1;

	for (uint32_t i = h->seen_from; i != h->posted + 1; i++)
		lines += 1 + begins_line(h, i);
	return lines;
}

/* --- both -------------------------------------------------------------------- */

static bool is_mlx(const struct tick_host *h)
{
	return h->size.load == LOAD_MLX5 || h->size.load == LOAD_MLX4;
}

/* As the libraries leave queues that were never used. */
static void make_unused(uint8_t *ring, bool mlx4)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (!mlx4) {
			block_at(ring, CQ_AT, i)[LINE - 1] = RING_MLX5_CQE_INVALID << 4;
			continue;
		}
		memset(cqe_at(ring, i), 0xcc, RING_MLX4_CQE);
		put_be32(block_at(ring, SQ_AT, i), RING_MLX4_OWNER);
		put_be32(block_at(ring, SQ_AT, i) + RING_MLX4_WQE_SIZE, LINE / RING_MLX4_SEGMENT);
	}
}

/* Completion queues first, as in guest_rings(). */
static void open_mlx(struct scan_guest *sg, uint8_t *ring, uint32_t q, bool mlx4)
{
	struct ring_desc d = { .id = FLOW_RINGS_MAX + q + 1,
			       .kind = RING_CQ,
			       .provider = mlx4 ? GUEST_PROVIDER_MLX4 : GUEST_PROVIDER_MLX5,
			       .number = q + 1,
			       .elem_size = mlx4 ? RING_MLX4_CQE : LINE,
			       .entries = SLOTS,
			       .path_mtu = PATH_MTU,
			       .qp_type = GUEST_QP_RC,
			       .db_offset = record_at(q + 1, true),
			       .frames = 1 };
	int rc;

	make_unused(ring, mlx4);
	rc = ring_open(&sg->ring[sg->rings].ring, &d, ring + CQ_AT, CQ_AT - SQ_AT);
	if (rc)
		die("ring_open", rc);
	sg->ring[sg->rings++].id = d.id;
	d.id = q + 1;
	d.kind = RING_SQ;
	d.elem_size = LINE;
	d.db_offset = record_at(q + 1, false);
	rc = ring_open(&sg->ring[sg->rings].ring, &d, ring + SQ_AT, CQ_AT - SQ_AT);
	if (rc)
		die("ring_open", rc);
	sg->ring[sg->rings++].id = d.id;
}

static void link_mlx(struct scan_guest *sg)
{
	struct ring *ring[FLOW_RINGS_MAX];

	for (uint32_t i = 0; i < sg->rings; i++)
		ring[i] = sg->ring[i].ring;
	sg->peers = ring_peers_new(ring, sg->rings);
}

/* --- all -------------------------------------------------------------------- */

static void write_latency(struct guest_latency *l, enum regime regime)
{
	struct guest_latency_sample *s = &l->sample[l->written % GUEST_LATENCY_SAMPLES];

	*s = (struct guest_latency_sample){ .ctime_ns = 100000, .wtime_ns = 120000 };
	l->writing = ++l->written;
	if (regime != NEAR) {
		evict(s, sizeof(*s));
		evict(l, LINE);
	}
}

/* Write what the next tick, or raw pass, finds: n messages a ring; a sample a page if not idle. */
static void write_all(struct tick_host *h, uint32_t n, enum regime regime)
{
	uint32_t done = h->posted + n - flight_of[h->size.load];

	for (uint32_t g = 0; g < h->size.guests; g++) {
		for (uint32_t q = 0; q < h->size.queues; q++)
			if (h->size.load == LOAD_MLX5)
				write_mlx5(h, ring_at(h, g, q), q + 1, n, regime);
			else if (h->size.load == LOAD_MLX4)
				write_mlx4(h, ring_at(h, g, q), q + 1, n, regime);
			else
				write_ring(h, ring_at(h, g, q), n, regime);
		if (regime != NEAR)
			evict(h->registries + (size_t)g * 4096, LINE);
		for (uint32_t i = 0; i < h->size.pages && n; i++)
			write_latency(&h->latencies[(size_t)g * h->size.pages + i], regime);
	}
	h->reports += n != 0;
	h->seen = h->completed;
	h->seen_from = h->posted;
	for (; h->completed != done; h->completed++)
		h->mtus += message_at(h, h->completed)->mtus;
	for (uint32_t i = 0; i < n; i++)
		h->psn = (h->psn + message_at(h, h->posted++)->mtus) & RING_RXE_PSN_MASK;
	if (regime == COLD)
		for (size_t i = 0; i < WALK_BYTES; i += LINE)
			(*(volatile uint64_t *)(h->walk + i))++;
#if defined(__x86_64__)
	__asm__ volatile("mfence" : : : "memory");
#endif
}

/* See the top of tick_host.h. */
static uint64_t raw_pass(struct tick_host *h)
{
	const uint32_t first = h->seen < h->seen_from ? h->seen : h->seen_from;
	uint64_t sum = 0;

	for (uint32_t g = 0; g < h->size.guests; g++) {
		sum += look(h->registries + (size_t)g * 4096);
		for (uint32_t q = 0; q < h->size.queues; q++) {
			uint8_t *r = ring_at(h, g, q);

			if (is_mlx(h)) {
				sum += h->size.load == LOAD_MLX5 ? raw_mlx5(h, r, q + 1)
								 : raw_mlx4(h, r, q + 1);
				continue;
			}
			if (h->size.load == LOAD_RESTED && (q + h->pass) % REST_PASSES)
				continue;
			if (h->posted != h->seen_from || (q + h->pass) % CHECK_PASSES == 0)
				sum += look(r) + look(r + 0x100);
			sum += look(r + 0x80);
			if (h->posted == h->seen_from || flight_of[h->size.load])
				sum += look(entry_at(r, h->seen + SLOTS - 1) + 176);
			for (uint32_t i = first; i != h->posted; i++) {
				const uint8_t *w = entry_at(r, i);

				sum += look(w + 8) + look(w + 176) + look(w + 192);
			}
		}
		for (uint32_t i = 0; i < h->size.pages; i++) {
			const struct guest_latency *l =
				&h->latencies[(size_t)g * h->size.pages + i];

			sum += look(&l->written);
			if (h->posted != h->seen_from)
				sum += look(&l->sample[(l->written - 1) % GUEST_LATENCY_SAMPLES]);
		}
	}
	h->pass++;
	return sum;
}

uint64_t tick_host_lines(const struct tick_host *h)
{
	const uint32_t first = h->seen < h->seen_from ? h->seen : h->seen_from;
	const uint32_t page = posts_of[h->size.load] ? 2 : 1, before = flight_of[h->size.load] != 0;

	const uint64_t rings = (uint64_t)h->size.guests * h->size.queues;
	uint64_t looks = h->size.load == LOAD_RESTED ? rings / REST_PASSES : rings;

	if (is_mlx(h))
		return h->size.guests * (1 + (uint64_t)h->size.pages * page) +
		       rings * (h->size.load == LOAD_MLX4
					? lines_mlx4(h)
					: 3 + 2 * (uint64_t)(h->posted - h->seen_from));
	return h->size.guests * (1 + (uint64_t)h->size.pages * page) +
	       (h->posted == h->seen_from ? looks * 2 + looks * 2 / CHECK_PASSES
					  : rings * (3 + before + 3 * (h->posted - first)));
}

/* --- set-up ------------------------------------------------------------------ */

static void *pages(size_t n)
{
	void *p = mmap(NULL, n ? n : 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("memory", -errno);
	return p;
}

static struct scan_guest *make_scan(struct tick_host *h, uint32_t g)
{
	struct scan_guest *sg = calloc(1, sizeof(*sg) + 2 * h->size.queues * sizeof(sg->ring[0]));
	struct guest_registry *reg = (struct guest_registry *)(h->registries + (size_t)g * 4096);

	if (!sg)
		die("memory", -ENOMEM);
	reg->generation = 2;
	sg->slot = g;
	sg->registry = reg;
	sg->generation = 2;
	for (; sg->latencies < h->size.pages; sg->latencies++) {
		uint32_t i = g * h->size.pages + sg->latencies;

		h->latencies[i].magic = GUEST_LATENCY_MAGIC;
		latency_page_open(&h->readers[i], &h->latencies[i]);
		sg->latency[sg->latencies] = &h->readers[i];
	}
	for (uint32_t q = 0; q < h->size.queues; q++) {
		const struct ring_desc d = { .id = q + 1,
					     .kind = RING_SQ,
					     .provider = GUEST_PROVIDER_RXE,
					     .elem_size = ELEM,
					     .entries = SLOTS,
					     .frames = RING_BYTES / 4096 };
		struct ring_rxe_header *hd = (struct ring_rxe_header *)ring_at(h, g, q);
		int rc;

		if (is_mlx(h)) {
			open_mlx(sg, ring_at(h, g, q), q, h->size.load == LOAD_MLX4);
			continue;
		}
		hd->log2_elem_size = 8;
		hd->index_mask = SLOTS - 1;
		rc = ring_open(&sg->ring[q].ring, &d, hd, RING_BYTES);
		if (rc)
			die("ring_open", rc);
		sg->ring[q].id = q + 1;
		sg->rings++;
	}
	link_mlx(sg);
	return sg;
}

static void make_set(struct tick_host *h)
{
	h->set = calloc(1, sizeof(*h->set) + FLOW_GUESTS_MAX * sizeof(h->set->guest[0]));
	if (!h->set)
		die("memory", -ENOMEM);
	h->set->serial = 1;
	h->set->policy = h->policy;
	for (uint32_t g = 0; g < h->size.guests; g++) {
		struct set_guest *e = &h->set->guest[g];

		e->key.domid = h->dom[g + 1].domid = g + 1;
		e->key.created = g + 1;
		h->dom[g + 1].vcpus = 1;
		e->slot = g;
		e->flags = POLICY_CAPPABLE;
		e->vcpus = 1;
		e->weight = 256;
		e->bounds = (struct cap_bounds){ CAP_NONE, 1000, 1 };
		e->scan = make_scan(h, g);
		h->set->guests++;
	}
}

static void shuffle(uint32_t *place, uint32_t n)
{
	uint64_t random = 1;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k;

		random = random * 6364136223846793005u + 1442695040888963407u;
		k = (uint32_t)(random >> 33) % (i + 1);
		place[i] = place[k];
		place[k] = i;
	}
}

static struct mono bench_now(struct clock *c)
{
	(void)c;
	return (struct mono){ ns_now() };
}

struct tick_host *tick_host_open(const struct size *size)
{
	static const struct link_conf link = { "ib0", 1ull << 30, 1024, PRICE_SCALED };
	struct tick_host *h = pages(sizeof(*h));
	struct sampler_conf sc = { .interval_ns = NS_PER_MS,
				   .epoch_ns = NS_PER_S,
				   .link = &link,
				   .links = 1,
				   .ops = &fake_sched,
				   .hv = (struct hv_sched *)h };
	struct guest_set *empty;
	int rc;

	h->size = *size;
	h->rings = pages((size_t)size->guests * size->queues * RING_BYTES);
	h->place = pages((size_t)size->guests * size->queues * sizeof(*h->place));
	shuffle(h->place, size->guests * size->queues);
	h->registries = pages((size_t)size->guests * 4096);
	h->latencies = pages((size_t)size->guests * size->pages * 4096);
	h->readers = pages((size_t)size->guests * size->pages * sizeof(*h->readers));
	h->walk = pages(WALK_BYTES);
	rc = handover_open(&h->ho);
	if (!rc)
		rc = policy_new(&h->policy, &policy_freemarket, false);
	if (rc)
		die("set-up", rc);
	make_set(h);
	empty = calloc(1, sizeof(*empty));
	if (!empty)
		die("memory", -ENOMEM);
	empty->policy = h->policy;
	clock_real(&sc.clock);
	sc.clock.now = bench_now;
	rc = sampler_init(&h->s, &h->ho, &sc, empty);
	if (rc)
		die("sampler", rc);
	h->s.set = h->set;
	free(empty);
	atomic_store(&h->ho.next, h->set);
	if (size->recorded) {
		h->tape = pages(sizeof(*h->tape));
		memset(h->tape, 0, sizeof(*h->tape));
		atomic_store(&h->ho.tape, h->tape);
	}
	h->now = (struct mono){ ns_now() };
	tick(&h->s, h->now); /* takes the set, and history */
	return h;
}

static void release(struct tick_host *h)
{
	for (uint32_t g = 0; g < h->set->guests; g++) {
		for (uint32_t i = 0; i < h->set->guest[g].scan->rings; i++)
			ring_close(h->set->guest[g].scan->ring[i].ring);
		free(h->set->guest[g].scan->peers);
		free(h->set->guest[g].scan);
	}
	free(h->set);
	policy_free(h->policy);
	handover_close(&h->ho);
	munmap(h->rings, (size_t)h->size.guests * h->size.queues * RING_BYTES);
	munmap(h->place, (size_t)h->size.guests * h->size.queues * sizeof(*h->place));
	munmap(h->registries, (size_t)h->size.guests * 4096);
	munmap(h->latencies, (size_t)h->size.guests * h->size.pages * 4096);
	munmap(h->readers, (size_t)h->size.guests * h->size.pages * sizeof(*h->readers));
	munmap(h->walk, WALK_BYTES);
	if (h->tape)
		munmap(h->tape, sizeof(*h->tape));
	munmap(h, sizeof(*h));
}

/* A bench that skips the work would be fast: all of it must have been counted, exactly. */
void tick_host_close(struct tick_host *h)
{
	/* A ring that was idle for long may be looked at later: by then it was. */
	for (int i = 0; i < 10; i++) {
		h->now = mono_add(h->now, NS_PER_MS);
		tick(&h->s, h->now);
	}
	for (uint32_t i = 0; i < h->set->guests; i++) {
		const struct usage u = slot_total(&h->s.slot[i]);

		if (u.wrs != (uint64_t)h->size.queues * h->completed)
			die("the ticks did not count the messages that were sent", -EBADMSG);
		if (u.mtus_sent + u.mtus_recv != h->size.queues * h->mtus || u.flags)
			die("the ticks did not count the MTUs that were sent", -EBADMSG);
		if (h->s.slot[i].latency.n != h->size.pages * h->reports)
			die("the ticks did not see what was reported", -EBADMSG);
	}
	if (h->tape && atomic_load(&h->tape->end))
		die("the recording ended", -ENOBUFS);
	release(h);
}

/* --- rounds ------------------------------------------------------------------ */

/* As the writer's thread on another CPU, whose cache then has the lines: none is in this one's. */
static void take_records(struct tick_host *h)
{
	struct trace_ring *r = &h->tape->ring;
	uint64_t tail = atomic_load(&r->tail), head = atomic_load(&r->head);

	for (; tail < head; tail += LINE)
		evict(r->at + trace_ring_place(r, tail), LINE);
	atomic_store(&r->tail, head);
	h->untaken = 0;
}

static int64_t timed_tick(struct tick_host *h)
{
	int64_t a, b;

	if (h->tape && ++h->untaken == TAKE_TICKS)
		take_records(h);
	h->now = mono_add(h->now, NS_PER_MS);
	a = ns_now();
	tick(&h->s, h->now);
	b = ns_now();
	return b - a;
}

/* Changes when this process lost its CPU or was moved to another. */
static long place_now(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return (u.ru_nivcsw + u.ru_nvcsw) * 1024 + sched_getcpu();
}

/*
 * The messages of the raw pass are counted by a tick that is not timed. Three ticks a round: a
 * snapshot is published every tenth, and is in its share of the timed ones.
 */
static int one_round(struct tick_host *h, enum regime regime, struct round *r)
{
	volatile uint64_t sink; /* the pass is made, though its sum is not used */
	uint32_t posts = posts_of[h->size.load];
	long before;
	int kept = 1;
	int64_t a;

	write_all(h, posts, regime);
	before = place_now();
	a = ns_now();
	sink = raw_pass(h);
	(void)sink;
	r->raw_ns = ns_now() - a;
	kept &= place_now() == before;
	timed_tick(h);
	for (int i = 0; i < ROUND_TICKS; i++) {
		write_all(h, posts, regime);
		before = place_now();
		r->tick_ns[i] = timed_tick(h);
		kept &= place_now() == before;
	}
	return kept;
}

/* One message on each ring, and a tick that counts it. */
static void keep_awake(struct tick_host *h)
{
	if (h->size.load != LOAD_IDLE || !h->size.queues)
		return;
	write_all(h, 1, NEAR);
	timed_tick(h);
}

void tick_host_run(struct tick_host *h, enum regime regime, struct round *r, int n)
{
	int tries = 3 * n + 10;

	keep_awake(h);
	for (int i = h->size.load == LOAD_RESTED ? REST_TICKS : 1; i > 0; i--)
		timed_tick(h);
	for (int i = 0; i < n; i++) {
		if (i % AWAKE_ROUNDS == AWAKE_ROUNDS - 1)
			keep_awake(h);
		/* On a busy machine some rounds are disturbed all the same. */
		while (!one_round(h, regime, &r[i]) && tries-- > 0)
			;
	}
}

static void *run_sampler(void *arg)
{
	sampler_run(&((struct tick_host *)arg)->s);
	return NULL;
}

void tick_host_lateness(const struct size *size, int seconds, struct lateness *l)
{
	struct tick_host *h = tick_host_open(size);
	pthread_t t;

	if (pthread_create(&t, NULL, run_sampler, h))
		die("thread", -EAGAIN);
	sleep((unsigned)seconds);
	atomic_store(&h->ho.stop, 1);
	pthread_join(t, NULL);
	*l = (struct lateness){
		.ticks = h->s.period.ticks,
		.late_ticks = h->s.period.late,
		.median_ns = window_quantile(&h->s.late, 500),
		.p99_ns = window_quantile(&h->s.late, 990),
		.max_ns = (uint64_t)h->s.late_max_ns,
	};
	release(h);
}
