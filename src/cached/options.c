// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * options: the command line of resex-cached, of one table: getopt_long's list and the help are made
 * of it, and the bash completion reads the help. main.c calls it first.
 */
#include "src/cached/options.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdio.h>

#include "resex/exit.h"
#include "src/util/cmdline.h"

static const struct cmdline_row rows[] = {
	{ 'c', "config", "FILE", "settings (default " RESEX_CONFDIR "/cached.json)" },
	{ 'H', "host", "NAME", "this host's name in cluster.json" },
	{ 'n', "check", NULL, "check settings, cluster and database, and exit" },
	{ 'j', "schema", NULL, "print the JSON Schema of cached.json, and exit" },
	{ 'v', "verbose", NULL, "log more" },
	{ 'h', "help", NULL, "print this" },
	{ 'V', "version", NULL, "print the version" },
	{ .name = NULL },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void print_help(void)
{
	puts("Usage: resex-cached [OPTION]...\n"
	     "Keep cached pages coherent, on an application server or a proxy.\n");
	cmdline_print_rows(rows, 14);
	puts("\nSee resex-cached(8), resex-cache(7) and cluster.json(5).");
}

static int set_option(struct cached_options *o, int letter, const char *value)
{
	switch (letter) {
	case 'c':
		o->config = value;
		break;
	case 'H':
		o->host = value;
		break;
	case 'n':
		o->check = true;
		break;
	case 'j':
		o->schema = true;
		break;
	case 'v':
		o->level = LOG_LVL_DEBUG;
		break;
	case 'h':
		print_help();
		return RESEX_OK;
	default: /* 'V' */
		puts("resex-cached " PACKAGE_VERSION);
		return RESEX_OK;
	}
	return -1;
}

int cached_options(struct cached_options *o, int argc, char **argv)
{
	struct option longs[ROWS];
	struct cmdline c = {
		.argc = argc, .argv = argv, .longs = longs, .help = "resex-cached --help"
	};
	char error[256];
	int letter, rc;

	cmdline_longs(rows, longs);
	*o = (struct cached_options){ .config = RESEX_CONFDIR "/cached.json",
				      .level = LOG_LVL_INFO };
	cmdline_begin(&c);
	while ((letter = cmdline_next(&c, error, sizeof(error))) >= 0) {
		rc = set_option(o, letter, optarg);
		if (rc >= 0)
			return rc;
	}
	if (letter == CMDLINE_END && optind < argc) {
		cmdline_unexpected(&c, argv[optind], error, sizeof(error));
		letter = CMDLINE_WRONG;
	}
	if (letter == CMDLINE_END && o->check && o->schema) {
		snprintf(error, sizeof(error),
			 "--check and --schema are different things to do: give one of them");
		letter = CMDLINE_WRONG;
	}
	if (letter == CMDLINE_END)
		return -1;
	fprintf(stderr, "resex-cached: %s\n", error);
	return RESEX_USAGE;
}
