// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * replay: what a scripted host recorded, under each policy, replays bit for bit; and what was
 * changed in the recording does not, or is refused.
 */
#include <errno.h>

#include "policies/ioshares.h"
#include "policies/slo.h"
#include "policies/state.h"
#include "src/lab/replay.h"
#include "tests/unit/sampler_rig.h"
#include "tests/unit/unit.h"

enum { RUNS = 12, STEPS = 2500, SLOTS = 8, TRACE_BYTES = 16 << 20 };

struct recording {
	struct sampler_rig *g;
	struct tape *t;
	uint8_t *bytes;
	size_t n;
	uint32_t number;
	uint64_t ticks;
	struct policy_inst *old[STEPS];
	uint32_t olds;
};

static void put_block(struct recording *c, size_t n)
{
	assert_true(c->n + TRACE_BLOCK_HEAD + n < TRACE_BYTES - TRACE_BLOCK_MAX);
	trace_block_fill(c->bytes + c->n, (uint32_t)n, c->number++);
	c->n += TRACE_BLOCK_HEAD + n;
}

static void put_record(struct recording *c, enum trace_kind kind, struct trace_out *o)
{
	uint8_t *record = c->bytes + c->n + TRACE_BLOCK_HEAD;
	size_t n = (size_t)(o->at - record);

	record[0] = (uint8_t)kind;
	trace_store32(record + 1, (uint32_t)n - TRACE_RECORD_HEAD);
	put_block(c, n);
}

static struct trace_out begin(struct recording *c)
{
	uint8_t *at = c->bytes + c->n + TRACE_BLOCK_HEAD + TRACE_RECORD_HEAD;

	return (struct trace_out){ at, c->bytes + TRACE_BYTES, false };
}

/* As src/guests/trace.c does, without its thread. */
static void record_begin(struct recording *c, struct sampler_rig *g)
{
	const struct tape_conf conf = {
		.interval_ns = MS,
		.epoch_ns = S,
		.links = 1,
		.link = { { "ib0", 1u << 30, 1024, PRICE_PAPER_2011 } },
		.version = "test",
	};
	struct trace_out o;

	*c = (struct recording){ .g = g,
				 .t = calloc(1, sizeof(*c->t)),
				 .bytes = malloc(TRACE_BYTES) };
	assert_true(c->t && c->bytes);
	trace_head_fill(c->bytes);
	c->n = TRACE_HEAD;
	o = begin(c);
	tape_put_conf(&o, &conf);
	put_record(c, TRACE_CONF, &o);
	atomic_store(&g->ho.tape, c->t);
}

/* As src/trace/file.c does: each record in a block of its own. */
static void record_take(struct recording *c)
{
	struct trace_ring_head h;
	const uint8_t *payload;

	while ((payload = trace_ring_oldest(&c->t->ring, &h))) {
		struct trace_out o = begin(c);

		tape_encode(&c->t->encoder, &h, payload, &o);
		put_record(c, h.kind, &o);
		c->ticks += h.kind == TRACE_TICK;
		trace_ring_got(&c->t->ring, &h);
	}
}

static void record_end(struct recording *c)
{
	struct trace_out o;

	atomic_store(&c->g->ho.tape, NULL);
	rig_tick(c->g, MS);
	record_take(c);
	o = begin(c);
	trace_put(&o, TRACE_STOPPED);
	trace_put(&o, c->ticks);
	put_record(c, TRACE_END, &o);
}

static void record_free(struct recording *c)
{
	for (uint32_t i = 0; i < c->olds; i++)
		rig_policy_free(c->old[i]);
	free(c->t);
	free(c->bytes);
}

struct outcome {
	uint64_t ticks, epochs; /* that ran */
	bool whole;
	struct replay_place place;
	char why[REPLAY_TEXT];
};

/* 0: as recorded, else what replay_tick says. */
static int replay(const struct recording *c, size_t n, struct outcome *o)
{
	FILE *f = fmemopen(c->bytes, n, "r");
	struct replay *r;
	int rc;

	assert_non_null(f);
	*o = (struct outcome){ .whole = false };
	rc = replay_open(&r, f, NULL, o->why);
	while (!rc && (rc = replay_tick(r, o->why)) > 0)
		rc = 0;
	if (rc != -ENOMSG && rc != -EPROTONOSUPPORT) {
		o->ticks = r->ticks;
		o->epochs = r->epochs;
		o->whole = r->file.whole;
		o->place = r->place;
		replay_close(r);
	}
	fclose(f);
	return rc;
}

