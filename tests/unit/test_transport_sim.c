// SPDX-License-Identifier: GPL-2.0-or-later
/* transport_sim: READs of a SIMULATED memory take their time, and read what is there then. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/transport/sim/sim.h"
#include "tests/unit/unit.h"

enum { HOST = 7, PART = 4096 };

struct rig {
	struct transport *t;
	uint8_t memory[PART];
	uint32_t reads;
	struct transport_event ev[8];
};

static void read_memory(void *arg, uint16_t host, enum transport_part part, uint32_t offset,
			uint32_t len, struct mono now, void *to)
{
	struct rig *r = arg;

	(void)now;
	assert_int_equal(host, HOST);
	assert_int_equal(part, TRANSPORT_TABLE);
	r->reads++;
	memcpy(to, r->memory + offset, len);
}

static const struct transport_sim good = { .there_ns = 10,
					   .back_ns = 5,
					   .bytes = { PART, PART, 0, 0 },
					   .generation = 3,
					   .read = read_memory };

static size_t poll_at(struct rig *r, int64_t now)
{
	return transport_poll(r->t, (struct mono){ now }, r->ev, 8);
}

/* Its link to HOST is up. */
static int open_rig(void **state)
{
	const struct transport_peer peer = { .host = HOST, .name = "h", .address = "sim" };
	struct rig *r = calloc(1, sizeof(*r));
	struct transport_sim sim = good;
	char text[256];

	assert_non_null(r);
	sim.arg = r;
	assert_int_equal(transport_sim_open(&r->t, &sim, 200, (struct mono){ 0 }, text), 0);
	assert_int_equal(transport_add(r->t, &peer, (struct mono){ 0 }), 0);
	assert_int_equal(poll_at(r, 0), 1);
	assert_int_equal(r->ev[0].type, TRANSPORT_UP);
	assert_int_equal(r->ev[0].generation, 3);
	*state = r;
	return 0;
}

static int close_rig(void **state)
{
	struct rig *r = *state;

	transport_close(r->t);
	free(r);
	return 0;
}

static void post(struct rig *r, uint64_t tag, enum transport_kind kind, int64_t now)
{
	const struct transport_op op = { .kind = kind,
					 .host = HOST,
					 .part = kind == TRANSPORT_READ ? TRANSPORT_TABLE
									: TRANSPORT_WORDS,
					 .offset = 8 * (uint32_t)tag,
					 .len = 8,
					 .tag = tag,
					 .deadline = { now + 1000 } };

	assert_int_equal(transport_post(r->t, &op, 1, (struct mono){ now }, NULL), 1);
}

static int64_t due(struct rig *r, int64_t now)
{
	struct mono at;

	assert_int_equal(transport_arm(r->t, (struct mono){ now }, &at), 0);
	return at.ns;
}

TEST_WITH(read__written_meanwhile__has_what_is_there_when_it_arrives, open_rig, close_rig)
{
	struct rig *r = *state;

	post(r, 1, TRANSPORT_READ, 100);
	assert_int_equal(due(r, 100), 110);
	r->memory[8] = 1;
	assert_int_equal(poll_at(r, 109), 0);
	assert_int_equal(r->reads, 0);
	assert_int_equal(poll_at(r, 110), 0);
	r->memory[8] = 2;
	assert_int_equal(due(r, 110), 115);
	assert_int_equal(poll_at(r, 114), 0);
	assert_int_equal(poll_at(r, 115), 1);
	assert_int_equal(r->ev[0].outcome, TRANSPORT_DONE);
	assert_int_equal(r->ev[0].len, 8);
	assert_int_equal(*(const uint8_t *)r->ev[0].data, 1);
}

/* More than the queue has room for at first: it grows, not from its beginning. */
TEST_WITH(read__many_under_way__come_back_in_order, open_rig, close_rig)
{
	struct rig *r = *state;
	uint64_t next = 0;

	for (uint32_t i = 0; i < PART / 8; i++)
		r->memory[8 * i] = (uint8_t)i;
	post(r, 300, TRANSPORT_READ, 0);
	assert_int_equal(poll_at(r, 15), 1);
	for (int64_t now = 20; now < 220; now++) {
		size_t n = poll_at(r, now);

		for (size_t i = 0; i < n; i++, next++) {
			assert_int_equal(r->ev[i].tag, next);
			assert_int_equal(*(const uint8_t *)r->ev[i].data, next);
		}
		/* TRANSPORT_DEPTH are under way at most: one in two ns, for 15 ns. */
		if (now % 2 == 0)
			post(r, (uint64_t)(now - 20) / 2, TRANSPORT_READ, now);
	}
	assert_in_range(next, 90, 100);
}

TEST_WITH(atomic__is_refused, open_rig, close_rig)
{
	struct rig *r = *state;

	post(r, 1, TRANSPORT_CAS64, 100);
	assert_int_equal(poll_at(r, 100), 1);
	assert_int_equal(r->ev[0].outcome, TRANSPORT_REFUSED);
	assert_int_equal(r->reads, 0);
}

TEST_WITH(remove__with_a_read_under_way__it_is_lost_and_not_read, open_rig, close_rig)
{
	struct rig *r = *state;

	post(r, 1, TRANSPORT_READ, 100);
	assert_int_equal(transport_remove(r->t, HOST, (struct mono){ 101 }), 0);
	assert_int_equal(poll_at(r, 120), 2);
	assert_int_equal(r->ev[0].outcome, TRANSPORT_LOST);
	assert_int_equal(r->ev[1].type, TRANSPORT_DOWN);
	assert_int_equal(r->reads, 0);
	assert_int_equal(poll_at(r, 130), 0);
}

TEST(open__out_of_range__is_refused_with_a_sentence)
{
	struct transport_sim bad[4] = { good, good, good, good };

	bad[0].there_ns = -1;
	bad[1].back_ns = -1;
	bad[2].generation = 0;
	bad[3].read = NULL;
	for (int i = 0; i < 4; i++) {
		struct transport *t;
		char text[256] = "";

		assert_int_equal(transport_sim_open(&t, &bad[i], 200, (struct mono){ 0 }, text),
				 -EINVAL);
		assert_true(strlen(text) > 10);
	}
}
