// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tape: what the sampler records of a tick comes out of its bytes as it went in, and what no
 * sampler writes is refused. That a replay of it decides the same is shown by test_replay.c.
 */
#include <stdlib.h>

#include "src/tick/sampler.h"
#include "src/tick/tape.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

enum { SCANS = 3, SLOT = 5 };

struct rig {
	struct sampler s;
	struct tape tape;
	struct policy_guest seat;
	uint8_t bytes[TRACE_RECORD_MAX];
};

static struct rig *rig_new(void)
{
	struct rig *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	g->s.tape = &g->tape;
	return g;
}

/* The next record of the ring, as the file has it. False: there is none. */
static bool next(struct rig *g, uint32_t *kind, struct trace_in *in)
{
	struct trace_out o = { g->bytes, g->bytes + sizeof(g->bytes), false };
	struct trace_ring_head h;
	const uint8_t *payload = trace_ring_oldest(&g->tape.ring, &h);

	if (!payload)
		return false;
	tape_encode(&g->tape.encoder, &h, payload, &o);
	trace_ring_got(&g->tape.ring, &h);
	*kind = h.kind;
	*in = (struct trace_in){ g->bytes, o.at, false };
	return true;
}

/* --- scans ----------------------------------------------------------------------------- */

static void draw_scan(struct prop *p, uint32_t slot, struct usage *u, struct report *rep)
{
	const bool large = prop_one_in(p, 2);
	uint64_t v[8];

	for (uint32_t i = 0; i < 8; i++)
		v[i] = large ? prop_hostile(p) : prop_range(p, 0, UINT32_MAX);
	*u = (struct usage){ .slot = slot,
			     .flags = (uint32_t)prop_range(p, 0, 3),
			     .msg_bytes = (uint32_t)prop_hostile(p),
			     .mtus_sent = v[0],
			     .mtus_recv = v[1],
			     .bytes_sent = v[2],
			     .bytes_recv = v[3],
			     .wrs = v[4],
			     .lost = v[5],
			     .backlog = v[6],
			     .queues = v[7] };
	*rep = (struct report){ .slot = slot };
	if (prop_one_in(p, 2))
		rep->flags = REPORT_LOST;
	if (prop_one_in(p, 2))
		*rep = (struct report){ slot,
					rep->flags,
					prop_range(p, 1, 100),
					prop_hostile(p),
					prop_hostile(p),
					prop_hostile(p),
					prop_hostile(p) };
}

TEST(tape__scans_of_any_figures__come_out_as_they_went_in)
{
	struct rig *g = rig_new();
	struct usage u[SCANS];
	struct report rep[SCANS];
	bool found[SCANS];
	struct trace_in in = { 0 };
	uint32_t kind = 0;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 2000; i++) {
		tape_tick(&g->s, (struct mono){ i });
		tape_listed(&g->s);
		for (uint32_t k = 0; k < SCANS; k++) {
			draw_scan(&p, SLOT + k, &u[k], &rep[k]);
			found[k] = prop_one_in(&p, 2);
			tape_scan(&g->tape, &u[k], &rep[k], found[k]);
		}
		tape_observed(&g->tape);
		tape_decided(&g->s);
		prop_assert(&p, i, next(g, &kind, &in) && kind == TRACE_TICK);
		/* time, no answers, none again, a list */
		prop_assert(&p, i, trace_get(&in, 2) <= 2 && trace_get(&in, 0) == 0);
		prop_assert(&p, i, trace_get(&in, 0) == 0 && trace_get(&in, 0) == 0 && !in.bad);
		for (uint32_t k = 0; k < SCANS; k++) {
			struct usage v = { .slot = (uint32_t)trace_get(&in, 255) - 1 };
			struct report r = { .slot = v.slot };
			bool was_found;

			tape_get_scan(&in, &was_found, &v, &r);
			prop_assert(&p, i, !memcmp(&u[k], &v, sizeof(v)));
			prop_assert(&p, i, !memcmp(&rep[k], &r, sizeof(r)));
			prop_assert(&p, i, found[k] == was_found);
		}
		prop_assert(&p, i, trace_get(&in, 0) == 0 && trace_in_ended(&in));
		prop_assert(&p, i, !next(g, &kind, &in));
	}
	free(g);
}

/* --- plans ------------------------------------------------------------------------------ */

