// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_world: the virtual network keeps the contract of transport.h under every
 * fault, is the same for the same seed, and, with a naive lock on it, makes the
 * history checker find what is wrong with naive locks.
 */
#include <string.h>

#include "tests/shared/history.h"
#include "tests/shared/world.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

enum { HOSTS = 4, TAGS = 4096, ROUNDS = 300 };

/* --- posting at random --------------------------------------------------------- */

struct posted {
	uint16_t host, target;
	uint32_t boot, link;
	bool reported, executed;
	uint32_t seen;	      /* words, when it is DONE */
	uint32_t words, read; /* READ: how many, and how many were read so far */
	uint64_t data[WORLD_WORDS];
	int64_t at[WORLD_WORDS]; /* when each was read */
	enum step_kind kind;
	enum step_outcome outcome;
};

struct rig {
	struct world *w;
	struct posted op[TAGS];
	uint32_t n;
	uint32_t link[HOSTS + 1][HOSTS + 1];	  /* newest that its process knows */
	uint32_t last_exec[HOSTS + 1][HOSTS + 1]; /* tag of the newest executed */
	uint32_t done, unknown, lost, late, crashes;
	uint32_t torn,
		torn_back; /* READs whose first words were read earlier, or later, than the last */
	struct mono clock[HOSTS + 1];
	struct mono due[HOSTS + 1];
	const char *wrong;
	uint64_t hash;
};

static void rig_boot(void *ctx, uint16_t host, uint64_t generation, struct mono now)
{
	struct rig *r = ctx;

	(void)generation;
	r->due[host] = mono_add(now, NS_PER_MS);
	for (int b = 1; b <= HOSTS; b++)
		r->link[host][b] = 0;
}

/* The words that a READ returns are those that were read, each at its time. */
static void rig_words(struct rig *r, const struct posted *o, const struct step_event *ev)
{
	if (ev->words != o->words || ev->old != ev->data[0])
		r->wrong = "a READ returned another number of words, or another first one";
	if (!o->executed) /* beside its link */
		return;
	for (uint32_t k = 0; k < o->words; k++)
		if (o->data[k] != ev->data[k])
			r->wrong = "a READ returned another word than was read";
	r->torn += o->at[0] < o->at[o->words - 1];
	r->torn_back += o->at[0] > o->at[o->words - 1];
}

static void rig_result(struct rig *r, uint16_t host, const struct step_event *ev)
{
	struct posted *o = &r->op[ev->tag];
	uint32_t words = o->kind == STEP_READ ? o->words : 1;

	if (o->reported || o->host != host || o->boot != r->w->host[host].boot)
		r->wrong = "a result came twice, or to another process";
	if (ev->outcome == STEP_DONE && !o->executed && o->kind != STEP_READ)
		r->wrong = "DONE, but it was not executed";
	/* A READ may be answered beside its link: that is no effect. */
	if (o->seen != (ev->outcome == STEP_DONE && o->executed ? words : 0))
		r->wrong = "DONE, and nothing was seen, or the other way round";
	if (ev->outcome == STEP_DONE && o->kind == STEP_READ)
		rig_words(r, o, ev);
	if ((ev->outcome == STEP_REFUSED || ev->outcome == STEP_LOST) && o->executed &&
	    o->kind != STEP_READ)
		r->wrong = "LOST or REFUSED, but it was executed";
	if (ev->outcome == STEP_UNKNOWN && o->kind == STEP_READ)
		r->wrong = "a READ is UNKNOWN";
	o->reported = true;
	o->outcome = ev->outcome;
	r->done += ev->outcome == STEP_DONE;
	r->unknown += ev->outcome == STEP_UNKNOWN;
	r->lost += ev->outcome == STEP_LOST;
}

static void rig_step(void *ctx, uint16_t host, const struct step_event *ev, struct mono now,
		     struct step_out *out)
{
	struct rig *r = ctx;

