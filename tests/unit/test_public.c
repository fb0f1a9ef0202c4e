// SPDX-License-Identifier: GPL-2.0-or-later
/* public: libibmon as programs outside of ResEx call it, on recordings of real rings. */
#include "tests/unit/public_rig.h"

#define MLX(name) GOLDEN_DIR "/mlx/" name ".ring"
#define RXE(name) GOLDEN_DIR "/rxe/" name ".ring"

static const struct recording {
	const char *name, *file;
	bool linked; /* with its completion queue: each record says what is completed */
} recordings[] = {
	{ "ibmon__rxe__tells_the_truth(rc-write)", RXE("rc-write"), false },
	{ "ibmon__rxe__tells_the_truth(rc-read)", RXE("rc-read"), false },
	{ "ibmon__rxe__tells_the_truth(mixed)", RXE("mixed"), false },
	{ "ibmon__rxe__tells_the_truth(error-remote-1)", RXE("error-remote-1"), false },
	{ "ibmon__mlx5_alone__counts_what_is_posted", MLX("mlx5-rc"), false },
	{ "ibmon__mlx5_linked__tells_the_truth", MLX("mlx5-rc"), true },
	{ "ibmon__mlx5_datagrams_linked__tells_the_truth", MLX("mlx5-ud"), true },
	{ "ibmon__mlx4_linked__tells_the_truth", MLX("mlx4-rc"), true },
};

static void tells_the_truth(void **state)
{
	const struct recording *c = *state;
	struct public_rig x;

	public_begin(&x, c->file);
	x.sq = public_ring(&x, x.g.sq, 0);
	if (c->linked)
		x.cq = public_ring(&x, public_cq(&x), 0);
	public_all(&x);
	if (c->linked) {
		assert_int_equal(x.completions.wrs, x.g.signalled);
		assert_int_equal(x.completions.mtus_sent | x.completions.bytes_sent, 0);
	}
	assert_int_equal(x.c.qpn, x.g.sq->desc.number);
	public_end(&x);
}
TEST_ROWS(recordings, tells_the_truth)

/* Of a completion queue, the number in its entries. */
TEST(ibmon__completion_queue__names_the_queue_pair)
{
	struct public_rig x;

	public_begin(&x, RXE("rc-write"));
	x.cq = public_ring(&x, &x.g.ring[0], 0);
	while (golden_next(&x.g) == 1)
		assert_int_equal(ibmon_ring_sample(x.cq, x.g.elapsed_ns, &x.c), 0);
	assert_int_equal(x.c.qpn, x.g.sq->desc.number);
	public_end(&x);
}

/* Completions arrive after the send queue was closed, and after another one replaced it. */
TEST(ibmon__send_queue_closed__is_told_no_more)
{
	struct public_rig x;
	uint64_t n = 0;

	public_begin(&x, MLX("mlx5-rc"));
	x.sq = public_ring(&x, x.g.sq, 0);
	x.cq = public_ring(&x, public_cq(&x), 0);
	while (x.g.snap < x.g.snaps / 2) {
		public_sample(&x);
		assert_int_equal(golden_next(&x.g), 1);
	}
	ibmon_ring_close(x.sq);
	while (x.g.snap < x.g.snaps) {
		assert_int_equal(ibmon_ring_sample(x.cq, x.g.elapsed_ns, &x.c), 0);
		n += x.c.wrs;
		assert_int_equal(golden_next(&x.g), 1);
	}
	assert_true(n > 0);
	x.sq = public_ring(&x, x.g.sq, 0);
	public_sample(&x);
	ibmon_ring_close(x.cq);
	x.cq = NULL;
	public_sample(&x);
	ibmon_ring_close(NULL);
	public_end(&x);
	ibmon_close(NULL);
}

TEST(ibmon__number_of_a_send_queue__is_taken_until_it_is_closed)
{
	struct ibmon_ring *second;
	struct ibmon_desc d;
	struct ibmon_mem mem;
	struct public_rig x;

	public_begin(&x, MLX("mlx5-rc"));
	x.sq = public_ring(&x, x.g.sq, 0);
	d = public_desc(x.g.sq);
	mem = public_mem(x.g.sq);
	assert_int_equal(ibmon_ring_open(x.m, &second, &d, &mem), -EEXIST);
	d.number++;
	assert_int_equal(ibmon_ring_open(x.m, &second, &d, &mem), 0);
	ibmon_ring_close(x.sq);
	d.number--;
	assert_int_equal(ibmon_ring_open(x.m, &second, &d, &mem), 0);
	public_end(&x);
}

