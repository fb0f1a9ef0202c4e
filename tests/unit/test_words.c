// SPDX-License-Identifier: GPL-2.0-or-later
/* words: SIMULATED hosts' words keep the contract of reconf/step.h, and take the time they say. */
#include <errno.h>
#include <string.h>

#include "src/sim/words.h"
#include "tests/unit/unit.h"

#define US INT64_C(1000)

enum { HOSTS = 3, LOAD_BYTES = 64, TIMER = 40, RESULTS_MAX = 64, OFFSET = 8 * 5 };

/* A script: at each time host 1 puts out an operation, or its link is cut. */
struct line {
	int64_t at;
	struct step_op op;
	uint16_t cut; /* the link to this host, instead */
};

struct rig {
	struct words *words;
	struct web_ops ops;
	struct web_result res;
	const struct line *line;
	uint32_t lines, next;
	/* What came to host 1. */
	uint32_t results, links[HOSTS + 1], views, ticks;
	struct step_event result[RESULTS_MAX];
	uint64_t data[RESULTS_MAX][LOAD_BYTES / 8];
	int64_t at[RESULTS_MAX], link_at, tick_at;
	struct step_op when_lost; /* put out when a result is LOST; kind SEND: none */
	struct mono due;
};

static void put(struct step_out *out, const struct step_op *op, uint32_t tag)
{
	out->op[out->n] = *op;
	out->op[out->n++].tag = tag;
}

static void take(struct rig *r, const struct step_event *ev, struct mono now, struct step_out *out)
{
	assert_in_range(r->results, 0, RESULTS_MAX - 1);
	r->at[r->results] = now.ns;
	if (ev->data)
		memcpy(r->data[r->results], ev->data, 8 * ev->words);
	r->result[r->results++] = *ev;
	if (ev->outcome == STEP_LOST && r->when_lost.kind != STEP_SEND) {
		put(out, &r->when_lost, 99);
		r->when_lost.kind = STEP_SEND;
	}
}

static void step(void *arg, uint16_t host, const struct step_event *ev, struct mono now,
		 struct step_out *out)
{
	struct rig *r = arg;

	if (host != 1)
		return;
	if (ev->type == STEP_RESULT) {
		take(r, ev, now, out);
	} else if (ev->type == STEP_LINK) {
		r->links[ev->host] = ev->link;
		r->link_at = now.ns;
	} else if (ev->type == STEP_VIEW) {
		assert_true(ev->quorate && hostset_count(&ev->members) == HOSTS);
		r->views++;
	} else if (ev->type == STEP_TICK) {
		r->ticks++;
		r->tick_at = now.ns;
		r->due.ns = INT64_MAX;
	} else if (ev->type == STEP_ASK) {
		put(out, &r->line[ev->what].op, ev->what);
	}
}

static struct mono due(void *arg, uint16_t host)
{
	const struct rig *r = arg;

	return host == 1 ? r->due : (struct mono){ INT64_MAX };
}

static uint32_t choose(void *arg, const struct web *w, uint32_t frontend, uint32_t site,
		       int64_t now)
{
	(void)arg;
	(void)w;
	(void)frontend;
	(void)site;
	(void)now;
	return 0;
}

static void begin(void *arg, struct web *w)
{
	struct rig *r = arg;

	words_begin(r->words, w);
	for (uint32_t i = 0; i < r->lines; i++)
		web_timer(w, r->line[i].at, TIMER - 1, i);
}

static void timer(void *arg, struct web *w, uint32_t what, uint32_t of, int64_t now)
{
	struct rig *r = arg;
	struct step_event ask = { .type = STEP_ASK, .what = of };

	(void)w;
	if (words_timer(r->words, what, of, now))
		return;
	assert_int_equal(what, TIMER - 1);
	if (r->line[of].cut)
		words_relink(r->words, 1, r->line[of].cut, now);
	else
		words_event(r->words, 1, &ask, now);
}

static const struct words_conf conf = { .hosts = HOSTS,
					.load_bytes = LOAD_BYTES,
					.there_ns = 12 * US,
					.back_ns = 10 * US,
					.timer = TIMER,
					.step = step,
					.due = due };

static void rig_open(struct rig *r)
{
	struct words_conf c = conf;

	*r = (struct rig){ .when_lost = { .kind = STEP_SEND }, .due = { INT64_MAX } };
	c.arg = r;
	assert_int_equal(words_open(&r->words, &c), 0);
	r->ops = (struct web_ops){ .arg = r, .choose = choose, .begin = begin, .timer = timer };
}

