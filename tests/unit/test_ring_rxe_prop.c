// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ring_rxe: properties under random traffic, random sampling and random
 * forgery. RESEX_SEED=N repeats a run.
 */
#include "tests/unit/prop.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/fakes/fake_ring.h"
#include "tests/unit/unit.h"

#define SECOND 1000000000LL

/* Guests race with us by nature; a detector of races can only say so. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DETECTS_RACES 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define DETECTS_RACES 1
#endif
#ifndef DETECTS_RACES
#define DETECTS_RACES 0
#endif

/* Only one of these tests has threads. */
enum { ROUNDS = DETECTS_RACES ? 6 : 60, STEPS = 600 };

struct mix {
	bool reads, locals, errors, refusals; /* what may happen */
	bool often;			      /* sample before any entry can be overwritten */
};

static uint32_t pick_opcode(struct prop *p, const struct fake_ring *f, const struct mix *m)
{
	static const uint32_t all[] = {
		FAKE_WRITE, FAKE_WRITE_IMM, FAKE_SEND,	    FAKE_SEND_IMM,
		FAKE_READ,  FAKE_CMP_SWAP,  FAKE_FETCH_ADD, FAKE_LOCAL_INV
	};

	for (;;) {
		uint32_t op = all[prop_range(p, 0, 7)];

		if (f->type == FAKE_UD && op != FAKE_SEND && op != FAKE_SEND_IMM)
			continue;
		if (f->type == FAKE_UC && op >= FAKE_READ && op <= FAKE_FETCH_ADD)
			continue;
		if ((op == FAKE_READ && !m->reads) || (op == FAKE_LOCAL_INV && !m->locals))
			continue;
		return op;
	}
}

static uint32_t pick_bytes(struct prop *p, const struct fake_ring *f, uint32_t op)
{
	uint32_t k = (uint32_t)prop_range(p, 0, 4);

	if (op == FAKE_CMP_SWAP || op == FAKE_FETCH_ADD)
		return 8;
	if (op == FAKE_LOCAL_INV)
		return 0;
	if (f->type == FAKE_UD)
		return (uint32_t)prop_range(p, 0, f->mtu);
	switch (prop_range(p, 0, 3)) {
	case 0:
		return k * f->mtu;
	case 1:
		return k * f->mtu + 1;
	case 2:
		return (k + 1) * f->mtu - 1;
	default:
		return (uint32_t)prop_range(p, 0, 70000);
	}
}

/* One thing the provider or the kernel may do now. */
static void act(struct prop *p, struct fake_ring *f, const struct mix *m)
{
	uint32_t op = pick_opcode(p, f, m);

	switch (prop_range(p, 0, 5)) {
	case 0:
	case 1:
		if (fake_room(f))
			fake_post(f, op, pick_bytes(p, f, op));
		else if (m->refusals)
			fake_refuse(f, op, pick_bytes(p, f, op));
		break;
	case 2:
		if (f->sent < f->posted && !f->failed)
			fake_send(f);
		break;
	case 3:
	case 4:
		if (f->failed && f->done < f->posted)
			fake_complete(f, FAKE_FLUSHED);
		else if (f->done < f->sent)
			fake_complete(f, FAKE_OK);
		break;
	default:
		if (m->refusals && prop_one_in(p, 8))
			fake_refuse(f, op, pick_bytes(p, f, op)); /* aborted */
		if (m->errors && prop_one_in(p, 50) && f->done < f->sent && !f->failed)
			fake_complete(f, FAKE_REMOTE_ERROR);
	}
}

static struct fake_truth minus(const struct fake_truth *a, const struct fake_truth *b)
{
	struct fake_truth d = {
		.wrs = a->wrs - b->wrs,
		.errors = a->errors - b->errors,
		.mtus_sent = a->mtus_sent - b->mtus_sent,
		.mtus_recv = a->mtus_recv - b->mtus_recv,
		.bytes_sent = a->bytes_sent - b->bytes_sent,
		.bytes_recv = a->bytes_recv - b->bytes_recv,
	};

	for (int i = 0; i < OP_KINDS; i++)
		d.ops[i] = a->ops[i] - b->ops[i];
	return d;
}

