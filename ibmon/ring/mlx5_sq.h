/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlx5_sq: what the two files of the send queue layout share. Private.
 *
 *	mlx5_wqe.c	one work request: where it ends, and what it costs
 *	mlx5.c		which of them are new
 */
#ifndef RESEX_IBMON_RING_MLX5_SQ_H
#define RESEX_IBMON_RING_MLX5_SQ_H

#include "ibmon/ring/mlx5.h"
#include "ibmon/ring/mlx_sq.h"
#include "src/util/seqread.h"

enum mlx5_fit {
	MLX5_FITS,
	MLX5_OTHER,   /* another request begins in this block, or none */
	MLX5_BAD,     /* this one does, and no adapter would accept it */
	MLX5_UNKNOWN, /* its operation is not known to this code */
};

/*
 * Blocks of the request that begins at block at, if it is of this queue pair and has this index;
 * 0: none does.
 */
uint32_t mlx5_wqe_blocks(const struct mlx_ring *r, uint16_t at);

/* Read the request that begins at block at, and its form. It must end within most blocks. */
enum mlx5_fit mlx5_wqe_read(const struct mlx_ring *r, uint16_t at, uint32_t most, struct mlx_wqe *w,
			    struct mlx_like *like);

/*
 * How many of the requests of one block from block at on, at most max, have this form? They cost
 * the same.
 */
uint32_t mlx5_wqe_alike(const struct mlx_ring *r, uint16_t at, uint32_t max,
			const struct mlx_like *like);

#endif
