// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent/classify: kinds of rings by count, order and entries. The tests create rings as
 * rxe does: one counter of page offsets for each device, a send queue directly before
 * its receive queue, numbers in order of creation.
 */
#include <string.h>

#include "ibmon/agent/classify.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

enum { WORLD_MAX = 64 };

struct world {
	uint64_t offset;
	size_t rings;
	struct class_ring ring[2 * WORLD_MAX];
	enum ring_class truth[2 * WORLD_MAX];
	uint32_t number[2 * WORLD_MAX];
	struct class_qp qp[WORLD_MAX];
	struct class_cq cq[WORLD_MAX];
	uint32_t srq[WORLD_MAX];
	struct class_objects obj;
	uint32_t next_qpn, next_cqn, next_srqn;
};

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->offset = 0x1000;
	w->next_qpn = 17;
	w->next_cqn = 1;
	w->obj = (struct class_objects){
		.qp = w->qp, .cq = w->cq, .srq = w->srq, .one_thread = true
	};
}

static void add_ring(struct world *w, uint32_t elem, uint32_t slots, enum ring_class truth,
		     uint32_t number)
{
	uint64_t bytes = (384 + (uint64_t)elem * slots + 4095) / 4096 * 4096;

	w->truth[w->rings] = truth;
	w->number[w->rings] = number;
	w->ring[w->rings++] = (struct class_ring){
		.pgoff = w->offset, .bytes = bytes, .elem = elem, .slots = slots
	};
	w->offset += bytes;
}

static void add_cq(struct world *w, uint32_t slots)
{
	w->cq[w->obj.cqs++] = (struct class_cq){ w->next_cqn, slots };
	add_ring(w, 128, slots, CLASS_CQ, w->next_cqn++);
}

static void add_srq(struct world *w, uint32_t elem, uint32_t slots)
{
	w->srq[w->obj.srqs++] = w->next_srqn++; /* from 0 */
	add_ring(w, elem, slots, CLASS_RECV, 0);
}

static void add_qp(struct world *w, uint32_t sq, uint32_t rq, uint32_t slots)
{
	w->qp[w->obj.qps++] = (struct class_qp){ .qpn = w->next_qpn };
	add_ring(w, sq, slots, CLASS_SQ, w->next_qpn++);
	add_ring(w, rq, slots, CLASS_RECV, 0);
}

static void add_qp_shared(struct world *w, uint32_t sq, uint32_t srqn, uint32_t slots)
{
	w->qp[w->obj.qps++] = (struct class_qp){ w->next_qpn, true, srqn };
	add_ring(w, sq, slots, CLASS_SQ, w->next_qpn++);
}

static void assert_all_found(const struct world *w)
{
	for (size_t i = 0; i < w->rings; i++)
		if (w->ring[i].kind != w->truth[i])
			fail_msg("ring %zu is %d, taken for %d", i, w->truth[i], w->ring[i].kind);
}

TEST(perftest_shape__counts_tell_all_and_order_the_numbers)
{
	struct world w;

	world_init(&w);
	add_cq(&w, 2);
	add_qp(&w, 256, 64, 2);
	assert_int_equal(classify(w.ring, w.rings, &w.obj), 3);
	assert_all_found(&w);
	assert_int_equal(w.ring[0].number, 1);
	assert_int_equal(w.ring[1].number, 17);
	assert_int_equal(w.ring[1].proof, PROOF_COUNT);
}

TEST(several_threads__counts_still_tell_but_no_number_is_given)
{
	struct world w;

	world_init(&w);
	w.obj.one_thread = false;
	add_cq(&w, 16);
	add_qp(&w, 512, 128, 16);
	add_qp(&w, 256, 64, 8);
	w.ring[2].slots = 32; /* the receive queue is not as large as the completion queue */
	classify(w.ring, w.rings, &w.obj);
	assert_all_found(&w);
	assert_int_equal(w.ring[1].number, 0);
}

TEST(receive_queue_as_large_as_a_send_queue__order_tells)
{
	struct world w;

	world_init(&w);
	add_cq(&w, 16);
	add_qp(&w, 256, 256, 16);
	classify(w.ring, w.rings, &w.obj);
	assert_all_found(&w);
	assert_int_equal(w.ring[1].proof, PROOF_ORDER);
}

TEST(receive_queue_as_large_as_a_send_queue_with_threads__stays_unknown)
{
	struct world w;

	world_init(&w);
	w.obj.one_thread = false;
	add_cq(&w, 16);
	add_qp(&w, 256, 256, 16);
	classify(w.ring, w.rings, &w.obj);
	assert_int_equal(w.ring[0].kind, CLASS_CQ);
	assert_int_equal(w.ring[1].kind, CLASS_UNKNOWN);
	assert_int_equal(w.ring[2].kind, CLASS_UNKNOWN);
}

