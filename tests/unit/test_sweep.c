// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sweep: which guests of a scenario are capped, the scenario of each run, and what rows and the
 * frontier say of results.
 */
#include "src/lab/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/conf/policy.h"
#include "src/lab/scenario.h"
#include "tests/unit/unit.h"

static const char *const policies[] = { "null", "freemarket", "ioshares", NULL };
static const uint32_t caps[] = { 2, 20 };

#define SLA	"'sla':{'tolerance':50,'base':'209us','base_io':'62036ns','base_deviation':'0ns'}"
#define SERVER	"{'name':'s'," SLA ",'apps':[{'kind':'server'}]}"
#define BULK(n) "{'name':'" n "','vcpus':2,'apps':[{'kind':'sender','size':'2MiB'}]}"

static const char *open_text(struct sweep_scene *s, const char *guests, const char *more)
{
	char text[4096], *at;

	snprintf(text, sizeof(text), "{'policy':'ratio','series':'1s'%s,'guests':[%s]}", more,
		 guests);
	while ((at = strchr(text, '\'')))
		*at = '"';
	return sweep_open(s, json_loads(text, 0, NULL), caps, 2, policies);
}

static struct sweep_scene *open_two(const char *more)
{
	struct sweep_scene *s = calloc(1, sizeof(*s));

	assert_null(open_text(s, SERVER "," BULK("a") "," BULK("b"), more));
	return s;
}

static void close_scene(struct sweep_scene *s)
{
	sweep_free(s);
	free(s);
}

/* The run of this name, as a scenario that resexd takes. */
static void parse_run(const struct sweep_scene *s, const char *wanted, struct scenario *sc)
{
	char name[SWEEP_NAME_MAX], *text;
	struct conf_error e = { 0 };

	for (uint32_t i = 0; i < s->runs; i++) {
		sweep_run_name(&s->run[i], name);
		if (strcmp(name, wanted))
			continue;
		text = sweep_scenario(s, i, 7);
		if (scenario_parse(sc, "test", text, strlen(text), &e))
			fail_msg("%s: %s", text, e.text);
		free(text);
		return;
	}
	fail_msg("there is no run \"%s\"", wanted);
}

TEST(roles__server_with_a_promise_reports__others_that_send_are_neighbours)
{
	struct sweep_scene *s = calloc(1, sizeof(*s));

	open_text(s,
		  SERVER ",{'name':'t','apps':[{'kind':'server'}]}," BULK(
			  "a") ",{'name':'c','apps':[{'kind':'burner'}]}",
		  "");
	assert_true(s->reporter[0] && !s->neighbour[0]);
	assert_true(!s->reporter[1] && s->neighbour[1] && s->neighbour[2]);
	assert_true(!s->reporter[3] && !s->neighbour[3]);
	assert_int_equal(s->neighbours, 2);
	close_scene(s);
}

TEST(roles__no_promise__all_servers_report)
{
	struct sweep_scene *s = calloc(1, sizeof(*s));

	open_text(s, "{'name':'t','apps':[{'kind':'server'}]}," BULK("a"), "");
	assert_true(s->reporter[0] && s->neighbour[1]);
	close_scene(s);
}

TEST(open__no_server_or_a_real_clock__is_refused_with_what_to_do)
{
	struct sweep_scene *s = calloc(1, sizeof(*s));

	assert_non_null(strstr(open_text(s, BULK("a"), ""), "add a guest with one"));
	sweep_free(s);
	assert_non_null(strstr(open_text(s, SERVER, ",'clock':'real'"), "remove \"clock\""));
	close_scene(s);
}

TEST(runs__no_neighbour__no_fixed_caps__and_each_policy_but_null)
{
	struct sweep_scene *s = calloc(1, sizeof(*s));

	open_text(s, SERVER, "");
	assert_int_equal(s->runs, 4);
	assert_string_equal(s->run[2].policy, "freemarket");
	close_scene(s);
}

TEST(scenario__alone__neighbours_do_nothing)
{
	struct sweep_scene *s = open_two("");
	struct scenario *sc = calloc(1, sizeof(*sc));

	parse_run(s, "alone", sc);
	assert_string_equal(sc->policy->ops->name, "null");
	assert_int_equal(sc->sim.seed, 7);
	assert_int_equal(sc->sim.guest[1].app[0].kind, SIM_APP_IDLE);
	assert_int_equal(sc->sim.guest[0].app[0].kind, SIM_APP_SERVER);
	scenario_free(sc);
	free(sc);
	close_scene(s);
}

