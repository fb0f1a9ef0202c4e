// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5: what a ConnectX adapter does with queues of libmlx5, for fakeverbs. It is written from
 * libmlx5's public header, and shares nothing with ibmon/ring.
 */
#include <endian.h>
#include <infiniband/mlx5dv.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakeverbs/fakeverbs_priv.h"

enum { BLOCK = 64, SEGMENT = 16, SYNDROME_RETRY = 0x15, SYNDROME_FLUSH = 0x05 };

static void context(const struct fakeverbs_conf *conf, const void *cmd, void *resp)
{
	const struct mlx5_ib_alloc_ucontext_req_v2 *q = cmd;
	struct mlx5_ib_alloc_ucontext_resp *r = resp;

	*r = (struct mlx5_ib_alloc_ucontext_resp){
		.qp_tab_size = 1 << 18,
		.bf_reg_size = 512,
		.tot_bfregs = q->total_num_bfregs,
		.cache_line_size = 64,
		.max_sq_desc_sz = 1024,
		.max_rq_desc_sz = 512,
		.max_send_wqebb = 32768,
		.max_recv_wr = 32768,
		.max_srq_recv_wr = 32768,
		.num_ports = 1,
		.response_length = sizeof(*r),
		.cqe_version = (uint8_t)conf->cqe_version,
		.log_uar_size = 12,
		.num_uars_per_page = 1,
	};
}

static void pd(uint32_t number, void *resp)
{
	((struct mlx5_ib_alloc_pd_resp *)resp)->pdn = number;
}

static void cq(struct fakeverbs_cq *c, const struct fakeverbs_conf *conf, const void *cmd,
	       void *resp)
{
	const struct mlx5_ib_create_cq *q = cmd;

	(void)conf;
	c->buf = (uint8_t *)(uintptr_t)q->buf_addr;
	c->db = (const volatile uint32_t *)(uintptr_t)q->db_addr;
	c->entry_bytes = q->cqe_size;
	((struct mlx5_ib_create_cq_resp *)resp)->cqn = c->number;
}

static void qp(struct fakeverbs_qp *p, const struct ib_uverbs_create_qp *core, const void *cmd,
	       void *resp)
{
	const struct mlx5_ib_create_qp *q = cmd;

	(void)core;
	/* The receive queue comes first, unless the send queue is apart. */
	p->sq = q->sq_buf_addr ? (uint8_t *)(uintptr_t)q->sq_buf_addr
			       : (uint8_t *)(uintptr_t)q->buf_addr +
					 ((size_t)q->rq_wqe_count << q->rq_wqe_shift);
	p->block_bytes = BLOCK;
	p->blocks = q->sq_wqe_count;
	p->db = (const volatile uint32_t *)(uintptr_t)q->db_addr;
	p->index = q->uidx;
	((struct mlx5_ib_create_qp_resp *)resp)->bfreg_index = 0;
}

/* --- completions --------------------------------------------------------------- */

static struct mlx5_cqe64 *cqe_at(const struct fakeverbs_cq *c, uint32_t n)
{
	uint8_t *at = c->buf + (size_t)(n & (c->entries - 1)) * c->entry_bytes;

	return (struct mlx5_cqe64 *)(at + c->entry_bytes - sizeof(struct mlx5_cqe64));
}

/* All but the last byte, then the last byte, which says that the entry is valid. */
static void put_cqe(struct fakeverbs_cq *c, const struct mlx5_cqe64 *e, uint8_t op, uint8_t format)
{
	struct mlx5_cqe64 *to = cqe_at(c, c->produced);
	uint8_t owner = (c->produced & c->entries) != 0;

	memcpy(to, e, offsetof(struct mlx5_cqe64, op_own));
	__atomic_store_n(&to->op_own, (uint8_t)(op << 4 | format | owner), __ATOMIC_RELEASE);
	c->produced++;
}

static void name_qp(const struct fakeverbs_qp *p, struct mlx5_cqe64 *e, uint32_t opcode)
{
	e->srqn_uidx = htobe32(p->index & 0xffffff);
	e->sop_drop_qpn = htobe32(opcode << 24 | p->number);
}

static void *segment(const struct fakeverbs_qp *p, uint16_t at, uint32_t n)
{
	size_t bytes = (size_t)p->blocks * BLOCK;

	return p->sq + ((size_t)(at & (p->blocks - 1)) * BLOCK + (size_t)n * SEGMENT) % bytes;
}

