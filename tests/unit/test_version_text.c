// SPDX-License-Identifier: GPL-2.0-or-later
/* test_version_text: version words in headers. */
#include "config.h"

#include <string.h>

#include "src/ring/version_text.h"
#include "tests/unit/prop.h"

TEST(write__gives_decimals_and_a_hexadecimal)
{
	char text[VERSION_TEXT_MAX], page[VERSION_PAGE_MAX];
	struct version_text v = { 3, 17, 0xabc };

	version_text_write(&v, text);
	version_text_page(&v, page);
	assert_string_equal(text, "3.17.abc");
	assert_string_equal(page, "3.17");
	v = (struct version_text){ 256, 999999, UINT64_MAX };
	version_text_write(&v, text);
	version_text_page(&v, page);
	assert_string_equal(text, "256.999999.ffffffffffffffff");
	assert_string_equal(page, "256.999999");
}

static const struct text_row {
	const char *name;
	const char *text;
	struct version_text v; /* home 0: refused */
} texts[] = {
	{ "read__a_version", "3.17.abc", { 3, 17, 0xabc } },
	{ "read__word_0", "1.0.1", { 1, 0, 1 } },
	{ "read__the_greatest", "256.999999.ffffffffffffffff", { 256, 999999, UINT64_MAX } },
	{ "read__zeros_in_front", "003.0017.0000000000000abc", { 3, 17, 0xabc } },
	{ "read__capitals", "3.17.ABCDEF", { 3, 17, 0xabcdef } },
	{ "read__none__is_refused", NULL, { 0 } },
	{ "read__empty__is_refused", "", { 0 } },
	{ "read__a_page__is_refused", "3.17", { 0 } },
	{ "read__no_version__is_refused", "3.17.", { 0 } },
	{ "read__no_word__is_refused", "3..abc", { 0 } },
	{ "read__no_home__is_refused", ".17.abc", { 0 } },
	{ "read__home_0__is_refused", "0.17.abc", { 0 } },
	{ "read__home_257__is_refused", "257.17.abc", { 0 } },
	{ "read__word_too_large__is_refused", "3.1000000.abc", { 0 } },
	{ "read__version_0__is_refused", "3.17.0", { 0 } },
	{ "read__version_too_long__is_refused", "3.17.11111111111111111", { 0 } },
	{ "read__home_that_wraps__is_refused", "4294967299.17.abc", { 0 } },
	{ "read__word_that_wraps__is_refused", "3.4294967313.abc", { 0 } },
	{ "read__word_very_long__is_refused", "3.18446744073709551633.abc", { 0 } },
	{ "read__hexadecimal_home__is_refused", "a.17.abc", { 0 } },
	{ "read__no_hexadecimal__is_refused", "3.17.abg", { 0 } },
	{ "read__something_behind__is_refused", "3.17.abc ", { 0 } },
	{ "read__something_before__is_refused", " 3.17.abc", { 0 } },
	{ "read__two_in_one__is_refused", "3.17.abc, 3.17.abc", { 0 } },
	{ "read__four_parts__is_refused", "3.17.abc.1", { 0 } },
	{ "read__sign__is_refused", "+3.17.abc", { 0 } },
	{ "read__prefix__is_refused", "3.17.0xabc", { 0 } },
};

static void run_text(void **state)
{
	const struct text_row *row = *state;
	struct version_text v = { 9, 9, 9 };

	assert_int_equal(version_text_read(&v, row->text), row->v.home != 0);
	assert_true(
		version_text_same(&v, row->v.home ? &row->v : &(struct version_text){ 9, 9, 9 }));
}

TEST_ROWS(texts, run_text)

TEST(same__differs_in_each_part)
{
	struct version_text v = { 1, 2, 3 };

	assert_true(version_text_same(&v, &(struct version_text){ 1, 2, 3 }));
	assert_false(version_text_same(&v, &(struct version_text){ 2, 2, 3 }));
	assert_false(version_text_same(&v, &(struct version_text){ 1, 3, 3 }));
	assert_false(version_text_same(&v, &(struct version_text){ 1, 2, 4 }));
}

TEST(read__of_what_was_written__is_the_same)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 10000; i++) {
		struct version_text v = { (uint32_t)prop_range(&p, 1, 256),
					  (uint32_t)prop_range(&p, 0, 999999),
					  prop_hostile(&p) | 1 };
		struct version_text r;
		char text[VERSION_TEXT_MAX];

		version_text_write(&v, text);
		prop_assert(&p, i, version_text_read(&r, text) && version_text_same(&v, &r));
	}
}
