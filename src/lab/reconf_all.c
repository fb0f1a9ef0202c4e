// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reconf_all: all modes of reconf.h with several seeds, on the SIMULATED cluster: means, and the
 * least of one seed. reconf_cmd.c calls it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/lab/reconf.h"

static uint32_t ratio(uint64_t a, uint64_t b)
{
	return b ? (uint32_t)(a * 1000 / b) : 0;
}

/* Each service's bucket is full at first, and fills as long as the run lasts. */
static uint64_t allowed(const struct reconf_plan *p)
{
	const struct decide_conf *d = &p->rules.decide;
	int64_t ns = p->web.warmup_ns + p->web.duration_ns;

	return p->web.sites *
	       (d->budget + sat_muldiv((uint64_t)ns, d->budget, (uint64_t)d->budget_ns));
}

/* r: of all modes, with one seed. */
static void add(struct reconf_point *s, const struct reconf_plan *p, const struct reconf_run *r,
		uint32_t nth)
{
	const struct reconf_moves *m = &r[RECONF_MOVES].moves;
	uint32_t of_allowed = ratio(m->moved - m->home, allowed(p));
	uint32_t of_over = ratio(r[RECONF_MOVES].tps, r[RECONF_OVER].tps);
	uint32_t of_rigid = ratio(r[RECONF_MOVES].tps, r[RECONF_RIGID].tps);

	s->of_over += of_over;
	s->of_rigid += of_rigid;
	if (!nth || of_over < s->least_over)
		s->least_over = of_over;
	if (!nth || of_rigid < s->least_rigid)
		s->least_rigid = of_rigid;
	if (of_allowed > s->most_allowed)
		s->most_allowed = of_allowed;
	reconf_moves_add(&s->moves, m);
	s->scan_reads += r[RECONF_MOVES].scan_reads;
	for (int i = 0; i < RECONF_MODES; i++)
		s->tps[i] += r[i].tps;
	if (nth)
		return;
	s->intervals = r[RECONF_MOVES].intervals;
	for (int i = 0; i < RECONF_MODES; i++)
		memcpy(s->busy[i], r[i].busy, sizeof(s->busy[i]));
}

int reconf_point(const struct reconf_plan *plan, uint32_t burst, uint32_t seeds,
		 struct reconf_point *s)
{
	struct reconf_run *r = calloc(RECONF_MODES, sizeof(*r));
	struct reconf_plan p = *plan;
	int rc = !seeds ? -EINVAL : r ? 0 : -ENOMEM;

	memset(s, 0, sizeof(*s));
	s->burst = p.web.site_burst = burst;
	s->seeds = seeds;
	for (uint32_t k = 0; !rc && k < seeds; k++, p.web.seed++) {
		for (int m = 0; !rc && m < RECONF_MODES; m++) {
			if (p.progress)
				p.progress(p.progress_arg);
			rc = reconf_run(&p, (enum reconf_mode)m, &r[m]);
		}
		if (!rc)
			add(s, &p, r, k);
	}
	s->allowed = seeds * allowed(plan);
	if (!rc) {
		for (int m = 0; m < RECONF_MODES; m++)
			s->tps[m] /= seeds;
		s->of_over /= seeds;
		s->of_rigid /= seeds;
	}
	free(r);
	return rc;
}
