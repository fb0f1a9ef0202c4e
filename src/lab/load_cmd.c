// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_cmd: "resex-lab load" from its options (load_options.c) over the runs (load_run.c) to its
 * output (load_show.c), or figures (load_figures.c). main.c and figures_cmd.c call it.
 */
#include "src/lab/load_cmd.h"

#include <stdio.h>
#include <stdlib.h>

#include "resex/exit.h"

static int print(const struct load_options *o, const struct load_sums *s)
{
	json_t *all = load_json(o, s);

	if (all && o->out.json)
		lab_print_json(all);
	else if (all)
		load_print(o, s, all);
	return lab_printed(all);
}

int load_cmd(int argc, char **argv)
{
	struct load_options o;
	struct load_sums *s;
	int rc = load_options(&o, argc, argv);

	if (rc >= 0)
		return rc;
	if (o.out.figures)
		return load_figures(&o);
	s = malloc(sizeof(*s));
	if (!s)
		fputs("resex-lab: there is no memory\n", stderr);
	rc = s ? load_run(&o.plan, o.seeds, LOAD_POLICIES, s) : RESEX_FAILURE;
	if (rc == RESEX_OK)
		rc = print(&o, s);
	free(s);
	load_log_free(&o.log);
	return rc;
}