TEST(receive_queue_like_a_completion_queue__slots_or_order_tell)
{
	struct world w;

	world_init(&w);
	add_cq(&w, 16);
	add_qp(&w, 256, 128, 16);
	add_cq(&w, 16);
	classify(w.ring, w.rings, &w.obj);
	assert_all_found(&w);
	assert_int_equal(w.ring[3].number, 2);
}

TEST(shared_queue_that_nobody_uses__is_not_guessed)
{
	struct world w;

	world_init(&w);
	add_srq(&w, 256, 16); /* could as well have been made last */
	add_qp(&w, 256, 256, 16);
	classify(w.ring, w.rings, &w.obj);
	for (size_t i = 0; i < w.rings; i++)
		if (w.ring[i].kind != CLASS_UNKNOWN)
			assert_int_equal(w.ring[i].kind, w.truth[i]);
	assert_int_equal(w.ring[0].kind, CLASS_UNKNOWN);
}

TEST(gap_in_offsets__rules_out_a_pair)
{
	struct world w;

	world_init(&w);
	add_srq(&w, 256, 16);
	w.offset += 0x4000; /* something that was destroyed */
	add_qp(&w, 256, 256, 16);
	classify(w.ring, w.rings, &w.obj);
	assert_all_found(&w);
}

TEST(shared_queue_number_0__comes_before_its_users)
{
	struct world w;

	world_init(&w);
	add_srq(&w, 256, 16);
	add_qp_shared(&w, 256, 0, 16);
	add_qp_shared(&w, 256, 0, 16);
	classify(w.ring, w.rings, &w.obj);
	assert_all_found(&w);
	assert_int_equal(w.ring[2].number, 18);
}

TEST(object_not_mapped_yet__nothing_is_concluded)
{
	struct world w;

	world_init(&w);
	add_cq(&w, 16);
	add_qp(&w, 256, 256, 16);
	add_qp(&w, 256, 256, 16);
	/* the second exists, its rings are not mapped: as many big rings as queue pairs */
	assert_int_equal(classify(w.ring, 3, &w.obj), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(w.ring[i].kind, CLASS_UNKNOWN);
}

TEST(ring_known_by_its_entries__settles_the_others)
{
	struct world w;

	world_init(&w);
	w.obj.one_thread = false;
	add_qp(&w, 256, 256, 16);
	w.ring[1].kind = CLASS_RECV;
	w.ring[1].proof = PROOF_CONTENT;
	classify(w.ring, w.rings, &w.obj);
	assert_all_found(&w);
	assert_int_equal(w.ring[1].proof, PROOF_CONTENT);
}

TEST(resized_completion_queue__is_found_out_of_order)
{
	struct world w;

	world_init(&w);
	add_qp(&w, 256, 256, 16);
	add_cq(&w, 16);
	add_qp(&w, 256, 256, 16);
	add_cq(&w, 512);
	/* the last ring is that of the first completion queue */
	w.cq[0] = (struct class_cq){ 1, 512 };
	w.cq[1] = (struct class_cq){ 2, 16 };
	classify(w.ring, w.rings, &w.obj);
	assert_all_found(&w);
	assert_int_equal(w.ring[2].number, 0); /* order says nothing of completion queues now */
	assert_int_equal(w.ring[3].number, 18);
}

/* Forget a queue pair, a completion queue or a resized one, as the kernel would. */
static void remove_qp(struct world *w, struct prop *p)
{
	size_t i = 0, n;
	uint32_t q = (uint32_t)prop_range(p, 0, w->obj.qps - 1);

	while (w->truth[i] != CLASS_SQ || w->number[i] != w->qp[q].qpn)
		i++;
	n = w->qp[q].shared ? 1 : 2;
	memmove(&w->ring[i], &w->ring[i + n], (w->rings - i - n) * sizeof(w->ring[0]));
	memmove(&w->truth[i], &w->truth[i + n], (w->rings - i - n) * sizeof(w->truth[0]));
	memmove(&w->number[i], &w->number[i + n], (w->rings - i - n) * sizeof(w->number[0]));
	w->rings -= n;
	memmove(&w->qp[q], &w->qp[q + 1], (w->obj.qps - q - 1) * sizeof(w->qp[0]));
	w->obj.qps--;
}

static uint32_t any_elem(struct prop *p, uint32_t from)
{
	return from << prop_range(p, 0, from == 64 ? 4 : 2);
}

static void random_world(struct world *w, struct prop *p)
{
	uint32_t steps = (uint32_t)prop_range(p, 1, 20);

	world_init(w);
	for (uint32_t i = 0; i < steps; i++) {
		uint32_t slots = 2u << prop_range(p, 0, 4);

		switch (prop_u64(p) % 8) {
		case 0:
		case 1:
			add_cq(w, slots);
			break;
		case 2:
			add_srq(w, any_elem(p, 64), slots);
			break;
		case 3:
			if (w->obj.qps)
				remove_qp(w, p);
			break;
		case 4:
			if (w->obj.srqs) {
				add_qp_shared(w, any_elem(p, 256),
					      w->srq[prop_range(p, 0, w->obj.srqs - 1)], slots);
				break;
			} /* fall through */
		default:
			add_qp(w, any_elem(p, 256), any_elem(p, 64), slots);
		}
	}
}

/* Threads that make queues at the same time: rings of one object come apart. */
static void mix(struct world *w, struct prop *p)
{
	for (size_t n = 0; w->rings > 1 && n < w->rings; n++) {
		size_t i = prop_range(p, 0, w->rings - 2);
		struct class_ring r = w->ring[i];
		enum ring_class truth = w->truth[i];
		uint32_t number = w->number[i];

		w->ring[i] = w->ring[i + 1];
		w->truth[i] = w->truth[i + 1];
		w->number[i] = w->number[i + 1];
		w->ring[i + 1] = r;
		w->truth[i + 1] = truth;
		w->number[i + 1] = number;
		w->ring[i].pgoff = r.pgoff;
		w->ring[i + 1].pgoff = w->ring[i].pgoff + w->ring[i].bytes;
	}
}

TEST(random_shapes__what_is_said_is_true)
{
	size_t said = 0, all = 0;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 3000; i++) {
		struct world w;

		random_world(&w, &p);
		if (prop_one_in(&p, 4)) {
			w.obj.one_thread = false;
			mix(&w, &p);
		}
		classify(w.ring, w.rings, &w.obj);
		for (size_t k = 0; k < w.rings; k++) {
			all++;
			if (w.ring[k].kind == CLASS_UNKNOWN)
				continue;
			said++;
			prop_assert(&p, i, w.ring[k].kind == w.truth[k]);
			if (w.ring[k].number)
				prop_assert(&p, i, w.ring[k].number == w.number[k]);
		}
	}
	print_message("%zu of %zu rings found\n", said, all);
	assert_true(said * 2 > all);
}

