// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reconf_options: the command line of "resex-lab reconf", a table for lab_cmd.c, which makes the
 * help of it; the bash completion reads the help. reconf_cmd.c calls it first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lab/reconf_cmd.h"

static const struct cmdline_row rows[] = {
	{ 'k', "shares", "LIST", "nodes of each site (3:3:2, then 2:2:2:2)" },
	{ 'b', "bursts", "LIST", "lengths of bursts (512,1024,2048,4096,8192,16384)" },
	{ 'i', "apart", NULL, "each front-end has bursts of its own" },
	{ 'v', "over", "NUMBER", "over-provisioned: nodes of each site (6, 5)" },
	{ 'C', "cpus", "LIST", "CPUs of the nodes, one after the other (2)" },
	{ 'O', "only", "LIST", "sites that each node may serve, as 12:23:0 (0: all)" },
	{ 'P', "priority", "LIST", "of each site, 0 to 7 (0)" },
	{ 'M', "minimum", "LIST", "nodes that each site keeps (1)" },
	{ 'G', "guarantee", "LIST", "nodes that only a higher priority takes (the minimum)" },
	{ 'X', "maximum", "LIST", "nodes of each site at most (all)" },
	{ 'c', "clients", "NUMBER", "clients, closed loop (128)" },
	{ 't', "scan", "US", "S: between two scans of a balancer (1000)" },
	{ 'T', "checks", "NUMBER", "T: so many high loads in a row (3)" },
	{ 'H', "high", "NUMBER", "a high load, in 1/1000 (2000)" },
	{ 'L', "low", "NUMBER", "a donor's load is below it, in 1/1000 (1000)" },
	{ 'm', "margin", "NUMBER", "of a gain, in 1/1000 (250)" },
	{ 'r', "rest", "MS", "a node rests so long after a move (15 x S x T)" },
	{ 'f', "freeze", "MS", "nodes that went to and fro stay so long (60 x S x T)" },
	{ 'B', "budget", "NUMBER", "moves of a site in 100 x S x T (16)" },
	{ 'w', "without", "LIST", "leave rules out, or all: paper" },
	{ 'p', "op", "US", "an operation takes so long, one way (12)" },
	{ 'd', "duration", "SECONDS", "simulated, measured (8)" },
	{ 's', "seed", "NUMBER", "the first seed (1)" },
	{ 'S', "seeds", "NUMBER", "runs with so many seeds (3)" },
	{ 'o', "figures", "FOLDER", "write data of figures there, too" },
	{ 'j', "json", NULL, "print JSON" },
	{ 'h', "help", NULL, "print this" },
	{ 'V', "version", NULL, "print the version" },
	{ .name = NULL },
};

/* Of those that are numbers. */
static const struct lab_limit limits[LAB_LETTERS] = {
	['v'] = { 1, RECONF_NODES_MAX },
	['c'] = { 1, WEB_CLIENTS_MAX },
	['t'] = { 100, 1000000 },
	['T'] = { 3, 1000 },
	['H'] = { 1, 1000000 },
	['L'] = { 0, 1000000 },
	['m'] = { 0, 10000 },
	['r'] = { 0, 3600000 },
	['f'] = { 0, 3600000 },
	['B'] = { 1, 1000000 },
	['p'] = { 1, 10000 },
	['d'] = { 1, 3600 },
	['s'] = { 1, 1000000000 },
	['S'] = { 1, 1000 },
};

static const struct {
	const char *name;
	uint32_t rule; /* 0: all, and the papers' own rule is in force */
} rules[] = {
	{ "low", DECIDE_LOW },
	{ "gain", DECIDE_GAIN },
	{ "rest", DECIDE_REST },
	{ "budget", DECIDE_BUDGET },
	{ "home", DECIDE_HOME },
	{ "reversal", DECIDE_REVERSAL },
	{ "paper", 0 },
	{ "backoff", DECIDE_BACKOFF },
	{ "capacity", DECIDE_CAPACITY },
	{ "chain", DECIDE_CHAIN },
};

enum { RULES = sizeof(rules) / sizeof(rules[0]) };

struct given {
	struct reconf_options *o;
	/* Options that are known only when all are. */
	long scan_us, checks, rest_ms, freeze_ms; /* -1: not given */
};

const char *reconf_shares_text(const struct reconf_shares *s, char text[64])
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->sites; i++)
		n += (size_t)snprintf(text + n, 64 - n, "%s%u", i ? ":" : "", s->share[i]);
	return text;
}

void reconf_options_plan(const struct reconf_options *o, uint32_t cluster, struct reconf_plan *p)
{
	*p = o->plan;
	reconf_plan_shares(p, o->cluster[cluster].share, o->cluster[cluster].sites);
	if (o->over)
		p->over = o->over;
}

static int set_shares(struct reconf_options *o, const char *text)
{
	struct reconf_shares *s = &o->cluster[0];
	uint32_t sum = 0;

	s->sites = reconf_numbers(text, ':', 1, RECONF_NODES_MAX, s->share, WEB_SITES_MAX);
	for (uint32_t i = 0; i < s->sites; i++)
		sum += s->share[i];
	o->clusters = 1;
	if (s->sites >= 2 && sum <= RECONF_NODES_MAX)
		return -1;
	return lab_refuse("--shares %s: give the nodes of 2 to %d sites, of at most %d nodes in "
			  "all, as 3:3:2",
			  text, WEB_SITES_MAX, RECONF_NODES_MAX);
}