/* --- a scripted host --------------------------------------------------------------------- */

static void join_or_leave(struct prop *p, struct sampler_rig *g)
{
	uint32_t slot = (uint32_t)prop_range(p, 0, SLOTS - 1), domid = slot + 1;
	struct set_guest *e;

	for (uint32_t i = 0; i < g->guests; i++)
		if (g->guest[i].slot == slot) {
			rig_leave(g, g->guest[i].key.domid);
			return;
		}
	e = rig_join(g, slot, domid);
	e->vcpus = e->bounds.vcpus = (uint32_t)prop_range(p, 1, 4);
	e->weight = (uint32_t)prop_range(p, 1, 512);
	e->kept = prop_one_in(p, 3);
	e->flags = prop_one_in(p, 8) ? POLICY_EXEMPT : POLICY_CAPPABLE;
	if (prop_one_in(p, 2))
		e->sla =
			(struct sla){ .base_ns = 100000, .base_io_ns = 80000, .base_dev_ns = 2000 };
	e->unreadable = prop_one_in(p, 5);
	e->last_rate = prop_one_in(p, 2);
	e->unreadable_mtus_s = 5000;
}

static void change_policy(struct prop *p, struct recording *c)
{
	size_t n = 0;

	while (policies_builtin[n])
		n++;
	c->old[c->olds++] = c->g->policy;
	c->g->policy = rig_policy(policies_builtin[prop_range(p, 0, n - 1)]);
}

static void work(struct prop *p, struct sampler_rig *g)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct rig_scan *sc = &g->scan[i];
		struct fake_dom *d = fake_dom(&g->host, i + 1);
		uint64_t n = prop_one_in(p, 4) ? 0 : prop_range(p, 0, 30);

		sc->add = (struct usage){ 0 };
		sc->report = (struct report){ 0 };
		if (d && !prop_one_in(p, 3))
			d->dom.cpu_ns += prop_range(p, 0, MS);
		if (d && prop_one_in(p, 60)) /* another domain has its id, for a while */
			d->dom.uuid[15] ^= 1;
		if (d && prop_one_in(p, 60)) /* many seconds more, or less */
			d->dom.cpu_ns ^= 1ull << prop_range(p, 20, 40);
		if (d && prop_one_in(p, 300))
			d->dom.flags ^= prop_one_in(p, 2) ? HV_DOM_DYING : HV_DOM_PAUSED;
		if (d)
			d->set_rc = prop_one_in(p, 20) ? -EBUSY : 0;
		if (d && prop_one_in(p, 500))
			d->params.cap = CAP_PERCENT(prop_range(p, 1, 90));
		if (i % 3 == 2 || !n)
			continue;
		sc->rested_mtus = prop_one_in(p, 9) ? 3 : 0;
		sc->add = (struct usage){ .mtus_sent = n * 20,
					  .bytes_sent = prop_one_in(p, 50) ? n << 40 : n * 20000,
					  .flags = prop_one_in(p, 50) ? USAGE_ESTIMATED : 0,
					  .msg_bytes = 65536,
					  .wrs = n,
					  .backlog = prop_range(p, 0, 4) };
		if (i % 3 == 0)
			sc->report = (struct report){ .n = n,
						      .flags = prop_one_in(p, 9) ? REPORT_LOST : 0,
						      .sum_ns = n * prop_range(p, 90000, 400000),
						      .io_sum_ns = n * 80000,
						      .io_sumsq_lo = n * 6500000000ull };
	}
}

static void step(struct prop *p, struct recording *c)
{
	struct sampler_rig *g = c->g;

	work(p, g);
	if (prop_one_in(p, 100))
		join_or_leave(p, g);
	if (prop_one_in(p, 400))
		change_policy(p, c);
	if (rig_take_foreign(g) || prop_one_in(p, 40))
		rig_publish(g);
	if (prop_one_in(p, 60))
		atomic_fetch_or(&g->ho.send_again[0], prop_range(p, 0, 255));
	g->host.list_rc = prop_one_in(p, 200) ? -EIO : 0;
	rig_tick(g, prop_one_in(p, 50)	 ? (int64_t)prop_range(p, 0, 700 * MS)
		    : prop_one_in(p, 50) ? -1
					 : MS);
	if (!prop_one_in(p, 3))
		rig_actor(g);
	if (g->host.calls > FAKE_CALLS_MAX - FLOW_GUESTS_MAX)
		g->host.calls = 0;
}

