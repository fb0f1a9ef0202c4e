// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures: each cell of each figure is a scenario; a result is read from a summary; the numbers
 * beside the paper's, columns and pictures come from results; processes share the cells.
 */
#include "src/lab/figures.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/conf/policy.h"
#include "src/lab/scenario.h"
#include "tests/unit/unit.h"

enum { DURATION_MS = 5000 };

/* --- cells ----------------------------------------------------------------------- */

static void parse(const struct figures_cell *c, struct scenario *sc)
{
	char *text = figures_scenario(c, 7, 209, 62);
	struct conf_error e = { 0 };

	assert_non_null(text);
	if (scenario_parse(sc, "test", text, strlen(text), &e))
		fail_msg("%s: %s", text, e.text);
	free(text);
}

static uint32_t points_of(const struct figures_def *d)
{
	return figures_has_points(d->shape) ? d->points : 1;
}

/* Calls each() with the cell of each series and point. */
static void each_cell(uint32_t ms, void (*each)(void *arg, const struct figures_cell *c), void *arg)
{
	struct figures_cell c;

	for (uint32_t i = 0; i < figures_defs_n; i++)
		for (uint32_t s = 0; s < figures_defs[i].series; s++)
			for (uint32_t p = 0; p < points_of(&figures_defs[i]); p++) {
				figures_cell_of(&figures_defs[i], s, p, ms, &c);
				each(arg, &c);
			}
}

static void check_cell(void *arg, const struct figures_cell *c)
{
	struct scenario *sc = arg;

	parse(c, sc);
	assert_int_equal(sc->sim.guests, c->servers + (c->neighbour != FIGURES_NOBODY));
	assert_true(sc->duration_ns / sc->series_ns <= FIGURES_STEPS);
	assert_int_equal(sc->series_ns % (10 * NS_PER_MS), 0);
	scenario_free(sc);
}

TEST(cell__each_figure_series_and_point__is_a_scenario)
{
	struct scenario *sc = calloc(1, sizeof(*sc));

	each_cell(4000, check_cell, sc);
	each_cell(30000, check_cell, sc);
	each_cell(3600000, check_cell, sc);
	free(sc);
}

TEST(cell__of_a_benchex__has_its_depth_in_clients_and_answers)
{
	const struct figures_cell c = {
		FIGURES_IOSHARES, 2, 100, FIGURES_BENCHEX, 128, 4, 0, 25, 2000, 10
	};
	struct scenario *sc = calloc(1, sizeof(*sc));
	const struct sim_guest_conf *g = sc->sim.guest;

	parse(&c, sc);
	assert_string_equal(sc->policy->ops->name, "ioshares");
	assert_int_equal(sc->sim.seed, 7);
	assert_int_equal(sc->duration_ns, 2 * NS_PER_S);
	assert_int_equal(sc->series_ns, 10 * NS_PER_MS);
	assert_int_equal(g[0].app[0].vary.permille, 100);
	assert_int_equal(sc->conf.guest[0].sla.base_ns, 209000);
	assert_int_equal(sc->conf.guest[1].sla.base_ns, 0);
	assert_int_equal(g[2].app[0].kind, SIM_APP_SERVER);
	assert_int_equal(g[2].app[0].msg_bytes, 128 << 10);
	assert_int_equal(g[2].app[0].clients, 4);
	assert_int_equal(g[2].app[0].depth, 4);
	assert_int_equal(g[2].app[0].vary.permille, 100);
	assert_int_equal(g[2].cap, 25);
	scenario_free(sc);
	free(sc);
}

TEST(cell__of_a_sender__has_its_rate_and_depth)
{
	const struct figures_cell c = { FIGURES_NULL, 1,  500, FIGURES_SENDER, 2048,
					16,	      10, 0,   2000,	       10 };
	struct scenario *sc = calloc(1, sizeof(*sc));
	const struct sim_app *a = &sc->sim.guest[1].app[0];

	parse(&c, sc);
	assert_int_equal(a->kind, SIM_APP_SENDER);
	assert_int_equal(a->depth, 16);
	assert_int_equal(a->rate, 10);
	assert_int_equal(sc->sim.guest[1].cap, 0);
	scenario_free(sc);
	free(sc);
}

TEST(cells__equal__are_run_once)
{
	struct figures_runs *r = calloc(1, sizeof(*r));
	struct figures_cell c = { .servers = 1 };

	assert_int_equal(figures_add(r, &c), 0);
	c.cap = 1;
	assert_int_equal(figures_add(r, &c), 1);
	c.cap = 0;
	assert_int_equal(figures_add(r, &c), 0);
	assert_int_equal(r->n, 2);
	for (uint32_t i = 2; i < FIGURES_CELLS_MAX; i++) {
		c.cap = i;
		assert_int_equal(figures_add(r, &c), i);
	}
	c.cap++;
	assert_int_equal(figures_add(r, &c), -1);
	free(r);
}

