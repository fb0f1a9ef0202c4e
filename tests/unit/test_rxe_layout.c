// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ibmon/ring/rxe.h against the kernel's own headers. Built with verbs only: ibmon
 * itself must not need them.
 */
#include "tests/unit/prop.h"

#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>

#include "ibmon/ring/rxe.h"
#include "tests/fakes/fake_ring.h"
#include "tests/unit/unit.h"

#define SAME(ours, our_field, theirs, their_field)                                                 \
	do {                                                                                       \
		assert_int_equal(offsetof(ours, our_field), offsetof(theirs, their_field));        \
		assert_int_equal(sizeof(((ours *)NULL)->our_field),                                \
				 sizeof(((theirs *)NULL)->their_field));                           \
	} while (0)

TEST(header__each_field__is_where_the_kernel_has_it)
{
	SAME(struct ring_rxe_header, log2_elem_size, struct rxe_queue_buf, log2_elem_size);
	SAME(struct ring_rxe_header, index_mask, struct rxe_queue_buf, index_mask);
	SAME(struct ring_rxe_header, producer, struct rxe_queue_buf, producer_index);
	SAME(struct ring_rxe_header, consumer, struct rxe_queue_buf, consumer_index);
	assert_int_equal(sizeof(struct ring_rxe_header), offsetof(struct rxe_queue_buf, data));
}

TEST(send_entry__each_field__is_where_the_kernel_has_it)
{
	SAME(struct ring_rxe_wqe, wr_id, struct rxe_send_wqe, wr.wr_id);
	SAME(struct ring_rxe_wqe, opcode, struct rxe_send_wqe, wr.opcode);
	SAME(struct ring_rxe_wqe, send_flags, struct rxe_send_wqe, wr.send_flags);
	SAME(struct ring_rxe_wqe, imm, struct rxe_send_wqe, wr.ex.imm_data);
	SAME(struct ring_rxe_wqe, ud_remote_qpn, struct rxe_send_wqe, wr.wr.ud.remote_qpn);
	SAME(struct ring_rxe_wqe, status, struct rxe_send_wqe, status);
	SAME(struct ring_rxe_wqe, state, struct rxe_send_wqe, state);
	SAME(struct ring_rxe_wqe, iova, struct rxe_send_wqe, iova);
	SAME(struct ring_rxe_wqe, mask, struct rxe_send_wqe, mask);
	SAME(struct ring_rxe_wqe, first_psn, struct rxe_send_wqe, first_psn);
	SAME(struct ring_rxe_wqe, last_psn, struct rxe_send_wqe, last_psn);
	SAME(struct ring_rxe_wqe, ack_length, struct rxe_send_wqe, ack_length);
	SAME(struct ring_rxe_wqe, ssn, struct rxe_send_wqe, ssn);
	SAME(struct ring_rxe_wqe, has_rd_atomic, struct rxe_send_wqe, has_rd_atomic);
	SAME(struct ring_rxe_wqe, length, struct rxe_send_wqe, dma.length);
	SAME(struct ring_rxe_wqe, resid, struct rxe_send_wqe, dma.resid);
	SAME(struct ring_rxe_wqe, cur_sge, struct rxe_send_wqe, dma.cur_sge);
	SAME(struct ring_rxe_wqe, num_sge, struct rxe_send_wqe, dma.num_sge);
	SAME(struct ring_rxe_wqe, sge_offset, struct rxe_send_wqe, dma.sge_offset);
	assert_int_equal(sizeof(struct ring_rxe_wqe), sizeof(struct rxe_send_wqe));
	assert_int_equal(sizeof(struct ring_rxe_wqe), offsetof(struct rxe_send_wqe, dma.sge));
	assert_int_equal((int)RING_RXE_SGE_BYTES, sizeof(struct rxe_sge));
}

TEST(completion__each_field__is_where_the_kernel_has_it)
{
	SAME(struct ring_rxe_cqe, wr_id, struct ib_uverbs_wc, wr_id);
	SAME(struct ring_rxe_cqe, status, struct ib_uverbs_wc, status);
	SAME(struct ring_rxe_cqe, opcode, struct ib_uverbs_wc, opcode);
	SAME(struct ring_rxe_cqe, vendor_err, struct ib_uverbs_wc, vendor_err);
	SAME(struct ring_rxe_cqe, byte_len, struct ib_uverbs_wc, byte_len);
	SAME(struct ring_rxe_cqe, ex, struct ib_uverbs_wc, ex);
	SAME(struct ring_rxe_cqe, qp_num, struct ib_uverbs_wc, qp_num);
	assert_int_equal(sizeof(struct ring_rxe_cqe), sizeof(struct ib_uverbs_wc));
}