/* It begins in the middle of a run: what is kept then is part of it. */
static void record_run(struct prop *p, struct recording *c, const struct policy_ops *ops)
{
	struct sampler_rig *g = malloc(sizeof(*g));
	struct recording before = { .g = g };

	assert_non_null(g);
	rig_open_with(g, ops);
	for (int i = 0; i < 5; i++)
		join_or_leave(p, g);
	rig_publish(g);
	for (int i = 0; i < 700; i++)
		step(p, &before);
	record_begin(c, g);
	for (int i = 0; i < STEPS; i++) {
		step(p, c);
		record_take(c);
	}
	record_end(c);
	for (uint32_t i = 0; i < before.olds; i++)
		rig_policy_free(before.old[i]);
}

static void end_run(struct recording *c)
{
	void *g = c->g;

	rig_teardown(&g);
	record_free(c);
}

TEST(replay__of_random_runs_under_each_policy__is_as_recorded)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < RUNS; i++) {
		struct recording c;
		struct outcome o;

		record_run(&p, &c, policies_builtin[i % 4]);
		if (replay(&c, c.n, &o))
			fail_msg("%s: %s", policies_builtin[i % 4]->name, o.why);
		assert_int_equal(o.ticks, STEPS);
		assert_true(o.whole);
		end_run(&c);
	}
}

/* --- what was changed ----------------------------------------------------------------- */

/* The block that has the nth record of this kind, and the record. */
static uint8_t *find(const struct recording *c, enum trace_kind kind, uint32_t nth, uint8_t **block)
{
	for (size_t at = TRACE_HEAD; at < c->n;) {
		uint32_t n = trace_block_bytes(c->bytes + at);
		uint8_t *record = c->bytes + at + TRACE_BLOCK_HEAD, *end = record + n;

		*block = c->bytes + at;
		for (; record < end; record += TRACE_RECORD_HEAD + trace_load32(record + 1))
			if (record[0] == kind && !nth--)
				return record;
		at += TRACE_BLOCK_HEAD + n;
	}
	return NULL;
}

/* With a right checksum only the replay can tell. */
static void put_right(uint8_t *block)
{
	trace_block_fill(block, trace_block_bytes(block), trace_load32(block + 4));
}

TEST(replay__of_a_flipped_bit_anywhere__is_refused_or_ends_early)
{
	struct recording c;
	struct outcome o;
	struct prop p;

	prop_start(&p);
	record_run(&p, &c, &policy_freemarket);
	for (int i = 0; i < 200; i++) {
		size_t at = prop_range(&p, 0, c.n - 1);
		uint8_t bit = (uint8_t)(1u << prop_range(&p, 0, 7));
		c.bytes[at] ^= bit;
		prop_assert(&p, at, replay(&c, c.n, &o) || !o.whole);
		c.bytes[at] ^= bit;
	}
	end_run(&c);
}

TEST(replay__of_another_decision_or_account__is_not_as_recorded)
{
	static const struct {
		enum trace_kind kind;
		uint32_t nth, at;
	} changed[] = { { TRACE_DECIDED, 3, 3 },
			{ TRACE_ACCOUNTS, 2, 8 },
			{ TRACE_ACCOUNTS, 0, 20 },
			{ TRACE_ACCOUNTS, 1, 0 } };
	struct recording c;
	struct outcome o;
	struct prop p;

	prop_start(&p);
	record_run(&p, &c, &policy_freemarket);
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		uint8_t *block, *record = find(&c, changed[i].kind, changed[i].nth, &block);

		assert_non_null(record);
		record[TRACE_RECORD_HEAD + changed[i].at] ^= 1;
		put_right(block);
		assert_int_equal(replay(&c, c.n, &o), -ECANCELED);
		assert_non_null(strstr(o.why, "s after the first"));
		/* A list's first number is a slot. */
		assert_int_equal(!strcmp(o.place.in, "both"), changed[i].at != 0);
		record[TRACE_RECORD_HEAD + changed[i].at] ^= 1;
		put_right(block);
	}
	assert_int_equal(replay(&c, c.n, &o), 0);
	end_run(&c);
}