/* --- idle -------------------------------------------------------------------------------- */

TEST(ibmon__nothing_moved__is_idle_until_it_moves)
{
	uint32_t idle = 0, moved = 0;
	struct public_rig x;

	public_begin(&x, RXE("rc-write"));
	x.sq = public_ring(&x, x.g.sq, 0);
	assert_false(ibmon_ring_idle(x.sq)); /* the history is not counted */
	do {
		public_sample(&x);
		if (ibmon_ring_idle(x.sq)) {
			idle++;
			assert_int_equal(ibmon_ring_sample(x.sq, 1000, &x.c), 0);
			assert_int_equal(x.c.wrs, 0);
		}
		if (golden_next(&x.g) != 1)
			break;
		moved += !ibmon_ring_idle(x.sq);
	} while (true);
	assert_true(idle > 2 && moved > 2);
	public_end(&x);
}

TEST(ibmon__header_forged__is_not_idle_and_a_fault)
{
	struct public_rig x;

	public_begin(&x, RXE("rc-write"));
	x.sq = public_ring(&x, x.g.sq, 0);
	while (golden_next(&x.g) == 1)
		public_sample(&x);
	assert_true(ibmon_ring_idle(x.sq));
	assert_int_equal(ibmon_ring_fault(x.sq), IBMON_OK);
	x.g.sq->mem[0x100] ^= 1; /* of the consumer */
	assert_false(ibmon_ring_idle(x.sq));
	x.g.sq->mem[0x100] ^= 1;
	assert_true(ibmon_ring_idle(x.sq));
	x.g.sq->mem[4] ^= 1; /* of the mask */
	assert_false(ibmon_ring_idle(x.sq));
	memset(&x.c, 0xee, sizeof(x.c));
	assert_int_equal(ibmon_ring_sample(x.sq, 1000, &x.c), -EBADMSG);
	for (size_t i = 0; i < sizeof(x.c); i++)
		assert_int_equal(((uint8_t *)&x.c)[i], 0);
	assert_int_equal(ibmon_ring_fault(x.sq), IBMON_FAULT_HEADER);
	x.g.sq->mem[4] ^= 1;
	assert_false(ibmon_ring_idle(x.sq));
	assert_int_equal(ibmon_ring_sample(x.sq, 1000, &x.c), -EBADMSG);
	public_end(&x);
}

TEST(ibmon__each_fault__has_its_sentence)
{
	for (int i = IBMON_OK; i <= IBMON_FAULT_PLUGIN; i++)
		for (int k = IBMON_OK; k < i; k++)
			assert_string_not_equal(ibmon_fault_text((enum ibmon_fault)i),
						ibmon_fault_text((enum ibmon_fault)k));
	assert_non_null(ibmon_fault_text((enum ibmon_fault)99));
}

/* --- refused ----------------------------------------------------------------------------- */