	if (now.ns < r->clock[host].ns)
		r->wrong = "a clock went back";
	r->clock[host] = now;
	if (ev->type == STEP_RESULT)
		rig_result(r, host, ev);
	if (ev->type == STEP_RESULT && ev->outcome != STEP_DONE &&
	    ev->link < r->link[host][ev->host])
		r->wrong = "a result of an old link came after the newer one";
	if (ev->type == STEP_LINK) {
		if (ev->link <= r->link[host][ev->host])
			r->wrong = "a link's number did not go up";
		r->link[host][ev->host] = ev->link;
	}
	if (ev->type != STEP_TICK)
		return;
	if (now.ns < r->due[host].ns)
		r->wrong = "a tick came before it was due";
	r->due[host] = mono_add(now, NS_PER_MS);
	for (int i = 0; i < 3 && r->n < TAGS; i++) {
		uint16_t to = (uint16_t)world_between(r->w, 1, HOSTS);
		enum step_kind kind = (enum step_kind)world_between(r->w, STEP_READ, STEP_FAA);
		uint32_t first = (uint32_t)world_between(r->w, 0, WORLD_WORDS - 1);
		uint32_t words = (uint32_t)world_between(r->w, 1, WORLD_WORDS - first);

		r->op[r->n] = (struct posted){
			host,		to,	     r->w->host[host].boot, r->link[host][to],
			.words = words, .kind = kind
		};
		out->op[out->n++] = (struct step_op){ .kind = kind,
						      .host = to,
						      .offset = REGION_COUNTERS + 8 * first,
						      .len = kind == STEP_READ ? 8 * words : 0,
						      .compare = r->n,
						      .value = 1,
						      .tag = r->n };
		r->n++;
	}
}

static struct mono rig_due(void *ctx, uint16_t host)
{
	return ((struct rig *)ctx)->due[host];
}

/* One word of a READ: each is read once. */
static void rig_reads(struct rig *r, struct posted *o, const struct world_effect *e)
{
	uint32_t i = (e->offset - e->op->offset) / 8;

	if (i >= o->words || o->at[i] || e->old != e->now) {
		r->wrong = "a word of a READ was read twice, or is none of its words";
		return;
	}
	if (e->now != *world_word(r->w, o->target, e->offset))
		r->wrong = "a READ read another word than that which is there";
	o->data[i] = e->now;
	o->at[i] = e->t;
	o->read++;
}

static void rig_effect(void *ctx, const struct world_effect *e)
{
	struct rig *r = ctx;
	struct posted *o = &r->op[e->op->tag];
	uint32_t *last = &r->last_exec[e->poster][o->target];

	if (o->executed)
		r->wrong = "an operation was executed twice";
	if (o->kind == STEP_READ)
		rig_reads(r, o, e);
	if (o->reported && o->outcome != STEP_UNKNOWN && o->kind != STEP_READ)
		r->wrong = "an operation was executed after its outcome was known";
	if (o->boot == r->w->host[e->poster].boot && r->link[e->poster][o->target] > o->link)
		r->wrong = "an operation was executed after a newer link stood";
	if (*last && r->op[*last - 1].link == o->link && r->op[*last - 1].boot == o->boot &&
	    *last - 1 > e->op->tag)
		r->wrong = "two operations of one link were executed in another order";
	*last = e->op->tag + 1;
	o->executed = o->kind != STEP_READ || o->read == o->words;
	r->late += o->reported;
	r->hash = (r->hash ^ (uint64_t)e->t ^ e->old ^ e->op->tag) * 0x9e3779b97f4a7c15ull;
}

static void rig_seen(void *ctx, const struct world_effect *e)
{
	struct rig *r = ctx;
	struct posted *o = &r->op[e->op->tag];

	if (!o->executed || o->reported)
		r->wrong = "seen before it was executed, or after its outcome was known";
	if (o->kind == STEP_READ && (e->t != o->at[o->seen] || e->now != o->data[o->seen]))
		r->wrong = "a word was seen that was not read, or at another time";
	o->seen++;
}

static void rig_notice(void *ctx, enum world_notice what, uint16_t host, uint64_t value)
{
	struct rig *r = ctx;

	(void)host;
	(void)value;
	r->crashes += what == NOTICE_CRASH;
}

static void rig_timer(void *ctx, uint32_t what)
{
	(void)ctx;
	(void)what;
}

static const struct world_conf faulty = {
	.hosts = HOSTS,
	.delay_min = 20 * NS_PER_US,
	.delay_max = 2 * NS_PER_MS,
	.deadline = 8 * NS_PER_MS,
	.tick_late = NS_PER_MS,
	.drift_ppm = 500,
	.lease = 30 * NS_PER_MS,
	.faults_until = 200 * NS_PER_MS,
	.fault_in = 10,
	.faults_max = 8,
	.weight = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
	.restarts = true,
	.asides = true,
};

