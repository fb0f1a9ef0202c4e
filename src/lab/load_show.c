// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_show: what load_all.c measured, as one JSON object and as a table of the same rows. Both say
 * first that it is a simulation.
 */
#include <stdio.h>
#include <string.h>

#include "src/cli/table.h"
#include "src/lab/load_cmd.h"

static const struct {
	const char *tps, *variance; /* members of their own */
	bool read;		    /* of those that the demo is of */
} keys[LOAD_POLICIES] = {
	[LOAD_BY_RANDOM] = { "random_tps", "random_variance", true },
	[LOAD_BY_ROUND_ROBIN] = { "round_robin_tps", "round_robin_variance", true },
	[LOAD_BY_ULM] = { "ulm_tps", "ulm_variance", true },
	[LOAD_BY_KLM] = { "klm_tps", "klm_variance", true },
	[LOAD_BY_HV] = { "hv_tps", "hv_variance", true },
	[LOAD_BY_SWAPPED] = { "swapped_tps", "swapped_variance", false },
	[LOAD_BY_STALE_DEFAULT] = { "stale_default_tps", "stale_default_variance", false },
	[LOAD_BY_STALE_PLAIN] = { "stale_plain_tps", "stale_plain_variance", false },
};

static json_t *row_of(const struct load_sums *s, enum load_policy i)
{
	static const char *const why_names[BALANCE_WHYS] = { "given", "fresh", "grown", "old",
							     "stale" };
	const struct load_sum *t = &s->policy[i];
	uint64_t of = s->policy[LOAD_BY_RANDOM].variance;
	json_t *row = json_pack("{s:s,s:f,s:f,s:f,s:f,s:I,s:f,s:f}", "policy", load_policy_names[i],
				"tps", (double)t->tps / 1000, "gain_percent", (double)t->gain / 10,
				"gain_least", (double)t->least / 10, "gain_most",
				(double)t->most / 10, "variance", (json_int_t)t->variance,
				"variance_of_random", of ? (double)t->variance / (double)of : 0.0,
				"latency_ms", (double)t->latency_ns / 1e6);
	json_t *why = json_object();

	json_object_set_new(row, "scan_ms", json_real((double)t->scan_ns / 1e6));
	json_object_set_new(row, "k", json_real((double)t->k / 10));
	json_object_set_new(row, "reads", json_integer((json_int_t)t->reads));
	json_object_set_new(row, "torn", json_integer((json_int_t)t->torn));
	for (int k = 0; k < BALANCE_WHYS; k++)
		json_object_set_new(why, why_names[k], json_integer((json_int_t)t->why[k]));
	json_object_set_new(row, "decisions", why);
	return row;
}

static json_t *plan_json(const struct load_options *o, const struct load_sums *s)
{
	const struct web_conf *w = &o->plan.web;

	return json_pack("{s:i,s:i,s:i,s:i,s:I,s:i,s:I,s:i,s:i,s:f,s:f,s:i,s:f}", "nodes",
			 (int)w->nodes, "cpus", (int)w->cpus, "frontends", (int)w->frontends,
			 "clients", (int)w->clients, "rate", (json_int_t)w->rate, "loaded_nodes",
			 (int)w->loaded_nodes, "first_seed", (json_int_t)w->seed, "seeds",
			 (int)s->seeds, "documents", w->kinds ? 0 : (int)w->documents, "alpha",
			 (double)w->alpha[0] / 1000, "service_ms", (double)s->service_ns / 1e6,
			 "kinds", (int)w->kinds, "writes", (double)s->writes / 1000);
}

static json_t *log_json(const struct load_options *o)
{
	const struct load_log *l = &o->log;

	return json_pack("{s:s,s:I,s:I,s:I,s:f,s:f}", "file", o->workload + strlen("log:"),
			 "requests", (json_int_t)l->n, "unanswered", (json_int_t)l->unanswered,
			 "other_lines", (json_int_t)l->others, "mean_bytes",
			 (double)l->bytes / l->n, "seconds",
			 (double)l->arrival[l->n - 1].at_ns / 1e9);
}

