// SPDX-License-Identifier: GPL-2.0-or-later
/* clock: the simulated one goes where it is told; the real one never back. */
#include "src/util/clock.h"
#include "tests/unit/prop.h"

static void sim__starts_where_it_is_told_and_stands_still(void **state)
{
	struct clock c;

	(void)state;
	clock_sim(&c, (struct mono){ 1234 });
	assert_int_equal(c.now(&c).ns, 1234);
	assert_int_equal(c.now(&c).ns, 1234);
}

static void sim__sleeping__advances_to_the_time_slept_until(void **state)
{
	struct clock c;

	(void)state;
	clock_sim(&c, (struct mono){ 1000 });
	assert_int_equal(c.sleep_until(&c, (struct mono){ 5000 }), 0);
	assert_int_equal(c.now(&c).ns, 5000);
}

static void sim__sleeping_until_the_past__does_not_go_back(void **state)
{
	struct clock c;

	(void)state;
	clock_sim(&c, (struct mono){ 1000 });
	assert_int_equal(c.sleep_until(&c, (struct mono){ 999 }), 0);
	assert_int_equal(c.now(&c).ns, 1000);
}

static void sim__two_clocks__are_independent(void **state)
{
	struct clock a, b;

	(void)state;
	clock_sim(&a, (struct mono){ 1 });
	clock_sim(&b, (struct mono){ 2 });
	a.sleep_until(&a, (struct mono){ 100 });
	assert_int_equal(b.now(&b).ns, 2);
}

static void real__never_goes_back(void **state)
{
	struct clock c;
	struct mono last;

	(void)state;
	clock_real(&c);
	last = c.now(&c);
	assert_true(last.ns >= 0);
	for (int i = 0; i < 1000; i++) {
		struct mono now = c.now(&c);

		assert_true(now.ns >= last.ns);
		last = now;
	}
}

static void real__sleeping__ends_at_or_after_the_time(void **state)
{
	struct clock c;
	struct mono t;

	(void)state;
	clock_real(&c);
	t = mono_add(c.now(&c), 2 * NS_PER_MS);
	assert_int_equal(c.sleep_until(&c, t), 0);
	assert_true(c.now(&c).ns >= t.ns);
}

static void real__sleeping_until_the_past__returns(void **state)
{
	struct clock c;

	(void)state;
	clock_real(&c);
	assert_int_equal(c.sleep_until(&c, (struct mono){ 0 }), 0);
	assert_int_equal(c.sleep_until(&c, c.now(&c)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sim__starts_where_it_is_told_and_stands_still),
		cmocka_unit_test(sim__sleeping__advances_to_the_time_slept_until),
		cmocka_unit_test(sim__sleeping_until_the_past__does_not_go_back),
		cmocka_unit_test(sim__two_clocks__are_independent),
		cmocka_unit_test(real__never_goes_back),
		cmocka_unit_test(real__sleeping__ends_at_or_after_the_time),
		cmocka_unit_test(real__sleeping_until_the_past__returns),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
