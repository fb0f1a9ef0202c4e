// SPDX-License-Identifier: GPL-2.0-or-later
/* guest: rings whose layout is a plug-in (ibmon/layout.h), as an agent publishes them. */
#include <string.h>

#include "ibmon/ring/ops.h"
#include "tests/fakes/fake_layout.h"
#include "tests/unit/guest_rig.h"

enum { DB_FRAME = FAKE_FRAMES - 1 };

static void attach_again(struct fixture *x)
{
	attach(x);
	settle(x);
}

static void publish(struct fixture *x, const struct ibmon_counts *c)
{
	struct fake_layout_ring *says;
	struct guest_ring *d;

	fake_write_begin(&x->g);
	fake_add_sq(&x->g, 1, 8);
	d = fake_ring_at(&x->g, 0);
	d->provider = FAKE_LAYOUT_PROVIDER;
	d->db_frame = DB_FRAME;
	d->db_offset = 64;
	fake_write_end(&x->g);
	says = (struct fake_layout_ring *)(void *)fake_ring_mem(&x->g, 0);
	*says = (struct fake_layout_ring){ .counts = *c,
					   .fault = -1,
					   .watch = { FAKE_LAYOUT_NONE, FAKE_LAYOUT_NONE,
						      FAKE_LAYOUT_NONE } };
	attach_again(x);
}

static void with_layouts(struct fixture *x, const struct ring_layouts *ls)
{
	struct registry_limits lim = limits;

	guest_close(x->mon);
	lim.layouts = ls;
	assert_int_equal(guest_open(&x->mon, &fake_mem_ops, &x->g.m, FAKE_DOMID, &lim), 0);
}

static const struct ibmon_counts three = { .wrs = 3, .seen = 3, .mtus_sent = 5, .ops = { 3 } };

RIG_TEST(layout__ring_of_a_plug_in__is_read_with_its_doorbell)
{
	struct ibmon_layout l = ibmon_layout_v1;
	struct ring_layouts ls = { .n = 1 };
	struct fixture *x = *state;
	uint64_t pages = 0;
	struct sample s;

	for (l.db_bytes = 0; l.db_bytes <= 8; l.db_bytes += 8) {
		ls.ops[0] = ring_plug_ops(&l);
		with_layouts(x, &ls);
		if (l.db_bytes)
			attach_again(x);
		else
			publish(x, &three);
		assert_int_equal(rings(x), 1);
		assert_int_equal(look(x)->faults, 0);
		/* A frame more, that of the doorbell record. */
		assert_true(!l.db_bytes || look(x)->pages == pages + 1);
		pages = look(x)->pages;
		assert_int_equal(ring_sample(x->ring[0].ring, MS, &s), 0);
		assert_int_equal(s.wrs, 3);
		assert_int_equal(s.mtus_sent, 5);
	}
	guest_close(x->mon);
	x->mon = NULL;
}

RIG_TEST(layout__ring_of_a_plug_in_that_is_not_loaded__is_refused)
{
	struct fixture *x = *state;
	struct guest_ring_info info;

	publish(x, &three);
	assert_int_equal(rings(x), 0);
	assert_true(guest_ring_info(x->mon, 0, &info));
	assert_int_equal(info.fault, RING_FAULT_DESC);
}

/* Of another kind than the layout's. */
RIG_TEST(layout__completion_queue_without_a_layout__is_refused)
{
	struct ring_layouts ls = { .n = 1 };
	struct fixture *x = *state;

	ls.ops[0] = ring_plug_ops(&ibmon_layout_v1);
	with_layouts(x, &ls);
	publish(x, &three);
	assert_int_equal(rings(x), 1);
	fake_write_begin(&x->g);
	fake_ring_at(&x->g, 0)->kind = GUEST_RING_CQ;
	fake_ring_at(&x->g, 0)->id = 2;
	fake_write_end(&x->g);
	settle(x);
	assert_int_equal(rings(x), 0);
	guest_close(x->mon);
	x->mon = NULL;
}

TEST(layout__names__are_those_of_plug_ins_and_built_in)
{
	struct ring_layouts ls = { .n = 1 };

	ls.ops[0] = ring_plug_ops(&ibmon_layout_v1);
	assert_string_equal(ring_layout_name(&ls, FAKE_LAYOUT_PROVIDER, RING_SQ), "fake");
	assert_null(ring_layout_name(&ls, FAKE_LAYOUT_PROVIDER, RING_CQ));
	assert_null(ring_layout_name(&ls, FAKE_LAYOUT_PROVIDER - 1, RING_SQ));
	assert_null(ring_layout_name(NULL, FAKE_LAYOUT_PROVIDER, RING_SQ));
	assert_string_equal(ring_layout_name(&ls, GUEST_PROVIDER_MLX4, RING_SQ), "mlx4 send queue");
}