static void rig_run(struct rig *r, struct world *w, const struct world_conf *c, uint64_t seed)
{
	struct world_actor a = { rig_boot,   rig_step,	rig_due, rig_effect, rig_seen,
				 rig_notice, rig_timer, r,	 NULL };

	memset(r, 0, sizeof(*r));
	r->w = w;
	world_init(w, c, &a, seed);
	world_start(w, 1, (1u << HOSTS) - 1);
	world_run(w, 300 * NS_PER_MS);
	/* Post no more, and let all outstanding operations end. */
	r->n = TAGS;
	world_run(w, 900 * NS_PER_MS);
}

static struct world world;
static struct rig rig, twin;

TEST(world__any_faults__contract_of_transport)
{
	struct prop p;
	uint64_t unknown = 0, lost = 0, late = 0, crashes = 0, torn = 0, torn_back = 0;

	prop_start(&p);
	for (int i = 0; i < ROUNDS; i++) {
		rig_run(&rig, &world, &faulty, prop_u64(&p));
		prop_assert(&p, i, !world.broken);
		if (rig.wrong)
			print_error("%s\n", rig.wrong);
		prop_assert(&p, i, !rig.wrong);
		unknown += rig.unknown;
		lost += rig.lost;
		late += rig.late;
		crashes += rig.crashes;
		torn += rig.torn;
		torn_back += rig.torn_back;
	}
	/* Each kind of outcome did occur. */
	assert_true(unknown > 0 && lost > 0 && late > 0 && crashes > 0);
	assert_true(torn > 0 && torn_back > 0);
}

TEST(world__no_faults__all_done)
{
	struct world_conf c = faulty;
	struct prop p;

	prop_start(&p);
	c.fault_in = 0;
	for (int i = 0; i < 20; i++) {
		rig_run(&rig, &world, &c, prop_u64(&p));
		prop_assert(&p, i, !world.broken && !rig.wrong);
		/* Only operations from before the first links were up are lost. */
		prop_assert(&p, i, rig.unknown == 0 && rig.lost < 60 && rig.done > 1000);
		prop_assert(&p, i, rig.torn + rig.torn_back > rig.done / 6);
	}
}

TEST(world__every_result__comes_once_unless_its_process_died)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 100; i++) {
		rig_run(&rig, &world, &faulty, prop_u64(&p));
		for (uint32_t k = 0; k < TAGS && rig.op[k].host; k++)
			prop_assert(&p, i,
				    rig.op[k].reported ||
					    rig.op[k].boot != world.host[rig.op[k].host].boot);
	}
}

TEST(world__same_seed__same_history)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 20; i++) {
		uint64_t seed = prop_u64(&p);

		rig_run(&rig, &world, &faulty, seed);
		rig_run(&twin, &world, &faulty, seed);
		prop_assert(&p, i, rig.hash == twin.hash);
		rig_run(&twin, &world, &faulty, seed + 1);
		prop_assert(&p, i, rig.hash != twin.hash);
	}
}

/* --- a naive lock ---------------------------------------------------------------- */

/*
 * Acquires locks 1 and 2, counts, moves a node from the fuller service to the other, releases.
 * Breaks a lock whose word is unchanged for long, and has neither lease nor sweep.
 */
enum phase { IDLE, LOCK1, LOCK2, COUNT, MOVE, UNLOCK2, UNLOCK1 };
enum { NODES = 6, NODE_HOST = 2 };

struct naive {
	enum phase phase;
	uint64_t lock[3]; /* as last read */
	struct mono since[3];
	uint64_t node[NODES];
	uint32_t counted;
	struct mono due;
	bool up[HOSTS + 1];
};

struct naive_rig {
	struct world *w;
	struct history h;
	struct naive host[HOSTS + 1];
};

static void naive_op(struct step_out *out, enum step_kind kind, uint16_t host, uint32_t offset,
		     uint64_t compare, uint64_t value)
{
	out->op[out->n++] = (struct step_op){ .kind = kind,
					      .host = host,
					      .offset = offset,
					      .len = kind == STEP_READ ? 8 : 0,
					      .compare = compare,
					      .value = value };
}

