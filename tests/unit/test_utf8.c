// SPDX-License-Identifier: GPL-2.0-or-later
/* utf8: what is a character, what is dropped, and what is never sent to a terminal. */
#include "src/util/utf8.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

TEST(good__any_bytes__is_what_jansson_takes)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 200000; i++) {
		static const unsigned char bytes[] = { 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0,
						       0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1,
						       0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff };
		char s[8] = "";
		json_t *j;

		for (size_t k = prop_range(&p, 1, 6); k > 0; k--)
			s[k - 1] = (char)bytes[prop_range(&p, 0, sizeof(bytes) - 1)];
		j = json_string(s);
		prop_assert(&p, i, utf8_good(s) == (j != NULL));
		json_decref(j);
		utf8_mend(s);
		prop_assert(&p, i, utf8_good(s));
	}
}

TEST(mend__character_cut_through__is_dropped_and_the_rest_kept)
{
	char s[] = "no guest \"\xc3\xa9\xe2\x82\": see", whole[] = "\xf0\x9f\x90\x8c ok";

	utf8_mend(s);
	assert_string_equal(s, "no guest \"\xc3\xa9\": see");
	utf8_mend(whole);
	assert_string_equal(whole, "\xf0\x9f\x90\x8c ok");
}

TEST(tame__control_characters__are_question_marks)
{
	char s[] = "a\x1b[2J\x7f\xc2\x9b"
		   "5m\xc3\xa9\n\xc2\xa0";

	utf8_tame(s);
	assert_string_equal(s, "a?[2J??5m\xc3\xa9?\xc2\xa0");
}

TEST(tame__what_turns_text_round__is_a_question_mark)
{
	char s[] = "a\xe2\x80\xae"
		   "b\xe2\x81\xa6\xe2\x80\xa8|\xe2\x80\x8f|\xe2\x80\x94\xe2\x82\xac\xe2\x81\xaa";
	char cut[] = "\xe2\x80"; /* not one that utf8_mend leaves, but never read beyond */

	utf8_tame(s);
	assert_string_equal(s, "a?b??|?|\xe2\x80\x94\xe2\x82\xac\xe2\x81\xaa");
	utf8_tame(cut);
	assert_string_equal(cut, "\xe2\x80");
}

TEST(escape__what_is_no_character__is_shown_byte_by_byte)
{
	char out[20];

	utf8_escape("p\xe9\xc3\xa9.\njson", out, sizeof(out));
	assert_string_equal(out, "p\\xe9\xc3\xa9.\\x0ajson");
	utf8_escape("\xff\xff\xff\xff\xff\xff\xff\xff", out, sizeof(out));
	assert_string_equal(out, "\\xff\\xff\\xff\\xff");
}
