// SPDX-License-Identifier: GPL-2.0-or-later
/* unread: charges while a published send queue cannot be read. */
#include "tests/unit/prop.h"

#include "src/tick/sampler.h"
#include "tests/unit/unit.h"

#define MS NS_PER_MS

struct fixture {
	struct set_guest guest;
	struct slot slot;
	struct usage u;
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x)
		return -1;
	x->guest.last_rate = true;
	x->slot.guest = &x->guest;
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* Ticks of a millisecond, in each of which its other queues count mtus. What is charged in all. */
static uint64_t ticks(struct fixture *x, int n, uint64_t mtus, bool runs)
{
	uint64_t charged = 0;

	while (n--) {
		x->u = (struct usage){ .mtus_sent = mtus };
		unread_charge(&x->slot, &x->u, MS, runs);
		charged += x->u.mtus_sent;
	}
	return charged;
}

RIG_TEST(unread__all_can_be_read__changes_nothing)
{
	struct fixture *x = *state;

	assert_int_equal(ticks(x, 2500, 7, true), 2500 * 7);
	assert_int_equal(x->u.flags | x->slot.unread.total, 0);
}

RIG_TEST(unread__a_queue_cannot_be_read__charges_the_last_rate_until_it_can)
{
	struct fixture *x = *state;

	ticks(x, 1500, 5, true);
	x->guest.unreadable = 1;
	assert_int_equal(ticks(x, 3000, 0, true), 15000);
	assert_true(x->u.flags & USAGE_ESTIMATED);
	assert_int_equal(x->slot.unread.total, 15000);
	x->guest.unreadable = 0;
	assert_int_equal(ticks(x, 1, 0, true), 0);
	x->guest.unreadable = 1; /* again, before a second was measured */
	assert_int_equal(ticks(x, 1000, 0, true), 5000);
}

RIG_TEST(unread__fault_within_the_first_second__charges_what_was_counted_in_it)
{
	struct fixture *x = *state;

	ticks(x, 300, 10, true);
	x->guest.unreadable = 1;
	assert_int_equal(ticks(x, 1000, 0, true), 3000);
}

RIG_TEST(unread__other_queues_are_counted__only_the_rest_is_added)
{
	struct fixture *x = *state;

	ticks(x, 1000, 5, true);
	x->guest.unreadable = 2;
	assert_int_equal(ticks(x, 1000, 3, true), 5000);
	assert_int_equal(x->slot.unread.total, 2000);
	assert_int_equal(ticks(x, 100, 9, true), 900); /* more than the rate: all of it */
	assert_int_equal(x->u.flags, 0);
	assert_int_equal(ticks(x, 100, 0, true), 100); /* of which 400 were ahead of the rate */
	/* At most a second's worth is put against later ticks. */
	ticks(x, 1, 1000000, true);
	assert_int_equal(ticks(x, 2000, 0, true), 5000);
}

RIG_TEST(unread__rate_of_less_than_one_mtu_a_tick__is_exact_over_time)
{
	struct fixture *x = *state;

	x->guest.last_rate = false;
	x->guest.unreadable_mtus_s = 7;
	x->guest.unreadable = 1;
	assert_int_equal(ticks(x, 10000, 0, true), 70);
}

RIG_TEST(unread__nothing_is_configured__adds_nothing)
{
	struct fixture *x = *state;

	ticks(x, 1000, 5, true);
	x->guest.last_rate = false;
	x->guest.unreadable = 1;
	assert_int_equal(ticks(x, 1000, 2, true), 2000);
	assert_int_equal(x->slot.unread.total, 0);
}

RIG_TEST(unread__domain_is_paused__adds_nothing)
{
	struct fixture *x = *state;

	ticks(x, 1000, 5, true);
	x->guest.unreadable = 1;
	assert_int_equal(ticks(x, 1000, 0, false), 0);
	assert_int_equal(ticks(x, 1000, 0, true), 5000);
}