static void add(void *arg, const struct figures_cell *c)
{
	assert_true(figures_add(arg, c) >= 0);
}

TEST(cells__of_all_figures__have_room)
{
	struct figures_runs *r = calloc(1, sizeof(*r));

	each_cell(DURATION_MS, add, r);
	assert_in_range(r->n, 100, FIGURES_CELLS_MAX);
	free(r);
}

/* --- results --------------------------------------------------------------------- */

#define LATENCY                                                                                    \
	"\"latency\":{\"n\":200,\"mean_us\":240.5,\"deviation_us\":3,\"min_us\":200,"              \
	"\"p99_us\":260,\"ctime_us\":147,\"wtime_us\":90,\"ptime_us\":3.5,"                        \
	"\"ctime_deviation_us\":1,\"wtime_deviation_us\":2,\"ptime_deviation_us\":0.5,"            \
	"\"histogram\":[[100,50],[193,100],[9999,50]]}"
#define SERVER                                                                                     \
	"{\"cap\":{\"lowest\":null,\"changes\":1},\"true\":{\"bytes\":1,\"apps\":[{" LATENCY       \
	"}]},\"series\":{\"true_latency_us\":[1,null],\"balance\":[5,6],\"cap\":[null,null]}}"
#define NEIGHBOUR                                                                                  \
	"{\"cap\":{\"lowest\":3,\"changes\":4},\"true\":{\"bytes\":6000000,\"apps\":[]},"          \
	"\"series\":{\"true_latency_us\":[],\"balance\":[7,null],\"cap\":[null,3]}}"

static int read_text(const char *text, const struct figures_cell *c, struct figures_result *r)
{
	json_t *summary = json_loads(text, 0, NULL);
	int rc;

	assert_non_null(summary);
	rc = figures_read(summary, c, r);
	json_decref(summary);
	return rc;
}

TEST(result__of_a_pair__has_what_the_summary_says)
{
	const struct figures_cell c = {
		.servers = 1, .neighbour = FIGURES_BENCHEX, .duration_ms = 2000, .step_ms = 1000
	};
	struct figures_result r;

	assert_int_equal(read_text("{\"guests\":[" SERVER "," NEIGHBOUR "]}", &c, &r), 0);
	assert_true(r.done && r.mean == 240.5 && r.deviation == 3 && r.least == 200);
	assert_true(r.p99 == 260 && r.part[FIGURES_CTIME] == 147 && r.part[FIGURES_WTIME] == 90);
	assert_true(r.part[FIGURES_PTIME] == 3.5 && r.part_deviation[FIGURES_CTIME] == 1);
	assert_true(r.part_deviation[FIGURES_WTIME] == 2);
	assert_true(r.part_deviation[FIGURES_PTIME] == 0.5);
	assert_true(r.sent == 3 && r.lowest == 3);
	assert_int_equal(r.changes, 5);
	assert_int_equal(r.steps, 2);
	assert_true(r.latency[0] == 1 && isnan(r.latency[1]));
	assert_true(r.own[0] == 5 && r.own[1] == 6);
	assert_true(r.balance[0] == 7 && isnan(r.balance[1]));
	assert_true(r.cap[0] == 100 && r.cap[1] == 3);
	/* What is beyond the bins is in the first and in the last one. */
	assert_true(r.share[0] == 25 && r.share[1] == 50 && r.share[FIGURES_BINS - 1] == 25);
}

TEST(result__of_a_neighbour_without_a_cap__has_100)
{
	const struct figures_cell c = {
		.servers = 1, .neighbour = FIGURES_BENCHEX, .duration_ms = 2000, .step_ms = 1000
	};
	struct figures_result r;

	assert_int_equal(read_text("{\"guests\":[" SERVER "," SERVER "]}", &c, &r), 0);
	assert_true(r.lowest == 100 && r.cap[1] == 100);
}

TEST(result__of_another_summary__is_refused)
{
	const struct figures_cell one = { .servers = 1, .duration_ms = 2000, .step_ms = 1000 };
	struct figures_cell two = one;
	struct figures_result r;

	two.servers = 2;
	assert_int_equal(read_text("{\"guests\":[" SERVER "]}", &one, &r), 0);
	assert_true(r.lowest == 100);
	assert_int_equal(read_text("{\"guests\":[" SERVER "]}", &two, &r), -EINVAL);
	assert_int_equal(read_text("{\"guests\":[" NEIGHBOUR "]}", &one, &r), -EINVAL);
	assert_int_equal(read_text("{}", &one, &r), -EINVAL);
}

