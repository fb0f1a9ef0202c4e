// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of resexd: each way to write an option. Errors are in tests/cli/test_cli.sh. */
#include <getopt.h>
#include <string.h>

#include "resex/exit.h"
#include "src/daemon/options.h"
#include "tests/unit/unit.h"

enum { WORDS_MAX = 8 };

/* Parse a line of words parted by spaces. */
static int parse(struct options *o, const char *line)
{
	static char words[256];
	char *argv[WORDS_MAX + 1] = { 0 };
	int argc = 0;

	strncpy(words, line, sizeof(words) - 1);
	for (char *w = strtok(words, " "); w && argc < WORDS_MAX; w = strtok(NULL, " "))
		argv[argc++] = w;
	optind = 0; /* getopt_long begins anew */
	return options_parse(o, argc, argv);
}

TEST(value__each_way_to_write_it__is_the_same)
{
	static const char *const lines[] = {
		"resexd --hv sim --config f.json", "resexd --hv=sim --config=f.json",
		"resexd -H sim -c f.json",	   "resexd -Hsim -cf.json",
		"resexd --conf f.json -fHsim",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct options o;

		assert_int_equal(parse(&o, lines[i]), -1);
		assert_string_equal(o.config, "f.json");
		assert_ptr_equal(o.hv, hv_backend_find("sim"));
		assert_int_equal(o.mode, MODE_RUN);
	}
}

TEST(flags__joined_or_apart__are_the_same)
{
	static const char *const lines[] = {
		"resexd --hv sim --check --foreground --verbose",
		"resexd -Cfv -H sim",
		"resexd -CfvHsim",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct options o;

		assert_int_equal(parse(&o, lines[i]), -1);
		assert_int_equal(o.mode, MODE_CHECK);
		assert_int_equal(o.level, LOG_LVL_DEBUG);
	}
}

/* SIGHUP reads this file again: without a name it would stop the service. */
TEST(config__not_given__is_the_default_file)
{
	struct options o;

	assert_int_equal(parse(&o, "resexd --check"), -1);
	assert_string_equal(o.config, RESEX_CONFDIR "/resexd.json");
	assert_int_equal(parse(&o, "resexd --hv sim --observe"), -1);
	assert_int_equal(o.mode, MODE_OBSERVE);
	assert_int_equal(parse(&o, "resexd --hv sim --scenario s.json"), -1);
	assert_null(o.config);
	assert_int_equal(parse(&o, "resexd --hv sim"), -1); /* a trial */
	assert_null(o.config);
}

TEST(wrong__each_form__is_wrong_usage)
{
	static const char *const lines[] = {
		"resexd --frobnicate",
		"resexd -x",
		"resexd -Cx",
		"resexd --check=5",
		"resexd --config",
		"resexd -Cc",
		"resexd now",
		"resexd --s f", /* of scenario, summary and socket */
		"resexd --hv kvm",
		"resexd --policy null",
		"resexd --hv sim -S s.json -c f.json",
		"resexd --hv sim -S s.json -R",
		"resexd --check --restore-caps", /* in either order */
		"resexd -RC",
		"resexd --observe --check",
		"resexd -RO",
		"resexd -S s.json --hv kvm",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct options o;

		assert_int_equal(parse(&o, lines[i]), RESEX_USAGE);
	}
}
