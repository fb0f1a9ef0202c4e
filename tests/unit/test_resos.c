// SPDX-License-Identifier: GPL-2.0-or-later
/* resos: supply, charges, guests that come and go; the figures of the paper. */
#include <errno.h>
#include <string.h>

#include "src/core/resos.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

#define S	 NS_PER_S
#define RESOS(n) ((int64_t)(n)*RESO_MILLI)

/* The paper's link: 8 Gb/s after coding, counted as 2^30 B/s, MTU 1024 (VI-A). */
static struct link_conf paper_link(void)
{
	return (struct link_conf){
		.name = "ib0", .bytes_s = 1u << 30, .mtu = 1024, .profile = PRICE_PAPER_2011
	};
}

static void start(struct ledger *l, int64_t epoch_ns)
{
	struct link_conf link = paper_link();

	assert_int_equal(resos_init(l, epoch_ns, &link, 1), 0);
}

static int join(struct ledger *l, uint32_t slot, uint32_t link, uint32_t vcpus, uint32_t weight,
		int64_t remaining)
{
	int rc = resos_join(l, slot, link, vcpus, weight);

	if (rc == 0)
		resos_issue(l, slot, remaining);
	return rc;
}

/* n guests of one VCPU and equal weight, with a whole epoch before them. */
static void start_with(struct ledger *l, uint32_t n)
{
	start(l, S);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(join(l, i, 0, 1, 1, S), 0);
	resos_replenish(l, 1);
}

static struct usage use(uint64_t mtus_sent, uint64_t mtus_recv, uint64_t cpu_ns)
{
	return (struct usage){ .mtus_sent = mtus_sent, .mtus_recv = mtus_recv, .cpu_ns = cpu_ns };
}

static void charge(struct ledger *l, uint32_t slot, uint64_t mtus, uint64_t cpu_ns)
{
	struct usage u = use(mtus, 0, cpu_ns);

	assert_int_equal(resos_charge(l, slot, &u), 0);
	assert_int_equal(resos_check(l), 0);
}

TEST(init__figure_out_of_range__is_refused)
{
	static const struct {
		uint64_t bytes_s;
		uint32_t mtu;
		int rc;
	} rows[] = {
		{ 1u << 30, 1024, 0 },
		{ 1, 256, 0 },
		{ 1ULL << 40, 4096, 0 },
		{ 1u << 30, 512, 0 },
		{ 1u << 30, 2048, 0 },
		{ 0, 1024, -EINVAL },
		{ (1ULL << 40) + 1, 1024, -EINVAL },
		{ UINT64_MAX, 1024, -EINVAL },
		{ 1u << 30, 0, -EINVAL },
		{ 1u << 30, 1000, -EINVAL },
		{ 1u << 30, 128, -EINVAL },
		{ 1u << 30, 8192, -EINVAL },
		{ 1u << 30, UINT32_MAX, -EINVAL },
	};
	struct link_conf c = paper_link(), many[FLOW_LINKS_MAX + 1];
	static struct ledger l;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		c.bytes_s = rows[i].bytes_s;
		c.mtu = rows[i].mtu;
		assert_int_equal(resos_init(&l, S, &c, 1), rows[i].rc);
	}
	for (uint32_t i = 0; i <= FLOW_LINKS_MAX; i++)
		many[i] = paper_link();
	assert_int_equal(resos_init(&l, S, many, 0), -EINVAL);
	assert_int_equal(resos_init(&l, S, many, FLOW_LINKS_MAX), 0);
	assert_int_equal(resos_init(&l, S, many, FLOW_LINKS_MAX + 1), -EINVAL);
	assert_int_equal(resos_init(&l, 0, many, 1), -EINVAL);
	assert_int_equal(resos_init(&l, -S, many, 1), -EINVAL);
	assert_int_equal(resos_init(&l, INT64_MAX, many, 1), -EINVAL);
}

TEST(init__unknown_profile__is_refused)
{
	struct link_conf c = paper_link();
	static struct ledger l;

	c.profile = (enum price_profile)7;
	assert_int_equal(resos_init(&l, S, &c, 1), -EINVAL);
}

TEST(replenish__two_guests_on_the_papers_link__624288_resos_each)
{
	static struct ledger l;

	start_with(&l, 2);
	assert_int_equal(l.acc[0].allocated.m, RESOS(100000 + 524288));
	assert_int_equal(l.acc[1].allocated.m, RESOS(624288));
	assert_int_equal(l.acc[0].balance.m, RESOS(624288));
	assert_int_equal(l.supply.m, RESOS(2 * 624288));
	assert_int_equal(l.overcommit.m, 0);
	assert_int_equal(l.link[0].pool.m, RESOS(1048576));
}