TEST(tape__plan__is_recorded_when_it_is_new_or_its_cap_was_sent)
{
	static const struct {
		struct plan_guest plan;
		bool sent, recorded;
	} row[] = {
		{ { .rate = { 65536 } }, false, true },
		{ { .rate = { 65536 } }, false, false },
		{ { .rate = { 65536 }, .why = { 7 } }, false, false },
		{ { .rate = { 70000 } }, false, true },
		{ { .rate = { 70000 }, .reason = 1 }, false, true },
		{ { .rate = { 70000 }, .reason = 1, .cap = { 1, 3000 } }, false, true },
		{ { .rate = { 70000 }, .reason = 1, .cap = { 1, 3000 } }, true, true },
		{ { .rate = { 70000 }, .reason = 1, .cap = { 1, 3000 } }, false, false },
	};
	struct rig *g = rig_new();
	struct trace_in in = { 0 };
	uint32_t kind = 0;

	g->seat.slot = SLOT;
	g->s.slot[SLOT].seat = &g->seat;
	g->s.due[g->s.dues++] = &g->s.slot[SLOT];
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		g->s.plan.guest[SLOT] = row[i].plan;
		tape_tick(&g->s, (struct mono){ 0 });
		tape_listed(&g->s);
		tape_observed(&g->tape);
		if (row[i].sent)
			tape_sent(&g->tape, SLOT);
		tape_decided(&g->s);
		assert_true(next(g, &kind, &in));
		assert_int_equal(next(g, &kind, &in), row[i].recorded);
		if (row[i].recorded) {
			assert_int_equal(kind, TRACE_DECIDED);
			assert_int_equal(trace_get(&in, 255), SLOT + 1);
		}
	}
	free(g);
}

/* --- what no sampler writes --------------------------------------------------------------- */

TEST(words__of_a_guest_that_is_not_there__are_refused)
{
	static const uint8_t bytes[] = { 1u << 3, 4 };
	uint64_t word[8] = { 0 };
	struct trace_in in = { bytes, bytes + sizeof(bytes), false };

	tape_get_words(&in, word, 3);
	assert_true(in.bad);
	assert_int_equal(word[3], 0);
	in = (struct trace_in){ bytes, bytes + sizeof(bytes), false };
	tape_get_words(&in, word, 4);
	assert_false(in.bad);
}

/* 2^62 ns have no room beside the state. */
TEST(words__of_more_cpu_time_than_fits__are_refused)
{
	const uint64_t cpu_ns[] = { (1ull << 62) - 1, 1ull << 62 };

	for (int i = 0; i < 2; i++) {
		uint8_t bytes[1 + TRACE_NUMBER_MAX] = { 1 };
		struct trace_out o = { bytes + 1, bytes + sizeof(bytes), false };
		/* Of 2^61: the difference fits with its two marks. */
		uint64_t word[8] = { (1ull << 61) << TAPE_STATE_BITS };
		struct trace_in in;

		trace_put(&o, trace_of_difference(cpu_ns[i], 1ull << 61) << 1);
		in = (struct trace_in){ bytes, o.at, false };
		tape_get_words(&in, word, 1);
		assert_int_equal(in.bad, i == 1);
	}
}

static const struct trace_field simulated = TRACE_FIELD(tape_conf, simulated);

TEST(field__bool_of_two__is_refused)
{
	for (uint8_t v = 0; v < 3; v++) {
		struct trace_in in = { &v, &v + 1, false };
		struct tape_conf c;

		trace_get_field(&in, &c, &simulated, true);
		assert_int_equal(in.bad, v == 2);
	}
}

TEST(record__with_bytes_left__has_not_ended)
{
	static const uint8_t bytes[] = { 1, 1 };
	struct trace_in in = { bytes, bytes + sizeof(bytes), false };

	assert_int_equal(trace_get(&in, 1), 1);
	assert_false(trace_in_ended(&in));
	assert_int_equal(trace_get(&in, 1), 1);
	assert_true(trace_in_ended(&in));
}

TEST(block__of_another_number__is_not_good)
{
	uint8_t block[TRACE_BLOCK_HEAD + 4] = { 0 };

	trace_block_fill(block, 4, 7);
	assert_true(trace_block_good(block, 7));
	assert_false(trace_block_good(block, 8));
}

TEST(block__without_a_byte_written__is_blank)
{
	uint8_t block[TRACE_BLOCK_HEAD] = { 0 };

	assert_true(trace_block_is_blank(block));
	block[TRACE_BLOCK_HEAD - 1] = 1;
	assert_false(trace_block_is_blank(block));
}
