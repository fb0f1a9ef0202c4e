// SPDX-License-Identifier: GPL-2.0-or-later
/* scan: all rings of one guest, once. */
#include "tests/unit/prop.h"

#include <string.h>

#include "ibmon/scan.h"
#include "tests/fakes/fake_guest.h"
#include "tests/fakes/fake_latency.h"
#include "tests/fakes/fake_ring.h"
#include "tests/unit/unit.h"

#define MS 1000000LL

enum { RINGS = 12 };

struct fixture {
	struct fake_guest g;
	struct fake_ring f[RINGS];
	struct scan_guest *set;
	struct usage u;
	struct report rep;
	struct window whole;
	struct scan_result res;
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x)
		return -1;
	fake_guest_open(&x->g);
	x->set = calloc(1, sizeof(*x->set) + RINGS * sizeof(x->set->ring[0]));
	x->set->slot = 5;
	x->set->registry = fake_registry(&x->g);
	x->set->generation = 2;
	for (uint32_t i = 0; i < RINGS; i++) {
		fake_sq_open(&x->f[i], 16, FAKE_RC, 1024);
		x->f[i].desc.id = 100 + i;
	}
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	for (uint32_t i = 0; i < x->set->rings; i++)
		ring_close(x->set->ring[i].ring);
	for (uint32_t i = 0; i < RINGS; i++)
		fake_close(&x->f[i]);
	fake_guest_close(&x->g);
	free(x->set);
	free(x);
	return 0;
}

static void open_rings(struct fixture *x, uint32_t n, uint32_t old)
{
	for (uint32_t i = 0; i < n; i++) {
		struct scan_ring *r = &x->set->ring[i];
		struct fake_ring *f = &x->f[i];

		assert_int_equal(ring_open(&r->ring, &f->desc, f->mem, f->len), 0);
		r->id = f->desc.id;
		r->old = old;
		x->set->rings++;
	}
}

static void scan(struct fixture *x)
{
	memset(&x->u, 0, sizeof(x->u));
	memset(&x->res, 0xee, sizeof(x->res));
	x->u.slot = 5;
	x->u.link = 1;
	x->u.cpu_ns = 1234;
	scan_guest(x->set, MS, &x->u, &x->rep, &x->whole, &x->res);
}

RIG_TEST(scan__several_rings__add_up)
{
	struct fixture *x = *state;

	open_rings(x, 3, 0);
	scan(x);
	for (int i = 0; i < 3; i++)
		fake_do(&x->f[i], i == 2 ? FAKE_READ : FAKE_WRITE, 2048);
	fake_post(&x->f[0], FAKE_WRITE, 1);
	scan(x);
	assert_int_equal(x->u.wrs, 3);
	assert_int_equal(x->u.mtus_sent, 4);
	assert_int_equal(x->u.mtus_recv, 2);
	assert_int_equal(x->u.bytes_sent, 4096);
	assert_int_equal(x->u.backlog, 1);
	assert_int_equal(x->u.msg_bytes, 2048);
	assert_int_equal(x->u.slot, 5);
	assert_int_equal(x->u.link, 1);
	assert_int_equal(x->u.cpu_ns, 1234);
	assert_int_equal(x->u.queues, 1);
	assert_int_equal(x->res.faults, 0);
	assert_false(x->res.refresh);
	for (int i = 0; i < 3; i++)
		fake_post(&x->f[i], FAKE_WRITE, 1);
	x->u.queues = 0;
	scan(x);
	assert_int_equal(x->u.queues, 3);
	x->u.queues = 0;
	scan(x); /* none has changed */
	assert_int_equal(x->u.queues, 3);
}

RIG_TEST(scan__history_of_an_old_ring__is_not_charged)
{
	struct fixture *x = *state;

	fake_do(&x->f[0], FAKE_WRITE, 5000);
	open_rings(x, 1, 1);
	scan(x);
	assert_int_equal(x->u.mtus_sent, 0);
	fake_do(&x->f[0], FAKE_WRITE, 5000);
	scan(x);
	assert_int_equal(x->u.mtus_sent, 5);
}

/* A ring made while the daemon ran: what it did before it was mapped is charged. */
RIG_TEST(scan__history_of_a_new_ring__is_charged)
{
	struct fixture *x = *state;

	fake_do(&x->f[0], FAKE_WRITE, 5000);
	open_rings(x, 1, 0);
	scan(x);
	assert_int_equal(x->u.mtus_sent, 5);
}

RIG_TEST(scan__generation_moved__asks_for_a_refresh)
{
	struct fixture *x = *state;

	open_rings(x, 1, 0);
	scan(x);
	assert_false(x->res.refresh);
	fake_write_begin(&x->g);
	scan(x);
	assert_true(x->res.refresh);
	fake_write_end(&x->g);
	scan(x);
	assert_true(x->res.refresh);
	x->set->generation = 4;
	scan(x);
	assert_false(x->res.refresh);
}