TEST(replenish__four_guests_on_the_papers_link__362144_resos_each)
{
	static struct ledger l;

	start_with(&l, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(l.acc[i].allocated.m, RESOS(100000 + 262144));
}

TEST(init__scaled_profile__pool_is_the_papers_on_any_link)
{
	static const uint64_t rates[] = { 1000, 125000000, 1u << 30, 50000000000, 1ULL << 40 };
	struct link_conf c = paper_link();
	static struct ledger l;

	c.profile = PRICE_SCALED;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		c.bytes_s = rates[i];
		assert_int_equal(resos_init(&l, S, &c, 1), 0);
		assert_int_equal(l.link[0].pool.m, RESOS(1048576));
	}
}

TEST(charge__scaled_link_used_up__costs_the_pool)
{
	struct link_conf c = paper_link();
	static struct ledger l;

	c.profile = PRICE_SCALED;
	c.bytes_s = 12500000000; /* 100 Gb/s */
	c.mtu = 4096;
	assert_int_equal(resos_init(&l, S, &c, 1), 0);
	assert_int_equal(join(&l, 0, 0, 1, 1, S), 0);
	resos_replenish(&l, 1);
	for (int ms = 0; ms < 1000; ms++)
		charge(&l, 0, 12500000000 / 4096 / 1000, 0);
	/* 3,051,000 of 3,051,757.8 MTUs, at 1,048,576 x 4096 / 12.5e9 Resos each, rounded down. */
	assert_int_equal(l.acc[0].charged_io.m, 1048315617);
}

TEST(charge__paper_prices__one_reso_a_mtu_and_one_per_10_us)
{
	static struct ledger l;
	struct usage u = use(300, 11, 700000);

	start_with(&l, 2);
	assert_int_equal(resos_charge(&l, 0, &u), 0);
	assert_int_equal(l.acc[0].charged_io.m, RESOS(311));
	assert_int_equal(l.acc[0].charged_cpu.m, RESOS(70));
	assert_int_equal(l.acc[0].spent.m, RESOS(381));
	assert_int_equal(l.acc[0].balance.m, RESOS(624288 - 381));
	assert_int_equal(l.acc[0].overdraft.m, 0);
	assert_int_equal(l.acc[1].spent.m, 0);
	assert_int_equal(resos_check(&l), 0);
}

TEST(charge__rate_raised__multiplies_both_prices)
{
	static struct ledger l;

	start_with(&l, 2);
	resos_set_rate(&l, 0, (struct rate){ 65536 * 5 / 2 });
	charge(&l, 0, 100, 1000000);
	assert_int_equal(l.acc[0].charged_io.m, RESOS(250));
	assert_int_equal(l.acc[0].charged_cpu.m, RESOS(250));
	charge(&l, 1, 100, 0);
	assert_int_equal(l.acc[1].charged_io.m, RESOS(100));
}

TEST(set_rate__below_one__is_taken_as_one)
{
	static const uint32_t rates[] = { 0, 1, 65535, 65536 };
	static struct ledger l;

	for (size_t i = 0; i < 4; i++) {
		start_with(&l, 1);
		resos_set_rate(&l, 0, (struct rate){ rates[i] });
		assert_int_equal(l.acc[0].rate.q16, 65536);
		charge(&l, 0, 100, 0);
		assert_int_equal(l.acc[0].charged_io.m, RESOS(100));
	}
}

TEST(set_rate__outlives_the_epoch_but_not_the_guest)
{
	static struct ledger l;

	start_with(&l, 1);
	resos_set_rate(&l, 0, (struct rate){ 131072 });
	resos_replenish(&l, 2);
	assert_int_equal(l.acc[0].rate.q16, 131072);
	resos_leave(&l, 0);
	assert_int_equal(join(&l, 0, 0, 1, 1, S), 0);
	assert_int_equal(l.acc[0].rate.q16, 65536);
}

TEST(charge__fractions_of_a_milli_reso__are_carried)
{
	static struct ledger l;

	start_with(&l, 1);
	for (int i = 0; i < 9; i++)
		charge(&l, 0, 0, 1);
	assert_int_equal(l.acc[0].charged_cpu.m, 0);
	charge(&l, 0, 0, 1);
	assert_int_equal(l.acc[0].charged_cpu.m, 1);
	charge(&l, 0, 0, 19);
	assert_int_equal(l.acc[0].charged_cpu.m, 2);
	resos_replenish(&l, 2);
	charge(&l, 0, 0, 1); /* 10 ns with the 9 of the old epoch */
	assert_int_equal(l.acc[0].charged_cpu.m, 1);
}

