// SPDX-License-Identifier: GPL-2.0-or-later
/* benchex/hello: messages to bytes and back, and malformed ones refused. */
#include <string.h>

#include "src/benchex/hello.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

static const struct bx_hello client = { .role = BX_CLIENT,
					.conns = 3,
					.index = 2,
					.depth = 7,
					.size_max = 1000,
					.stride = 1024,
					.rkey = 0x1234,
					.addr = 0x7f0000001000,
					.options_max = 100,
					.session = 99 };
static const struct bx_hello bulk = {
	.role = BX_BULK, .conns = 1, .depth = 1, .size_max = BX_SIZE_MAX, .session = 1
};

static enum bx_refusal through(const struct bx_hello *h, struct bx_hello *out)
{
	uint8_t data[56] = { 0 };

	bx_hello_put(data, h);
	return bx_hello_get(out, data, sizeof(data));
}

static void same_hello(const struct bx_hello *a, const struct bx_hello *b)
{
	assert_int_equal(a->role, b->role);
	assert_int_equal(a->conns, b->conns);
	assert_int_equal(a->index, b->index);
	assert_int_equal(a->depth, b->depth);
	assert_int_equal(a->size_max, b->size_max);
	assert_int_equal(a->stride, b->stride);
	assert_int_equal(a->rkey, b->rkey);
	assert_true(a->addr == b->addr);
	assert_true(a->session == b->session);
	assert_int_equal(a->options_max, b->options_max);
}

TEST(hello__of_a_client__arrives)
{
	struct bx_hello got;

	assert_int_equal(through(&client, &got), BX_WELCOME);
	same_hello(&got, &client);
}

TEST(hello__of_bulk__arrives)
{
	struct bx_hello got;

	assert_int_equal(through(&bulk, &got), BX_WELCOME);
	same_hello(&got, &bulk);
}

TEST(hello__of_bulk_with_memory_or_options__is_malformed)
{
	struct bx_hello h = bulk, got;

	h.addr = 4096;
	assert_int_equal(through(&h, &got), BX_MALFORMED);
	h = bulk;
	h.rkey = 1;
	assert_int_equal(through(&h, &got), BX_MALFORMED);
	h = bulk;
	h.stride = 64;
	assert_int_equal(through(&h, &got), BX_MALFORMED);
	h = bulk;
	h.options_max = 1;
	assert_int_equal(through(&h, &got), BX_MALFORMED);
}

TEST(hello__beyond_a_limit__is_malformed)
{
	struct bx_hello wrong[13], got;

	for (int i = 0; i < 13; i++)
		wrong[i] = client;
	wrong[0].role = BX_SERVER;
	wrong[1].role = BX_ROLES;
	wrong[2].conns = 0;
	wrong[3].conns = BX_QPS_MAX + 1;
	wrong[4].index = 3;
	wrong[5].depth = 0;
	wrong[6].depth = BX_DEPTH_MAX + 1;
	wrong[7].size_max = 0;
	wrong[8].size_max = BX_SIZE_MAX + 1;
	wrong[9].stride = 999;
	wrong[10].stride = 2 * BX_SIZE_MAX + 1;
	wrong[11].addr = UINT64_MAX - 7 * 1024 + 1;
	wrong[12].options_max = BX_OPTIONS_MAX + 1;
	for (int i = 0; i < 13; i++)
		assert_int_equal(through(&wrong[i], &got), BX_MALFORMED);
}

TEST(hello__at_the_limits__is_welcome)
{
	struct bx_hello h = client, got;

	h.conns = BX_QPS_MAX;
	h.index = BX_QPS_MAX - 1;
	h.depth = BX_DEPTH_MAX;
	h.size_max = BX_SIZE_MAX;
	h.stride = 2 * BX_SIZE_MAX;
	h.addr = UINT64_MAX - (uint64_t)h.stride * h.depth;
	h.options_max = BX_OPTIONS_MAX;
	assert_int_equal(through(&h, &got), BX_WELCOME);
}

TEST(hello__of_another_version__is_told_so)
{
	uint8_t data[BX_HELLO_LEN];
	struct bx_hello got;

	bx_hello_put(data, &client);
	data[4]++;
	assert_int_equal(bx_hello_get(&got, data, sizeof(data)), BX_BAD_VERSION);
	/* Which may be shorter than ours. */
	assert_int_equal(bx_hello_get(&got, data, 6), BX_BAD_VERSION);
}

TEST(hello__of_something_else__is_not_benchex)
{
	uint8_t data[BX_HELLO_LEN] = { 0 };
	struct bx_hello got;

	assert_int_equal(bx_hello_get(&got, data, sizeof(data)), BX_NOT_BENCHEX);
	assert_int_equal(bx_hello_get(&got, NULL, 0), BX_NOT_BENCHEX);
}

TEST(hello__cut_short__is_malformed)
{
	uint8_t data[BX_HELLO_LEN];
	struct bx_hello got;

	bx_hello_put(data, &client);
	assert_int_equal(bx_hello_get(&got, data, BX_HELLO_LEN - 1), BX_MALFORMED);
}