/* --- from results ---------------------------------------------------------------- */

/* All figures' cells; a cell's mean is 200 and what its figures are worth. */
static struct figures_runs *made_up(void)
{
	struct figures_runs *r = calloc(1, sizeof(*r));

	each_cell(DURATION_MS, add, r);
	r->result = calloc(r->n ? r->n : 1, sizeof(*r->result));
	for (uint32_t i = 0; i < r->n; i++) {
		const struct figures_cell *c = &r->cell[i];
		struct figures_result *to = &r->result[i];

		to->mean = 200 + (c->neighbour ? 40.0 - 10 * c->policy : 0) + c->kib / 1024.0;
		to->deviation = 1;
		to->least = 190;
		to->steps = c->duration_ms / c->step_ms;
		for (uint32_t k = 0; k < to->steps; k++)
			to->cap[k] = to->latency[k] = k < 2 ? 100 : 50;
		to->balance[1] = 624288;
		to->balance[2] = 62428.8;
		to->share[3] = 60;
		to->share[4] = 40;
	}
	return r;
}

static void made_up_free(struct figures_runs *r)
{
	free(r->result);
	free(r);
}

struct wanted {
	const char *what;
	double here;
	int found;
};

static int see(void *arg, uint32_t figure, const char *what, double here, const char *paper,
	       const char *where)
{
	struct wanted *w = arg;

	(void)figure;
	assert_non_null(paper);
	assert_non_null(where);
	if (strcmp(w->what, what) != 0)
		return 0;
	w->here = here;
	w->found++;
	return 0;
}

static double number_of(const struct figures_runs *r, uint32_t figure, const char *what)
{
	struct wanted w = { .what = what };

	assert_int_equal(figures_beside(r, figure, DURATION_MS, see, &w), 0);
	assert_int_equal(w.found, 1);
	return w.here;
}

TEST(beside__each_figure__is_of_the_cells_that_it_names)
{
	struct figures_runs *r = made_up();

	assert_true(number_of(r, 1, "normal server, us") == 200);
	assert_true(number_of(r, 1, "smallest when interfered, us less than normal") == 10);
	assert_float_equal(number_of(r, 3, "slowest ratio over the fastest, depth 1, %"),
			   (242 / 240.0625 - 1) * 100, 1e-9);
	assert_float_equal(number_of(r, 3, "slowest ratio over base, depth 1, %"), 21, 1e-9);
	assert_float_equal(number_of(r, 4, "cap 3 over base, depth 1, %"), 21, 1e-9);
	assert_float_equal(number_of(r, 5, "FreeMarket over base, depth 1, %"), 16, 1e-9);
	assert_true(number_of(r, 6, "highest balance of the 2 MiB guest, Resos") == 624288);
	assert_float_equal(
		number_of(r, 6, "its balance after the 10 ms of its first cut, % of all"), 10,
		1e-9);
	assert_float_equal(number_of(r, 7, "IOShares over base, depth 1, %"), 11, 1e-9);
	assert_float_equal(number_of(r, 7, "interference that IOShares takes away, % of base"), 10,
			   1e-9);
	assert_float_equal(number_of(r, 9, "IOShares over base at worst, %"), 11, 1e-9);
	assert_float_equal(number_of(r, 9, "FreeMarket over base at best, %"), 15.0625, 1e-9);
	made_up_free(r);
}

TEST(beside__a_cap_in_one_case_of_figure_8__is_counted)
{
	struct figures_runs *r = made_up();
	struct figures_cell c;

	assert_true(number_of(r, 8, "caps set in all of them") == 0);
	figures_cell_of(&figures_defs[8], 1, 1, DURATION_MS, &c);
	assert_string_equal(figures_defs[8].name, "figure8");
	r->result[figures_add(r, &c)].changes = 3;
	assert_true(number_of(r, 8, "caps set in all of them") == 3);
	made_up_free(r);
}

static int refuse(void *arg, uint32_t figure, const char *what, double here, const char *paper,
		  const char *where)
{
	(void)figure;
	(void)what;
	(void)here;
	(void)paper;
	(void)where;
	++*(int *)arg;
	return -ENOMEM;
}

TEST(beside__a_row_that_cannot_be_kept__ends_it)
{
	struct figures_runs *r = made_up();
	int calls = 0;

	assert_int_equal(figures_beside(r, 1, DURATION_MS, refuse, &calls), -ENOMEM);
	assert_int_equal(calls, 1);
	made_up_free(r);
}

/* What put() writes, to be freed. */
static char *written(void (*put)(FILE *f, const struct figures_plot *p),
		     const struct figures_plot *p)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	put(f, p);
	assert_int_equal(fclose(f), 0);
	return text;
}

