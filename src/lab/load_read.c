// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_read: see load_read.h. SIMULATED: the regions are memory of this process, and time is that
 * of web.c, whose timers say when a front-end scans, and when its transport has something to do.
 */
#include "src/lab/load_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/core/random.h"
#include "src/shared/peers.h"
#include "src/transport/sim/sim.h"

enum {
	SOURCES = 3,
	EVENTS = 64,
	GENERATION = 1,
	CLIENTS_FROM = TRANSPORT_HOSTS_MAX - WEB_FRONTENDS_MAX + 1, /* numbers of front-ends */
};

/* Far above a READ: none is late. */
#define TIMEOUT_NS NS_PER_S

enum timer { TIMER_SCAN, TIMER_POLL };

/* A host: the region of one node, with the records of one source. */
struct page {
	struct region region;
	uint8_t *table, *loads;
	struct load_record before; /* the record before the newest */
	int64_t written_ns;	   /* the newest was begun; -1: there is none */
};

struct frontend {
	struct transport *t;
	struct peers *p;
	int64_t due_ns; /* the soonest poll that has a timer; INT64_MAX: none */
	uint64_t beat[WEB_NODES_MAX];
};

struct load_read {
	struct load_read_conf c;
	struct load_read_stats stats;
	struct page page[SOURCES][WEB_NODES_MAX];
	struct frontend frontend[WEB_FRONTENDS_MAX];
};

/* --- hosts ------------------------------------------------------------------------ */

static uint16_t host_of(const struct load_read *r, uint32_t source, uint32_t node)
{
	return (uint16_t)(1 + source * r->c.nodes + node);
}

static struct page *page_of(struct load_read *r, uint16_t host)
{
	return &r->page[(host - 1) / r->c.nodes][(host - 1) % r->c.nodes];
}

static void *zeros(size_t bytes)
{
	void *p = aligned_alloc(REGION_PAGE, bytes);

	if (p)
		memset(p, 0, bytes);
	return p;
}

/* A region with one node, number 0, and one heartbeat: what else hosts publish is not simulated. */
static int open_page(struct page *p, uint16_t host)
{
	struct region_node node = { .node = 0 };
	struct region_host record = { .cpus = 1 };

	p->written_ns = -1;
	p->table = zeros(REGION_TABLE_BYTES);
	p->loads = zeros(REGION_LOADS_BYTES);
	if (!p->table || !p->loads)
		return -ENOMEM;
	region_init(&p->region, p->table, host, GENERATION);
	region_init_loads(&p->region, p->loads);
	snprintf(node.name, sizeof(node.name), "n%u", host);
	snprintf(record.name, sizeof(record.name), "sim%u", host);
	region_publish_nodes(&p->region, &node, 1);
	region_beat(&p->region, &record);
	return 0;
}

void load_read_sampled(struct load_read *r, uint32_t node, const struct load_record *rec)
{
	struct load_record mine = *rec;

	for (uint32_t i = 0; i < r->c.sources; i++) {
		struct page *p = &r->page[i][node];

		if (r->c.source[i] != rec->source)
			continue;
		memcpy(&p->before, p->loads, sizeof(p->before));
		p->written_ns = rec->sampled_ns;
		mine.node = 0;
		region_publish_load(&p->region, &mine);
	}
}

/*
 * What a READ finds in the middle of record_write(): a wrong crc, new words up to some place, old
 * ones after it, and the old sequence.
 */
static void tear(const struct load_read *r, const struct page *p, int64_t now, void *to)
{
	size_t words = sizeof(p->before) / 8 - 2;
	size_t done = words * (size_t)(now - p->written_ns) / (size_t)r->c.write_ns;
	size_t from = sizeof(p->before.head) + 8 * done;
	struct load_record *rec = to;

	memcpy((uint8_t *)to + from, (const uint8_t *)&p->before + from, sizeof(*rec) - from);
	rec->head.seq = p->before.head.seq;
	rec->head.crc = ~rec->head.crc;
}

static void read_memory(void *arg, uint16_t host, enum transport_part part, uint32_t offset,
			uint32_t len, struct mono now, void *to)
{
	struct load_read *r = arg;
	const struct page *p = page_of(r, host);

	if (part != TRANSPORT_LOAD) {
		memcpy(to, p->table + offset, len);
		return;
	}
	memcpy(to, p->loads + offset, len);
	r->stats.reads++;
	/* The first record is the only one. */
	if (offset || len < sizeof(struct load_record) || p->written_ns < 0 ||
	    now.ns - p->written_ns >= r->c.write_ns)
		return;
	r->stats.torn++;
	tear(r, p, now.ns, to);
}

/* --- front-ends ------------------------------------------------------------------- */

static int add_hosts(struct load_read *r, uint32_t frontend)
{
	const struct mono begin = { 0 };
	int rc = 0;

	for (uint32_t i = 0; !rc && i < r->c.nodes; i++) {
		struct transport_peer peer = { .host = host_of(r, frontend % r->c.sources, i),
					       .name = "node",
					       .address = "simulated" };

		rc = transport_add(r->frontend[frontend].t, &peer, begin);
	}
	return rc;
}

