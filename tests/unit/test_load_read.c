// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_read: SIMULATED front-ends read the records of nodes by peers.c. What they get was sampled,
 * is whole, and is as old as samples, scans and READs make it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/lab/load_read.h"
#include "tests/unit/unit.h"

#define MS NS_PER_MS
#define US INT64_C(1000)

enum { NODES = 5, BEATS = 4096 };

struct rig {
	struct web_conf web;
	struct load_read_conf c;
	struct load_read *read;
	struct load_read_stats stats;
	int64_t now;
	uint32_t next;
	/* What was sampled, by beat. */
	struct load_record sampled[LOAD_SOURCES][NODES][BEATS];
	uint64_t loads, of_source[LOAD_SOURCES];
	int64_t oldest_ns, youngest_ns; /* when they came */
	int64_t least_reading_ns;
	uint64_t beat[WEB_FRONTENDS_MAX][NODES];
};

static uint32_t choose(void *arg, const struct web *w, uint32_t frontend, uint32_t site,
		       int64_t now)
{
	struct rig *g = arg;

	(void)w;
	(void)frontend;
	(void)site;
	(void)now;
	return g->next++ % NODES;
}

static void loaded(void *arg, uint32_t frontend, uint32_t node, const struct load_record *r,
		   int64_t found_ns)
{
	struct rig *g = arg;
	const struct load_record *was;
	int64_t age = g->now - r->sampled_ns;

	assert_in_range(r->source, LOAD_ULM, LOAD_HV);
	was = &g->sampled[r->source][node][r->beat % BEATS];
	/* The head is of the region; the rest is as it was sampled. */
	assert_int_equal(r->node, node);
	assert_memory_equal(&r->source, &was->source,
			    sizeof(*r) - offsetof(struct load_record, source));
	assert_true(r->beat > g->beat[frontend][node]);
	g->beat[frontend][node] = r->beat;
	assert_int_equal(r->source, g->c.source[frontend % g->c.sources]);
	g->of_source[r->source]++;
	g->loads++;
	if (age > g->oldest_ns)
		g->oldest_ns = age;
	if (age < g->youngest_ns)
		g->youngest_ns = age;
	if (g->now - found_ns < g->least_reading_ns)
		g->least_reading_ns = g->now - found_ns;
}

static void begin(void *arg, struct web *w)
{
	load_read_begin(((struct rig *)arg)->read, w);
}

static void sampled(void *arg, uint32_t node, const struct load_record *r)
{
	struct rig *g = arg;

	g->sampled[r->source][node][r->beat % BEATS] = *r;
	load_read_sampled(g->read, node, r);
}

static void timer(void *arg, struct web *w, uint32_t what, uint32_t of, int64_t now)
{
	struct rig *g = arg;

	g->now = now;
	load_read_timer(g->read, w, what, of, now);
}

static struct rig *rig_new(void)
{
	struct rig *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	g->web = (struct web_conf){ .seed = 5,
				    .nodes = NODES,
				    .cpus = 1,
				    .frontends = 3,
				    .clients = 12,
				    .network_ns = 100 * US,
				    .slice_ns = MS,
				    .duration_ns = 2 * NS_PER_S,
				    .interval_ns = 50 * MS,
				    .documents = 10,
				    .miss_ns = 2 * MS,
				    .hit_ns = 2 * MS,
				    .sample_ns = { [LOAD_KLM] = MS },
				    .sample_cpu_ns = 30 * US };
	g->c = (struct load_read_conf){ .nodes = NODES,
					.frontends = 3,
					.sources = 1,
					.source = { LOAD_KLM },
					.scan_ns = 10 * MS + 37 * US,
					.read_ns = 20 * US,
					.write_ns = 200,
					.seed = 5,
					.arg = g,
					.loaded = loaded };
	g->youngest_ns = g->least_reading_ns = INT64_MAX;
	return g;
}

static void run(struct rig *g)
{
	const struct web_ops ops = {
		.arg = g, .choose = choose, .begin = begin, .sampled = sampled, .timer = timer
	};
	static struct web_result res;

	assert_int_equal(load_read_open(&g->read, &g->c), 0);
	assert_int_equal(web_run(&g->web, &ops, &res), 0);
	load_read_stats(g->read, &g->stats);
	load_read_close(g->read);
}

/* 200 scans of 3 front-ends, which go through all phases of the tick. */
TEST(read__each_scan__brings_a_record_that_is_as_old_as_tick_and_read)
{
	struct rig *g = rig_new();

	run(g);
	assert_in_range(g->loads, 3 * 198 * NODES, 3 * 200 * NODES);
	assert_in_range(g->stats.reads, g->loads, g->loads + g->stats.torn + 3 * NODES);
	assert_true(g->youngest_ns >= 10 * US && g->youngest_ns < 100 * US);
	assert_in_range(g->oldest_ns, 900 * US, MS + 80 * US);
	/* From the begin of the reading to its end: a READ. */
	assert_int_equal(g->least_reading_ns, 20 * US);
	free(g);
}

/* loaded() compares each record with what was sampled. */
TEST(read__records_that_take_long_to_write__are_torn_and_none_is_taken)
{
	struct rig *g = rig_new();
	uint64_t whole;

	g->web.sample_ns[LOAD_KLM] = 2 * MS;
	run(g);
	whole = g->loads;
	free(g);
	g = rig_new();
	g->web.sample_ns[LOAD_KLM] = 2 * MS;
	g->c.write_ns = MS / 2; /* a quarter of the time; a READ again is 20 us later */
	run(g);
	assert_true(g->stats.torn * 5 > g->stats.reads);
	assert_in_range(g->loads, whole * 70 / 100, whole * 90 / 100);
	free(g);
}

TEST(read__ulm__comes_as_old_as_the_time_between_its_samples)
{
	struct rig *g = rig_new();

	g->web.sample_ns[LOAD_KLM] = 0;
	g->web.sample_ns[LOAD_ULM] = 10 * MS;
	g->c.source[0] = LOAD_ULM;
	run(g);
	assert_true(g->loads > 0);
	assert_in_range(g->oldest_ns, 9 * MS, 15 * MS);
	free(g);
}

TEST(read__two_sources__each_frontend_has_one)
{
	struct rig *g = rig_new();

	g->web.sample_ns[LOAD_HV] = MS;
	g->c.sources = 2;
	g->c.source[1] = LOAD_HV;
	run(g);
	/* Front-ends 0 and 2; and 1. */
	assert_in_range(g->of_source[LOAD_KLM], 2 * 198 * NODES, 2 * 200 * NODES);
	assert_in_range(g->of_source[LOAD_HV], 198 * NODES, 200 * NODES);
	free(g);
}

TEST(open__out_of_range__is_refused)
{
	struct rig *g = rig_new();

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		struct load_read_conf c = g->c;                                                    \
                                                                                                   \
		change;                                                                            \
		assert_int_equal(load_read_open(&g->read, &c), -EINVAL);                           \
	} while (0)
	REFUSED(c.nodes = 0);
	REFUSED(c.nodes = WEB_NODES_MAX + 1);
	REFUSED(c.sources = 0);
	REFUSED(c.sources = 4);
	REFUSED(c.frontends = 0);
	REFUSED(c.frontends = WEB_FRONTENDS_MAX + 1);
	REFUSED(c.scan_ns = 0);
	REFUSED(c.read_ns = c.scan_ns);
	REFUSED(c.read_ns = -1);
	REFUSED(c.write_ns = 0);
#undef REFUSED
	free(g);
}
