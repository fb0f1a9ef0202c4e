// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reconf_show: what reconf_cmd.c measured, as one JSON object and as tables of the same rows. Both
 * say first that it is a simulation.
 */
#include <stdio.h>

#include "src/cli/table.h"
#include "src/lab/reconf_cmd.h"

static double mean(uint64_t sum, uint64_t n)
{
	return n ? (double)sum / (double)n : 0.0;
}

static json_t *row_of(const struct reconf_point *p)
{
	const struct reconf_moves *m = &p->moves;
	json_t *row = json_object();

	json_object_set_new(row, "burst", json_integer(p->burst));
	json_object_set_new(row, "rigid", json_real((double)p->tps[RECONF_RIGID] / 1000));
	json_object_set_new(row, "over", json_real((double)p->tps[RECONF_OVER] / 1000));
	json_object_set_new(row, "reconf", json_real((double)p->tps[RECONF_MOVES] / 1000));
	json_object_set_new(row, "of_over", json_real(p->of_over / 1000.0));
	json_object_set_new(row, "of_over_least", json_real(p->least_over / 1000.0));
	json_object_set_new(row, "of_rigid", json_real(p->of_rigid / 1000.0));
	json_object_set_new(row, "of_rigid_least", json_real(p->least_rigid / 1000.0));
	json_object_set_new(row, "moves", json_real(mean(m->moved, p->seeds)));
	json_object_set_new(row, "home", json_real(mean(m->home, p->seeds)));
	json_object_set_new(row, "budget", json_real(mean(p->allowed, p->seeds)));
	json_object_set_new(row, "asked", json_real(mean(m->asked, p->seeds)));
	json_object_set_new(row, "within_rest", json_real(mean(m->again, p->seeds)));
	return row;
}

/* Looks for a donor, in which there was none. */
static uint64_t in_vain(const struct reconf_moves *m)
{
	uint64_t n = m->result[MOVE_NO_DONOR];

	for (int i = DECIDE_NO_SPARE; i < DECIDE_WHYS; i++)
		n += m->why[i];
	return n;
}

static json_t *rows_of(const struct reconf_point *p, uint32_t n)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < n; i++) {
		json_t *row = row_of(&p[i]);

		json_object_set_new(row, "in_vain",
				    json_real(mean(in_vain(&p[i].moves), p[i].seeds)));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *services_of(const struct reconf_plan *p)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < p->web.sites; i++) {
		const struct reconf_service *s = &p->rules.service[i];

		json_array_append_new(all,
				      json_pack("{s:i,s:i,s:i,s:i}", "minimum", (int)s->minimum,
						"guarantee", (int)s->guarantee, "maximum",
						(int)s->maximum, "priority", (int)s->priority));
	}
	return all;
}

static json_t *nodes_of(const struct reconf_plan *p)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < p->web.nodes; i++)
		json_array_append_new(all, json_pack("{s:i,s:I}", "cpus",
						     (int)(p->web.node_cpus[i] ? p->web.node_cpus[i]
									       : p->web.cpus),
						     "only", (json_int_t)p->rules.may[i]));
	return all;
}

static json_t *cluster_json(const struct reconf_options *o, const struct reconf_all *a, uint32_t c)
{
	struct reconf_plan p;
	char text[64];

	reconf_options_plan(o, c, &p);
	return json_pack("{s:s,s:i,s:i,s:o,s:o,s:o}", "shares",
			 reconf_shares_text(&o->cluster[c], text), "nodes", (int)p.web.nodes,
			 "over_nodes", (int)p.over, "each_site", services_of(&p), "each_node",
			 nodes_of(&p), "bursts", rows_of(a->of[c], o->bursts));
}

/* Of all runs but those of equal loads. */
static void all_moves(const struct reconf_options *o, const struct reconf_all *a,
		      struct reconf_moves *m)
{
	*m = (struct reconf_moves){ .asked = 0 };
	for (uint32_t c = 0; c < o->clusters; c++)
		for (uint32_t i = 0; i < o->bursts; i++)
			reconf_moves_add(m, &a->of[c][i].moves);
}

static json_t *move_json(const struct reconf_moves *m)
{
	static const char *const names[] = { "reads", "cas", "faa" };
	json_t *j = json_object(), *ends = json_object(), *why = json_object();
	uint64_t clean = m->moved - m->swept;

	for (int i = 0; i <= STEP_FAA; i++) {
		char most[16];

		snprintf(most, sizeof(most), "%s_most", names[i]);
		json_object_set_new(j, names[i], json_real(mean(m->ops[i], clean)));
		json_object_set_new(j, most, json_integer((json_int_t)m->ops_most[i]));
	}
	json_object_set_new(j, "swept", json_integer((json_int_t)m->swept));
	for (int i = 0; i < RECONF_RESULTS; i++)
		if (m->result[i])
			json_object_set_new(ends, move_result_text((enum move_result)i),
					    json_integer((json_int_t)m->result[i]));
	for (int i = 0; i < DECIDE_WHYS; i++)
		if (m->why[i])
			json_object_set_new(why, decide_why_text((enum decide_why)i),
					    json_integer((json_int_t)m->why[i]));
	json_object_set_new(j, "ends", ends);
	json_object_set_new(j, "decisions", why);
	return j;
}

