// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx4: queues that the distribution's own, unmodified libmlx4 wrote, over a device that is not
 * there (tests/fakeverbs). What mlx5 has, too, is in mlx_golden.h.
 */
#include <infiniband/mlx4dv.h>

#include "ibmon/ring/mlx4.h"
#include "tests/unit/mlx4_rig.h"
/* After the rig. */
#include "tests/unit/mlx_golden.h"
#include "tests/unit/mlx_record.h"

/* --- layout ------------------------------------------------------------ */

#define SAME(ours, theirs, field) assert_int_equal(ours, offsetof(theirs, field))

TEST(layout__each_offset__is_where_libmlx4_has_it)
{
	SAME(RING_MLX4_WQE_HEAD, struct mlx4_wqe_ctrl_seg, owner_opcode);
	SAME(RING_MLX4_WQE_SIZE, struct mlx4_wqe_ctrl_seg, bf_qpn);
	SAME(RING_MLX4_WQE_SIZE + 3, struct mlx4_wqe_ctrl_seg, fence_size);
	SAME(RING_MLX4_DATA_BYTES, struct mlx4_wqe_data_seg, byte_count);
	SAME(RING_MLX4_DATA_BYTES, struct mlx4_wqe_inline_seg, byte_count);
	assert_int_equal(sizeof(struct mlx4_wqe_ctrl_seg), RING_MLX4_SEGMENT);
	assert_int_equal(sizeof(struct mlx4_wqe_raddr_seg), RING_MLX4_SEGMENT);
	assert_int_equal(sizeof(struct mlx4_wqe_data_seg), RING_MLX4_SEGMENT);
	assert_int_equal(sizeof(struct mlx4_wqe_datagram_seg), RING_MLX4_AV_BYTES);
	assert_int_equal(MLX4_INLINE_SEG, RING_MLX4_INLINE);
	assert_int_equal(MLX4_INLINE_ALIGN, RING_MLX4_CHUNK);
	assert_int_equal(sizeof(struct mlx4_cqe), RING_MLX4_CQE);
	SAME(RING_MLX4_CQE_QPN, struct mlx4_cqe, vlan_my_qpn);
	SAME(RING_MLX4_CQE_TAIL, struct mlx4_cqe, wqe_index);
	SAME(RING_MLX4_CQE_TAIL + 7, struct mlx4_cqe, owner_sr_opcode);
	SAME(RING_MLX4_CQE_QPN, struct mlx4_err_cqe, vlan_my_qpn);
	SAME(RING_MLX4_CQE_TAIL, struct mlx4_err_cqe, wqe_index);
	SAME(RING_MLX4_CQE_TAIL + 7, struct mlx4_err_cqe, owner_sr_opcode);
}

TEST(layout__each_value__is_libmlx4s)
{
	assert_int_equal(MLX4_OPCODE_NOP, RING_MLX4_NOP);
	assert_int_equal(MLX4_OPCODE_SEND_INVAL, RING_MLX4_SEND_INVAL);
	assert_int_equal(MLX4_OPCODE_RDMA_WRITE, RING_MLX4_WRITE);
	assert_int_equal(MLX4_OPCODE_RDMA_WRITE_IMM, RING_MLX4_WRITE_IMM);
	assert_int_equal(MLX4_OPCODE_SEND, RING_MLX4_SEND);
	assert_int_equal(MLX4_OPCODE_SEND_IMM, RING_MLX4_SEND_IMM);
	assert_int_equal(MLX4_OPCODE_LSO, RING_MLX4_LSO);
	assert_int_equal(MLX4_OPCODE_RDMA_READ, RING_MLX4_READ);
	assert_int_equal(MLX4_OPCODE_ATOMIC_CS, RING_MLX4_CMP_SWAP);
	assert_int_equal(MLX4_OPCODE_ATOMIC_FA, RING_MLX4_FETCH_ADD);
	assert_int_equal(MLX4_OPCODE_MASKED_ATOMIC_CS, RING_MLX4_CMP_SWAP_MASKED);
	assert_int_equal(MLX4_OPCODE_MASKED_ATOMIC_FA, RING_MLX4_FETCH_ADD_MASKED);
	assert_int_equal(MLX4_OPCODE_BIND_MW, RING_MLX4_BIND_MW);
	assert_int_equal(MLX4_OPCODE_FMR, RING_MLX4_FMR);
	assert_int_equal(MLX4_OPCODE_LOCAL_INVAL, RING_MLX4_LOCAL_INVAL);
	assert_int_equal(MLX4_CQE_OWNER_MASK, RING_MLX4_CQE_OWNER);
	assert_int_equal(MLX4_CQE_IS_SEND_MASK, RING_MLX4_CQE_IS_SEND);
	assert_int_equal(MLX4_CQE_OPCODE_MASK, RING_MLX4_CQE_OPCODE);
	assert_int_equal(MLX4_RECV_OPCODE_SEND_INVAL, RING_MLX4_CQE_RECV_SEND_INV);
	assert_int_equal(MLX4_CQE_OPCODE_RESIZE, RING_MLX4_CQE_RESIZED);
	assert_int_equal(MLX4_CQE_OPCODE_ERROR, RING_MLX4_CQE_ERROR);
}