static int open_frontend(struct load_read *r, uint32_t i)
{
	const struct transport_sim sim = {
		.there_ns = r->c.read_ns / 2,
		.back_ns = r->c.read_ns - r->c.read_ns / 2,
		.bytes = { [TRANSPORT_TABLE] = REGION_TABLE_BYTES,
			   [TRANSPORT_WORDS] = REGION_WORDS_BYTES,
			   [TRANSPORT_LOAD] = REGION_LOADS_BYTES },
		.generation = GENERATION,
		.arg = r,
		.read = read_memory,
	};
	struct frontend *f = &r->frontend[i];
	char text[256];
	int rc = transport_sim_open(&f->t, &sim, (uint16_t)(CLIENTS_FROM + i), (struct mono){ 0 },
				    text);

	f->due_ns = INT64_MAX;
	if (!rc)
		rc = peers_open(&f->p, f->t, TIMEOUT_NS);
	return rc ? rc : add_hosts(r, i);
}

/* Pass on the load of a host, if it is another than last time. */
static void take(struct load_read *r, uint32_t frontend, uint16_t host)
{
	struct frontend *f = &r->frontend[frontend];
	uint32_t node = (host - 1u) % r->c.nodes;
	struct load_record rec;
	struct peer_seen s;

	peers_see(f->p, host, &s);
	if (!s.nodes || !s.node[0].load.head.seq || s.node[0].load.beat == f->beat[node])
		return;
	f->beat[node] = s.node[0].load.beat;
	rec = s.node[0].load;
	rec.node = node;
	r->c.loaded(r->c.arg, frontend, node, &rec, s.node[0].moved.ns);
}

static void poll_events(struct load_read *r, struct web *w, uint32_t frontend, int64_t now)
{
	struct frontend *f = &r->frontend[frontend];
	struct transport_event ev[EVENTS];
	const struct mono at = { now };
	struct mono due;
	uint16_t host = 0;

	do {
		size_t n = transport_poll(f->t, at, ev, EVENTS);

		for (size_t i = 0; i < n; i++) {
			/* The results of one host come one after the other. */
			if (host && host != ev[i].host)
				take(r, frontend, host);
			host = ev[i].host;
			peers_event(f->p, &ev[i], at);
		}
	} while (transport_arm(f->t, at, &due));
	if (host)
		take(r, frontend, host);
	/* What is due later, a scan comes before it. */
	if (due.ns < now + r->c.scan_ns && (f->due_ns <= now || due.ns < f->due_ns)) {
		f->due_ns = due.ns;
		web_timer(w, due.ns, TIMER_POLL, frontend);
	}
}

void load_read_timer(struct load_read *r, struct web *w, uint32_t what, uint32_t of, int64_t now)
{
	if (what == TIMER_SCAN) {
		peers_scan(r->frontend[of].p, (struct mono){ now });
		web_timer(w, now + r->c.scan_ns, TIMER_SCAN, of);
	}
	poll_events(r, w, of, now);
}

/* They begin at random times, so that they do not go in step. */
void load_read_begin(struct load_read *r, struct web *w)
{
	uint64_t random = r->c.seed;

	for (uint32_t i = 0; i < r->c.frontends; i++) {
		uint64_t phase = random_next(&random) % (uint64_t)r->c.scan_ns;

		web_timer(w, 0, TIMER_POLL, i); /* links come up */
		web_timer(w, (int64_t)phase, TIMER_SCAN, i);
	}
}

/* --- the whole -------------------------------------------------------------------- */

static bool valid(const struct load_read_conf *c)
{
	return c->nodes && c->nodes <= WEB_NODES_MAX && c->sources && c->sources <= SOURCES &&
	       c->nodes * c->sources < CLIENTS_FROM && c->frontends &&
	       c->frontends <= WEB_FRONTENDS_MAX && c->scan_ns > 0 && c->read_ns >= 0 &&
	       c->read_ns < c->scan_ns && c->write_ns > 0;
}

int load_read_open(struct load_read **out, const struct load_read_conf *c)
{
	struct load_read *r;
	int rc = 0;

	if (!valid(c))
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->c = *c;
	for (uint32_t i = 0; !rc && i < c->nodes * c->sources; i++)
		rc = open_page(page_of(r, (uint16_t)(i + 1)), (uint16_t)(i + 1));
	for (uint32_t i = 0; !rc && i < c->frontends; i++)
		rc = open_frontend(r, i);
	if (rc) {
		load_read_close(r);
		return rc;
	}
	*out = r;
	return 0;
}

void load_read_close(struct load_read *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < WEB_FRONTENDS_MAX; i++) {
		peers_close(r->frontend[i].p);
		transport_close(r->frontend[i].t);
	}
	for (uint32_t i = 0; i < SOURCES * WEB_NODES_MAX; i++) {
		struct page *p = &r->page[i / WEB_NODES_MAX][i % WEB_NODES_MAX];

		free(p->table);
		free(p->loads);
	}
	free(r);
}

void load_read_stats(const struct load_read *r, struct load_read_stats *s)
{
	*s = r->stats;
}