TEST(opcodes__each__has_the_kernels_value)
{
	assert_int_equal((int)RING_RXE_WRITE, (int)IB_UVERBS_WR_RDMA_WRITE);
	assert_int_equal((int)RING_RXE_WRITE_IMM, (int)IB_UVERBS_WR_RDMA_WRITE_WITH_IMM);
	assert_int_equal((int)RING_RXE_SEND, (int)IB_UVERBS_WR_SEND);
	assert_int_equal((int)RING_RXE_SEND_IMM, (int)IB_UVERBS_WR_SEND_WITH_IMM);
	assert_int_equal((int)RING_RXE_READ, (int)IB_UVERBS_WR_RDMA_READ);
	assert_int_equal((int)RING_RXE_CMP_SWAP, (int)IB_UVERBS_WR_ATOMIC_CMP_AND_SWP);
	assert_int_equal((int)RING_RXE_FETCH_ADD, (int)IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD);
	assert_int_equal((int)RING_RXE_LOCAL_INV, (int)IB_UVERBS_WR_LOCAL_INV);
	assert_int_equal((int)RING_RXE_BIND_MW, (int)IB_UVERBS_WR_BIND_MW);
	assert_int_equal((int)RING_RXE_SEND_INV, (int)IB_UVERBS_WR_SEND_WITH_INV);
}

/* The fake ring must not stand on mistakes of its own. */
TEST(fake__each_offset__is_the_kernels)
{
	assert_int_equal((int)FAKE_LOG2_ELEM, offsetof(struct rxe_queue_buf, log2_elem_size));
	assert_int_equal((int)FAKE_MASK, offsetof(struct rxe_queue_buf, index_mask));
	assert_int_equal((int)FAKE_PRODUCER, offsetof(struct rxe_queue_buf, producer_index));
	assert_int_equal((int)FAKE_CONSUMER, offsetof(struct rxe_queue_buf, consumer_index));
	assert_int_equal((int)FAKE_DATA, offsetof(struct rxe_queue_buf, data));
	assert_int_equal((int)FAKE_WQE_OPCODE, offsetof(struct rxe_send_wqe, wr.opcode));
	assert_int_equal((int)FAKE_WQE_FLAGS, offsetof(struct rxe_send_wqe, wr.send_flags));
	assert_int_equal((int)FAKE_WQE_UD_QPN, offsetof(struct rxe_send_wqe, wr.wr.ud.remote_qpn));
	assert_int_equal((int)FAKE_WQE_STATUS, offsetof(struct rxe_send_wqe, status));
	assert_int_equal((int)FAKE_WQE_STATE, offsetof(struct rxe_send_wqe, state));
	assert_int_equal((int)FAKE_WQE_FIRST_PSN, offsetof(struct rxe_send_wqe, first_psn));
	assert_int_equal((int)FAKE_WQE_LAST_PSN, offsetof(struct rxe_send_wqe, last_psn));
	assert_int_equal((int)FAKE_WQE_SSN, offsetof(struct rxe_send_wqe, ssn));
	assert_int_equal((int)FAKE_WQE_LENGTH, offsetof(struct rxe_send_wqe, dma.length));
	assert_int_equal((int)FAKE_WQE_RESID, offsetof(struct rxe_send_wqe, dma.resid));
	assert_int_equal((int)FAKE_WQE_NUM_SGE, offsetof(struct rxe_send_wqe, dma.num_sge));
	assert_int_equal((int)FAKE_CQE_STATUS, offsetof(struct ib_uverbs_wc, status));
	assert_int_equal((int)FAKE_CQE_OPCODE, offsetof(struct ib_uverbs_wc, opcode));
	assert_int_equal((int)FAKE_CQE_BYTES, offsetof(struct ib_uverbs_wc, byte_len));
	assert_int_equal((int)FAKE_CQE_QPN, offsetof(struct ib_uverbs_wc, qp_num));
}
