// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench: what a tick costs, beside a raw pass over the same memory.
 *
 * The peer is one volatile 8-byte load of every cache line the scan has to
 * touch, over the same rings in the same run, taken in turn with the ticks.
 * As on a host, another CPU writes the rings before each pass: the lines have
 * to come from its cache.
 * Rings are synthetic, in rxe's layout; guests' CPU times come from memory, so
 * the hypercall is not in these figures. Prints ratios; judges nothing.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ibmon/ring/rxe.h"
#include "resex/guest_abi.h"
#include "src/conf/policy.h"
#include "src/conf/settings.h"
#include "src/tick/sampler.h"

enum { SLOTS = 64, ELEM = 256, POSTS = 4, MSG = 4096, PATH_MTU = 1024 };
enum { RING_BYTES = (384 + SLOTS * ELEM + 4095) & ~4095 };
enum { WRITE_STOP = 2 };
enum { ROUNDS_MAX = 400, LATE_SECONDS = 5 };

struct host {
	uint32_t guests, queues, posts;
	uint32_t pages, reports;	 /* latency pages a guest, and samples on each when busy */
	uint8_t *rings;			 /* guests x queues x RING_BYTES */
	struct guest_latency *latencies; /* guests x pages */
	struct latency_page *readers;
	uint8_t *registries; /* a page a guest */
	uint32_t ssn;	     /* the same on every ring */
	_Atomic int write;   /* asks the guests' CPU to write */
	pthread_t writer;
	struct handover ho;
	struct sampler s;
	struct guest_set *set;
	struct policy_inst *policy;
	struct hv_dom dom[FLOW_GUESTS_MAX + 1];
	struct mono now;
};

static int64_t ns_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static struct host *listed; /* the host fake_list answers for */

static int fake_list(struct hv_sched *h, struct hv_dom *doms, size_t max)
{
	size_t n = listed->guests + 1;

	(void)h;
	if (n > max)
		n = max;
	for (uint32_t i = 1; i < n; i++)
		listed->dom[i].cpu_ns += 300000;
	memcpy(doms, listed->dom, n * sizeof(*doms));
	return (int)n;
}

static const struct hv_sched_ops fake_sched = { .list = fake_list };

static uint8_t *ring_at(const struct host *h, uint32_t g, uint32_t q)
{
	return h->rings + ((size_t)g * h->queues + q) * RING_BYTES;
}

/* Post and complete n messages, as the provider and the kernel would. */
static void advance(const struct host *h, uint8_t *ring, uint32_t n)
{
	struct ring_rxe_header *hd = (struct ring_rxe_header *)ring;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t ssn = h->ssn + i, slot = ssn % SLOTS;
		struct ring_rxe_wqe *w = (struct ring_rxe_wqe *)(ring + 384 + slot * ELEM);

		memset(w, 0, sizeof(*w));
		w->opcode = RING_RXE_WRITE;
		w->state = 2;
		w->first_psn = ssn * (MSG / PATH_MTU) & RING_RXE_PSN_MASK;
		w->last_psn = (w->first_psn + MSG / PATH_MTU - 1) & RING_RXE_PSN_MASK;
		w->ssn = ssn;
		w->length = MSG;
		w->num_sge = 1;
	}
	hd->producer = (h->ssn + n) % SLOTS;
	hd->consumer = hd->producer;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set); /* as best it can */
}

static void report(struct guest_latency *l, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct guest_latency_sample *s = &l->sample[l->written % GUEST_LATENCY_SAMPLES];

		*s = (struct guest_latency_sample){ .seq = l->written + 1,
						    .ctime_ns = 100000,
						    .wtime_ns = 120000 };
		l->written++;
	}
}

static void write_rings(struct host *h)
{
	for (uint32_t i = 0; i < h->guests * h->pages; i++)
		report(&h->latencies[i], h->reports);
	for (uint32_t g = 0; g < h->guests; g++)
		for (uint32_t q = 0; q < h->queues; q++)
			advance(h, ring_at(h, g, q), h->posts);
	h->ssn += h->posts;
}