/* Random bytes: an accepted hello keeps every limit, a refused one changes nothing. */
TEST(hello__of_any_bytes__keeps_to_the_limits)
{
	struct prop p;

	prop_start(&p);
	for (int step = 0; step < 200000; step++) {
		size_t len = prop_one_in(&p, 4) ? prop_range(&p, 0, 56) : BX_HELLO_LEN;
		struct bx_hello h, before;
		uint8_t data[56];

		bx_hello_put(data, prop_one_in(&p, 2) ? &client : &bulk);
		for (uint64_t k = prop_range(&p, 0, 6); k > 0; k--)
			data[prop_range(&p, prop_one_in(&p, 8) ? 0 : 6, BX_HELLO_LEN - 1)] =
				(uint8_t)prop_hostile(&p);
		memset(&before, 0x5a, sizeof(before));
		memcpy(&h, &before, sizeof(h));
		if (bx_hello_get(&h, data, len) != BX_WELCOME) {
			prop_assert(&p, step, !memcmp(&h, &before, sizeof(h)));
			continue;
		}
		prop_assert(&p, step, h.role == BX_CLIENT || h.role == BX_BULK);
		prop_assert(&p, step, h.conns && h.conns <= BX_QPS_MAX && h.index < h.conns);
		prop_assert(&p, step, h.depth && h.depth <= BX_DEPTH_MAX);
		prop_assert(&p, step, h.size_max && h.size_max <= BX_SIZE_MAX);
		prop_assert(&p, step, h.options_max <= (h.role == BX_BULK ? 0 : BX_OPTIONS_MAX));
		/* The end of the last place is in the address space, and no place in another. */
		prop_assert(&p, step,
			    h.role == BX_BULK || (h.stride >= h.size_max &&
						  h.addr + (uint64_t)h.stride * h.depth >= h.addr));
	}
}

/* --- what a server gives --- */

TEST(wish__no_larger_than_the_servers_limits__is_welcome)
{
	const struct bx_conf conf = { .size_max = 1000, .options_max = 100 }, none = { 0 };
	uint32_t value = 7;

	assert_int_equal(bx_hello_fits(&client, &conf, &value), BX_WELCOME);
	/* Bulk brings the memory's size itself, and nothing is priced for it. */
	assert_int_equal(bx_hello_fits(&bulk, &none, &value), BX_WELCOME);
	assert_int_equal(value, 7);
}

TEST(wish__larger_than_the_servers_limits__is_refused_with_the_limit)
{
	struct bx_conf conf = { .size_max = 999, .options_max = 100 };
	uint32_t value = 0;

	assert_int_equal(bx_hello_fits(&client, &conf, &value), BX_TOO_LARGE);
	assert_int_equal(value, 999);
	conf = (struct bx_conf){ .size_max = 1000, .options_max = 99 };
	assert_int_equal(bx_hello_fits(&client, &conf, &value), BX_TOO_MUCH);
	assert_int_equal(value, 99);
}

TEST(reply__to_bulk__arrives)
{
	struct bx_reply r = { .size_max = BX_SIZE_MAX, .rkey = 7, .addr = 0x7f0000000000 }, got;
	uint8_t data[196] = { 0 };

	bx_reply_put(data, &r);
	assert_int_equal(bx_reply_get(&got, &bulk, data, sizeof(data)), BX_WELCOME);
	assert_int_equal(got.size_max, r.size_max);
	assert_int_equal(got.rkey, r.rkey);
	assert_true(got.addr == r.addr);
}

TEST(reply__with_too_small_a_buffer__is_malformed)
{
	struct bx_reply wrong[] = {
		{ .size_max = BX_SIZE_MAX - 1, .addr = 4096 },
		{ .size_max = BX_SIZE_MAX, .addr = 4097 }, /* atomics need 8 */
		{ .size_max = BX_SIZE_MAX, .addr = UINT64_MAX - 7 },
	};
	uint8_t data[BX_REPLY_LEN];
	struct bx_reply got;

	for (int i = 0; i < 3; i++) {
		bx_reply_put(data, &wrong[i]);
		assert_int_equal(bx_reply_get(&got, &bulk, data, sizeof(data)), BX_MALFORMED);
		/* A client needs nothing of it. */
		assert_int_equal(bx_reply_get(&got, &client, data, sizeof(data)), BX_WELCOME);
	}
}

TEST(refusal__of_each_kind__arrives)
{
	uint8_t data[148] = { 0 };
	uint32_t value;

	for (int why = BX_BAD_VERSION; why < BX_REFUSALS; why++) {
		bx_refuse_put(data, (enum bx_refusal)why, 77);
		assert_int_equal(bx_refuse_get(&value, data, sizeof(data)), why);
		assert_int_equal(value, 77);
	}
}