TEST(plot__each_figure__has_numbers_for_all_series)
{
	struct figures_runs *r = made_up();
	struct figures_plot *p = calloc(1, sizeof(*p));

	for (uint32_t i = 0; i < figures_defs_n; i++) {
		char *svg;

		figures_plot(r, &figures_defs[i], DURATION_MS, p);
		assert_in_range(p->n, 3, FIGURES_SERIES_MAX);
		assert_in_range(p->points, 5, FIGURES_STEPS);
		svg = written(figures_svg, p);
		assert_null(strstr(svg, "nan"));
		assert_null(strstr(svg, "inf"));
		/* The axis is there, though all of made-up parts are 0. */
		if (figures_defs[i].shape == FIGURES_PARTS_BARS)
			assert_non_null(strstr(svg, ">0</text>"));
		free(svg);
	}
	/* The bins, and the next one, where the line goes back to 0. */
	figures_plot(r, &figures_defs[0], DURATION_MS, p);
	assert_int_equal(p->points, 6);
	assert_true(p->x[3] == 196 && p->y[0][3] == 60);
	free(p);
	made_up_free(r);
}

TEST(svg__of_a_title_with_signs_of_xml__shows_them)
{
	static const struct figures_def d = {
		.title = "a&b<c", .x = "s", .y = "us", .shape = FIGURES_POINTS
	};
	struct figures_plot *p = calloc(1, sizeof(*p));
	char *svg;

	p->d = &d;
	svg = written(figures_svg, p);
	assert_non_null(strstr(svg, ">a&amp;b&lt;c</text>"));
	free(svg);
	free(p);
}

TEST(csv__of_time__leaves_out_what_is_not_there)
{
	static const struct figures_def d = { .x = "s", .shape = FIGURES_TIME };
	struct figures_plot *p = calloc(1, sizeof(*p));
	char *text;

	p->d = &d;
	p->n = 2;
	p->points = 2;
	strcpy(p->series[0], "a");
	strcpy(p->series[1], "b");
	p->x[0] = 0.1;
	p->x[1] = 0.2;
	p->y[0][0] = 1;
	p->y[0][1] = NAN;
	p->y[1][0] = 2.5;
	p->y[1][1] = 3;
	text = written(figures_csv, p);
	assert_string_equal(text, "# SIMULATED: man resex-lab\n\"s\",\"a\",\"b\"\n"
				  "0.1,1.000,2.500\n0.2,,3.000\n");
	free(text);
	free(p);
}

TEST(csv__of_bars__has_deviations_behind_means)
{
	static const struct figures_def d = { .x = "size", .shape = FIGURES_BARS };
	struct figures_plot *p = calloc(1, sizeof(*p));
	char *text;

	p->d = &d;
	p->n = p->points = 1;
	strcpy(p->series[0], "a");
	strcpy(p->point[0], "1 MiB");
	p->y[0][0] = 1;
	p->error[0][0] = 2;
	text = written(figures_csv, p);
	assert_string_equal(text, "# SIMULATED: man resex-lab\n\"size\",\"a\",\"deviation of a\"\n"
				  "\"1 MiB\",1.000,2.000\n");
	free(text);
	free(p);
}

/* --- runs ------------------------------------------------------------------------ */

static struct figures_runs *run(uint32_t jobs)
{
	static const struct figures_cell cells[] = {
		{ .servers = 1, .duration_ms = 100, .step_ms = 50 },
		{ .servers = 1, .variation = 500, .duration_ms = 100, .step_ms = 50 },
		{ FIGURES_NULL, 1, 0, FIGURES_BENCHEX, 256, 1, 0, 0, 100, 50 },
	};
	struct figures_runs *r = calloc(1, sizeof(*r));

	r->seed = 1;
	for (uint32_t i = 0; i < 3; i++)
		figures_add(r, &cells[i]);
	assert_int_equal(figures_run(r, jobs), 0);
	return r;
}

TEST(run__one_process_or_more__gives_the_same_results)
{
	struct figures_runs *one = run(1), *four = run(4);

	assert_memory_equal(one->result, four->result, 3 * sizeof(*one->result));
	assert_true(one->result[2].mean > 1.1 * one->result[0].mean);
	assert_true(one->result[1].deviation > 10 * one->result[0].deviation);
	/* Of parts: computing varies by half of 147 us, waiting for gaps by 0 to 61 us. */
	assert_float_equal(one->result[1].part_deviation[FIGURES_CTIME], 73, 15);
	assert_float_equal(one->result[2].part_deviation[FIGURES_WTIME], 25, 6);
	assert_true(one->result[0].part_deviation[FIGURES_WTIME] < 1);
	figures_free(one);
	figures_free(four);
	free(one);
	free(four);
}
