// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_options: the command line of "resex-lab load", of one table: getopt_long's list and the help
 * are made of it, and the bash completion reads the help. main.c calls it first.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/lab/load_cmd.h"
#include "src/util/cmdline.h"

static const struct option_row {
	char letter;
	const char *name;
	const char *value; /* its name in the help; NULL: the option takes no value */
	long least, most;
	const char *help;
} rows[] = {
	{ 'n', "nodes", "NUMBER", 1, WEB_NODES_MAX, "nodes (default 8)" },
	{ 'C', "cpus", "NUMBER", 1, WEB_CPUS_MAX, "CPUs of each node (2)" },
	{ 'f', "frontends", "NUMBER", 1, WEB_FRONTENDS_MAX, "front-ends (8)" },
	{ 'c', "clients", "NUMBER", 1, WEB_CLIENTS_MAX, "clients, closed loop (32)" },
	{ 'r', "rate", "NUMBER", 1, 1000000, "open loop instead: requests a second" },
	{ 'b', "burst", "NUMBER", 1, 1024, "open loop: requests that come at once (1)" },
	{ 't', "think", "MS", 0, 60000, "closed loop: mean time to think (0)" },
	{ 'a', "alpha", "NUMBER", 0, 2000, "of Zipf's law, in 1/1000 (500)" },
	{ 'k', "single", "KB", 1, 1024, "one file of this size instead of Zipf's documents" },
	{ 'w', "workload", "NAME", 0, 0, "zipf (default), worldcup or rubis" },
	{ 'x', "scan", "NUMBER", 1, 10000, "between two scans, 1/10 service times (25)" },
	{ 'q', "slice", "US", 0, 1000000, "of a CPU; 0: first come, first served (1000)" },
	{ 'l', "loaded", "NUMBER", 0, WEB_NODES_MAX, "nodes with 16 other processes (0)" },
	{ 'd', "duration", "SECONDS", 1, 3600, "simulated, measured (20)" },
	{ 's', "seed", "NUMBER", 1, 1000000000, "the first seed (1)" },
	{ 'S', "seeds", "NUMBER", 1, 1000, "runs with so many seeds (8)" },
	{ 'o', "figures", "FOLDER", 0, 0, "write data of figures 5, 6, 8 and 9 there instead" },
	{ 'j', "json", NULL, 0, 0, "print JSON" },
	{ 'h', "help", NULL, 0, 0, "print this" },
	{ 'V', "version", NULL, 0, 0, "print the version" },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void print_help(void)
{
	puts("Usage: resex-lab load [OPTION]...\n"
	     "Balance requests on a SIMULATED cluster of web servers, by several policies.\n");
	for (size_t i = 0; i < ROWS; i++) {
		char option[32];

		snprintf(option, sizeof(option), "%s%s%s", rows[i].name, rows[i].value ? " " : "",
			 rows[i].value ? rows[i].value : "");
		printf("  -%c, --%-18s %s\n", rows[i].letter, option, rows[i].help);
	}
	puts("\nSee resex-lab(1).");
}

static void set_number(struct load_options *o, int letter, long v)
{
	struct web_conf *w = &o->plan.web;

	switch (letter) {
	case 'n':
		w->nodes = (uint32_t)v;
		break;
	case 'C':
		w->cpus = (uint32_t)v;
		break;
	case 'f':
		w->frontends = (uint32_t)v;
		break;
	case 'c':
		w->clients = (uint32_t)v;
		break;
	case 'r':
		w->rate = (uint64_t)v;
		w->clients = 0;
		break;
	case 'b':
		w->burst = (uint32_t)v;
		break;
	case 't':
		w->think_ns = v * NS_PER_MS;
		break;
	case 'a':
		w->alpha = (uint32_t)v;
		break;
	case 'k':
		load_plan_single(&o->plan, (uint32_t)v);
		break;
	case 'x':
		o->plan.scan = (uint32_t)v;
		break;
	case 'q':
		w->slice_ns = v * 1000;
		break;
	case 'l':
		load_plan_nodes(&o->plan, (uint32_t)v);
		break;
	case 'd':
		w->duration_ns = v * NS_PER_S;
		break;
	case 's':
		w->seed = (uint64_t)v;
		break;
	default: /* 'S' */
		o->seeds = (uint32_t)v;
		break;
	}
}

static int set_workload(struct load_options *o, const char *name)
{
	if (!strcmp(name, "zipf") || !load_plan_mix(&o->plan, name))
		return -1;
	fprintf(stderr, "resex-lab: --workload %s: give zipf, worldcup or rubis\n", name);
	return RESEX_USAGE;
}

static int set_option(struct load_options *o, int letter, const char *value)
{
	const struct option_row *row = rows;
	char *end;
	long v;

	switch (letter) {
	case 'j':
		o->json = true;
		return -1;
	case 'w':
		return set_workload(o, value);
	case 'o':
		o->figures = value;
		return -1;
	case 'h':
		print_help();
		return RESEX_OK;
	case 'V':
		puts("resex-lab " PACKAGE_VERSION);
		return RESEX_OK;
	}
	while (row->letter != letter)
		row++;
	v = strtol(value, &end, 10);
	if (*end || v < row->least || v > row->most) {
		fprintf(stderr, "resex-lab: --%s %s: give a whole number from %ld to %ld\n",
			row->name, value, row->least, row->most);
		return RESEX_USAGE;
	}
	set_number(o, letter, v);
	return -1;
}

int load_options(struct load_options *o, int argc, char **argv)
{
	struct option longs[ROWS + 1] = { 0 };
	struct cmdline c = {
		.argc = argc, .argv = argv, .longs = longs, .help = "resex-lab load --help"
	};
	char error[256];
	int letter, rc;

	for (size_t i = 0; i < ROWS; i++)
		longs[i] = (struct option){
			.name = rows[i].name,
			.has_arg = rows[i].value ? required_argument : no_argument,
			.val = rows[i].letter,
		};
	*o = (struct load_options){ .seeds = 8 };
	load_plan_default(&o->plan);
	cmdline_begin(&c);
	while ((letter = cmdline_next(&c, error, sizeof(error))) >= 0) {
		rc = set_option(o, letter, optarg);
		if (rc >= 0)
			return rc;
	}
	if (letter == CMDLINE_END && optind < argc) {
		cmdline_unexpected(&c, argv[optind], error, sizeof(error));
		letter = CMDLINE_WRONG;
	}
	if (letter != CMDLINE_END) {
		fprintf(stderr, "resex-lab: %s\n", error);
		return RESEX_USAGE;
	}
	if (o->plan.web.loaded_nodes > o->plan.web.nodes) {
		fprintf(stderr, "resex-lab: --loaded %u: there are only %u nodes\n",
			o->plan.web.loaded_nodes, o->plan.web.nodes);
		return RESEX_USAGE;
	}
	return -1;
}
