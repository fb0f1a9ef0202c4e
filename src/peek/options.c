// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * options: the command line of resex-peek, of one table: getopt_long's list and the help are made
 * of it, and the bash completion reads the help. main.c calls it first.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdio.h>
#include <stdlib.h>

#include "resex/exit.h"
#include "src/peek/peek.h"
#include "src/util/cmdline.h"

static const struct cmdline_row rows[] = {
	{ 'c', "cluster", "FILE", "the cluster (default " RESEX_CONFDIR "/cluster.json)" },
	{ 'a', "as", "NAME", "this client's name in the file (default peek)" },
	{ 'w', "within", "SECONDS", "time for all hosts together, 1 to 3600 (default 5)" },
	{ 'j', "json", NULL, "print JSON" },
	{ 'h', "help", NULL, "print this" },
	{ 'V', "version", NULL, "print the version" },
	{ .name = NULL },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void print_help(void)
{
	puts("Usage: resex-peek [OPTION]... [HOST]...\n"
	     "Read the memory that hosts of a cluster share, directly, and print what it holds.\n"
	     "Without HOST: of all of them.\n");
	cmdline_print_rows(rows, 16);
	puts("\nSee resex-peek(1), cluster.json(5) and resex-region(7).");
}

static int set_within(struct peek_options *o, const char *value)
{
	char *end;
	long s = strtol(value, &end, 10);

	if (*end || s < 1 || s > 3600) {
		fprintf(stderr, "resex-peek: --within %s: give whole seconds from 1 to 3600\n",
			value);
		return RESEX_USAGE;
	}
	o->within_ns = s * NS_PER_S;
	return -1;
}

static int set_option(struct peek_options *o, int letter, const char *value)
{
	switch (letter) {
	case 'c':
		o->cluster = value;
		break;
	case 'a':
		o->as = value;
		break;
	case 'w':
		return set_within(o, value);
	case 'j':
		o->json = true;
		break;
	case 'h':
		print_help();
		return RESEX_OK;
	default: /* 'V' */
		puts("resex-peek " PACKAGE_VERSION);
		return RESEX_OK;
	}
	return -1;
}

int peek_options(struct peek_options *o, int argc, char **argv)
{
	struct option longs[ROWS];
	struct cmdline c = {
		.argc = argc, .argv = argv, .longs = longs, .help = "resex-peek --help"
	};
	char error[256];
	int letter, rc;

	cmdline_longs(rows, longs);
	*o = (struct peek_options){ .cluster = RESEX_CONFDIR "/cluster.json",
				    .as = "peek",
				    .within_ns = 5 * NS_PER_S };
	cmdline_begin(&c);
	while ((letter = cmdline_next(&c, error, sizeof(error))) >= 0) {
		rc = set_option(o, letter, optarg);
		if (rc >= 0)
			return rc;
	}
	if (letter != CMDLINE_END) {
		fprintf(stderr, "resex-peek: %s\n", error);
		return RESEX_USAGE;
	}
	o->host = argv + optind;
	o->hosts = argc - optind;
	return -1;
}
