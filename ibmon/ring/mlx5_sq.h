/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlx5_sq: what the two files of the send queue layout share. Private.
 *
 *	mlx5_wqe.c	one work request: where it ends, and what it costs
 *	mlx5.c		which of them are new, and which are completed
 */
#ifndef RESEX_IBMON_RING_MLX5_SQ_H
#define RESEX_IBMON_RING_MLX5_SQ_H

#include <assert.h>

#include "ibmon/ring/mlx5.h"
#include "src/util/seqread.h"

/* A work request, as far as it is charged. */
struct mlx5_wqe {
	uint32_t bytes; /* of its message */
	uint8_t op;	/* enum sample_op */
	uint8_t blocks;
	bool ud;    /* one packet, whatever its size */
	bool chain; /* mlx5.c: the requests from here on reach to the newest one */
};

/* The form of a request of one block whose data are elsewhere: most are like the one before. */
struct mlx5_like {
	uint32_t head, qpn;	 /* words of the control segment; of the first, not the index */
	uint8_t first, segments; /* of the data; segments 0: of no such form */
	uint32_t bytes[RING_MLX5_BLOCK / RING_MLX5_SEGMENT]; /* of data segments, by their number */
};

/* What is remembered of a send queue from one sample to the next. */
struct mlx5_sq {
	uint32_t told;	      /* completions of which completion queues told */
	uint32_t told_seen;   /* at the last sample */
	uint32_t posted_raw;  /* doorbell record at the last sample, as read */
	uint16_t posted;      /* requests before this block were read */
	uint16_t charged;     /* requests before this block are charged; the rest is noted */
	uint16_t last;	      /* first block of the newest request that was read */
	uint16_t done;	      /* linked: of the newest request that is completed */
	uint16_t failed_from; /* failed: of the first request that failed */
	bool any;	      /* last is one */
	bool opened;	      /* the history was counted */
	bool linked;	      /* a completion queue tells what is completed */
	bool failed;
	uint32_t flying;   /* requests noted */
	uint32_t fresh;	   /* blocks posted before the last sample, after the one before it */
	uint32_t unstable; /* samples in a row in which nothing fitted, and more was posted */
	int64_t waits_ns;  /* for how long nothing was completed, with requests noted */
	uint8_t mtu_shift; /* log2 of the path MTU; 0: it is not known */
	uint64_t blocks, sent, recv; /* charged, and their MTUs */
	struct mlx5_like like;	     /* of the request that was read last, and */
	struct mlx5_wqe alike;	     /*   what it cost */
	struct mlx5_wqe noted[];     /* by the slot of their first block */
};

static_assert(offsetof(struct mlx5_sq, noted) <= 128, "what most samples use is two lines");

/* One ring during one sample. */
struct mlx5_ring {
	const struct ring_desc *d;
	const struct ring_mem *m;
	struct mlx5_sq *q;
	struct sample *out;
	uint32_t mask; /* blocks - 1 */
	uint32_t lost; /* blocks overwritten unread */
};

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
uint32_t mlx5_wqe_blocks(const struct mlx5_ring *r, uint16_t at);

/* Read the request that begins at block at, and its form. It must end within most blocks. */
enum mlx5_fit mlx5_wqe_read(const struct mlx5_ring *r, uint16_t at, uint32_t most,
			    struct mlx5_wqe *w, struct mlx5_like *like);

/*
 * How many of the requests of one block from block at on, at most max, have this form? They cost
 * the same.
 */
uint32_t mlx5_wqe_alike(const struct mlx5_ring *r, uint16_t at, uint32_t max,
			const struct mlx5_like *like);

#endif