TEST(refusal__of_another_version__names_it)
{
	uint8_t data[BX_REFUSE_LEN];
	uint32_t value;

	bx_refuse_put(data, BX_FULL, 77);
	data[4] = 9;
	assert_int_equal(bx_refuse_get(&value, data, sizeof(data)), BX_BAD_VERSION);
	assert_int_equal(value, 9);
}

TEST(refusal__that_makes_no_sense__is_never_a_welcome)
{
	struct prop p;

	prop_start(&p);
	for (int step = 0; step < 20000; step++) {
		uint8_t data[BX_REFUSE_LEN];
		uint32_t value;
		enum bx_refusal why;

		bx_refuse_put(data, BX_FULL, 1);
		data[prop_range(&p, 0, sizeof(data) - 1)] = (uint8_t)prop_u64(&p);
		data[prop_range(&p, 6, 7)] = (uint8_t)prop_hostile(&p);
		why = bx_refuse_get(&value, data, prop_range(&p, 0, sizeof(data)));
		prop_assert(&p, step, why > BX_WELCOME && why < BX_REFUSALS);
	}
}

/* --- requests and answers --- */

static const struct bx_ask trade = { .seq = 41,
				     .stamp = 123456789012345,
				     .seed = 0xfedcba9876543210,
				     .kind = BX_TRADE,
				     .options = 100,
				     .answer_bytes = 1000 };

static const char *ask_through(const struct bx_ask *a, struct bx_ask *out)
{
	uint8_t data[BX_ASK_LEN];

	bx_ask_put(data, a);
	return bx_ask_get(out, &client, 41, data, sizeof(data));
}

TEST(ask__as_it_should_be__arrives)
{
	struct bx_ask got;

	assert_null(ask_through(&trade, &got));
	assert_true(got.seq == trade.seq && got.stamp == trade.stamp && got.seed == trade.seed);
	assert_int_equal(got.kind, trade.kind);
	assert_int_equal(got.options, trade.options);
	assert_int_equal(got.answer_bytes, trade.answer_bytes);
}

TEST(ask__beyond_a_limit__is_refused)
{
	struct bx_ask wrong[5], got;

	for (int i = 0; i < 5; i++)
		wrong[i] = trade;
	wrong[0].seq = 42;
	wrong[1].kind = BX_KINDS;
	wrong[2].options = client.options_max + 1;
	wrong[3].answer_bytes = 0;
	wrong[4].answer_bytes = 1001;
	for (int i = 0; i < 5; i++)
		assert_non_null(ask_through(&wrong[i], &got));
}

TEST(ask__of_another_length__is_refused)
{
	uint8_t data[64] = { 0 };
	struct bx_ask got;

	bx_ask_put(data, &trade);
	assert_null(bx_ask_get(&got, &client, 41, data, BX_ASK_LEN));
	assert_non_null(bx_ask_get(&got, &client, 41, data, BX_ASK_LEN - 1));
	assert_non_null(bx_ask_get(&got, &client, 41, data, BX_ASK_LEN + 1));
	assert_non_null(bx_ask_get(&got, &client, 41, data, 0));
}

/* For any request, the answer fits into the places that the hello named. */
TEST(ask__of_any_bytes__stays_in_its_place)
{
	struct prop p;

	prop_start(&p);
	for (int step = 0; step < 200000; step++) {
		uint8_t data[BX_ASK_LEN];
		struct bx_ask a;
		uint64_t at;

		bx_ask_put(data, &trade);
		for (uint64_t k = prop_range(&p, 1, 4); k > 0; k--)
			data[prop_range(&p, 4, BX_ASK_LEN - 1)] = (uint8_t)prop_hostile(&p);
		if (bx_ask_get(&a, &client, 41, data, sizeof(data)))
			continue;
		at = client.addr + a.seq % client.depth * client.stride;
		prop_assert(&p, step, a.answer_bytes >= 1 && a.options <= client.options_max);
		prop_assert(&p, step,
			    at + a.answer_bytes <=
				    client.addr + (uint64_t)client.stride * client.depth);
	}
}

TEST(head__of_its_answer__is_known)
{
	struct bx_head h = { .seq = 41, .stamp = trade.stamp, .sum = 3.25, .options = 100 };
	uint8_t data[BX_HEAD_LEN];

	bx_head_put(data, &h);
	assert_true(bx_head_is(&trade, data, 1000));
	assert_true(bx_head_sum(data) == 3.25);
	/* As far as a small answer has so many bytes of it. */
	for (size_t len = 1; len < BX_HEAD_LEN; len++)
		assert_true(bx_head_is(&trade, data, len));
}

TEST(head__of_another_answer__is_not_taken)
{
	struct bx_head h = { .seq = 41, .stamp = trade.stamp + 1, .options = 100 };
	uint8_t data[BX_HEAD_LEN];

	bx_head_put(data, &h);
	assert_false(bx_head_is(&trade, data, 1000));
	h.stamp--;
	h.seq++;
	bx_head_put(data, &h);
	assert_false(bx_head_is(&trade, data, 1000));
	assert_false(bx_head_is(&trade, data, 1));
}