RIG_TEST(scan__guest_not_attached__reads_no_registry)
{
	struct fixture *x = *state;

	x->set->registry = NULL;
	scan(x);
	assert_false(x->res.refresh);
	assert_int_equal(x->u.wrs, 0);
}

RIG_TEST(scan__ring_at_fault__is_told_once_and_the_others_go_on)
{
	struct fixture *x = *state;

	open_rings(x, 3, 0);
	scan(x);
	fake_put(&x->f[1], FAKE_MASK, 7);
	for (int i = 0; i < 3; i++)
		if (i != 1)
			fake_do(&x->f[i], FAKE_WRITE, 1);
	scan(x);
	assert_int_equal(x->u.wrs, 2);
	assert_int_equal(x->res.faults, 1);
	assert_int_equal(x->res.fault_id[0], 101);
	assert_int_equal(x->res.fault_why[0], RING_FAULT_HEADER);
	scan(x); /* whoever should hear of it did not */
	assert_int_equal(x->res.faults, 1);
	scan_fault_delivered(x->set, x->res.fault_id[0]);
	for (int i = 0; i < 5; i++) {
		scan(x);
		assert_int_equal(x->res.faults, 0);
		assert_int_equal(x->u.wrs, 0);
	}
}

RIG_TEST(scan__more_faults_than_fit__the_rest_comes_next)
{
	struct fixture *x = *state;
	uint32_t told[RINGS] = { 0 };

	open_rings(x, RINGS, 0);
	scan(x);
	for (uint32_t i = 0; i < RINGS; i++)
		fake_put(&x->f[i], FAKE_MASK, 7);
	for (int k = 0; k < 4; k++) {
		scan(x);
		assert_true(x->res.faults <= 8);
		for (uint32_t i = 0; i < x->res.faults; i++) {
			told[x->res.fault_id[i] - 100]++;
			scan_fault_delivered(x->set, x->res.fault_id[i]);
		}
	}
	for (uint32_t i = 0; i < RINGS; i++)
		assert_int_equal(told[i], 1);
}

/* --- latency pages --------------------------------------------------------------- */

static void open_latencies(struct fixture *x, uint32_t n, struct latency_page *l)
{
	for (uint32_t i = 0; i < n; i++) {
		fake_latency_open(fake_page(&x->g, FAKE_FRAME_LATENCY + i));
		latency_page_open(&l[i], fake_page(&x->g, FAKE_FRAME_LATENCY + i));
		x->set->latency[i] = &l[i];
	}
	x->set->latencies = n;
	scan(x);
}

static void report(struct fixture *x, uint32_t page, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		fake_latency_put(fake_page(&x->g, FAKE_FRAME_LATENCY + page), 10, 2, 1);
}

RIG_TEST(scan__latencies_of_several_pages__are_one_report)
{
	struct latency_page l[3];
	struct fixture *x = *state;

	open_latencies(x, 3, l);
	report(x, 0, 2);
	report(x, 2, 3);
	scan(x);
	assert_int_equal(x->rep.slot, 5);
	assert_int_equal(x->rep.n, 5);
	assert_int_equal(x->rep.sum_ns, 65);
	assert_int_equal(x->rep.io_sum_ns, 15);
	assert_int_equal(x->whole.n, 5);
	scan(x);
	assert_int_equal(x->rep.n, 0);
	assert_int_equal(x->whole.n, 5);
}

RIG_TEST(scan__latencies_in_masses__each_page_has_its_part_of_the_time)
{
	struct latency_page l[GUEST_LATENCIES_MAX];
	struct fixture *x = *state;

	open_latencies(x, GUEST_LATENCIES_MAX, l);
	for (uint32_t i = 0; i < GUEST_LATENCIES_MAX - 1; i++)
		report(x, i, 1000);
	report(x, GUEST_LATENCIES_MAX - 1, 3);
	scan(x);
	assert_int_equal(x->rep.n,
			 SCAN_LATENCIES_MAX / GUEST_LATENCIES_MAX * (GUEST_LATENCIES_MAX - 1) + 3);
	assert_int_equal(x->rep.flags, REPORT_LOST);
	assert_int_equal(x->res.latencies_lost,
			 (1000 - GUEST_LATENCY_SAMPLES) * (GUEST_LATENCIES_MAX - 1));
}

RIG_TEST(scan__losses_beyond_64_bits__stay_at_the_most)
{
	struct latency_page l[2];
	struct fixture *x = *state;

	open_latencies(x, 2, l);
	for (uint32_t i = 0; i < 2; i++)
		((struct guest_latency *)fake_page(&x->g, FAKE_FRAME_LATENCY + i))->written =
			UINT64_MAX;
	scan(x);
	assert_int_equal(x->res.latencies_lost, UINT64_MAX);
	assert_int_equal(x->rep.n, 0);
}
