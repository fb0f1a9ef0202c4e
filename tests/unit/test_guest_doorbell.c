// SPDX-License-Identifier: GPL-2.0-or-later
/* guest: rings whose counters are in a doorbell record, in a frame of its own. */
#include "tests/unit/prop.h"

#include <endian.h>
#include <string.h>

#include "ibmon/guest.h"
#include "tests/fakes/fake_guest.h"
#include "tests/unit/guest_rig.h"
#include "tests/unit/unit.h"

/* Turn ring i into a queue of mlx5, with its doorbell record in another frame. */
static void make_mlx5(struct fixture *x, uint32_t i, uint32_t kind, uint64_t db_frame)
{
	struct guest_ring *d = fake_ring_at(&x->g, i);

	memset(fake_ring_mem(&x->g, i), 0, GUEST_PAGE);
	fake_write_begin(&x->g);
	d->kind = (uint16_t)kind;
	d->provider = GUEST_PROVIDER_MLX5;
	d->number = 0x77;
	d->elem_size = 64;
	d->entries = 16;
	d->frames = 1;
	d->path_mtu = 1024;
	d->db_frame = db_frame;
	d->db_offset = 64 * (i + 3);
	d->db_bytes = 8;
	fake_write_end(&x->g);
}

static void put_be32(struct fixture *x, uint64_t frame, uint32_t at, uint32_t v)
{
	*(uint32_t *)((uint8_t *)fake_page(&x->g, frame) + at) = htobe32(v);
}

/* One WRITE of 3000 bytes in the first block. */
static void post_mlx5(struct fixture *x, uint32_t i, uint64_t db_frame)
{
	uint32_t *w = (uint32_t *)fake_ring_mem(&x->g, i);

	w[0] = htobe32(0x08);
	w[1] = htobe32(0x77 << 8 | 3);
	w[8] = htobe32(3000);
	put_be32(x, db_frame, 64 * (i + 3) + 4, 1);
}

RIG_TEST(doorbell__record_in_another_frame__is_read)
{
	enum { DB_FRAME = FAKE_FRAMES - 1 };
	struct fixture *x = *state;
	struct sample s;
	uint64_t pages;

	add(x, 1, 16);
	make_mlx5(x, 0, GUEST_RING_SQ, DB_FRAME);
	attach(x);
	settle(x);
	pages = look(x)->pages;
	assert_int_equal(pages, x->g.m.pages);
	assert_int_equal(rings(x), 1);
	assert_int_equal(ring_sample(x->ring[0].ring, MS, &s), 0);
	post_mlx5(x, 0, DB_FRAME);
	assert_int_equal(ring_sample(x->ring[0].ring, MS, &s), 0);
	assert_int_equal(s.wrs, 1);
	assert_int_equal(s.mtus_sent, 3);
	x->g.m.moved = DB_FRAME; /* it is checked, too */
	for (int i = 0; i < 4 && !guest_verify(x->mon, x->now); i++)
		x->now.ns += 100 * MS;
	x->g.m.moved = 0;
	assert_int_equal(rings(x), 0);
	guest_reap(x->mon);
	settle(x);
	assert_int_equal(rings(x), 1);
	assert_int_equal(look(x)->pages, pages);
	ring_sample(x->ring[0].ring, MS, &s);
	assert_int_equal(s.wrs, 0); /* it goes on */
}

RIG_TEST(doorbell__another_record_over_the_same_ring__is_another_ring)
{
	enum { DB_FRAME = FAKE_FRAMES - 1 };
	struct fixture *x = *state;
	struct ring *first;

	add(x, 1, 16);
	make_mlx5(x, 0, GUEST_RING_SQ, DB_FRAME);
	attach(x);
	settle(x);
	rings(x);
	first = x->ring[0].ring;
	make_mlx5(x, 0, GUEST_RING_SQ, DB_FRAME - 1);
	settle(x);
	guest_reap(x->mon);
	settle(x);
	assert_int_equal(rings(x), 1);
	assert_ptr_not_equal(x->ring[0].ring, first);
}

RIG_TEST(rings__of_both_kinds__completion_queues_come_first)
{
	enum { DB_FRAME = FAKE_FRAMES - 1 };
	struct fixture *x = *state;

	for (uint32_t i = 0; i < 3; i++) {
		add(x, i + 1, 16);
		make_mlx5(x, i, i == 1 ? GUEST_RING_CQ : GUEST_RING_SQ, DB_FRAME);
	}
	attach(x);
	for (int i = 0; i < 3; i++)
		settle(x);
	assert_int_equal(rings(x), 3);
	assert_int_equal(x->ring[0].id, 2);
}
