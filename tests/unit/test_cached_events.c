// SPDX-License-Identifier: GPL-2.0-or-later
/* events: the newest are kept, in order, and what happens often is told once a second. */
#include <string.h>

#include "src/cached/events.h"
#include "tests/unit/prop.h"

static const char *text_after(const struct events *e, uint64_t after)
{
	struct events_seen seen;

	return events_next(e, after, &seen) ? seen.text : NULL;
}

static struct mono at_ms(int64_t ms)
{
	return (struct mono){ (100000 + ms) * NS_PER_MS };
}

TEST(next__nothing_happened__is_none)
{
	struct events *e = events_new();

	assert_int_equal(events_newest(e), 0);
	assert_null(text_after(e, 0));
	events_free(e);
}

TEST(add__some__are_told_in_order)
{
	struct events *e = events_new();
	struct events_seen seen;

	events_add(e, "host %d joined", 2);
	events_add(e, "host %d is out", 3);
	assert_true(events_next(e, 0, &seen));
	assert_int_equal(seen.number, 1);
	assert_string_equal(seen.text, "host 2 joined");
	assert_true(seen.wall_ns > 1600000000LL * NS_PER_S);
	assert_true(events_next(e, 1, &seen));
	assert_int_equal(seen.number, 2);
	assert_string_equal(seen.text, "host 3 is out");
	assert_false(events_next(e, 2, &seen));
	assert_false(events_next(e, UINT64_MAX, &seen));
	assert_int_equal(events_newest(e), 2);
	events_free(e);
}

TEST(add__more_than_are_kept__the_oldest_go)
{
	struct events *e = events_new();
	struct events_seen seen;

	for (int i = 1; i <= EVENTS_MAX; i++)
		events_add(e, "%d", i);
	assert_string_equal(text_after(e, 0), "1");
	events_add(e, "%d", EVENTS_MAX + 1);
	assert_true(events_next(e, 0, &seen));
	assert_int_equal(seen.number, 2);
	assert_string_equal(seen.text, "2");
	assert_string_equal(text_after(e, EVENTS_MAX), "1001");
	for (int i = 2; i <= 3 * EVENTS_MAX; i++)
		events_add(e, "%d", EVENTS_MAX + i);
	for (uint64_t n = 0; events_next(e, n, &seen); n = seen.number)
		assert_int_equal(strtoull(seen.text, NULL, 10), seen.number);
	assert_int_equal(seen.number, 4 * EVENTS_MAX);
	events_free(e);
}

TEST(add__text_from_outside__is_tame_and_cut)
{
	struct events *e = events_new();
	char much[2 * EVENTS_TEXT];

	memset(much, 'x', sizeof(much) - 1);
	much[sizeof(much) - 1] = 0;
	memcpy(much + EVENTS_TEXT - 2, "\xc3\xa9", 2); /* cut in the middle of a character */
	events_add(e, "a\nb\x1b[0m\xff");
	events_add(e, "%s", much);
	assert_string_equal(text_after(e, 0), "a?b?[0m");
	assert_int_equal(strlen(text_after(e, 1)), EVENTS_TEXT - 2);
	events_free(e);
}

TEST(often__more_than_one_a_second__are_counted)
{
	struct events *e = events_new();

	events_often(e, 3, at_ms(0), "refused: %s", "moved");
	events_often(e, 3, at_ms(500), "refused: %s", "moved");
	events_often(e, 3, at_ms(999), "refused: %s", "moved");
	events_often(e, 4, at_ms(999), "refused: %s", "full");
	assert_int_equal(events_newest(e), 2);
	events_often(e, 3, at_ms(1000), "refused: %s", "moved");
	events_often(e, 3, at_ms(2000), "refused: %s", "moved");
	assert_string_equal(text_after(e, 0), "refused: moved");
	assert_string_equal(text_after(e, 1), "refused: full");
	assert_string_equal(text_after(e, 2), "refused: moved (2 more since the last one)");
	assert_string_equal(text_after(e, 3), "refused: moved");
	events_often(e, 5, (struct mono){ 0 }, "soon after the boot");
	assert_int_equal(events_newest(e), 5);
	events_often(e, EVENTS_KINDS, at_ms(0), "no such kind");
	events_often(e, UINT32_MAX / 4, at_ms(0), "no such kind");
	assert_int_equal(events_newest(e), 5);
	events_free(e);
}

TEST(add__without_a_ring__does_nothing)
{
	events_add(NULL, "x");
	events_often(NULL, 0, at_ms(0), "x");
	events_free(NULL);
}
