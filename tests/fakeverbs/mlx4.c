// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx4: what a ConnectX-3 does with queues of libmlx4, for fakeverbs. It is written from libmlx4's
 * public header, and shares nothing with ibmon/ring.
 *
 * As the adapter does, it finds what was posted by the owner bits of the send queue. A completion
 * queue begins as the kernel makes it, each byte 0xcc.
 */
#include <endian.h>
#include <infiniband/mlx4dv.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx4-abi.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakeverbs/fakeverbs_priv.h"

enum { SEGMENT = 16, SEGMENTS_MASK = 0x3f, OPCODE_MASK = 0x1f, UNWRITTEN = 0xcc };

static void context(const struct fakeverbs_conf *conf, const void *cmd, void *resp)
{
	(void)cmd;
	*(struct mlx4_ib_alloc_ucontext_resp *)resp = (struct mlx4_ib_alloc_ucontext_resp){
		.dev_caps = conf->cqe_bytes == 64 ? MLX4_USER_DEV_CAP_LARGE_CQE : 0,
		.qp_tab_size = 1 << 18,
		.bf_reg_size = 512,
		.bf_regs_per_page = 8,
		.cqe_size = conf->cqe_bytes,
	};
}

static void pd(uint32_t number, void *resp)
{
	((struct mlx4_ib_alloc_pd_resp *)resp)->pdn = number;
}

static void cq(struct fakeverbs_cq *c, const struct fakeverbs_conf *conf, const void *cmd,
	       void *resp)
{
	const struct mlx4_ib_create_cq *q = cmd;

	c->buf = (uint8_t *)(uintptr_t)q->buf_addr;
	c->db = (const volatile uint32_t *)(uintptr_t)q->db_addr;
	c->entry_bytes = conf->cqe_bytes == 64 ? 64 : sizeof(struct mlx4_cqe);
	memset(c->buf, UNWRITTEN, (size_t)c->entries * c->entry_bytes);
	((struct mlx4_ib_create_cq_resp *)resp)->cqn = c->number;
}

static uint32_t log2_up(uint32_t n)
{
	uint32_t log = 0;

	while (1u << log < n)
		log++;
	return log;
}

/* The queue with the longer entries comes first. */
static void qp(struct fakeverbs_qp *p, const struct ib_uverbs_create_qp *core, const void *cmd,
	       void *resp)
{
	const struct mlx4_ib_create_qp *q = cmd;
	uint32_t rq_entry = log2_up(core->max_recv_sge * sizeof(struct mlx4_wqe_data_seg));

	(void)resp;
	p->block_bytes = 1u << q->log_sq_stride;
	p->blocks = 1u << q->log_sq_bb_count;
	p->sq = (uint8_t *)(uintptr_t)q->buf_addr;
	if (rq_entry > q->log_sq_stride)
		p->sq += (size_t)1 << (log2_up(core->max_recv_wr) + rq_entry);
}

/* --- completions --------------------------------------------------------------- */

/* All but the last byte, then the last byte, which says that the entry is valid. */
static void put_cqe(struct fakeverbs_cq *c, const struct mlx4_cqe *e, uint8_t op)
{
	uint8_t *at = c->buf + (size_t)(c->produced & (c->entries - 1)) * c->entry_bytes;
	struct mlx4_cqe *to = (struct mlx4_cqe *)(at + c->entry_bytes - sizeof(*to));

	if (c->produced & c->entries)
		op |= MLX4_CQE_OWNER_MASK;
	memcpy(to, e, offsetof(struct mlx4_cqe, owner_sr_opcode));
	__atomic_store_n(&to->owner_sr_opcode, op, __ATOMIC_RELEASE);
	c->produced++;
}

static struct mlx4_wqe_ctrl_seg *request(const struct fakeverbs_qp *p)
{
	return (void *)(p->sq + (size_t)(p->executed & (p->blocks - 1)) * p->block_bytes);
}

/* Was it posted in this lap? A NOP is what the library writes into slots that it never used. */
static bool is_posted(const struct fakeverbs_qp *p)
{
	uint32_t head = be32toh(request(p)->owner_opcode);

	return head >> 31 == ((p->executed & p->blocks) != 0) &&
	       (head & OPCODE_MASK) != MLX4_OPCODE_NOP;
}

