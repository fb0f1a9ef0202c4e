// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx_cq: completion queues of mlx4 and mlx5: whether they can be read, and what is watched and
 * prefetched. Their samples: mlx_cq_sample.h.
 */
#include <endian.h>
#include <errno.h>

#include "ibmon/ring/mlx_cq.h"

enum {
	ENTRIES_MAX = 1 << 20,
	FETCH = 5,	/* lines prefetched early */
	FETCH_MAX = 32, /* and at all */
	LINE = 64,
};

int mlx_cq_open(const struct ring_desc *d, const struct ring_mem *m, uint32_t bytes)
{
	if ((d->elem_size != bytes && d->elem_size != 2 * bytes) || d->entries > ENTRIES_MAX)
		return -EPROTONOSUPPORT;
	return (size_t)d->entries * d->elem_size > m->len ? -EBADMSG : 0;
}

size_t mlx_cq_state_size(const struct ring_desc *d)
{
	(void)d;
	return sizeof(struct mlx_cq);
}

/* The doorbell record has 32 bits, of which the library uses 24. */
bool mlx_cq_header_same(const struct ring_desc *d, const struct ring_mem *m)
{
	(void)d;
	return be32toh(ring_db(m)[MLX_CQ_DB_POLLED]) <= MLX_CQ_INDEX_MASK;
}

/* The entry that the adapter writes next, and what was polled, which tells of whole laps. */
void mlx_cq_quiet(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		  struct ring_quiet *quiet)
{
	const struct mlx_cq *q = (const struct mlx_cq *)state;

	if (!q->opened || (q->more && !q->moved))
		return;
	quiet->at[0] = quiet->at[1] = &ring_db(m)[MLX_CQ_DB_POLLED];
	quiet->value[0] = quiet->value[1] = q->polled_raw;
	if (q->moved)
		return;
	quiet->at[0] = (const volatile uint32_t *)(mlx_cq_tail(d, m, q->next) + 4);
	quiet->value[0] = q->tail_raw;
}

/* The lines of as many entries as were read before, and of the one after them. */
void mlx_cq_prefetch(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		     bool rest)
{
	const struct mlx_cq *q = (const struct mlx_cq *)state;
	uint32_t a_line = d->elem_size < LINE ? 2 : 1; /* no division, which is slow */
	uint32_t max = rest ? FETCH_MAX : FETCH;

	if (!rest)
		ring_prefetch_line(&ring_db(m)[MLX_CQ_DB_POLLED]);
	for (uint32_t i = rest ? FETCH : 0; i * a_line < q->fresh + a_line && i < max; i++)
		ring_prefetch_line(mlx_cq_tail(d, m, q->next + i * a_line));
}
