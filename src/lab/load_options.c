// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_options: the command line of "resex-lab load", of one table: getopt_long's list and the help
 * are made of it, and the bash completion reads the help. What options mean together is checked
 * when all are known. main.c calls it first.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdarg.h>
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
	{ 'w', "workload", "NAME", "zipf (default), worldcup, rubis or log:FILE" },
	{ 'x', "scan", "NUMBER", "between two scans, 1/10 service times (25)" },
	{ 'q', "slice", "US", "of a CPU; 0: first come, first served (1000)" },
	{ 'l', "loaded", "NUMBER", "nodes with 16 other processes (0)" },
	{ 'p', "wake-first", NULL, "they wait before requests when they wake" },
	{ 'd', "duration", "SECONDS", "simulated, measured (20)" },
	{ 's', "seed", "NUMBER", "the first seed (1)" },
	{ 'S', "seeds", "NUMBER", "runs with so many seeds (8)" },
	{ 'o', "figures", "FOLDER", "write data of figures 4 to 9 there instead" },
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
		w->alpha[0] = (uint32_t)v;
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

static bool is_log(const char *workload)
{
	return workload && !strncmp(workload, "log:", 4);
}

static int set_workload(struct load_options *o, const char *name)
{
	if (o->workload && strcmp(name, o->workload) != 0) {
		fprintf(stderr, "resex-lab: --workload %s: it was given as %s before: give one\n",
			name, o->workload);
		return RESEX_USAGE;
	}
	o->workload = name;
	if (is_log(name) || !strcmp(name, "zipf") || !load_plan_mix(&o->plan, name))
		return -1;
	fprintf(stderr, "resex-lab: --workload %s: give zipf, worldcup, rubis or log:FILE\n", name);
	return RESEX_USAGE;
}

static int set_option(struct load_options *o, int letter, const char *value)
{
	const struct cmdline_row *row = rows;
	char *end;
	long v;

	o->given[letter] = true;
	switch (letter) {
	case 'j':
		o->json = true;
		return -1;
	case 'p':
		o->plan.web.wake_first = true;
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

/* --- options together ------------------------------------------------------------- */

static int refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int refuse(const char *fmt, ...)
{
	va_list ap;

	fputs("resex-lab: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return RESEX_USAGE;
}

static const char *name_of(char letter)
{
	const struct cmdline_row *row = rows;

	while (row->letter != letter)
		row++;
	return row->name;
}

/* Of these letters, the first that was given; 0: none. */
static char any_given(const struct load_options *o, const char *letters)
{
	while (*letters && !o->given[(int)*letters])
		letters++;
	return *letters;
}

/* What else says which requests come, or how. */
static int check_workload(const struct load_options *o)
{
	bool zipf = !o->workload || !strcmp(o->workload, "zipf");
	char other = is_log(o->workload) ? any_given(o, "crbtakd") : any_given(o, "k");

	if (o->workload && other)
		return refuse("--%s: --workload %s says which requests come: leave one of them out",
			      name_of(other), o->workload);
	if (o->figures && (!zipf || o->given['k'] || o->given['r']))
		return refuse("--figures: they are of Zipf's documents in a closed loop: leave "
			      "--workload, --single and --rate out");
	if (o->figures && o->plan.web.clients < 2 * o->plan.web.frontends)
		return refuse("--figures: figure 7 has two sites on each front-end: give at least "
			      "%u --clients",
			      2 * o->plan.web.frontends);
	return -1;
}

/* The least mean CPU time that a request can have. */
static int64_t least_ns(const struct web_conf *w)
{
	int64_t sum = 0, weights = 0;

	if (!w->kinds)
		return w->hit_ns;
	for (uint32_t i = 0; i < w->kinds; i++) {
		sum += w->kind[i].weight * w->kind[i].cpu_ns;
		weights += w->kind[i].weight;
	}
	return sum / weights;
}

/* Far more than all CPUs can serve tells nothing, and takes minutes: each request is simulated. */
static int check_rate(const struct load_options *o)
{
	const struct web_conf *w = &o->plan.web;
	uint64_t cpus = (uint64_t)w->nodes * w->cpus;
	uint64_t can = cpus * NS_PER_S / (uint64_t)least_ns(w);

	if (!o->given['r'] || w->clients || w->rate <= 2 * can)
		return -1;
	return refuse("--rate %ju: %ju CPUs serve at most %ju of these requests a second: give at "
		      "most %ju, or more --nodes or --cpus",
		      (uintmax_t)w->rate, (uintmax_t)cpus, (uintmax_t)can, (uintmax_t)(2 * can));
}

static int read_log(struct load_options *o)
{
	struct web_conf *w = &o->plan.web;
	char error[256];

	if (!is_log(o->workload))
		return -1;
	if (load_log_read(&o->log, o->workload + 4, w->cpus, error)) {
		fprintf(stderr, "resex-lab: %s\n", error);
		return RESEX_FAILURE;
	}
	w->arrival = o->log.arrival;
	w->arrivals = o->log.n;
	w->clients = 0;
	w->warmup_ns = 0;
	w->duration_ns = w->arrival[w->arrivals - 1].at_ns + NS_PER_S;
	return -1;
}

static int check_together(struct load_options *o)
{
	int rc = check_workload(o);

	if (rc < 0 && o->plan.web.loaded_nodes > o->plan.web.nodes)
		rc = refuse("--loaded %u: there are only %u nodes", o->plan.web.loaded_nodes,
			    o->plan.web.nodes);
	if (rc < 0)
		rc = check_rate(o);
	return rc < 0 ? read_log(o) : rc;
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
	return check_together(o);
}