json_t *load_json(const struct load_options *o, const struct load_sums *s)
{
	json_t *all = json_object(), *rows = json_array();

	json_object_set_new(all, "simulated", json_true());
	for (int i = 0; i < LOAD_POLICIES; i++) {
		const struct load_sum *t = &s->policy[i];

		json_object_set_new(all, keys[i].tps, json_real((double)t->tps / 1000));
		json_object_set_new(all, keys[i].variance, json_integer((json_int_t)t->variance));
		json_array_append_new(rows, row_of(s, (enum load_policy)i));
	}
	/* Round-robin reads no loads: they cannot be stale. */
	json_object_set(all, "stale_round_robin_tps", json_object_get(all, "round_robin_tps"));
	json_object_set_new(all, "bound_tps",
			    s->bound < UINT64_MAX ? json_real((double)s->bound / 1000)
						  : json_null());
	json_object_set_new(all, "random_cpu_used", json_real((double)s->used / 1000));
	json_object_set_new(all, "cluster", plan_json(o, s));
	if (o->log.n)
		json_object_set_new(all, "log", log_json(o));
	json_object_set_new(all, "policies", rows);
	return all;
}

/* --- text ------------------------------------------------------------------------- */

/* Why the balancers decided as they did most often. */
static void print_reasons(const struct load_sums *s)
{
	puts("");
	for (int i = 0; i < LOAD_POLICIES; i++) {
		const uint64_t *why = s->policy[i].why;
		uint64_t all = 0;
		int most = 0;

		for (int k = 0; k < BALANCE_WHYS; k++) {
			all += why[k];
			most = why[k] > why[most] ? k : most;
		}
		if (all)
			printf("%s: %s (%ju %% of decisions)\n", load_policy_names[i],
			       balance_why_text((enum balance_why)most),
			       (uintmax_t)(why[most] * 100 / all));
	}
}

/* Figure 8: a row for each of some intervals, a bar for each policy. */
static void picture(const struct load_sums *s)
{
	enum { LINES = 20, BAR = 15 };
	static const char bar[] = "###############";
	uint32_t top = 1;

	for (int i = 0; i < LOAD_POLICIES; i++)
		for (uint32_t k = 0; keys[i].read && k < LINES && k < s->policy[i].intervals; k++)
			if (s->policy[i].series[k] > top)
				top = s->policy[i].series[k];
	puts("\nVariance of the nodes' CPU time in each 50 ms, first seed; a full bar is the "
	     "greatest:");
	printf("%7s", "s");
	for (int i = 0; i < LOAD_POLICIES; i++)
		if (keys[i].read)
			printf("  %-*s", BAR, load_policy_names[i]);
	putchar('\n');
	for (uint32_t k = 0; k < LINES && k < s->policy[0].intervals; k++) {
		printf("%7.2f", (k + 1) * 0.05);
		for (int i = 0; i < LOAD_POLICIES; i++)
			if (keys[i].read) {
				uint64_t n = (uint64_t)s->policy[i].series[k] * BAR / top;

				printf("  %-*.*s", BAR, (int)n, bar);
			}
		putchar('\n');
	}
}

void load_print(const struct load_options *o, const struct load_sums *s, const json_t *all)
{
	static const struct column cols[] = {
		{ "POLICY", "policy", 1 },
		{ "TPS", "tps", 0 },
		{ "OVER-RANDOM-%", "gain_percent", 0 },
		{ "LEAST", "gain_least", 0 },
		{ "MOST", "gain_most", 0 },
		{ "VARIANCE", "variance", 0 },
		{ "OF-RANDOM", "variance_of_random", 0 },
		{ "LATENCY-MS", "latency_ms", 0 },
		{ "SCAN-MS", "scan_ms", 0 },
		{ "K", "k", 0 },
		{ NULL, NULL, 0 },
	};
	const struct web_conf *w = &o->plan.web;

	printf("This cluster is SIMULATED: %u nodes of %u CPUs, %u front-ends, ", w->nodes, w->cpus,
	       w->frontends);
	if (w->clients)
		printf("%u clients\n", w->clients);
	else if (w->arrivals)
		printf("%u requests of a log in %.1f s\n", w->arrivals,
		       (double)(w->duration_ns - NS_PER_S) / NS_PER_S);
	else
		printf("%ju requests a second\n", (uintmax_t)w->rate);
	if (o->log.n)
		printf("%ju requests of the log had no answer of a server, and %ju lines are of no "
		       "request\n",
		       (uintmax_t)o->log.unanswered, (uintmax_t)o->log.others);
	printf("Mean CPU time of a request: %.2f ms; figures are means of %u seeds\n\n",
	       (double)s->service_ns / 1e6, s->seeds);
	table_print(stdout, json_object_get(all, "policies"), cols);
	print_reasons(s);
	if (s->bound < UINT64_MAX)
		printf("\nNo policy can serve more than %.0f a second: (N + M - 1) / N over "
		       "random, %u clients, %u CPUs\n",
		       (double)s->bound / 1000, w->clients, w->nodes * w->cpus);
	picture(s);
}
