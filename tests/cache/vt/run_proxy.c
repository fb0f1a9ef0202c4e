// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run_proxy: a proxy: requests for pages, its copies, and the check of each copy that it serves.
 * What it has survives a restart of its process, as the cache of a web server does.
 */
#include <string.h>

#include "tests/cache/vt/run_priv.h"

void run_proxy_boot(struct run *r, uint16_t host)
{
	struct run_proxy *p = &r->proxy[host];
	struct hit_conf c = { .tag = RUN_T_HIT,
			      .requests = RUN_REQUESTS,
			      .words = RUN_WORDS,
			      .offset = RUN_VERSIONS,
			      .timeout_ns = r->timeout_ns,
			      .fresh = p->evidence };

	for (uint16_t h = 1; h <= RUN_APPS; h++) {
		struct fresh_conf f = { .home = h,
					.tag = RUN_T_FRESH + (uint32_t)h * FRESH_TAGS,
					.offset = RUN_BEAT,
					.fresh_ns = RUN_FRESH,
					.check_ns = RUN_LOOK,
					.ask_ns = 3 * RUN_FRESH / 2,
					.drift_ppm = r->drift_ppm };

		fresh_init(&p->fresh[h], &f);
		p->evidence[h] = &p->fresh[h];
	}
	if (hit_bytes(&c) > sizeof(p->block) || !hit_init(&p->hit, &c, p->block))
		__builtin_trap();
	memset(p->request, 0, sizeof(p->request));
}

/* --- copies ------------------------------------------------------------------------ */

static struct run_copy *find_copy(struct run_proxy *p, uint32_t page, uint16_t home,
				  uint64_t version)
{
	for (uint32_t i = 0; i < RUN_COPIES; i++) {
		struct run_copy *c = &p->copy[page][i];

		if (c->version == version && c->home == home)
			return c;
	}
	return NULL;
}

void run_proxy_deliver(struct run *r, uint16_t host, uint16_t home, uint16_t page, uint64_t version,
		       uint32_t seen)
{
	struct run_delivery *d = &r->delivery[r->deliveries % RUN_DELIVERIES];
	int64_t late = one_in(r, 8) ? 3 * RUN_FRESH : 2 * NS_PER_MS;

	*d = (struct run_delivery){ host, home, page, version, seen };
	run_timer(r, between(r, 0, late), RUN_EV_COPY, r->deliveries++ % RUN_DELIVERIES);
}

void run_proxy_store(struct run *r, uint32_t of)
{
	const struct run_delivery *d = &r->delivery[of];
	struct run_proxy *p = &r->proxy[d->host];
	struct run_copy *c = find_copy(p, d->page, d->home, d->version);

	if (!c)
		c = &p->copy[d->page][p->next_copy[d->page]++ % RUN_COPIES];
	*c = (struct run_copy){ d->version, d->home, d->seen };
	run_note(r, "stores", d->host, d->page, d->version, d->seen);
}

/* --- requests ---------------------------------------------------------------------- */

/* Most proxies choose the same home for a page; not all do at all times. */
static uint16_t choose_home(struct run *r, uint32_t page)
{
	uint16_t home = r->page[page].home;

	return one_in(r, 6) ? home % RUN_APPS + 1 : home;
}

static void request(struct run *r, uint16_t host, struct mono now, struct step_out *out)
{
	struct run_proxy *p = &r->proxy[host];
	uint32_t page = (uint32_t)between(r, 0, RUN_PAGES - 1);
	struct hit_wish w = { .home = choose_home(r, page), .word = r->page[page].word };
	const struct step_event ev = { .type = STEP_ASK, .what = HIT_ASK, .wish = &w };

	while (w.id < RUN_REQUESTS && p->request[w.id].busy)
		w.id++;
	if (w.id == RUN_REQUESTS || hit_full(&p->hit))
		return;
	p->request[w.id].busy = true;
	p->request[w.id].page = (uint16_t)page;
	p->request[w.id].t = r->w.now;
	hit_step(&p->hit, &ev, now, out);
}

/* An application server is asked to compute it. */
static void miss(struct run *r, uint16_t host, uint32_t page, uint16_t home)
{
	uint32_t app = (uint32_t)between(r, 1, RUN_APPS);
	int64_t late = one_in(r, 16) ? RUN_FRESH : NS_PER_MS;

	r->sums.misses++;
	run_timer(r, between(r, 0, late), RUN_EV_FILL,
		  app | page << 4 | (uint32_t)host << 12 | (uint32_t)home << 16);
}

static void hit(struct run *r, uint16_t host, uint32_t page, const struct run_copy *c,
		const struct run_read *read)
{
	const struct run_page *p = &r->page[page];
	uint32_t touched = db_touched(&r->db, p->tags, p->word == 0, read->position);

	r->sums.hits++;
	r->sums.hits_after += touched > 0;
	run_note(r, "serves", host, page, c->version, c->seen);
	if (touched > c->seen)
		run_fail(r, RUN_STALE,
			 "host %u served page %u as of commit %u, after commit %u that touches it",
			 host, page, c->seen, touched);
	if (r->quiet)
		r->page[page].served = true;
}

static void answered(struct run *r, uint16_t host, const struct hit_answer *a,
		     const struct run_read *read)
{
	struct run_proxy *p = &r->proxy[host];
	uint32_t page = p->request[a->id].page;
	const struct run_copy *c;

	p->request[a->id].busy = false;
	if (a->why != CACHE_RING_VERIFIED) {
		r->sums.unverified++;
		return;
	}
	if (!read || read->t < p->request[a->id].t) {
		run_fail(r, RUN_EARLY, "host %u verified page %u by a READ from before the request",
			 host, page);
		return;
	}
	c = find_copy(p, page, a->home, a->version);
	if (c)
		hit(r, host, page, c, read);
	else
		miss(r, host, page, a->home);
}

/* --- the loop --------------------------------------------------------------------- */

static bool is_of_hit(uint32_t tag)
{
	return tag - RUN_T_HIT < RUN_APPS * HIT_READS;
}

void run_proxy_read(struct run *r, uint16_t host, uint32_t tag)
{
	if (is_of_hit(tag))
		r->proxy[host].read[tag - RUN_T_HIT] = (struct run_read){ r->db.commits, r->w.now };
}

void run_proxy_step(struct run *r, uint16_t host, const struct step_event *ev, struct mono now,
		    struct step_out *out)
{
	struct run_proxy *p = &r->proxy[host];
	struct run_read read, *seen = NULL;
	struct hit_answer a;

	if (ev->type == STEP_ASK) {
		request(r, host, now, out);
	} else {
		for (uint16_t h = 1; h <= RUN_APPS; h++)
			fresh_step(&p->fresh[h], ev, now, out);
		if (ev->type == STEP_RESULT && is_of_hit(ev->tag)) {
			read = p->read[ev->tag - RUN_T_HIT];
			seen = &read;
		}
		hit_step(&p->hit, ev, now, out);
	}
	while (hit_take(&p->hit, &a))
		answered(r, host, &a, seen);
}

struct mono run_proxy_due(const struct run *r, uint16_t host)
{
	const struct run_proxy *p = &r->proxy[host];
	struct mono due = hit_due(&p->hit);

	for (uint16_t h = 1; h <= RUN_APPS; h++)
		due = mono_earlier(due, fresh_due(&p->fresh[h]));
	return due;
}