TEST(charge__balance_exhausted__goes_to_overdraft)
{
	static struct ledger l;

	start_with(&l, 2);
	charge(&l, 0, 624287, 0);
	assert_int_equal(l.acc[0].balance.m, RESOS(1));
	charge(&l, 0, 3, 0);
	assert_int_equal(l.acc[0].balance.m, 0);
	assert_int_equal(l.acc[0].spent.m, RESOS(624288));
	assert_int_equal(l.acc[0].overdraft.m, RESOS(2));
	charge(&l, 0, 5, 10000);
	assert_int_equal(l.acc[0].overdraft.m, RESOS(8));
	assert_int_equal(l.acc[1].balance.m, RESOS(624288));
}

TEST(charge__sizes_beyond_all_reason__saturate)
{
	static struct ledger l;
	struct usage u = use(UINT64_MAX, UINT64_MAX, UINT64_MAX);

	start_with(&l, 2);
	resos_set_rate(&l, 0, (struct rate){ UINT32_MAX });
	for (int i = 0; i < 3; i++) {
		assert_int_equal(resos_charge(&l, 0, &u), 0);
		assert_int_equal(resos_check(&l), 0);
		assert_int_equal(l.acc[0].balance.m, 0);
		assert_true(l.acc[0].overdraft.m > INT64_MAX / 4);
	}
	resos_replenish(&l, 2);
	assert_int_equal(l.acc[0].balance.m, RESOS(624288));
	assert_int_equal(l.acc[0].overdraft.m, 0);
	assert_int_equal(resos_check(&l), 0);
}

TEST(charge__sent_plus_received_wraps__is_not_free)
{
	static struct ledger l;
	struct usage u = use(UINT64_MAX, 1, 0);

	start_with(&l, 1);
	assert_int_equal(resos_charge(&l, 0, &u), 0);
	assert_int_equal(l.acc[0].balance.m, 0);
	assert_int_equal(resos_check(&l), 0);
}

TEST(charge__slot_not_active__is_refused)
{
	static const uint32_t slots[] = { 1, 255, 256, UINT32_MAX };
	static struct ledger l, before;
	struct usage u = use(1, 1, 1);

	start_with(&l, 1);
	before = l;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(resos_charge(&l, slots[i], &u), -ENOENT);
		assert_int_equal(resos_set_share(&l, slots[i], 1, 1), -ENOENT);
		resos_leave(&l, slots[i]);
		resos_set_rate(&l, slots[i], RATE_ONE);
	}
	assert_memory_equal(&l, &before, sizeof(l));
}

TEST(join__figure_out_of_range__is_refused_and_changes_nothing)
{
	static const struct {
		uint32_t slot, link, vcpus, weight;
		int rc;
	} rows[] = {
		{ 0, 0, 1, 1, -EEXIST },	  { 256, 0, 1, 1, -EINVAL },
		{ UINT32_MAX, 0, 1, 1, -EINVAL }, { 1, 1, 1, 1, -EINVAL },
		{ 1, 8, 1, 1, -EINVAL },	  { 1, UINT32_MAX, 1, 1, -EINVAL },
		{ 1, 0, 0, 1, -EINVAL },	  { 1, 0, 4097, 1, -EINVAL },
		{ 1, 0, UINT32_MAX, 1, -EINVAL }, { 1, 0, 1, 0, -EINVAL },
		{ 1, 0, 1, 65536, -EINVAL },
	};
	static struct ledger l, before;

	start_with(&l, 1);
	before = l;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(
			join(&l, rows[i].slot, rows[i].link, rows[i].vcpus, rows[i].weight, S),
			rows[i].rc);
		assert_memory_equal(&l, &before, sizeof(l));
	}
	assert_int_equal(join(&l, 255, 0, 4096, 65535, S), 0);
	assert_int_equal(resos_check(&l), 0);
}

