// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plan: random sizes and operations, due times, counts of a queue pair and tags of work
 * requests, for all roles. Pure. See plan.h.
 */
#include "src/benchex/plan.h"

#include "src/core/random.h"
#include "src/core/units.h"

uint64_t bx_random(struct bx_random *r)
{
	return random_next(&r->state);
}

/*
 * A random number is drawn also for a range of one size: the sequence behind it must not
 * depend on the range.
 */
uint32_t bx_random_size(struct bx_random *r, struct bx_range range)
{
	uint64_t span = (uint64_t)range.max - range.min + 1;

	/* span <= 2^24: the modulo bias is below 2^-40 */
	return range.min + (uint32_t)(bx_random(r) % span);
}

/* The last line is for the compiler: n is below the sum of the weights. */
enum bx_op bx_random_op(struct bx_random *r, const uint32_t weight[static BX_OPS])
{
	uint64_t sum = 0, n;

	for (int i = 0; i < BX_OPS; i++)
		sum += weight[i];
	if (sum == 0)
		return BX_WRITE;
	n = bx_random(r) % sum;
	for (int i = 0; i < BX_OPS; i++) {
		if (n < weight[i])
			return (enum bx_op)i;
		n -= weight[i];
	}
	return BX_WRITE;
}

void bx_pace_start(struct bx_pace *p, uint64_t rate, uint32_t burst, int64_t now)
{
	*p = (struct bx_pace){ .rate = rate, .burst = burst ? burst : 1, .base = now };
}

/* Computed from base, not added up message by message: no error grows with their number. */
int64_t bx_pace_due(const struct bx_pace *p)
{
	if (p->rate == 0)
		return p->base;
	return p->base + (int64_t)(p->n * NS_PER_S / p->rate);
}

void bx_pace_next(struct bx_pace *p, uint64_t gap_ns)
{
	if (p->rate == 0) {
		p->base += (int64_t)gap_ns;
		return;
	}
	p->n += p->burst;
	/* Move whole seconds to the base: no rounding errors add up, nothing overflows. */
	p->base += (int64_t)(p->n / p->rate) * NS_PER_S;
	p->n %= p->rate;
}

/* A message of no bytes is still one packet. */
uint64_t bx_mtus(uint64_t bytes, uint32_t path_mtu)
{
	uint64_t n = (bytes + path_mtu - 1) / path_mtu;

	return n ? n : 1;
}

void bx_truth_posted(struct bx_qp *q)
{
	q->outstanding++;
}

/* A READ receives, all other operations send. Bytes of failed ones are not known. */
void bx_truth_ended(struct bx_qp *q, enum bx_op op, uint32_t bytes, bool well)
{
	uint64_t mtus = bx_mtus(bytes, q->path_mtu);

	q->outstanding--;
	if (!well) {
		q->errors++;
		return;
	}
	q->completed[op]++;
	if (op == BX_READ) {
		q->bytes_recv += bytes;
		q->mtus_recv += mtus;
	} else {
		q->bytes_sent += bytes;
		q->mtus_sent += mtus;
	}
}

/*
 * The widths hold the largest values: SERVER_CONNS_MAX and BX_QPS_MAX connections,
 * BX_DEPTH_MAX + SERVER_STUCK_SLOTS slots, BX_SIZE_MAX bytes. The generation wraps after
 * 4096 connections of an index.
 */
uint64_t bx_tag_put(struct bx_tag t)
{
	return (uint64_t)(t.conn & 0xfff) << 52 | (uint64_t)(t.gen & 0xfff) << 40 |
	       (uint64_t)(t.slot & 0x7ff) << 29 | (uint64_t)(t.op & 0xf) << 25 |
	       (t.bytes & 0x1ffffff);
}

struct bx_tag bx_tag_get(uint64_t wr_id)
{
	return (struct bx_tag){
		.conn = (uint32_t)(wr_id >> 52),
		.gen = wr_id >> 40 & 0xfff,
		.slot = wr_id >> 29 & 0x7ff,
		.op = wr_id >> 25 & 0xf,
		.bytes = wr_id & 0x1ffffff,
	};
}
