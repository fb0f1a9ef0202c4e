// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ring_run: the short way for runs of entries that are alike finds what the general steps find.
 *
 * Both sample the same memory from the same state: sample and state must be equal after it, to the
 * byte. Where the short way declines, it has changed nothing. RESEX_SEED=N repeats a run.
 */
#include "tests/unit/prop.h"

#include <string.h>

#include "ibmon/ring/rxe_sq.h"
#include "tests/fakes/fake_ring.h"
#include "tests/unit/unit.h"

enum { ROUNDS = 60000, STEPS = 120, LARGE = 8192 };

struct pair {
	struct fake_ring f;
	struct ring_mem mem;
	size_t bytes;		      /* of the state */
	struct rxe_sq *general, *run; /* states */
	uint64_t declined, ran;
	bool sends;		  /* only these */
	uint32_t opcode, message; /* of the messages now, and their bytes */
};

static void pair_open(struct pair *x, uint32_t slots, enum fake_type type, uint32_t mtu)
{
	fake_sq_open(&x->f, slots, type, mtu);
	if (mtu == 2048)
		x->f.desc.path_mtu = 0;
	x->mem = (struct ring_mem){ .base = x->f.mem, .len = (uint32_t)x->f.len };
	x->bytes = ring_rxe_sq.state_size(&x->f.desc);
	x->general = calloc(1, x->bytes);
	x->run = calloc(1, x->bytes);
	assert_int_equal(ring_rxe_sq.open(&x->f.desc, &x->mem, x->general), 0);
}

static void pair_close(struct pair *x)
{
	free(x->general);
	free(x->run);
	fake_close(&x->f);
}

/* False: the ring is at fault. */
static bool sample_both(struct pair *x, int64_t elapsed_ns)
{
	struct sample general = { 0 }, run = { 0 };
	static const struct sample none;
	struct rxe_ring r = { .d = &x->f.desc,
			      .m = &x->mem,
			      .q = x->run,
			      .out = &run,
			      .mask = x->f.desc.entries - 1,
			      .jump_max = 131072 + (uint64_t)elapsed_ns / 10 };
	enum ring_fault fault;

	memcpy(x->run, x->general, x->bytes);
	if (rxe_sample_run(&r)) {
		r.q = x->general;
		r.out = &general;
		fault = rxe_sample_any(&r, elapsed_ns);
		assert_int_equal(fault, RING_OK);
		assert_memory_equal(&run, &general, sizeof(run));
		assert_memory_equal(x->run, x->general, x->bytes);
		x->ran++;
		return true;
	}
	assert_memory_equal(x->run, x->general, x->bytes);
	assert_memory_equal(&run, &none, sizeof(run));
	r.q = x->general;
	r.out = &general;
	x->declined++;
	return rxe_sample_any(&r, elapsed_ns) == RING_OK;
}

static uint32_t pick_opcode(struct prop *p, const struct pair *x)
{
	static const uint32_t all[] = { FAKE_WRITE,	FAKE_READ,	FAKE_SEND,
					FAKE_WRITE_IMM, FAKE_FETCH_ADD, FAKE_LOCAL_INV };

	if (x->sends || x->f.type == FAKE_UD)
		return FAKE_SEND;
	return all[prop_range(p, 0, x->f.type == FAKE_UC ? 0 : 5)];
}

static uint32_t pick_bytes(struct prop *p, const struct fake_ring *f)
{
	return (uint32_t)prop_range(p, 0, f->type == FAKE_UD ? f->mtu : 5 * f->mtu);
}

/* n messages alike, completed, with status at last. */
static void do_run(struct pair *x, uint32_t n, uint32_t opcode, uint32_t bytes, uint32_t status)
{
	for (uint32_t i = 0; i < n && fake_room(&x->f); i++) {
		fake_post(&x->f, opcode, bytes);
		while (x->f.sent < x->f.posted && !x->f.failed)
			fake_send(&x->f);
		while (x->f.done < x->f.posted)
			fake_complete(&x->f, x->f.failed ? FAKE_FLUSHED
					     : i + 1 < n ? FAKE_OK
							 : status);
	}
}

static void forge_entry(struct prop *p, struct pair *x, uint32_t n)
{
	static const size_t fields[] = {
		FAKE_WQE_OPCODE,    FAKE_WQE_FLAGS,    FAKE_WQE_UD_QPN, FAKE_WQE_STATUS,
		FAKE_WQE_STATE,	    FAKE_WQE_LAST_PSN, FAKE_WQE_SSN,	FAKE_WQE_LENGTH,
		FAKE_WQE_FIRST_PSN, FAKE_WQE_NUM_SGE,  FAKE_WQE_UD_QPN, FAKE_WQE_UD_QPN,
	};
	static const uint32_t values[] = { 0, 1, 2, 4, 7, 8, 900, 70000, 0x1000000, 0xffffffff };
	size_t field = fields[prop_range(p, 0, 11)];
	uint64_t slot = x->f.done - 1 - prop_range(p, 0, n);
	uint32_t value = values[prop_range(p, 0, 9)], old;

	memcpy(&old, x->f.mem + FAKE_DATA + (slot & x->f.mask) * x->f.desc.elem_size + field, 4);
	if (prop_range(p, 0, 2) == 0) /* a little off */
		value = old + (prop_range(p, 0, 1) ? 1 : 0x1000000);
	fake_put_entry(&x->f, slot, field, value);
}

