/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlx4_sq: what the two files of the send queue layout share. Private.
 *
 *	mlx4_wqe.c	one work request: whether it was posted, and what it costs
 *	mlx4.c		which of them are new, and which are completed
 */
#ifndef RESEX_IBMON_RING_MLX4_SQ_H
#define RESEX_IBMON_RING_MLX4_SQ_H

#include <assert.h>

#include "ibmon/ring/mlx4.h"
#include "src/util/seqread.h"

/* A work request, as far as it is charged. */
struct mlx4_wqe {
	uint32_t bytes; /* of its message */
	uint8_t op;	/* enum sample_op */
	bool ud;	/* one packet, whatever its size */
	bool stamped;	/* its lengths were overwritten before they were read */
};

/* The form of a request of one chunk whose data are elsewhere: most are like the one before. */
struct mlx4_like {
	uint32_t opcode, size;	 /* words of the control segment, without owner and fence */
	uint8_t first, segments; /* of the data; segments 0: of no such form */
	uint32_t bytes[RING_MLX4_CHUNK / RING_MLX4_SEGMENT]; /* of data segments, by their number */
};

/* What is remembered of a send queue from one sample to the next. */
struct mlx4_sq {
	uint32_t told;	      /* completions of which completion queues told */
	uint32_t told_seen;   /* at the last sample */
	uint32_t next_raw;    /* head of slot posted, when it was not posted; as read */
	uint32_t last_raw;    /* head of the slot before it */
	uint16_t posted;      /* requests before this one were read */
	uint16_t charged;     /* requests before this one are charged; the rest is noted */
	uint16_t done;	      /* linked: the newest request that is completed */
	uint16_t failed_from; /* failed: the first request that failed */
	bool any;	      /* print is one */
	bool opened;	      /* the history was counted */
	bool full;	      /* each slot was used since the queue was made, or RESET */
	bool based;	      /* indices are the library's; else only modulo two laps */
	bool linked;	      /* a completion queue tells what is completed */
	bool failed;
	bool more;	   /* slot posted was not looked at, or is posted */
	uint8_t mtu_shift; /* log2 of the path MTU; 0: it is not known */
	uint32_t flying;   /* requests noted */
	uint32_t fresh;	   /* requests that the last sample found */
	int64_t waits_ns;  /* for how long nothing was completed, with requests noted */
	uint64_t print;	   /* of the newest request that was read: whether it is still there */
	uint64_t wqes, sent, recv; /* charged, and their MTUs */
	struct mlx4_like like;	   /* of the request that was read last, and */
	struct mlx4_wqe alike;	   /*   what it cost */
	struct mlx4_wqe noted[];   /* by slot */
};

static_assert(offsetof(struct mlx4_sq, noted) <= 128, "what most samples use is two lines");

/* One ring during one sample. */
struct mlx4_ring {
	const struct ring_desc *d;
	const struct ring_mem *m;
	struct mlx4_sq *q;
	struct sample *out;
	uint32_t mask; /* slots - 1 */
	uint32_t lost; /* requests overwritten unread */
};

enum mlx4_fit {
	MLX4_FITS,
	MLX4_GONE,    /* it was overwritten since, by the next lap */
	MLX4_OTHER,   /* memory of something else */
	MLX4_BAD,     /* no adapter would accept it */
	MLX4_UNKNOWN, /* its operation is not known to this code */
};

static inline const volatile uint8_t *mlx4_slot(const struct mlx4_ring *r, uint16_t at)
{
	return r->m->base + (size_t)(at & r->mask) * r->d->elem_size;
}

/* The head of the slot of this index, as it is in memory. */
static inline uint32_t mlx4_head_raw(const struct mlx4_ring *r, uint16_t at)
{
	return guest_read32(mlx4_slot(r, at) + RING_MLX4_WQE_HEAD);
}

static inline bool mlx4_is_of_lap(const struct mlx4_ring *r, uint16_t at, uint32_t head)
{
	return (head >> 31) == ((at & (r->mask + 1)) != 0);
}

/* Was the slot never posted since the queue was made, or RESET? Its head is that of a NOP. */
bool mlx4_is_unused_nop(const struct mlx4_ring *r, uint16_t at, uint32_t head);

static inline bool mlx4_is_unused(const struct mlx4_ring *r, uint16_t at, uint32_t head_raw)
{
	uint32_t head = be32toh(head_raw);

	return !(head & ~RING_MLX4_OWNER) && mlx4_is_unused_nop(r, at, head);
}

/* Does the slot hold the request of this index, or one an even number of laps from it? */
static inline bool mlx4_is_posted(const struct mlx4_ring *r, uint16_t at, uint32_t head_raw)
{
	return mlx4_is_of_lap(r, at, be32toh(head_raw)) && !mlx4_is_unused(r, at, head_raw);
}

/* The index that the library wrote into the request, as it does into some; 0: it did not. */
uint16_t mlx4_index_written(uint32_t head_raw);

/* Can the slot at base be one of this queue pair? */
bool mlx4_is_own(const struct ring_desc *d, const volatile uint8_t *slot);

/* Of what does not change in a request once it is posted. */
uint64_t mlx4_print(const struct mlx4_ring *r, uint16_t at);

/* Read the request of this index, and its form. */
enum mlx4_fit mlx4_wqe_read(const struct mlx4_ring *r, uint16_t at, struct mlx4_wqe *w,
			    struct mlx4_like *like);

/* How many of the requests from index at on, at most max, have this form? They cost the same. */
uint32_t mlx4_wqe_alike(const struct mlx4_ring *r, uint16_t at, uint32_t max,
			const struct mlx4_like *like);

#endif