/* Bytes that a READ asks for: its data segments, after control and remote address. */
static uint32_t read_bytes(const struct fakeverbs_qp *p, uint32_t segments)
{
	uint32_t sum = 0;

	for (uint32_t i = 2; i < segments; i++)
		sum += be32toh(
			((struct mlx5_wqe_data_seg *)segment(p, p->executed, i))->byte_count);
	return sum;
}

static bool next(const struct fakeverbs_qp *p, struct fakeverbs_request *q)
{
	const struct mlx5_wqe_ctrl_seg *c = segment(p, p->executed, 0);
	uint32_t opcode = be32toh(c->opmod_idx_opcode) & 0xff;
	uint32_t segments = be32toh(c->qpn_ds) & 0x3f;

	if (p->executed == (uint16_t)be32toh(p->db[MLX5_SND_DBR]))
		return false;
	if ((uint16_t)(be32toh(c->opmod_idx_opcode) >> 8) != p->executed || !segments)
		abort(); /* the library never writes that */
	*q = (struct fakeverbs_request){
		.opcode = opcode,
		.bytes = opcode == MLX5_OPCODE_RDMA_READ ? read_bytes(p, segments) : 0,
		.blocks = (uint16_t)((segments + 3) / 4),
		.signalled = c->fm_ce_se & MLX5_WQE_CTRL_CQ_UPDATE,
	};
	return true;
}

static void put_done(const struct fakeverbs_qp *p, const struct fakeverbs_request *q)
{
	struct mlx5_cqe64 e = { .wqe_counter = htobe16(p->executed),
				.byte_cnt = htobe32(q->bytes) };

	name_qp(p, &e, q->opcode);
	put_cqe(p->send_cq, &e, MLX5_CQE_REQ, 0);
}

static void put_failed(const struct fakeverbs_qp *p, const struct fakeverbs_request *q)
{
	struct mlx5_cqe64 e = { .wqe_counter = htobe16(p->executed) };
	struct mlx5_err_cqe *err = (struct mlx5_err_cqe *)&e;

	name_qp(p, &e, q->opcode);
	err->syndrome = p->failed ? SYNDROME_FLUSH : SYNDROME_RETRY;
	put_cqe(p->send_cq, &e, MLX5_CQE_REQ_ERR, 0);
}

static bool receive(struct fakeverbs_qp *p, uint32_t bytes, const void *scatter)
{
	enum { FORMAT_32 = 4 };
	struct mlx5_cqe64 e = { .wqe_counter = htobe16(p->received), .byte_cnt = htobe32(bytes) };

	if (fakeverbs_is_full(p->recv_cq) || (scatter && bytes > 32))
		return false;
	name_qp(p, &e, 0);
	if (scatter)
		memcpy(&e, scatter, bytes);
	put_cqe(p->recv_cq, &e, MLX5_CQE_RESP_SEND, scatter ? FORMAT_32 : 0);
	p->received++;
	return true;
}

/* The last entry of the old buffer says that there is another, which goes on with its number. */
static void resize(struct fakeverbs_cq *c, uint32_t entries, const void *cmd)
{
	const struct mlx5_ib_resize_cq *q = cmd;
	const struct mlx5_cqe64 e = { 0 };

	put_cqe(c, &e, MLX5_CQE_RESIZE_CQ, 0);
	c->buf = (uint8_t *)(uintptr_t)q->buf_addr;
	c->entries = entries;
}

const struct fakeverbs_adapter fakeverbs_mlx5 = {
	.provider = "mlx5",
	.modalias = "pci:v000015B3d00001017sv000015B3sd00000001bc02sc07i00",
	.abi_version = "1",
	.context_resp = sizeof(struct mlx5_ib_alloc_ucontext_resp),
	.pd_resp = sizeof(struct mlx5_ib_alloc_pd_resp),
	.cq_cmd = sizeof(struct mlx5_ib_create_cq),
	.cq_resp = sizeof(struct mlx5_ib_create_cq_resp),
	.qp_cmd = offsetof(struct mlx5_ib_create_qp, ece_options),
	.qp_resp = sizeof(uint32_t),
	.resize_cmd = sizeof(struct mlx5_ib_resize_cq),
	.context = context,
	.pd = pd,
	.cq = cq,
	.resize = resize,
	.qp = qp,
	.next = next,
	.done = put_done,
	.failed = put_failed,
	.receive = receive,
};
