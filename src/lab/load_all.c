// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_all: all policies of load.h with several seeds: means, and ranges over random choice of the
 * same seed. load_run.c calls it, load_show.c prints it.
 */
#include <errno.h>
#include <stdlib.h>

#include "src/lab/load.h"

static int32_t gain_of(uint64_t served, uint64_t by_random)
{
	return by_random ? (int32_t)(served * 1000 / by_random) - 1000 : 0;
}

/* r: of one seed; random: by random choice with that seed. */
static void add(struct load_sum *s, const struct load_run *r, const struct web_result *random,
		uint32_t nth)
{
	int32_t gain = gain_of(r->web.tps, random->tps);

	s->tps += r->web.tps;
	s->variance += r->web.variance;
	s->latency_ns += r->web.latency_ns;
	s->scan_ns += (uint64_t)r->scan_ns;
	s->k += r->decisions ? r->k_sum * 10 / r->decisions : 0;
	s->reads += r->read.reads;
	s->torn += r->read.torn;
	for (int i = 0; i < WEB_SITES_MAX; i++)
		s->site_gain[i] += gain_of(r->web.by_site[i], random->by_site[i]);
	s->gain += gain;
	s->least = nth && s->least < gain ? s->least : gain;
	s->most = nth && s->most > gain ? s->most : gain;
	for (int i = 0; i < BALANCE_WHYS; i++)
		s->why[i] += r->why[i];
	if (nth)
		return;
	s->intervals = r->web.intervals < WEB_SERIES_MAX ? r->web.intervals : WEB_SERIES_MAX;
	for (uint32_t i = 0; i < s->intervals; i++)
		s->series[i] = r->web.series[i];
}

static void divide(struct load_sums *s, const struct load_plan *p)
{
	for (int i = 0; i < LOAD_POLICIES; i++) {
		struct load_sum *t = &s->policy[i];

		t->tps /= s->seeds;
		t->variance /= s->seeds;
		t->latency_ns /= s->seeds;
		t->scan_ns /= s->seeds;
		t->k /= s->seeds;
		t->reads /= s->seeds;
		t->torn /= s->seeds;
		t->gain /= (int32_t)s->seeds;
		for (int k = 0; k < WEB_SITES_MAX; k++)
			t->site_gain[k] /= (int32_t)s->seeds;
	}
	s->service_ns /= s->seeds;
	s->used /= s->seeds;
	s->writes /= s->seeds;
	s->bound = load_bound(p, s->policy[LOAD_BY_RANDOM].tps);
}

int load_run_all(const struct load_plan *plan, uint32_t seeds, int policies, struct load_sums *s)
{
	struct load_run *r = calloc(2, sizeof(*r)); /* of a policy, and of random choice */
	struct load_plan p = *plan;
	int rc = r ? 0 : -ENOMEM;

	*s = (struct load_sums){ .seeds = seeds };
	for (uint32_t k = 0; !rc && k < seeds; k++, p.web.seed++) {
		uint64_t service_ns = 0;

		for (int i = 0; !rc && i < policies; i++) {
			if (p.progress)
				p.progress(k * (uint32_t)policies + (uint32_t)i,
					   seeds * (uint32_t)policies);
			rc = load_policy_run(&p, (enum load_policy)i, (int64_t)service_ns, r);
			if (rc)
				break;
			if (i == LOAD_BY_RANDOM) {
				r[1] = r[0];
				service_ns = r->web.demand_ns;
				s->service_ns += service_ns;
				s->writes += r->web.sent ? r->web.writes * 1000 / r->web.sent : 0;
				s->used += r->web.cpu_ns ? r->web.busy_ns * 1000 / r->web.cpu_ns
							 : 0;
			}
			add(&s->policy[i], r, &r[1].web, k);
		}
	}
	if (!rc)
		divide(s, plan);
	free(r);
	return rc;
}