/* Objects and rings that have nothing to do with each other: bounded, no crash. */
TEST(rubbish__is_survived)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 2000; i++) {
		struct world w;

		random_world(&w, &p);
		w.obj.qps = (uint32_t)prop_range(&p, 0, WORLD_MAX);
		w.obj.cqs = (uint32_t)prop_range(&p, 0, WORLD_MAX);
		for (size_t k = 0; k < w.rings; k++) {
			w.ring[k].pgoff = prop_u64(&p);
			w.ring[k].kind = prop_one_in(&p, 3) ? CLASS_SQ : CLASS_UNKNOWN;
		}
		assert_true(classify(w.ring, w.rings, &w.obj) <= w.rings);
	}
}

TEST(header__must_agree_with_the_mapping)
{
	assert_true(classify_header(7, 1, 4096));
	assert_true(classify_header(8, 63, 5 * 4096));
	assert_true(classify_header(7, 31, 2 * 4096)); /* 384 + 4096 bytes */
	assert_false(classify_header(7, 31, 4096));
	assert_false(classify_header(8, 63, 4 * 4096)); /* does not fit */
	assert_false(classify_header(8, 63, 6 * 4096)); /* a page too many */
	assert_false(classify_header(5, 1, 4096));
	assert_false(classify_header(13, 1, 3 * 4096));
	assert_false(classify_header(7, 0, 4096));
	assert_false(classify_header(7, 2, 4096));
	assert_false(classify_header(7, UINT32_MAX, 4096));
	assert_false(classify_header(UINT32_MAX, 1, 4096));
}

static void put32(uint8_t *e, size_t at, uint32_t v)
{
	memcpy(e + at, &v, sizeof(v));
}

/* As librxe writes them. */
static void write_send(uint8_t *e, uint32_t opcode, uint32_t flags, uint32_t length, uint32_t sges)
{
	put32(e, 12, opcode);
	put32(e, 16, flags);
	put32(e, 24, 0x55667788); /* remote address */
	put32(e, 28, 0x7f12);
	put32(e, 184, length);
	put32(e, 188, length);
	put32(e, 196, sges);
	for (uint32_t i = 0; i < sges; i++)
		put32(e, 208 + 16 * i + 8, i ? 0 : length);
}

