// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5: queues that the distribution's own, unmodified libmlx5 wrote, over a device that is not
 * there (tests/fakeverbs). What mlx4 has, too, is in mlx_golden.h.
 */
#include <infiniband/mlx5dv.h>

#include "ibmon/ring/mlx5.h"
#include "tests/unit/mlx5_rig.h"
/* After the rig. */
#include "tests/unit/mlx_golden.h"
#include "tests/unit/mlx_record.h"

/* --- tests ------------------------------------------------------------- */

#define SAME(ours, theirs, field) assert_int_equal(ours, offsetof(theirs, field))

TEST(layout__each_offset__is_where_libmlx5_has_it)
{
	SAME(RING_MLX5_WQE_OPCODE, struct mlx5_wqe_ctrl_seg, opmod_idx_opcode);
	SAME(RING_MLX5_WQE_QPN, struct mlx5_wqe_ctrl_seg, qpn_ds);
	SAME(RING_MLX5_DATA_BYTES, struct mlx5_wqe_data_seg, byte_count);
	SAME(RING_MLX5_DATA_BYTES, struct mlx5_wqe_inl_data_seg, byte_count);
	SAME(RING_MLX5_AV_EXT, struct mlx5_wqe_datagram_seg, av.dqp_dct);
	assert_int_equal(sizeof(struct mlx5_wqe_ctrl_seg), RING_MLX5_SEGMENT);
	assert_int_equal(sizeof(struct mlx5_wqe_raddr_seg), RING_MLX5_SEGMENT);
	assert_int_equal(sizeof(struct mlx5_wqe_atomic_seg), RING_MLX5_SEGMENT);
	assert_int_equal(sizeof(struct mlx5_wqe_data_seg), RING_MLX5_SEGMENT);
	assert_int_equal(sizeof(struct mlx5_wqe_datagram_seg), 3 * RING_MLX5_SEGMENT);
	assert_int_equal(MLX5_SEND_WQE_BB, RING_MLX5_BLOCK);
	assert_int_equal(MLX5_INLINE_SEG, RING_MLX5_INLINE);
	assert_int_equal(MLX5_EXTENDED_UD_AV, RING_MLX5_AV_IS_LONG);
	assert_int_equal(MLX5_SND_DBR, RING_MLX5_DB_POSTED);
	SAME(64 - RING_MLX5_CQE_TAIL, struct mlx5_cqe64, sop_drop_qpn);
	SAME(64 - RING_MLX5_CQE_TAIL + 4, struct mlx5_cqe64, wqe_counter);
	SAME(64 - RING_MLX5_CQE_TAIL, struct mlx5_err_cqe, s_wqe_opcode_qpn);
	SAME(64 - RING_MLX5_CQE_TAIL + 4, struct mlx5_err_cqe, wqe_counter);
	SAME(63, struct mlx5_cqe64, op_own);
}

