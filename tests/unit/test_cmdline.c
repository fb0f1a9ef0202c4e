// SPDX-License-Identifier: GPL-2.0-or-later
/* cmdline: each form of an option, and the sentence for each that is refused. */
#include "src/util/cmdline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

enum { WORDS_MAX = 8, LONG_ONLY = 256 };

static const struct option longs[] = {
	{ "file", required_argument, NULL, 'f' },
	{ "follow", no_argument, NULL, 'F' },
	{ "force", no_argument, NULL, LONG_ONLY },
	{ "json", no_argument, NULL, 'j' },
	{ NULL, 0, NULL, 0 },
};

struct outcome {
	char text[128]; /* each option as VAL or VAL=VALUE, then the words */
	char error[128];
	int end; /* CMDLINE_END or CMDLINE_WRONG */
};

/* line: words parted by one space each; two spaces are an empty word. */
static void parse(struct outcome *o, const char *line, bool stop)
{
	char copy[128], *argv[WORDS_MAX + 2], *rest = copy;
	struct cmdline c = { .argv = argv, .longs = longs, .stop = stop, .help = "prog --help" };
	size_t n = 0;

	memset(o, 0, sizeof(*o));
	snprintf(copy, sizeof(copy), "prog %s", line);
	while ((argv[c.argc] = strsep(&rest, " ")) != NULL && c.argc < WORDS_MAX)
		c.argc++;
	argv[c.argc] = NULL;
	cmdline_begin(&c);
	while ((o->end = cmdline_next(&c, o->error, sizeof(o->error))) >= 0)
		n += (size_t)snprintf(o->text + n, sizeof(o->text) - n, "%d%s%s ", o->end,
				      optarg ? "=" : "", optarg ? optarg : "");
	for (int i = optind; o->end == CMDLINE_END && i < c.argc; i++)
		n += (size_t)snprintf(o->text + n, sizeof(o->text) - n, "%s ", argv[i]);
}

TEST(options__in_each_form__are_found_in_order)
{
	static const char *const rows[][2] = {
		{ "--file a --json x", "102=a 106 x " },
		{ "--file=a -j x", "102=a 106 x " },
		{ "-fa -j x", "102=a 106 x " },
		{ "-jf a x", "106 102=a x " },
		{ "x --fi=a --js", "102=a 106 x " },
		{ "--force --fol", "256 70 " },
		{ "-- -j", "-j " },
	};
	struct outcome o;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse(&o, rows[i][0], false);
		assert_int_equal(o.end, CMDLINE_END);
		assert_string_equal(o.text, rows[i][1]);
	}
	parse(&o, "-j x -f a", true); /* x ends the options */
	assert_string_equal(o.text, "106 x -f a ");
}

TEST(refused__is_one_sentence_that_names_the_option_and_the_help)
{
	static const char *const rows[][2] = {
		{ "--frob", "unknown option \"--frob\": see prog --help" },
		{ "--frob=1", "unknown option \"--frob=1\": see prog --help" },
		{ "-x", "unknown option \"-x\": see prog --help" },
		{ "-jxF", "unknown option \"-x\": see prog --help" },
		{ "--\xff\x1b", "unknown option \"--\\xff\\x1b\": see prog --help" },
		{ "--fo", "\"--fo\" may be several options: see prog --help" },
		{ "--json=5", "--json takes no value: see prog --help" },
		{ "--force=5", "--force takes no value: see prog --help" },
		{ "x --file", "--file needs a value: see prog --help" },
		{ "x -jf", "-f needs a value: see prog --help" },
		{ "--file=", "--file needs a value: see prog --help" },
		{ "--fi ", "--file needs a value: see prog --help" },
		{ "-jf  x", "-f needs a value: see prog --help" },
	};
	struct outcome o;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse(&o, rows[i][0], false);
		assert_int_equal(o.end, CMDLINE_WRONG);
		if (strcmp(o.error, rows[i][1]) != 0)
			fail_msg("%s: %s", rows[i][0], o.error);
	}
}

TEST(unexpected__names_the_word_as_a_terminal_may_have_it)
{
	struct cmdline c = { .help = "prog --help" };
	char error[128];

	cmdline_unexpected(&c, "a\x1b[2J", error, sizeof(error));
	assert_string_equal(error, "unexpected argument \"a\\x1b[2J\": see prog --help");
}

TEST(number__in_its_range__is_set__others_are_refused_with_it)
{
	static const struct cmdline_row rows[] = {
		{ 'j', "json", NULL, "" },
		{ 'n', "count", "N", "" },
		{ .name = NULL },
	};
	static const char *const wrong[] = { "2",  "10",  "-3",
					     "+3", " 3",  "3x",
					     "",   "0x3", "99999999999999999999" };
	uint64_t to = 0;
	const struct cmdline_number number = { 'n', 3, 9, &to };
	char error[128], want[128];

	for (uint64_t v = 3; v <= 9; v += 6) {
		snprintf(want, sizeof(want), "%d", (int)v);
		assert_int_equal(
			cmdline_set_number(rows, &number, 1, 'n', want, error, sizeof(error)), 1);
		assert_int_equal(to, v);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(
			cmdline_set_number(rows, &number, 1, 'n', wrong[i], error, sizeof(error)),
			-EINVAL);
		snprintf(want, sizeof(want), "--count %s: give a whole number from 3 to 9",
			 wrong[i]);
		assert_string_equal(error, want);
	}
	assert_int_equal(to, 9);
	assert_int_equal(cmdline_set_number(rows, &number, 1, 'j', "5", error, sizeof(error)), 0);
	cmdline_wrong_value("x", "\x1b[2J", "give it", error, sizeof(error));
	assert_string_equal(error, "--x \\x1b[2J: give it");
}
