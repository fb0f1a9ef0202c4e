// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sweep_cmd: "resex-lab sweep" from its options to its output: it reads the scenarios, runs each
 * under each fixed cap and each policy (pool.h), prints a table of each, and writes its files.
 * main.c calls it.
 */
#include "src/lab/sweep_cmd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policies/policies.h"
#include "resex/exit.h"
#include "src/cli/table.h"
#include "src/lab/lab_cmd.h"
#include "src/lab/pool.h"
#include "src/lab/scenario.h"
#include "src/lab/sweep.h"
#include "src/util/conf.h"
#include "src/util/utf8.h"

enum {
	JOBS_MAX = 64,
	FILES_MAX = 64,
	POLICIES_MAX = 15,
	NAMED = 3, /* so many neighbours have a column each */
	COLUMNS_MAX = 16,
	HEAD_MAX = SWEEP_NAME_MAX + 8,
};

static const uint32_t default_caps[SWEEP_CAPS] = { 1,  2,  3,  4,  5,  6,  8, 10,
						   15, 20, 25, 34, 50, 75, 90 };

struct options {
	uint32_t jobs, caps, files;
	uint64_t seed; /* 0: those of the files */
	uint32_t cap[SWEEP_CAPS];
	const char *file[FILES_MAX];
	char name[FILES_MAX][SWEEP_NAME_MAX];
	struct lab_out out;
};

struct sweep {
	struct options o;
	const char *policy[POLICIES_MAX + 1];
	struct sweep_scene scene[FILES_MAX];
	struct sweep_result *result; /* of the runs of all scenes, one scene after the other */
	uint32_t runs;
};

/* --- options --- */

static const struct cmdline_row rows[] = {
	{ 'c', "caps", "LIST", "fixed caps, percent (1,2,3,4,5,6,8,10,15 and others)" },
	{ 'o', "out", "FOLDER", "write a CSV and an SVG of each scenario there (none)" },
	{ 's', "seed", "NUMBER", "of all runs (those of the files)" },
	{ 'J', "jobs", "NUMBER", "processes that run hosts (CPUs)" },
	{ 'j', "json", NULL, "print JSON" },
	{ 'h', "help", NULL, "print this" },
	{ 'V', "version", NULL, "print the version" },
	{ .name = NULL },
};

static const struct lab_limit limits[LAB_LETTERS] = {
	['s'] = { 1, 1000000000 },
	['J'] = { 1, JOBS_MAX },
};

static void set_number(void *arg, int letter, long v)
{
	struct options *o = arg;

	if (letter == 's')
		o->seed = (uint64_t)v;
	else
		o->jobs = (uint32_t)v;
}

/* Ascending, so that rows are in order, and none is there twice. */
static int set_caps(void *arg, int letter, const char *list)
{
	struct options *o = arg;
	const char *at = list;
	char *end;

	(void)letter;
	for (o->caps = 0; o->caps < SWEEP_CAPS; at = end + 1) {
		long v = strtol(at, &end, 10);

		if (end == at || v < 1 || v > 99 || (*end && *end != ','))
			break;
		if (o->caps && (uint32_t)v <= o->cap[o->caps - 1])
			break;
		o->cap[o->caps++] = (uint32_t)v;
		if (!*end)
			return -1;
	}
	return lab_refuse("caps %s: give up to %d whole percentages from 1 to 99, each larger than "
			  "the one before, as in 1,5,25",
			  list, SWEEP_CAPS);
}