TEST(layout__each_value__is_libmlx5s)
{
	assert_int_equal(MLX5_OPCODE_NOP, RING_MLX5_NOP);
	assert_int_equal(MLX5_OPCODE_SEND_INVAL, RING_MLX5_SEND_INVAL);
	assert_int_equal(MLX5_OPCODE_RDMA_WRITE, RING_MLX5_WRITE);
	assert_int_equal(MLX5_OPCODE_RDMA_WRITE_IMM, RING_MLX5_WRITE_IMM);
	assert_int_equal(MLX5_OPCODE_SEND, RING_MLX5_SEND);
	assert_int_equal(MLX5_OPCODE_SEND_IMM, RING_MLX5_SEND_IMM);
	assert_int_equal(MLX5_OPCODE_TSO, RING_MLX5_TSO);
	assert_int_equal(MLX5_OPCODE_RDMA_READ, RING_MLX5_READ);
	assert_int_equal(MLX5_OPCODE_ATOMIC_CS, RING_MLX5_CMP_SWAP);
	assert_int_equal(MLX5_OPCODE_ATOMIC_FA, RING_MLX5_FETCH_ADD);
	assert_int_equal(MLX5_OPCODE_ATOMIC_MASKED_CS, RING_MLX5_CMP_SWAP_MASKED);
	assert_int_equal(MLX5_OPCODE_ATOMIC_MASKED_FA, RING_MLX5_FETCH_ADD_MASKED);
	assert_int_equal(MLX5_OPCODE_LOCAL_INVAL, RING_MLX5_LOCAL_INVAL);
	assert_int_equal(MLX5_OPCODE_SET_PSV, RING_MLX5_SET_PSV);
	assert_int_equal(MLX5_OPCODE_UMR, RING_MLX5_UMR);
	assert_int_equal(MLX5_OPCODE_MMO, RING_MLX5_MMO);
	assert_int_equal(MLX5_CQE_REQ, RING_MLX5_CQE_REQ);
	assert_int_equal(MLX5_CQE_RESP_WR_IMM, RING_MLX5_CQE_RESP_WRITE_IMM);
	assert_int_equal(MLX5_CQE_RESP_SEND_INV, RING_MLX5_CQE_RESP_SEND_INV);
	assert_int_equal(MLX5_CQE_RESIZE_CQ, RING_MLX5_CQE_RESIZED);
	assert_int_equal(MLX5_CQE_NO_PACKET, RING_MLX5_CQE_NO_PACKET);
	assert_int_equal(MLX5_CQE_SIG_ERR, RING_MLX5_CQE_SIG_ERR);
	assert_int_equal(MLX5_CQE_REQ_ERR, RING_MLX5_CQE_REQ_ERR);
	assert_int_equal(MLX5_CQE_RESP_ERR, RING_MLX5_CQE_RESP_ERR);
	assert_int_equal(MLX5_CQE_INVALID, RING_MLX5_CQE_INVALID);
}

TEST(golden__random_work__is_counted_exactly)
{
	struct prop p;

	prop_start(&p);
	run_random(&p, start_of(1, ENTRIES));
	run_random(&p, start_of(0, ENTRIES));
	setenv("MLX5_CQE_SIZE", "128", 1);
	run_random(&p, start_of(1, ENTRIES));
	unsetenv("MLX5_CQE_SIZE");
}

/* Small data of a receive are in its completion, over the fields that are not read. */
TEST(golden__receives__are_completions_and_no_work)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct ibv_sge sge = { (uintptr_t)x->buffer, 64, x->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	uint8_t data[32];
	struct ibv_wc wc;

	memset(data, 0xff, sizeof(data));
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_post_recv(x->qp[0].qp, &wr, &bad), 0);
	assert_true(fakeverbs_receive(x->qp[0].fake, sizeof(data), data));
	assert_true(fakeverbs_receive(x->qp[0].fake, 48, NULL));
	look(x);
	assert_int_equal(x->cqc.s.seen, 2);
	assert_int_equal(x->cqc.s.errors, 0);
	assert_int_equal(x->qp[0].sq.s.wrs, 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(ibv_poll_cq(x->cq, 1, &wc), 1);
		assert_int_equal(wc.opcode, IBV_WC_RECV);
		assert_int_equal(wc.byte_len, i ? 48 : sizeof(data));
	}
	assert_memory_equal(x->buffer, data, sizeof(data));
	rig_close(x);
}

/* --- recordings -------------------------------------------------------- */

TEST(golden__recorded_queue_pair__is_read_again)
{
	struct provider_rig *x = start(RECORD_ENTRIES);

	add_of(x, IBV_QPT_RC, true, RECORD_SENDS);
	record_and_replay(x, "mlx5-rc");
	x = start(RECORD_ENTRIES);
	add_of(x, IBV_QPT_UD, true, RECORD_SENDS);
	record_and_replay(x, "mlx5-ud");
}
