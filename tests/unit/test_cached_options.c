// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of resex-cached: each way to write an option, and what is wrong. */
#include <getopt.h>
#include <string.h>

#include "resex/exit.h"
#include "src/cached/options.h"
#include "tests/unit/unit.h"

enum { WORDS_MAX = 8 };

/* Parse a line of words parted by spaces. */
static int parse(struct cached_options *o, const char *line)
{
	static char words[256];
	char *argv[WORDS_MAX + 1] = { 0 };
	int argc = 0;

	strncpy(words, line, sizeof(words) - 1);
	for (char *w = strtok(words, " "); w && argc < WORDS_MAX; w = strtok(NULL, " "))
		argv[argc++] = w;
	optind = 0; /* getopt_long begins anew */
	return cached_options(o, argc, argv);
}

TEST(nothing_given__the_defaults)
{
	struct cached_options o;

	assert_int_equal(parse(&o, "resex-cached"), -1);
	assert_string_equal(o.config, RESEX_CONFDIR "/cached.json");
	assert_null(o.host);
	assert_false(o.check);
	assert_false(o.schema);
	assert_int_equal(o.level, LOG_LVL_INFO);
	assert_int_equal(parse(&o, "resex-cached --schema"), -1);
	assert_true(o.schema);
}

TEST(value__each_way_to_write_it__is_the_same)
{
	static const char *const lines[] = {
		"resex-cached --config f.json --host a1 --check --verbose",
		"resex-cached --config=f.json --host=a1 -n -v",
		"resex-cached -c f.json -H a1 -nv",
		"resex-cached -nvHa1 -cf.json",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct cached_options o;

		assert_int_equal(parse(&o, lines[i]), -1);
		assert_string_equal(o.config, "f.json");
		assert_string_equal(o.host, "a1");
		assert_true(o.check);
		assert_int_equal(o.level, LOG_LVL_DEBUG);
	}
}

TEST(wrong__each_form__is_wrong_usage)
{
	static const char *const lines[] = {
		"resex-cached --frobnicate",
		"resex-cached -x",
		"resex-cached --check=5",
		"resex-cached --config",
		"resex-cached -c",
		"resex-cached --host=",
		"resex-cached word",
		"resex-cached -n word",
		"resex-cached --check --schema",
		"resex-cached -jn",
		"resex-cached --schema=x",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct cached_options o;

		assert_int_equal(parse(&o, lines[i]), RESEX_USAGE);
	}
}

TEST(help_and_version__end_the_program)
{
	struct cached_options o;

	assert_int_equal(parse(&o, "resex-cached --help"), RESEX_OK);
	assert_int_equal(parse(&o, "resex-cached -nV"), RESEX_OK);
}