/* A member that gets another value: of the descriptor of mlx5-rc, or of its memory. */
static const struct refused {
	const char *name;
	size_t offset;
	uint64_t value;
	int rc;
	bool of_mem, pointer;
} refusals[] = {
#define DESC(member, v, rc)                                                                        \
	{                                                                                          \
		"ibmon__" #member "_of_" #v "__is_refused", offsetof(struct ibmon_desc, member),   \
			v, rc, false, false                                                        \
	}
#define LEN(member, v, rc)                                                                         \
	{                                                                                          \
		"ibmon__" #member "_of_" #v "__is_refused", offsetof(struct ibmon_mem, member), v, \
			rc, true, false                                                            \
	}
/* v bytes further than it is; 0: NULL. */
#define MOVED(member, v, rc)                                                                       \
	{                                                                                          \
		"ibmon__" #member "_moved_by_" #v "__is_refused",                                  \
			offsetof(struct ibmon_mem, member), v, rc, true, true                      \
	}
	DESC(provider, 0, -EPROTONOSUPPORT),
	DESC(provider, 64, -EPROTONOSUPPORT),
	DESC(kind, 3, -EPROTONOSUPPORT),
	DESC(elem_size, 16, -EINVAL),
	DESC(elem_size, 48, -EINVAL),
	DESC(elem_size, 8192, -EINVAL),
	DESC(elem_size, 128, -EBADMSG), /* it does not fit into the memory */
	DESC(entries, 1, -EINVAL),
	DESC(entries, 65, -EINVAL),
	DESC(entries, 2097152, -EINVAL),
	DESC(entries, 1024, -EBADMSG),
	DESC(path_mtu, 255, -EINVAL),
	DESC(path_mtu, 4097, -EINVAL),
	DESC(qp_type, 7, -EINVAL),
	DESC(reserved, 1, -EINVAL),
	DESC(number, 0, -EBADMSG),
	LEN(ring_len, 8191, -EBADMSG),
	LEN(db_len, 7, -EBADMSG),
	MOVED(ring, 0, -EINVAL),
	MOVED(ring, 4, -EINVAL),
	MOVED(db, 0, -EINVAL),
	MOVED(db, 4, -EINVAL),
	MOVED(db, 0x100000000, -EINVAL),
	MOVED(db, -16384ul, -EINVAL), /* before the ring */
	MOVED(db, -8192ul, -EINVAL),  /* at its first byte */
};

static void is_refused(void **state)
{
	const struct refused *c = *state;
	struct ibmon_ring *r = NULL;
	struct ibmon_desc d;
	struct ibmon_mem mem;
	struct public_rig x;
	uint8_t *at;

	public_begin(&x, MLX("mlx5-rc"));
	d = public_desc(x.g.sq);
	mem = public_mem(x.g.sq);
	assert_int_equal(d.elem_size * d.entries, 8192);
	at = (c->of_mem ? (uint8_t *)&mem : (uint8_t *)&d) + c->offset;
	if (c->pointer)
		*(uintptr_t *)(void *)at = c->value ? *(uintptr_t *)(void *)at + c->value : 0;
	else
		*(uint32_t *)(void *)at = (uint32_t)c->value;
	assert_int_equal(ibmon_ring_open(x.m, &r, &d, &mem), c->rc);
	assert_null(r);
	public_end(&x);
}
TEST_ROWS(refusals, is_refused)

TEST(ibmon__no_memory__is_refused)
{
	struct ibmon_ring *r;
	struct ibmon_desc d;
	struct ibmon_mem mem;
	struct public_rig x;

	public_begin(&x, RXE("rc-write"));
	d = public_desc(x.g.sq);
	mem = public_mem(x.g.sq);
	mem.ring = NULL;
	assert_int_equal(ibmon_ring_open(x.m, &r, &d, &mem), -EINVAL);
	public_end(&x);
}

TEST(ibmon__type_of_queue_pair_of_a_completion_queue__is_refused)
{
	struct ibmon_ring *r;
	struct ibmon_desc d;
	struct ibmon_mem mem;
	struct public_rig x;

	public_begin(&x, MLX("mlx5-rc"));
	d = public_desc(public_cq(&x));
	mem = public_mem(public_cq(&x));
	d.qp_type = IBMON_QP_RC;
	assert_int_equal(ibmon_ring_open(x.m, &r, &d, &mem), -EINVAL);
	public_end(&x);
}

TEST(ibmon__another_version__is_refused)
{
	struct ibmon *m = NULL;

	assert_int_equal(ibmon_open(&m, IBMON_ABI + 1), -EPROTONOSUPPORT);
	assert_int_equal(ibmon_open(&m, IBMON_ABI - 1), -EPROTONOSUPPORT);
	assert_null(m);
}

TEST(ibmon__layouts_that_are_built_in__have_names)
{
	struct ibmon *m;

	assert_int_equal(ibmon_open(&m, IBMON_ABI), 0);
	for (uint32_t p = IBMON_RXE; p <= IBMON_MLX4; p++)
		for (uint32_t kind = IBMON_SQ; kind <= IBMON_CQ; kind++)
			assert_non_null(ibmon_layout_name(m, p, kind));
	assert_string_equal(ibmon_layout_name(m, IBMON_MLX5, IBMON_CQ), "mlx5 completion queue");
	assert_null(ibmon_layout_name(m, IBMON_PROVIDER_OTHERS, IBMON_SQ));
	ibmon_close(m);
}
