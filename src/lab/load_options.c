// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_options: the command line of "resex-lab load", a table for lab_cmd.c, which makes the help
 * of it; the bash completion reads the help. What options mean together is checked when all are
 * known. main.c calls it first.
 */
#include <stdio.h>
#include <string.h>

#include "resex/exit.h"
#include "src/lab/load_cmd.h"

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
static const struct lab_limit limits[LAB_LETTERS] = {
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

static void set_number(void *arg, int letter, long v)
{
	struct load_options *o = arg;
	struct web_conf *w = &o->plan.web;

	o->given[letter] = true;
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
	if (o->workload && strcmp(name, o->workload) != 0)
		return lab_refuse("--workload %s: it was given as %s before: give one", name,
				  o->workload);
	o->workload = name;
	if (is_log(name) || !strcmp(name, "zipf") || !load_plan_mix(&o->plan, name))
		return -1;
	return lab_refuse("--workload %s: give zipf, worldcup, rubis or log:FILE", name);
}

static int set_word(void *arg, int letter, const char *value)
{
	struct load_options *o = arg;

	if (letter == 'w')
		return set_workload(o, value);
	o->plan.web.wake_first = true; /* 'p' */
	return -1;
}

/* --- options together ------------------------------------------------------------- */

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
		return lab_refuse(
			"--%s: --workload %s says which requests come: leave one of them out",
			name_of(other), o->workload);
	if (o->out.figures && (!zipf || o->given['k'] || o->given['r']))
		return lab_refuse("--figures: they are of Zipf's documents in a closed loop: leave "
				  "--workload, --single and --rate out");
	if (o->out.figures && o->plan.web.clients < 2 * o->plan.web.frontends)
		return lab_refuse(
			"--figures: figure 7 has two sites on each front-end: give at least "
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
	return lab_refuse(
		"--rate %ju: %ju CPUs serve at most %ju of these requests a second: give at "
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
		rc = lab_refuse("--loaded %u: there are only %u nodes", o->plan.web.loaded_nodes,
				o->plan.web.nodes);
	if (rc < 0)
		rc = check_rate(o);
	return rc < 0 ? read_log(o) : rc;
}

int load_options(struct load_options *o, int argc, char **argv)
{
	static const struct lab_cmd cmd = {
		.name = "load",
		.does = "Balance requests on a SIMULATED cluster of web servers, by several "
			"policies.",
		.more = "",
		.rows = rows,
		.limits = limits,
		.set_number = set_number,
		.set_word = set_word,
	};
	int rc;

	*o = (struct load_options){ .seeds = 8 };
	load_plan_default(&o->plan);
	rc = lab_options(&cmd, argc, argv, &o->out, o);
	return rc < 0 ? check_together(o) : rc;
}
