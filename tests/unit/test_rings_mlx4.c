// SPDX-License-Identifier: GPL-2.0-or-later
/* rings: as test_rings.c, over the fake device of mlx4, whose libmlx4 is the distribution's. */
#include "config.h"

#define RINGS_MLX4
#include "tests/unit/rings_rig.h"

#include <infiniband/mlx4dv.h>

#include "tests/unit/rings_both.h"

static int provider_ask(void *library, struct ibv_cq *cq)
{
	struct mlx4dv_cq out = { .comp_mask = 0 };
	struct mlx4dv_obj obj = { .cq = { cq, &out } };
	union {
		void *object;
		int (*call)(struct mlx4dv_obj *obj, uint64_t type);
	} init = { dlsym(library, "mlx4dv_init_obj") };

	return init.object ? init.call(&obj, MLX4DV_OBJ_CQ) : -1;
}

RIG_TEST(rings__completions_of_64_bytes__are_counted_by_the_host)
{
	assert_counted(*state, start_of(64, ENTRIES));
}

static const struct asked askeds[] = {
	{ "asked__for_mlx4__is_listed", "mlx4", NULL, true },
	{ "asked__for_mlx5__nothing_of_mlx4_is_taken_for_it", "mlx5", NULL, false },
	{ "asked__for_all__is_listed", "mlx5,mlx4,rxe", NULL, true },
};
TEST_ROWS(askeds, asked_is_listed)
