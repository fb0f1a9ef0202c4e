// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_run: the cells of all figures, each of which is run once (pool.h), and what the server is
 * promised. figures_cmd.c calls it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/lab/figures.h"
#include "src/lab/pool.h"

/* --- cells --- */

static int find(const struct figures_runs *r, const struct figures_cell *c)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (!memcmp(&r->cell[i], c, sizeof(*c)))
			return (int)i;
	return -1;
}

int figures_add(struct figures_runs *r, const struct figures_cell *c)
{
	int i = find(r, c);

	if (i >= 0)
		return i;
	if (r->n == FIGURES_CELLS_MAX)
		return -1;
	r->cell[r->n] = *c;
	return (int)r->n++;
}

const struct figures_result *figures_of(const struct figures_runs *r, const struct figures_cell *c)
{
	int i = find(r, c);

	return i < 0 ? NULL : &r->result[i];
}

/* --- one run --- */

/* text is freed; NULL: there was no memory for it. */
static int run_text(char *text, const struct figures_cell *c, struct figures_result *to)
{
	json_t *summary = NULL;
	int rc = pool_scenario("figure", text, &summary);

	if (!rc)
		rc = figures_read(summary, c, to);
	if (rc == -EINVAL)
		fputs("resex-lab: a run gave no figures\n", stderr);
	json_decref(summary);
	free(text);
	return rc;
}

/* What the server is promised is what it has alone, in a run of its own. */
static int run_cell(void *arg, uint32_t i)
{
	const struct figures_runs *r = arg;
	const struct figures_cell *c = &r->cell[i];
	struct figures_cell alone = { .policy = FIGURES_NULL,
				      .servers = 1,
				      .variation = c->variation,
				      .duration_ms = 1000,
				      .step_ms = 1000 };
	struct figures_result *base = malloc(sizeof(*base));
	int rc = base ? run_text(figures_scenario(&alone, r->seed, 209, 62), &alone, base)
		      : -ENOMEM;

	if (!rc)
		rc = run_text(
			figures_scenario(c, r->seed, base->mean,
					 base->part[FIGURES_WTIME] + base->part[FIGURES_PTIME]),
			c, &r->result[i]);
	free(base);
	return rc;
}

/* --- all runs --- */

int figures_run(struct figures_runs *r, uint32_t jobs)
{
	struct pool p = { .pieces = r->n, .work = run_cell, .arg = r };
	int rc;

	r->result = pool_memory(FIGURES_CELLS_MAX * sizeof(*r->result));
	if (!r->result)
		return RESEX_FAILURE;
	rc = pool_run(&p, jobs);
	for (uint32_t i = 0; rc == RESEX_OK && i < r->n; i++)
		if (!r->result[i].done)
			rc = RESEX_FAILURE;
	return rc;
}

void figures_free(struct figures_runs *r)
{
	pool_release(r->result, FIGURES_CELLS_MAX * sizeof(*r->result));
	r->result = NULL;
}
