/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlx_cq: what completion queues of mlx4 and mlx5 have in common: how they are walked. Private.
 *
 *	mlx4_cq.c, mlx5_cq.c	what an entry says, in the form of each layout
 *	mlx_cq_sample.h		which entries are new, and which were lost
 *	mlx_cq.c		the other functions of struct ring_ops
 */
#ifndef RESEX_IBMON_RING_MLX_CQ_H
#define RESEX_IBMON_RING_MLX_CQ_H

#include <assert.h>

#include "ibmon/ring/ops.h"

enum {
	MLX_CQ_DB_POLLED = 0, /* word of the doorbell record: entries polled, modulo 2^24 */
	MLX_CQ_INDEX_MASK = 0xffffff,
	MLX_CQ_BEHIND = 0x800000,
	MLX_CQE_TAIL = 8, /* the last bytes of an entry, with its owner bit */
};

enum mlx_cqe_kind {
	MLX_CQE_SEND, /* completed: of a send queue */
	MLX_CQE_OTHER,
	MLX_CQE_RESIZED, /* the queue goes on in another buffer */
	MLX_CQE_BAD,	 /* no adapter writes it */
	MLX_CQE_UNKNOWN, /* its form is not known to this code */
};

/* An entry. */
struct mlx_cqe {
	uint64_t raw;	  /* its tail */
	uint32_t qpn;	  /* 0: it names none */
	uint16_t counter; /* of the request */
	uint8_t kind;	  /* enum mlx_cqe_kind */
	bool written;	  /* false: the library, or the kernel, left it so */
	bool owner, error;
};

/* What is remembered of a completion queue from one sample to the next. */
struct mlx_cq {
	uint32_t next; /* entries before this one are counted; modulo 2^24 */
	uint32_t polled_raw;
	uint32_t tail_raw; /* last word of entry next, when it was not valid */
	uint32_t fresh;	   /* entries that the last sample read */
	bool opened;	   /* the history was counted */
	bool more;	   /* entry next was not looked at */
	bool moved;	   /* the queue goes on in another buffer */
};

/* One queue during one sample. */
struct mlx_cq_ring {
	const struct ring_desc *d;
	const struct ring_mem *m;
	struct mlx_cq *q;
	const struct ring_peers *peers;
	struct sample *out;
	uint32_t *qpn;
};

static inline const volatile uint8_t *mlx_cq_tail(const struct ring_desc *d,
						  const struct ring_mem *m, uint32_t n)
{
	return m->base + (size_t)(n & (d->entries - 1)) * d->elem_size + d->elem_size -
	       MLX_CQE_TAIL;
}

/* open() of struct ring_ops. An entry has so many bytes, or twice as many. */
int mlx_cq_open(const struct ring_desc *d, const struct ring_mem *m, uint32_t bytes);

/* For struct ring_ops. */
size_t mlx_cq_state_size(const struct ring_desc *d);
bool mlx_cq_header_same(const struct ring_desc *d, const struct ring_mem *m);
void mlx_cq_quiet(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		  struct ring_quiet *quiet);
void mlx_cq_prefetch(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		     bool rest);

#endif
