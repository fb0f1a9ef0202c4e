// SPDX-License-Identifier: GPL-2.0-or-later
/* reconf_forecast: see reconf_forecast.h. SIMULATED. */
#include "src/lab/reconf_forecast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/core/random.h"

/* S and T as resexd(8) has them, to one another and to load.window. */
enum { SCAN_MS = 10, CHECKS = 5, WINDOW_SCANS = 2 };

static uint32_t draw(uint64_t *random, uint32_t from, uint32_t to)
{
	if (to < from) /* a site of no CPUs: there is none */
		return from;
	return from + (uint32_t)(random_next(random) % (to - from + 1));
}

/*
 * The first site gets 4 to 32 clients a CPU, the others at most 1. It takes one node, and those of
 * the others only observe.
 */
static void draw_plan(const struct reconf_plan *from, uint64_t seed, struct reconf_plan *p)
{
	uint64_t random = seed ^ 0x666f7265636173;
	uint32_t sites = draw(&random, 2, 4), share[WEB_SITES_MAX], node = 0;

	*p = *from;
	for (uint32_t s = 0; s < sites; s++)
		share[s] = draw(&random, 2, 5);
	reconf_plan_shares(p, share, sites);
	reconf_plan_times(p, SCAN_MS * NS_PER_MS, CHECKS);
	p->rules.window_ns = WINDOW_SCANS * p->rules.scan_ns;
	memset(p->rules.may, 0, sizeof(p->rules.may));
	p->web.seed = seed;
	p->web.site_burst = 0;
	p->web.clients = 0;
	p->web.warmup_ns = 300 * NS_PER_MS;
	p->web.duration_ns = 700 * NS_PER_MS;
	for (uint32_t s = 0; s < sites; s++) {
		uint32_t cpus = 0;

		for (uint32_t k = 0; k < share[s]; k++)
			cpus += p->web.node_cpus[node++] = draw(&random, 1, 4);
		p->calm[s] = draw(&random, 1, cpus);
		p->busy[s] = s ? p->calm[s] : cpus * draw(&random, 4, 32);
		p->web.clients += p->busy[s];
		p->rules.service[s] = (struct reconf_service){ .minimum = 1,
							       .maximum = s ? 0 : share[s] + 1 };
	}
}

static uint32_t error_of(uint32_t predicted, uint32_t seen)
{
	uint32_t off = predicted > seen ? predicted - seen : seen - predicted;

	return seen ? (uint32_t)((uint64_t)off * 1000 / seen) : predicted ? 1000 : 0;
}

static bool same(const struct decide_step *a, const struct decide_step *b)
{
	return a->taker == b->taker && a->donor == b->donor && a->node == b->node;
}

/* 1: both modes decided the same move, and one was made; 0: not so. */
static int try(struct reconf_plan *p, struct reconf_run *r, struct reconf_forecast *f)
{
	int rc;

	p->rules.observe = UINT64_MAX;
	rc = reconf_run(p, RECONF_MOVES, r);
	if (rc || !r->foreseen[0].seen)
		return rc;
	f->observe = r->foreseen[0];
	p->rules.observe = ~UINT64_C(1);
	rc = reconf_run(p, RECONF_MOVES, r);
	if (rc || r->moves.moved != 1 || !r->foreseen[0].seen)
		return rc;
	f->act = r->foreseen[0];
	if (!same(&f->observe.step, &f->act.step))
		return 0;
	f->taker_error = error_of(f->observe.taker_after, f->act.taker_seen);
	f->donor_error = error_of(f->observe.donor_after, f->act.donor_seen);
	return 1;
}

int reconf_forecasts(const struct reconf_plan *plan, uint32_t most, struct reconf_forecast *f,
		     uint32_t *n, uint32_t *drawn)
{
	struct reconf_run *r = calloc(1, sizeof(*r));
	struct reconf_plan *p = calloc(1, sizeof(*p));
	int rc = r && p ? 0 : -ENOMEM;

	*n = *drawn = 0;
	while (rc >= 0 && *n < most && *drawn < 2 * most) {
		if (plan->progress)
			plan->progress(plan->progress_arg);
		draw_plan(plan, plan->web.seed + (*drawn)++, p);
		rc = try(p, r, &f[*n]);
		*n += rc == 1;
	}
	free(p);
	free(r);
	return rc < 0 ? rc : 0;
}

/* --- distributions ---------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The error that so many, in 1/1000, do not exceed. */
static uint32_t quantile(const uint32_t *error, uint32_t n, uint32_t part)
{
	return error[(uint64_t)(n - 1) * part / 1000];
}

/* above: as in e, but a number of them. Sorts the errors. */
static void distribute(uint32_t *error, uint32_t n, uint32_t above, struct reconf_errors *e)
{
	uint32_t near = 0;

	qsort(error, n, sizeof(*error), by_size);
	while (near < n && error[near] <= RECONF_NEAR)
		near++;
	e->near = near * 1000 / n;
	e->half = quantile(error, n, 500);
	e->nine_tenths = quantile(error, n, 900);
	e->most = error[n - 1];
	e->above = near < n ? above * 1000 / (n - near) : 0;
}

int reconf_forecast_all(const struct reconf_plan *p, uint32_t most, struct reconf_forecasts *all)
{
	struct reconf_forecast *f = calloc(most, sizeof(*f));
	uint32_t *error = calloc(most, sizeof(*error)), *donor = calloc(most, sizeof(*donor));
	uint32_t above_taker = 0, above_donor = 0;
	int rc = f && error && donor ? 0 : -ENOMEM;

	memset(all, 0, sizeof(*all));
	if (!rc)
		rc = reconf_forecasts(p, most, f, &all->n, &all->drawn);
	for (uint32_t i = 0; !rc && i < all->n; i++) {
		const struct reconf_foreseen *o = &f[i].observe, *a = &f[i].act;

		error[i] = f[i].taker_error;
		donor[i] = f[i].donor_error;
		above_taker += error[i] > RECONF_NEAR && o->taker_after > a->taker_seen;
		above_donor += donor[i] > RECONF_NEAR && o->donor_after > a->donor_seen;
	}
	if (!rc && all->n) {
		distribute(error, all->n, above_taker, &all->taker);
		distribute(donor, all->n, above_donor, &all->donor);
	}
	free(f);
	free(error);
	free(donor);
	return rc;
}