/* Memory that looks wiped for a while, as that of a ring that begins anew, or in part. */
static bool flash(struct prop *p, struct pair *x)
{
	uint32_t kept = prop_range(p, 0, 1) ? 0 : x->f.desc.elem_size;
	uint8_t *copy = malloc(x->f.len);
	bool ok;

	memcpy(copy, x->f.mem, x->f.len);
	memset(x->f.mem + FAKE_DATA + kept, 0, x->f.len - FAKE_DATA - kept);
	if (prop_range(p, 0, 1)) {
		fake_put(&x->f, FAKE_PRODUCER, 0);
		fake_put(&x->f, FAKE_CONSUMER, 0);
	}
	ok = sample_both(x, 1000);
	memcpy(x->f.mem, copy, x->f.len);
	free(copy);
	return ok;
}

static void forge_header(struct prop *p, struct pair *x)
{
	uint32_t v = (uint32_t)prop_range(p, 0, 2 * x->f.mask);

	switch (prop_range(p, 0, 2)) {
	case 0:
		fake_put(&x->f, FAKE_MASK, v);
		break;
	case 1:
		fake_put(&x->f, FAKE_LOG2_ELEM, v);
		break;
	default:
		v = fake_get(&x->f, FAKE_CONSUMER) + x->f.mask + 1;
		fake_put(&x->f, FAKE_PRODUCER, v);
		fake_put(&x->f, FAKE_CONSUMER, v);
	}
}

/* What spoils a run. False: the ring is at fault. */
static bool spoil(struct prop *p, struct pair *x, uint32_t n)
{
	switch (prop_range(p, 0, 9)) {
	case 0:
		if (fake_room(&x->f))
			fake_post(&x->f, x->opcode, x->message);
		return true;
	case 1:
		if (!fake_room(&x->f))
			return true;
		fake_post(&x->f, x->opcode, x->message);
		if (!x->f.failed)
			fake_send(&x->f);
		return true;
	case 2:
		fake_refuse(&x->f, pick_opcode(p, x), 100);
		return true;
	case 3:
		do_run(x, 1, pick_opcode(p, x), pick_bytes(p, &x->f), FAKE_REMOTE_ERROR);
		return true;
	case 4:
		fake_reset(&x->f, prop_range(p, 0, 1) ? x->f.psn : 77);
		return true;
	case 5:
		return flash(p, x);
	case 6:
		forge_header(p, x);
		return true;
	default:
		forge_entry(p, x, n);
		return true;
	}
}

/* A failed queue pair makes no runs: it is RESET. */
static bool step(struct prop *p, struct pair *x)
{
	static const int64_t elapsed[] = { 0, 1000000, 1000000, 600000000 };
	uint32_t n = (uint32_t)prop_range(p, 0, prop_range(p, 0, 5) ? 6 : 2 * x->f.mask);

	if (x->f.failed && prop_range(p, 0, 3) == 0)
		fake_reset(&x->f, 5);
	if (prop_one_in(p, 2)) {
		x->opcode = pick_opcode(p, x);
		x->message = pick_bytes(p, &x->f);
	}
	do_run(x, n, x->opcode, x->message, FAKE_OK);
	if (prop_range(p, 0, 5) == 0 && !spoil(p, x, n))
		return false;
	return sample_both(x, elapsed[prop_range(p, 0, 3)]);
}

TEST(ring_run__all_that_a_ring_does__is_found_alike)
{
	static const uint32_t mtus[] = { 256, 1024, 2048, 4096 };
	uint64_t ran = 0, declined = 0;
	struct prop p;

	(void)state;
	prop_start(&p);
	for (int round = 0; round < ROUNDS; round++) {
		enum fake_type type = (enum fake_type)(round % 4 ? FAKE_RC : round / 4 % 3);
		struct pair x = { .sends = prop_one_in(&p, 3) };
		int i = 0;

		x.opcode = pick_opcode(&p, &x);
		pair_open(&x, 4u << prop_range(&p, 0, 3), type, mtus[prop_range(&p, 0, 3)]);
		while (i++ < STEPS && step(&p, &x))
			;
		ran += x.ran;
		declined += x.declined;
		pair_close(&x);
	}
	print_message("%llu runs, %llu samples of other kinds\n", (unsigned long long)ran,
		      (unsigned long long)declined);
	/* Both ways were taken often. */
	assert_true(ran > ROUNDS * 5);
	assert_true(declined > ROUNDS * 5);
}

/* More entries than one sample reads are counted as lost, which a run cannot say. */
TEST(ring_run__longer_than_one_sample_reads__is_left_to_the_general_steps)
{
	struct pair x = { .ran = 0 };

	(void)state;
	pair_open(&x, LARGE, FAKE_RC, 1024);
	do_run(&x, 1, FAKE_WRITE, 100, FAKE_OK);
	assert_true(sample_both(&x, 1000));
	do_run(&x, RING_WALK_MAX, FAKE_WRITE, 100, FAKE_OK);
	assert_true(sample_both(&x, 1000));
	assert_int_equal(x.ran, 1);
	do_run(&x, RING_WALK_MAX + 1, FAKE_WRITE, 100, FAKE_OK);
	assert_true(sample_both(&x, 1000));
	assert_int_equal(x.ran, 1);
	pair_close(&x);
}