TEST(scenario__fixed_cap__is_a_part_of_all_vcpus_from_the_start)
{
	struct sweep_scene *s = open_two(
		",'events':[{'at':'1s','do':'policy','policy':'ratio'},"
		"{'at':'2s','do':'cap','guest':'a','cap':9},{'at':'3s','do':'pause'}]");
	struct scenario *sc = calloc(1, sizeof(*sc));

	parse_run(s, "cap 20", sc);
	assert_int_equal(sc->sim.guest[1].cap, 40);
	assert_int_equal(sc->sim.guest[2].cap, 40);
	assert_int_equal(sc->sim.guest[0].cap, 0);
	assert_int_equal(sc->series_ns, 0);
	assert_int_equal(sc->events, 1);
	assert_int_equal(sc->event[0].what, SCENARIO_PAUSE);
	scenario_free(sc);
	parse_run(s, "ioshares", sc);
	assert_string_equal(sc->policy->ops->name, "ioshares");
	assert_int_equal(sc->sim.guest[1].cap, 0);
	assert_int_equal(sc->events, 2);
	scenario_free(sc);
	free(sc);
	close_scene(s);
}

TEST(scenario__cap_in_turn__begins_a_part_of_a_cycle_later_for_each)
{
	struct sweep_scene *s = open_two("");
	struct scenario *sc = calloc(1, sizeof(*sc));

	/* At cap 2 a guest runs each 25 ms, at 20 after each refill. */
	parse_run(s, "cap 2, in turn", sc);
	assert_int_equal(sc->events, 2);
	assert_int_equal(sc->event[0].cap, 4);
	assert_int_equal(sc->event[1].at_ns - sc->event[0].at_ns, 12500000);
	scenario_free(sc);
	parse_run(s, "cap 20, in turn", sc);
	assert_int_equal(sc->event[1].at_ns - sc->event[0].at_ns, 5000000);
	assert_int_equal(sc->sim.guest[1].cap, 0);
	scenario_free(sc);
	free(sc);
	close_scene(s);
}

TEST(scenario__neighbour_that_is_restarted__no_caps_in_turn)
{
	struct sweep_scene *s = open_two(",'events':[{'at':'1s','do':'reboot','guest':'a'}]");

	assert_false(s->is_staggered);
	assert_int_equal(s->runs, 2 + 2 + 2);
	close_scene(s);
	s = open_two(",'events':[{'at':'1s','do':'reboot','guest':'s'}]");
	assert_true(s->is_staggered);
	assert_int_equal(s->runs, 2 + 4 + 2);
	close_scene(s);
}

TEST(scenario__own_lower_cap__is_kept)
{
	struct sweep_scene *s = calloc(1, sizeof(*s));
	struct scenario *sc = calloc(1, sizeof(*sc));

	open_text(s, SERVER ",{'name':'a','cap':5,'apps':[{'kind':'sender'}]}", "");
	parse_run(s, "cap 20", sc);
	assert_int_equal(sc->sim.guest[1].cap, 5);
	scenario_free(sc);
	parse_run(s, "cap 2", sc);
	assert_int_equal(sc->sim.guest[1].cap, 2);
	scenario_free(sc);
	free(sc);
	close_scene(s);
}

/* --- rows --- */

struct point {
	double mean, sent; /* of the server and of each of the two */
};

/* Runs: alone, null, cap 2, cap 2 in turn, cap 20, cap 20 in turn, freemarket, ioshares. */
static void make_rows(const struct sweep_scene *s, const struct point *p, struct sweep_row *row)
{
	struct sweep_result *r = calloc(s->runs, sizeof(*r));

	for (uint32_t i = 0; i < s->runs; i++) {
		r[i].mean[0] = p[i].mean;
		r[i].sent[0] = 1000; /* does not count */
		r[i].sent[1] = r[i].sent[2] = p[i].sent;
	}
	sweep_rows(s, r, row);
	free(r);
}

static const struct point points[] = { { 200, 0 },  { 260, 100 }, { 206, 10 }, { 204, 10 },
				       { 230, 50 }, { 220, 60 },  { 250, 70 }, { 212, 30 } };

