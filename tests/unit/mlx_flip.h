/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mlx_flip: a queue of mlx5 or mlx4 with each of its bytes forged in turn. */
#ifndef RESEX_TESTS_MLX_FLIP_H
#define RESEX_TESTS_MLX_FLIP_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/ring/ring.h"
#include "resex/guest_abi.h"
#include "tests/unit/unit.h"

static inline bool is_of_queue(const struct ring_desc *d, size_t at)
{
	size_t page = (size_t)d->frames * GUEST_PAGE, bytes = (size_t)d->entries * d->elem_size;

	if (at < page)
		return at >= d->offset && at < d->offset + bytes;
	return at >= page + d->db_offset && at < page + d->db_offset + 8;
}

/*
 * The queue as it was, then as it is in mem, with one byte that is another: whatever comes of it,
 * it is bounded by the queue.
 */
static inline void flip_each(const struct ring_desc *d, uint8_t *mem, size_t len,
			     const uint8_t *before, const struct ring_peers *peers)
{
	static const uint8_t masks[] = { 0x01, 0x80, 0xff };
	uint8_t *now = malloc(len);

	memcpy(now, mem, len);
	for (size_t i = 0; i < 3 * len; i++) {
		struct ring *r = NULL;
		struct sample s;
		int rc;

		if (!is_of_queue(d, i / 3))
			continue;
		memcpy(mem, before, len);
		assert_int_equal(ring_open(&r, d, mem, len), 0);
		assert_int_equal(ring_sample(r, 1000000, &s), 0);
		memcpy(mem, now, len);
		mem[i / 3] ^= masks[i % 3];
		for (int again = 0; again < 2; again++) {
			rc = ring_sample_among(r, peers, 1000000, &s);
			assert_true(rc == 0 || rc == -EBADMSG);
			assert_true(s.seen <= 2 * (uint64_t)d->entries);
			assert_true(s.lost <= 0x1000000 && s.backlog <= d->entries);
			assert_true(!s.lost || (s.flags & SAMPLE_LAPPED));
			memcpy(mem, now, len);
		}
		ring_close(r);
	}
	free(now);
}

#endif