static int set_bursts(struct reconf_options *o, const char *text)
{
	o->bursts = reconf_numbers(text, ',', 1, 1000000, o->burst, RECONF_BURSTS_MAX);
	if (o->bursts)
		return -1;
	return lab_refuse("--bursts %s: give up to %d lengths from 1 to 1000000, as 512,8192", text,
			  RECONF_BURSTS_MAX);
}

static int set_without(struct reconf_options *o, const char *text)
{
	struct reconf_rules *r = &o->plan.rules;

	o->without = text;
	for (const char *word = text; word; word = strchr(word, ',')) {
		size_t n;
		int i = 0;

		word += *word == ',';
		n = strcspn(word, ",");
		while (i < RULES &&
		       (strlen(rules[i].name) != n || strncmp(rules[i].name, word, n) != 0))
			i++;
		if (i == RULES)
			return lab_refuse("--without %s: \"%.*s\" is no rule: see resex-lab "
					  "reconf --help",
					  text, (int)n, word);
		r->decide.off |= rules[i].rule;
		r->paper = r->paper || !rules[i].rule;
	}
	return -1;
}

static void set_number(void *arg, int letter, long v)
{
	struct given *g = arg;
	struct reconf_options *o = g->o;
	struct reconf_plan *p = &o->plan;

	switch (letter) {
	case 'v':
		o->over = (uint32_t)v;
		break;
	case 'c':
		p->web.clients = (uint32_t)v;
		break;
	case 't':
		g->scan_us = v;
		break;
	case 'T':
		g->checks = v;
		break;
	case 'H':
		p->rules.high = (uint32_t)v;
		break;
	case 'L':
		p->rules.low = (uint32_t)v;
		break;
	case 'm':
		p->rules.decide.margin = (uint32_t)v;
		break;
	case 'r':
		g->rest_ms = v;
		break;
	case 'f':
		g->freeze_ms = v;
		break;
	case 'B':
		p->rules.decide.budget = (uint32_t)v;
		break;
	case 'p':
		p->there_ns = p->back_ns = v * 1000;
		break;
	case 'd':
		p->web.duration_ns = v * NS_PER_S;
		break;
	case 's':
		p->web.seed = (uint64_t)v;
		break;
	default: /* 'S' */
		o->seeds = (uint32_t)v;
		break;
	}
}

static int set_word(void *arg, int letter, const char *value)
{
	struct reconf_options *o = ((struct given *)arg)->o;

	switch (letter) {
	case 'k':
		return set_shares(o, value);
	case 'b':
		return set_bursts(o, value);
	case 'w':
		return set_without(o, value);
	case 'C':
		return reconf_set_cpus(o, value);
	case 'O':
		return reconf_set_only(o, value);
	case 'P':
		return reconf_set_services(o, letter, "priority", value);
	case 'M':
		return reconf_set_services(o, letter, "minimum", value);
	case 'G':
		return reconf_set_services(o, letter, "guarantee", value);
	case 'X':
		return reconf_set_services(o, letter, "maximum", value);
	default: /* 'i' */
		o->plan.web.bursts_apart = true;
		return -1;
	}
}

static int check_together(const struct given *g)
{
	struct reconf_options *o = g->o;
	struct reconf_rules *r = &o->plan.rules;
	int64_t op_ns = o->plan.there_ns + o->plan.back_ns;
	struct reconf_plan p;
	int rc;

	reconf_plan_times(&o->plan, g->scan_us * 1000, (uint32_t)g->checks);
	if (g->rest_ms >= 0)
		r->decide.rest_ns = g->rest_ms * NS_PER_MS;
	if (g->freeze_ms >= 0)
		r->decide.freeze_ns = g->freeze_ms * NS_PER_MS;
	for (uint32_t i = 0; i < o->clusters; i++) {
		reconf_options_plan(o, i, &p);
		if (p.over > p.web.nodes)
			return lab_refuse("--over %u: there are only %u nodes", o->over,
					  p.web.nodes);
		rc = reconf_check_lists(&p);
		if (rc >= 0)
			return rc;
	}
	if (r->low >= r->high)
		return lab_refuse("--low %u: give less than --high, which is %u", r->low, r->high);
	/* A move is some rounds of operations, and its locks' lease is 1.5 x S. */
	if (r->scan_ns < 10 * op_ns)
		return lab_refuse("--scan %ld: a lease of 1.5 x S is too short for a move of "
				  "operations of %jd us: give at least %jd",
				  g->scan_us, (intmax_t)(op_ns / 1000), (intmax_t)(op_ns / 100));
	return -1;
}

int reconf_options(struct reconf_options *o, int argc, char **argv)
{
	static const struct lab_cmd cmd = {
		.name = "reconf",
		.does = "Move nodes between the sites of a SIMULATED cluster, by the load of each.",
		.more = "Rules for --without: low gain rest budget reversal home backoff capacity "
			"chain paper\n",
		.rows = rows,
		.limits = limits,
		.set_number = set_number,
		.set_word = set_word,
	};
	struct given g = { .o = o, .scan_us = 1000, .checks = 3, .rest_ms = -1, .freeze_ms = -1 };
	int rc;

	*o = (struct reconf_options){ .seeds = 3,
				      .clusters = 2,
				      .cluster = { { 3, { 3, 3, 2 } }, { 4, { 2, 2, 2, 2 } } },
				      .burst = { 512, 1024, 2048, 4096, 8192, 16384 },
				      .bursts = 6 };
	reconf_plan_default(&o->plan);
	rc = lab_options(&cmd, argc, argv, &o->out, &g);
	return rc < 0 ? check_together(&g) : rc;
}