TEST(rows__parts_of_base_and_of_what_is_sent_without_caps)
{
	struct sweep_scene *s = open_two("");
	struct sweep_row row[SWEEP_RUNS_MAX];

	make_rows(s, points, row);
	assert_float_equal(row[0].over, 0.30, 1e-6);
	assert_float_equal(row[0].given_up, 0, 1e-6);
	assert_float_equal(row[0].recovered, 0, 1e-6);
	assert_float_equal(row[2].over, 0.02, 1e-6);
	assert_float_equal(row[2].recovered, 14.0f / 15, 1e-6);
	assert_float_equal(row[2].given_up, 0.9, 1e-6);
	close_scene(s);
}

TEST(frontier__has_what_no_other_fixed_cap_beats__and_no_policy)
{
	struct sweep_scene *s = open_two("");
	struct sweep_row row[SWEEP_RUNS_MAX];
	const bool wanted[] = { true, false, true, false, true, false, false };

	make_rows(s, points, row);
	for (uint32_t i = 0; i < 7; i++)
		if (row[i].frontier != wanted[i])
			fail_msg("row %u", i);
	close_scene(s);
}

TEST(frontier__between_two_points__is_on_the_line__and_ends_at_its_ends)
{
	struct sweep_scene *s = open_two("");
	struct sweep_row row[SWEEP_RUNS_MAX];

	make_rows(s, points, row);
	assert_float_equal(sweep_frontier_at(s, row, 0.06), 0.65, 1e-6);
	assert_float_equal(sweep_frontier_at(s, row, 0.01), 0.9, 1e-6);
	assert_float_equal(sweep_frontier_at(s, row, 0.5), 0, 1e-6);
	assert_float_equal(row[6].best, 0.65, 1e-6);
	assert_true(isnan(row[0].best));
	close_scene(s);
}

TEST(rows__no_harm_without_caps__nothing_to_recover)
{
	struct sweep_scene *s = open_two("");
	struct sweep_row row[SWEEP_RUNS_MAX];
	struct point p[8];

	memcpy(p, points, sizeof(p));
	p[1].mean = 201;
	make_rows(s, p, row);
	assert_true(isnan(row[1].recovered));
	close_scene(s);
}

TEST(rows__several_reporters__the_one_farthest_above_its_own_base_counts)
{
	struct sweep_scene *s = calloc(1, sizeof(*s));
	struct sweep_result *r = calloc(8, sizeof(*r));
	struct sweep_row row[SWEEP_RUNS_MAX];

	open_text(s, "{'name':'t'," SLA ",'apps':[{'kind':'server'}]}," SERVER "," BULK("a"), "");
	for (uint32_t i = 0; i < s->runs; i++) {
		r[i].mean[0] = i ? 440 : 400;
		r[i].mean[1] = i ? 210 : 200;
		r[i].p99[0] = 300;
		r[i].sent[2] = 10;
	}
	sweep_rows(s, r, row);
	assert_float_equal(row[0].over, 0.10, 1e-6);
	assert_float_equal(row[0].mean, 440, 1e-6);
	assert_float_equal(row[0].p99, 300, 1e-6);
	free(r);
	close_scene(s);
}

TEST(read__summary_of_another_scenario__is_refused)
{
	struct sweep_scene *s = open_two("");
	struct sweep_result *r = calloc(1, sizeof(*r));
	json_t *summary = json_pack("{s:f,s:[{s:{s:i,s:[{s:s,s:{s:f,s:f,s:f}}]}}]}", "duration_s",
				    2.0, "guests", "true", "bytes", 6000000, "apps", "kind",
				    "server", "latency", "mean_us", 209.0, "deviation_us", 1.0,
				    "p99_us", 210.0);

	assert_int_equal(sweep_read(s, summary, r), -EINVAL);
	s->guests = 1;
	assert_int_equal(sweep_read(s, summary, r), 0);
	assert_true(r->done);
	assert_float_equal(r->mean[0], 209, 1e-6);
	assert_float_equal(r->p99[0], 210, 1e-6);
	assert_float_equal(r->sent[0], 3, 1e-6);
	json_decref(summary);
	free(r);
	close_scene(s);
}