static void write_recv(uint8_t *e, uint32_t length, uint32_t sges)
{
	put32(e, 16, length);
	put32(e, 20, length);
	put32(e, 28, sges);
	for (uint32_t i = 0; i < sges; i++)
		put32(e, 40 + 16 * i + 8, i ? 0 : length);
}

TEST(entry_of_each_kind__is_recognised)
{
	uint8_t send[256] = { 0 }, recv[256] = { 0 }, small[128] = { 0 }, done[128] = { 0 };

	write_send(send, 4, 2, 65536, 1);
	assert_int_equal(classify_entry(send, sizeof(send)), CLASS_SQ);
	write_recv(recv, 4096, 2);
	assert_int_equal(classify_entry(recv, sizeof(recv)), CLASS_RECV);
	write_recv(small, 4096, 2);
	assert_int_equal(classify_entry(small, sizeof(small)), CLASS_RECV);
	put32(done, 12, 128);
	put32(done, 20, 64);
	put32(done, 28, 17);
	assert_int_equal(classify_entry(done, sizeof(done)), CLASS_CQ);
}

TEST(receive_of_few_bytes__could_be_a_send_and_is_not_decided)
{
	uint8_t recv[256] = { 0 };

	write_recv(recv, 0, 0);
	assert_int_equal(classify_entry(recv, sizeof(recv)), CLASS_UNKNOWN);
}

TEST(rubbish_entry__is_nothing)
{
	uint8_t e[256] = { 0 }, c[128] = { 0 };

	write_send(e, 77, 2, 4096, 1); /* no such operation */
	assert_int_equal(classify_entry(e, sizeof(e)), CLASS_UNKNOWN);
	write_send(e, 4, 2, 4096, 1);
	put32(e, 208 + 8, 4095); /* does not add up */
	assert_int_equal(classify_entry(e, sizeof(e)), CLASS_UNKNOWN);
	memset(e, 0, sizeof(e));
	write_recv(e, 4096, 1);
	put32(e, 40 + 8, 4095);
	assert_int_equal(classify_entry(e, sizeof(e)), CLASS_UNKNOWN);
	put32(c, 12, 5); /* padding of a receive, no completion: queue pair 3 */
	put32(c, 28, 3);
	assert_int_equal(classify_entry(c, sizeof(c)), CLASS_UNKNOWN);
	put32(c, 12, 0);
	put32(c, 28, 6); /* more pieces than fit */
	assert_int_equal(classify_entry(c, sizeof(c)), CLASS_UNKNOWN);
}

/* Nor the other way round, whatever address, flags and size. */
TEST(random_sends__are_never_receives)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 100000; i++) {
		uint8_t e[512] = { 0 };
		uint32_t length = (uint32_t)prop_range(&p, 0, 1u << prop_range(&p, 0, 20));
		uint64_t addr = prop_hostile(&p);

		write_send(e, (uint32_t)prop_range(&p, 0, 9), (uint32_t)prop_range(&p, 0, 7),
			   length, (uint32_t)prop_range(&p, 1, 4));
		memcpy(e + 24, &addr, sizeof(addr));
		put32(e, 20, (uint32_t)prop_hostile(&p));
		put32(e, 176, (uint32_t)i);
		put32(e, 188, (uint32_t)prop_range(&p, 0, length));
		prop_assert(&p, i, classify_entry(e, sizeof(e)) != CLASS_RECV);
	}
}

/* The trap: a receive queue must never be classified as a send queue. */
TEST(random_receives__are_never_sends)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 100000; i++) {
		uint32_t elem = 256u << prop_range(&p, 0, 2), sges, sum = 0;
		uint8_t e[1024] = { 0 };
		uint64_t id = prop_hostile(&p);

		sges = (uint32_t)prop_range(&p, 0, (elem - 40) / 16 < 32 ? (elem - 40) / 16 : 32);
		memcpy(e, &id, sizeof(id));
		for (uint32_t k = 0; k < sges; k++) {
			uint32_t len = (uint32_t)prop_range(&p, 0, 1u << prop_range(&p, 0, 20));
			uint64_t addr = prop_hostile(&p);

			memcpy(e + 40 + 16 * k, &addr, sizeof(addr));
			put32(e, 40 + 16 * k + 8, len);
			put32(e, 40 + 16 * k + 12, (uint32_t)prop_u64(&p));
			sum += len;
		}
		put32(e, 16, sum);
		put32(e, 20, (uint32_t)prop_range(&p, 0, sum)); /* partly filled */
		put32(e, 24, (uint32_t)prop_range(&p, 0, sges));
		put32(e, 28, sges);
		prop_assert(&p, i, classify_entry(e, elem) != CLASS_SQ);
	}
}
