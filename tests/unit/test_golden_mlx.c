// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5 and mlx4 against recordings of what libmlx5 and libmlx4 wrote (tests/golden/mlx). These need
 * no verbs, and so run where test_golden_mlx5 and test_golden_mlx4 do not.
 */
#include "tests/unit/mlx_flip.h"
#include "tests/unit/mlx_replay.h"

struct recording {
	const char *name, *file;
	uint32_t provider;
};

#define FILES(prefix)                                                                              \
	{ prefix "(mlx5-rc)", GOLDEN_DIR "/mlx/mlx5-rc.ring", GUEST_PROVIDER_MLX5 },               \
		{ prefix "(mlx5-ud)", GOLDEN_DIR "/mlx/mlx5-ud.ring", GUEST_PROVIDER_MLX5 },       \
		{ prefix "(mlx4-rc)", GOLDEN_DIR "/mlx/mlx4-rc.ring", GUEST_PROVIDER_MLX4 },       \
		{ prefix "(mlx4-ud)", GOLDEN_DIR "/mlx/mlx4-ud.ring", GUEST_PROVIDER_MLX4 },

static const struct recording whole[] = { FILES("golden__each_record__tells_the_truth") };

static void is_counted(void **state)
{
	const struct recording *c = *state;
	struct replay x;

	replay_begin(&x, c->file);
	assert_int_equal(x.g.sq->desc.provider, c->provider);
	assert_true(x.g.wrs > 2 * (uint64_t)x.g.sq->desc.entries);
	replay_all(&x);
	replay_end(&x);
}
TEST_ROWS(whole, is_counted)

static const struct recording forged[] = { FILES("golden__any_byte_forged__is_bounded") };

static void is_bounded(void **state)
{
	const struct recording *c = *state;
	struct golden_ring *rings[2];
	uint8_t *before[2];
	struct replay x;

	replay_begin(&x, c->file);
	rings[0] = x.g.sq;
	rings[1] = x.cq;
	while (x.g.snap < x.g.snaps / 2)
		assert_int_equal(golden_next(&x.g), 1);
	for (int i = 0; i < 2; i++) {
		before[i] = malloc(rings[i]->len);
		memcpy(before[i], rings[i]->mem, rings[i]->len);
	}
	assert_int_equal(golden_next(&x.g), 1);
	for (int i = 0; i < 2; i++) {
		flip_each(&rings[i]->desc, rings[i]->mem, rings[i]->len, before[i], x.peers);
		free(before[i]);
	}
	replay_end(&x);
}
TEST_ROWS(forged, is_bounded)