static void tell(const struct fake_ring *f, const struct sample *s, const struct fake_truth *d)
{
	print_error(
		"%s, %u slots, MTU %u: sample flags %x wrs %llu seen %llu lost %llu errors %llu "
		"mtus %llu + %llu bytes %llu + %llu (%llu) backlog %llu\n",
		f->type == FAKE_RC   ? "RC"
		: f->type == FAKE_UC ? "UC"
				     : "UD",
		f->mask + 1, f->mtu, s->flags, (unsigned long long)s->wrs,
		(unsigned long long)s->seen, (unsigned long long)s->lost,
		(unsigned long long)s->errors, (unsigned long long)s->mtus_sent,
		(unsigned long long)s->mtus_recv, (unsigned long long)s->bytes_sent,
		(unsigned long long)s->bytes_recv, (unsigned long long)s->bytes_bound,
		(unsigned long long)s->backlog);
	print_error("truth: wrs %llu errors %llu mtus %llu + %llu bytes %llu + %llu backlog %llu\n",
		    (unsigned long long)d->wrs, (unsigned long long)d->errors,
		    (unsigned long long)d->mtus_sent, (unsigned long long)d->mtus_recv,
		    (unsigned long long)d->bytes_sent, (unsigned long long)d->bytes_recv,
		    (unsigned long long)(f->posted - f->done));
}

#define HOLDS(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			tell(f, s, d);                                                             \
		prop_assert(p, step, cond);                                                        \
	} while (0)

/* What a sample may say, given what happened since the one before. */
static void check(struct prop *p, int step, const struct fake_ring *f, const struct sample *s,
		  const struct fake_truth *d)
{
	bool bounded = s->flags & SAMPLE_WRS_BOUNDED;

	HOLDS(s->wrs == s->seen + s->lost);
	HOLDS(s->seen <= RING_WALK_MAX);
	HOLDS(s->wrs >= d->wrs);
	HOLDS(bounded || s->wrs == d->wrs);
	HOLDS(s->backlog == f->posted - f->done);
	HOLDS(!(s->flags & SAMPLE_HISTORY));
	HOLDS(s->lost == 0 || s->flags & SAMPLE_LAPPED || bounded);
	HOLDS(s->bytes_sent <= d->bytes_sent && s->bytes_recv <= d->bytes_recv);
	HOLDS(s->bytes_sent + s->bytes_recv + s->bytes_bound >= d->bytes_sent + d->bytes_recv);
	if (s->lost)
		return;
	HOLDS(s->bytes_bound == 0);
	HOLDS(s->errors == d->errors);
	HOLDS(s->bytes_sent == d->bytes_sent && s->bytes_recv == d->bytes_recv);
	for (int i = 0; i < OP_KINDS; i++)
		HOLDS(s->ops[i] == d->ops[i]);
}

/* How many samples had all exact: so that flags do not excuse everything. */
struct tally {
	uint64_t samples, exact, lapped;
};

/* MTUs told and true since the last sample after which nothing was open. */
struct mtus {
	uint64_t told_sent, told_recv, sent, recv;
	bool guessed, estimated, lost;
};

/*
 * Where the newest entry has no packet numbers to go by (a local operation,
 * or overwritten by a refused post), MTUs may come with a later sample, but
 * never more than were true. When all is done and a plain SEND was last,
 * nothing is owed: the packet numbers tell the sum; how it divides is known
 * only when nothing was lost.
 */
static void check_mtus(struct prop *p, int step, const struct fake_ring *f, const struct sample *s,
		       const struct fake_truth *d, struct mtus *m, bool rest)
{
	m->told_sent += s->mtus_sent;
	m->told_recv += s->mtus_recv;
	m->sent += d->mtus_sent;
	m->recv += d->mtus_recv;
	m->guessed |= s->flags & SAMPLE_MTUS_GUESSED;
	m->estimated |= s->flags & SAMPLE_MTUS_ESTIMATED;
	m->lost |= s->lost > 0;
	HOLDS(m->estimated || !m->guessed);
	HOLDS(m->guessed || m->told_sent + m->told_recv <= m->sent + m->recv);
	if (!rest)
		return;
	HOLDS(m->guessed || m->told_sent + m->told_recv == m->sent + m->recv);
	HOLDS(m->estimated || m->lost || m->told_sent == m->sent);
	*m = (struct mtus){ 0 };
}

/* All that waits is done, and one more SEND. False: the queue pair failed. */
static bool come_to_rest(struct fake_ring *f)
{
	while (!f->failed && f->done < f->posted) {
		if (f->sent == f->done)
			fake_send(f);
		fake_complete(f, FAKE_OK);
	}
	if (f->failed)
		return false;
	fake_do(f, FAKE_SEND, 1);
	return true;
}

/* A queue pair that failed is reset, once it was drained and sampled, and used again. */
static void revive(struct prop *p, struct fake_ring *f)
{
	if (f->failed && f->done == f->posted && prop_one_in(p, 3))
		fake_reset(f, (uint32_t)prop_u64(p) & 0xffffff);
}