/* Its first number is the reason, its second one the ticks. */
TEST(replay__of_an_end_without_reason_or_with_other_ticks__is_refused)
{
	uint8_t *block, *record;
	struct recording c;
	struct outcome o;
	struct prop p;

	prop_start(&p);
	record_run(&p, &c, &policy_freemarket);
	record = find(&c, TRACE_END, 0, &block);
	assert_non_null(record);
	for (uint32_t i = 0; i < 2; i++) {
		uint8_t *at = &record[TRACE_RECORD_HEAD + i];
		const uint8_t was = *at;

		*at = i ? was ^ 1 : 0;
		put_right(block);
		assert_int_equal(replay(&c, c.n, &o), -EBADMSG);
		*at = was;
	}
	put_right(block);
	assert_int_equal(replay(&c, c.n, &o), 0);
	end_run(&c);
}

/* One guest under FreeMarket that only uses CPU time: 1 ns more is one more in its account. */
TEST(replay__of_one_nanosecond_of_cpu_time_more__is_not_as_recorded)
{
	struct sampler_rig *g = malloc(sizeof(*g));
	uint8_t *block, *record;
	struct recording c;
	struct outcome o;

	assert_non_null(g);
	rig_open_with(g, &policy_freemarket);
	rig_settled(g, 0, 1);
	/* It owes CPU time when the recording begins. */
	for (int i = 0; i < 25; i++) {
		fake_dom(&g->host, 1)->dom.cpu_ns += 1000;
		rig_tick(g, MS);
	}
	assert_true(g->s.slot[0].cpu_owed > 0);
	record_begin(&c, g);
	for (int i = 0; i < 1500; i++) {
		fake_dom(&g->host, 1)->dom.cpu_ns += 1000;
		rig_tick(g, MS);
		record_take(&c);
	}
	record_end(&c);
	assert_int_equal(replay(&c, c.n, &o), 0);
	assert_int_equal(o.epochs, 1);
	/* time (3 bytes), no answers, none again, a list, its mask, a word (2 bytes), no scans */
	record = find(&c, TRACE_TICK, 10, &block);
	assert_int_equal(trace_load32(record + 1), 3 + 3 + 1 + 2 + 1);
	record[TRACE_RECORD_HEAD + 7] += 4;
	put_right(block);
	assert_int_equal(replay(&c, c.n, &o), -ECANCELED);
	assert_string_equal(o.place.record, "account");
	assert_string_equal(o.place.in, "both");
	assert_int_equal(o.place.domid, 1);
	assert_non_null(o.place.member);
	assert_int_not_equal(o.place.theirs, o.place.mine);
	end_run(&c);
}

TEST(replay__of_each_truncation__runs_as_far_as_it_goes)
{
	struct sampler_rig *g = malloc(sizeof(*g));
	struct outcome o;
	uint64_t most = 0;
	struct recording c;

	assert_non_null(g);
	rig_open_with(g, &policy_ratio);
	rig_settled(g, 0, 1);
	record_begin(&c, g);
	for (int i = 0; i < 20; i++) {
		rig_tick(g, MS);
		record_take(&c);
	}
	record_end(&c);
	for (size_t n = TRACE_HEAD; n < c.n; n++) {
		assert_int_equal(replay(&c, n, &o), 0);
		assert_false(o.whole);
		assert_true(o.ticks >= most);
		most = o.ticks;
	}
	assert_int_equal(most, 20);
	for (size_t n = 1; n < TRACE_HEAD; n++)
		assert_int_equal(replay(&c, n, &o), -ENOMSG);
	end_run(&c);
}

/* --- the state of a policy ------------------------------------------------------------ */

#define I(m) offsetof(struct ios_guest, m), sizeof(((struct ios_guest *)0)->m)

#define SLO(m) offsetof(struct slo_guest, m), sizeof(((struct slo_guest *)0)->m)