TEST(join__within_an_epoch__gets_the_rest_as_overcommit)
{
	static struct ledger l;

	start_with(&l, 1);
	assert_int_equal(join(&l, 7, 0, 2, 1, S / 4), 0);
	/* A quarter of two VCPUs and of half the link. */
	assert_int_equal(l.acc[7].allocated.m, RESOS(2 * 100000 + 524288) / 4);
	assert_int_equal(l.acc[7].balance.m, l.acc[7].allocated.m);
	assert_int_equal(l.overcommit.m, l.acc[7].allocated.m);
	assert_true(l.acc[7].flags & ACCOUNT_LATE);
	assert_int_equal(l.supply.m, RESOS(1148576));
	assert_int_equal(resos_check(&l), 0);
	resos_replenish(&l, 2);
	assert_false(l.acc[7].flags & ACCOUNT_LATE);
	assert_int_equal(l.overcommit.m, 0);
	assert_int_equal(l.acc[7].allocated.m, RESOS(2 * 100000 + 524288));
	assert_int_equal(l.acc[0].allocated.m, RESOS(624288));
}

TEST(join__several_together__share_the_pool_by_weight)
{
	static struct ledger l;

	start(&l, S);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(resos_join(&l, i, 0, 1, i == 3 ? 5 : 1), 0);
	assert_int_equal(l.acc[0].allocated.m, 0);
	assert_int_equal(l.overcommit.m, 0);
	for (uint32_t i = 0; i < 4; i++)
		resos_issue(&l, i, S);
	assert_int_equal(l.acc[0].allocated.m, RESOS(100000 + 131072));
	assert_int_equal(l.acc[3].allocated.m, RESOS(100000 + 5 * 131072));
	assert_int_equal(l.overcommit.m, RESOS(4 * 100000 + 1048576));
	assert_int_equal(resos_check(&l), 0);
}

TEST(issue__again_or_to_nobody__changes_nothing)
{
	static struct ledger l, before;

	start(&l, S);
	assert_int_equal(join(&l, 0, 0, 1, 1, S), 0);
	assert_int_equal(resos_join(&l, 1, 0, 1, 1), 0);
	resos_replenish(&l, 1); /* issues to both */
	before = l;
	for (uint32_t i = 0; i <= FLOW_GUESTS_MAX; i++)
		resos_issue(&l, i, S);
	assert_memory_equal(&l, &before, sizeof(l));
}

TEST(join__at_the_epochs_edges__all_or_nothing)
{
	static struct ledger l;

	start_with(&l, 1);
	assert_int_equal(join(&l, 1, 0, 1, 1, 0), 0);
	assert_int_equal(l.acc[1].allocated.m, 0);
	assert_int_equal(join(&l, 2, 0, 1, 2, S), 0);
	assert_int_equal(l.acc[2].allocated.m, RESOS(100000 + 524288));
	assert_int_equal(resos_check(&l), 0);
}

TEST(join__remaining_beyond_the_epoch__is_taken_as_its_edge)
{
	static struct ledger l;

	start_with(&l, 1);
	assert_int_equal(join(&l, 1, 0, 1, 1, -1), 0);
	assert_int_equal(l.acc[1].allocated.m, 0);
	assert_int_equal(join(&l, 2, 0, 1, 2, INT64_MAX), 0);
	assert_int_equal(l.acc[2].allocated.m, RESOS(100000 + 524288));
	assert_int_equal(resos_check(&l), 0);
}

TEST(leave__allocation_stays_issued_until_the_epoch_ends)
{
	static struct ledger l;

	start_with(&l, 2);
	charge(&l, 0, 1000, 0);
	resos_leave(&l, 0);
	assert_int_equal(l.retired.m, RESOS(624288));
	assert_false(l.acc[0].flags & ACCOUNT_ACTIVE);
	assert_int_equal(resos_check(&l), 0);
	/* The slot can be used again at once. */
	assert_int_equal(join(&l, 0, 0, 1, 1, S / 2), 0);
	assert_int_equal(resos_check(&l), 0);
	resos_replenish(&l, 2);
	assert_int_equal(l.retired.m, 0);
	assert_int_equal(resos_check(&l), 0);
}

TEST(leave__twice__retires_once)
{
	static struct ledger l;

	start_with(&l, 2);
	resos_leave(&l, 0);
	resos_leave(&l, 0);
	assert_int_equal(l.retired.m, RESOS(624288));
	assert_int_equal(resos_check(&l), 0);
}

TEST(replenish__what_is_left__is_dropped)
{
	static struct ledger l;

	start_with(&l, 2);
	charge(&l, 0, 24288, 0);
	resos_replenish(&l, 9);
	assert_int_equal(l.epoch, 9);
	assert_int_equal(l.dropped.m, RESOS(600000 + 624288));
	assert_int_equal(l.acc[0].balance.m, RESOS(624288));
	assert_int_equal(l.acc[0].spent.m, 0);
	assert_int_equal(l.acc[0].charged_io.m, 0);
}

