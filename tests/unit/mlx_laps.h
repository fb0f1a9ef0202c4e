/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mlx_laps: as mlx_golden.h, of queues that are lapped, or forged. */
#ifndef RESEX_TESTS_MLX_LAPS_H
#define RESEX_TESTS_MLX_LAPS_H

#include "tests/unit/mlx_flip.h"
#include "tests/unit/mlx_rig.h"
#include "tests/unit/unit.h"

/* n requests that are completed and polled, and not looked at. */
static void pass_by(struct provider_rig *x, struct rig_qp *q, const struct wanted *w, int n,
		    uint64_t *newest)
{
	for (int i = 0; i < n; i++) {
		post_n(x, q, w, 1);
		assert_int_equal(rig_execute(q, 1), 1);
		poll_all(x, newest, 1);
	}
}

TEST(golden__index_wraps__is_counted_exactly)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];

	for (int i = 0; i < 1200; i++) {
		pass_by(x, q, &write_3, 60, newest);
		look(x);
	}
	assert_true(q->posted > 65536 + 256);
	assert_totals(q->sq.r, &q->want);
	rig_close(x);
}

TEST(golden__completions_lapped__are_lost_and_known)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];

	pass_by(x, q, &write_3, 100, newest);
	look(x);
	assert_int_equal(x->cqc.s.wrs, 100);
	assert_int_equal(x->cqc.s.seen, ENTRIES + 1);
	assert_true(x->cqc.s.flags & SAMPLE_LAPPED);
	assert_totals(q->sq.r, &q->want); /* the newest completion is enough */
	rig_close(x);
}

TEST(golden__any_byte_forged__is_bounded)
{
	struct provider_rig *x = start(ENTRIES);
	struct rig_qp *q = add(x, IBV_QPT_RC, false);
	uint64_t newest[RIG_QPS] = { 0 };
	uint8_t *before[2];
	struct prop p = { .state = 1 };

	rig_watch_cq(x, PROVIDER);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 30; i++) {
			struct wanted w = draw(&p, q->type);

			post(x, q, &w, NULL);
		}
		if (round == 2) {
			look(x);
			before[0] = malloc(q->sq.len);
			before[1] = malloc(x->cqc.len);
			memcpy(before[0], q->sq.mem, q->sq.len);
			memcpy(before[1], x->cqc.mem, x->cqc.len);
		}
		rig_execute(q, 25);
		poll_all(x, newest, 20);
	}
	copy_again(&q->sq);
	copy_again(&x->cqc);
	flip_each(&q->sq.desc, q->sq.mem, q->sq.len, before[0], x->peers);
	flip_each(&x->cqc.desc, x->cqc.mem, x->cqc.len, before[1], x->peers);
	free(before[0]);
	free(before[1]);
	rig_close(x);
}

#endif
