/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlx4_sq: what the two files of the send queue layout share. Private.
 *
 *	mlx4_wqe.c	one work request: whether it was posted, and what it costs
 *	mlx4.c		which of them are new
 */
#ifndef RESEX_IBMON_RING_MLX4_SQ_H
#define RESEX_IBMON_RING_MLX4_SQ_H

#include "ibmon/ring/mlx4.h"
#include "ibmon/ring/mlx_sq.h"
#include "src/util/seqread.h"

enum mlx4_fit {
	MLX4_FITS,
	MLX4_GONE,    /* it was overwritten since, by the next lap */
	MLX4_OTHER,   /* memory of something else */
	MLX4_BAD,     /* no adapter would accept it */
	MLX4_UNKNOWN, /* its operation is not known to this code */
};

static inline const volatile uint8_t *mlx4_slot(const struct mlx_ring *r, uint16_t at)
{
	return r->m->base + (size_t)(at & r->mask) * r->d->elem_size;
}

/* The head of the slot of this index, as it is in memory. */
static inline uint32_t mlx4_head_raw(const struct mlx_ring *r, uint16_t at)
{
	return guest_read32(mlx4_slot(r, at) + RING_MLX4_WQE_HEAD);
}

static inline bool mlx4_is_of_lap(const struct mlx_ring *r, uint16_t at, uint32_t head)
{
	return (head >> 31) == ((at & (r->mask + 1)) != 0);
}

/* Was the slot never posted since the queue was made, or RESET? Its head is that of a NOP. */
bool mlx4_is_unused_nop(const struct mlx_ring *r, uint16_t at, uint32_t head);

static inline bool mlx4_is_unused(const struct mlx_ring *r, uint16_t at, uint32_t head_raw)
{
	uint32_t head = be32toh(head_raw);

	return !(head & ~RING_MLX4_OWNER) && mlx4_is_unused_nop(r, at, head);
}

/* Does the slot hold the request of this index, or one an even number of laps from it? */
static inline bool mlx4_is_posted(const struct mlx_ring *r, uint16_t at, uint32_t head_raw)
{
	return mlx4_is_of_lap(r, at, be32toh(head_raw)) && !mlx4_is_unused(r, at, head_raw);
}

/* The index that the library wrote into the request, as it does into some; 0: it did not. */
uint16_t mlx4_index_written(uint32_t head_raw);

/* Can the slot at base be one of this queue pair? */
bool mlx4_is_own(const struct ring_desc *d, const volatile uint8_t *slot);

/* Of what does not change in a request once it is posted. */
uint64_t mlx4_print(const struct mlx_ring *r, uint16_t at);

/* Read the request of this index, and its form. */
enum mlx4_fit mlx4_wqe_read(const struct mlx_ring *r, uint16_t at, struct mlx_wqe *w,
			    struct mlx_like *like);

/* How many of the requests from index at on, at most max, have this form? They cost the same. */
uint32_t mlx4_wqe_alike(const struct mlx_ring *r, uint16_t at, uint32_t max,
			const struct mlx_like *like);

#endif
