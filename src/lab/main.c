// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resex-lab: experiments on simulated hosts and clusters; see resex-lab(1). load: the options
 * (load_options.c), the runs (load_run.c), what is printed (load_show.c). figures: figures_cmd.c.
 * reconf: reconf_cmd.c.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/lab/figures_cmd.h"
#include "src/lab/load_cmd.h"
#include "src/lab/reconf_cmd.h"
#include "src/util/file.h"

static int print(const struct load_options *o, const struct load_sums *s)
{
	json_t *all = load_json(o, s);

	if (all && o->out.json)
		lab_print_json(all);
	else if (all)
		load_print(o, s, all);
	return lab_printed(all);
}

static int load(int argc, char **argv)
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

static void print_help(FILE *f)
{
	fputs("Usage: resex-lab EXPERIMENT [OPTION]...\n"
	      "Experiments on SIMULATED hosts and clusters.\n\n"
	      "  figures  draw the figures of the paper: resex-lab figures --help\n"
	      "  load     balance requests by the load of nodes: resex-lab load --help\n"
	      "  reconf   move nodes between sites by their load: resex-lab reconf --help\n\n"
	      "  -h, --help     print this\n"
	      "  -V, --version  print the version\n\n"
	      "See resex-lab(1).\n",
	      f);
}

static bool is(const char *word, const char *name, const char *letter)
{
	return !strcmp(word, name) || !strcmp(word, letter);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	file_keep_standard();
	if (!strcmp(word, "load"))
		return load(argc - 1, argv + 1);
	if (!strcmp(word, "figures"))
		return figures_cmd(argc - 1, argv + 1);
	if (!strcmp(word, "reconf"))
		return reconf_cmd(argc - 1, argv + 1);
	if (is(word, "--version", "-V")) {
		puts("resex-lab " PACKAGE_VERSION);
		return RESEX_OK;
	}
	if (is(word, "--help", "-h")) {
		print_help(stdout);
		return RESEX_OK;
	}
	if (argc < 2) {
		print_help(stderr);
		return RESEX_USAGE;
	}
	fprintf(stderr, "resex-lab: unknown experiment \"%s\": see resex-lab --help\n", word);
	return RESEX_USAGE;
}
