// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resex-lab: experiments on simulated hosts and clusters; see resex-lab(1). figures: figures_cmd.c;
 * load: load_cmd.c; reconf: reconf_cmd.c; sweep: sweep_cmd.c.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdio.h>
#include <string.h>

#include "resex/exit.h"
#include "src/lab/figures_cmd.h"
#include "src/lab/load_cmd.h"
#include "src/lab/reconf_cmd.h"
#include "src/lab/replay_cmd.h"
#include "src/lab/sweep_cmd.h"
#include "src/util/file.h"

static void print_help(FILE *f)
{
	fputs("Usage: resex-lab EXPERIMENT [OPTION]...\n"
	      "Experiments on SIMULATED hosts and clusters, and replays of real hosts' traces.\n\n"
	      "  figures  draw the figures of the paper: resex-lab figures --help\n"
	      "  load     balance requests by the load of nodes: resex-lab load --help\n"
	      "  reconf   move nodes between sites by their load: resex-lab reconf --help\n"
	      "  replay   replay a trace of resex trace-start: resex-lab replay --help\n"
	      "  sweep    latency recovered against throughput given up: resex-lab sweep --help\n\n"
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
		return load_cmd(argc - 1, argv + 1);
	if (!strcmp(word, "figures"))
		return figures_cmd(argc - 1, argv + 1);
	if (!strcmp(word, "reconf"))
		return reconf_cmd(argc - 1, argv + 1);
	if (!strcmp(word, "replay"))
		return replay_cmd(argc - 1, argv + 1);
	if (!strcmp(word, "sweep"))
		return sweep_cmd(argc - 1, argv + 1);
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