static void naive_lock(struct naive *n, uint16_t self, int s, struct mono now, struct step_out *out)
{
	uint64_t word = n->lock[s];
	bool old = mono_sub(now, n->since[s]) > 40 * NS_PER_MS;

	if (region_word_id(word) && !old) {
		n->phase = s == 2 ? UNLOCK1 : IDLE;
		if (s == 2)
			naive_op(out, STEP_CAS, 1, region_lock_offset(1), n->lock[1],
				 region_word(0, region_word_seq(n->lock[1])));
		return;
	}
	n->phase = s == 1 ? LOCK1 : LOCK2;
	naive_op(out, STEP_CAS, 1, region_lock_offset((uint32_t)s), word,
		 region_word(self, region_word_seq(word) + 1));
}

/* The first node of the fuller service, from its own place on: two hosts choose two nodes. */
static void naive_move(struct naive *n, uint16_t self, struct step_out *out)
{
	uint32_t in1 = 0;
	uint16_t from;

	for (int i = 0; i < NODES; i++)
		in1 += region_word_id(n->node[i]) == 1;
	from = in1 > NODES / 2 ? 1 : 2;
	for (uint32_t k = 0; k < NODES; k++) {
		uint32_t i = (k + self) % NODES;

		if (region_word_id(n->node[i]) != from)
			continue;
		n->phase = MOVE;
		naive_op(out, STEP_CAS, NODE_HOST, region_node_offset(i), n->node[i],
			 region_word((uint16_t)(3 - from), region_word_seq(n->node[i]) + 1));
		return;
	}
}

static void naive_locked(struct naive *n, uint16_t self, int s, const struct step_event *ev,
			 struct mono now, struct step_out *out)
{
	uint64_t want = region_word(self, region_word_seq(n->lock[s]) + 1);

	if (ev->old != n->lock[s]) {
		n->lock[s] = ev->old;
		n->since[s] = now;
		naive_lock(n, self, s, now, out);
		return;
	}
	n->lock[s] = want;
	n->since[s] = now;
	if (s == 1) {
		naive_lock(n, self, 2, now, out);
		return;
	}
	n->phase = COUNT;
	n->counted = 0;
	for (uint32_t i = 0; i < NODES; i++)
		naive_op(out, STEP_READ, NODE_HOST, region_node_offset(i), 0, 0);
}

static void naive_result(struct naive *n, uint16_t self, const struct step_event *ev,
			 struct mono now, struct step_out *out)
{
	if (ev->outcome != STEP_DONE) {
		n->phase = IDLE;
		n->up[ev->host] = false;
		return;
	}
	switch (n->phase) {
	case LOCK1:
	case LOCK2:
		naive_locked(n, self, n->phase == LOCK1 ? 1 : 2, ev, now, out);
		break;
	case COUNT:
		n->node[n->counted++] = ev->old;
		if (n->counted == NODES)
			naive_move(n, self, out);
		break;
	case MOVE:
		n->phase = UNLOCK2;
		naive_op(out, STEP_CAS, 1, region_lock_offset(2), n->lock[2],
			 region_word(0, region_word_seq(n->lock[2])));
		break;
	case UNLOCK2:
		n->phase = UNLOCK1;
		naive_op(out, STEP_CAS, 1, region_lock_offset(1), n->lock[1],
			 region_word(0, region_word_seq(n->lock[1])));
		break;
	default:
		n->phase = IDLE;
	}
}

static void naive_step(void *ctx, uint16_t host, const struct step_event *ev, struct mono now,
		       struct step_out *out)
{
	struct naive *n = &((struct naive_rig *)ctx)->host[host];

	if (ev->type == STEP_LINK)
		n->up[ev->host] = true;
	if (ev->type == STEP_RESULT)
		naive_result(n, host, ev, now, out);
	if (ev->type != STEP_TICK)
		return;
	n->due = mono_add(now, 5 * NS_PER_MS);
	if (n->phase == IDLE && n->up[1] && n->up[NODE_HOST])
		naive_lock(n, host, 1, now, out);
}