/* The guests' CPU: writes all rings whenever it is asked to. */
static void *guests_cpu(void *arg)
{
	struct host *h = arg;

	pin(1);
	for (;;) {
		while (!atomic_load_explicit(&h->write, memory_order_acquire))
			sched_yield();
		if (atomic_load(&h->write) == WRITE_STOP)
			return NULL;
		write_rings(h);
		atomic_store_explicit(&h->write, 0, memory_order_release);
	}
}

static void advance_all(struct host *h)
{
	if (!h->posts && !h->reports)
		return;
	atomic_store_explicit(&h->write, 1, memory_order_release);
	while (atomic_load_explicit(&h->write, memory_order_acquire))
		sched_yield();
}

/* The peer: one 8-byte load of each line that a scan has to look at. */
static uint64_t raw_pass(const struct host *h)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < h->guests * h->pages; i++) {
		const struct guest_latency *l = &h->latencies[i];

		sum += *(const volatile uint64_t *)&l->written;
		for (uint32_t k = 1; k <= h->reports; k++)
			sum += *(const volatile uint64_t *)&l
					->sample[(l->written - k) % GUEST_LATENCY_SAMPLES];
	}
	for (uint32_t g = 0; g < h->guests; g++) {
		sum += *(volatile uint64_t *)(h->registries + (size_t)g * 4096);
		for (uint32_t q = 0; q < h->queues; q++) {
			const uint8_t *r = ring_at(h, g, q);

			sum += *(const volatile uint64_t *)r;
			sum += *(const volatile uint64_t *)(r + 0x80);
			sum += *(const volatile uint64_t *)(r + 0x100);
			for (uint32_t i = 0; i < h->posts; i++) {
				const uint8_t *w = r + 384 + (h->ssn - 1 - i) % SLOTS * ELEM;

				sum += *(const volatile uint64_t *)w;
				sum += *(const volatile uint64_t *)(w + 128);
			}
		}
	}
	return sum;
}

static void die(const char *what, int rc)
{
	fprintf(stderr, "resex-bench: %s: %s\n", what, strerror(-rc));
	exit(1);
}

static struct scan_guest *make_scan(struct host *h, uint32_t g)
{
	struct scan_guest *sg = calloc(1, sizeof(*sg) + h->queues * sizeof(sg->ring[0]));
	struct guest_registry *reg = (struct guest_registry *)(h->registries + (size_t)g * 4096);

	if (!sg)
		die("memory", -ENOMEM);
	reg->generation = 2;
	sg->slot = g;
	sg->registry = reg;
	sg->generation = 2;
	for (; sg->latencies < h->pages; sg->latencies++) {
		uint32_t i = g * h->pages + sg->latencies;

		h->latencies[i].magic = GUEST_LATENCY_MAGIC;
		latency_page_open(&h->readers[i], &h->latencies[i]);
		sg->latency[sg->latencies] = &h->readers[i];
	}
	for (uint32_t q = 0; q < h->queues; q++) {
		const struct ring_desc d = { .id = q + 1,
					     .kind = RING_SQ,
					     .provider = GUEST_PROVIDER_RXE,
					     .elem_size = ELEM,
					     .entries = SLOTS,
					     .frames = RING_BYTES / 4096 };
		struct ring_rxe_header *hd = (struct ring_rxe_header *)ring_at(h, g, q);
		int rc;

		hd->log2_elem_size = 8;
		hd->index_mask = SLOTS - 1;
		rc = ring_open(&sg->ring[q].ring, &d, hd, RING_BYTES);
		if (rc)
			die("ring_open", rc);
		sg->ring[q].id = q + 1;
		sg->rings++;
	}
	return sg;
}