static void play(struct rig *r, const struct line *line, uint32_t lines)
{
	const struct web_conf web = { .nodes = 1,
				      .cpus = 1,
				      .frontends = 1,
				      .clients = 1,
				      .network_ns = NS_PER_MS,
				      .duration_ns = NS_PER_S,
				      .interval_ns = NS_PER_S,
				      .documents = 1,
				      .miss_ns = NS_PER_MS,
				      .hit_ns = NS_PER_MS };

	r->line = line;
	r->lines = lines;
	assert_int_equal(web_run(&web, &r->ops, &r->res), 0);
	assert_int_equal(words_error(r->words), 0);
	assert_int_equal(r->views, 1);
}

#define PLAY(r, line) play(r, line, sizeof(line) / sizeof((line)[0]))
#define READ(h, o, n)                                                                              \
	{                                                                                          \
		.kind = STEP_READ, .host = (h), .offset = (o), .len = (n)                          \
	}
#define CAS(h, o, c, v)                                                                            \
	{                                                                                          \
		.kind = STEP_CAS, .host = (h), .offset = (o), .compare = (c), .value = (v)         \
	}
#define FAA(h, o, v)                                                                               \
	{                                                                                          \
		.kind = STEP_FAA, .host = (h), .offset = (o), .value = (v)                         \
	}

TEST(operation__put_out__comes_back_once_after_both_ways)
{
	static const struct line lines[] = {
		{ .at = 100 * US, .op = FAA(2, OFFSET, 2) },
		{ .at = 101 * US, .op = CAS(2, OFFSET, 7, 9) },
		{ .at = 102 * US, .op = CAS(2, OFFSET, 7, 11) },
		{ .at = 103 * US, .op = READ(2, OFFSET, 16) },
	};
	struct words_count n;
	struct rig r;

	rig_open(&r);
	words_of(r.words, 2)[OFFSET / 8] = 5;
	words_of(r.words, 2)[OFFSET / 8 + 1] = 33;
	PLAY(&r, lines);
	assert_int_equal(r.results, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(r.at[i], lines[i].at + 22 * US);
		assert_int_equal(r.result[i].outcome, STEP_DONE);
		assert_int_equal(r.result[i].tag, i);
		assert_int_equal(r.result[i].host, 2);
		assert_int_equal(r.result[i].link, 1);
	}
	assert_int_equal(r.result[0].old, 5);
	assert_int_equal(r.result[1].old, 7);
	assert_int_equal(r.result[2].old, 9); /* and it changed nothing */
	assert_int_equal(r.result[3].old, 9);
	assert_int_equal(r.result[3].words, 2);
	assert_int_equal(r.data[3][0], 9);
	assert_int_equal(r.data[3][1], 33);
	words_counted(r.words, 1, &n);
	assert_true(n.put[STEP_READ] == 1 && n.put[STEP_CAS] == 2 && n.put[STEP_FAA] == 1);
	assert_int_equal(n.refused + n.lost, 0);
	words_close(r.words);
}

/* The word is as it was when the READ arrived, not when it was put out or came back. */
TEST(operation__on_its_way__is_executed_in_between)
{
	static const struct line lines[] = {
		{ .at = 100 * US, .op = READ(3, OFFSET, 8) },
		{ .at = 100 * US, .op = FAA(3, OFFSET, 1) },
		{ .at = 100 * US + 1, .op = READ(3, OFFSET, 8) },
	};
	struct rig r;

	rig_open(&r);
	PLAY(&r, lines);
	assert_int_equal(r.results, 3);
	assert_int_equal(r.result[0].old, 0);
	assert_int_equal(r.result[2].old, 1);
	words_close(r.words);
}

TEST(load__of_a_host__is_read_and_not_changed)
{
	static const struct line lines[] = {
		{ .at = US, .op = { .kind = STEP_READ, .part = STEP_LOAD, .host = 2, .len = 64 } },
		{ .at = US, .op = { .kind = STEP_FAA, .part = STEP_LOAD, .host = 2, .value = 1 } },
		{ .at = US, .op = { .kind = STEP_READ, .part = STEP_LOAD, .host = 2, .len = 72 } },
	};
	struct rig r;

	rig_open(&r);
	words_load_of(r.words, 2)[7] = 5;
	PLAY(&r, lines);
	assert_int_equal(r.results, 3);
	assert_int_equal(r.data[0][7], 5);
	assert_int_equal(r.result[1].outcome, STEP_REFUSED);
	assert_int_equal(r.result[2].outcome, STEP_REFUSED);
	words_close(r.words);
}

