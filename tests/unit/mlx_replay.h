/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mlx_replay: a recording of queues of mlx5 or mlx4, read again and compared with its truth. */
#ifndef RESEX_TESTS_MLX_REPLAY_H
#define RESEX_TESTS_MLX_REPLAY_H

#include <string.h>

#include "tests/fakes/golden.h"
#include "tests/unit/unit.h"

struct replay {
	struct golden g;
	struct golden_ring *cq;
	struct ring *sq_ring, *cq_ring;
	struct ring_peers *peers;
};

/* The first record: nothing is posted. */
static inline void replay_begin(struct replay *x, const char *path)
{
	memset(x, 0, sizeof(*x));
	assert_int_equal(golden_open(&x->g, path), 0);
	assert_int_equal(x->g.rings, 2);
	x->cq = &x->g.ring[x->g.sq == x->g.ring];
	assert_int_equal(golden_next(&x->g), 1);
	assert_int_equal(ring_open(&x->sq_ring, &x->g.sq->desc, x->g.sq->mem, x->g.sq->len), 0);
	assert_int_equal(ring_open(&x->cq_ring, &x->cq->desc, x->cq->mem, x->cq->len), 0);
	x->peers = ring_peers_new(&x->sq_ring, 1);
	assert_non_null(x->peers);
}

static inline void replay_end(struct replay *x)
{
	ring_close(x->sq_ring);
	ring_close(x->cq_ring);
	free(x->peers);
	golden_close(&x->g);
}

/* As a scan does: completions first. */
static inline void replay_sample(struct replay *x)
{
	struct sample s;

	assert_int_equal(ring_sample_among(x->cq_ring, x->peers, x->g.elapsed_ns, &s), 0);
	assert_int_equal(ring_sample_among(x->sq_ring, x->peers, x->g.elapsed_ns, &s), 0);
}

static inline void replay_check_end(const struct replay *x)
{
	const struct golden *g = &x->g;
	struct ring_totals t;

	ring_totals(x->cq_ring, &t);
	assert_int_equal(t.completions, g->signalled);
	ring_totals(x->sq_ring, &t);
	assert_int_equal(t.wrs, g->wrs);
	assert_int_equal(t.mtus_sent, g->mtus_sent);
	assert_int_equal(t.mtus_recv, g->mtus_recv);
	assert_int_equal(t.bytes_sent, g->bytes_sent);
	assert_int_equal(t.bytes_recv, g->bytes_recv);
	assert_memory_equal(t.ops, g->ops, sizeof(t.ops));
	assert_int_equal(t.flags, SAMPLE_HISTORY);
}

/* Each record tells how much was known to be completed by then. */
static inline void replay_all(struct replay *x)
{
	struct ring_totals t;

	replay_sample(x);
	while (golden_next(&x->g) == 1) {
		replay_sample(x);
		ring_totals(x->sq_ring, &t);
		assert_int_equal(t.wrs, x->g.done);
	}
	assert_int_equal(x->g.snap, x->g.snaps);
	replay_check_end(x);
}

#endif