static void traffic(struct prop *p, const struct mix *m, struct tally *t)
{
	uint32_t slots = 2u << prop_range(p, 0, 6), mtu = 256u << prop_range(p, 0, 4);
	struct fake_truth before, d;
	struct mtus open = { 0 };
	struct fake_ring f;
	struct ring *r;
	struct sample s;

	fake_sq_open(&f, slots, (enum fake_type)prop_range(p, 0, 2), mtu);
	if (prop_one_in(p, 2)) {
		f.ssn = 0xffffff80; /* a long life behind it, and soon wraps */
		fake_do(&f, FAKE_SEND, 1);
	}
	assert_int_equal(ring_open(&r, &f.desc, f.mem, f.len), 0);
	assert_int_equal(ring_sample(r, SECOND, &s), 0);
	before = f.truth;
	for (int i = 0; i < STEPS; i++) {
		uint64_t until = f.posted + (slots - 1) / 2;
		bool rest;

		for (uint64_t k = prop_range(p, 0, 20 * slots); k > 0; k--)
			if (!m->often || f.posted < until)
				act(p, &f, m);
		rest = i % 16 == 15 && come_to_rest(&f);
		memset(&s, 0xee, sizeof(s));
		prop_assert(p, i, ring_sample(r, SECOND, &s) == 0);
		d = minus(&f.truth, &before);
		check(p, i, &f, &s, &d);
		check_mtus(p, i, &f, &s, &d, &open, rest);
		revive(p, &f);
		before = f.truth;
		t->samples++;
		t->exact += !s.flags && s.wrs > 0;
		/* Flushed and posted over: which entry failed first is not to be known. */
		t->lapped += s.lost > 0 && !d.errors;
	}
	ring_close(r);
	fake_close(&f);
}

static void run(const struct mix *m, struct tally *t)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < ROUNDS; i++)
		traffic(&p, m, t);
}

TEST(traffic__sampled_often__is_exact)
{
	const struct mix m = { .reads = true, .locals = true, .errors = true, .often = true };
	struct tally t = { 0 };

	run(&m, &t);
	assert_int_equal(t.lapped, 0);
	assert_true(t.exact > t.samples / 4);
}

TEST(traffic__sampled_often_with_refused_posts__is_exact)
{
	const struct mix m = { .reads = true, .errors = true, .refusals = true, .often = true };
	struct tally t = { 0 };

	run(&m, &t);
	assert_true(t.samples > 1000);
}

TEST(traffic__sampled_seldom__is_exact_where_it_says_so)
{
	const struct mix m = { 0 };
	struct tally t = { 0 };

	run(&m, &t);
	assert_true(t.lapped > t.samples / 20);
}

/* Errors are left out: of what failed and was posted over, nothing tells. */
TEST(traffic__sampled_seldom_with_everything__is_exact_where_it_says_so)
{
	const struct mix m = { .reads = true, .locals = true, .refusals = true };
	struct tally t = { 0 };

	run(&m, &t);
	assert_true(t.lapped > t.samples / 20);
}

/* --- forgery --- */

static void forge(struct prop *p, struct fake_ring *f)
{
	size_t at = prop_one_in(p, 3) ? prop_range(p, 0, 95) * 4
				      : prop_range(p, 0, (f->len - 4) / 4) * 4;

	fake_put(f, at, (uint32_t)prop_hostile(p));
}

static void check_hostile(struct prop *p, int step, const struct fake_ring *f,
			  const struct sample *s)
{
	uint64_t ops = 0;

	for (int i = 0; i < OP_KINDS; i++)
		ops += s->ops[i];
	prop_assert(p, step, s->wrs == s->seen + s->lost);
	prop_assert(p, step, f->desc.kind == RING_CQ || ops == s->seen);
	prop_assert(p, step, s->seen <= RING_WALK_MAX && s->seen <= 2 * (f->mask + 1));
	prop_assert(p, step, s->errors <= s->seen);
	prop_assert(p, step, s->backlog <= f->mask);
	/* Of one second; how long history took is not known. */
	prop_assert(p, step, s->flags & SAMPLE_HISTORY || s->wrs <= 1u << 30);
}

/*
 * Any word of the ring may hold anything: nothing outside the ring is read
 * (the memory ends where the ring does), what is told hangs together, and a
 * fault stays one.
 */