static const char *base_of(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

/* Results have the name of the file, without .json: in tables, in JSON, and as names of files. */
static int read_name(const char *file, char name[SWEEP_NAME_MAX])
{
	const char *base = base_of(file);
	char shown[4 * SWEEP_NAME_MAX];
	size_t n = strlen(base);

	if (n > 5 && !strcmp(base + n - 5, ".json"))
		n -= 5;
	snprintf(name, SWEEP_NAME_MAX, "%.*s", n < SWEEP_NAME_MAX ? (int)n : 0, base);
	snprintf(shown, sizeof(shown), "%s", name);
	if (utf8_good(shown)) {
		utf8_tame(shown);
		if (n < SWEEP_NAME_MAX && !strcmp(shown, name))
			return -1;
	}
	utf8_escape(base, shown, sizeof(shown));
	return lab_refuse("\"%s\" cannot name results: rename the file: at most %d bytes before "
			  ".json, in UTF-8, without control characters",
			  shown, SWEEP_NAME_MAX - 1);
}

static int add_file(void *arg, const char *word)
{
	struct options *o = arg;
	char name[SWEEP_NAME_MAX];
	int rc = read_name(word, name);

	if (rc >= 0)
		return rc;
	for (uint32_t i = 0; i < o->files; i++)
		if (!strcmp(o->name[i], name))
			return lab_refuse("%s: another scenario is called %s, too: rename one",
					  word, name);
	if (o->files == FILES_MAX)
		return lab_refuse("%s: give at most %d scenarios", word, FILES_MAX);
	memcpy(o->name[o->files], name, sizeof(name));
	o->file[o->files++] = word;
	return -1;
}

static int read_options(struct options *o, int argc, char **argv)
{
	static const struct lab_cmd cmd = {
		.name = "sweep",
		.does = "Scenarios under fixed caps and under each policy, on SIMULATED hosts:\n"
			"latency recovered against throughput given up.",
		.more = "",
		.rows = rows,
		.limits = limits,
		.set_number = set_number,
		.set_word = set_caps,
		.operand = add_file,
		.operands = "SCENARIO...",
	};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int rc;

	o->jobs = cpus < 1 ? 1 : cpus > JOBS_MAX ? JOBS_MAX : (uint32_t)cpus;
	o->caps = SWEEP_CAPS;
	memcpy(o->cap, default_caps, sizeof(o->cap));
	rc = lab_options(&cmd, argc, argv, &o->out, o);
	if (rc < 0 && !o->files)
		return lab_refuse("no scenario: give files of resex-scenario(5)");
	return rc;
}

/* --- scenarios --- */

/* The file without comments. It is a valid scenario. NULL: an error was printed. */
static json_t *load_root(const char *file, int *code)
{
	struct scenario *sc = calloc(1, sizeof(*sc));
	struct conf_doc d = { 0 };
	struct conf_error e = { .exit = RESEX_FAILURE };
	json_t *root = NULL;

	if (!sc) {
		conf_error_set(&e, RESEX_FAILURE, "there is no memory");
	} else if (!scenario_load(sc, NULL, file, &e)) {
		scenario_free(sc);
		if (!conf_load(&d, file, &e))
			root = json_incref(d.root);
		conf_free(&d);
	}
	free(sc);
	if (root)
		return root;
	fprintf(stderr, "resex-lab: %s\n", e.text);
	*code = (int)e.exit;
	return NULL;
}

static int open_scenes(struct sweep *w)
{
	const struct options *o = &w->o;
	int code = RESEX_OK;

	for (uint32_t i = 0; i < POLICIES_MAX && policies_builtin[i]; i++)
		w->policy[i] = policies_builtin[i]->name;
	for (uint32_t i = 0; i < o->files; i++) {
		struct sweep_scene *s = &w->scene[i];
		json_t *root = load_root(o->file[i], &code);
		const char *why;

		if (!root)
			return code;
		why = sweep_open(s, root, o->cap, o->caps, w->policy);
		if (why) {
			fprintf(stderr, "resex-lab: %s cannot be swept: %s\n", o->file[i], why);
			return RESEX_BAD_CONFIG;
		}
		memcpy(s->name, o->name[i], sizeof(s->name));
		w->runs += s->runs;
	}
	return RESEX_OK;
}

/* --- runs --- */

static int run_piece(void *arg, uint32_t piece)
{
	struct sweep *w = arg;
	struct sweep_scene *s = w->scene;
	json_t *summary = NULL;
	uint32_t i = piece;
	char *text;
	int rc;

	for (; i >= s->runs; s++)
		i -= s->runs;
	text = sweep_scenario(s, i, w->o.seed);
	rc = pool_scenario(s->name, text, &summary);
	free(text);
	if (!rc)
		rc = sweep_read(s, summary, &w->result[piece]);
	json_decref(summary);
	return rc;
}

/* --- output --- */

/* A part as a percentage; null where there is none. */
static json_t *percent(double part)
{
	return isfinite(part) ? json_real(part * 100) : json_null();
}

static json_t *sent_json(const struct sweep_scene *s, const struct sweep_result *r)
{
	json_t *sent = json_object();
	const json_t *guest;
	size_t i;

	json_array_foreach(json_object_get(s->root, "guests"), i, guest)
		if (s->neighbour[i])
			json_object_set_new(sent, json_string_value(json_object_get(guest, "name")),
					    json_real(r->sent[i]));
	return sent;
}

/* mark: of fixed caps a star on the frontier, of a policy what the frontier gives up. */
static json_t *mark_of(const struct sweep_run *run, const struct sweep_row *row)
{
	if (run->kind == SWEEP_POLICY)
		return percent(row->best);
	return json_string(row->frontier ? "*" : "");
}

static json_t *row_json(const struct sweep_scene *s, uint32_t i, const struct sweep_result *result,
			const struct sweep_row *row)
{
	const struct sweep_run *run = &s->run[i];
	char name[SWEEP_NAME_MAX];
	json_t *v;

	sweep_run_name(run, name);
	v = json_pack("{s:s,s:f,s:f,s:f,s:o,s:o,s:f,s:o,s:b,s:o,s:o}", "run", name, "mean_us",
		      row->mean, "deviation_us", row->deviation, "p99_us", row->p99, "over_percent",
		      percent(row->over), "recovered_percent", percent(row->recovered), "sent_mb_s",
		      row->sent, "given_up_percent", percent(row->given_up), "frontier",
		      row->frontier, "frontier_gives_up_percent", percent(row->best), "mark",
		      mark_of(run, row));
	if (run->kind == SWEEP_TOGETHER || run->kind == SWEEP_STAGGERED)
		json_object_set_new(v, "cap", json_integer(run->cap));
	json_object_set_new(v, "sent", sent_json(s, result));
	return v;
}

static json_t *scene_json(const struct sweep_scene *s, const struct sweep_result *result)
{
	struct sweep_row row[SWEEP_RUNS_MAX];
	json_t *list = json_array(), *alone = json_object();
	const json_t *guest;
	size_t i;

	sweep_rows(s, result, row);
	for (uint32_t k = 1; k < s->runs; k++)
		json_array_append_new(list, row_json(s, k, &result[k], &row[k - 1]));
	json_array_foreach(json_object_get(s->root, "guests"), i, guest)
		if (s->reporter[i])
			json_object_set_new(alone,
					    json_string_value(json_object_get(guest, "name")),
					    json_real(result[0].mean[i]));
	return json_pack("{s:s,s:o,s:b,s:o}", "scenario", s->name, "alone_us", alone, "in_turn",
			 s->is_staggered, "rows", list);
}

/* Rows with the throughput of some neighbours as members of their own, for their columns. */
static void spread_sent(json_t *list)
{
	json_t *row, *v;
	const char *name;
	size_t i;

	json_array_foreach(list, i, row)
		json_object_foreach(json_object_get(row, "sent"), name, v) {
			char key[HEAD_MAX];

			snprintf(key, sizeof(key), "sent %s", name);
			json_object_set(row, key, v);
		}
}

/* The last columns that are left out say how far the reporter is from base, and what that costs. */
static void print_scene(const struct sweep_scene *s, const json_t *scene)
{
	static const struct column first[] = {
		{ "RUN", "run", LEFT },
		{ "MEAN-US", "mean_us", 0 },
		{ "P99-US", "p99_us", 0 },
		{ "OVER-%", "over_percent", 0 },
		{ "RECOVERED-%", "recovered_percent", 0 },
	};
	static const struct column last[] = { { "GIVEN-UP-%", "given_up_percent", 0 },
					      { "FRONTIER-%", "mark", 0 },
					      { NULL, NULL, 0 } };
	enum { FIRST = sizeof(first) / sizeof(first[0]), SENT_RANK = 4 };
	static const int first_rank[FIRST] = { 0, 3, SENT_RANK + NAMED, 1, 2 };
	struct column cols[COLUMNS_MAX];
	int rank[COLUMNS_MAX] = { 0 };
	char head[NAMED][HEAD_MAX], key[NAMED][HEAD_MAX];
	json_t *list = json_object_get(scene, "rows");
	const json_t *v, *alone = json_object_get(scene, "alone_us");
	const char *name;
	uint32_t n = FIRST, named = 0;

	memcpy(cols, first, sizeof(first));
	memcpy(rank, first_rank, sizeof(first_rank));
	if (s->neighbours <= NAMED) {
		json_object_foreach(json_object_get(json_array_get(list, 0), "sent"), name, v) {
			snprintf(head[named], HEAD_MAX, "%s-MB/S", name);
			snprintf(key[named], HEAD_MAX, "sent %s", name);
			rank[n] = SENT_RANK + (int)named;
			cols[n++] = (struct column){ head[named], key[named], 0 };
			named++;
		}
		spread_sent(list);
	} else {
		rank[n] = SENT_RANK;
		cols[n++] = (struct column){ "SENT-MB/S", "sent_mb_s", 0 };
	}
	memcpy(cols + n, last, sizeof(last));
	printf("%s:", s->name);
	json_object_foreach((json_t *)(uintptr_t)alone, name, v)
		printf(" %s alone takes %.1f us.", name, json_number_value(v));
	puts(s->neighbours ? "" : " No guest is capped: no other guest sends.");
	table_print_fit(stdout, list, cols, rank, table_width(stdout));
	putchar('\n');
}

static int print(const struct sweep *w, json_t *scenes)
{
	json_t *all = json_pack("{s:b,s:I,s:O}", "simulated", 1, "seed", (json_int_t)w->o.seed,
				"scenarios", scenes);
	json_t *scene;
	size_t i;

	if (all && w->o.out.json) {
		lab_print_json(all);
	} else if (all) {
		puts("SIMULATED: latency of the server, and what its neighbours send;\n* marks the "
		     "frontier of fixed caps\n");
		json_array_foreach(scenes, i, scene)
			print_scene(&w->scene[i], scene);
	}
	return lab_printed(all);
}

static int write_and_print(const struct sweep *w)
{
	const struct sweep_result *result = w->result;
	json_t *scenes = json_array();
	int rc = RESEX_OK;

	for (uint32_t i = 0; rc == RESEX_OK && i < w->o.files; i++) {
		const struct sweep_scene *s = &w->scene[i];
		struct sweep_row row[SWEEP_RUNS_MAX];

		sweep_rows(s, result, row);
		if (w->o.out.figures)
			rc = sweep_write(s, result, row, w->o.out.figures, s->name);
		json_array_append_new(scenes, scene_json(s, result));
		result += s->runs;
	}
	if (rc == RESEX_OK)
		rc = print(w, scenes);
	json_decref(scenes);
	return rc;
}

static int sweep_all(struct sweep *w)
{
	struct pool p = { .work = run_piece, .arg = w };
	int rc = open_scenes(w);

	if (rc == RESEX_OK && w->o.out.figures)
		rc = lab_make_folder(w->o.out.figures);
	if (rc != RESEX_OK)
		return rc;
	p.pieces = w->runs;
	w->result = pool_memory(w->runs * sizeof(*w->result));
	if (!w->result)
		return RESEX_FAILURE;
	rc = pool_run(&p, w->o.jobs);
	if (rc == RESEX_OK)
		rc = write_and_print(w);
	pool_release(w->result, w->runs * sizeof(*w->result));
	return rc;
}

int sweep_cmd(int argc, char **argv)
{
	struct sweep *w = calloc(1, sizeof(*w));
	int rc;

	if (!w) {
		fputs("resex-lab: there is no memory\n", stderr);
		return RESEX_FAILURE;
	}
	rc = read_options(&w->o, argc, argv);
	if (rc < 0)
		rc = sweep_all(w);
	for (uint32_t i = 0; i < w->o.files; i++)
		sweep_free(&w->scene[i]);
	free(w);
	return rc;
}
