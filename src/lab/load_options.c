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

static const struct cmdline_row rows[] = {
	{ 'n', "nodes", "NUMBER", "nodes (default 8)" },
	{ 'C', "cpus", "NUMBER", "CPUs of each node (2)" },
	{ 'f', "frontends", "NUMBER", "front-ends (8)" },
	{ 'c', "clients", "NUMBER", "clients, closed loop (32)" },
	{ 'r', "rate", "NUMBER", "open loop instead: requests a second" },
	{ 'b', "burst", "NUMBER", "open loop: requests that come at once (1)" },
	{ 't', "think", "MS", "closed loop: mean time to think (0)" },
	{ 'a', "alpha", "NUMBER", "of Zipf's law, in 1/1000 (500)" },
	{ 'k', "single", "KB", "one file of this size instead of Zipf's documents" },
	{ 'w', "workload", "NAME", "zipf (default), worldcup or rubis" },
	{ 'x', "scan", "NUMBER", "between two scans, 1/10 service times (25)" },
	{ 'q', "slice", "US", "of a CPU; 0: first come, first served (1000)" },
	{ 'l', "loaded", "NUMBER", "nodes with 16 other processes (0)" },
	{ 'd', "duration", "SECONDS", "simulated, measured (20)" },
	{ 's', "seed", "NUMBER", "the first seed (1)" },
	{ 'S', "seeds", "NUMBER", "runs with so many seeds (8)" },
	{ 'o', "figures", "FOLDER", "write data of figures 5, 6, 8 and 9 there instead" },
	{ 'j', "json", NULL, "print JSON" },
	{ 'h', "help", NULL, "print this" },
	{ 'V', "version", NULL, "print the version" },
	{ .name = NULL },
};

/* Of those that are numbers. */
static const struct {
	long least, most;
} limits[] = {
	['n'] = { 1, WEB_NODES_MAX },
	['C'] = { 1, WEB_CPUS_MAX },
	['f'] = { 1, WEB_FRONTENDS_MAX },
	['c'] = { 1, WEB_CLIENTS_MAX },
	['r'] = { 1, 1000000 },
	['b'] = { 1, 1024 },
	['t'] = { 0, 60000 },
	['a'] = { 0, 2000 },
	['k'] = { 1, 1024 },
	['x'] = { 1, 10000 },
	['q'] = { 0, 1000000 },
	['l'] = { 0, WEB_NODES_MAX },
	['d'] = { 1, 3600 },
	['s'] = { 1, 1000000000 },
	['S'] = { 1, 1000 },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void print_help(void)
{
	puts("Usage: resex-lab load [OPTION]...\n"
	     "Balance requests on a SIMULATED cluster of web servers, by several policies.\n");
	cmdline_print_rows(rows, 18);
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
	const struct cmdline_row *row = rows;
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
	if (*end || v < limits[letter].least || v > limits[letter].most) {
		fprintf(stderr, "resex-lab: --%s %s: give a whole number from %ld to %ld\n",
			row->name, value, limits[letter].least, limits[letter].most);
		return RESEX_USAGE;
	}
	set_number(o, letter, v);
	return -1;
}

int load_options(struct load_options *o, int argc, char **argv)
{
	struct option longs[ROWS];
	struct cmdline c = {
		.argc = argc, .argv = argv, .longs = longs, .help = "resex-lab load --help"
	};
	char error[256];
	int letter, rc;

	cmdline_longs(rows, longs);
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
