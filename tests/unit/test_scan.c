// SPDX-License-Identifier: GPL-2.0-or-later
/* scan: all rings of one guest, once. */
#include "tests/unit/prop.h"

#include <string.h>

#include "ibmon/ring/ops.h"
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

static void open_rings(struct fixture *x, uint32_t n, uint16_t old)
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

/* What the sampler does not look at unless something was found. */
static void check_nothing_found(struct fixture *x)
{
	static const struct scan_result none;
	const struct report rep = { .slot = 5 };
	struct usage u = x->u;

	u.backlog = u.queues = 0;
	assert_memory_equal(&u, (&(struct usage){ .slot = 5, .link = 1, .cpu_ns = 1234 }),
			    sizeof(u));
	assert_memory_equal(&x->rep, &rep, sizeof(rep));
	assert_memory_equal(&x->res, &none, sizeof(none));
}

static void scan_after(struct fixture *x, int64_t elapsed_ns)
{
	memset(&x->u, 0, sizeof(x->u));
	memset(&x->res, 0xee, sizeof(x->res));
	x->u.slot = 5;
	x->u.link = 1;
	x->u.cpu_ns = 1234;
	scan_guest(x->set, elapsed_ns, &x->u, &x->rep, &x->whole, &x->res);
	if (!x->res.found)
		check_nothing_found(x);
}