/* --- work -------------------------------------------------------------- */

TEST(golden__random_work__is_counted_exactly)
{
	struct prop p;

	prop_start(&p);
	run_random(&p, start_of(32, ENTRIES));
	run_random(&p, start_of(64, ENTRIES));
}

/* libmlx4 keeps 33 slots of 64 bytes unused, and 3 of 1024. */
TEST(golden__slots_of_any_size__are_counted_exactly)
{
	static const struct {
		struct ibv_qp_cap cap;
		struct wanted w;
		uint32_t bytes;
	} rows[] = {
		{ { SENDS, 16, 2, 1, 0 },
		  { IBV_WR_SEND, { 5000, 700 }, 2, IBV_SEND_SIGNALED },
		  64 },
		{ { 2, 16, 1, 1, 900 },
		  { IBV_WR_SEND, { 900 }, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE },
		  1024 },
	};

	for (int i = 0; i < 2; i++) {
		struct provider_rig *x = start(ENTRIES);
		struct rig_qp *q = add_of(x, IBV_QPT_RC, true, rows[i].cap);
		uint64_t newest[RIG_QPS] = { 0 };

		assert_int_equal(q->sq.desc.elem_size, rows[i].bytes);
		rig_watch_cq(x, PROVIDER);
		for (int k = 0; k < 500; k++) {
			post_n(x, q, &rows[i].w, 1);
			assert_int_equal(rig_execute(q, 1), 1);
			assert_int_equal(poll_all(x, newest, 1), 1);
			look(x);
		}
		assert_totals(q->sq.r, &q->want);
		rig_close(x);
	}
}

/* The receive queue has longer entries than the send queue, and comes first. */
TEST(golden__send_queue_behind_the_receive_queue__is_read)
{
	struct provider_rig *x = start(ENTRIES);
	struct rig_qp *q = add_of(x, IBV_QPT_RC, true, (struct ibv_qp_cap){ SENDS, 8, 2, 16, 0 });

	assert_int_equal(q->sq.desc.offset, 8 * 16 * 16);
	post_n(x, q, &quiet_3, 3);
	copy_sample(x, &q->sq);
	assert_int_equal(q->sq.s.wrs, 3);
	assert_int_equal(q->sq.s.mtus_sent, 9);
	rig_close(x);
}

TEST(golden__memory_window__is_no_mtu)
{
	struct provider_rig *x = start(ENTRIES);
	struct rig_qp *q = add(x, IBV_QPT_RC, true);
	struct ibv_mw *mw = ibv_alloc_mw(x->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .bind_info = { x->mr, (uintptr_t)x->buffer, 4096,
						   IBV_ACCESS_REMOTE_WRITE } };

	assert_non_null(mw);
	assert_int_equal(ibv_bind_mw(q->qp, mw, &bind), 0);
	copy_sample(x, &q->sq);
	assert_int_equal(q->sq.s.ops[OP_LOCAL], 1);
	assert_int_equal(q->sq.s.mtus_sent, 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	rig_close(x);
}

/* The library has no request of that kind: of a send queue of its own, none is an LSO. */
TEST(golden__segmentation__is_refused_by_libmlx4)
{
	struct provider_rig *x = start(ENTRIES);
	struct rig_qp *q = add(x, IBV_QPT_UD, true);
	struct ibv_send_wr wr = { .opcode = IBV_WR_TSO }, *bad;

	assert_int_equal(ibv_post_send(q->qp, &wr, &bad), EINVAL);
	copy_sample(x, &q->sq);
	assert_int_equal(q->sq.s.wrs, 0);
	rig_close(x);
}

/* --- completions ------------------------------------------------------- */

TEST(golden__receives__are_completions_and_no_work)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct ibv_sge sge = { (uintptr_t)x->buffer, 64, x->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	assert_int_equal(ibv_post_recv(x->qp[0].qp, &wr, &bad), 0);
	assert_true(fakeverbs_receive(x->qp[0].fake, 48, NULL));
	look(x);
	assert_int_equal(x->cqc.s.seen, 1);
	assert_int_equal(x->cqc.s.errors, 0);
	assert_int_equal(x->qp[0].sq.s.wrs, 0);
	assert_int_equal(ibv_poll_cq(x->cq, 1, &wc), 1);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 48);
	rig_close(x);
}

/* --- recordings -------------------------------------------------------- */

TEST(golden__recorded_queue_pair__is_read_again)
{
	static const struct ibv_qp_cap cap = { RECORD_SENDS, 16, SGES, 1, 64 };
	struct provider_rig *x = start_of(32, RECORD_ENTRIES);

	add_of(x, IBV_QPT_RC, true, cap);
	record_and_replay(x, "mlx4-rc");
	x = start_of(64, RECORD_ENTRIES);
	add_of(x, IBV_QPT_UD, true, cap);
	record_and_replay(x, "mlx4-ud");
}
