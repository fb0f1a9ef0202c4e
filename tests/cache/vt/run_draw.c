// SPDX-License-Identifier: GPL-2.0-or-later
/* run_draw: the pages of a schedule, and what will go wrong in it, from its seed. */
#include <stddef.h>
#include <string.h>

#include "tests/cache/vt/run_priv.h"

static void draw_pages(struct run *r)
{
	for (uint32_t p = 0; p < RUN_PAGES; p++) {
		struct run_page *g = &r->page[p];

		*g = (struct run_page){ .home = (uint16_t)(p % RUN_APPS + 1) };
		/* The last page of each home has no list; two others may share a word. */
		if (p >= RUN_PAGES - RUN_APPS)
			continue;
		g->word = (uint32_t)between(r, 1, RUN_WORDS - 1);
		for (int64_t n = between(r, 1, 3); n > 0; n--)
			g->tags |= 1ull << between(r, 0, RUN_TAGS - 1);
	}
}

static void draw_faults(struct run *r, struct world_conf *c)
{
	static const uint32_t often[] = { 16, 64, 256, 1024 };

	r->commit_in = 0;
	if (r->kind == RUN_CALM || r->kind == RUN_DEATH)
		return;
	r->commit_in = r->kind == RUN_COMMITS ? 4 : r->kind == RUN_REMOVALS ? 16 : 32;
	r->may_go = r->kind >= RUN_CRASHES && one_in(r, 3);
	c->restarts = true;
	if (r->kind == RUN_REMOVALS) { /* R7 j: READs that are posted late */
		c->fault_in = 32;
		c->faults_max = 64;
		c->weight[FAULT_PAUSE] = 4;
		c->weight[FAULT_LATE] = 1;
	}
	if (r->kind == RUN_REMOVALS || (r->kind != RUN_STORM && one_in(r, 2)))
		return;
	c->fault_in = often[world_random(&r->w) % 4];
	c->faults_max = (uint32_t)between(r, 1, 20);
	for (int f = 0; f < FAULTS; f++)
		c->weight[f] = (uint32_t)between(r, 0, 3);
}

/*
 * A write that waits for a member which dies: it is detected, removed, and waited for. The removal
 * waits for its transactions, the write for a few looks.
 */
static int64_t longest_delay(const struct run *r)
{
	int64_t detect = RUN_DETECT + RUN_DETECT / 4 + RUN_CHECK;
	int64_t wait = fresh_wait_ns(RUN_FRESH, r->drift_ppm) + 4 * RUN_LOOK;
	int64_t slow = 1000000 - (int64_t)r->drift_ppm;

	return (detect + wait) * 1000000 / slow + RUN_IDLE + 20 * NS_PER_MS;
}

void run_draw(struct run *r, uint64_t seed, const struct run_options *o, struct world_conf *c)
{
	static const uint32_t drifts[] = { 0, 200, 20000, 400000 };

	memset(r, 0, offsetof(struct run, w));
	memset((char *)r + offsetof(struct run, db), 0, sizeof(*r) - offsetof(struct run, db));
	r->verbose = o->verbose;
	r->w.rng = seed;
	r->kind = o->kind >= 0 ? (enum run_kind)o->kind
			       : (enum run_kind)(world_random(&r->w) % RUN_KINDS);
	r->has_snapshots = one_in(r, 2);
	r->early = r->has_snapshots && one_in(r, 2);
	r->drift_ppm = drifts[world_random(&r->w) % 4];
	r->timeout_ns = one_in(r, r->kind == RUN_REMOVALS ? 2 : 4) ? 3 * RUN_FRESH / 2
								   : RUN_TIMEOUT;
	r->updaters = one_in(r, 4) ? 1u << between(r, 1, RUN_APPS) : 0xe;
	r->log_word = one_in(r, 4) ? RUN_VERSIONS - 8 : RUN_LOG_WORD;
	r->room = (uint32_t)between(r, 5, RUN_ROOM);
	r->log = (uint32_t)between(r, 1, RUN_LOG);
	r->trouble_ns = between(r, 20, 150) * NS_PER_MS;
	r->wish_ns = between(r, 4, 40) * NS_PER_MS;
	r->request_ns = between(r, 1, 4) * NS_PER_MS;
	r->evict_ns = between(r, 10, 100) * NS_PER_MS;
	r->delay_ns = longest_delay(r);
	*c = (struct world_conf){
		.hosts = RUN_HOSTS,
		.delay_min = 20 * NS_PER_US,
		.delay_max = between(r, 100, one_in(r, 4) ? 3000 : 1000) * NS_PER_US,
		.deadline = r->timeout_ns == RUN_TIMEOUT ? RUN_DEADLINE : 2 * RUN_FRESH,
		.tick_late = NS_PER_MS,
		.drift_ppm = (int32_t)r->drift_ppm,
		.lease = 2 * RUN_FRESH,
		.faults_until = between(r, 8, 16) * RUN_FRESH
	};
	draw_pages(r);
	draw_faults(r, c);
}