static void naive_boot(void *ctx, uint16_t host, uint64_t generation, struct mono now)
{
	struct naive_rig *r = ctx;
	struct history_record boot = { r->w->now, HISTORY_BOOT, .host = host,
				       .boot = r->w->host[host].boot };

	(void)generation;
	r->host[host] = (struct naive){ .due = mono_add(now, NS_PER_MS) };
	history_add(&r->h, &boot);
	for (uint32_t i = 0; host == NODE_HOST && i < NODES; i++) {
		struct history_record word = { r->w->now, HISTORY_WORD, .host = host,
					       .offset = region_node_offset(i),
					       .now = region_word(1 + i % 2, 0) };

		*world_word(r->w, host, word.offset) = word.now;
		history_add(&r->h, &word);
	}
}

static struct mono naive_due(void *ctx, uint16_t host)
{
	return ((struct naive_rig *)ctx)->host[host].due;
}

static void naive_effect(void *ctx, const struct world_effect *e)
{
	struct naive_rig *r = ctx;
	struct history_record rec = { .t = e->t,
				      .type = HISTORY_EFFECT,
				      .host = e->poster,
				      .target = e->op->host,
				      .op = e->op->kind,
				      .boot = e->boot,
				      .offset = e->offset,
				      .compare = e->op->compare,
				      .old = e->old,
				      .now = e->now,
				      .value = (uint64_t)e->posted };

	history_add(&r->h, &rec);
}

static void naive_seen(void *ctx, const struct world_effect *e)
{
	struct naive_rig *r = ctx;
	struct history_record rec = { .t = r->w->now,
				      .type = HISTORY_SEEN,
				      .host = e->poster,
				      .target = e->op->host,
				      .boot = e->boot,
				      .offset = e->offset,
				      .now = e->now,
				      .value = (uint64_t)e->t };

	if (e->offset < REGION_NODE_WORDS)
		return;
	history_add(&r->h, &rec);
	rec.offset += 8 * REGION_NODES_MAX; /* its host keeps it at once */
	history_add(&r->h, &rec);
}

static void naive_notice(void *ctx, enum world_notice what, uint16_t host, uint64_t value)
{
	struct naive_rig *r = ctx;
	struct history_record rec = { r->w->now, HISTORY_CRASH, .host = host,
				      .boot = r->w->host[host].boot, .value = value };

	if (what == NOTICE_CRASH)
		history_add(&r->h, &rec);
}

static struct naive_rig naive_rig;

static void naive_run(const struct world_conf *wc, uint64_t seed)
{
	struct naive_rig *r = &naive_rig;
	struct world_actor a = { naive_boot,   naive_step, naive_due, naive_effect, naive_seen,
				 naive_notice, rig_timer,  r,	      NULL };
	struct history_conf c = {
		.hosts = HOSTS, .services = 2, .nodes = { 0, 0, NODES }, .minimum = { 0, 1, 1 }
	};

	r->w = &world;
	history_init(&r->h, &c);
	world_init(&world, wc, &a, seed);
	world_start(&world, 1, (1u << HOSTS) - 1);
	world_run(&world, 400 * NS_PER_MS);
}

TEST(naive_lock__no_faults__nothing_found)
{
	struct world_conf c = faulty;
	struct prop p;

	prop_start(&p);
	c.fault_in = 0;
	for (int i = 0; i < 100; i++) {
		naive_run(&c, prop_u64(&p));
		if (naive_rig.h.violation)
			history_dump(stderr, &naive_rig.h);
		prop_assert(&p, i, !naive_rig.h.violation && naive_rig.h.moves > 0);
	}
}

TEST(naive_lock__hangs_and_late_execution__found)
{
	struct world_conf c = faulty;
	uint32_t found[HISTORY_VIOLATIONS] = { 0 };
	struct prop p;

	prop_start(&p);
	memset(c.weight, 0, sizeof(c.weight));
	c.weight[FAULT_HANG] = c.weight[FAULT_LATE] = 1;
	c.fault_in = 8;
	c.lease = 80 * NS_PER_MS; /* two locks are broken one after the other */
	c.faults_max = 20;
	for (int i = 0; i < ROUNDS; i++) {
		naive_run(&c, prop_u64(&p));
		found[naive_rig.h.violation]++;
	}
	for (int v = 0; v < HISTORY_VIOLATIONS; v++)
		if (found[v])
			print_message("%s: %u\n", history_name((enum history_violation)v),
				      found[v]);
	assert_true(found[HISTORY_OVERLAP] + found[HISTORY_UNLOCKED] + found[HISTORY_STALE] > 0);
}