TEST(policy_state__index_or_time_out_of_range__is_not_good)
{
	static const struct {
		const struct policy_ops *ops;
		size_t at, n;
		uint64_t good, bad;
	} rows[] = {
		{ &policy_freemarket, 8, 8, 1ull << 61, 1ull << 62 }, /* last */
		{ &policy_freemarket, 8, 8, 0, UINT64_MAX },
		{ &policy_freemarket, 16, 4, 1, 2 }, /* cap.limited */
		{ &policy_ratio, 8, 8, 1ull << 61, 1ull << 63 },
		{ &policy_ioshares, I(accuser), 255, 256 },
		{ &policy_ioshares, I(place), 255, 256 },
		{ &policy_ioshares, I(rate), UINT32_MAX, 1ull << 32 },
		{ &policy_ioshares, I(next_rate), UINT32_MAX, 1ull << 32 },
		{ &policy_ioshares, I(pause), 5, UINT64_MAX },
		{ &policy_ioshares, I(heard), 5, 1ull << 62 },
		{ &policy_ioshares, I(pinned_since), 5, 1ull << 62 },
		{ &policy_ioshares, I(rest_until[255]), 5, 1ull << 62 },
		{ &policy_ioshares, I(w.start), 5, 1ull << 62 },
		{ &policy_ioshares, I(w.n), IOS_SAMPLES_MAX, IOS_SAMPLES_MAX + 1 },
		{ &policy_slo, SLO(place), 255, 256 },
		{ &policy_slo, SLO(wanted.limited), 1, 2 },
		{ &policy_slo, SLO(heard), 5, 1ull << 62 },
		{ &policy_slo, SLO(refused_until), 5, 1ull << 62 },
		{ &policy_slo, SLO(due), 5, 1ull << 62 },
		{ &policy_slo, SLO(wait_since), 5, 1ull << 62 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_inst *pi = rig_policy(rows[i].ops);
		uint8_t *last = (uint8_t *)pi->guests + 255 * rows[i].ops->guest_size;

		memcpy(last + rows[i].at, &rows[i].good, rows[i].n);
		assert_true(policy_state_good(pi));
		memcpy(last + rows[i].at, &rows[i].bad, rows[i].n);
		assert_false(policy_state_good(pi));
		rig_policy_free(pi);
	}
}

TEST(policy_state__time_of_a_link_out_of_range__is_not_good)
{
	struct policy_inst *pi = rig_policy(&policy_ioshares);
	struct ios_global *g = pi->global;
	struct mono *const time[] = { &g->link[7].calm_time, &g->link[7].raised,
				      &g->link[7].cycles };

	for (size_t i = 0; i < 3; i++) {
		time[i]->ns = -1;
		assert_false(policy_state_good(pi));
		time[i]->ns = 0;
		assert_true(policy_state_good(pi));
	}
	rig_policy_free(pi);
}

TEST(policy_state__link_of_slo_out_of_range__is_not_good)
{
	struct policy_inst *pi = rig_policy(&policy_slo);
	struct slo_link *l = &((struct slo_global *)pi->global)->link[7];
	int64_t *const time[] = { &l->fail_until.ns, &l->start.ns,	&l->changed.ns,
				  &l->cycles.ns,     &l->floor_time.ns, &l->sent_time.ns,
				  &l->pause_seen.ns, &l->pause };
	uint32_t *const level[] = { &l->level, &l->hold, &l->fail, &l->settled };

	for (size_t i = 0; i < sizeof(time) / sizeof(time[0]); i++) {
		*time[i] = -1;
		assert_false(policy_state_good(pi));
		*time[i] = 0;
	}
	for (size_t i = 0; i < sizeof(level) / sizeof(level[0]); i++) {
		*level[i] = SLO_FREE + 1;
		assert_false(policy_state_good(pi));
		*level[i] = SLO_FREE;
		assert_true(policy_state_good(pi));
	}
	rig_policy_free(pi);
}

/* --- a full ring ---------------------------------------------------------------------- */

TEST(tape__ring_is_full__recording_ends_and_ticks_go_on)
{
	struct sampler_rig *g = malloc(sizeof(*g));
	struct recording c;
	uint64_t head, ticks;

	assert_non_null(g);
	rig_open_with(g, &policy_freemarket);
	rig_settled(g, 0, 1);
	record_begin(&c, g);
	rig_tick(g, MS);
	/* The writer is behind by all that the ring has, but for a few bytes. */
	head = atomic_load(&c.t->ring.tail) + TRACE_RING_BYTES - 8;
	atomic_store(&c.t->ring.head, head);
	ticks = g->s.period.ticks;
	rig_tick(g, MS);
	rig_tick(g, MS);
	assert_int_equal(atomic_load(&c.t->end), TRACE_BEHIND);
	assert_int_equal(atomic_load(&c.t->ring.head), head);
	assert_int_equal(g->s.period.ticks, ticks + 2);
	assert_null(g->s.tape);
	atomic_store(&g->ho.tape, NULL);
	rig_tick(g, MS);
	assert_null(g->s.tape_taken);
	end_run(&c);
}

/* --- bytes ---------------------------------------------------------------------------- */

TEST(number__of_any_size__is_read_as_it_was_written)
{
	uint8_t buf[TRACE_NUMBER_MAX];
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 10000; i++) {
		uint64_t v = prop_hostile(&p), was = prop_hostile(&p);
		struct trace_out o = { buf, buf + sizeof(buf), false };
		struct trace_in in = { buf, buf, false };

		trace_put(&o, v);
		in.end = o.at;
		prop_assert(&p, i, !o.full && trace_get(&in, v) == v && trace_in_ended(&in));
		o.at = buf;
		trace_put_difference(&o, v, was);
		in = (struct trace_in){ buf, o.at, false };
		prop_assert(&p, i, trace_get_difference(&in, was) == v && trace_in_ended(&in));
	}
}