TEST(operation__that_cannot_be_made__is_refused)
{
	static const struct line lines[] = {
		{ .at = US, .op = READ(2, 4, 8) },
		{ .at = US, .op = READ(2, 0, 4) },
		{ .at = US, .op = READ(2, 0, 0) },
		{ .at = US, .op = READ(2, REGION_WORDS_BYTES - 8, 16) },
		{ .at = US, .op = FAA(2, REGION_WORDS_BYTES, 1) },
		{ .at = US, .op = READ(HOSTS + 1, 0, 8) },
		{ .at = US, .op = READ(0, 0, 8) },
		{ .at = US, .op = { .kind = STEP_SEND, .host = 2, .len = 8 } },
		{ .at = US, .op = { .kind = STEP_READ, .part = STEP_TABLE, .host = 2, .len = 8 } },
	};
	struct words_count n;
	struct rig r;

	rig_open(&r);
	PLAY(&r, lines);
	assert_int_equal(r.results, 9);
	for (uint32_t i = 0; i < r.results; i++)
		assert_int_equal(r.result[i].outcome, STEP_REFUSED);
	words_counted(r.words, 1, &n);
	assert_int_equal(n.refused, 9);
	words_close(r.words);
}

/* The first FAA is executed, the second has not arrived: nobody but the test knows which. */
TEST(relink__operations_without_a_result__are_lost_or_unknown_and_then_the_link_comes)
{
	static const struct line lines[] = {
		{ .at = 100 * US, .op = FAA(2, OFFSET, 1) },
		{ .at = 110 * US, .op = FAA(2, OFFSET, 1) },
		{ .at = 111 * US, .op = READ(2, OFFSET, 8) },
		{ .at = 111 * US, .op = READ(3, OFFSET, 8) },
		{ .at = 115 * US, .cut = 2 },
		{ .at = 200 * US, .op = READ(2, OFFSET, 8) },
	};
	struct rig r;

	rig_open(&r);
	r.when_lost = (struct step_op)READ(2, OFFSET, 8); /* before there is a link */
	PLAY(&r, lines);
	assert_int_equal(r.results, 6);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(r.at[i], 115 * US);
	assert_int_equal(r.result[0].outcome, STEP_UNKNOWN);
	assert_int_equal(r.result[1].outcome, STEP_UNKNOWN);
	assert_int_equal(r.result[2].outcome, STEP_LOST);
	assert_int_equal(r.result[3].outcome, STEP_LOST);
	assert_int_equal(r.result[3].tag, 99);
	assert_int_equal(r.link_at, 125 * US);
	assert_int_equal(r.links[2], 2);
	assert_int_equal(r.links[3], 1);
	assert_int_equal(r.result[4].host, 3);
	assert_int_equal(r.result[4].outcome, STEP_DONE);
	assert_int_equal(r.result[5].link, 2);
	assert_int_equal(r.result[5].old, 1); /* the second FAA was not executed, and never is */
	words_close(r.words);
}

/* step_op.link: LOST while the newer link is not known, REFUSED after it. */
TEST(operation__of_an_older_link__is_not_executed)
{
	static const struct line lines[] = {
		{ .at = 100 * US, .cut = 2 },
		{ .at = 101 * US,
		  .op = { .kind = STEP_FAA, .host = 2, .offset = OFFSET, .value = 1, .link = 1 } },
		{ .at = 200 * US,
		  .op = { .kind = STEP_FAA, .host = 2, .offset = OFFSET, .value = 1, .link = 1 } },
		{ .at = 300 * US,
		  .op = { .kind = STEP_FAA, .host = 2, .offset = OFFSET, .value = 1, .link = 2 } },
	};
	struct rig r;

	rig_open(&r);
	PLAY(&r, lines);
	assert_int_equal(r.results, 3);
	assert_int_equal(r.result[0].outcome, STEP_LOST);
	assert_int_equal(r.result[1].outcome, STEP_REFUSED);
	assert_int_equal(r.result[2].outcome, STEP_DONE);
	assert_int_equal(r.result[2].old, 0);
	words_close(r.words);
}

TEST(tick__that_is_due__comes_once_and_at_its_time)
{
	static const struct line lines[] = { { .at = 100 * US, .op = READ(2, OFFSET, 8) } };
	struct rig r;

	rig_open(&r);
	r.due.ns = 5 * NS_PER_MS;
	PLAY(&r, lines);
	assert_int_equal(r.ticks, 1);
	assert_int_equal(r.tick_at, 5 * NS_PER_MS);
	words_close(r.words);
}

TEST(open__what_is_out_of_range__is_refused)
{
	struct words *w = NULL;
	struct words_conf c;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		c = conf;                                                                          \
		change;                                                                            \
		assert_int_equal(words_open(&w, &c), -EINVAL);                                     \
	} while (0)
	REFUSED(c.hosts = 0);
	REFUSED(c.hosts = WORDS_HOSTS_MAX + 1);
	REFUSED(c.load_bytes = 12);
	REFUSED(c.load_bytes = STEP_READ_MAX + 8);
	REFUSED(c.there_ns = 0);
	REFUSED(c.back_ns = WEB_NS_MAX + 1);
#undef REFUSED
	assert_null(w);
	words_close(NULL);
}