static void scan(struct fixture *x)
{
	scan_after(x, MS);
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
	assert_false(x->res.found);
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
	for (uint32_t i = 0; i < RINGS; i++) {
		fake_put(&x->f[i], FAKE_MASK, 7);
		fake_do(&x->f[i], FAKE_WRITE, 1);
	}
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

/* --- idle rings ------------------------------------------------------------------ */

/* Scans until a fault; how many. */
static uint32_t scans_to_fault(struct fixture *x)
{
	uint32_t n = 1;

	for (scan(x); !x->res.faults && n < 1000; n++)
		scan(x);
	return n;
}

/* Neither producer nor entries moved: only the header, or the consumer, is forged. */
RIG_TEST(scan__idle_ring_is_forged__is_found_by_a_check)
{
	static const size_t fields[] = { FAKE_LOG2_ELEM, FAKE_MASK, FAKE_CONSUMER };
	struct fixture *x = *state;

	open_rings(x, 6, 0);
	for (uint32_t i = 0; i < 3; i++) {
		scan(x);
		fake_put(&x->f[i], fields[i], 0x700);
		assert_in_range(scans_to_fault(x), 1, SCAN_CHECK_EACH);
		assert_int_equal(x->res.fault_id[0], 100 + i);
		scan_fault_delivered(x->set, 100 + i);
	}
	for (uint32_t i = 0; i < 2 * SCAN_REST_AFTER; i++)
		scan(x);
	for (uint32_t i = 3; i < 6; i++) {
		fake_put(&x->f[i], fields[i - 3], 0x700);
		assert_in_range(scans_to_fault(x), 1, SCAN_CHECK_EACH * 8);
		assert_int_equal(x->res.fault_id[0], 100 + i);
		scan_fault_delivered(x->set, 100 + i);
	}
}

/* Bring all rings to rest, and n scans further. */
static void rest(struct fixture *x, uint32_t n)
{
	for (uint32_t i = 0; i < SCAN_REST_AFTER + 1 + n; i++) {
		scan(x);
		assert_int_equal(x->u.wrs, 0);
	}
	for (uint32_t i = 0; i < x->set->rings; i++)
		assert_true(x->set->ring[i].idle >= SCAN_REST_AFTER);
}

RIG_TEST(scan__first_work_of_a_rested_ring__is_counted_within_8_ms)
{
	struct fixture *x = *state;
	uint32_t later = 0;

	open_rings(x, RINGS, 0);
	scan(x);
	/* When the look at a ring was has no influence: all of them are tried. */
	for (uint32_t phase = 0; phase < 20; phase++) {
		uint64_t wrs = 0, mtus = 0;

		rest(x, phase);
		for (uint32_t i = 0; i < RINGS; i++)
			fake_do(&x->f[i], FAKE_WRITE, 2048);
		for (int i = 0; i < 8; i++) {
			later += wrs && wrs < RINGS;
			scan(x);
			wrs += x->u.wrs;
			mtus += x->u.mtus_sent;
		}
		assert_int_equal(wrs, RINGS);
		assert_int_equal(mtus, 2 * RINGS);
	}
	assert_true(later > 20); /* they did rest */
}

/* One that is not idle among them changes nothing for those before it. */
RIG_TEST(scan__ring_with_work_among_idle_ones__each_is_looked_at_once)
{
	struct fixture *x = *state;

	open_rings(x, 4, 0);
	scan(x);
	fake_post(&x->f[2], FAKE_WRITE, 1);
	scan(x);
	for (uint32_t n = 1; n < 100; n++) {
		scan(x);
		assert_int_equal(x->u.backlog, 1);
		assert_int_equal(x->set->ring[0].idle, n + 1);
		assert_int_equal(x->set->ring[2].idle, n);
		assert_int_equal(x->set->ring[3].idle, n + 1);
	}
}

/* A guest under a low cap, or one that works seldom: each interval of it is judged. */
RIG_TEST(scan__ring_that_paused_for_less_than_a_second__is_counted_at_once)
{
	static const uint32_t pauses[] = { 60, 65, 130, 500, 1000 };
	struct fixture *x = *state;

	open_rings(x, RINGS, 0);
	scan(x);
	for (size_t k = 0; k < sizeof(pauses) / sizeof(pauses[0]); k++) {
		for (uint32_t i = 0; i < pauses[k]; i++) {
			scan(x);
			assert_int_equal(x->u.wrs, 0);
		}
		for (uint32_t i = 0; i < RINGS; i++)
			fake_do(&x->f[i], FAKE_WRITE, 2048);
		scan(x);
		assert_int_equal(x->u.wrs, RINGS);
	}
}

/* Laps, posts in flight, all that a busy ring does may come before the first look. */
RIG_TEST(scan__rested_ring_works_in_bursts__nothing_is_lost)
{
	struct fixture *x = *state;
	uint64_t wrs = 0, mtus = 0, random = 12345, posted = 0;

	open_rings(x, 4, 0);
	scan(x);
	for (int burst = 0; burst < 400; burst++) {
		uint32_t pause;

		random = random * 6364136223846793005u + 1442695040888963407u;
		pause = random >> 60 ? (uint32_t)(random >> 40) % 20 : SCAN_REST_AFTER + 36;
		for (uint32_t k = (uint32_t)(random >> 33) % 40; k > 0; k--, posted++)
			fake_do(&x->f[(random >> 50) % 4], FAKE_WRITE, 1024);
		for (uint32_t i = 0; i < pause; i++) {
			scan(x);
			wrs += x->u.wrs;
			mtus += x->u.mtus_sent;
		}
	}
	for (int i = 0; i < 8; i++) {
		scan(x);
		wrs += x->u.wrs;
		mtus += x->u.mtus_sent;
	}
	assert_int_equal(wrs, posted);
	assert_int_equal(mtus, posted);
}

/* A ring that leaves may have worked since it was looked at last; the others are not read. */
RIG_TEST(scan__rested_rings_may_leave__are_looked_at_at_once)
{
	struct fixture *x = *state;
	struct usage u = { .slot = 5 };

	open_rings(x, 4, 0);
	scan(x);
	rest(x, 3);
	x->set->ring[3].idle = 0;
	for (int i = 0; i < 4; i++)
		fake_do(&x->f[i], FAKE_WRITE, 2048);
	scan_rested(x->set, &u);
	assert_int_equal(u.wrs, 3);
	assert_int_equal(u.mtus_sent, 6);
	scan_rested(x->set, &u);
	assert_int_equal(u.wrs, 3);
	scan(x);
	assert_int_equal(x->u.wrs, 1);
}

/* The producer is where it was: only the newest entry tells. */
RIG_TEST(scan__whole_lap_between_two_scans__is_counted)
{
	struct fixture *x = *state;

	open_rings(x, 1, 0);
	for (int i = 0; i < 4; i++) {
		scan(x);
		assert_int_equal(x->u.wrs, i ? 16 : 0);
		for (int k = 0; k < 16; k++)
			fake_do(&x->f[0], FAKE_WRITE, 1);
	}
}

/* A set made anew does not know what was watched where the ring was mapped before. */
RIG_TEST(scan__ring_mapped_elsewhere__is_read_there)
{
	struct fixture *x = *state;

	open_rings(x, 1, 0);
	for (int i = 0; i < 2; i++)
		fake_do(&x->f[i], FAKE_WRITE, 1);
	scan(x);
	assert_int_equal(x->u.wrs, 1);
	assert_int_equal(ring_resume(x->set->ring[0].ring, &x->f[0].desc, x->f[1].mem, x->f[1].len,
				     MS, true),
			 1);
	x->set->ring[0] = (struct scan_ring){ .ring = x->set->ring[0].ring, .id = 100 };
	fake_do(&x->f[1], FAKE_WRITE, 1);
	scan(x);
	assert_int_equal(x->u.wrs, 1);
}

/* Guests come before their rings, and between those that have some. */
RIG_TEST(scan__guests_without_rings__are_passed_over)
{
	struct fixture *x = *state;
	struct scan_guest empty[10] = { { .slot = 1 } };

	open_rings(x, 2, 0);
	for (int i = 9; i >= 0; i--)
		scan_before(&empty[i], i < 9 ? &empty[i + 1] : x->set);
	scan(x);
	for (int i = 0; i < 2; i++)
		fake_do(&x->f[i], FAKE_WRITE, 2048);
	for (int i = 9; i >= 0; i--) {
		scan_prefetch(&empty[i], MS);
		scan_guest(&empty[i], MS, &x->u, &x->rep, NULL, &x->res);
		assert_int_equal(x->u.wrs, 0);
	}
	scan(x);
	assert_int_equal(x->u.wrs, 2);
}

/* What is brought into the cache: it has room for only so many lines that wait there. */
RIG_TEST(scan__guest_ahead__is_twelve_guests_or_56_rings_on)
{
	struct fixture *x = *state;
	struct scan_guest *one = calloc(17, sizeof(*one));
	struct scan_guest *many = calloc(1, sizeof(*many) + 56 * sizeof(many->ring[0]));

	for (int i = 16; i >= 0; i--) {
		one[i].rings = 1;
		scan_before(&one[i], i < 16 ? &one[i + 1] : NULL);
	}
	assert_ptr_equal(one[0].ahead, &one[12]);
	assert_ptr_equal(one[4].ahead, &one[16]);
	assert_null(one[5].ahead);
	/* One ring each: the rings ahead are those of other guests. Each 8 rings is a burst. */
	assert_ptr_equal(one[1].quiet.g, NULL);
	assert_ptr_equal(one[1].own.g, &one[15]);
	assert_ptr_equal(one[1].work.g, &one[13]);
	assert_ptr_equal(one[1].rest.g, &one[9]);
	assert_int_equal(one[0].to_end, 17);
	many->rings = 56;
	scan_before(many, &one[0]);
	assert_ptr_equal(many->ahead, &one[0]);
	many->rings = 55;
	scan_before(many, &one[0]);
	assert_ptr_equal(many->ahead, &one[1]);
	open_rings(x, 1, 0);
	scan_before(x->set, many);
	assert_ptr_equal(x->set->ahead, &one[0]);
	free(one);
	free(many);
}

RIG_TEST(scan__late_scan__looks_at_all_rested_rings)
{
	struct fixture *x = *state;

	open_rings(x, RINGS, 0);
	scan(x);
	rest(x, 3);
	for (uint32_t i = 0; i < RINGS; i++)
		fake_do(&x->f[i], FAKE_WRITE, 1);
	scan_after(x, SCAN_REST_NS);
	assert_int_equal(x->u.wrs, RINGS);
}

/* The backlog is part of each scan's usage, and its end is seen at once. */
RIG_TEST(scan__ring_with_work_in_flight__never_rests)
{
	struct fixture *x = *state;

	open_rings(x, 1, 0);
	scan(x);
	fake_post(&x->f[0], FAKE_WRITE, 1);
	fake_send(&x->f[0]);
	for (uint32_t i = 0; i < 3 * SCAN_REST_AFTER + 5; i++) {
		scan(x);
		assert_int_equal(x->u.backlog, 1);
		assert_int_equal(x->u.wrs, 0);
	}
	fake_complete(&x->f[0], FAKE_OK);
	scan(x);
	assert_int_equal(x->u.wrs, 1);
	assert_int_equal(x->u.backlog, 0);
}

/*
 * A jump is plausible by the time since the last look: a rested ring's is 7 ms, not the 1 ms of the
 * scan.
 */
RIG_TEST(scan__rested_ring_jumped__is_judged_by_the_time_since_its_look)
{
	static const uint32_t jump[] = { 131072 + 650000, 131072 + 750000 };

	for (int i = 0; i < 2; i++) {
		struct fixture *x = *state;
		uint64_t wrs = 0;
		uint32_t faults = 0;

		x->set->rings = 0;
		x->set->next = 0;
		x->set->resting = 0;
		x->set->ring[0] = (struct scan_ring){ 0 };
		x->set->time_ns = x->set->carry_ns = 0;
		assert_int_equal(
			ring_open(&x->set->ring[0].ring, &x->f[i].desc, x->f[i].mem, x->f[i].len),
			0);
		x->set->rings = 1;
		scan(x);
		rest(x, 0);
		while (x->set->ring[0].looked_ns != x->set->time_ns)
			scan(x);
		fake_do(&x->f[i], FAKE_SEND, 1);
		fake_put_entry(&x->f[i], 0, FAKE_WQE_SSN, jump[i] & ~15u);
		for (int k = 0; k < 8; k++) {
			scan(x);
			wrs += x->u.wrs;
			faults += x->res.faults;
		}
		assert_int_equal(faults != 0, i);
		if (!i)
			assert_true(wrs > 700000);
		ring_close(x->set->ring[0].ring);
		x->set->rings = 0;
	}
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