TEST(number__that_nothing_writes__is_refused)
{
	static const struct {
		uint8_t byte[11];
		size_t n;
		uint64_t most;
	} bad[] = {
		{ { 0 }, 0, 9 },       /* none */
		{ { 0x80 }, 1, 9 },    /* no last byte */
		{ { 0x80, 0 }, 2, 9 }, /* 0 in two bytes */
		{ { 10 }, 1, 9 },      /* above its limit */
		{ { 255, 255, 255, 255, 255, 255, 255, 255, 255, 2 }, 10, UINT64_MAX },
		{ { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 }, 11, UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct trace_in in = { bad[i].byte, bad[i].byte + bad[i].n, false };

		assert_int_equal(trace_get(&in, bad[i].most), 0);
		assert_true(in.bad);
	}
}

TEST(number__without_room__says_that_the_record_is_full)
{
	uint8_t buf[2];
	struct trace_out o = { buf, buf + 1, false };

	trace_put(&o, 200);
	assert_true(o.full);
	o = (struct trace_out){ buf, buf + 2, false };
	trace_put_bytes(&o, "abc", 3);
	assert_true(o.full);
	assert_ptr_equal(o.at, buf);
}

TEST(head__of_another_file_or_version__is_told_apart)
{
	uint8_t head[TRACE_HEAD];
	uint32_t version;

	trace_head_fill(head);
	assert_int_equal(trace_head_check(head, &version), 0);
	head[8] = 9;
	assert_int_equal(trace_head_check(head, &version), -EBADMSG);
	head[0] = 'r';
	assert_int_equal(trace_head_check(head, &version), -ENOMSG);
}

TEST(ring__records_of_any_length__come_out_whole_and_in_order)
{
	struct trace_ring *r = calloc(1, sizeof(*r));
	uint32_t put = 0, got = 0;
	struct prop p;

	assert_non_null(r);
	prop_start(&p);
	while (got < 3000) {
		uint32_t n = (uint32_t)prop_range(&p, 4, TRACE_RECORD_MAX);
		uint8_t *to = trace_ring_room(r, (uint32_t)trace_ring_size(n));
		struct trace_ring_head h;
		const uint8_t *from;

		prop_assert(&p, put, to || put - got > 50);
		/* After all was taken the front is used again. */
		prop_assert(&p, put, put != got || !to || to < r->at + TRACE_RING_FRONT);
		if (to) {
			prop_assert(&p, put, to + trace_ring_size(n) <= r->at + TRACE_RING_BYTES);
			trace_ring_head_fill(to, TRACE_TICK, n);
			trace_store32(to + TRACE_RING_HEAD, put++);
			to[TRACE_RING_HEAD + n - 1] = (uint8_t)n;
			trace_ring_put(r, trace_ring_size(n));
			prop_assert(&p, put, r->head - r->tail <= TRACE_RING_BYTES);
		}
		if (!prop_one_in(&p, 80))
			continue;
		while ((from = trace_ring_oldest(r, &h))) {
			prop_assert(&p, got, h.kind == TRACE_TICK && trace_load32(from) == got++);
			prop_assert(&p, got, from[h.bytes - 1] == (uint8_t)h.bytes);
			trace_ring_got(r, &h);
		}
		prop_assert(&p, got, got == put);
	}
	free(r);
}