static void hostile(struct prop *p, bool cq, uint64_t *faults, uint64_t *alive)
{
	struct fake_ring f;
	struct ring *r;
	struct sample s;
	const struct mix m = { .reads = true, .locals = true, .errors = true, .refusals = true };

	if (cq)
		fake_cq_open(&f, 2u << prop_range(p, 0, 7));
	else
		fake_sq_open(&f, 2u << prop_range(p, 0, 7), FAKE_RC, 1024);
	assert_int_equal(ring_open(&r, &f.desc, f.mem, f.len), 0);
	for (int i = 0; i < 100; i++) {
		int ret;

		for (int k = 0; k < 10; k++)
			if (!cq)
				act(p, &f, &m);
			else if (fake_room(&f))
				fake_cqe(&f, 5, 0, 100, FAKE_OK);
			else
				fake_poll(&f, f.mask);
		if (prop_one_in(p, 4))
			forge(p, &f);
		ret = ring_sample(r, SECOND, &s);
		prop_assert(p, i, ret == 0 || ret == -EBADMSG);
		if (ret == 0) {
			(*alive)++;
			check_hostile(p, i, &f, &s);
			continue;
		}
		(*faults)++;
		prop_assert(p, i, ring_fault(r) != RING_OK);
		prop_assert(p, i, ring_sample(r, SECOND, &s) == -EBADMSG);
		break;
	}
	ring_close(r);
	fake_close(&f);
}

TEST(ring__any_word_forged__is_read_within_bounds)
{
	uint64_t faults = 0, alive = 0;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 1500; i++)
		hostile(&p, i % 4 == 0, &faults, &alive);
	assert_true(faults > 100 && alive > 1000);
}

TEST(open__any_header_and_descriptor__is_bounded)
{
	uint64_t opened = 0;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 20000; i++) {
		struct fake_ring f;
		struct ring_desc d;
		struct ring *r;
		struct sample s;

		if (prop_one_in(&p, 2))
			fake_sq_open(&f, 2u << prop_range(&p, 0, 5), FAKE_RC, 1024);
		else
			fake_cq_open(&f, 2u << prop_range(&p, 0, 5));
		d = f.desc;
		for (uint64_t k = prop_range(&p, 0, 3); k > 0; k--)
			fake_put(&f, prop_range(&p, 0, 95) * 4, (uint32_t)prop_hostile(&p));
		if (prop_one_in(&p, 3))
			d.entries = 2u << prop_range(&p, 0, 19);
		if (prop_one_in(&p, 3))
			d.elem_size = 64u << prop_range(&p, 0, 6);
		if (prop_one_in(&p, 3))
			d.offset = (uint32_t)prop_range(&p, 0, 4095);
		if (ring_open(&r, &d, f.mem, f.len) == 0) {
			opened++;
			ring_sample(r, SECOND, &s);
			ring_sample(r, SECOND, &s);
			ring_close(r);
		}
		fake_close(&f);
	}
	assert_true(opened > 1000);
}

/* --- a writer that does not wait --- */

struct race {
	struct fake_ring f;
	atomic_bool stop;
	uint64_t seed;
};

static void *writer(void *arg)
{
	struct race *x = arg;
	struct prop p = { .state = x->seed, .seed = x->seed };

	while (!atomic_load(&x->stop)) {
		for (uint64_t n = prop_range(&p, 1, 40); n > 0; n--) {
			fake_do(&x->f, FAKE_WRITE, (uint32_t)prop_range(&p, 0, 10000));
			atomic_thread_fence(memory_order_seq_cst);
		}
		if (prop_one_in(&p, 4))
			sched_yield();
	}
	return NULL;
}

/* Sampled while it is written: no fault is found, and nothing is counted twice or never. */
TEST(ring__written_while_sampled__total_is_the_truth)
{
	struct race x = { 0 };
	struct ring_totals t;
	struct prop p;
	struct ring *r;
	struct sample s;
	pthread_t w;

	if (DETECTS_RACES)
		skip();
	prop_start(&p);
	x.seed = p.seed;
	fake_sq_open(&x.f, 64, FAKE_RC, 1024);
	assert_int_equal(ring_open(&r, &x.f.desc, x.f.mem, x.f.len), 0);
	assert_int_equal(ring_sample(r, SECOND, &s), 0);
	assert_int_equal(pthread_create(&w, NULL, writer, &x), 0);
	for (int i = 0; i < 100000; i++)
		prop_assert(&p, i, ring_sample(r, SECOND, &s) == 0);
	atomic_store(&x.stop, true);
	pthread_join(w, NULL);
	prop_assert(&p, 0, ring_sample(r, SECOND, &s) == 0);
	ring_totals(r, &t);
	prop_assert(&p, 0, t.wrs >= x.f.truth.wrs);
	prop_assert(&p, 0, t.flags & SAMPLE_WRS_BOUNDED || t.wrs == x.f.truth.wrs);
	prop_assert(&p, 0, t.flags & SAMPLE_MTUS_ESTIMATED || t.mtus_sent == x.f.truth.mtus_sent);
	prop_assert(&p, 0, t.bytes_sent <= x.f.truth.bytes_sent);
	prop_assert(&p, 0, t.bytes_sent + t.bytes_bound >= x.f.truth.bytes_sent);
	ring_close(r);
	fake_close(&x.f);
}