static void make_set(struct host *h)
{
	h->set = calloc(1, sizeof(*h->set) + FLOW_GUESTS_MAX * sizeof(h->set->guest[0]));
	if (!h->set)
		die("memory", -ENOMEM);
	h->set->serial = 1;
	h->set->policy = h->policy;
	for (uint32_t g = 0; g < h->guests; g++) {
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

static void *pages(size_t n)
{
	void *p = mmap(NULL, n ? n : 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("memory", -errno);
	return p;
}

static struct mono bench_now(struct clock *c)
{
	(void)c;
	return (struct mono){ ns_now() };
}

/* Of h guests, queues, posts, pages and reports are given. */
static void host_open(struct host *h)
{
	static const struct link_conf link = { "ib0", 1ull << 30, 1024, PRICE_SCALED };
	struct sampler_conf sc = { .interval_ns = NS_PER_MS,
				   .epoch_ns = NS_PER_S,
				   .link = &link,
				   .links = 1,
				   .ops = &fake_sched };
	struct guest_set *empty;
	int rc;

	h->rings = pages((size_t)h->guests * h->queues * RING_BYTES);
	h->registries = pages((size_t)h->guests * 4096);
	h->latencies = pages((size_t)h->guests * h->pages * 4096);
	h->readers = pages((size_t)h->guests * h->pages * sizeof(*h->readers));
	rc = handover_open(&h->ho);
	if (!rc)
		rc = policy_new(&h->policy, &policy_freemarket);
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
	free(empty);
	h->s.set = h->set;
	atomic_store(&h->ho.next, h->set);
	h->now = (struct mono){ ns_now() };
	listed = h;
}

static void host_close(struct host *h)
{
	for (uint32_t g = 0; g < h->set->guests; g++) {
		for (uint32_t q = 0; q < h->queues; q++)
			ring_close(h->set->guest[g].scan->ring[q].ring);
		free(h->set->guest[g].scan);
	}
	free(h->set);
	policy_free(h->policy);
	handover_close(&h->ho);
	munmap(h->rings, (size_t)h->guests * h->queues * RING_BYTES);
	munmap(h->registries, (size_t)h->guests * 4096);
	munmap(h->latencies, (size_t)h->guests * h->pages * 4096);
	munmap(h->readers, (size_t)h->guests * h->pages * sizeof(*h->readers));
}

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int64_t median(int64_t *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	return v[n / 2];
}

/* Ticks and raw passes in turn, over the same, freshly written rings. */
static void measure(struct host *h, int64_t *tick_ns, int64_t *raw_ns, uint64_t *wrs)
{
	static int64_t t[ROUNDS_MAX], r[ROUNDS_MAX];
	uint32_t rings = h->guests * h->queues;
	uint64_t reported = 0;
	int rounds = rings > 2000 ? 40 : rings > 200 ? 120 : ROUNDS_MAX;
	volatile uint64_t sink = 0;

	pin(0);
	if (pthread_create(&h->writer, NULL, guests_cpu, h))
		die("thread", -EAGAIN);
	tick(&h->s, h->now); /* takes the set, and history */
	for (int i = 0; i < rounds; i++) {
		int64_t a, b;

		advance_all(h);
		a = ns_now();
		sink += raw_pass(h);
		b = ns_now();
		r[i] = b - a;
		advance_all(h);
		h->now = mono_add(h->now, NS_PER_MS);
		a = ns_now();
		tick(&h->s, h->now);
		b = ns_now();
		t[i] = b - a;
	}
	atomic_store(&h->write, WRITE_STOP);
	pthread_join(h->writer, NULL);
	*tick_ns = median(t, rounds);
	*raw_ns = median(r, rounds);
	*wrs = 0;
	for (uint32_t i = 0; i < h->set->guests; i++) {
		*wrs += h->s.slot[i].total_usage.wrs;
		reported += h->s.slot[i].latency.n;
	}
	/* A bench that skips the work would be fast: all of it must have been counted. */
	if (*wrs != (uint64_t)rings * h->posts * 2u * (unsigned)rounds)
		die("the ticks did not count what was sent", -EBADMSG);
	if (reported != (uint64_t)h->guests * h->pages * h->reports * 2u * (unsigned)rounds)
		die("the ticks did not see what was reported", -EBADMSG);
}

/* A row: of what, guests, queues, posts, pages and reports are given. */
static int64_t one(const struct host *what, int64_t empty)
{
	struct host *h = calloc(1, sizeof(*h));
	int64_t t, r;
	uint64_t wrs;

	if (!h)
		die("memory", -ENOMEM);
	*h = *what;
	host_open(h);
	measure(h, &t, &r, &wrs);
	printf("%7u %7u %6s %12.2f %12.2f %8.2f %12.2f\n", h->guests,
	       h->pages ? h->pages : h->queues, h->posts || h->reports ? "busy" : "idle",
	       (double)t / 1e3, (double)r / 1e3, r ? (double)(t - empty) / (double)r : 0.0,
	       (double)(t - empty) / 1e4);
	fflush(stdout);
	host_close(h);
	free(h);
	return t;
}

static void heading(const char *what)
{
	printf("%7s %7s %6s %12s %12s %8s %12s\n", "guests", what, "", "tick", "raw", "x raw",
	       "% of a core");
}

/* What latency pages add to guests without queue pairs. */
static void latency_costs(struct host *h)
{
	static const uint32_t guests[] = { 1, 16, 256 }, pages[] = { 1, 4, 16 };

	printf("\nThe same of latency pages, one sample a page and tick when busy; compared with "
	       "ticks of as\nmany guests without any.\n\n");
	heading("pages");
	for (size_t g = 0; g < sizeof(guests) / sizeof(guests[0]); g++) {
		int64_t empty;

		h->guests = guests[g];
		h->queues = h->posts = h->pages = h->reports = 0;
		empty = one(h, 0);
		for (size_t p = 0; p < sizeof(pages) / sizeof(pages[0]); p++)
			for (h->reports = 0; h->reports <= 1; h->reports++) {
				h->pages = pages[p];
				one(h, empty);
			}
	}
}

static void costs(void)
{
	static const uint32_t guests[] = { 1, 4, 16, 64, 256 }, queues[] = { 1, 4, 16, 64 };
	struct host *h = calloc(1, sizeof(*h));
	int64_t empty;

	if (!h)
		die("memory", -ENOMEM);

	printf("Cost of a tick beside a raw pass over the same lines (medians, us; %d messages of "
	       "%d "
	       "bytes a queue pair and tick when busy).\nx raw: (tick - empty tick) / raw. "
	       "%% of a core: (tick - empty tick) / 1 ms.\n\n",
	       POSTS, MSG);
	heading("queues");
	empty = one(h, 0);
	for (size_t g = 0; g < sizeof(guests) / sizeof(guests[0]); g++)
		for (size_t q = 0; q < sizeof(queues) / sizeof(queues[0]); q++)
			for (h->posts = 0; h->posts <= POSTS; h->posts += POSTS) {
				h->guests = guests[g];
				h->queues = queues[q];
				one(h, empty);
			}
	latency_costs(h);
	free(h);
}

static void *run_sampler(void *arg)
{
	pin(0);
	sampler_run(&((struct host *)arg)->s);
	return NULL;
}

static void lateness_of(const char *what, int burners)
{
	struct host *h = calloc(1, sizeof(*h));
	pid_t pid[2] = { 0 };
	pthread_t t;

	if (!h)
		die("memory", -ENOMEM);
	for (int i = 0; i < burners; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			pin(1 - i);
			for (;;)
				(void)getppid();
		}
	}
	h->guests = 16;
	h->queues = 4;
	host_open(h);
	if (pthread_create(&t, NULL, run_sampler, h))
		die("thread", -EAGAIN);
	sleep(LATE_SECONDS);
	atomic_store(&h->ho.stop, 1);
	pthread_join(t, NULL);
	for (int i = 0; i < burners; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	printf("%-28s %8llu %10.1f %10.1f %10.1f %10llu\n", what,
	       (unsigned long long)h->s.period.ticks,
	       (double)window_quantile(&h->s.late, 500) / 1e3,
	       (double)window_quantile(&h->s.late, 990) / 1e3, (double)h->s.late_max_ns / 1e3,
	       (unsigned long long)h->s.period.late);
	fflush(stdout);
	host_close(h);
	free(h);
}

int main(void)
{
	costs();
	printf("\nLateness of ticks over %d s, 16 guests x 4 idle queue pairs (us).\n\n",
	       LATE_SECONDS);
	printf("%-28s %8s %10s %10s %10s %10s\n", "load", "ticks", "50 %", "99 %", "max",
	       "late ticks");
	lateness_of("none", 0);
	lateness_of("other core busy", 1);
	lateness_of("both cores busy", 2);
	return 0;
}
