/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mlx4_rig: queue pairs of libmlx4 over the fake device. See mlx_rig.h. */
#ifndef RESEX_TESTS_MLX4_RIG_H
#define RESEX_TESTS_MLX4_RIG_H

#include "resex/guest_abi.h"

enum { PROVIDER = GUEST_PROVIDER_MLX4 };

#include "tests/unit/mlx_rig.h"

static struct provider_rig *start_of(uint32_t cqe_bytes, int entries)
{
	fakeverbs_set_cqe_bytes(cqe_bytes);
	return rig_start(entries);
}

static struct provider_rig *start(int entries)
{
	return start_of(32, entries);
}

static struct rig_qp *add_of(struct provider_rig *x, enum ibv_qp_type type, bool known,
			     struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr a = {
		.send_cq = x->cq, .recv_cq = x->cq, .cap = cap, .qp_type = type
	};

	return rig_add(x, ibv_create_qp(x->pd, &a), PROVIDER, known);
}

static struct rig_qp *add(struct provider_rig *x, enum ibv_qp_type type, bool known)
{
	return add_of(x, type, known, (struct ibv_qp_cap){ SENDS, 16, SGES, 1, INLINE });
}

/* Each test file is a program of its own. */
#ifndef MLX_RIG_BEGIN
#define MLX_RIG_BEGIN unit_begin
#endif
void MLX_RIG_BEGIN(void)
{
	rig_begin(&(struct fakeverbs_conf){ .provider = "mlx4", .cqe_bytes = 32 });
}

#endif