TEST(set_share__counts_from_the_next_epoch)
{
	static struct ledger l;

	start_with(&l, 2);
	assert_int_equal(resos_set_share(&l, 0, 3, 3), 0);
	assert_int_equal(l.acc[0].allocated.m, RESOS(624288));
	assert_int_equal(resos_check(&l), 0);
	resos_replenish(&l, 2);
	assert_int_equal(l.acc[0].allocated.m, RESOS(300000 + 786432));
	assert_int_equal(l.acc[1].allocated.m, RESOS(100000 + 262144));
	assert_int_equal(resos_set_share(&l, 0, 0, 1), -EINVAL);
	assert_int_equal(resos_set_share(&l, 0, 4097, 1), -EINVAL);
	assert_int_equal(resos_set_share(&l, 0, 1, 0), -EINVAL);
	assert_int_equal(resos_set_share(&l, 0, 1, 65536), -EINVAL);
	assert_int_equal(resos_set_share(&l, 255, 1, 1), -ENOENT);
}

TEST(replenish__weights_that_do_not_divide__share_to_the_last_milli_reso)
{
	static struct ledger l;
	int64_t sum = 0;

	start(&l, S);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(join(&l, i, 0, 1, i == 3 ? 65535 : 11 * i + 1, S), 0);
	resos_replenish(&l, 1);
	for (uint32_t i = 0; i < 7; i++)
		sum += l.acc[i].allocated.m - RESOS(100000);
	assert_int_equal(sum, RESOS(1048576));
	assert_int_equal(resos_check(&l), 0);
}

TEST(links__have_pools_of_their_own)
{
	struct link_conf links[2] = { paper_link(), paper_link() };
	static struct ledger l;

	links[1].bytes_s = 1u << 28;
	assert_int_equal(resos_init(&l, S, links, 2), 0);
	assert_int_equal(join(&l, 0, 0, 1, 1, S), 0);
	assert_int_equal(join(&l, 1, 1, 1, 1, S), 0);
	assert_int_equal(join(&l, 2, 1, 1, 3, S), 0);
	resos_replenish(&l, 1);
	assert_int_equal(l.acc[0].allocated.m, RESOS(100000 + 1048576));
	assert_int_equal(l.acc[1].allocated.m, RESOS(100000 + 65536));
	assert_int_equal(l.acc[2].allocated.m, RESOS(100000 + 196608));
}

/* Each invariant the header names, broken by hand, must be found. */
/* The product of MTUs and price passes 64 bits between the two; no fraction is lost on the way. */
TEST(charge__price_with_large_terms__is_exact_below_and_above_64_bits)
{
	static const uint64_t mtus[] = { 1, 16777213, 67108859, 8589934583 };
	struct link_conf link = { .name = "ib0", .bytes_s = 1000000007, .mtu = 1024 };
	unsigned __int128 all = 0;
	static struct ledger l;

	link.profile = PRICE_SCALED;
	assert_int_equal(resos_init(&l, S, &link, 1), 0);
	assert_int_equal(join(&l, 0, 0, 1, 1, S), 0);
	for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		charge(&l, 0, mtus[i], 0);
		all += mtus[i];
		assert_int_equal(l.acc[0].charged_io.m,
				 (int64_t)(all * 1048576u * 1000u * 1024u / 1000000007u));
	}
}

TEST(check__each_invariant_broken__is_found)
{
	static struct ledger good, bad;

	start_with(&good, 2);
	assert_int_equal(join(&good, 2, 0, 1, 1, S / 2), 0);
	charge(&good, 0, 700000, 5);
	resos_leave(&good, 1);
	assert_int_equal(resos_check(&good), 0);
	assert_int_equal(good.acc[0].balance.m, 0);
	assert_true(good.acc[0].overdraft.m > 0);

#define BREAKS(change)                                                                             \
	do {                                                                                       \
		bad = good;                                                                        \
		change;                                                                            \
		assert_int_equal(resos_check(&bad), -EBADMSG);                                     \
	} while (0)
	BREAKS(bad.supply.m++);
	BREAKS(bad.overcommit.m--);
	BREAKS(bad.retired.m++);
	BREAKS(bad.acc[2].balance.m--);
	BREAKS(bad.acc[2].spent.m++);
	BREAKS(bad.acc[2].allocated.m++);
	BREAKS((bad.acc[2].balance.m = -1, bad.acc[2].spent.m = bad.acc[2].allocated.m + 1));
	BREAKS(bad.acc[0].overdraft.m++);
	BREAKS(bad.acc[0].charged_io.m++);
	BREAKS(bad.acc[0].charged_cpu.m--);
#undef BREAKS
}