static json_t *plan_json(const struct reconf_options *o)
{
	const struct reconf_rules *r = &o->plan.rules;
	const struct web_conf *w = &o->plan.web;

	return json_pack("{s:i,s:b,s:f,s:f,s:i,s:f,s:f,s:f,s:i,s:i,s:f,s:i,s:f,s:s?,s:I,s:i}",
			 "clients", (int)w->clients, "bursts_apart", w->bursts_apart, "service_us",
			 (double)w->hit_ns / 1000, "scan_ms", (double)r->scan_ns / 1e6, "checks",
			 (int)r->checks, "rest_ms", (double)r->decide.rest_ns / 1e6, "freeze_ms",
			 (double)r->decide.freeze_ns / 1e6, "margin",
			 (double)r->decide.margin / 1000, "high", (int)r->high, "low", (int)r->low,
			 "budget_ms", (double)r->decide.budget_ns / 1e6, "budget",
			 (int)r->decide.budget, "operation_us", (double)o->plan.there_ns / 1000,
			 "without", o->without, "first_seed", (json_int_t)w->seed, "seeds",
			 (int)o->seeds);
}

/* A row for each variant; its members are of each site, by name. */
static json_t *scene_json(const struct reconf_staged *s)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < s->variants; i++) {
		const struct reconf_variant *v = &s->of[i];
		json_t *row = json_pack("{s:s,s:f,s:f}", "variant", v->name, "moves",
					(double)v->moves / 1000, "changed_ms",
					(double)v->changed_ns / 1e6);

		for (uint32_t k = 0; k < s->sites; k++)
			json_object_set_new(row, s->site[k],
					    json_pack("{s:f,s:f,s:f}", "tps",
						      (double)v->tps[k] / 1000, "latency_us",
						      (double)v->latency_ns[k] / 1000, "nodes",
						      v->nodes[k] / 1000.0));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *errors_json(const struct reconf_errors *e)
{
	return json_pack("{s:f,s:f,s:f,s:f,s:f}", "within_20_percent", e->near / 1000.0, "half",
			 e->half / 1000.0, "nine_tenths", e->nine_tenths / 1000.0, "most",
			 e->most / 1000.0, "others_too_high", e->above / 1000.0);
}

static json_t *forecasts_json(const struct reconf_forecasts *f)
{
	return json_pack("{s:i,s:i,s:o,s:o}", "moves", (int)f->n, "clusters", (int)f->drawn,
			 "taker", errors_json(&f->taker), "donor", errors_json(&f->donor));
}

static json_t *tps_of(const struct reconf_point *p, enum reconf_mode m)
{
	return json_real((double)p->tps[m] / 1000);
}

json_t *reconf_json(const struct reconf_options *o, const struct reconf_all *a)
{
	const struct reconf_point *last = &a->of[o->clusters - 1][o->bursts - 1], *e = a->equal;
	json_t *all = json_object(), *clusters = json_array();
	struct reconf_moves moves;

	all_moves(o, a, &moves);
	json_object_set_new(all, "simulated", json_true());
	json_object_set_new(all, "rigid_tps", tps_of(last, RECONF_RIGID));
	json_object_set_new(all, "over_tps", tps_of(last, RECONF_OVER));
	json_object_set_new(all, "reconf_tps", tps_of(last, RECONF_MOVES));
	json_object_set_new(
		all, "equal_rigid_tps",
		json_real((double)(e[0].tps[RECONF_RIGID] + e[1].tps[RECONF_RIGID]) / 2000));
	json_object_set_new(
		all, "equal_reconf_tps",
		json_real((double)(e[0].tps[RECONF_MOVES] + e[1].tps[RECONF_MOVES]) / 2000));
	json_object_set_new(all, "equal_moves",
			    json_real(mean(e[0].moves.moved + e[1].moves.moved, o->seeds)));
	json_object_set_new(all, "plan", plan_json(o));
	for (uint32_t c = 0; c < o->clusters; c++)
		json_array_append_new(clusters, cluster_json(o, a, c));
	json_object_set_new(all, "clusters", clusters);
	json_object_set_new(all, "equal", rows_of(a->equal, RECONF_EQUALS));
	json_object_set_new(all, "qos", scene_json(&a->scene[RECONF_QOS]));
	json_object_set_new(all, "chains", scene_json(&a->scene[RECONF_CHAINS]));
	json_object_set_new(all, "forecasts", forecasts_json(&a->forecasts));
	json_object_set_new(all, "move", move_json(&moves));
	return all;
}

/* --- text ------------------------------------------------------------------------- */

static void print_rows(const json_t *rows)
{
	static const struct column cols[] = {
		{ "BURST", "burst", 0 },       { "RIGID", "rigid", 0 },
		{ "OVER", "over", 0 },	       { "RECONF", "reconf", 0 },
		{ "OF-OVER", "of_over", 0 },   { "LEAST", "of_over_least", 0 },
		{ "OF-RIGID", "of_rigid", 0 }, { "LEAST", "of_rigid_least", 0 },
		{ "MOVES", "moves", 0 },       { "HOME", "home", 0 },
		{ "BUDGET", "budget", 0 },     { NULL, NULL, 0 },
	};

	table_print(stdout, rows, cols);
}

/* Of each site "a / b / c": requests a second, their mean time in us, nodes at the end. */
static void print_scene(const struct reconf_staged *s, const json_t *variants)
{
	struct column cols[WEB_SITES_MAX + 4] = { { "VARIANT", "variant", 1 } };
	json_t *rows = json_deep_copy(variants), *row;
	uint32_t n = 1;
	size_t i;

	json_array_foreach(rows, i, row) {
		for (uint32_t k = 0; k < s->sites; k++) {
			const struct reconf_variant *v = &s->of[i];

			json_object_set_new(row, s->site[k],
					    json_sprintf("%.0f / %.0f / %g",
							 (double)v->tps[k] / 1000,
							 (double)v->latency_ns[k] / 1000,
							 v->nodes[k] / 1000.0));
		}
	}
	for (uint32_t k = 0; k < s->sites; k++)
		cols[n++] = (struct column){ s->site[k], s->site[k], 0 };
	cols[n++] = (struct column){ "MOVES", "moves", 0 };
	cols[n] = (struct column){ "UNTIL-MS", "changed_ms", 0 };
	table_print(stdout, rows, cols);
	json_decref(rows);
}

static void print_errors(const char *whose, const struct reconf_errors *e)
{
	printf("%s: %.1f %% within 20 %%; half within %.1f %%, nine tenths within %.1f %%\n", whose,
	       e->near / 10.0, e->half / 10.0, e->nine_tenths / 10.0);
}

static void print_move(const struct reconf_moves *m)
{
	uint64_t clean = m->moved - m->swept, decisions = 0;
	int most = -1;

	if (clean)
		printf("\nA move put out %.1f READs (at most %ju), %.1f CASes (%ju) and %.1f FAAs "
		       "(%ju); %ju of %ju made a fencing sweep, too\n",
		       mean(m->ops[STEP_READ], clean), (uintmax_t)m->ops_most[STEP_READ],
		       mean(m->ops[STEP_CAS], clean), (uintmax_t)m->ops_most[STEP_CAS],
		       mean(m->ops[STEP_FAA], clean), (uintmax_t)m->ops_most[STEP_FAA],
		       (uintmax_t)m->swept, (uintmax_t)m->moved);
	for (int i = 0; i < DECIDE_WHYS; i++) {
		decisions += m->why[i];
		if (!decide_is_move((enum decide_why)i) && i != DECIDE_CALM && m->why[i] &&
		    (most < 0 || m->why[i] > m->why[most]))
			most = i;
	}
	if (most >= 0)
		printf("Why a site with a high load got no node, most often: %s (%ju of %ju "
		       "checks)\n",
		       decide_why_text((enum decide_why)most), (uintmax_t)m->why[most],
		       (uintmax_t)decisions);
}

void reconf_print(const struct reconf_options *o, const struct reconf_all *a, const json_t *all)
{
	const json_t *clusters = json_object_get(all, "clusters");
	const struct reconf_rules *r = &o->plan.rules;
	struct reconf_moves moves;

	printf("These clusters are SIMULATED: %u clients, CPU time of a request %.0f us, S %g ms, "
	       "T %u checks\n",
	       o->plan.web.clients, (double)o->plan.web.hit_ns / 1000, (double)r->scan_ns / 1e6,
	       r->checks);
	printf("Requests a second; figures are means of %u seeds%s%s\n", o->seeds,
	       o->without ? "; without " : "", o->without ? o->without : "");
	for (uint32_t c = 0; c < o->clusters; c++) {
		const json_t *j = json_array_get(clusters, c);

		printf("\nNodes %s; over-provisioned: %lld of %lld for each site\n",
		       json_string_value(json_object_get(j, "shares")),
		       (long long)json_integer_value(json_object_get(j, "over_nodes")),
		       (long long)json_integer_value(json_object_get(j, "nodes")));
		print_rows(json_object_get(j, "bursts"));
	}
	puts("\nEqual loads: bursts so short that all sites of the last cluster have requests");
	print_rows(json_object_get(all, "equal"));
	puts("\nQoS: high and low get 60 clients each at once, the others keep 4; requests a "
	     "second / us / nodes");
	print_scene(&a->scene[RECONF_QOS], json_object_get(all, "qos"));
	puts("\nChains: the taker gets 60 clients; idle's nodes may serve only between, and those "
	     "only the taker");
	print_scene(&a->scene[RECONF_CHAINS], json_object_get(all, "chains"));
	printf("\nPredictions in mode observe, of what %u moves brought in mode act:\n",
	       a->forecasts.n);
	print_errors("the taker's load", &a->forecasts.taker);
	print_errors("the donor's load", &a->forecasts.donor);
	all_moves(o, a, &moves);
	print_move(&moves);
}
