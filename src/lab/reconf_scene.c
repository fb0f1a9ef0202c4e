// SPDX-License-Identifier: GPL-2.0-or-later
/* reconf_scene: see reconf_scene.h. SIMULATED. */
#include "src/lab/reconf_scene.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = 0 };

static const struct scene {
	uint32_t sites;
	const char *site[WEB_SITES_MAX];
	uint32_t share[WEB_SITES_MAX], calm[WEB_SITES_MAX], busy[WEB_SITES_MAX];
	uint32_t variants;
	struct {
		const char *name;
		enum reconf_mode mode;
		struct reconf_service service[WEB_SITES_MAX];
		bool any; /* each node may serve all sites */
		uint32_t off;
	} of[RECONF_VARIANTS];
	/* Of the nodes of each site: bit i: site i; 0: all. */
	uint64_t may[WEB_SITES_MAX];
} scenes[RECONF_SCENES] = {
	[RECONF_QOS] = {
		.sites = 4,
		.site = { "high", "low", "idle1", "idle2" },
		.share = { 2, 2, 2, 2 },
		.calm = { 4, 4, 4, 4 },
		.busy = { 60, 60, 4, 4 },
		.variants = 6,
		.of = {
			{ "rigid", RECONF_RIGID, { { 1, 0, 0, 0 } }, true, 0 },
			{ "alike", RECONF_MOVES, { { 1, 0, 0, 0 } }, true, 0 },
			{ "priority", RECONF_MOVES, { { 1, 0, 0, 1 } }, true, 0 },
			{ "priority, low has minimum 2", RECONF_MOVES,
			  { { 1, 0, 0, 1 }, { 2, 0, 0, 0 } }, true, 0 },
			{ "priority, high has maximum 4", RECONF_MOVES,
			  { { 1, 0, 4, 1 } }, true, 0 },
			{ "high has guarantee 4", RECONF_MOVES, { { 1, 4, 0, 0 } }, true, 0 },
		},
	},
	[RECONF_CHAINS] = {
		.sites = 3,
		.site = { "taker", "between", "idle" },
		.share = { 2, 3, 3 },
		.calm = { 2, 2, 2 },
		.busy = { 60, 2, 2 },
		.variants = 4,
		.of = {
			{ "rigid", RECONF_RIGID, { { 1, 0, 0, 0 } }, false, 0 },
			{ "any site", RECONF_MOVES, { { 1, 0, 0, 0 } }, true, 0 },
			{ "without chains", RECONF_MOVES, { { 1, 0, 0, 0 } }, false, DECIDE_CHAIN },
			{ "chains", RECONF_MOVES, { { 1, 0, 0, 0 } }, false, 0 },
		},
		/* The idle site's nodes go to the one between, and that one's to the taker. */
		.may = { ALL, 1 << 0 | 1 << 1, 1 << 1 | 1 << 2 },
	},
};

static void plan_of(const struct reconf_plan *from, const struct scene *s, uint32_t variant,
		    struct reconf_plan *p)
{
	*p = *from;
	reconf_plan_shares(p, s->share, s->sites);
	p->web.clients = 128;
	p->web.site_burst = 0;
	p->web.warmup_ns = NS_PER_S / 2;
	p->web.duration_ns = NS_PER_S;
	p->web.interval_ns = NS_PER_MS;
	memset(p->web.node_cpus, 0, sizeof(p->web.node_cpus));
	memcpy(p->calm, s->calm, sizeof(p->calm));
	memcpy(p->busy, s->busy, sizeof(p->busy));
	p->rules.decide.off |= s->of[variant].off;
	memset(p->rules.may, 0, sizeof(p->rules.may));
	for (uint32_t i = 0, node = 0; i < s->sites; i++) {
		p->rules.service[i] = s->of[variant].service[i];
		if (!p->rules.service[i].minimum)
			p->rules.service[i].minimum = 1;
		for (uint32_t k = 0; k < s->share[i]; k++, node++)
			p->rules.may[node] = s->of[variant].any ? ALL : s->may[i];
	}
}

static void add(struct reconf_variant *v, const struct reconf_plan *p, const struct reconf_run *r,
		uint32_t nth)
{
	uint32_t moves = (uint32_t)r->moves.moved;

	if (!nth)
		v->first = *r;
	for (uint32_t i = 0; i < p->web.sites; i++) {
		v->tps[i] += r->web.by_site[i] * 1000 * NS_PER_S / (uint64_t)p->web.duration_ns;
		v->latency_ns[i] += r->web.site_latency_ns[i];
		v->nodes[i] += 1000 * r->nodes[i];
	}
	v->moves += 1000ull * moves;
	v->changed_ns += r->changed_ns;
	if (!nth || moves < v->least_moves)
		v->least_moves = moves;
	if (moves > v->most_moves)
		v->most_moves = moves;
	if (r->changed_ns > v->most_changed_ns)
		v->most_changed_ns = r->changed_ns;
}

static void to_means(struct reconf_variant *v, uint32_t seeds)
{
	for (uint32_t i = 0; i < WEB_SITES_MAX; i++) {
		v->tps[i] /= seeds;
		v->latency_ns[i] /= seeds;
		v->nodes[i] /= seeds;
	}
	v->moves /= seeds;
	v->changed_ns /= seeds;
}

uint32_t reconf_scene_runs(enum reconf_scene scene)
{
	return scenes[scene].variants;
}

int reconf_stage(const struct reconf_plan *plan, enum reconf_scene scene, uint32_t seeds,
		 struct reconf_staged *s)
{
	struct reconf_run *r = calloc(1, sizeof(*r));
	const struct scene *c = &scenes[scene];
	int rc = !seeds ? -EINVAL : r ? 0 : -ENOMEM;

	memset(s, 0, sizeof(*s));
	s->sites = c->sites;
	s->variants = c->variants;
	memcpy(s->site, c->site, sizeof(s->site));
	for (uint32_t i = 0; !rc && i < c->variants; i++) {
		struct reconf_plan p;

		s->of[i].name = c->of[i].name;
		plan_of(plan, c, i, &p);
		for (uint32_t k = 0; !rc && k < seeds; k++, p.web.seed++) {
			if (p.progress)
				p.progress(p.progress_arg);
			rc = reconf_run(&p, c->of[i].mode, r);
			if (!rc)
				add(&s->of[i], &p, r, k);
		}
		if (!rc)
			to_means(&s->of[i], seeds);
	}
	free(r);
	return rc;
}
