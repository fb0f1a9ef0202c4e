/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mlx5_rig: queue pairs of libmlx5 over the fake device. See mlx_rig.h. */
#ifndef RESEX_TESTS_MLX5_RIG_H
#define RESEX_TESTS_MLX5_RIG_H

#include "resex/guest_abi.h"

enum { PROVIDER = GUEST_PROVIDER_MLX5 };

#include "tests/unit/mlx_rig.h"

static struct provider_rig *start_of(uint32_t cqe_version, int entries)
{
	fakeverbs_set_cqe_version(cqe_version);
	return rig_start(entries);
}

static struct provider_rig *start(int entries)
{
	return start_of(1, entries);
}

/* Of the interface of ibv_wr_*, which every queue pair here can use. */
static struct rig_qp *add_of(struct provider_rig *x, enum ibv_qp_type type, bool known,
			     uint32_t sends)
{
	uint64_t ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	struct ibv_qp_init_attr_ex a = {
		.send_cq = x->cq,
		.recv_cq = x->cq,
		.cap = { sends, 16, SGES, 1, INLINE },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = x->pd,
	};

	if (type != IBV_QPT_UD)
		ops |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
		       IBV_QP_EX_WITH_LOCAL_INV;
	if (type == IBV_QPT_RC)
		ops |= IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV;
	a.send_ops_flags = ops;
	return rig_add(x, ibv_create_qp_ex(x->context, &a), PROVIDER, known);
}

static struct rig_qp *add(struct provider_rig *x, enum ibv_qp_type type, bool known)
{
	return add_of(x, type, known, SENDS);
}

/* Each test file is a program of its own. */
#ifndef MLX_RIG_BEGIN
#define MLX_RIG_BEGIN unit_begin
#endif
void MLX_RIG_BEGIN(void)
{
	rig_begin(&(struct fakeverbs_conf){ .provider = "mlx5", .cqe_version = 1 });
}

#endif
