// SPDX-License-Identifier: GPL-2.0-or-later
/* guest_load: a guest's load page is mapped, copied by the sampler, and let go. */
#include <string.h>

#include "tests/unit/guest_rig.h"

static void show_load(struct fixture *x, uint32_t type, uint64_t ref)
{
	fake_write_begin(&x->g);
	fake_registry(&x->g)->load = (struct guest_ref){ type, 0, ref };
	fake_write_end(&x->g);
}

static struct guest_load_page *load_at(struct fixture *x, uint32_t i)
{
	return fake_page(&x->g, FAKE_FRAME_LATENCY + i);
}

/* What the sampler copies; 0: there is no page. */
static uint32_t magic_copied(struct fixture *x)
{
	struct scan_guest g = { .load = guest_load_page(x->mon) };
	struct guest_load_page copy;

	memset(&copy, 0xff, sizeof(copy));
	return scan_load(&g, &copy) ? copy.magic : 0;
}

RIG_TEST(load__named__is_mapped_and_all_of_it_is_copied)
{
	struct fixture *x = *state;
	struct scan_guest g = { .rings = 0 };
	struct guest_load_page copy;

	memset(load_at(x, 1), 0x5a, sizeof(copy));
	show_load(x, GUEST_REF_GRANT, FAKE_FRAME_LATENCY + 1);
	attach(x);
	assert_int_equal(magic_copied(x), 0);
	assert_int_equal(settle(x), 1);
	g.load = guest_load_page(x->mon);
	assert_true(scan_load(&g, &copy));
	assert_memory_equal(&copy, load_at(x, 1), sizeof(copy));
	load_at(x, 1)->magic = 7; /* it is the guest's page, and no copy of it */
	assert_int_equal(magic_copied(x), 7);
}

RIG_TEST(load__of_an_older_agent__is_none)
{
	struct fixture *x = *state;

	add(x, 1, 16);
	attach(x);
	settle(x);
	assert_int_equal(rings(x), 1);
	assert_null(guest_load_page(x->mon));
	assert_int_equal(magic_copied(x), 0);
}

RIG_TEST(load__walked_again__keeps_its_mapping)
{
	struct fixture *x = *state;
	const volatile void *page;

	show_load(x, GUEST_REF_FRAME, FAKE_FRAME_LATENCY);
	attach(x);
	settle(x);
	page = guest_load_page(x->mon);
	assert_non_null(page);
	add(x, 1, 16);
	assert_int_equal(settle(x), 1);
	assert_ptr_equal(guest_load_page(x->mon), page);
}

RIG_TEST(load__moved_or_withdrawn__stays_readable_until_reap)
{
	struct fixture *x = *state;
	const volatile uint32_t *page;
	uint64_t mapped;

	load_at(x, 0)->magic = 1;
	load_at(x, 1)->magic = 2;
	show_load(x, GUEST_REF_FRAME, FAKE_FRAME_LATENCY);
	attach(x);
	settle(x);
	mapped = x->g.m.pages;
	page = guest_load_page(x->mon);
	show_load(x, GUEST_REF_FRAME, FAKE_FRAME_LATENCY + 1);
	assert_int_equal(settle(x), 1);
	assert_int_equal(magic_copied(x), 2);
	assert_int_equal(*page, 1); /* the sampler, with the set before */
	assert_int_equal(x->g.m.pages, mapped + 1);
	guest_reap(x->mon);
	assert_int_equal(x->g.m.pages, mapped);
	show_load(x, GUEST_REF_NONE, 0);
	assert_int_equal(settle(x), 1);
	assert_null(guest_load_page(x->mon));
	guest_reap(x->mon);
	assert_int_equal(x->g.m.pages, mapped - 1);
}

RIG_TEST(load__that_cannot_be_mapped__is_not_tried_again_and_spoils_nothing)
{
	static const struct guest_ref wrong[] = { { GUEST_REF_FRAME, 0, FAKE_FRAMES + 5 },
						  { GUEST_REF_GRANT, 0, 1ull << 32 | 1 },
						  { 9, 0, FAKE_FRAME_LATENCY } };
	struct fixture *x = *state;

	add(x, 1, 16);
	attach(x);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint64_t calls;

		show_load(x, wrong[i].type, wrong[i].ref);
		settle(x);
		assert_null(guest_load_page(x->mon));
		assert_int_equal(rings(x), 1);
		assert_string_equal(look(x)->fault, "");
		calls = x->g.m.calls;
		fake_write_begin(&x->g);
		fake_write_end(&x->g);
		assert_int_equal(settle(x), 0);
		assert_int_equal(x->g.m.calls, calls);
	}
	show_load(x, GUEST_REF_FRAME, FAKE_FRAME_LATENCY);
	assert_int_equal(settle(x), 1);
	assert_non_null(guest_load_page(x->mon));
}

/* A guest that names another page each time: each is mapped within its budget, one at a time. */
RIG_TEST(load__renamed_all_the_time__maps_no_more_than_allowed)
{
	struct fixture *x = *state;
	uint64_t begin;

	attach(x);
	settle(x);
	begin = x->g.m.calls;
	for (uint32_t i = 0; i < 3000; i++) {
		show_load(x, GUEST_REF_FRAME, FAKE_FRAME_LATENCY + i % 2);
		x->now.ns += MS;
		guest_refresh(x->mon, x->now);
		guest_reap(x->mon);
		assert_in_range(x->g.m.pages, 1, 5);
	}
	assert_in_range(x->g.m.calls - begin, 100, 512 + 3 * 128);
	x->now.ns += 20000 * MS; /* and what the budget put off is made up for */
	settle(x);
	assert_non_null(guest_load_page(x->mon));
}

RIG_TEST(load__attached_elsewhere_or_closed__leaves)
{
	struct fixture *x = *state;

	show_load(x, GUEST_REF_FRAME, FAKE_FRAME_LATENCY);
	attach(x);
	settle(x);
	assert_int_equal(guest_attach(x->mon, NULL), 0);
	assert_null(guest_load_page(x->mon));
	guest_reap(x->mon);
	assert_int_equal(x->g.m.pages, 0);
	attach(x);
	settle(x);
	assert_non_null(guest_load_page(x->mon)); /* teardown sees that it is unmapped */
}
