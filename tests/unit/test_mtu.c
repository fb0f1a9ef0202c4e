// SPDX-License-Identifier: GPL-2.0-or-later
/* mtu: the charging rule, and adding samples up. */
#include "tests/unit/prop.h"

#include <string.h>

#include "ibmon/ring/mtu.h"
#include "tests/unit/unit.h"

TEST(mtu__edges_of_the_path_mtu__are_rounded_up)
{
	static const struct {
		uint64_t bytes;
		uint32_t mtu;
		uint64_t mtus;
	} rows[] = {
		{ 0, 1024, 1 },
		{ 1, 1024, 1 },
		{ 1023, 1024, 1 },
		{ 1024, 1024, 1 },
		{ 1025, 1024, 2 },
		{ 2048, 1024, 2 },
		{ 2049, 1024, 3 },
		{ 65536, 256, 256 },
		{ 0, 256, 1 },
		{ 65537, 4096, 17 },
		{ 1u << 31, 256, 1u << 23 },
		{ 4097, 4096, 2 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(mtu_of(rows[i].bytes, rows[i].mtu), rows[i].mtus);
}

TEST(mtu__path_mtu_unknown__is_taken_as_1024)
{
	assert_int_equal(mtu_of(0, 0), 1);
	assert_int_equal(mtu_of(1024, 0), 1);
	assert_int_equal(mtu_of(1025, 0), 2);
}

TEST(mtu__largest_number_of_bytes__does_not_wrap)
{
	assert_true(mtu_of(UINT64_MAX, 4096) == UINT64_MAX / 4096 + 1);
	assert_true(mtu_of(UINT64_MAX, 1) == UINT64_MAX);
}

static const struct sample one = {
	.slot = 3,
	.msg_bytes = 4000,
	.wrs = 7,
	.seen = 5,
	.lost = 2,
	.mtus_sent = 11,
	.mtus_recv = 13,
	.bytes_sent = 17000,
	.bytes_recv = 19000,
	.likely_sent = 500,
	.likely_recv = 700,
	.backlog = 4,
};

TEST(mtu_add__two_samples__add_up)
{
	struct usage u = { .slot = 3, .link = 1, .cpu_ns = 99 };
	struct sample s = one;

	mtu_add(&u, &s);
	s.msg_bytes = 100;
	mtu_add(&u, &s);
	s = (struct sample){ .wrs = 0 };
	mtu_add(&u, &s);
	assert_int_equal(u.queues, 2);
	assert_int_equal(u.wrs, 14);
	assert_int_equal(u.lost, 4);
	assert_int_equal(u.mtus_sent, 22);
	assert_int_equal(u.mtus_recv, 26);
	assert_int_equal(u.bytes_sent, 35000);
	assert_int_equal(u.bytes_recv, 39400);
	assert_int_equal(u.backlog, 8);
	assert_int_equal(u.msg_bytes, 4000);
	assert_int_equal(u.link, 1);
	assert_int_equal(u.cpu_ns, 99);
	assert_int_equal(u.slot, 3);
}

TEST(mtu_add__uncharged_sample__charges_nothing)
{
	struct usage u = { .slot = 3 };
	struct sample s = one;

	s.flags = SAMPLE_HISTORY | SAMPLE_UNCHARGED;
	mtu_add(&u, &s);
	assert_int_equal(u.wrs, 0);
	assert_int_equal(u.mtus_sent, 0);
	assert_int_equal(u.mtus_recv, 0);
	assert_int_equal(u.bytes_sent, 0);
	assert_int_equal(u.bytes_recv, 0);
	assert_int_equal(u.lost, 0);
}

TEST(mtu_add__history_alone__is_charged)
{
	struct usage u = { 0 };
	struct sample s = one;

	s.flags = SAMPLE_HISTORY;
	mtu_add(&u, &s);
	assert_int_equal(u.mtus_sent, 11);
}

TEST(mtu_add__estimated_bounded_or_lost__marks_the_usage)
{
	static const struct {
		uint32_t sample_flags;
		uint64_t lost;
		uint32_t usage_flags;
	} rows[] = {
		{ 0, 0, 0 },
		{ SAMPLE_MTUS_ESTIMATED, 0, USAGE_ESTIMATED },
		{ SAMPLE_WRS_BOUNDED, 0, USAGE_ESTIMATED },
		{ 0, 1, USAGE_LOST },
		{ SAMPLE_LAPPED | SAMPLE_MTUS_ESTIMATED, 9, USAGE_LOST | USAGE_ESTIMATED },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct usage u = { 0 };
		struct sample s = { .flags = rows[i].sample_flags, .lost = rows[i].lost };

		mtu_add(&u, &s);
		assert_int_equal(u.flags, rows[i].usage_flags);
	}
}

TEST(mtu_add__a_plain_sample_later__keeps_the_marks)
{
	struct usage u = { .flags = USAGE_LOST | USAGE_ESTIMATED };
	struct sample s = { .wrs = 1 };

	mtu_add(&u, &s);
	assert_int_equal(u.flags, USAGE_LOST | USAGE_ESTIMATED);
}

TEST(mtu_add__sums_beyond_64_bits__stay_at_the_top)
{
	struct usage u = { .wrs = UINT64_MAX - 1,
			   .mtus_sent = UINT64_MAX - 1,
			   .mtus_recv = UINT64_MAX,
			   .bytes_sent = UINT64_MAX - 16000,
			   .bytes_recv = UINT64_MAX - 1,
			   .lost = UINT64_MAX - 1,
			   .backlog = UINT64_MAX };

	mtu_add(&u, &one);
	assert_true(u.wrs == UINT64_MAX && u.mtus_sent == UINT64_MAX && u.mtus_recv == UINT64_MAX);
	assert_true(u.bytes_sent == UINT64_MAX && u.bytes_recv == UINT64_MAX);
	assert_true(u.lost == UINT64_MAX && u.backlog == UINT64_MAX);
}