/* Bytes that a READ asks for: its data segments, after control and remote address. */
static uint32_t read_bytes(const struct mlx4_wqe_ctrl_seg *c)
{
	const struct mlx4_wqe_data_seg *d = (const void *)(c + 2);
	uint32_t sum = 0;

	for (uint32_t i = 2; i < (c->fence_size & SEGMENTS_MASK); i++, d++)
		if (!(be32toh(d->byte_count) & MLX4_INLINE_SEG))
			sum += be32toh(d->byte_count);
	return sum;
}

static bool next(const struct fakeverbs_qp *p, struct fakeverbs_request *q)
{
	const struct mlx4_wqe_ctrl_seg *c = request(p);
	uint32_t opcode = be32toh(c->owner_opcode) & OPCODE_MASK;

	if (!is_posted(p))
		return false;
	*q = (struct fakeverbs_request){
		.opcode = opcode,
		.bytes = opcode == MLX4_OPCODE_RDMA_READ ? read_bytes(c) : 0,
		.blocks = 1,
		.signalled = be32toh(c->srcrb_flags) & MLX4_WQE_CTRL_CQ_UPDATE,
	};
	return true;
}

static void put_done(const struct fakeverbs_qp *p, const struct fakeverbs_request *q)
{
	const struct mlx4_cqe e = { .vlan_my_qpn = htobe32(p->number),
				    .wqe_index = htobe16(p->executed),
				    .byte_cnt = htobe32(q->bytes) };

	put_cqe(p->send_cq, &e, (uint8_t)(MLX4_CQE_IS_SEND_MASK | q->opcode));
}

static void put_failed(const struct fakeverbs_qp *p, const struct fakeverbs_request *q)
{
	struct mlx4_err_cqe e = { .vlan_my_qpn = htobe32(p->number),
				  .wqe_index = htobe16(p->executed) };

	(void)q;
	e.syndrome = p->failed ? MLX4_CQE_SYNDROME_WR_FLUSH_ERR
			       : MLX4_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR;
	put_cqe(p->send_cq, (struct mlx4_cqe *)&e, MLX4_CQE_IS_SEND_MASK | MLX4_CQE_OPCODE_ERROR);
}

/* Data are never in a completion. */
static bool receive(struct fakeverbs_qp *p, uint32_t bytes, const void *scatter)
{
	const struct mlx4_cqe e = { .vlan_my_qpn = htobe32(p->number),
				    .wqe_index = htobe16(p->received),
				    .byte_cnt = htobe32(bytes) };

	if (fakeverbs_is_full(p->recv_cq) || scatter)
		return false;
	put_cqe(p->recv_cq, &e, MLX4_RECV_OPCODE_SEND);
	p->received++;
	return true;
}

/* The last entry of the old buffer says that there is another, which goes on with its number. */
static void resize(struct fakeverbs_cq *c, uint32_t entries, const void *cmd)
{
	const struct mlx4_ib_resize_cq *q = cmd;
	const struct mlx4_cqe e = { 0 };

	put_cqe(c, &e, MLX4_CQE_OPCODE_RESIZE);
	c->buf = (uint8_t *)(uintptr_t)q->buf_addr;
	c->entries = entries;
	memset(c->buf, UNWRITTEN, (size_t)entries * c->entry_bytes);
}

const struct fakeverbs_adapter fakeverbs_mlx4 = {
	.provider = "mlx4",
	.modalias = "pci:v000015B3d00001003sv000015B3sd00000001bc02sc80i00",
	.abi_version = "4",
	.context_resp = sizeof(struct mlx4_ib_alloc_ucontext_resp),
	.pd_resp = sizeof(struct mlx4_ib_alloc_pd_resp),
	.cq_cmd = sizeof(struct mlx4_ib_create_cq),
	.cq_resp = sizeof(struct mlx4_ib_create_cq_resp),
	.qp_cmd = sizeof(struct mlx4_ib_create_qp),
	.qp_resp = 0,
	.resize_cmd = sizeof(struct mlx4_ib_resize_cq),
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
