// SPDX-License-Identifier: GPL-2.0-or-later
// reconf_cmd: "resex-lab reconf" from its options to its output. main.c calls it.
#include "src/lab/reconf_cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resex/exit.h"

struct progress {
	uint32_t done, runs;
};

static void show(void *arg)
{
	struct progress *p = arg;

	fprintf(stderr, "\r%u of %u runs ", p->done++, p->runs);
}

/* progress NULL: it is not shown. */
static void plan_of(const struct reconf_options *o, uint32_t cluster, struct progress *progress,
		    struct reconf_plan *p)
{
	reconf_options_plan(o, cluster, p);
	p->progress = progress ? show : NULL;
	p->progress_arg = progress;
}

static int run(const struct reconf_options *o, struct reconf_all *a)
{
	static const uint32_t equal[RECONF_EQUALS] = { 1, 64 };
	struct progress progress = {
		.runs = o->seeds *
			(RECONF_MODES * (o->clusters * o->bursts + RECONF_EQUALS) +
			 reconf_scene_runs(RECONF_QOS) + reconf_scene_runs(RECONF_CHAINS)),
	};
	bool person = isatty(STDERR_FILENO);
	struct reconf_plan p;
	int rc = 0;

	for (uint32_t c = 0; !rc && c < o->clusters; c++) {
		plan_of(o, c, person ? &progress : NULL, &p);
		for (uint32_t i = 0; !rc && i < o->bursts; i++)
			rc = reconf_point(&p, o->burst[i], o->seeds, &a->of[c][i]);
	}
	for (uint32_t i = 0; !rc && i < RECONF_EQUALS; i++) {
		plan_of(o, o->clusters - 1, person ? &progress : NULL, &p);
		rc = reconf_point(&p, equal[i], o->seeds, &a->equal[i]);
	}
	for (uint32_t i = 0; !rc && i < RECONF_SCENES; i++)
		rc = reconf_stage(&p, (enum reconf_scene)i, o->seeds, &a->scene[i]);
	p.progress = NULL;
	if (!rc)
		rc = reconf_forecast_all(&p, RECONF_FORECASTS * o->seeds, &a->forecasts);
	if (person)
		fprintf(stderr, "\r%30s\r", "");
	if (!rc)
		return RESEX_OK;
	fprintf(stderr, "resex-lab: the cluster cannot be simulated: %s\n", strerror(-rc));
	return RESEX_FAILURE;
}

static int print(const struct reconf_options *o, const struct reconf_all *a)
{
	json_t *all = reconf_json(o, a);

	if (all && o->out.json)
		lab_print_json(all);
	else if (all)
		reconf_print(o, a, all);
	return lab_printed(all);
}

int reconf_cmd(int argc, char **argv)
{
	struct reconf_options o;
	struct reconf_all *a;
	int rc = reconf_options(&o, argc, argv);

	if (rc >= 0)
		return rc;
	a = calloc(1, sizeof(*a));
	if (!a)
		fputs("resex-lab: there is no memory\n", stderr);
	rc = a ? run(&o, a) : RESEX_FAILURE;
	if (rc == RESEX_OK && o.out.figures)
		rc = reconf_figures(&o, a);
	if (rc == RESEX_OK)
		rc = print(&o, a);
	free(a);
	return rc;
}
